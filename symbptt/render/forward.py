"""The sections about the model: its equations, its variables, and what is computed from what."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import MatrixSymbol

from symbptt.derivation import Derivation, Line
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.walk import substitute, visit
from symbptt.render.outline import (
    OBJECTIVE,
    Display,
    Formula,
    Item,
    Listing,
    Paragraph,
    Phrase,
    Relation,
    Run,
    Scalar,
    Section,
    Sentence,
    Space,
    Steps,
    Value,
    Verbatim,
    When,
    formulas,
    paragraph,
    say,
    several,
)

LISTED = 24
"""Up to so many equations of the unrolled graph are listed one by one."""
ALWAYS = When(Index(1), index(T))


def display(line: Line) -> Display:
    """A numbered equation."""
    when = When(line.lo, line.hi) if line.lo is not None and line.hi is not None else None
    return Display(line.left, tuple(Relation(f) for f in line.forms), line.label, when)


def model(d: Derivation) -> Section:
    """Equations, objective, variables with their shapes, and what is given."""
    items: list[Item] = [paragraph("model"), *map(display, d.of_kind("model")), paragraph("objective"),
             *map(display, d.of_kind("objective")), paragraph("variables"), Listing(tuple(_variables(d))),
             Paragraph(tuple(_given(d)))]
    return Section("model", tuple(items))


def _variables(d: Derivation) -> Iterator[Sentence]:
    m = d.model
    for size in m.sizes:
        if size.description:
            yield say("size_described", size=Scalar(size.symbol), description=Verbatim(size.description))
        else:
            yield say("size", size=Scalar(size.symbol))
    states = {v.name for v in m.states}
    defined = tuple(e.left.family for e in m.equations)
    tables = (("parameter", m.parameters), ("input", tuple(At(v, t) for v in m.inputs)),
              ("target", tuple(At(v, t) for v in m.targets)),
              ("state", tuple(At(v, t) for v in defined if v.name in states)),
              ("output", tuple(At(v, t) for v in defined if v.name not in states)))
    for role, variables in tables:
        for v in variables:
            yield say("variable", space=Space(v), role=Phrase("roles", role))
    for c in m.constants:
        yield say("constant", constant=Scalar(c))


def _given(d: Derivation) -> Iterator[Sentence]:
    m = d.model
    data: list[Value] = [Run(At(v, 1), At(v, T)) for v in (*m.inputs, *m.targets)]
    if data:
        yield say("given", values=several(*data))
    if m.initial:
        yield say("given_initial", values=formulas(*m.initial))
    yield say("shapes")
    yield say("beyond", objective=Formula(OBJECTIVE))
    if d.of_kind("direct"):
        yield say("direct_notation")
    yield say("prod")


def sources(right: Matrix) -> tuple[Matrix, ...]:
    """The variables that an expression reads, each once, in order."""
    return tuple(dict.fromkeys(e for e in visit(right) if isinstance(e, At | MatrixSymbol)))


def graph(d: Derivation) -> Section:
    """What each variable is computed from; for a small given T also at each time."""
    m = d.model
    read = dict.fromkeys(a for term in m.losses for a in sources(term.loss))
    ends = several(*(Run(substitute(a, {t: Index(1)}), substitute(a, {t: index(T)})) for a in read))
    points = [_computed(e.left, sources(e.right)) for e in m.order]
    points.append(say("computed", variable=Formula(OBJECTIVE), sources=ends))
    items: list[Item] = [paragraph("graph", when=ALWAYS), Listing(tuple(points)), Paragraph((say("backwards"),))]
    if d.steps is not None and d.steps * len(m.equations) <= LISTED:
        items += [paragraph("graph_unrolled", steps=Steps(d.steps)), Listing(tuple(_unrolled(d, d.steps)))]
    return Section("graph", tuple(items))


def _computed(left: Matrix, read: tuple[Matrix, ...]) -> Sentence:
    if not read:
        return say("computed_alone", variable=Formula(left))
    return say("computed", variable=Formula(left), sources=formulas(*read))


def _unrolled(d: Derivation, steps: int) -> Iterator[Sentence]:
    for time in range(1, steps + 1):
        rule: dict[IndexVar, Index] = {t: Index(time)}
        for e in d.model.order:
            yield _computed(substitute(e.left, rule), tuple(substitute(a, rule) for a in sources(e.right)))
    read = dict.fromkeys(substitute(a, {t: Index(time)}) for time in range(1, steps + 1)
                         for term in d.model.losses for a in sources(term.loss))
    yield say("computed", variable=Formula(OBJECTIVE), sources=formulas(*read))
