import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Identity, Multiple, Plus, Power, Scale, Times, Transpose, Zero
from symbptt.program.words import batched, plain, turned, words

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
