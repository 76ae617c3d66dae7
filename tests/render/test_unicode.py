"""Plain text of expressions."""

from __future__ import annotations

import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol
from sympy.core.symbol import Str

from symbptt.expr.build import apply, selection, stacked
from symbptt.expr.index import IndexVar, T, index, t
from symbptt.expr.nodes import (
    NODES,
    ONE,
    Adjoint,
    At,
    Chain,
    Delta,
    Diagonal,
    Direct,
    Hadamard,
    Loss,
    LossGradient,
    Matrix,
    Maximum,
    Node,
    Norm,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.render.structure import ROWS
from symbptt.render.unicode import lowered, text

n = Symbol("n", integer=True, positive=True)
W, K = MatrixSymbol("W_hh", n, n), MatrixSymbol("K", n, n)
h, y = MatrixSymbol("h", n, 1), MatrixSymbol("y", 1, 1)
i, k = IndexVar("i"), IndexVar("k")
LOSS = Loss(Str("l"), At(h, t), At(y, t))

CASES: dict[str, tuple[Matrix, str]] = {
    "a subscript that Unicode has": (At(h, 3), "h₃"),
    "a sum as a subscript": (At(h, index(t) - 1), "hₜ₋₁"),
    "a subscript that Unicode lacks": (At(h, T), "h_T"),
    "a sum that Unicode lacks": (At(h, index(T) + t - i), "h_{T+t−i}"),
    "a name with a subscript": (W, "W_hh"),
    "a numbered name": (MatrixSymbol("W_1", n, n), "W₁"),
    "a numbered family": (At(MatrixSymbol("h_1", n, 1), t), "h_{1,t}"),
    "a Greek letter": (MatrixSymbol("Gamma", n, n), "Γ"),
    "a transpose": (Transpose(W), "W_hh⊤"),
    "a power": (Power(Transpose(W), index(i) - t), "(W_hh⊤)^(i−t)"),
    "a power of a letter": (Power(K, i), "K^i"),
    "a gradient": (Adjoint(At(h, t)), "∂L/∂hₜ"),
    "a direct gradient": (Direct(At(h, t)), "∂⁺L/∂hₜ"),
    "a transposed gradient": (Transpose(Adjoint(At(h, t))), "(∂L/∂hₜ)⊤"),
    "a loss gradient": (Scale(1 / T, LossGradient(LOSS, Integer(0))), "(1/T) ∂ℓ(hₜ, yₜ)/∂hₜ"),
    "the chain rule": (Chain(At(h, index(t) + 1), At(h, t)), "prod(∂L/∂hₜ₊₁, ∂hₜ₊₁/∂hₜ)"),
    "an elementwise product": (Plus(Hadamard(At(h, t), Plus(At(h, 0), At(h, 1))), At(h, t)), "hₜ∘(h₀ + h₁) + hₜ"),
    "a Jacobian of tanh": (Diagonal(Plus(Ones(n, ONE), Scale(Integer(-1), Hadamard(At(h, t), At(h, t))))),
                           "diag(1 − hₜ∘hₜ)"),
    "a function": (apply("sigmoid", At(h, t)), "σ(hₜ)"),
    "a step": (apply("step", At(h, t)), "1[hₜ > 0]"),
    "an absolute value": (apply("abs", At(h, t)), "|hₜ|"),
    "a square": (apply("square", At(h, t)), "hₜ^(∘2)"),
    "a delta": (Delta(t, T), "δ_{t,T}"),
    "a bound": (Maximum(Norm(W), Delta(t, T)), "max(‖W_hh‖, δ_{t,T})"),
    "rows of a letter": (Times(selection(n, n, 2 * n), MatrixSymbol("W", 2 * n, n)), "W[n:2n]"),
    "a column of columns": (stacked([At(h, t), At(h, 0)]), "[hₜ; h₀]"),
    "a norm": (Loss(Str("squared_norm"), W), "‖W_hh‖²"),
    "a squared error": (Loss(Str("squared_error"), At(h, t)), "SE(hₜ)"),
    "a difference": (Plus(K, Scale(Rational(-1, 2), W)), "K − (1/2) W_hh"),
    "a sum": (Sum(At(h, i), i, t, T), "Σ_{i=t}^{T} hᵢ"),
    "a product": (Times(Product(At(K, k), k, 1, T), W), "(Π_{k=1}^{T} Kₖ) W_hh"),
    "blocks": (block([[K, W], [Zero(n, n), K]]), "[K, W_hh; 0, K]"),
}


@pytest.mark.parametrize("case", CASES)
def test_text(case: str) -> None:
    e, expected = CASES[case]
    assert text(e) == expected


def test_both_notations_share_the_rows() -> None:
    assert set(ROWS) == set(NODES)


def test_an_unknown_class_is_refused() -> None:
    class Unknown(Node):
        pass

    with pytest.raises(KeyError):
        text(Unknown(W))


def test_lowered() -> None:
    assert lowered("t+1") == "ₜ₊₁"
    assert lowered("q") == "_q"
    assert lowered("1,t") == "_{1,t}"
