"""What is measured: models, sizes, the arrays of a case, and the comparison of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from symbptt import load
from symbptt.model.spec import initial_name

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Result = tuple[float, Mapping[str, Any]]
"""L and its gradients by variable."""

MODELS = ("linear", "elman", "lstm", "gru", "gru-reset-after")
DTYPES = ("float64", "float32")
TOLERANCES = {"float64": 1e-9, "float32": 1e-3}
"""The largest relative error of a gradient, by norm."""


@dataclass(frozen=True)
class Size:
    """Steps T, samples B; inputs d, hidden units h, outputs q."""

    T: int
    B: int
    d: int
    h: int
    q: int


SIZES = {
    "short": Size(35, 1, 10, 32, 5),
    "long": Size(1000, 1, 16, 64, 8),
    "batch": Size(100, 32, 64, 128, 10),
    "wide": Size(100, 64, 128, 512, 64),
}


@dataclass(frozen=True)
class Case:
    """One network with its arrays: weights (rows, columns), biases (n), stacks (T, B, n), initial states (B, n)."""

    model: str
    size: Size
    params: Arrays
    data: Arrays

    def to(self, dtype: str) -> Case:
        """The same with every array in a dtype."""
        return Case(self.model, self.size, *({name: a.astype(dtype) for name, a in arrays.items()}
                                             for arrays in (self.params, self.data)))

    @property
    def initial(self) -> tuple[str, ...]:
        """The names of the initial states."""
        return tuple(name for name in ("h_0", "c_0") if name in self.data)


@dataclass(frozen=True)
class Run:
    """A contestant with its arrays converted: `call` is what is timed, `read` turns what it returned into NumPy."""

    call: Callable[[], Any]
    read: Callable[[Any], Result]


Prepare = Callable[[Case], Run]


class Differs(Exception):
    """A contestant computes something else."""


def draw(model: str, size: Size, seed: int = 1) -> Case:
    """A random network in float64; with these weights nothing that recurs explodes."""
    rng = np.random.default_rng(seed)
    found = load(model)
    numbers = {s.symbol: getattr(size, s.name) for s in found.sizes}

    def count(n: Any) -> int:
        return int(n.subs(numbers)) if hasattr(n, "subs") else int(n)

    params: Arrays = {}
    for p in found.parameters:
        shape = tuple(map(count, p.shape[:1 if p.shape[1] == 1 else 2]))
        params[p.name] = 0.7 * rng.standard_normal(shape) / (np.sqrt(shape[-1]) if len(shape) > 1 else 1)
    data = {v.name: rng.standard_normal((size.T, size.B, count(v.shape[0]))) for v in (*found.inputs, *found.targets)}
    data |= {initial_name(m): rng.standard_normal((size.B, count(m.family.shape[0]))) for m in found.given}
    return Case(model, size, params, data)


def half_squared_error(o: Any, y: Any) -> tuple[Any, Any]:
    """The loss of every step and sample, and its gradient for o; for the arrays of any library."""
    e = o - y
    return (e * e).sum(-1) / 2, e


def compare(who: str, found: Result, right: Result, tolerance: float) -> float:
    """The largest relative error of L and the gradients.

    Raises:
        Differs: it is above the tolerance, or a gradient is missing.
    """
    (value, grads), (expected, gradients) = found, right
    missing = gradients.keys() ^ grads.keys()
    if missing:
        raise Differs(f"{who}: has other gradients: {', '.join(sorted(missing))}")
    errors = {"L": abs(float(value) - float(expected)) / abs(float(expected))}
    for name, gradient in gradients.items():
        there = np.asarray(grads[name], dtype=float)
        if there.shape != gradient.shape:
            raise Differs(f"{who}: the gradient of {name} has shape {there.shape}, ours {gradient.shape}")
        errors[name] = float(np.linalg.norm(there - gradient) / np.linalg.norm(gradient))
    worst = max(errors, key=lambda name: np.nan_to_num(errors[name], nan=np.inf))
    # Written so that NaN fails.
    if not errors[worst] < tolerance:
        raise Differs(f"{who}: {worst} differs from ours by {errors[worst]:.1e}; at most {tolerance:.0e} is allowed")
    return errors[worst]
