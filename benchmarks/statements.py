"""Where the time of a generated NumPy program goes: a clock stands behind every statement that goes over the steps."""

from __future__ import annotations

import ast
import time
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, half_squared_error
from benchmarks.contestants import imported
from benchmarks.steps import LOOPS

KINDS = ("products, step by step", "the rest, step by step", "products of all steps", "the rest of all steps")
"""What a statement does: the first two within loops over t."""
OUTSIDE = "outside"
"""What no statement of the loops took: reading what is given, the loss."""
PRODUCTS = ("dot", "matmul", "_dot")
RECURS = "_recur"
"""The function that runs what recurs linearly, step by step or in chunks."""


class Clock:
    """Seconds by kind of statement, each from the end of the statement before."""

    def __init__(self) -> None:
        self.spent, self.last = [0.0] * len(KINDS), 0.0

    def start(self) -> None:
        """A function begins."""
        self.last = time.perf_counter()

    def stop(self, kind: int) -> None:
        """A statement of this kind has ended."""
        self.spent[kind] += time.perf_counter() - self.last
        self.last = time.perf_counter()


def multiplies(statement: ast.stmt) -> bool:
    """Whether a statement multiplies matrices."""
    return any(isinstance(node, ast.MatMult) or (
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in PRODUCTS)
        for node in ast.walk(statement))


def _clocked(body: list[ast.stmt], stepwise: bool) -> list[ast.stmt]:
    """Statements with a clock behind each, also in blocks."""
    found: list[ast.stmt] = []
    for statement in body:
        blocks = [name for name in ("body", "orelse") if getattr(statement, name, [])]
        inside = stepwise or (isinstance(statement, ast.For) and ast.unparse(statement.target) in ("t", "steps"))
        for name in blocks:
            setattr(statement, name, _clocked(getattr(statement, name), inside))
        found.append(statement)
        if not blocks and not isinstance(statement, ast.Return):
            kind = (0 if stepwise else 2) + (not multiplies(statement))
            found += ast.parse(f"_clock.stop({kind})").body
    return found


def clocked(code: str) -> str:
    """The module with a clock behind every statement of its functions that go over the steps."""
    tree = ast.parse(code)
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name in (*LOOPS, RECURS):
            function.body = [*ast.parse("_clock.start()").body, *_clocked(function.body, stepwise=False)]
    return ast.unparse(ast.fix_missing_locations(tree))


def profile(name: str, code: str, case: Case, folder: Path, calls: int) -> dict[str, float]:
    """Milliseconds of one call by kind of statement, the mean of some calls with kept buffers; the first counts not."""
    module: Any = imported(f"{name}_clocked", clocked(code), folder)
    module._clock = Clock()
    buffers: dict[str, Any] = {}
    total = 0.0
    for k in range(calls + 1):
        if k == 1:
            module._clock = Clock()
        start = time.perf_counter()
        module.value_and_grad(case.params, case.data, half_squared_error, buffers=buffers)
        total += (time.perf_counter() - start) if k else 0
    spent = [1e3 * s / calls for s in module._clock.spent]
    return dict(zip(KINDS, spent, strict=True)) | {OUTSIDE: 1e3 * total / calls - sum(spent)}
