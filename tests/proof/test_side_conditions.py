"""Each inference rule, applied once outside its side condition or to premises that do not fit, is refused.

For every axiom with conditions, the theorem keeps them as hypotheses: none can be dropped.
"""

from dataclasses import replace

import pytest
from sympy import Integer, MatrixSymbol, Symbol
from sympy.core.basic import Basic

from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Diagonal,
    Hadamard,
    Identity,
    Maximum,
    Norm,
    Plus,
    Power,
    Scale,
    Sum,
    Tangent,
    Times,
    Transpose,
    Zero,
)
from symbptt.proof.axioms import AXIOMS, Refused
from symbptt.proof.kernel import INFERENCE, check, replay
from symbptt.proof.statement import Definition, Proof, Step

h = Symbol("h")
A, B, C = (MatrixSymbol(name, h, h) for name in "ABC")
f, g, v = (MatrixSymbol(name, h, 1) for name in "fgv")
i = IndexVar("i")
it, ii, iT = index(t), index(i), index(T)
ONE, ZERO = Index(1), Index(0)
G = Definition("G", At(g, it), Plus(At(f, it), At(g, it + 1)), ONE, iT)
D = Definition("D", Tangent(At(f, it)), Plus(v, Tangent(At(f, it - 1))), ONE, iT)


def steps(*rows):
    return tuple(Step(*row) for row in rows)


ASSUMED = ("assumption", (), (A, B))
CLIMB = ("assumption", (), (At(f, it), v))
RULES = {
    "reflexivity": [steps(("reflexivity", (), (Plus(A, v),))),
                    steps(("reflexivity", (), (Basic.__new__(Power, A, t),)))],
    "symmetry": [steps(("symmetry", (), ())), steps(("symmetry", (0,), ()))],
    "transitivity": [steps(ASSUMED, ("assumption", (), (C, A)), ("transitivity", (0, 1), ()))],
    "congruence": [steps(ASSUMED, ("congruence", (0,), (Times(C, B), (1,)))),
                   steps(("assumption", (), (At(f, ii), v)), ("congruence", (0,), (Sum(At(f, ii), i, 1, T), (0,)))),
                   steps(("axiom", (), ("power_step", A, ii)),
                         ("congruence", (0,), (Sum(Times(A, Power(A, ii)), i, -1, T), (0,)))),
                   steps(("assumption", (), (At(f, it), v)), ("congruence", (0,), (Adjoint(At(f, it)), (0,))))],
    "ring": [steps(("ring", (), (Times(A, B), Times(B, A)))), steps(("ring", (), (Hadamard(f, g), Hadamard(g, f)))),
             steps(("ring", (), (Maximum(Norm(A), Norm(B)), Maximum(Norm(B), Norm(A))))),
             steps(("ring", (), (Norm(Scale(Integer(2), A)), Scale(Integer(2), Norm(A)))))],
    "axiom": [steps(("axiom", (), ("sum_left", At(A, ii), At(f, ii), i, ONE, iT))), steps(("axiom", (), ("no_law", A))),
              steps(("axiom", (), ("diagonal_times", A, B))), steps(("axiom", (), ("hadamard_outer", A, f, A))),
              steps(("axiom", (), ("max_times", A, f, v)))],
    "instance": [steps(("reflexivity", (), (At(f, iT),)), ("instance", (0,), ((T, ONE),))),
                 steps(ASSUMED, ("instance", (0,), ((h, ONE),)))],
    "entailment": [steps(("axiom", (), ("power_step", A, ii)), ("entailment", (0,), (ii + 1,))),
                   steps(("axiom", (), ("power_step", A, iT - 2)), ("entailment", (0,), ()))],
    "cases": [steps(ASSUMED, ("assumption", (), (A, C)), ("cases", (0, 1), (ii,))),
              steps(ASSUMED, ("cases", (0,), (ii,)))],
    "assumption": [steps(("assumption", (), (A, v)))],
    "definition": [steps(("definition", (), ("H", it))), steps(("definition", (), ("G", A)))],
    "beyond": [steps(("beyond", (), ("H", it))), steps(("beyond", (), ("G",)))],
    "induction_down": [steps(CLIMB, CLIMB, ("induction_down", (0, 1), (ONE, iT))),
                       steps(("assumption", (), (At(f, iT), v)), CLIMB, ("induction_down", (0, 1), (ONE, iT))),
                       steps(("assumption", (), (At(f, iT), v)), ("assumption", (), (At(f, it - 1), v)),
                             ("induction_down", (0, 1), (ONE, iT)))],
    "induction_up": [steps(CLIMB, CLIMB, ("induction_up", (0, 1), (ONE, iT))),
                     steps(("assumption", (), (At(f, ONE), v)), CLIMB, ("induction_up", (0, 1), (ONE, iT))),
                     steps(("assumption", (), (At(f, ZERO), v)), CLIMB, ("induction_up", (0, 1), (ONE, iT)))],
}
CASES = [pytest.param(listed, id=f"{name}-{k}") for name, tries in RULES.items() for k, listed in enumerate(tries)]


