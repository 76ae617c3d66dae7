"""One line of text for every class, in the language of model files."""

import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.expr.build import apply, loss, selection, stacked
from symbptt.expr.index import IndexVar, T, index, t
from symbptt.expr.nodes import (
    NODES,
    Adjoint,
    At,
    Chain,
    Delta,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    LossGradient,
    Maximum,
    Multiple,
    Norm,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Tangent,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.expr.text import WRITERS, index_text

h = Symbol("h")
W, f, o, y, s = (MatrixSymbol("W_hh", h, h), MatrixSymbol("h", h, 1), MatrixSymbol("o", h, 1), MatrixSymbol("y", h, 1),
                 MatrixSymbol("s", 1, 1))
i = IndexVar("i")
it, iT, ii = index(t), index(T), index(i)
L = loss("l", At(o, t), At(y, t))


def test_the_table_is_total() -> None:
    assert WRITERS.keys() == set(NODES)


@pytest.mark.parametrize(("form", "written"), [
    (it, "t"), (it - 1, "t - 1"), (iT + it - ii, "T + t - i"), (ii + ii + 3, "2*i + 3"), (iT, "T"),
    (-it, "-t"), (5 - it, "5 - t"), (index(0), "0"), (index(-2), "-2"), (iT - ii + 1, "T - i + 1"),
])
def test_forms(form, written) -> None:
    assert index_text(form) == written


@pytest.mark.parametrize(("e", "written"), [
    (At(f, it - 1), "h[t-1]"), (Times(W, At(f, it - 1)), "W_hh @ h[t-1]"), (Times(Transpose(W), f), "W_hh.T @ h"),
    (Plus(f, Scale(Integer(-1), f)), "h - h"), (Scale(Rational(2, 3), f), "(2/3)*h"), (Scale(1 / T, f), "(1/T)*h"),
    (Scale(Integer(-1), Plus(f, f)), "-(h + h)"), (Times(Plus(W, W), f), "(W_hh + W_hh) @ h"),
    (Transpose(Times(W, f)), "(W_hh @ h).T"), (Adjoint(At(f, t)), "dL/dh[t]"), (Direct(At(f, t)), "d+L/dh[t]"),
    (L, "l(o[t], y[t])"), (LossGradient(L, Integer(0)), "dl(o[t], y[t])/do[t]"),
    (Chain(At(o, t), At(f, t)), "prod(dL/do[t], do[t]/dh[t])"), (Multiple(s, f), "s*h"), (Zero(h, h), "0"),
    (Identity(h), "I"), (Power(W, ii - it), "W_hh^(i - t)"), (Sum(At(f, i), i, t, T), "Sum(i=t..T, h[i])"),
    (Product(W, i, t, T), "Product(i=t..T, W_hh)"), (block([[W, f], [W, f]]), "[W_hh, h; W_hh, h]"),
    (Hadamard(f, o), "h * o"), (Hadamard(f, Plus(f, o), Times(W, f)), "h * (h + o) * (W_hh @ h)"),
    (Times(W, Hadamard(f, o)), "W_hh @ (h * o)"), (Plus(Hadamard(f, o), f), "h * o + h"),
    (apply("tanh", Plus(f, o)), "tanh(h + o)"), (Hadamard(apply("exp", f), o), "exp(h) * o"),
    (Diagonal(f), "diag(h)"), (Times(Diagonal(f), W), "diag(h) @ W_hh"), (Ones(h, Integer(1)), "1"),
    (Plus(Ones(h, Integer(1)), Scale(Integer(-1), f)), "1 - h"), (Scale(Rational(1, 2), Ones(h, Integer(1))), "1/2"),
    (Norm(W), "||W_hh||"), (Maximum(Norm(W), Delta(t, T)), "max(||W_hh||, [t = T])"),
    (Delta(t, T), "[t = T]"), (stacked([f, o]), "concat(h, o)"), (Tangent(At(f, t)), "dh[t]"),
    (Times(selection(Integer(0), h, 2 * h), MatrixSymbol("V", 2 * h, h)), "V[:h]"),
    (Times(selection(h, h, 3 * h), MatrixSymbol("V", 3 * h, h), f), "V[h:2*h] @ h"),
])
def test_expressions(e, written) -> None:
    assert str(e) == repr(e) == written
