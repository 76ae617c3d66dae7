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

from symbptt.program.array import Rows, call
from symbptt.program.names import Names
from symbptt.program.packed import Pack
from symbptt.program.sizes import axes
from symbptt.program.statements import Output, Variable

Axes: TypeAlias = tuple[str | Expr, ...]


class Interface:
    """The form that the options of one program ask for."""

    def __init__(self, names: Names) -> None:
        self.names, self.options = names, names.options
        self.packs = {str(pack.parts[0].name): pack for pack in names.packs}
        self.parts = {str(part.name) for pack in names.packs for part in pack.parts}

    def axes(self, inside: Axes) -> Axes:
        """The axes of an array of variables as callers see it."""
        stack = self.options.samples_first and inside[:2] == ("T", "B")
        return ("B", "T", *inside[2:]) if stack else inside

    def seen(self, inside: Iterable[Variable]) -> tuple[Variable, ...]:
        """Variables as callers see them."""
        found = (self._seen(v) for v in inside)
        return tuple(v for v in found if v.key not in self.parts)

    def _seen(self, v: Variable) -> Variable:
        if v.key in self.packs:
            return Variable(self.packs[v.key].name, v.local, v.group, self._packed_axes(self.packs[v.key]))
        axes = self.axes(v.axes)
        return replace(v, axes=axes[:2] if v.key == self.options.mask else axes)

    def returned(self, outputs: Iterable[Output]) -> tuple[Output, ...]:
        """Results as callers see them."""
        found = {o.key: self._laid_out(o) for o in outputs}
        return tuple(self._together(self.packs[key], found) if key in self.packs else o for key, o in found.items()
                     if key in self.packs or key not in self.parts)

    def _packed_axes(self, pack: Pack) -> Axes:
        inside = axes(pack.parts[0], self.names)
        return (inside[0], pack.rows) if self._aside(pack) else (pack.rows, *inside[1:])

    def _aside(self, pack: Pack) -> bool:
        """Whether the rows of a pack stand beside one another in its array."""
        return pack.parts[0].name in self.names.turned

    def _together(self, pack: Pack, found: dict[str, Output]) -> Output:
        """Gradients that are returned in one array."""
        function = "parameters side by side" if self._aside(pack) else "stacked parameters"
        values = tuple(found[str(part.name)].value for part in pack.parts)
        return Output(pack.name, call(function, Rows((values,))), self._packed_axes(pack))

    def _laid_out(self, o: Output) -> Output:
        axes = self.axes(o.axes)
        return o if axes == o.axes else Output(o.key, call("samples first", o.value), axes)
