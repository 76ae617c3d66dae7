"""Model: sizes, variables, equations at symbolic t and the loss; frozen, and checked when it is made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

from symbptt.expr.build import children, rebuild
from symbptt.expr.nodes import Hadamard, Matrix, Plus, Scale
from symbptt.model.checks import check
from symbptt.model.parts import Equation, LossTerm, ModelError, Parts, Reduce, Size, initial_name

__all__ = ["Equation", "LossTerm", "Model", "ModelError", "Reduce", "Size", "initial_name"]


@dataclass(frozen=True, eq=False)
class Model(Parts):
    """A recurrent model. Two models are equal when they differ at most in the order of summands, of elementwise
    factors and of declarations, in how scalar factors are written, and in states that nothing reads at a lag.

    Raises:
        ModelError: a name stands twice, an equation has another shape than its left side, a family is read that is
            not declared, a state depends on its own value at t, or the objective reaches no equation.
    """

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        tables = (self.sizes, self.parameters, self.inputs, self.targets, self.constants, self.static)
        equations = frozenset((e.left, _summands_sorted(e.right)) for e in (*self.equations, *self.computed))
        terms = (replace(term, weight=term.weight.expand(), assume=tuple(sorted(term.assume, key=str)))
                 for term in self.losses)
        losses = frozenset(Counter(terms).items())
        return (self.name, self.title, self.source, equations, losses, *map(frozenset, tables))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _summands_sorted(e: Matrix) -> Matrix:
    operands = [_summands_sorted(a) for a in children(e)]
    if isinstance(e, Scale):
        return Scale(e.args[0].expand(), *operands)
    if isinstance(e, Plus | Hadamard):
        operands.sort(key=str)
    return rebuild(e, tuple(operands)) if operands else e
