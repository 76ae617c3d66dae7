"""The sections at the end: what is stored and reused, and what the theorems rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from symbptt.derivation import Derivation, Line
from symbptt.expr.build import children
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Binder, Derivative, Matrix
from symbptt.expr.walk import substitute, visit
from symbptt.render.forward import ALWAYS
from symbptt.render.notation import differentiated
from symbptt.render.outline import (
    AtLeast,
    Formula,
    Heading,
    Item,
    Listing,
    Phrase,
    Run,
    Section,
    Sentence,
    Value,
    paragraph,
    references,
    say,
    several,
)
from symbptt.render.solution import assumption, definitions, equation_of, hypotheses, spanned

SMALLEST = 2
"""Ranges of times are joined as for so many steps or more."""
COMPUTED = ("direct", "boundary", "adjoint", "initial", "gradient")
"""The kinds of lines by which gradients are computed."""
DEFINITIONS = {"recursions": ("direct", "adjoint", "initial"), "parameters": ("gradient",),
               "letters": ("letter", "forward_letter"), "changes": ("immediate", "tangent"),
               "randomised": ("randomised",)}
"""The kinds of lines that theorems unfold, by what they are called in the list of what the theorems rest on."""


def storage(d: Derivation) -> Section:
    """Which gradients are stored and where they are used; which values of the forward pass the gradients need."""
    lines = [line for line in d.lines if line.kind in COMPUTED]
    items: list[Item] = []
    uses = tuple(_uses(d, lines))
    if uses:
        items += [paragraph("stored"), Listing(uses)]
    needs = tuple(_needs(d, lines))
    if needs:
        items += [paragraph("needed"), Listing(needs)]
    return Section("storage", tuple(items))


def _uses(d: Derivation, lines: list[Line]) -> Iterator[Sentence]:
    """Each gradient that another one reads, and where: of a family over the steps, of a value before the first step."""
    read = {line: {n.of for n in visit(line.forms[-1]) if isinstance(n, Adjoint) and isinstance(n.of, At)}
            for line in lines}
    families = [e.left.family for e in d.model.equations]
    for member in (*(At(family, t) for family in families), *d.model.initial):
        users = [line for line, found in read.items() if any(
            a == member or (member.time == index(t) and a.family == member.family and a not in d.model.initial)
            for a in found)]
        if users:
            yield say("used", gradient=Formula(Adjoint(member)), equations=references(*users))


def _needs(d: Derivation, lines: list[Line]) -> Iterator[Sentence]:
    """Each family whose values gradients read: at which times, and in which equations."""
    runs: dict[Line, set[Run]] = {}
    for line in lines:
        bounds = {t: (line.lo, line.hi)} if line.lo is not None and line.hi is not None else {}
        runs[line] = set(_values(line.forms[-1], bounds))
    for family in (*(e.left.family for e in d.model.equations), *d.model.inputs, *d.model.targets):
        found = {line: own for line in lines if (own := {r for r in runs[line] if r.first.family == family})}
        if found:
            joined = _joined(r for own in found.values() for r in own)
            yield say("needs", members=several(*joined), equations=references(*found))


def _joined(runs: Iterable[Run]) -> list[Run]:
    """Runs that overlap or follow one another as one."""
    made: list[Run] = []
    for run in sorted(runs, key=lambda r: (*_order(r.first.time), *_order(r.last.time))):
        before = made[-1] if made else None
        if before is not None and _reaches(before.last.time + 1, run.first.time):
            made[-1] = Run(before.first, max(before.last, run.last, key=lambda a: _order(a.time)))
        else:
            made.append(run)
    return made


def _order(time: Index) -> tuple[bool, int]:
    return bool(time.terms), time.const


def _reaches(end: Index, start: Index) -> bool:
    """Whether start ≤ end, for T ≥ 2 where one of them is T + c and the other a number."""
    if bool(end.terms) == bool(start.terms):
        return start.const <= end.const
    return bool(end.terms) and start.const <= end.const + SMALLEST


def _values(e: Matrix, bounds: dict[IndexVar, tuple[Index, Index]]) -> Iterator[Run]:
    """The members that an expression reads as values, not those that it differentiates by, over the range of t."""
    if isinstance(e, At):
        low, high = ({v: pair[k] for v, pair in bounds.items()} for k in (0, 1))
        yield Run(substitute(e, low), substitute(e, high))
        return
    if isinstance(e, Derivative):
        return
    inner = {**bounds, e.var: (e.lo, e.hi)} if isinstance(e, Binder) else bounds
    for a in children(e):
        yield from _values(a, inner)


def basis(d: Derivation) -> Section | None:
    """What the theorems rest on: definitions, laws, hypotheses, assumptions."""
    if not d.theorems:
        return None
    proved = [line for line in d.lines if line.theorem is not None]
    stated = [d.theorems[line.theorem] for line in proved if line.theorem is not None]
    used = sorted({name for q in stated for name in q.theorem.used})
    equations = [line for line in (equation_of(d, name) for name in used) if line is not None]
    defined = definitions(d)
    laws = [name for name in used if name not in defined]
    points = [say(f"rests_{key}", equations=references(*found)) for key, kinds in DEFINITIONS.items()
              if (found := [line for line in equations if line.kind in kinds])]
    points += [say("rests_law", law=Phrase("laws", name)) for name in laws]
    forms = strongest(h for q in stated for h in q.theorem.hypotheses)
    if forms:
        points.append(say("rests_hypotheses", bounds=_bounds(forms)))
    points.append(say("rests_beyond"))
    for line in d.of_kind("assumed", "unbiased"):
        points.append(say("rests_assumption", equation=assumption(d, line), equations=references(line)))
    for line in d.of_kind("directions"):
        if spanned(d, line):
            points.append(say("rests_directions", directions=assumption(d, line), equations=references(line)))
    known = [Formula(value) for value in differentiated(d)]
    if known:
        points.append(say("rests_functions", values=several(*known), section=Heading("model")))
    for term in dict.fromkeys(term.loss for term in d.model.losses if term.opaque):
        points.append(say("rests_loss", loss=Formula(term)))
    return Section("basis", (paragraph("rests", equations=references(*proved)), Listing(tuple(points))))


def strongest(forms: Iterable[Index]) -> frozenset[Index]:
    """The forms ≥ 0 that no other one implies by a constant."""
    kept = frozenset(forms)
    return frozenset(f for f in kept if not any(f != g and not (f - g).terms and (f - g).const > 0 for g in kept))


def _bounds(forms: frozenset[Index]) -> Value:
    whole = {t - Index(1), T - index(t)}
    known: list[Value] = [ALWAYS] if forms >= whole else []
    return several(*known, *(AtLeast(a, b) for a, b in hypotheses(forms - whole if known else forms)))
