"""The derivatives that no theorem proves stand in printed proofs, in each form and for the theorems that need them."""

from dataclasses import replace

import pytest

from symbptt.derive import prove
from symbptt.expr.build import scale
from symbptt.model.functions import ENTRYWISE
from symbptt.model.read import load
from symbptt.render import targets

TITLE = "What is assumed of the functions and losses"
NEEDED = "That the changes in it are derivatives rests, beside this, on the "


def printed(name: str, target: str, steps: int | None = None) -> str:
    model = load(name)
    return targets.proofs(name, {steps: prove(model, steps)}, target, model)


def test_in_short_after_the_definitions() -> None:
    """With the source, and what stands for a derivative where there is none."""
    text = printed("irnn", "brief")
    given, proved = text.split(f"\n{TITLE}\n")
    assert given.startswith("For every T:\n\nGiven\n")
    first, second, empty, third, *_ = proved.split("\n")
    assert first.startswith("ReLU(z)′ = 1[ReLU(z) > 0]    (Goodfellow")
    assert first.endswith("; at z = 0, where there is none, 0 by convention)")
    assert (second, empty, third) == \
        ("ℓ(oₜ, yₜ) is differentiable, and its gradient is ∂ℓ(oₜ, yₜ)/∂oₜ", "", "Proved")


def test_the_jacobian_matrix_of_a_function_of_a_column() -> None:
    assert "\n(∂log softmax(z)/∂z)⊤ = I − softmax(z) 1⊤    (" in printed("elman-softmax", "brief")


def test_where_every_step_is_written_out_no_derivative_is_needed() -> None:
    assert TITLE not in printed("linear", "brief", 2)
    assert TITLE.upper() not in printed("linear", "text", 2)


def test_each_theorem_says_what_it_needs() -> None:
    text = " ".join(printed("elman-softmax", "text").split())
    assert text.count(TITLE.upper()) == 1
    assert text.count(f"{NEEDED}derivative of tanh(z).") == 1
    assert text.count(f"{NEEDED}derivatives of tanh(z) and log softmax(z).") == 2
    assert text.count(NEEDED) == 3


@pytest.mark.parametrize(("target", "formula"), [
    ("markdown", r"- $\tanh(\boldsymbol{z})$ has the derivative $\boldsymbol{1} - \tanh("),
    ("latex", r"\item $\tanh(\boldsymbol{z})$ has the derivative $\boldsymbol{1} - \tanh(")])
def test_in_documents(target: str, formula: str) -> None:
    text = printed("elman", target)
    assert text.count(TITLE) == text.count(formula) == 1
    assert r"rests, beside this, on the derivative of $\tanh(\boldsymbol{z})$ and the gradient of $\ell(" in text


def test_the_text_follows_a_changed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENTRYWISE, "tanh", replace(ENTRYWISE["tanh"], slope=lambda _z, y: scale(2, y), source="planted",
                                                   kinks=(0, 3), convention="1/2"))
    planted = printed("elman", "brief")
    assert "tanh(z)′ = 2 tanh(z)    (planted; at z = 0 and z = 3, where there is none, (1/2) by convention)" in planted
