"""How much memory generated NumPy programs hold at their peak, beside the stacks that the gradient needs.

    python -m benchmarks.memory [--T 100 1000 4000] [--models linear elman lstm gru]

The peak is that of tracemalloc over one call of value_and_grad, to which NumPy reports its arrays; what is given stands
before it. The stacks that the gradient needs are those that the program without the option keeps from forward on
(states, and products that are not made again), what the loss sends, the deltas of all steps that the gradients of
weights sum over, and the gradient of the inputs that is returned; each is counted by the bytes of its array.
"""

from __future__ import annotations

import argparse
import tracemalloc
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import symbptt

SIZES = {"d": 16, "h": 64, "q": 8}
SAMPLES = 8
MODELS = ("linear", "elman", "lstm", "gru")
LENGTHS = (100, 1000, 4000)


@dataclass(frozen=True)
class Measured:
    """Bytes of one model for T steps: the stacks that the gradient needs, the peak without and with segments."""

    model: str
    T: int
    stacks: int
    peak: int
    in_segments: int

    @property
    def row(self) -> str:
        """A row of the table of docs/programs.md."""
        return (f"| {self.model} | {self.T} | {self.stacks / 2**20:.2f} | {self.peak / 2**20:.2f} "
                f"| {self.peak / self.stacks:.2f} | {self.in_segments / 2**20:.2f} "
                f"| {self.in_segments / self.peak:.2f} |")


HEAD = """\
| model | T | stacks, MiB | peak, MiB | peak / stacks | with `--checkpoint`, MiB | of the peak without |
|---|---|---|---|---|---|---|"""


def loaded(model: str, **options: Any) -> Any:
    """The module of a model."""
    module: Any = types.ModuleType(model)
    exec(compile(symbptt.derive(model).to_code("numpy", **options), model, "exec"), module.__dict__)
    return module


def squared(o: Any, y: Any) -> tuple[Any, Any]:
    """The loss, half the squared distance to the first entry of the target; no stack beside its gradient."""
    apart = o - y[..., :1]
    return np.einsum("tbq,tbq->tb", apart, apart) / 2, apart


def given(module: Any, T: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and data in double precision."""
    random, size = np.random.default_rng(1), {**SIZES, "B": SAMPLES, "T": T}

    def drawn(table: dict[str, tuple[str, ...]]) -> dict[str, Any]:
        # The linear network of the collection has targets of size 1, which its table says in a figure.
        return {name: random.normal(size=[int(a) if a.isdigit() else size[a] for a in axes]) / 8
                for name, axes in table.items()}

    return drawn(module.PARAMETERS), drawn(module.DATA)


def peak(module: Any, T: int) -> int:
    """The most bytes that one call holds, beside what it is given."""
    params, data = given(module, T)
    module.value_and_grad(*given(module, 2), squared)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    module.value_and_grad(params, data, squared)
    found = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return found


def stacks(module: Any, T: int) -> int:
    """The bytes of the stacks that the gradient needs, counted from the arrays of one call."""
    params, data = given(module, T)
    read, size = module._read(params, data)
    buffers: dict[str, Any] = {}
    arrays = module._forward(params, read, size, buffers)
    _, direct = module._objective(params, data, module._states(read, size, arrays), {"l": squared})
    grads, _ = module._backward(params, read, size, arrays, direct, every=False, buffers=buffers)
    deltas = [array for array in buffers["backward"][1] if len(array) >= T]
    returned = [gradient for name, gradient in grads.items() if "T" in module.DATA.get(name, ())]
    return held([*arrays.values(), *direct.values(), *deltas, *returned])


def held(found: Iterable[Any]) -> int:
    """The bytes of arrays, each once."""
    return sum({id(array): array.nbytes for array in found}.values())


def measured(model: str, T: int) -> Measured:
    """The figures of one model."""
    plain, apart = loaded(model), loaded(model, checkpoint=True)
    return Measured(model, T, stacks(plain, T), peak(plain, T), peak(apart, T))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--T", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--models", nargs="+", default=MODELS)
    asked = parser.parse_args()
    print(HEAD)
    for model in asked.models:
        for T in asked.T:
            print(measured(model, T).row, flush=True)


if __name__ == "__main__":
    main()
