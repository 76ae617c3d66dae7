"""Derivation: the frozen record that renderers read. It holds data; how it came about is the business of `derive`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from symbptt.bptt.backward import AdjointStep, Edge, Gradient
from symbptt.bptt.closed import ClosedForm
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.walk import substitute
from symbptt.model.spec import Model, initial_name
from symbptt.proof.account import Induction, ProvedStatement
from symbptt.proof.statement import Definition

WORDS = 250_000
"""As many words are written out in proofs for a given T without being told to; about 0.2 ms each."""

Kind: TypeAlias = Literal["model", "objective", "direct", "adjoint", "boundary", "initial", "gradient", "letter",
                          "closed", "reversed", "total", "written", "count", "loss", "assumed", "immediate", "tangent",
                          "forward_letter", "forward", "pairing", "truncated", "chunk", "randomised",
                          "randomised_closed", "unbiased", "at_last", "bound", "directions"]


@dataclass(frozen=True)
class Line:
    """One numbered equation: left = forms[0] = forms[1] = …, for lo ≤ t ≤ hi.

    kind says what it is; name is the family or parameter that it is about; edges are the ways in which L depends on the
    variable, empty where the line is no chain rule; theorem is the number in `Derivation.theorems` that proves it.
    Lines of the written-out case are numbered in a series of their own, so that all other numbers are equal for all T.
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

    @property
    def label(self) -> str:
        """What the line is called in all documents and programs: its number, with a T in the written-out case."""
        return f"T{self.number}" if self.kind == "written" else str(self.number)


def instance_of(lines: Iterable[Line], step: AdjointStep, steps: int) -> Line | None:
    """The general line of which a step of the unrolled case is a mere instance, with nothing in it that differs."""
    if not isinstance(step.target, At):
        return None
    rule = {t: step.target.time, T: Index(steps)}
    for line in lines:
        if line.kind in ("direct", "initial", "boundary", "adjoint") and substitute(line.left, rule) == step.left:
            between = line.lo is None or line.hi is None or all(
                (b - a).const >= 0 for a, b in ((line.lo.substitute(rule), step.target.time),
                                                (step.target.time, line.hi.substitute(rule))))
            if between and substitute(line.forms[-1], rule) == step.right:
                return line
    return None


@dataclass(frozen=True)
class Derivation:
    """Everything derived for one model; `steps` is the given T or None.

    lines are the numbered equations in reading order; `unrolled` holds, for a given T, every gradient of the unrolled
    graph; `definitions` are what the theorems unfold; `induction` is the proof of the closed form as a person reads it.
    delay says, for each family, how many steps before T its adjoint stops being identically zero; `word_counts`, for a
    given T and a closed form in letters, how many words ∂L/∂v_1 would have if every path were written out; truncate is
    the number of uses of the weights that a truncation keeps.
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
    word_counts: dict[str, int] = field(default_factory=dict)
    truncate: int | None = None

    def line(self, kind: Kind, name: str = "") -> Line:
        """The line of a kind about a name.

        Raises:
            KeyError: there is none.
        """
        try:
            return self._by_kind[kind, name]
        except KeyError:
            raise KeyError(f"the derivation has no {kind} equation for {name!r}") from None

    def label(self, kind: Kind, name: str = "") -> str:
        """The label of a line."""
        return self.line(kind, name).label

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], Line]:
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
        for symbol in (*model.parameters, *model.static):
            if symbol.name == name and time is None:
                return symbol
        if name in model.families:
            return At(model.families[name], index(t) if time is None else time)
        for initial in model.initial:
            if initial_name(initial) == name and time is None:
                return initial
        constant = (p.name for p in (*model.parameters, *model.static))
        known = [*constant, *model.families, *map(initial_name, model.initial)]
        raise KeyError(f"the model {model.name} has no variable {name!r}; it has {', '.join(known)}")
