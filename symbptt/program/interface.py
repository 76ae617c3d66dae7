"""What callers hand to a program and get back, where options ask for another form than that of its functions.

Inside, stacks are (T, B, size) and every parameter is an array of its own, so that the statements are those of the
derivation; what is given is turned into that once, where it is read, and results are turned back where they are
returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from sympy import Expr

from symbptt.program.array import call
from symbptt.program.options import Options
from symbptt.program.statements import Output, Variable

Axes: TypeAlias = tuple[str | Expr, ...]


class Interface:
    """The form that the options of one program ask for."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def axes(self, inside: Axes) -> Axes:
        """The axes of an array as callers see it."""
        stack = self.options.samples_first and inside[:2] == ("T", "B")
        return ("B", "T", *inside[2:]) if stack else inside

    def seen(self, inside: Iterable[Variable]) -> tuple[Variable, ...]:
        """Variables as callers see them."""
        return tuple(replace(v, axes=self.axes(v.axes)) for v in inside)

    def returned(self, outputs: Iterable[Output]) -> tuple[Output, ...]:
        """Results as callers see them."""
        return tuple(map(self._laid_out, outputs))

    def _laid_out(self, o: Output) -> Output:
        axes = self.axes(o.axes)
        return o if axes == o.axes else Output(o.key, call("samples first", o.value), axes)
