import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.expr.index import index, t
from symbptt.expr.nodes import (
    At,
    Diagonal,
    Hadamard,
    Identity,
    Multiple,
    Ones,
    Plus,
    Power,
    Scale,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.program.words import batched, constant, diagonal, even, picked, placed, plain, turned, words

d, h = (Symbol(n, integer=True, positive=True) for n in "dh")
W, A, b, r, s = (MatrixSymbol("W", h, d), MatrixSymbol("A", h, h), MatrixSymbol("b", h, 1), MatrixSymbol("r", 1, h),
                 MatrixSymbol("s", 1, 1))
x, H = At(MatrixSymbol("x", d, 1), t), At(MatrixSymbol("h", h, 1), index(t) - 1)
O = At(MatrixSymbol("o", 1, 1), t)


def read(e):
    return [(w.number, w.scalars, w.segments) for w in words(e)]


def test_a_product_splits_where_a_size_is_one() -> None:
    e = Times(W, x, Transpose(H), A, H, Transpose(b))
    assert read(e) == [(1, (), [(W, x), (Transpose(H), A, H), (Transpose(b),)])]


def test_numbers_and_scalars_come_out_however_nested() -> None:
    e = Scale(Rational(2, 3), Times(Scale(Integer(3), A), Multiple(O, Times(Identity(h), H))))
    assert read(e) == [(2, (O,), [(A, H)])]


def test_a_sum_with_samples_is_distributed_and_one_without_is_kept() -> None:
    mixed = Times(Plus(A, Times(H, Transpose(b))), H)
    assert read(mixed) == [(1, (), [(A, H)]), (1, (), [(H,), (Transpose(b), H)])]
    kept = Times(Plus(A, Transpose(A)), H)
    assert read(kept) == [(1, (), [(Plus(A, Transpose(A)), H)])]
    columns = Times(A, Plus(H, b))
    assert read(columns) == [(1, (), [(A, Plus(H, b))])]


def test_a_zero_has_no_words() -> None:
    assert read(Times(A, Zero(h, Integer(1)))) == []


@pytest.mark.parametrize(("e", "expected"), [
    (Times(W, x), Times(Transpose(x), Transpose(W))), (Transpose(A), A), (O, O),
    (Scale(Integer(2), A), Scale(Integer(2), Transpose(A))), (Multiple(O, H), Multiple(O, Transpose(H))),
    (Power(A, t), Power(Transpose(A), t)), (Plus(A, Transpose(A)), Plus(Transpose(A), A)),
    (Zero(h, d), Zero(d, h)), (Identity(h), Identity(h))])
def test_turned(e, expected) -> None:
    assert turned(e) == expected
    assert turned(turned(e)) == e
    assert turned(e).shape == e.shape[::-1]


def test_plain_is_what_has_two_axes_and_no_samples() -> None:
    assert all(map(plain, (W, Transpose(W), r, Power(A, t), Plus(A, Identity(h)), Times(A, A), Scale(Integer(2), A))))
    assert not any(map(plain, (b, s, x, Times(H, Transpose(b)), Transpose(b), Identity(Integer(1)), Power(s, t))))
    assert batched(Times(A, H))
    assert not batched(Times(A, b))


n, one = h, Integer(1)
PICK = block([[Zero(n, d), Identity(n), Zero(n, n), Zero(n, one)]])


def test_what_picks_rows_and_what_puts_them_back() -> None:
    assert picked(PICK) == (d, d + h)
    assert placed(Transpose(PICK)) == (d, d + h)
    assert picked(block([[Identity(n), Identity(n)]])) is None
    assert picked(block([[A, Zero(n, n)]])) is None
    assert placed(PICK) is None


def test_rows_are_picked_of_parameters_and_not_of_diagonals() -> None:
    big = MatrixSymbol("G", d + 2 * h + 1, d)
    joined = list(words(Times(PICK, big, x)))
    assert [w.factors for w in joined] == [(Times(PICK, big), x)]
    scaled = Times(Diagonal(H), PICK, Diagonal(MatrixSymbol("c", d + 2 * h + 1, 1)))
    assert [len(w.factors) for w in words(scaled)] == [3]


def test_numbers_that_broadcast() -> None:
    ones = Ones(h, one)
    assert constant(Plus(ones, Scale(Rational(-1, 2), ones))) == Rational(1, 2)
    assert constant(Hadamard(Scale(Integer(3), ones), ones)) == 3
    assert constant(Plus(ones, H)) is None
    assert constant(b) is None
    assert even(Plus(Identity(h), Scale(Integer(2), Diagonal(ones)))) == 3
    assert even(Diagonal(H)) is None


def test_diagonals_by_the_way_they_are_written() -> None:
    assert all(map(diagonal, (Diagonal(H), Identity(h), Plus(Diagonal(H), Identity(h)), Power(Diagonal(b), t),
                              Scale(Integer(2), Diagonal(b)), Multiple(O, Identity(h)))))
    assert not any(map(diagonal, (A, Plus(Diagonal(H), A), Diagonal(O), Times(Diagonal(H), A))))


def test_static_columns_have_samples() -> None:
    assert batched(Times(A, b), {"b"})
    assert not plain(Hadamard(A, Times(b, Transpose(b))), {"b"})
    assert plain(Hadamard(A, Times(b, Transpose(b))))


def test_sums_stay_together_where_no_column_follows() -> None:
    mixed = Times(Plus(A, Times(H, Transpose(b))), A)
    assert [len(w.factors) for w in words(mixed, apart=False)] == [2]
    assert len(list(words(mixed))) == 2
