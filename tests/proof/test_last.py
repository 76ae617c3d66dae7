"""Where only the last step has a loss, the sum has one word."""

from dataclasses import replace

import pytest

from symbptt.derive import derive
from symbptt.expr.nodes import Sum
from symbptt.expr.walk import visit
from symbptt.proof.oracle import Oracle

LAST = ["last_loss", "last_cross_entropy", "last_direct"]


def theorems(model, key):
    return [q for q in derive(model).theorems if q.key.startswith(key)]


def test_only_models_with_a_loss_at_the_last_step_alone(model, derivation) -> None:
    alone = all(term.reduce in ("last", "once") for term in model.losses)
    assert alone or not any(q.key.startswith("at_last") for q in derivation(model).theorems)


@pytest.mark.parametrize("name", LAST)
def test_one_word_is_left(name, named) -> None:
    model = named(name)
    (proved,) = theorems(model, "at_last")
    assert not any(isinstance(e, Sum) for e in visit(proved.theorem.right))
    truth = Oracle(model, 4, 1, proved.proof.definitions)
    assert truth.refutes(proved.theorem.left, proved.theorem.right, proved.theorem.hypotheses) is None
    for total in theorems(model, "total"):
        assert sum(isinstance(e, Sum) for e in visit(total.theorem.right)) <= 1


@pytest.mark.parametrize("name", LAST)
def test_with_a_loss_at_every_step_one_word_is_not_enough(name, named) -> None:
    model = named(name)
    (proved,) = theorems(model, "at_last")
    every = replace(model, losses=tuple(replace(term, reduce="sum") for term in model.losses))
    assert not theorems(every, "at_last")
    truth = Oracle(every, 4, 1, ())
    assert truth.refutes(proved.theorem.left, proved.theorem.right, proved.theorem.hypotheses) is not None
