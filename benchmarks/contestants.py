"""Who is measured: the generated programs of every target, the peers whose libraries are there, and the limit."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import loops
from benchmarks.cases import Case, Prepare, Result, Run, half_squared_error
from benchmarks.limit import limit, products
from symbptt import derive
from symbptt.render.targets import programs, render

LIMITS = {"limit, gates stacked": True, "limit, gate by gate": False}
LAYERS = {"elman": "RNN", "lstm": "LSTM", "gru-reset-after": "GRU"}
"""For a model the layer of torch.nn with the same equations."""


@dataclass(frozen=True)
class Contestant:
    """A name in the tables; whether a generated program is behind it; how it gets ready for a case."""

    name: str
    ours: bool
    prepare: Prepare


@cache
def has(library: str) -> bool:
    """Whether a library can be imported."""
    return importlib.util.find_spec(library) is not None


@cache
def bridge(library: str) -> ModuleType:
    """Our module that imports the library: only where it is there and wanted."""
    return importlib.import_module(f"benchmarks.with_{library}")


def imported(name: str, code: str, folder: Path) -> ModuleType:
    """Generated code as a module, from a file in the folder."""
    path = folder / f"{name.replace('-', '_')}.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


KEPT = ", buffers kept"
"""What stands behind the name of a program that keeps its work arrays from call to call."""


def _in_numpy(module: ModuleType, case: Case, **options: Any) -> Run:
    def call() -> Any:
        return module.value_and_grad(case.params, case.data, half_squared_error, **options)

    def read(result: Any) -> Result:
        return float(result[0]), result[1]

    return Run(call, read)


def library_of(target: str) -> str:
    """The library that the programs of a target compute with: the word its name begins with."""
    return target.partition("-")[0]


def our(model: str, target: str, folder: Path) -> list[Contestant]:
    """The generated program of one target; a second time with buffers, where it takes them."""
    module = imported(f"{model}_{target}", render(derive(model).record, target), folder)
    library = library_of(target)

    def prepare(case: Case) -> Run:
        return _in_numpy(module, case) if library == "numpy" else bridge(library).program(module, case)

    found = [Contestant(target, True, prepare)]
    if "buffers" in inspect.signature(module.value_and_grad).parameters:
        found.append(Contestant(target + KEPT, True, lambda case: _in_numpy(module, case, buffers={})))
    return found


def peers(model: str) -> list[Contestant]:
    """What others compute the same with, as far as it is installed."""
    found = [Contestant("NumPy loop", False, loops.prepare)]
    if has("torch"):
        found.append(Contestant("torch loop", False, lambda case: bridge("torch").loop(case)))
        if model in LAYERS:
            found.append(Contestant(f"torch.nn.{LAYERS[model]}", False, lambda case: bridge("torch").layer(case)))
    if has("jax"):
        found.append(Contestant("jax.jit, scan", False, lambda case: bridge("jax").scan(case)))
    return found


def limits(case: Case, dtype: str) -> dict[str, Callable[[], None]]:
    """The products alone, with the gates stacked or each on its own: what is faster is the limit."""
    plans = {name: products(case.model, case.size, stacked) for name, stacked in LIMITS.items()}
    stacked, gates = plans
    if plans[stacked] == plans[gates]:
        del plans[gates]
    return {name: limit(plan, dtype) for name, plan in plans.items()}


def targets(wanted: Iterable[str]) -> tuple[list[str], list[str]]:
    """Of the wanted targets, or all program targets where none is wanted, those to measure; and why others are not."""
    known, found, why = programs(), [], []
    for target in wanted or known:
        if target not in known:
            why.append(f"symbptt has no target {target}")
        elif not has(library_of(target)):
            why.append(f"{library_of(target)} is not installed, so the target {target} is left out")
        else:
            found.append(target)
    return found, why
