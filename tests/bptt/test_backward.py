"""Both sweeps against each other and against the independent oracle, on every model."""

import pytest
from sympy import MatrixSymbol

from symbptt.bptt.backward import NEVER, sweep, template
from symbptt.bptt.unroll import unroll
from symbptt.expr.index import Index, T, t
from symbptt.expr.nodes import Adjoint, At, Direct, Node, Scale
from symbptt.expr.walk import substitute
from symbptt.proof.field import zeros

STEPS = [1, 2, 4, pytest.param(6, marks=pytest.mark.slow)]


def tidy(e):
    """Without factors of one: for T = 1 the sweep drops 1/T."""
    if not isinstance(e, Node):
        return e
    args = [tidy(a) for a in e.args]
    return args[1] if type(e) is Scale and args[0] == 1 else type(e)(*args)


def instances(model, steps):
    """Every gradient that the template gives at this T, identically zero ones dropped: gradient -> edges."""
    form, found = template(model), {}

    def at(edge, s):
        rule = {t: Index(s), T: Index(steps)}
        through = None if edge.through is None else substitute(edge.through, rule)
        return through, tidy(substitute(edge.value, rule)), edge.equation, edge.rules

    def add(left, edges, s):
        """What is sent from variables that have a gradient themselves; a loss at the last step sends nothing before."""
        here = [at(e, s) for e in edges if not (e.last and s < steps)]
        here = [e for e in here if (e[1] in found if type(e[1]) is Direct else e[0] is None or Adjoint(e[0]) in found)]
        if here:
            found[left] = [*found.get(left, ()), *here]

    backwards = [*(e.left.family for e in reversed(model.order)), *model.inputs]
    for s in range(steps, -9, -1):
        for family in backwards:
            if s > -model.lags[family.name]:
                member = At(family, s)
                edges = [e for e in form.families[family.name] if s >= 1 or form.lag(e) + s >= 1]
                add(Direct(member), form.direct.get(family.name, ()) if s >= 1 else (), s)
                add(Adjoint(member), edges, s)
    for symbol in (*model.parameters, *model.static):
        for s in range(1, steps + 1):
            add(Adjoint(symbol), form.parameters[symbol.name], s)
        add(Adjoint(symbol), form.once[symbol.name], steps)
    return found


@pytest.mark.parametrize("steps", STEPS)
def test_the_sweep_is_the_instance_of_the_template(model, steps) -> None:
    wanted = instances(model, steps)
    found = {left: [(e.through, e.value, e.equation, e.rules) for e in step.edges]
             for left, step in sweep(unroll(model, steps)).items()}
    assert found.keys() == wanted.keys()
    for left, edges in found.items():
        assert sorted(edges, key=str) == sorted(wanted[left], key=str), left


@pytest.mark.parametrize("steps", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3)), 5])
def test_every_gradient_of_the_sweep_is_true(model, oracle, steps) -> None:
    truth = oracle(model, steps)
    for left, step in sweep(unroll(model, steps)).items():
        assert truth.refutes(left, step.right) is None, left


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_what_the_sweep_leaves_out_is_zero(model, oracle, steps) -> None:
    truth, found = oracle(model, steps), sweep(unroll(model, steps))
    members = (At(family, s) for name, family in model.families.items() if name not in {v.name for v in model.targets}
               for s in range(1 - model.lags[name], steps + 1))
    for variable in (*model.parameters, *model.static, *members):
        if Adjoint(variable) not in found:
            assert truth.gradient(variable) == zeros(*truth.shape(variable)), variable


def test_gradients_have_the_shape_of_the_variable(model) -> None:
    for left, step in sweep(unroll(model, 3)).items():
        assert step.right.shape == left.of.shape
        assert all(e.value.shape == left.of.shape for e in step.edges)


def test_targets_carry_no_gradient(model) -> None:
    targets = {v.name for v in model.targets}
    assert not any(isinstance(g.of, At) and g.of.family.name in targets for g in sweep(unroll(model, 3)))


def test_edges_come_in_the_order_of_the_equations_losses_last(model) -> None:
    place = {e.name: k for k, e in enumerate(model.equations)}
    for step in sweep(unroll(model, 3)).values():
        order = [place.get(e.equation, len(place)) if e.through is not None else len(place) for e in step.edges]
        assert order == sorted(order)


def test_the_delay_is_how_long_a_gradient_stays_zero_before_the_end(model) -> None:
    steps, form = 6, template(model)
    found = sweep(unroll(model, steps))
    for name, family in model.families.items():
        alive = [s for s in range(1, steps + 1) if Adjoint(At(family, s)) in found]
        last = steps - form.delay[name] if form.delay[name] < NEVER else 0
        assert max(alive, default=0) == max(last, 0)


def test_the_variables_of_the_linear_network(named) -> None:
    model = named("linear")
    names = {str(g.of) for g in sweep(unroll(model, 2))}
    assert names == {"o[2]", "o[1]", "h[2]", "h[1]", "h[0]", "x[1]", "x[2]", "W_hx", "W_hh", "W_qh"}
    assert {p.name for p in model.parameters} == {"W_hx", "W_hh", "W_qh"}
    assert all(isinstance(p, MatrixSymbol) for p in model.parameters)
