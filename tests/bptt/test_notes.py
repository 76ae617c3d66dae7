"""Formulas that people publish about the linear network, right and wrong, judged by the oracle."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from symbptt.expr.index import IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Matrix, Plus, Power, Sum, Times, Transpose
from symbptt.model.spec import Model
from symbptt.proof.oracle import Oracle

INSIDE = (index(t) - 1, index(T) - t)
i = IndexVar("i")


class Letters:
    """The letters of the linear network as a note writes them."""

    def __init__(self, model: Model) -> None:
        self.w_hx, self.w_hh, self.w_qh = model.parameters
        self.families = model.families

    def g(self, name: str, time: object) -> Matrix:
        """∂L/∂v at a time."""
        return Adjoint(At(self.families[name], time))

    def sent(self, time: object) -> Matrix:
        """W_qhᵀ ∂L/∂o at a time."""
        return Times(Transpose(self.w_qh), self.g("o", time))

    def power(self, exponent: object, transposed: bool = True) -> Matrix:
        """(W_hhᵀ)ⁿ, or W_hhⁿ for a transpose forgotten."""
        return Power(Transpose(self.w_hh) if transposed else self.w_hh, exponent)

    def outer(self, gradient: Matrix, name: str, time: object) -> Matrix:
        """gradient vᵀ."""
        return Times(gradient, Transpose(At(self.families[name], time)))


HIDDEN: dict[str, tuple[bool, Callable[[Letters], Matrix]]] = {
    "counted from the end": (True, lambda m: Sum(
        Times(m.power(index(T) - i), m.sent(index(T) + t - i)), i, t, T)),
    "counted forward": (True, lambda m: Sum(Times(m.power(index(i) - t), m.sent(i)), i, t, T)),
    "index not turned round": (False, lambda m: Sum(Times(m.power(index(T) - i), m.sent(i)), i, t, T)),
    "sum from t + 1": (False, lambda m: Sum(Times(m.power(index(i) - t), m.sent(i)), i, index(t) + 1, T)),
    "no transpose": (False, lambda m: Sum(Times(m.power(index(i) - t, transposed=False), m.sent(i)), i, t, T)),
    "two terms for every t": (False, lambda m: Plus(Times(Transpose(m.w_hh), m.sent(index(t) + 1)), m.sent(t))),
    "recurrent path cut": (False, lambda m: m.sent(t)),
}
"""What notes say ∂L/∂h_t is, and whether that holds for 1 ≤ t ≤ T."""

WEIGHT: dict[str, tuple[bool, Callable[[Letters], Matrix]]] = {
    "h before": (True, lambda m: Sum(m.outer(m.g("h", t), "h", index(t) - 1), t, 1, T)),
    "h at the same time": (False, lambda m: Sum(m.outer(m.g("h", t), "h", t), t, 1, T)),
    "first use skipped": (False, lambda m: Sum(m.outer(m.g("h", t), "h", index(t) - 1), t, 2, T)),
    "only the last step": (False, lambda m: m.outer(m.g("h", T), "h", index(T) - 1)),
    "transposed": (False, lambda m: Transpose(Sum(m.outer(m.g("h", t), "h", index(t) - 1), t, 1, T))),
}
"""What notes and programs say ∂L/∂W_hh is."""


def judged(model: Model, left: Matrix, right: Matrix) -> bool:
    """Whether no counterexample is found for four steps and for five."""
    free = INSIDE if left.free_symbols & {t} else ()
    return all(Oracle(model, steps, seed=steps).refutes(left, right, free) is None for steps in (4, 5))


@pytest.mark.parametrize("claim", HIDDEN)
def test_claims_about_hidden_gradients(claim: str, named: Callable[[str], Model]) -> None:
    model = named("linear")
    holds, right = HIDDEN[claim]
    letters = Letters(model)
    assert judged(model, letters.g("h", t), right(letters)) == holds


@pytest.mark.parametrize("claim", WEIGHT)
def test_claims_about_the_recurrent_weight(claim: str, named: Callable[[str], Model]) -> None:
    model = named("linear")
    holds, right = WEIGHT[claim]
    letters = Letters(model)
    assert judged(model, Adjoint(letters.w_hh), right(letters)) == holds
