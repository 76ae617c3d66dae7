"""What a derivation defines, as the kernel takes it."""

from __future__ import annotations

from symbptt.bptt.backward import NEVER, Edge, Template
from symbptt.bptt.closed import ClosedForm
from symbptt.expr.build import plus, times
from symbptt.expr.index import Index, T, t
from symbptt.expr.nodes import Adjoint, At, Delta, Direct, Matrix
from symbptt.expr.walk import substitute
from symbptt.proof.statement import Definition

ONE = Index(1)


def _always(edge: Edge) -> Matrix:
    """What an edge carries at every t; one that is there at t = T alone holds the factor δ_{tT}."""
    return times(edge.value, Delta(t, T)) if edge.last and type(edge.value) is not Direct else edge.value


def definitions(template: Template, closed: ClosedForm | None, last: Index) -> tuple[Definition, ...]:
    """What the derivation defines, as the kernel takes it: recursions for 1 ≤ t ≤ T, then fixed members and letters."""
    rule = {T: last}

    def total(name: str) -> Matrix:
        live = [e for e in template.families[name] if template.wait(e) < NEVER]
        return plus([substitute(_always(e), rule) for e in live], like=template.model.families[name])

    model = template.model
    made: list[Definition] = []
    for name, edges in template.direct.items():
        left = Direct(At(model.families[name], t))
        made.append(Definition(str(left), left, plus([substitute(_always(e), rule) for e in edges]), ONE, last))
    for name in (*(e.name for e in reversed(model.order)), *(v.name for v in model.inputs)):
        if template.delay[name] < NEVER:
            left = Adjoint(At(model.families[name], t))
            made.append(Definition(str(left), left, total(name), ONE, last))
    for member in model.initial:
        edges = template.before(member)
        if edges:
            right = plus([substitute(e.value, {t: member.time, T: last}) for e in edges])
            made.append(Definition(str(Adjoint(member)), Adjoint(member), right))
    for symbol in (*model.parameters, *model.static):
        whole = template.total(symbol.name)
        if whole is not None:
            made.append(Definition(str(Adjoint(symbol)), Adjoint(symbol), substitute(whole, rule)))
    return (*made, *(closed.letters if closed else ()))
