"""Modules whose functions have further results, which are computed only where somebody wants them."""

from __future__ import annotations

import re
from typing import Protocol

from symbptt.program.statements import Function, Output, Statement
from symbptt.render.lines import indented
from symbptt.render.numpy_program import Module


class Parts(Protocol):
    """A function: its statements and results, and behind them those that only further results need."""

    @property
    def body(self) -> tuple[Statement, ...]:
        """The statements."""

    @property
    def results(self) -> tuple[Output, ...]:
        """What they give."""

    @property
    def extra(self) -> tuple[Statement, ...]:
        """Further statements."""

    @property
    def extra_results(self) -> tuple[Output, ...]:
        """What these give."""


class Parted(Module):
    """What the template of such a module places; `rows` names the number of rows of a stack."""

    rows: str

    def gradients(self, part: Parts) -> list[str]:
        """The lines of the function that gives the gradients and, where every adjoint is wanted, all adjoints."""
        grads = [*self.listed("grads =", part.results), indented("if not every:", 1), indented("return grads, {}", 2)]
        adjoints = [*self.block.lines(part.extra), *self.listed("return grads,", part.extra_results)]
        whole = Function((*part.body, *part.extra), (part.results, part.extra_results))
        return self.lines(Function(part.body, ()), [*grads, *adjoints], whole)

    def lines(self, function: Function, results: list[str], whole: Function | None = None) -> list[str]:
        """Statements and results, behind the sizes and the parameters that they read."""
        lines = [*self.block.lines(function.body), *results]
        # The T of a transpose is no number of steps.
        used = set(re.findall(r"(?<!\.)\b\w+", "\n".join(lines)))
        rows = self.rows in used
        head = [*self._lengths(used | {self.made.batch, "T"} if rows else used),
                *self._given(used, (whole or function).uses)]
        head += [f"{self.rows} = T * {self.made.batch}"] if rows else []
        return [*(indented(line, 1) for line in head), *lines]

    def listed(self, head: str, results: tuple[Output, ...]) -> list[str]:
        """A dictionary of results, a line each."""
        lines = [indented(f'"{r.key}": {self.block.write(r.value)},', 2) for r in results]
        return [indented(f"{head} {{", 1), *lines, indented("}", 1)] if lines else [indented(f"{head} {{}}", 1)]
