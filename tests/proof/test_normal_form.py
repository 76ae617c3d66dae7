"""The normal form decides what the kernel proves, for every model, and refuses what is false."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Integer

from symbptt.bptt.backward import template
from symbptt.bptt.closed import ClosedForm, solve
from symbptt.expr.build import scale
from symbptt.expr.index import Index, index, t
from symbptt.expr.nodes import Scale, Sum
from symbptt.model.spec import Model
from symbptt.proof.axioms import Refused
from symbptt.proof.prover import Prover


class Doubled(ClosedForm):
    """A wrong closed form: every step counts twice."""

    def solution(self, start: Index, last: Index) -> Sum:
        right = super().solution(start, last)
        return Sum(Scale(Integer(2), right.body), right.var, start, last)


def solved(model: Model) -> ClosedForm:
    closed = solve(template(model))
    if closed is None:
        pytest.skip("nothing recurs")
    return closed


def test_the_normal_form_decides_the_closed_form(model: Model) -> None:
    assert Prover(template(model), solved(model)).decided()


def test_the_normal_form_refuses_a_wrong_closed_form(model: Model) -> None:
    closed = solved(model)
    assert not Prover(template(model), Doubled(**vars(closed))).decided()


def test_a_proof_that_fails_says_what_the_normal_form_makes_of_it(model: Model) -> None:
    closed = solved(model)
    with pytest.raises(Refused, match="does not hold"):
        _ = Prover(template(model), Doubled(**vars(closed))).solution


def test_a_flipped_drive_is_no_solution_of_the_recursion(model: Model) -> None:
    closed = solved(model)
    flipped = replace(closed, drive=scale(-1, closed.drive))
    with pytest.raises(Refused):
        _ = Prover(template(model), flipped).solution
    assert flipped.solution(index(t), index(t)) != closed.solution(index(t), index(t))
