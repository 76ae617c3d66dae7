"""The differentials of the rule table are increments; a row with both halves wrong in the same way is refused here."""

from dataclasses import replace

import pytest

from symbptt.bptt.rules import RULES
from symbptt.expr.build import scale
from symbptt.expr.nodes import ONE, Apply, Hadamard, Loss, Zero
from symbptt.proof.axioms import Refused
from symbptt.proof.increments import AFFINE, Increments, increment, increment_theorems
from symbptt.proof.kernel import check
from symbptt.proof.oracle import Oracle
from symbptt.proof.rules_proved import Rows, operands

FOUND = list(increment_theorems())


def test_every_affine_row_has_its_theorems() -> None:
    constant = {kind for kind, rule in RULES.items() if rule.name == "constant"}
    assert set(AFFINE) | {Apply, Loss} | constant == RULES.keys()
    assert {q.rule for q in FOUND} == {RULES[kind].name for kind in AFFINE}
    for kind in AFFINE:
        for e in operands()[kind]:
            if type(e) is kind and (kind is not Hadamard or e.shape[1] == ONE):
                count = sum(hasattr(a, "shape") for a in e.args)
                assert [q.operand for q in FOUND if q.expression == e] == list(range(count))


def test_the_kernel_replays_each_from_nothing() -> None:
    for q in FOUND:
        claim = check(q.proved.proof)
        assert (claim.left, claim.right) == increment(q.expression, q.operand)
        assert not claim.hypotheses
        assert not claim.assumptions


@pytest.mark.parametrize("rule", sorted({q.rule for q in FOUND}))
def test_the_oracle_agrees(rule) -> None:
    for q in [q for q in FOUND if q.rule == rule][:4]:
        assert Oracle(seed=7).refutes(q.proved.theorem.left, q.proved.theorem.right) is None


@pytest.mark.parametrize("kind", AFFINE, ids=lambda k: k.__name__)
def test_both_halves_twice_as_large_are_refused(kind, monkeypatch) -> None:
    """<g, 2 d e> = Σ <2 pull-back, d A> is true; that 2 d e is the increment is not."""
    rule = RULES[kind]
    monkeypatch.setitem(RULES, kind, replace(
        rule, differential=lambda e, d: scale(2, rule.differential(e, d)),
        pull_back=lambda e, g: ((a, scale(2, p)) for a, p in rule.pull_back(e, g))))
    e = next(e for e in operands()[kind] if type(e) is kind)
    assert Rows().proved("planted", e)
    with pytest.raises(Refused):
        Increments().proved(e, 0)


@pytest.mark.parametrize("kind", AFFINE, ids=lambda k: k.__name__)
def test_an_operand_that_is_held_at_rest_is_refused(kind, monkeypatch) -> None:
    rule = RULES[kind]
    monkeypatch.setitem(RULES, kind, replace(
        rule, differential=lambda e, d: (rule.differential(e, d), Zero(*e.shape))[1]))
    for e in operands()[kind]:
        if type(e) is kind and (kind is not Hadamard or e.shape[1] == ONE):
            with pytest.raises(Refused):
                Increments().proved(e, 0)
