"""Each row of the rule table proves itself: <g, d e> = Σ <pull-back to a, d a>, modulo a prime.

And d e is the derivative, by dual numbers and SymPy's own slopes. Wrong slopes, planted, are refused.
"""

from dataclasses import replace

import pytest
from sympy import MatrixSymbol, Rational, Symbol

from symbptt.bptt.rules import RESULTS, RULES, VARIABLES, differential, pull_back
from symbptt.expr.build import apply, loss, plus, scale, selection, stacked, times, transpose
from symbptt.expr.nodes import (
    NODES,
    ONE,
    Apply,
    Block,
    Diagonal,
    Hadamard,
    Identity,
    Loss,
    Multiple,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.model.functions import ENTRYWISE, FUNCTIONS, LOSSES, SLOPES, VECTOR_FUNCTIONS
from symbptt.proof.field import PRIME, Dual, filled, paired
from symbptt.proof.meaning import MIXING, NAMED, Run
from symbptt.proof.oracle import Oracle

h, q, d = Symbol("h"), Symbol("q"), Symbol("d")
A, B, C = MatrixSymbol("A", h, q), MatrixSymbol("B", q, d), MatrixSymbol("C", d, h)
D, v, s, o, y = (MatrixSymbol("D", h, q), MatrixSymbol("v", h, 1), MatrixSymbol("s", 1, 1), MatrixSymbol("o", h, 1),
                 MatrixSymbol("y", q, 1))
x = MatrixSymbol("x", q, 1)

EXAMPLES = {
    Plus: [Plus(A, D), Plus(A, D, A)],
    Times: [Times(A, B), Times(A, B, C), Times(A, x), Times(Transpose(v), A, x), Times(v, Transpose(v), v)],
    Hadamard: [Hadamard(v, o), Hadamard(v, o, v), Hadamard(A, D), Hadamard(Times(A, x), v, Plus(v, o)),
               Hadamard(v, Ones(h, ONE))],
    Apply: [*(apply(name, Times(A, x)) for name in (*ENTRYWISE, *VECTOR_FUNCTIONS)),
            *(apply(name, A) for name in ENTRYWISE),
            Hadamard(apply("tanh", v), apply("softmax", o)), apply("sigmoid", Plus(Ones(h, ONE), apply("relu", v)))],
    Block: [stacked([v, x]), block([[A, v], [Transpose(x), MatrixSymbol("r", 1, 1)]]), stacked([v, v, Times(A, x)]),
            Times(selection(h, q, h + q), stacked([v, x])), block([[A, A, v]])],
    Scale: [Scale(Rational(-2, 3), A), Scale(Symbol("gamma"), v)],
    Multiple: [Multiple(s, v), Multiple(Times(Transpose(v), o), v)],
    Transpose: [Transpose(A), Transpose(Times(A, B)), Transpose(v)],
    Loss: [loss("l", o, y), loss("l", Times(A, x), y, v), loss("squared_error", Times(A, x), v),
           loss("squared_error", v, o), loss("softmax_cross_entropy", Times(A, x), v),
           loss("softmax_cross_entropy", v, o), loss("squared_norm", A), loss("squared_norm", v)],
    Zero: [Zero(h, q), Plus(A, Zero(h, q))],
    Ones: [Ones(h, ONE), Plus(v, Ones(h, ONE))],
    Identity: [Identity(h), Times(Identity(h), A)],
}
"""For every row, expressions whose outermost node it differentiates."""

CASES = [pytest.param(e, id=f"{kind.__name__}-{k}") for kind, es in EXAMPLES.items() for k, e in enumerate(es)]


def change(symbol: MatrixSymbol) -> MatrixSymbol:
    return MatrixSymbol(f"d_{symbol.name}", *symbol.shape)


def true_change(world, e):
    """What e changes by along the d_v of all its variables, by dual numbers."""
    run = Run(world, lambda _, leaf: Dual(lambda: world.value(leaf), (world.value(change(leaf)),)))
    return (run.dual(e, {}).tangents or (filled(0, *world.shape(e)),))[0]


def is_derivative(e) -> bool:
    world = Oracle(seed=5)
    return world.value(differential(e, change)) == true_change(world, e)


def test_the_table_is_total() -> None:
    assert RULES.keys() | VARIABLES | RESULTS == set(NODES)
    assert not RULES.keys() & VARIABLES
    assert not RULES.keys() & RESULTS
    assert not VARIABLES & RESULTS


def test_every_row_has_an_example() -> None:
    assert EXAMPLES.keys() == RULES.keys()
    names = {str(e.args[0]) for kind in (Apply, Loss) for e in EXAMPLES[kind] if type(e) is kind}
    assert names >= FUNCTIONS.keys() | SLOPES.keys() | VECTOR_FUNCTIONS.keys() | LOSSES.keys()


def test_the_oracle_knows_what_has_a_name() -> None:
    assert MIXING.keys() == VECTOR_FUNCTIONS.keys()
    assert NAMED.keys() == LOSSES.keys()
    assert ENTRYWISE == FUNCTIONS | SLOPES


@pytest.mark.parametrize("e", CASES)
def test_the_pairing_identity(e) -> None:
    world = Oracle(seed=3)
    g = MatrixSymbol("g", *e.shape)
    sent = sum(paired(world.value(pulled), world.value(change(leaf))) for leaf, pulled, _ in pull_back(e, g)) % PRIME
    assert paired(world.value(g), world.value(differential(e, change))) == sent


@pytest.mark.parametrize("e", CASES)
def test_a_pull_back_has_the_shape_of_its_variable(e) -> None:
    for leaf, pulled, _ in pull_back(e, MatrixSymbol("g", *e.shape)):
        assert pulled.shape == leaf.shape


@pytest.mark.parametrize("e", CASES)
def test_the_differential_is_the_derivative(e) -> None:
    """Beside the pairing, which ties the two halves of a row to each other, the truth."""
    assert is_derivative(e)


POLYNOMIALS = [e for kind in (Plus, Times, Block, Scale, Multiple, Transpose) for e in EXAMPLES[kind]]


@pytest.mark.parametrize("e", POLYNOMIALS, ids=str)
def test_the_differential_of_a_polynomial_is_a_difference(e) -> None:
    """(f(v - 2 dv) - 8 f(v - dv) + 8 f(v + dv) - f(v + 2 dv)) / 12, exact for polynomials of degree at most four."""
    world = Oracle(seed=5)
    points = {k: world.value(moved(e, k)) for k in (-2, -1, 1, 2)}
    weights = {-2: 1, -1: -8, 1: 8, 2: -1}
    twelfth = pow(12, -1, PRIME)
    slope = tuple(tuple(twelfth * sum(w * points[k][p][r] for k, w in weights.items()) % PRIME
                        for r in range(len(points[1][0]))) for p in range(len(points[1])))
    assert world.value(differential(e, change)) == slope == true_change(world, e)


def moved(e, k):
    """The expression at v + k dv."""
    if isinstance(e, MatrixSymbol):
        return Plus(e, Scale(Rational(k), change(e)))
    return type(e)(*[moved(a, k) if hasattr(a, "shape") else a for a in e.args])


def test_the_names_of_the_rules_lead_to_the_variable() -> None:
    trails = {leaf.name: trail for leaf, _, trail in pull_back(Plus(Times(A, B), Transpose(MatrixSymbol("E", d, h))),
                                                               MatrixSymbol("g", h, d))}
    assert trails == {"A": ("sum", "product"), "B": ("sum", "product"), "E": ("sum", "transpose")}


# Slopes. --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ENTRYWISE)
def test_the_slope_at_a_kink_is_the_convention(name) -> None:
    row = ENTRYWISE[name]
    for kink in row.kinks:
        z = scale(kink, Ones(h, ONE))
        there = scale(Rational(row.convention), Ones(h, ONE))
        assert Oracle().refutes(row.slope(z, apply(name, z)), there) is None


SLOPE_LIES = {
    "a factor": lambda row, z, y: scale(2, row.slope(z, y)),
    "the sign": lambda row, z, y: scale(-1, row.slope(z, y)),
    "one too much": lambda row, z, y: plus((row.slope(z, y), Ones(*z.shape))),
    "y for z and z for y": lambda row, z, y: row.slope(y, z),
}
OF_EITHER = {"relu", "leaky_relu", "hard_tanh"}
"""Their slopes are the same functions of z and of y: both lie on the same piece."""


@pytest.mark.parametrize("lie", SLOPE_LIES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_slope_is_refused(name, lie, monkeypatch) -> None:
    row = FUNCTIONS[name]
    monkeypatch.setitem(ENTRYWISE, name, replace(row, slope=lambda z, y: SLOPE_LIES[lie](row, z, y)))
    refused = [not is_derivative(apply(name, Times(A, x))), not is_derivative(apply(name, A))]
    assert any(refused) or (lie == "y for z and z for y" and name in OF_EITHER)


def test_the_slope_of_a_neighbour_is_refused(monkeypatch) -> None:
    for name, row in FUNCTIONS.items():
        for other in FUNCTIONS.keys() - {name}:
            with monkeypatch.context() as planted:
                planted.setitem(ENTRYWISE, name, replace(row, slope=FUNCTIONS[other].slope))
                assert not is_derivative(apply(name, A)), (name, other)


JACOBIAN_LIES = {
    "the sign": lambda row, z, y: scale(-1, row.jacobian(z, y)),
    "the part on the diagonal alone": lambda row, z, y: row.jacobian(z, y).args[0],
    "y for z and z for y": lambda row, z, y: row.jacobian(y, z),
    "the identity added": lambda row, z, y: plus((row.jacobian(z, y), Identity(z.shape[0]))),
}


@pytest.mark.parametrize("lie", JACOBIAN_LIES)
@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_a_wrong_jacobian_is_refused(name, lie, monkeypatch) -> None:
    row = VECTOR_FUNCTIONS[name]
    monkeypatch.setitem(VECTOR_FUNCTIONS, name, replace(row, jacobian=lambda z, y: JACOBIAN_LIES[lie](row, z, y)))
    assert not is_derivative(apply(name, v))


def test_a_transposed_jacobian_is_refused(monkeypatch) -> None:
    """softmax has a symmetric one, log_softmax has not."""
    row = VECTOR_FUNCTIONS["log_softmax"]
    monkeypatch.setitem(VECTOR_FUNCTIONS, "log_softmax",
                        replace(row, jacobian=lambda z, y: transpose(row.jacobian(z, y))))
    assert not is_derivative(apply("log_softmax", v))


LOSS_LIES = {
    "squared_error": lambda o, y: times(transpose(Plus(o, Scale(Rational(-1), y))), Plus(o, Scale(Rational(-1), y))),
    "softmax_cross_entropy": lambda o, y: times(transpose(y), apply("log_softmax", o)),
    "squared_norm": lambda w: times(transpose(Ones(w.shape[0], ONE)), w, Ones(w.shape[1], ONE)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_wrong_definition_of_a_loss_is_refused(name, monkeypatch) -> None:
    """½ forgotten, the minus forgotten, the square forgotten."""
    monkeypatch.setitem(LOSSES, name, replace(LOSSES[name], definition=LOSS_LIES[name]))
    assert not is_derivative(loss(name, *(v, o)[:len(LOSSES[name].arguments)]))


def test_softmax_is_no_function_of_one_entry() -> None:
    softmax = apply("softmax", v)
    assert Oracle().refutes(differential(softmax, change), Times(Diagonal(softmax), change(v)))
