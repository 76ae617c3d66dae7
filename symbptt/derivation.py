"""Derivation: the frozen record that renderers read. It holds data; how it came about is the business of `derive`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from symbptt.bptt.backward import AdjointStep, Edge, Gradient
from symbptt.bptt.closed import ClosedForm
from symbptt.expr.index import Index, index, t
from symbptt.expr.nodes import At, Matrix
from symbptt.model.spec import Model, initial_name
from symbptt.proof.account import Induction, ProvedStatement
from symbptt.proof.statement import Definition

Kind: TypeAlias = Literal["model", "objective", "direct", "adjoint", "boundary", "initial", "gradient", "letter",
                          "closed", "reversed", "total", "written"]


@dataclass(frozen=True)
class Line:
    """One numbered equation: left = forms[0] = forms[1] = …, for lo ≤ t ≤ hi.

    kind says what it is; name is the family or parameter that it is about; edges are the ways in which L depends on the
    variable, empty where the line is no chain rule; theorem is the number in `Derivation.theorems` that proves it.
    """

    kind: Kind
    name: str
    number: int
    left: Matrix
    forms: tuple[Matrix, ...]
    lo: Index | None = None
    hi: Index | None = None
    edges: tuple[Edge, ...] = ()
    theorem: int | None = None


@dataclass(frozen=True)
class Derivation:
    """Everything derived for one model; `steps` is the given T or None.

    lines are the numbered equations in reading order; `unrolled` holds, for a given T, every gradient of the unrolled
    graph; `definitions` are what the theorems unfold; `induction` is the proof of the closed form as a person reads it.
    delay says, for each family, how many steps before T its adjoint stops being identically zero.
    """

    model: Model
    steps: int | None
    lines: tuple[Line, ...]
    closed: ClosedForm | None
    theorems: tuple[ProvedStatement, ...]
    definitions: tuple[Definition, ...]
    delay: dict[str, int]
    induction: Induction | None = None
    unrolled: dict[Gradient, AdjointStep] = field(default_factory=dict)

    def line(self, kind: Kind, name: str = "") -> Line:
        """The line of a kind about a name.

        Raises:
            KeyError: there is none.
        """
        try:
            return self._by_label[kind, name]
        except KeyError:
            raise KeyError(f"the derivation has no {kind} equation for {name!r}") from None

    def number(self, kind: Kind, name: str = "") -> int:
        """The number of a line."""
        return self.line(kind, name).number

    @cached_property
    def _by_label(self) -> dict[tuple[str, str], Line]:
        found: dict[tuple[str, str], Line] = {}
        for line in self.lines:
            found.setdefault((line.kind, line.name), line)
        return found

    def of_kind(self, *kinds: Kind) -> tuple[Line, ...]:
        """The lines of these kinds, in order."""
        return tuple(line for line in self.lines if line.kind in kinds)

    def member(self, name: str, time: int | None = None) -> Matrix:
        """The variable that a name (and a time) stands for: "W_hh"; "h" at 2; "h_0", "h_m1" as initial states.

        Raises:
            KeyError: the model has no such variable.
        """
        model = self.model
        for symbol in model.parameters:
            if symbol.name == name and time is None:
                return symbol
        if name in model.families:
            return At(model.families[name], index(t) if time is None else time)
        for initial in model.initial:
            if initial_name(initial) == name and time is None:
                return initial
        known = [*(p.name for p in model.parameters), *model.families, *map(initial_name, model.initial)]
        raise KeyError(f"the model {model.name} has no variable {name!r}; it has {', '.join(known)}")
