"""The forward sweep against dual numbers through the equations, on every model."""

from dataclasses import replace

import pytest

from symbptt.bptt.tangent import flows
from symbptt.expr.build import plus, scale
from symbptt.expr.index import T, index, t
from symbptt.expr.nodes import Immediate, Tangent, Zero

RANGE = (index(t) - 1, index(T) - t)


def test_every_total_change_is_true(model, oracle) -> None:
    truth = oracle(model, 4)
    for name, flow in flows(model).families.items():
        assert truth.refutes(Tangent(flow.left), flow.total, RANGE) is None, name


def test_every_direct_change_is_true(model, oracle) -> None:
    truth = oracle(model, 4)
    for name, flow in flows(model).families.items():
        assert truth.refutes(Immediate(flow.left), flow.direct, RANGE) is None, name


def test_changes_before_the_first_step(model, oracle) -> None:
    truth = oracle(model, 3)
    for member, value in flows(model).initial.items():
        assert truth.refutes(Tangent(member), value) is None, member
        assert (type(value) is Zero) == (member in model.given)


@pytest.mark.parametrize("name", ["linear", "elman", "lstm", "computed_start", "scalar_gate", "masked_weight"])
def test_a_total_change_without_one_of_its_parts_is_refuted(name, named, oracle) -> None:
    model = named(name)
    truth = oracle(model, 4)
    for flow in flows(model).families.values():
        for k in range(len(flow.paths)):
            fewer = replace(flow, paths=flow.paths[:k] + flow.paths[k + 1:])
            assert truth.refutes(Tangent(flow.left), fewer.total, RANGE) is not None
        if type(flow.direct) is not Zero and flow.paths:
            turned = plus([scale(-1, Immediate(flow.left)), *(value for _, value in flow.paths)])
            assert truth.refutes(Tangent(flow.left), turned, RANGE) is not None


def test_the_direct_change_is_not_the_total_one(named, oracle) -> None:
    flow = flows(named("elman")).families["h"]
    truth = oracle(named("elman"), 4)
    assert truth.refutes(Tangent(flow.left), flow.direct, RANGE) is not None


def test_at_the_first_step_all_change_is_direct(named, oracle) -> None:
    """Nothing before it moves, so that for h_1 the two are one."""
    flow = flows(named("elman")).families["h"]
    truth = oracle(named("elman"), 4)
    left = Tangent(flow.left)
    from_one = [truth.value(e, {t: 1}) for e in (left, flow.direct)]
    assert from_one[0] == from_one[1]
