"""Forward accumulation: its closed form, and that both accumulations agree, proved and refuted where it is false."""

from dataclasses import replace

import pytest

from symbptt.bptt.backward import template
from symbptt.bptt.closed import solve
from symbptt.bptt.tangent import flows
from symbptt.bptt.tangent import solve as solve_forward
from symbptt.expr.build import scale, transpose
from symbptt.expr.nodes import Plus, Sum, Tangent
from symbptt.proof.axioms import Refused
from symbptt.proof.forward import Forward, tangent_definitions
from symbptt.proof.kernel import check
from symbptt.proof.oracle import Oracle
from symbptt.proof.pairing import Pairing
from symbptt.proof.prover import Prover


def provers(model, form=None, change=lambda forward: forward):
    """The provers of both theorems, over a forward sweep that may have been tampered with."""
    sweep, form = template(model), form or flows(model)
    closed = solve(sweep)
    forward = solve_forward(form, closed.letters if closed is not None else ())
    forward = None if forward is None else change(forward)
    prover = Prover(sweep, closed, more=tangent_definitions(form, forward))
    return prover, Forward(prover, form, forward), Pairing(prover, form)


def tampered(form, name, **changes):
    return replace(form, families={**form.families, name: replace(form.families[name], **changes)})


def test_the_closed_form_of_the_changes(model) -> None:
    prover, forward, _ = provers(model)
    if forward.forward is None:
        assert not model.carried or all(type(f.total).__name__ == "Zero" for f in forward.form.families.values())
        return
    proved = prover.proved("forward", forward.solution)
    assert check(proved.proof) == proved.theorem
    assert not proved.theorem.assumptions
    truth = Oracle(model, 4, 1, proved.proof.definitions)
    assert truth.refutes(proved.theorem.left, proved.theorem.right, proved.theorem.hypotheses) is None


def test_both_accumulations_agree(model, derivation) -> None:
    proved = next((q for q in derivation(model).theorems if q.key == "pairing"), None)
    if proved is None:
        assert not model.parameters
        return
    assert not proved.theorem.hypotheses
    assert not proved.theorem.assumptions
    truth = Oracle(model, 4, 1, proved.proof.definitions)
    assert truth.refutes(proved.theorem.left, proved.theorem.right) is None


@pytest.mark.parametrize("name", ["linear", "elman", "lstm", "gru", "second-order", "computed_start"])
def test_a_wrong_forward_sweep_does_not_agree(name, named) -> None:
    """One sign of one path changed: the two recursions are no longer each other's transpose."""
    model = named(name)
    form = flows(model)
    for family, flow in form.families.items():
        for k, (u, value) in enumerate(flow.paths):
            paths = (*flow.paths[:k], (u, scale(-1, value)), *flow.paths[k + 1:])
            with pytest.raises(Refused):
                provers(model, tampered(form, family, paths=paths))[2].prove()


def test_the_identity_without_one_of_its_terms_is_refuted(named, derivation) -> None:
    proved = next(q for q in derivation(named("elman")).theorems if q.key == "pairing")
    truth = Oracle(named("elman"), 4, 1, proved.proof.definitions)
    whole = proved.theorem.right
    assert isinstance(whole, Sum)
    assert isinstance(whole.body, Plus)
    for part in whole.body.args:
        assert truth.refutes(proved.theorem.left, Sum(part, *whole.args[1:])) is not None


@pytest.mark.parametrize("name", ["linear", "elman", "lstm"])
def test_a_transition_that_is_not_transposed_has_no_proof(name, named) -> None:
    model = named(name)

    def untransposed(forward):
        return replace(forward, transition=transpose(forward.transition))

    with pytest.raises(Refused):
        _ = provers(model, change=untransposed)[1].solution


def test_an_initial_change_stays_in_the_closed_form(named) -> None:
    prover, forward, pairing = provers(named("computed_start"))
    right = prover.proved("forward", forward.solution).theorem.right
    assert isinstance(right, Plus)
    assert any(isinstance(e, Tangent) for e in pairing.form.initial.values()) is False
    assert str(prover.proved("pairing", pairing.prove()).theorem.right).endswith("(dL/dh[0]).T @ dh[0]")
