"""The sections about the model: its equations, its variables, and what is computed from what."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import MatrixSymbol

from symbptt.derivation import Derivation, Line
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import ONE, At, Identity, Matrix, Maximum, Ones, Times, Transpose
from symbptt.expr.walk import substitute, visit
from symbptt.model.spec import LossTerm
from symbptt.proof.alike import denominators
from symbptt.render.notation import functions, notation
from symbptt.render.outline import (
    OBJECTIVE,
    Display,
    Equal,
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
    """A numbered equation, or an inequality that is proved as one."""
    left, _, at_most = compared(line.left, line.forms[0])
    return Display(left, tuple(Relation(f, at_most=at_most) for f in line.forms), line.label, _when(line))


def compared(left: Matrix, right: Matrix) -> tuple[Matrix, Matrix, bool]:
    """The sides of an equation, or a and b of a ≤ b, which is max(a, b) = b; and whether it is the latter."""
    at_most = type(left) is Maximum and left.args[1] == right
    return (left.args[0], right, True) if at_most else (left, right, False)


def _when(line: Line) -> When | None:
    if line.lo is None or line.hi is None:
        return None
    own = line.hi.free_symbols - {t, T}
    return When(line.lo, line.hi, index(T) if own else None)


def model(d: Derivation) -> Section:
    """Equations, objective, variables with their shapes, and what is given."""
    lines = d.of_kind("model")
    items: list[Item] = [paragraph("model"), *map(display, (line for line in lines if line.lo is not None))]
    for key, found in (("computed_start", [line for line in lines if line.lo is None]), ("counts", d.of_kind("count")),
                       ("losses", d.of_kind("loss")), ("objective", d.of_kind("objective"))):
        if found:
            items += [paragraph(key), *map(display, found)]
    reductions = tuple(_reductions(d))
    items += [Paragraph(reductions)] if reductions else []
    items += [paragraph("variables"), Listing(tuple(_variables(d))), Paragraph(tuple(_given(d)))]
    slopes = tuple(functions(d))
    items += [paragraph("functions"), Listing(slopes)] if slopes else []
    signs = tuple(notation(d))
    items += [Paragraph(signs)] if signs else []
    return Section("model", tuple(items))


def _reductions(d: Derivation) -> Iterator[Sentence]:
    """How the losses count where they are not summed over all steps, and what is assumed about the targets."""
    terms = d.model.losses
    last, once = ([at_last(term.loss) for term in terms if term.reduce == reduce] for reduce in ("last", "once"))
    for key, found in (("reduce_last", last), ("reduce_once", once)):
        if found:
            yield say(key, losses=formulas(*found))
    for mask in dict.fromkeys(term.mask for term in terms if term.mask is not None):
        masked = formulas(*(term.loss for term in terms if term.mask == mask))
        yield say("reduce_masked", losses=masked, mask=Formula(At(mask, t)))
    for target in dict.fromkeys(y for term in terms for y in term.assume):
        yield say("reduce_assumed", equation=adds_up(At(target, t)))


def at_last(e: Matrix) -> Matrix:
    """The expression at t = T."""
    return substitute(e, {t: index(T)})


def adds_up(y: Matrix) -> Equal:
    """1ᵀ y = 1."""
    return Equal(Times(Transpose(Ones(*y.shape)), y), Identity(ONE))


def _variables(d: Derivation) -> Iterator[Sentence]:
    m = d.model
    for size in m.sizes:
        if size.description:
            yield say("size_described", size=Scalar(size.symbol), description=Verbatim(size.description))
        else:
            yield say("size", size=Scalar(size.symbol))
    states = {v.name for v in m.states}
    defined = tuple(e.left.family for e in m.equations)
    masks = {term.mask for term in m.losses}
    tables = (("parameter", m.parameters), ("static", m.static), ("input", tuple(At(v, t) for v in m.inputs)),
              ("target", tuple(At(v, t) for v in m.targets if v not in masks)),
              ("mask", tuple(At(v, t) for v in m.targets if v in masks)),
              ("state", tuple(At(v, t) for v in defined if v.name in states)),
              ("output", tuple(At(v, t) for v in defined if v.name not in states)))
    for role, variables in tables:
        for v in variables:
            yield say("variable", space=Space(v), role=Phrase("roles", role))
    below = denominators([*(e.right for e in (*m.equations, *m.computed)), *(term.weight for term in m.losses)])
    for c in m.constants:
        yield say("constant_below" if c in below else "constant", constant=Scalar(c))
    for loss in dict.fromkeys(term.loss for term in m.losses if term.opaque):
        yield say("open_loss", loss=Formula(loss))
    yield say("steps_counted", steps=Scalar(T))


def _given(d: Derivation) -> Iterator[Sentence]:
    m = d.model
    data: list[Value] = [Run(At(v, 1), At(v, T)) for v in (*m.inputs, *m.targets)]
    if data:
        yield say("given", values=several(*data))
    if m.static:
        yield say("given_static", values=formulas(*m.static))
    if m.given:
        yield say("given_initial", values=formulas(*m.given))
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
    ends = several(*_members(tuple(a for term in m.losses for a in _read(term))))
    points = [_computed(e.left, sources(e.right)) for e in m.order]
    points.append(say("computed", variable=Formula(OBJECTIVE), sources=ends))
    items: list[Item] = [paragraph("graph", when=ALWAYS), Listing(tuple(points))]
    if m.computed:
        first = tuple(_computed(e.left, sources(e.right)) for e in m.computed)
        items = [paragraph("graph_initial"), Listing(first), *items]
    items.append(paragraph("backwards"))
    if d.steps is not None and d.steps * len(m.equations) <= LISTED:
        items += [paragraph("graph_unrolled", steps=Steps(d.steps)), Listing(tuple(_unrolled(d, d.steps)))]
    return Section("graph", tuple(items))


def _read(term: LossTerm) -> Iterator[Run | Matrix]:
    """What a term of the objective reads: over all steps, at the last one, or once."""
    for a in sources(term.loss if term.mask is None else Times(At(term.mask, t), term.loss)):
        if isinstance(a, At) and term.reduce != "last":
            yield Run(substitute(a, {t: Index(1)}), substitute(a, {t: index(T)}))
        else:
            yield at_last(a)


def _members(read: tuple[Run | Matrix, ...]) -> Iterator[Value]:
    """Each value that the objective reads once, what has no time last."""
    runs = tuple(dict.fromkeys(r for r in read if isinstance(r, Run)))
    ends = {r.last for r in runs}
    yield from runs
    single = tuple(dict.fromkeys(a for a in read if not isinstance(a, Run) and a not in ends))
    yield from (Formula(a) for a in single if isinstance(a, At))
    yield from (Formula(a) for a in single if not isinstance(a, At))


def _computed(left: Matrix, read: tuple[Matrix, ...]) -> Sentence:
    if not read:
        return say("computed_alone", variable=Formula(left))
    return say("computed", variable=Formula(left), sources=formulas(*read))


def _unrolled(d: Derivation, steps: int) -> Iterator[Sentence]:
    for time in range(1, steps + 1):
        rule: dict[IndexVar, Index] = {t: Index(time)}
        for e in d.model.order:
            yield _computed(substitute(e.left, rule), tuple(substitute(a, rule) for a in sources(e.right)))
    read = [substitute(a, {t: Index(time)}) for time in range(1, steps + 1)
            for term in d.model.losses if term.reduce != "last" or time == steps
            for a in sources(term.loss if term.mask is None else Times(At(term.mask, t), term.loss))]
    families = dict.fromkeys(a.family for a in read if isinstance(a, At))
    runs = (run for v in families for run in _runs({a for a in read if isinstance(a, At) and a.family == v}))
    once = tuple(Formula(a) for a in dict.fromkeys(read) if not isinstance(a, At))
    yield say("computed", variable=Formula(OBJECTIVE), sources=several(*runs, *once))


def _runs(members: set[At]) -> Iterator[Run]:
    """The members of a family at given times as runs of times that follow one another."""
    ordered = sorted(members, key=lambda a: a.time.const)
    start = 0
    for k, a in enumerate(ordered):
        if k == len(ordered) - 1 or ordered[k + 1].time != a.time + 1:
            yield Run(ordered[start], a)
            start = k + 1
