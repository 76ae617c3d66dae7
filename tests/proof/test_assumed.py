"""What the rule table takes for granted is listed from the tables, and for the theorems that need it."""

import re
from dataclasses import replace

import pytest

from symbptt.derive import prove
from symbptt.expr.build import scale
from symbptt.model.functions import CALLABLE, ENTRYWISE
from symbptt.model.read import load
from symbptt.proof.account import ProvedStatement
from symbptt.proof.assumed import Assumed, assumed, rests_on
from tests.conftest import FILES

FEW = ["linear", "gru", "elman-softmax", "regularised"]


def proved(name: str) -> dict[str, ProvedStatement]:
    return {q.key: q for q in prove(load(FILES[name]))}


def names(found: Assumed) -> set[str]:
    return {row.name for row in found.derivatives}


@pytest.mark.parametrize("name", [*FEW, *(pytest.param(n, marks=pytest.mark.slow) for n in FILES if n not in FEW)])
def test_the_functions_and_losses_of_a_model_are_listed(name: str) -> None:
    """The functions that the text of the model calls, and those of the losses with a name; opaque losses besides."""
    model = load(FILES[name])
    found = assumed(model)
    text = " ".join(str(e.right) for e in (*model.equations, *model.computed))
    called = {word for word in re.findall(r"([A-Za-z_]\w*)\(", text) if word in CALLABLE}
    entropy = {"log_softmax"} if any(term.loss.name == "softmax_cross_entropy" for term in model.losses) else set()
    assert names(found) == called | entropy
    assert {row.loss.name for row in found.losses} == set(model.opaque)
    assert all(row.gradients for row in found.losses)
    letters = {str(row.argument.name) for row in found.derivatives}
    assert not letters & ({p.name for p in (*model.parameters, *model.static)} | model.families.keys())


def test_each_theorem_names_what_it_needs() -> None:
    model, found = load("elman-softmax"), proved("elman-softmax")
    needs = {key: names(rests_on(model, q)) for key, q in found.items()}
    assert needs.pop("forward") == {"tanh"}
    assert needs.pop("pairing") == needs.pop("directions") == {"tanh", "log_softmax"}
    assert len(needs) > 4
    assert not any(needs.values())


def test_the_loss_is_needed_for_the_derivative_of_L_alone() -> None:
    model, found = load("linear"), proved("linear")
    assert not rests_on(model, found["forward"])
    (loss,) = rests_on(model, found["pairing"]).losses
    assert (str(loss.loss), [str(g) for g in loss.gradients]) == ("l(o[t], y[t])", ["dl(o[t], y[t])/do[t]"])


def test_the_list_follows_a_changed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    (honest,) = assumed(load("elman")).derivatives
    monkeypatch.setitem(ENTRYWISE, "tanh", replace(ENTRYWISE["tanh"], slope=lambda _z, y: scale(2, y), source="none",
                                                   kinks=(0, 3), convention="1/2"))
    (planted,) = assumed(load("elman")).derivatives
    assert str(planted.derivative) == "2*tanh(z)" != str(honest.derivative)
    assert (planted.source, planted.kinks, planted.convention) == ("none", (0, 3), "1/2")
