"""The sections about the chain rule: the recursion step by step, and the case of a given T written out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from symbptt.derivation import Derivation, Line
from symbptt.expr.build import plus
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Chain, Direct
from symbptt.expr.walk import substitute
from symbptt.render.forward import ALWAYS, display
from symbptt.render.outline import (
    OBJECTIVE,
    Display,
    Formula,
    Item,
    Paragraph,
    Phrase,
    Relation,
    Run,
    Section,
    Sentence,
    Span,
    Steps,
    Value,
    When,
    formulas,
    paragraph,
    references,
    say,
    several,
)

UNROLLED = 5
"""Up to this T the chain rule stands before each written-out gradient."""
GROUPS = ("written", "written_parameters", "written_initial", "written_inputs", "written_letters", "written_beyond")
"""The groups of written-out equations, in reading order, by the sentence before each."""


def derivation(d: Derivation) -> Section:
    """Each gradient of a variable with a time index: along which edges, by which rules, on which equations."""
    items: list[Item] = [paragraph("derivation", objective=Formula(OBJECTIVE))]
    for line in d.of_kind("direct", "adjoint", "boundary", "initial"):
        items += [Paragraph((_why(d, line),)), display(line)]
    return Section("derivation", tuple(items))


def _why(d: Derivation, line: Line) -> Sentence:
    variable, rule = line.left.args[0], _moment(line)
    places: dict[str, Value] = {"objective": Formula(OBJECTIVE), "variable": Formula(variable)}
    through = [substitute(e.through, rule) for e in line.edges if e.through is not None]
    reads_direct = any(isinstance(e.value, Direct) for e in line.edges)
    if not line.edges:
        return say("vanishes", when=_when(line), **places)
    if line.kind == "direct":
        return say("direct", variable=places["variable"], losses=_losses(d, line))
    if reads_direct:
        places["direct"] = references(d.number("direct", variable.family.name))
    if not through:
        key = "only_direct" if reads_direct else "only_loss"
        return say(key, when=_when(line), losses=_losses(d, line), **places)
    key = "chain_direct" if reads_direct else "chain_only" if len(set(through)) == 1 else "chain"
    if line.kind == "initial":
        return say(f"{key}_initial", consumers=formulas(*through), how=how(d, line), **places)
    return say(key, when=_when(line), consumers=formulas(*through), how=how(d, line), **places)


def _moment(line: Line) -> dict[IndexVar, Index]:
    """Where t stands in the edges of a line that speaks of one moment."""
    if line.kind == "initial":
        return {t: line.left.args[0].time}
    return {t: line.lo} if line.lo is not None and line.lo == line.hi else {}


def _when(line: Line) -> When:
    return ALWAYS if line.lo is None or line.hi is None else When(line.lo, line.hi)


def _losses(d: Derivation, line: Line) -> Value:
    names = {e.equation for e in line.edges if e.through is None}
    return formulas(*(term.loss for term in d.model.losses if term.loss.name in names or "" in names))


def how(d: Derivation, line: Line) -> Sentence:
    """The chain rule, the rules that were applied, and the equations to which they were."""
    consumers = [e for e in line.edges if e.through is not None]
    rules = dict.fromkeys(rule for e in consumers for trail in e.rules for rule in trail)
    equations = references(*(d.number("model", e.equation) for e in consumers))
    if not rules:
        return say("how_plain", equations=equations)
    return say("how", rules=several(*(Phrase("rules", rule) for rule in rules)), equations=equations)


def written(d: Derivation) -> Section | None:
    """The case of the given T: each gradient by the recursion, then down to the losses."""
    if d.steps is None:
        return None
    lines = d.of_kind("written")
    given = Steps(d.steps)
    if not lines:
        return Section("written", (paragraph("written_none", steps=given),))
    return Section("written", (*_groups(d, lines, given), *_missing(d, d.steps)))


def _groups(d: Derivation, lines: tuple[Line, ...], given: Steps) -> Iterator[Item]:
    defined = d.model.defined
    at = {line: line.left.args[0] if isinstance(line.left, Adjoint | Direct) else None for line in lines}
    letters = [line.number for line in d.of_kind("letter")]

    def group(line: Line) -> str:
        variable = at[line]
        if not line.name:
            return "written_letters" if letters else "written_beyond"
        if not isinstance(variable, At):
            return "written_parameters"
        if not variable.time.terms and variable.time.const < 1:
            return "written_initial"
        return "written" if variable.family.name in defined else "written_inputs"

    places: dict[str, dict[str, Value]] = {"written": {"steps": given}}
    if letters:
        places["written_letters"] = {"letters": Span(letters[0], letters[-1])}
    for key in GROUPS:
        chosen = [line for line in lines if group(line) == key]
        if chosen:
            yield Paragraph((say(key, **places.get(key, {})),))
            yield from (_with_chain(line) if key == "written" and given.steps <= UNROLLED else display(line)
                        for line in chosen)


def _with_chain(line: Line) -> Display:
    """The written-out equation, with the chain rule before it is evaluated where it goes through other variables."""
    shown = display(line)
    variable = line.left.args[0]
    links = [e.value if e.through is None else Chain(e.through, variable) for e in line.edges]
    if all(e.through is None for e in line.edges):
        return shown
    return replace(shown, relations=(Relation(plus(links)), *shown.relations))


def _missing(d: Derivation, steps: int) -> Iterator[Item]:
    """Members whose gradients do not stand among the lines, because they are zero."""
    listed = {line.left for line in d.of_kind("written")}
    symbols = (*(e.left.family for e in d.model.equations), *d.model.inputs)
    gone: list[Value] = []
    for v in symbols:
        zero = [s for s in range(1, steps + 1) if Adjoint(At(v, s)) not in listed]
        if zero:
            gone.append(Run(At(v, zero[0]), At(v, zero[-1])))
    if gone:
        yield paragraph("written_zero", objective=Formula(OBJECTIVE), values=several(*gone))


def gradients(d: Derivation) -> Section:
    """Each parameter: the chain rule summed over the steps, evaluated, and with the closed form put in."""
    items: list[Item] = []
    total = {line.name: line for line in d.of_kind("total")}
    for line in d.of_kind("gradient"):
        items += _gradient(d, line)
        if line.name in total:
            items += [inserted(d), display(total[line.name])]
    return Section("gradients", tuple(items))


def _gradient(d: Derivation, line: Line) -> Iterator[Item]:
    places: dict[str, Value] = {"objective": Formula(OBJECTIVE), "parameter": Formula(line.left.args[0])}
    if not line.edges:
        yield paragraph("gradient_zero", **places)
    else:
        runs = [_run(e.through) for e in line.edges if e.through is not None]
        yield Paragraph((say("gradient", consumers=several(*runs), how=how(d, line), **places),))
    yield display(line)


def _run(member: At) -> Run:
    return Run(substitute(member, {t: Index(1)}), substitute(member, {t: index(T)}))


def inserted(d: Derivation) -> Paragraph:
    """What stands before a gradient with the closed form put in."""
    numbers = [line.number for line in d.of_kind("closed")]
    return paragraph("inserted", closed=references(*numbers)) if numbers else paragraph("expanded")


def ends(d: Derivation) -> Section | None:
    """Initial states and inputs, with the closed form put in."""
    parameters = {p.name for p in d.model.parameters}
    lines = [line for line in d.of_kind("total") if line.name not in parameters]
    if not lines:
        return None
    before = d.of_kind("initial", "adjoint", "boundary")
    used = [line.number for line in before if line.name in {x.name for x in lines}]
    first = paragraph("ends", equations=references(*used))
    return Section("ends", (first, *map(display, lines)))
