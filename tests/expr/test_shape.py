"""Shapes and the errors that name both sides."""

import pytest
from sympy import MatrixSymbol, Symbol

from symbptt.expr.shape import ShapeError, common_shape, described, product_shape, shape_text

h, d = Symbol("h"), Symbol("d")
A, W, x = MatrixSymbol("A", h, h), MatrixSymbol("W", h, d), MatrixSymbol("x", d, 1)


def test_shapes() -> None:
    assert product_shape(A, W, x) == (h, 1)
    assert common_shape("add", W, W) == (h, d)
    assert shape_text((h, d)) == "(h × d)"
    assert described(W) == "W (h × d)"


@pytest.mark.parametrize(("clash", "words"), [
    (lambda: product_shape(W, A), ["W (h × d)", "A (h × h)", "inner sizes d and h"]),
    (lambda: product_shape(A, W, W), ["W (h × d)"]),
    (lambda: common_shape("add", A, A, W), ["cannot add", "A (h × h)", "W (h × d)"]),
    (lambda: common_shape("multiply elementwise", x, W), ["cannot multiply elementwise", "x (d × 1)", "W (h × d)"]),
])
def test_messages(clash, words) -> None:
    with pytest.raises(ShapeError) as caught:
        clash()
    assert all(word in str(caught.value) for word in words)


def test_equal_symbols_of_other_assumptions_are_other_sizes() -> None:
    with pytest.raises(ShapeError):
        product_shape(MatrixSymbol("A", h, Symbol("n", integer=True)), MatrixSymbol("B", Symbol("n"), h))
