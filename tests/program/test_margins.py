"""Nothing is made of numbers in front of the first step that no one has written."""

from sympy import MatrixSymbol, Symbol

from symbptt.expr.build import hadamard
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At
from symbptt.program.fuse import Layout
from symbptt.program.margins import MANY, lacking, unwritten

N = Symbol("n", integer=True, positive=True)
A, B, H, X = (MatrixSymbol(name, N, 1) for name in "abhx")


def at(family: MatrixSymbol, later: int = 0) -> At:
    return At(family, index(t) + later)


def test_what_is_read_before_the_first_step_is_missing_unless_it_is_given() -> None:
    layout, given = Layout(), {(H, 0)}
    rows = [(A, at(X, -1)), (B, hadamard(at(A), at(A, -1))), (H, at(H, -1))]
    missing = unwritten(rows, given, layout)
    assert missing == {A: 1, B: 2, H: 0}
    assert lacking(at(A, 1), missing, given, layout) == 0
    assert lacking(at(B, 1), missing, given, layout) == 1
    assert lacking(at(H, -2), missing, given, layout) == 2


def test_what_recurs_from_nothing_is_never_written() -> None:
    assert unwritten([(A, at(A, -1))], set(), Layout()) == {A: MANY}
