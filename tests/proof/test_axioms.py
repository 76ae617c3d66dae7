"""Every axiom holds at random points where its conditions do, and is refused or false outside them."""

import random
from functools import reduce

import numpy as np
import pytest
from sympy import Integer, MatrixSymbol, Symbol

from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import (
    ONE,
    At,
    Delta,
    Diagonal,
    Hadamard,
    Identity,
    Maximum,
    Multiple,
    Norm,
    Ones,
    Plus,
    Power,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.expr.shape import ShapeError
from symbptt.proof.axioms import AXIOMS, Refused
from symbptt.proof.oracle import Oracle

h, q, d = Symbol("h"), Symbol("q"), Symbol("d")
A, B, Q = MatrixSymbol("A", h, h), MatrixSymbol("B", h, h), MatrixSymbol("Q", h, q)
R, v, s = MatrixSymbol("R", q, h), MatrixSymbol("v", h, 1), MatrixSymbol("s", 1, 1)
v_q = MatrixSymbol("v_q", q, 1)
X, Y = MatrixSymbol("X", h, q), MatrixSymbol("Y", q, h)
f = MatrixSymbol("f", h, 1)
i, j, k, m, n = map(IndexVar, "ijkmn")
a, b, c = (index(IndexVar(name)) for name in "abc")

BODY = Plus(Times(At(MatrixSymbol("F", h, h), index(i) - a), At(f, index(i))), Scale(i, At(f, b)))
SQUARE = Times(At(X, index(k) - 1), At(Y, index(k) + a))

ROWS = {
    "power_zero": [(A,)],
    "power_step": [(A, index(n)), (A, a - b)],
    "product_empty": [(SQUARE, k, a)],
    "product_first": [(SQUARE, k, b, c), (SQUARE, k, index(t), index(T))],
    "product_join": [(SQUARE, k, b, index(m), c)],
    "product_shift": [(SQUARE, k, b, c, a - 1)],
    "product_rotate": [(At(X, index(k)), At(Y, index(k) - a), k, b, c)],
    "product_constant": [(A, k, b, c), (Power(A, a), k, b, c)],
    "sum_empty": [(BODY, i, a, c)],
    "sum_first": [(BODY, i, a, c), (BODY, i, index(t), index(T))],
    "sum_terms": [(BODY, i, Index(-1), Index(3)), (BODY, i, Index(2), Index(3))],
    "sum_split": [(BODY, i, a, index(m), c)],
    "sum_shift": [(BODY, i, a, c, b - 2)],
    "sum_reflect": [(BODY, i, a, c), (BODY, i, index(t), index(T))],
    "sum_left": [(At(MatrixSymbol("G", q, h), b), BODY, i, a, c)],
    "sum_right": [(BODY, i, a, c, Transpose(At(f, b)))],
    "sum_plus": [(BODY, At(f, index(i)), i, a, c)],
    "sum_transpose": [(BODY, i, a, c)],
    "sum_exchange": [(Plus(At(f, index(2 * j - i)), BODY), i, j, a, c)],
    "block_times": [(block([[A, Q], [R, Zero(q, q)]]), block([[v, A], [MatrixSymbol("w", q, 1), R]]))],
    "block_plus": [(block([[A, Q]]), block([[B, X]]))],
    "block_transpose": [(block([[A, Q], [R, Zero(q, q)]]),)],
    "block_zero": [(block([[Zero(h, q)], [Zero(d, q)]]),)],
    "block_single": [(Q,)],
    "scalar_multiple": [(v, s), (v, Times(Transpose(v), A, v))],
    "multiple_identity": [(s, Q), (Times(Transpose(v), v), v)],
    "scalar_transpose": [(s,), (Times(Transpose(v), A, v),)],
    "hadamard_commutes": [(v, f), (Q, X)],
    "hadamard_nested": [((v,), (f, At(f, a))), ((Q, X), (Q, Transpose(R))), ((v, f), (At(f, a),)), ((v,), (f,))],
    "hadamard_outer": [(Q, v, v_q), (Transpose(R), Times(A, v), v_q), (v, f, s)],
    "diagonal_times": [(v, f), (Times(A, v), At(f, a))],
    "diagonal_product": [(v, f), (f, Times(A, v))],
    "diagonal_plus": [(v, f), (v, f, At(f, a))],
    "diagonal_scale": [(Symbol("c"), v), (1 / T, f)],
    "diagonal_ones": [(h,), (h + q,)],
    "norm_times": [(A, Q), (A, Q, v_q), (Q,), (Zero(h, q), R)],
    "norm_identity": [(h,), (ONE,)],
    "max_associative": [(s, Norm(A), Times(Transpose(v), v)), (s, s, s)],
    "max_times": [(Q, s, Norm(A)), (Zero(h, q), s, Norm(A))],
    "delta_same": [(index(t),), (a - b + 2,), (Index(0),)],
    "delta_apart": [(index(t), index(T)), (a, b + c), (index(t), index(t) + 1)],
}
"""For every axiom, parameters to try it at."""

INSTANCES = [pytest.param(name, args, id=f"{name}-{number}")
             for name, listed in ROWS.items() for number, args in enumerate(listed)]


def test_every_axiom_is_tried() -> None:
    assert ROWS.keys() == AXIOMS.keys()


def valuations(world, sides, conditions, count=12):
    found = list(world.valuations(sides, conditions))
    return random.Random(0).sample(found, min(count, len(found)))


@pytest.mark.parametrize(("name", "args"), INSTANCES)
def test_an_axiom_holds_where_its_conditions_do(name, args) -> None:
    world = Oracle(steps=3, seed=2)
    left, right, conditions = AXIOMS[name].law(*args)
    assert left.shape == right.shape
    tried = valuations(world, (left, right), conditions)
    assert tried
    for times in tried:
        assert world.value(left, times) == world.value(right, times), times


@pytest.mark.parametrize(("name", "args"), [p for p in INSTANCES if p.values[0] not in ("sum_empty", "product_rotate")])
def test_each_condition_is_needed(name, args) -> None:
    """Where a condition fails by one, the two sides differ; an axiom asks for no more than it must."""
    world = Oracle(steps=3, seed=2)
    left, right, conditions = AXIOMS[name].law(*args)
    for number, form in enumerate(conditions):
        others = [*conditions[:number], *conditions[number + 1:], -form - 1, form + 1]
        tried = valuations(world, (left, right), others)
        assert not form.terms or any(world.value(left, x) != world.value(right, x) for x in tried), form


CAPTURES = {
    "sum_left": (At(MatrixSymbol("G", q, h), index(i)), BODY, i, a, c),
    "sum_right": (BODY, i, a, c, Transpose(At(f, index(i)))),
    "sum_shift": (BODY, i, a, c, index(i)),
    "product_shift": (SQUARE, k, b, c, index(k)),
    "product_constant": (SQUARE, k, b, c),
    "sum_exchange": (BODY, i, i, a, c),
}


@pytest.mark.parametrize(("name", "args"), CAPTURES.items(), ids=CAPTURES)
def test_capture_is_refused(name, args) -> None:
    with pytest.raises(Refused):
        AXIOMS[name].law(*args)


def test_bounds_of_an_exchange_may_not_mention_its_indices() -> None:
    for lo, hi in ((index(i), c), (a, index(j))):
        with pytest.raises(Refused):
            AXIOMS["sum_exchange"].law(BODY, i, j, lo, hi)


@pytest.mark.parametrize(("name", "args"), [
    ("scalar_multiple", (Q, s)), ("scalar_multiple", (v, A)), ("scalar_transpose", (v,)), ("scalar_transpose", (A,)),
    ("block_zero", (block([[Zero(h, q)], [Q]]),)), ("sum_terms", (BODY, i, a, c)),
    ("sum_terms", (BODY, i, Index(1), Index(1))), ("sum_terms", (BODY, i, Index(3), Index(1))),
], ids=str)
def test_what_does_not_fit_is_refused(name, args) -> None:
    with pytest.raises((Refused, ShapeError)):
        AXIOMS[name].law(*args)


def test_substitution_into_a_body_captures_nothing() -> None:
    """Σ_{k=1}^{i} f_k opened at i := k: the k that comes in is not the k that is bound."""
    body = Times(Sum(At(MatrixSymbol("g", h, h), index(k) + index(i)), k, 1, index(i) + 1), At(f, index(i)))
    world = Oracle(steps=3, seed=4)
    left, right, conditions = AXIOMS["sum_first"].law(body, i, index(k), index(k) + 2)
    for times in world.valuations((left, right), conditions):
        assert world.value(left, times) == world.value(right, times)


PLANTED = {
    "diag(u) for diag(u ∘ v)": (Diagonal(Hadamard(v, f)), Diagonal(v)),
    "diag(u) + diag(v) for diag(u ∘ v)": (Diagonal(Hadamard(v, f)), Plus(Diagonal(v), Diagonal(f))),
    "a square forgotten": (Diagonal(Hadamard(v, v)), Diagonal(v)),
    "diag(u) u for u ∘ v": (Hadamard(v, f), Times(Diagonal(v), v)),
    "u vᵀ for diag(u) diag(v)": (Diagonal(Hadamard(v, f)), Times(v, Transpose(f))),
    "diag(c u) = c² diag(u)": (Diagonal(Scale(Symbol("c"), v)), Scale(Symbol("c") ** 2, Diagonal(v))),
    "diag(1) = 1 1ᵀ": (Diagonal(Ones(h, ONE)), Ones(h, h)),
    "A ∘ (u vᵀ) = diag(v) A diag(u)": (Hadamard(A, Times(v, Transpose(f))), Times(Diagonal(f), A, Diagonal(v))),
    "A ∘ (u vᵀ) = diag(u) A": (Hadamard(A, Times(v, Transpose(f))), Times(Diagonal(v), A)),
    "A ∘ B = A B": (Hadamard(A, B), Times(A, B)),
    "a diagonal commutes with a matrix": (Times(Diagonal(v), A), Times(A, Diagonal(v))),
    "max(a, b) = a": (Maximum(Norm(A), s), Norm(A)),
    "max(a, b) = a + b": (Maximum(s, Norm(A)), Plus(s, Norm(A))),
    "s max(a, b) = max(s a, s b)": (Times(s, Maximum(s, Norm(A))), Maximum(Times(s, s), Times(s, Norm(A)))),
    "‖0‖ = 1": (Norm(Zero(h, q)), Identity(ONE)),
    "‖A‖ = A": (Norm(s), s),
}


@pytest.mark.parametrize("lie", PLANTED)
def test_a_false_axiom_is_refuted(lie) -> None:
    """At some point, as which of two numbers is larger hangs on it."""
    assert any(Oracle(steps=3, seed=seed).refutes(*PLANTED[lie]) for seed in range(30))


NORM_LIES = {
    "‖A B‖ ≥ ‖A‖ ‖B‖": (Maximum(Norm(Times(A, B)), Times(Norm(A), Norm(B))), Norm(Times(A, B))),
    "‖A B‖ = ‖A‖ ‖B‖": (Norm(Times(A, B)), Times(Norm(A), Norm(B))),
    "‖A B‖ ≤ ‖A‖": (Maximum(Norm(Times(A, B)), Norm(A)), Norm(A)),
    "‖A‖ ≤ 1": (Maximum(Norm(A), Identity(ONE)), Identity(ONE)),
    "‖A + B‖ = ‖A‖ + ‖B‖": (Norm(Plus(A, B)), Plus(Norm(A), Norm(B))),
    "s max(a, b) = max(s a, s b)": (Times(Scale(Integer(-1), s), Maximum(s, Norm(A))),
                                    Maximum(Times(Scale(Integer(-1), s), s), Times(Scale(Integer(-1), s), Norm(A)))),
}


def of_the_reals(e, values):
    """The value of an expression in real numbers, with the spectral norm."""
    if isinstance(e, MatrixSymbol | At):
        return values.setdefault(e, np.random.default_rng(len(values)).normal(size=[
            {h: 4, q: 3, ONE: 1}[n] for n in e.shape]))
    parts = [of_the_reals(x, values) for x in e.args if hasattr(x, "shape")]
    size = {h: 4, q: 3, h + q: 7, ONE: 1}
    return {Times: lambda: reduce(np.matmul, parts), Plus: lambda: sum(parts), Transpose: lambda: parts[0].T,
            Scale: lambda: float(e.args[0]) * parts[0], Norm: lambda: np.full((1, 1), np.linalg.norm(parts[0], 2)),
            Maximum: lambda: np.maximum(*parts), Identity: lambda: np.eye(size[e.shape[0]]),
            Zero: lambda: np.zeros([size[n] for n in e.shape])}[type(e)]()


@pytest.mark.parametrize(("name", "args"), [p for p in INSTANCES if p.values[0].startswith(("norm", "max"))])
def test_the_laws_of_norms_hold_for_the_spectral_norm(name, args) -> None:
    left, right, conditions = AXIOMS[name].law(*args)
    values = {}
    np.testing.assert_allclose(of_the_reals(left, values), of_the_reals(right, values))
    assert not conditions


@pytest.mark.parametrize("lie", NORM_LIES)
def test_a_false_law_of_norms_is_refuted(lie) -> None:
    values = {s: np.full((1, 1), 2.0)}
    left, right = (of_the_reals(side, values) for side in NORM_LIES[lie])
    assert not np.allclose(left, right)


def test_every_axiom_names_its_source() -> None:
    assert all(row.source and row.law.__doc__ for row in AXIOMS.values())


def test_an_empty_reflection_is_right() -> None:
    left, right, _ = AXIOMS["sum_reflect"].law(At(f, index(i)), i, Index(5), Index(2))
    assert Oracle().refutes(left, right) is None


def test_a_multiple_spreads() -> None:
    assert Oracle().refutes(Multiple(s, Q), Times(Multiple(s, Identity(h)), Q)) is None


def test_lies_about_a_delta_are_refuted() -> None:
    """δ_{aa} = 0, δ_{ab} = 1 and δ_{ab} = 0 without its condition."""
    for lie in ((Delta(t, t), Zero(ONE, ONE)), (Delta(t, T), Identity(ONE)), (Delta(t, T), Zero(ONE, ONE)),
                (Delta(t, T), Delta(index(t) + 1, T))):
        assert Oracle(steps=3).refutes(*lie)
    assert Oracle(steps=3).refutes(Delta(t, T), Delta(T, t)) is None
    assert Oracle(steps=3).refutes(Delta(t, T), Delta(index(t) + 1, index(T) + 1)) is None


def test_a_delta_has_one_index_or_two_that_differ() -> None:
    """Other index forms than the law takes are refused: it has one parameter for both sides."""
    with pytest.raises(TypeError):
        AXIOMS["delta_same"].law(index(t), index(T))
    left, right, conditions = AXIOMS["delta_apart"].law(index(t), index(t))
    assert conditions == (Index(-1),)
    assert Oracle(steps=3).refutes(left, right, conditions) is None
    assert Oracle(steps=3).refutes(left, right)
