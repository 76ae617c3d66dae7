"""Expressions in SymPy's own classes: each class of the vocabulary, entry by entry."""

import pytest
import sympy
from sympy import ImmutableMatrix, Integer, MatrixSymbol

from symbptt.expr.build import apply
from symbptt.expr.index import T, t
from symbptt.expr.nodes import NODES, Delta, Diagonal, Hadamard, Ones, Plus, Times
from symbptt.expr.to_sympy import CONVERSIONS, NotPlain, to_sympy

f, g = MatrixSymbol("f", 2, 1), MatrixSymbol("g", 2, 1)
A = MatrixSymbol("A", 2, 2)
TWO = Integer(2)


def test_the_table_is_total() -> None:
    assert CONVERSIONS.keys() == set(NODES)


@pytest.mark.parametrize(("e", "entries"), [
    (Hadamard(f, g), [f[0, 0] * g[0, 0], f[1, 0] * g[1, 0]]),
    (Hadamard(f, g, f), [f[0, 0] ** 2 * g[0, 0], f[1, 0] ** 2 * g[1, 0]]),
    (Times(Diagonal(f), g), [f[0, 0] * g[0, 0], f[1, 0] * g[1, 0]]),
    (Times(A, Ones(TWO, Integer(1))), [A[0, 0] + A[0, 1], A[1, 0] + A[1, 1]]),
    (Plus(f, Ones(TWO, Integer(1))), [f[0, 0] + 1, f[1, 0] + 1]),
], ids=str)
def test_elementwise_classes(e, entries) -> None:
    assert ImmutableMatrix(to_sympy(e).as_explicit()) == ImmutableMatrix(2, 1, entries)


def test_a_function_is_applied_to_each_entry() -> None:
    found = to_sympy(apply("tanh", f)).as_explicit()
    tanh = sympy.Function("tanh")
    assert found == ImmutableMatrix(2, 1, [tanh(f[0, 0]), tanh(f[1, 0])])


def test_a_delta_has_no_plain_form() -> None:
    with pytest.raises(NotPlain):
        to_sympy(Delta(t, T))
