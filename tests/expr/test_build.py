"""Constructors that tidy change how an expression looks and never what it is worth."""

import random

import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.expr.build import plus, scale, times, transpose
from symbptt.expr.nodes import Identity, Plus, Scale, Times, Transpose, Zero
from symbptt.proof.oracle import Oracle, added, multiplied, scaled, turned

h, d = Symbol("h"), Symbol("d")
A, B, W = MatrixSymbol("A", h, h), MatrixSymbol("B", h, h), MatrixSymbol("W", h, d)


def square(pick: random.Random, depth: int = 3):
    leaves, kinds = ["letter", "zero", "one"], ["letter", "plus", "times", "scale", "transpose", "zero", "one"]
    kind = pick.choice(kinds if depth else leaves)
    if kind == "plus":
        return Plus(square(pick, depth - 1), square(pick, depth - 1))
    if kind == "times":
        return Times(square(pick, depth - 1), square(pick, depth - 1))
    if kind == "scale":
        return Scale(Rational(pick.randint(-2, 2), 3), square(pick, depth - 1))
    if kind == "transpose":
        return Transpose(square(pick, depth - 1))
    return {"letter": pick.choice((A, B)), "zero": Zero(h, h), "one": Identity(h)}[kind]


@pytest.mark.parametrize("seed", range(80))
def test_the_value_stays(seed) -> None:
    pick, world = random.Random(seed), Oracle(seed=seed)
    a, b = square(pick), square(pick)
    x, y = world.value(a), world.value(b)
    assert world.value(plus([a, b])) == added(x, y)
    assert world.value(times(a, b)) == multiplied(x, y)
    assert world.value(scale(3, a)) == scaled(3, x)
    assert world.value(transpose(a)) == turned(x)


def test_tidy_forms() -> None:
    assert plus([Plus(A, B), A]) == Plus(A, B, A)
    assert plus([Zero(h, h), A]) == A
    assert plus([], like=W) == Zero(h, d)
    assert plus([Zero(h, d)]) == Zero(h, d)
    assert times(A, Identity(h), B) == Times(A, B)
    assert times(Times(A, B), W) == Times(A, B, W)
    assert times(Scale(Integer(2), A), Scale(Integer(3), B)) == Scale(Integer(6), Times(A, B))
    assert times(A, Zero(h, d)) == Zero(h, d)
    assert times(Identity(h), Identity(h)) == Identity(h)
    assert scale(2, Scale(Rational(1, 2), A)) == A
    assert scale(0, W) == Zero(h, d)
    assert transpose(Times(A, W)) == Times(Transpose(W), Transpose(A))
    assert transpose(Transpose(W)) == W


def test_an_empty_sum_needs_a_shape() -> None:
    with pytest.raises(ValueError, match="shape"):
        plus([])
