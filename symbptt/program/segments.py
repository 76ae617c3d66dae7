"""Segments of steps, between which alone states are kept: what a segment says that the whole sequence would not.

A segment is a model of its own: it begins with values that are given, and what later segments send to its last steps
is added to what the losses send there. What L counts once, it counts in the first segment.
"""

from __future__ import annotations

from sympy import Symbol

from symbptt.derivation import Derivation
from symbptt.expr.build import scale
from symbptt.expr.nodes import At, Matrix
from symbptt.model.spec import Model
from symbptt.program.array import Array, Text, call
from symbptt.program.options import Options

ONCE = Symbol("once!", real=True)
"""1 in the first segment and 0 in the others; no model has a name like this."""

STEPS = Symbol("steps!", real=True)
"""The number of steps of the whole sequence."""

RESERVED = {ONCE.name: "once", STEPS.name: "steps"}
"""What these are called in a program."""

LOCALS = ("counts", "ends", "CHECKPOINT", "CARRIED", "EARLIER")
"""What else a module with segments calls its own."""


def in_first(e: Matrix, options: Options) -> Matrix:
    """What counts once, and not in every segment."""
    return e if options.checkpoint is None else scale(ONCE, e)


def computed(key: str, value: Array, options: Options) -> Array:
    """A value before the first step that an equation defines, unless it is given to a segment."""
    return value if options.checkpoint is None else call("unless given", Text(key), value)


def sent_later(derivation: Derivation, options: Options) -> tuple[str, ...]:
    """The families to which later segments send something: those read at a lag that L depends on."""
    if options.checkpoint is None:
        return ()
    model = derivation.model
    reached = {line.name for line in derivation.of_kind("adjoint")}
    return tuple(dict.fromkeys(str(m.family.name) for m in model.initial
                               if m.family.name in model.defined and m.family.name in reached))


def with_gradient(model: Model, options: Options) -> list[At]:
    """The values before the first step whose gradient a program returns: of a segment those that are computed too."""
    targets = {v.name for v in model.targets}
    members = model.given if options.checkpoint is None else model.initial
    return [m for m in members if m.family.name not in targets]
