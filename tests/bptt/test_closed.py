"""The solved recurrence holds, on every model."""

import pytest
from sympy import MatrixSymbol, Symbol

from symbptt.bptt.backward import template
from symbptt.bptt.closed import NotLinear, jacobian, solve
from symbptt.expr.index import T, index, t
from symbptt.expr.nodes import Plus, Scale, Times, Transpose

h, q = Symbol("h"), Symbol("q")
g, v = MatrixSymbol("g", h, 1), MatrixSymbol("v", h, 1)
A = MatrixSymbol("A", q, h)


def test_a_closed_form_exists_exactly_when_an_adjoint_recurs(model) -> None:
    form = template(model)
    recurs = any(e.through is not None and form.lag(e) > 0 and form.delay[e.equation] < 1 << 30
                 and form.delay[name] < 1 << 30 and name in model.defined
                 for name, edges in form.families.items() for e in edges)
    if solve(form) is not None:
        assert recurs


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_the_recurrence_and_its_solution_hold(model, oracle, steps) -> None:
    closed = solve(template(model))
    if closed is None:
        pytest.skip("nothing recurs")
    truth, inside = oracle(model, steps), [index(t) - 1, T - index(t)]
    assert truth.refutes(closed.stacked, closed.step(index(t)), inside) is None
    assert truth.refutes(closed.stacked, closed.solution(index(t), index(T)), inside) is None


def test_letters_are_none_that_the_model_uses(model) -> None:
    closed = solve(template(model))
    names = {s.name for s in (*model.parameters, *model.families.values(), *model.constants)} | {
        s.name for s in model.sizes}
    if closed is not None:
        assert not names & {d.name for d in closed.letters}
        assert not names & {v.name for v in closed.bound}


def test_the_jacobian_of_a_contribution() -> None:
    assert jacobian(Times(A, g), g) == A
    assert jacobian(Times(v, Transpose(g), v), g) == Times(v, Transpose(v))
    assert jacobian(Scale(2, Plus(g, g)), g).shape == (g.shape[0], g.shape[0])


def test_what_is_not_linear_is_refused() -> None:
    with pytest.raises(NotLinear):
        jacobian(Times(A, v), g)
