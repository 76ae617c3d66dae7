"""Every row of the rule table is a theorem; a wrong half of a row is none."""

from dataclasses import replace

import pytest
from sympy import MatrixSymbol

import symbptt
from symbptt.bptt.rules import RULES
from symbptt.expr.build import plus, scale, times, transpose
from symbptt.expr.nodes import Apply, Hadamard, Identity, Loss, Ones, Times, Zero
from symbptt.expr.walk import visit
from symbptt.model.functions import ENTRYWISE, LOSSES, VECTOR_FUNCTIONS
from symbptt.proof.assumed import assumed_derivatives
from symbptt.proof.axioms import Refused
from symbptt.proof.kernel import check
from symbptt.proof.oracle import Oracle
from symbptt.proof.rules_proved import Rows, operands, pairing, rule_theorems

FOUND = list(rule_theorems())


def test_every_row_has_its_theorems() -> None:
    table = operands()
    assert table.keys() == RULES.keys()
    assert {q.rule for q in FOUND} == {rule.name for rule in RULES.values()}
    functions = {str(q.expression.args[0]) for q in FOUND if type(q.expression) is Apply}
    losses = {q.expression.name for q in FOUND if type(q.expression) is Loss}
    assert functions == ENTRYWISE.keys() | VECTOR_FUNCTIONS.keys()
    assert losses >= LOSSES.keys() | {"l"}


def test_the_kernel_replays_each_from_nothing() -> None:
    for q in FOUND:
        claim = check(q.proved.proof)
        assert (claim.left, claim.right) == pairing(q.expression)
        assert not claim.hypotheses
        assert not claim.assumptions
        assert not q.proved.proof.definitions


@pytest.mark.parametrize("rule", sorted({q.rule for q in FOUND}))
def test_the_oracle_agrees(rule) -> None:
    for q in [q for q in FOUND if q.rule == rule][:3]:
        assert Oracle(seed=7).refutes(q.proved.theorem.left, q.proved.theorem.right) is None


def test_what_is_assumed_is_listed() -> None:
    for q in FOUND:
        named = {str(part.args[0]) for part in visit(q.expression) if type(part) is Apply}
        if type(q.expression) is Loss and q.expression.name == "softmax_cross_entropy":
            named = {"log_softmax"}
        assert {row.name for row in q.assumed} == named


PULL_LIES = {
    "the sign": lambda e, a, p, g: scale(-1, p),
    "a factor": lambda e, a, p, g: scale(2, p),
    "nothing": lambda e, a, p, g: Zero(*p.shape),
    "g itself": lambda e, a, p, g: g if g.shape == p.shape and p != g else scale(3, p),
}
DIFFERENTIAL_LIES = {
    "the sign": lambda e, d, found: scale(-1, found),
    "one too much": lambda e, d, found: plus((found, Ones(*found.shape))),
    "nothing": lambda e, d, found: Zero(*found.shape),
}
MOVING = [kind for kind in RULES if RULES[kind].name != "constant"]


def first_of(kind):
    return next(e for e in operands()[kind] if type(e) is kind)


@pytest.mark.parametrize("lie", PULL_LIES)
@pytest.mark.parametrize("kind", MOVING, ids=lambda k: k.__name__)
def test_a_wrong_pull_back_is_refused(kind, lie, monkeypatch) -> None:
    rule = RULES[kind]
    monkeypatch.setitem(RULES, kind, replace(rule, pull_back=lambda e, g: (
        (a, PULL_LIES[lie](e, a, p, g)) for a, p in rule.pull_back(e, g))))
    with pytest.raises(Refused):
        Rows().proved("planted", first_of(kind))


@pytest.mark.parametrize("lie", DIFFERENTIAL_LIES)
@pytest.mark.parametrize("kind", MOVING, ids=lambda k: k.__name__)
def test_a_wrong_differential_is_refused(kind, lie, monkeypatch) -> None:
    rule = RULES[kind]
    monkeypatch.setitem(RULES, kind, replace(rule, differential=lambda e, d: DIFFERENTIAL_LIES[lie](
        e, d, rule.differential(e, d))))
    with pytest.raises(Refused):
        Rows().proved("planted", first_of(kind))


def test_a_missing_transpose_in_a_product_is_refused(monkeypatch) -> None:
    """The mistake of published code: W g for Wᵀ g; with a square W the shapes do not tell."""
    square, v = MatrixSymbol("W", 3, 3), MatrixSymbol("v", 3, 1)

    def wrong(e, g):
        a, b = e.args
        return iter([(a, times(g, transpose(b))), (b, times(a, g))])

    monkeypatch.setitem(RULES, Times, replace(RULES[Times], pull_back=wrong))
    with pytest.raises(Refused):
        Rows().proved("planted", Times(square, v))


def test_an_operand_forgotten_is_refused(monkeypatch) -> None:
    rule = RULES[Hadamard]
    monkeypatch.setitem(RULES, Hadamard, replace(rule, pull_back=lambda e, g: iter(list(rule.pull_back(e, g))[1:])))
    for e in operands()[Hadamard]:
        with pytest.raises(Refused):
            Rows().proved("planted", e)


def test_a_jacobian_matrix_that_is_transposed_on_one_side_is_refused(monkeypatch) -> None:
    rule, row = RULES[Apply], VECTOR_FUNCTIONS["log_softmax"]
    monkeypatch.setitem(RULES, Apply, replace(rule, pull_back=lambda e, g: iter(
        [(e.args[1], times(transpose(row.jacobian(e.args[1], e)), g))])))
    with pytest.raises(Refused):
        Rows().proved("planted", next(e for e in operands()[Apply] if str(e.args[0]) == "log_softmax"))


def test_the_derivatives_that_a_model_assumes() -> None:
    (tanh,) = assumed_derivatives(symbptt.load("elman"))
    assert (str(tanh.value), str(tanh.derivative), tanh.entrywise) == ("tanh(z)", "1 - tanh(z) * tanh(z)", True)
    assert {row.name for row in assumed_derivatives(symbptt.load("lstm"))} == {"tanh", "sigmoid"}
    assert not assumed_derivatives(symbptt.load("linear"))
    relu = next(row for row in assumed_derivatives(symbptt.load("irnn")) if row.name == "relu")
    assert (relu.kinks, relu.convention) == ((0,), "0")
    found = assumed_derivatives(symbptt.load("elman-softmax"))
    assert next(row for row in found if row.name == "log_softmax").entrywise is False
    assert all(row.source for row in found)


def test_the_identity_is_no_function() -> None:
    assert not list(Rows().proved("constant", Identity(3)).assumed)
