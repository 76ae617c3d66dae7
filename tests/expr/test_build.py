"""Constructors that tidy change how an expression looks and never what it is worth."""

import random

import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.expr.build import (
    apply,
    hadamard,
    plus,
    scale,
    selected,
    selection,
    stacked,
    times,
    transpose,
    weighted,
)
from symbptt.expr.nodes import (
    ONE,
    Block,
    Diagonal,
    Hadamard,
    Identity,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
)
from symbptt.proof.field import added, multiplied, scaled, turned, weighed
from symbptt.proof.oracle import Oracle

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
    assert world.value(hadamard(a, b)) == world.value(weighted(a, b)) == weighed(x, y)


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


f, g, one = MatrixSymbol("f", h, 1), MatrixSymbol("g", h, 1), Ones(h, ONE)
COLUMNS = [f, Scale(Rational(-2, 3), f), Hadamard(f, g), Scale(Integer(2), Hadamard(g, f)), one, Scale(Integer(3), one),
           Times(one, Transpose(Ones(ONE, ONE))), Zero(h, ONE), Plus(f, one), Times(A, g), apply("tanh", f)]


@pytest.mark.parametrize("b", COLUMNS, ids=str)
@pytest.mark.parametrize("a", COLUMNS, ids=str)
def test_elementwise_products_of_columns_keep_their_value(a, b) -> None:
    world = Oracle(seed=3)
    wanted = weighed(world.value(a), world.value(b))
    assert world.value(hadamard(a, b)) == world.value(weighted(a, b)) == wanted
    assert hadamard(a, b).shape == weighted(a, b).shape == (h, 1)


def test_tidy_elementwise_forms() -> None:
    assert hadamard(Hadamard(f, g), f) == Hadamard(f, g, f)
    assert hadamard(f, one) == hadamard(one, f) == f
    assert hadamard(one, one) == one
    assert hadamard(Scale(Integer(2), f), Scale(Integer(3), g)) == Scale(Integer(6), Hadamard(f, g))
    assert hadamard(f, Zero(h, ONE)) == Zero(h, ONE)
    assert hadamard(W, W) == Hadamard(W, W)
    assert weighted(f, g) == Times(Diagonal(f), g)
    assert weighted(one, g) == g
    assert weighted(Scale(Integer(-1), f), g) == Scale(Integer(-1), Times(Diagonal(f), g))
    assert weighted(W, W) == Hadamard(W, W)
    assert transpose(Diagonal(f)) == Diagonal(f)
    assert stacked([f]) == f
    assert type(stacked([f, g])) is Block


def test_a_selection_picks_rows() -> None:
    k, m = Symbol("k"), Symbol("m")
    x, y, z = (MatrixSymbol(name, n, 1) for name, n in (("x", h), ("y", k), ("z", m)))
    whole, total = stacked([x, y, z]), h + k + m
    for column, start, size in ((x, Integer(0), h), (y, h, k), (z, h + k, m)):
        rows = selection(start, size, total)
        assert Oracle().refutes(Times(rows, whole), column) is None
        assert selected(rows) == (start, start + size)
    assert Oracle().refutes(Times(selection(h, k, total), whole), Times(selection(Integer(0), k, total), whole))
    assert selection(Integer(0), h, h) == Identity(h)
    for other in (f, Identity(h), Zero(h, h), whole, Transpose(selection(h, k, total))):
        assert selected(other) is None
