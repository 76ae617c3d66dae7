"""The vocabulary: plain constructors that never simplify, and shapes that are checked."""

import pickle

import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from symbptt.expr.build import apply, loss
from symbptt.expr.index import IndexVar, T, index, t
from symbptt.expr.nodes import (
    NODES,
    Adjoint,
    Apply,
    At,
    Block,
    Chain,
    Delta,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    Immediate,
    Loss,
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
    is_scalar,
)
from symbptt.expr.shape import ShapeError
from symbptt.proof.meaning import MEANING

h, d, q = (Symbol(n, integer=True, positive=True) for n in "hdq")
A, W, V, f, s = (MatrixSymbol("A", h, h), MatrixSymbol("W", h, d), MatrixSymbol("V", q, h), MatrixSymbol("f", h, 1),
                 MatrixSymbol("s", 1, 1))
i = IndexVar("i")
L = loss("l", At(f, t), f)

SAMPLES = {
    (h, 1): [At(f, index(t) - 1), LossGradient(L, Integer(0)), Adjoint(At(f, t)), Direct(At(f, t)), Chain(At(f, t), f),
             Plus(f, f, f), Multiple(s, f), Sum(Times(A, At(f, i)), i, t, T), Tangent(At(f, t)),
             Immediate(At(f, t)), Hadamard(f, f, f), apply("tanh", f), apply("softmax", f)],
    (h, d): [W, Times(A, A, W), Scale(Rational(2, 3), W), Zero(h, d), Adjoint(W), Ones(h, d), Hadamard(W, W),
             apply("exp", W)],
    (d, h): [Transpose(W)],
    (h, h): [Identity(h), Power(A, index(t)), Product(A, i, 1, T), Diagonal(f)],
    (h + q, 2 * h): [block([[A, A], [V, V]])],
    (1, 1): [L, Times(Transpose(f), f), Delta(t, T), Norm(W), Maximum(s, Norm(f))],
}
CASES = [(shape, e) for shape, listed in SAMPLES.items() for e in listed]


@pytest.mark.parametrize(("shape", "e"), CASES, ids=lambda x: str(x)[:40])
def test_shapes(shape, e) -> None:
    assert e.shape == shape


def test_every_class_has_a_sample() -> None:
    assert {type(e) for _, e in CASES} - {MatrixSymbol} == set(NODES)


def test_every_class_has_a_meaning() -> None:
    assert MEANING.keys() == {*NODES, MatrixSymbol}


@pytest.mark.parametrize(("shape", "e"), CASES, ids=lambda x: str(x)[:40])
def test_expressions_travel_hash_and_compare(shape, e) -> None:
    twin = pickle.loads(pickle.dumps(e))
    assert twin == e
    assert hash(twin) == hash(e)
    assert twin.shape == shape
    assert e.func(*e.args) == e


FORGED = [
    (Plus, (f, Symbol("a"))), (Diagonal, (f, f)), (Transpose, (A, A)), (Zero, (h, d, q)), (Ones, (h,)),
    (Identity, (h, h)), (Norm, (A, A)), (Maximum, (s, s, s)), (Maximum, (s,)), (Maximum, (s, f)), (Multiple, (s, f, f)),
    (Scale, (h, f, f)),
    (Adjoint, (At(f, t), f)), (Direct, (At(f, t), f)), (Tangent, (f, f)), (Immediate, (At(f, t), f)),
    (Chain, (At(f, t), f, f)), (Chain, (Plus(f, f), f)), (Delta, (t, index(t))),
    (Delta, (index(t), index(t), index(t))),
    (Power, (A, index(t), A)), (Power, (A, t)), (At, (f, index(t), index(t))), (At, (f, t)),
    (Sum, (A, i, index(1), index(T), A)), (Sum, (A, h, index(1), index(T))), (Sum, (A, i, Integer(1), index(T))),
    (Product, (A, i, index(1))), (LossGradient, (L, Integer(0), f)), (LossGradient, (Plus(f, f), Integer(0))),
    (Apply, (Str("tanh"), f, f)), (Apply, (i, f)), (Apply, (f, f)), (Apply, (Symbol("tanh"), f)),
    (Loss, (Symbol("l"), f)), (Loss, (f, f)), (Block, (Integer(1),)), (Block, (Integer(-1), f)),
]


