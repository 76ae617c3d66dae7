"""Scalars, letters and index forms that nothing makes by itself: a proof about them proves nothing."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Basic, Expr, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol

import symbptt
from symbptt.expr.index import Index, IndexVar, t
from symbptt.expr.nodes import At, Identity, Plus, Power, Scale, Zero
from symbptt.proof import kernel
from symbptt.proof.axioms import Refused
from symbptt.proof.statement import Definition, Proof, Step

n = Symbol("n", integer=True, positive=True)
c, i, j = Symbol("c", real=True), IndexVar("i"), IndexVar("j")
ONE, NONE = Identity(n), Zero(n, n)
X, f = MatrixSymbol("X", n, n), MatrixSymbol("f", n, n)


def proof(*steps: Step, definitions: tuple[Definition, ...] = ()) -> Proof:
    """A proof that claims what the kernel makes of it, or anything where it refuses."""
    listed = Proof(definitions, steps, None)  # type: ignore[arg-type]
    try:
        return Proof(definitions, steps, kernel.replay(listed)[-1])
    except Refused:
        return listed


def swallowing(scaled: Scale) -> Proof:
    """I = 0, if I and `scaled` together are `scaled`."""
    both, less = Plus(X, ONE), Scale(Integer(-1), X)
    return proof(
        Step("definition", (), ("X",)), Step("congruence", (0,), (both, (0,))),
        Step("ring", (), (Plus(scaled, ONE), scaled)), Step("symmetry", (0,)), Step("transitivity", (1, 2, 3)),
        Step("congruence", (4,), (Plus(both, less), (0,))), Step("ring", (), (ONE, Plus(both, less))),
        Step("ring", (), (Plus(X, less), NONE)), Step("transitivity", (6, 5, 7)),
        definitions=(Definition("X", X, scaled),))


def number(kind: type[Expr], p: Any, q: Any = None) -> Any:
    made: Any = Expr.__new__(kind)
    made.p = p
    if q is not None:
        made.q = q
    return made


def form(const: Any, terms: Any) -> Any:
    made: Any = Basic.__new__(Index)
    made.const, made.terms = const, terms
    return made


def member(time: Any) -> Any:
    return Basic.__new__(At, f, time)


class Alike(tuple):  # type: ignore[type-arg]
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = tuple.__hash__


@pytest.mark.parametrize("scaled", [Scale(Integer(0), Scale(Symbol("x", infinite=True), ONE)),
                                    Scale(number(Rational, 1, 0), ONE)], ids=["0 times ∞", "1/0"])
def test_a_coefficient_that_is_no_number_is_not_equal_to_itself(scaled: Scale) -> None:
    with pytest.raises(Refused, match=r"step 2 \(ring\): the word \(\) stands (nan|zoo) times"):
        kernel.check(swallowing(scaled))
    with pytest.raises(Refused):
        symbptt.check(swallowing(scaled))


ANY = member(form(0, Alike()))
FORGED = {
    "a whole number that is a half": (proof(Step("ring", (), (Scale(number(Integer, 0.5), ONE), NONE))), "Integer"),
    "a fraction over zero": (proof(Step("reflexivity", (), (Scale(number(Rational, 1, 0), ONE),))), "Rational"),
    "a time that is every time": (proof(Step("reflexivity", (), (member(Index(0, [(i, 1)])),)),
                                        Step("reflexivity", (), (ANY,)),
                                        Step("reflexivity", (), (member(Index(0, [(j, 1)])),)),
                                        Step("transitivity", (0, 1, 2))), "Index"),
    "two times that are zero": (proof(Step("definition", (), ("second",)), definitions=(
        Definition("first", member(form(0, ())), NONE), Definition("second", member(form(0, [])), ONE))), "Index"),
    "an exponent that is no whole number": (proof(Step("reflexivity", (), (Basic.__new__(Power, ONE, form(0.5, ())),))),
                                            "Index"),
    "a letter of no size": (proof(Step("reflexivity", (), (Basic.__new__(MatrixSymbol, X.args[0], n),))),
                            "MatrixSymbol"),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_nothing_makes_by_itself_is_refused(what: str) -> None:
    made, kind = FORGED[what]
    with pytest.raises(Refused, match=f"{kind}: this one is of no form that its class makes"):
        symbptt.check(made)


def test_what_sympy_and_we_make_stays_what_it_is() -> None:
    scalars = (Integer(0), Integer(-1), Integer(7), Rational(1, 2), Rational(-3, 7), c, 1 / c, 2 * c**3 + n / c - i + t,
               Mul(2, c, evaluate=False), Pow(c, 1, evaluate=False), Symbol("y"), Symbol("z", infinite=True))
    for scalar in scalars:
        e = Plus(Scale(scalar, At(f, t + 1)), Scale(scalar, MatrixSymbol("W", n, n)))
        q = proof(Step("reflexivity", (), (e,)))
        assert symbptt.check(q) == q.claim
