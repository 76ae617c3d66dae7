"""What a model says, as equations in reading order: states, computed starts, counts, losses and the objective L."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from sympy import MatrixSymbol

from symbptt.bptt.backward import weight_of
from symbptt.expr.build import plus, scale
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import At, Matrix, Multiple, Sum
from symbptt.expr.walk import substitute
from symbptt.model.functions import LOSSES
from symbptt.model.spec import LossTerm, Model, initial_name


class Stated(NamedTuple):
    """left = right, for 1 ≤ t ≤ T where `lo` and `hi` say so."""

    kind: Literal["model", "count", "loss", "objective"]
    name: str
    left: Matrix
    right: Matrix
    lo: Index | None = None
    hi: Index | None = None


def stated(model: Model) -> Iterator[Stated]:
    """Every equation of the model; L is the sum of its loss terms."""
    for equation in model.equations:
        yield Stated("model", equation.name, equation.left, equation.right, Index(1), index(T))
    for equation in model.computed:
        yield Stated("model", initial_name(equation.left), equation.left, equation.right)
    for name, count in model.counts.items():
        mask = At(model.families[name], t)
        yield Stated("count", name, MatrixSymbol(str(count.name), 1, 1), Sum(mask, t, 1, T))
    for term in dict.fromkeys(q.loss for q in model.losses if not q.opaque):
        yield Stated("loss", term.name, term, LOSSES[term.name].definition(*term.args[1:]))
    terms = [scale(weight_of(term, T, model.counts), _gathered(term)) for term in model.losses]
    yield Stated("objective", "L", MatrixSymbol("L", 1, 1), plus(terms))


def _gathered(term: LossTerm) -> Matrix:
    """Σ_t m_t ℓ(o_t, y_t), ℓ(o_T, y_T) or the regulariser itself."""
    if term.reduce == "once":
        return term.loss
    if term.reduce == "last":
        return substitute(term.loss, {t: index(T)})
    return Sum(term.loss if term.mask is None else Multiple(At(term.mask, t), term.loss), t, 1, T)
