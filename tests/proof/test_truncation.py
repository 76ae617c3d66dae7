"""Truncated back-propagation: kept and left out add up, and what is kept is what truncation computes."""

import pytest
from sympy import Integer

from symbptt.bptt.backward import template
from symbptt.bptt.closed import solve
from symbptt.derive import derive
from symbptt.expr.index import IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Diagonal, Hadamard, Identity, Ones, Plus, Scale, Sum, Times, Transpose
from symbptt.proof.kernel import check
from symbptt.proof.oracle import Oracle
from symbptt.proof.prover import Prover
from symbptt.proof.truncation import Randomised, Truncation, random_form


def truncation(model, uses):
    sweep = template(model)
    closed = solve(sweep)
    return None if closed is None else Truncation(Prover(sweep, closed), closed, uses)


@pytest.mark.parametrize("uses", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_kept_and_left_out_add_up(model, oracle, uses) -> None:
    cut = truncation(model, uses)
    if cut is None:
        return
    for ref in (cut.split(), cut.chunk(IndexVar("e"))):
        proved = cut.prover.proved("", ref)
        assert check(proved.proof) == proved.theorem
        truth = Oracle(model, 4, 1, proved.proof.definitions)
        assert truth.refutes(proved.theorem.left, proved.theorem.right, proved.theorem.hypotheses) is None


def test_each_gradient_is_split_in_two_sums(model) -> None:
    cut = truncation(model, 2)
    for symbol in model.parameters if cut is not None else ():
        if template(model).uses(symbol.name):
            right = cut.prover.proved("", cut.gradient(Adjoint(symbol))).theorem.right
            for part in right.args if isinstance(right, Plus) else (right,):
                if isinstance(part, Sum) and part.var == t:
                    inner = [a.args[1] if isinstance(a, Scale) else a
                             for a in (part.body.args if isinstance(part.body, Plus) else (part.body,))]
                    assert len({a.lo for a in inner if isinstance(a, Sum)}) <= 1, part


def elman_by_hand(model, steps, uses):
    """∂L/∂W_hh where the loss of each step i is sent back through the K uses at i, i - 1, …, i - K + 1."""
    named = {p.name: p for p in model.parameters}
    h, o = (model.families[n] for n in "ho")

    def slope(s):
        here = At(h, s)
        return Diagonal(Plus(Ones(h.shape[0], Integer(1)), Scale(Integer(-1), Hadamard(here, here))))

    words = []
    for i in range(1, steps + 1):
        back = [Transpose(named["W_qh"]), Adjoint(At(o, i))]
        for s in range(i, max(0, i - uses), -1):
            words.append(Times(slope(s), *back, Transpose(At(h, s - 1))))
            back = [Transpose(named["W_hh"]), slope(s), *back]
    return Plus(*words)


@pytest.mark.parametrize("uses", [1, 2, 3])
def test_what_is_kept_is_what_a_loop_over_the_losses_computes(named, oracle, uses) -> None:
    model = named("elman")
    cut = truncation(model, uses)
    w = next(p for p in model.parameters if p.name == "W_hh")
    kept, left_out = cut.prover.proved("", cut.gradient(Adjoint(w))).theorem.right.args
    truth = oracle(model, 5)
    assert truth.value(kept) == truth.value(elman_by_hand(model, 5, uses))
    assert truth.value(kept) != truth.value(elman_by_hand(model, 5, uses + 1))
    assert truth.refutes(Adjoint(w), kept) is not None
    assert truth.refutes(Adjoint(w), Plus(kept, left_out)) is None


def test_with_as_many_uses_as_steps_nothing_is_left_out(named, oracle) -> None:
    cut = truncation(named("elman"), 4)
    w = next(p for p in named("elman").parameters if p.name == "W_hh")
    kept, left_out = cut.prover.proved("", cut.gradient(Adjoint(w))).theorem.right.args
    truth = oracle(named("elman"), 4)
    assert truth.value(kept) == truth.value(Adjoint(w))
    assert not any(any(row) for row in truth.value(left_out))


def test_the_randomised_recursion(model) -> None:
    sweep = template(model)
    closed = solve(sweep)
    if closed is None:
        return
    found = random_form(model, closed, index(T))
    by_chance = Randomised(Prover(sweep, closed, more=found.definitions), found)
    sampled = by_chance.proved("", by_chance.solution)
    assert Oracle(model, 4, 1, sampled.proof.definitions).refutes(
        sampled.theorem.left, sampled.theorem.right, sampled.theorem.hypotheses) is None
    mean = by_chance.proved("", by_chance.unbiased())
    assert mean.theorem.assumptions == {(found.mean, Identity(Integer(1)))}
    assert check(mean.proof) == mean.theorem
    truth = Oracle(model, 4, 1, mean.proof.definitions)
    assert closed.trivial or truth.refutes(mean.theorem.left, mean.theorem.right, mean.theorem.hypotheses) is not None


@pytest.mark.parametrize("uses", [0, -1, True, 1.5, "4"])
def test_what_is_no_number_of_uses(named, uses) -> None:
    with pytest.raises(ValueError, match="counts uses"):
        derive(named("linear"), truncate=uses)


def test_nothing_recurs_so_nothing_is_truncated(named) -> None:
    with pytest.raises(ValueError, match="nothing to truncate"):
        derive(named("no_recurrence"), truncate=2)
