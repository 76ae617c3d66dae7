"""Derivation -> an array program that changes nothing in place: a scan where something recurs, whole stacks elsewhere.

It stands on the same systems and stages as the fast program; what differs is that every family has a stack of its own,
and that a step hands on what the next one reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sympy import Expr, MatrixSymbol

from symbptt.derivation import Derivation
from symbptt.model.spec import initial_name
from symbptt.program.array import Name
from symbptt.program.flow import Flow, behind, needed
from symbptt.program.interface import Interface
from symbptt.program.options import PLAIN, Options
from symbptt.program.plan import Plan
from symbptt.program.segments import with_gradient
from symbptt.program.sizes import axes
from symbptt.program.statements import Output
from symbptt.program.values import Values


@dataclass(frozen=True)
class FunctionalProgram:
    """The functions forward and backward; `rows` names the number of rows of a stack, T times the batch."""

    forward: Flow
    backward: Flow
    rows: str


def functional_program(derivation: Derivation, options: Options = PLAIN, entrywise: bool = True,
                       reserved: Iterable[str] = ()) -> FunctionalProgram:
    """The program of a derivation, as the options ask; `reserved` are names that the module needs for itself.

    With `entrywise` all that a loop does not change is computed before it; else what takes no product stays in it.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    plan = Plan(derivation, options, in_place=False, entrywise=entrywise, reserved=reserved)
    return FunctionalProgram(_forward(plan), _backward(plan), plan.count)


def _forward(plan: Plan) -> Flow:
    values = Values(plan, plan.hoisted, frozenset())
    for stage in plan.ahead:
        values.stage(stage, down=False)
    results = Interface(plan.names).returned(Output(name, values.stack(family), _stack(family))
                                             for name, family in _families(plan).items())
    return Flow(needed(values.body, results), results)


def _backward(plan: Plan) -> Flow:
    """Gradients, and behind them the adjoints that they do not need."""
    values = Values(plan, plan.returned, frozenset(plan.model.defined))
    for stage in plan.back:
        if stage.families & plan.core.keys():
            values.stage(stage, down=True)
    for member, found in plan.initial.items():
        values.initial(member, found)
    for name, (listed, labels) in plan.terms.items():
        values.gradient(name, listed, labels)
    grads = _grads(plan, values)
    for stage in plan.back:
        if not stage.families & plan.core.keys():
            values.stage(stage, down=True)
    adjoints = Interface(plan.names).returned(Output(name, values.adjoint(name), _stack(family))
                                              for name, family in _families(plan).items())
    whole = needed(values.body, (grads, adjoints))
    body = behind(whole, grads)
    return Flow(body, grads, tuple(s for s in whole if s not in body), adjoints)


def _families(plan: Plan) -> dict[str, MatrixSymbol]:
    return {name: plan.model.families[name] for name in plan.model.defined}


def _grads(plan: Plan, values: Values) -> tuple[Output, ...]:
    model, names = plan.model, plan.names
    found = [Output(p.name, Name(names.gradient(p.name)), axes(p, names)) for p in model.parameters]
    found += [Output(v.name, values.adjoint(v.name), _stack(v)) for v in model.inputs]
    found += [Output(v.name, Name(names.gradient(v.name)), ("B", v.shape[0])) for v in model.static]
    found += [Output(initial_name(m), Name(names.gradient(initial_name(m))), ("B", m.family.shape[0]))
              for m in with_gradient(model, names.options)]
    return Interface(names).returned(found)


def _stack(family: MatrixSymbol) -> tuple[str | Expr, ...]:
    return "T", "B", family.shape[0]


