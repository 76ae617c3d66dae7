"""The product of the step Jacobians is at most that of the norms of their factors, for every T; wrong bounds fail."""

from dataclasses import replace

import pytest
from sympy import MatrixSymbol, Symbol

import symbptt
from symbptt.bptt.backward import template
from symbptt.bptt.closed import solve
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import At, Diagonal, Maximum, Norm, Plus, Power, Product, Scale, Times, Transpose
from symbptt.expr.walk import substitute
from symbptt.proof.axioms import Refused
from symbptt.proof.bounds import Bounds, bound
from symbptt.proof.kernel import check
from symbptt.proof.script import Script

LAST = index(T)


def as_inequality(left, right):
    """(a, b) for max(a, b) = b, which says a ≤ b."""
    return left.args if type(left) is Maximum and left.args[1] == right else None


def form(name):
    return solve(template(symbptt.load(name)))


def proved(closed, kind=Bounds):
    bounds = kind(closed, LAST, Script(()))
    proof = bounds.script.proof(bounds.prove())
    return check(proof), proof


def test_the_bound_of_a_power() -> None:
    found, _ = proved(form("linear"))
    w = Transpose(next(p for p in symbptt.load("linear").parameters if p.name == "W_hh"))
    assert as_inequality(found.left, found.right) == (Norm(Power(w, LAST - t)), Power(Norm(w), LAST - t))
    assert found.hypotheses == {index(t) - 1, LAST - t}
    assert not found.assumptions


def test_the_bound_of_a_product() -> None:
    model, k = symbptt.load("elman"), IndexVar("k")
    found, _ = proved(form("elman"))
    small, large = as_inequality(found.left, found.right)
    w = Transpose(next(p for p in model.parameters if p.name == "W_hh"))
    body = small.args[0].body
    assert small == Norm(Product(body, k, index(t) + 1, T))
    assert large == Product(Times(Norm(w), Norm(body.args[1])), k, index(t) + 1, T)
    assert body.args[0] == w
    assert type(body.args[1]) is Diagonal
    assert found.used == {"norm_times", "norm_identity", "max_times", "max_associative", "product_first",
                          "product_empty", "ring"}


@pytest.mark.parametrize("name", ["lstm", "jordan", "second-order"])
def test_every_closed_form_has_its_bound(name) -> None:
    theorem = next(q for q in symbptt.prove(name) if q.key == "bound")
    closed = form(name)
    assert check(theorem.proof) == theorem.theorem
    assert as_inequality(theorem.theorem.left, theorem.theorem.right) == (
        Norm(closed.run(index(t) + 1, LAST)), bound(closed, index(t) + 1, LAST))


def without_a_factor(bounds, lo):
    small, large = Bounds.statement(bounds, lo)
    if type(large) is Power:
        return small, Power(large.args[0], large.args[1] - 1)
    return small, type(large)(large.body.args[0], *large.args[1:])


def from_t(bounds, lo):
    return Norm(bounds.closed.run(lo, bounds.last)), bound(bounds.closed, lo - 1, bounds.last)


def to_the_last_but_one(bounds, lo):
    return Norm(bounds.closed.run(lo, bounds.last)), bound(bounds.closed, lo, bounds.last - 1)


def of_the_transposes(bounds, lo):
    """‖A‖ for ‖Aᵀ‖: true of the spectral norm, not of every operator norm."""
    small, large = Bounds.statement(bounds, lo)
    return small, substitute_letters(large)


def substitute_letters(e):
    if type(e) is Norm and type(e.args[0]) is Transpose:
        return Norm(e.args[0].args[0])
    return e if type(e) in (Index, IndexVar) or not getattr(e, "args", ()) or isinstance(e, MatrixSymbol | At) else \
        type(e)(*[substitute_letters(a) for a in e.args])


def the_other_way_round(bounds, lo):
    small, large = Bounds.statement(bounds, lo)
    return large, small


LIES = [without_a_factor, from_t, to_the_last_but_one, of_the_transposes, the_other_way_round]


@pytest.mark.parametrize("lie", LIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["linear", "elman"])
def test_a_wrong_bound_is_refused(name, lie) -> None:
    closed = form(name)

    class Lying(Bounds):
        statement = lie

    assert as_inequality(*Lying(closed, LAST, Script(()))._at_most(index(t) + 1))
    with pytest.raises((Refused, TypeError, ValueError, AttributeError)):
        proved(closed, Lying)
    _, proof = proved(closed)
    small, large = lie(Bounds(closed, LAST, Script(())), index(t) + 1)
    with pytest.raises(Refused, match="claims"):
        check(replace(proof, claim=replace(proof.claim, left=Maximum(small, large), right=large)))


@pytest.mark.parametrize("hypotheses", [set(), {index(t) - 1}, {LAST - t}, {index(t) - 1, LAST - t - 1}])
def test_a_bound_holds_in_its_range_alone(hypotheses) -> None:
    _, proof = proved(form("elman"))
    with pytest.raises(Refused, match="claims"):
        check(replace(proof, claim=replace(proof.claim, hypotheses=frozenset(hypotheses))))


def test_a_step_jacobian_of_one_letter() -> None:
    closed = replace(form("linear"), transition=Scale(Symbol("gamma"), MatrixSymbol("A", 3, 3)))
    found, _ = proved(closed)
    assert as_inequality(found.left, found.right)[1] == Power(Norm(closed.transition), LAST - t)


def test_an_equation_is_no_inequality() -> None:
    a, b = MatrixSymbol("a", 1, 1), MatrixSymbol("b", 1, 1)
    assert as_inequality(Maximum(a, b), b) == (a, b)
    assert as_inequality(Maximum(a, b), a) is None
    assert as_inequality(Plus(a, b), b) is None


def test_the_bound_speaks_of_every_step() -> None:
    """At t = T - 1 it is ‖A B‖ ≤ ‖A‖ ‖B‖ of the last step."""
    found, _ = proved(form("elman"))
    small, large = (substitute(e, {t: LAST - 1}) for e in as_inequality(found.left, found.right))
    assert (small.args[0].lo, small.args[0].hi) == (large.lo, large.hi) == (LAST, LAST)