@pytest.mark.parametrize(("kind", "args"), FORGED, ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_node_takes_as_many_arguments_as_it_has_and_of_their_kind(kind, args) -> None:
    """Made past the constructors, as a proof that was read from somewhere may hold it."""
    with pytest.raises((TypeError, AttributeError, LookupError)):
        _ = Basic.__new__(kind, *args).shape


def test_nothing_is_simplified() -> None:
    assert Plus(f, f).args == (f, f)
    assert Times(Identity(h), A) != A
    assert Transpose(Transpose(A)) != A
    assert Plus(A, Zero(h, h)) != A
    assert Times(Times(A, A), A) != Times(A, Times(A, A))
    assert Scale(Integer(1), A) != A
    assert Hadamard(f, Ones(h, 1)) != f
    assert Hadamard(Hadamard(f, f), f) != Hadamard(f, f, f)
    assert Diagonal(Ones(h, 1)) != Identity(h)
    assert Delta(t, t) != Identity(1)
    assert apply("relu", apply("relu", f)) != apply("relu", f)
    assert len({Plus(f, At(f, t)), Plus(At(f, t), f)}) == 2


@pytest.mark.parametrize("e", [Plus(A, W), Plus(W, Transpose(W)), Times(W, A), Times(A, A, V), Power(W, index(2)),
                               Product(W, i, 1, T), Multiple(A, f), block([[A], [W]]), block([[A, V]]),
                               Scale(A, W), loss("l", Plus(A, W)), Block(Integer(2), A), Sum(Times(W, W), i, 1, 3),
                               At(Plus(f, f), t), Adjoint(Plus(f, f)), Hadamard(f, W), Hadamard(W, Transpose(W)),
                               Hadamard(f, f, A), Diagonal(W), Diagonal(Transpose(f)), apply("tanh", Plus(A, W)),
                               Diagonal(Plus(f, W)), Tangent(Plus(f, f)), Sum(A, i, 1, index(i) + 2), Sum(A, T, 1, 2)],
                         ids=lambda e: str(e)[:30])
def test_shapes_that_clash(e) -> None:
    with pytest.raises(ShapeError):
        _ = e.shape


def test_the_message_shows_both_sides() -> None:
    with pytest.raises(ShapeError, match=r"A \(h × h\).*f \(h × 1\)|W \(h × d\).*f \(h × 1\)"):
        _ = Times(W, f).shape


@pytest.mark.parametrize("c", [Integer(-1), Rational(2, 3), 1 / T, T, i, Symbol("a") * 2 + 1, 3 / Symbol("a") ** 2, h,
                               i * T])
def test_scalars(c) -> None:
    assert is_scalar(c)


@pytest.mark.parametrize("c", [1 / i, 1 / (T + 1), Symbol("a") ** Rational(1, 2), A, 2, 0.5, None,
                               Symbol("N", commutative=False), 1 / (1 - Symbol("a"))])
def test_what_is_no_scalar(c) -> None:
    assert not is_scalar(c)


def test_a_binder_binds_an_index() -> None:
    with pytest.raises(TypeError):
        _ = Sum(A, Symbol("n"), 1, 2).shape
    e = Sum(At(f, i), i, t, T)
    assert e.range == (index(i) - index(t), index(T) - index(i))


def test_empty_sums_and_products_of_operands_are_refused() -> None:
    for kind in (Plus, Times, Hadamard):
        with pytest.raises(TypeError, match="first"):
            _ = kind().shape


def test_the_message_of_an_elementwise_product_shows_both_sides() -> None:
    with pytest.raises(ShapeError, match=r"multiply elementwise.*f \(h × 1\).*W \(h × d\)"):
        _ = Hadamard(f, W).shape
    with pytest.raises(ShapeError, match=r"put on a diagonal.*W \(h × d\)"):
        _ = Diagonal(W).shape
