"""The limit: the matrix products of a program alone, at the speed of NumPy's matmul.

A program that batches what it can multiplies all T·B rows at once by what does not recur, and B rows a step by what
does. Everything else that it must do, functions and sums of entries, the limit leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.cases import Size

RECURRENT: dict[str, tuple[int, ...]] = {"linear": (1,), "elman": (1,), "lstm": (4,), "gru": (2, 1),
                                         "gru-reset-after": (3,)}
"""How many weights multiply the same state, for each state that recurs: these can be stacked into one."""


@dataclass(frozen=True)
class Product:
    """(rows, inner) times (inner, columns), so many times; for a weight's gradient the first stands transposed."""

    kind: Literal["forward", "backward", "weight"]
    rows: int
    inner: int
    columns: int
    times: int = 1

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each entry of each row."""
        return 2 * self.rows * self.inner * self.columns * self.times


def _weight(rows: int, columns: int, samples: int, batches: int = 1) -> Iterator[Product]:
    """The three products that a weight (rows, columns) takes part in, the first two in so many batches of samples."""
    yield Product("forward", samples, columns, rows, batches)
    yield Product("backward", samples, rows, columns, batches)
    yield Product("weight", rows, samples * batches, columns)


def products(model: str, size: Size, stacked: bool = True) -> list[Product]:
    """Every product of L and all gradients; `stacked`: the weights of all gates that multiply one vector as one."""
    recurrent = RECURRENT[model] if stacked else (1,) * sum(RECURRENT[model])
    inputs = (sum(recurrent),) if stacked else recurrent
    rows = size.T * size.B
    found = [p for gates in inputs for p in _weight(gates * size.h, size.d, rows)]
    found += [p for gates in recurrent for p in _weight(gates * size.h, size.h, size.B, size.T)]
    return [*found, *_weight(size.q, size.h, rows)]


def flops(model: str, size: Size) -> int:
    """The floating-point operations of all products."""
    return sum(p.flops for p in products(model, size))


def multiplication(p: Product, dtype: str) -> Callable[[], None]:
    """One product with arrays of its own, laid out as BLAS takes them fastest: rows, and weights in order."""
    rng = np.random.default_rng(2)
    given = (p.times, p.inner, p.rows) if p.kind == "weight" else (p.times, p.rows, p.inner)
    left = rng.standard_normal(given).astype(dtype)
    right = rng.standard_normal((p.inner, p.columns)).astype(dtype)
    lefts = list(left.transpose(0, 2, 1)) if p.kind == "weight" else list(left)
    outs = list(np.zeros((p.times, p.rows, p.columns), dtype))

    def run() -> None:
        for a, out in zip(lefts, outs, strict=True):
            np.matmul(a, right, out=out)

    return run


def limit(plan: Iterable[Product], dtype: str) -> Callable[[], None]:
    """All products, one after the other."""
    runs = [multiplication(p, dtype) for p in plan]

    def run() -> None:
        for multiply in runs:
            multiply()

    return run
