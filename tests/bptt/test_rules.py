"""Each row of the rule table proves itself: <g, d e> = Σ <pull-back to a, d a>, modulo a prime."""

import pytest
from sympy import MatrixSymbol, Rational, Symbol

from symbptt.bptt.rules import RESULTS, RULES, VARIABLES, differential, pull_back
from symbptt.expr.build import loss
from symbptt.expr.nodes import NODES, Identity, Loss, Multiple, Plus, Scale, Times, Transpose, Zero
from symbptt.proof.oracle import PRIME, Oracle, paired

h, q, d = Symbol("h"), Symbol("q"), Symbol("d")
A, B, C = MatrixSymbol("A", h, q), MatrixSymbol("B", q, d), MatrixSymbol("C", d, h)
D, v, s, o, y = (MatrixSymbol("D", h, q), MatrixSymbol("v", h, 1), MatrixSymbol("s", 1, 1), MatrixSymbol("o", h, 1),
                 MatrixSymbol("y", q, 1))
x = MatrixSymbol("x", q, 1)

EXAMPLES = {
    Plus: [Plus(A, D), Plus(A, D, A)],
    Times: [Times(A, B), Times(A, B, C), Times(A, x), Times(Transpose(v), A, x), Times(v, Transpose(v), v)],
    Scale: [Scale(Rational(-2, 3), A), Scale(Symbol("gamma"), v)],
    Multiple: [Multiple(s, v), Multiple(Times(Transpose(v), o), v)],
    Transpose: [Transpose(A), Transpose(Times(A, B)), Transpose(v)],
    Loss: [loss("l", o, y), loss("l", Times(A, x), y, v)],
    Zero: [Zero(h, q), Plus(A, Zero(h, q))],
    Identity: [Identity(h), Times(Identity(h), A)],
}
"""For every row, expressions whose outermost node it differentiates."""

CASES = [pytest.param(e, id=f"{kind.__name__}-{k}") for kind, es in EXAMPLES.items() for k, e in enumerate(es)]


def change(symbol: MatrixSymbol) -> MatrixSymbol:
    return MatrixSymbol(f"d_{symbol.name}", *symbol.shape)


def test_the_table_is_total() -> None:
    assert RULES.keys() | VARIABLES | RESULTS == set(NODES)
    assert not RULES.keys() & VARIABLES
    assert not RULES.keys() & RESULTS
    assert not VARIABLES & RESULTS


def test_every_row_has_an_example() -> None:
    assert EXAMPLES.keys() == RULES.keys()


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


@pytest.mark.parametrize("e", [e for e in CASES if not isinstance(e.values[0], Zero | Identity)])
def test_the_differential_is_the_derivative(e) -> None:
    """Beside the pairing, which ties the two halves of a row to each other, the truth: (f(v + h dv) - f(v - h dv)) …

    For polynomials of degree at most four the five-point difference is exact in the field.
    """
    if any(isinstance(n, Loss) for n in (e,)):
        pytest.skip("an opaque loss is no polynomial")
    world = Oracle(seed=5)
    points = {k: world.value(moved(e, k)) for k in (-2, -1, 1, 2)}
    weights = {-2: 1, -1: -8, 1: 8, 2: -1}
    twelfth = pow(12, -1, PRIME)
    slope = tuple(tuple(twelfth * sum(w * points[k][p][r] for k, w in weights.items()) % PRIME
                        for r in range(len(points[1][0]))) for p in range(len(points[1])))
    assert world.value(differential(e, change)) == slope


def moved(e, k):
    """The expression at v + k dv."""
    if isinstance(e, MatrixSymbol):
        return Plus(e, Scale(Rational(k), change(e)))
    return type(e)(*[moved(a, k) if hasattr(a, "shape") else a for a in e.args])


def test_the_names_of_the_rules_lead_to_the_variable() -> None:
    trails = {leaf.name: trail for leaf, _, trail in pull_back(Plus(Times(A, B), Transpose(MatrixSymbol("E", d, h))),
                                                               MatrixSymbol("g", h, d))}
    assert trails == {"A": ("sum", "product"), "B": ("sum", "product"), "E": ("sum", "transpose")}