def test_every_rule_is_tried() -> None:
    assert RULES.keys() == INFERENCE.keys()


@pytest.mark.parametrize("listed", CASES)
def test_a_rule_outside_its_side_condition(listed) -> None:
    """The last step is refused; those before it stand."""
    replay(Proof((G, D), listed[:-1] if len(listed) > 1 and listed[0].rule != "symmetry" else (), None))
    with pytest.raises(Refused, match=rf"step {len(listed) - 1} \({listed[-1].rule}\)"):
        replay(Proof((G, D), listed, None))


def upward(step_range=(it - 1, iT - it), bottom=ZERO, hi=iT, neighbour=it - 1):
    """f_t = v for 0 ≤ t, from f_0 = v and f_{t-1} = v ⊢ f_t = v, in a step that leans on its range by A Aⁿ = Aⁿ⁺¹."""
    rows = [("assumption", (), (At(f, ZERO), v)), ("assumption", (), (At(f, it), At(f, neighbour))),
            ("assumption", (), (At(f, neighbour), v)), ("transitivity", (1, 2), ()), ("entailment", (3,), step_range),
            ("induction_up", (0, 4), (bottom, hi))]
    return Proof((), steps(*rows), None)


@pytest.mark.parametrize("changed", [
    {"step_range": (it - 2, iT - it)}, {"step_range": (it - 1, iT - it - 1)}, {"bottom": ONE}, {"neighbour": it + 1},
    {"neighbour": it}, {"hi": it}, {"bottom": it}, {}], ids=str)
def test_upward_induction_outside_its_range(changed) -> None:
    """Even with nothing changed: f_t = f_{t-1} is an assumption that speaks of t."""
    with pytest.raises(Refused, match=r"step 5 \(induction_up\)"):
        replay(upward(**changed))


CONDITIONED = {
    "power_step": (A, ii), "product_first": (At(A, ii), i, it, iT), "product_join": (At(A, ii), i, ONE, it, iT),
    "product_rotate": (At(A, ii), At(B, ii), i, it, iT), "product_constant": (A, i, it, iT),
    "sum_empty": (At(f, ii), i, it, iT), "sum_first": (At(f, ii), i, it, iT), "sum_split": (At(f, ii), i, ONE, it, iT),
    "delta_apart": (it, iT),
}


@pytest.mark.parametrize("name", CONDITIONED)
def test_a_condition_of_an_axiom_cannot_be_dropped(name) -> None:
    step = Step("axiom", (), (name, *CONDITIONED[name]))
    found = replay(Proof((), (step,), None))[0]
    assert found.hypotheses
    for form in found.hypotheses:
        with pytest.raises(Refused, match="claims"):
            check(Proof((), (step,), replace(found, hypotheses=found.hypotheses - {form})))
        with pytest.raises(Refused, match="does not follow"):
            replay(Proof((), (step, Step("entailment", (0,), (*(found.hypotheses - {form}), form + 1))), None))


def test_every_axiom_with_conditions_is_tried() -> None:
    """Their docstrings say so: for hi - lo ≥ 0. Of a norm, max_times needs no condition to be ≥ 0."""
    assert {name for name, row in AXIOMS.items() if "≥ 0" in row.law.__doc__} - {"max_times"} == CONDITIONED.keys()


DOCTORED = {
    "u ∘ v for diag(u) v with the columns exchanged": (Times(Diagonal(f), v), "diagonal_times", (v, f)),
    "a norm of a sum": (Maximum(Norm(Plus(A, B)), Times(Norm(A), Norm(B))), "norm_times", (A, B)),
    "a norm without its bound": (Norm(Times(A, B)), "norm_times", (A, B)),
    "a transposed identity": (Maximum(Norm(Identity(h)), Zero(1, 1)), "norm_identity", (h,)),
    "a rank-one product turned": (Hadamard(A, Times(v, Transpose(f))), "hadamard_outer", (A, f, v)),
}


@pytest.mark.parametrize("lie", DOCTORED)
def test_a_doctored_instance_is_refused(lie) -> None:
    left, name, args = DOCTORED[lie]
    with pytest.raises(Refused, match="is not"):
        replay(Proof((), (Step("reflexivity", (), (left,)), Step("axiom", (), (name, *args)),
                          Step("transitivity", (0, 1))), None))
