"""The sections about the chain rule: the recursion step by step, and the case of a given T written out."""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from dataclasses import replace
from itertools import takewhile

from sympy import MatrixSymbol

from symbptt.bptt.backward import AdjointStep, Edge
from symbptt.derivation import WORDS, Derivation, Kind, Line, instance_of
from symbptt.expr.build import plus
from symbptt.expr.index import Index, IndexVar, T, index, nonnegative, t
from symbptt.expr.nodes import Adjoint, At, Chain, Direct, LossGradient, Sum
from symbptt.expr.walk import substitute, visit
from symbptt.model.read import argument
from symbptt.render.forward import display
from symbptt.render.outline import (
    OBJECTIVE,
    Before,
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
    Verbatim,
    When,
    formulas,
    paragraph,
    references,
    say,
    several,
)
from symbptt.render.solution import assumption, general

UNROLLED = 5
"""Up to this T the chain rule stands before each written-out gradient."""
TIMED: tuple[Kind, ...] = ("direct", "adjoint", "boundary", "initial")
"""The kinds of lines about a variable with a time index."""
GROUPS = ("written", "written_parameters", "written_static", "written_given", "written_letters")
"""The groups of written-out equations, in reading order, by the sentence before each."""


def derivation(d: Derivation) -> Section:
    """Each gradient of a variable with a time index: along which edges, by which rules, on which equations."""
    items: list[Item] = [paragraph("derivation", objective=Formula(OBJECTIVE))]
    for line in d.of_kind(*TIMED, "assumed"):
        before = paragraph("assumed", equation=assumption(d, line), equations=references(*general(d, line))) \
            if line.kind == "assumed" else Paragraph((_in_case(d, line),))
        items += [before, display(line), *_idle(d, line)]
    if d.steps is not None and not d.of_kind("written"):
        items.append(_not_written(d, d.steps))
    return Section("derivation", tuple(items))


def _idle(d: Derivation, line: Line) -> Iterator[Paragraph]:
    """Which summands are zero, at all times of a line or at some, because a line before says so of their gradients."""
    for through, zero in _zeros(d, line):
        variable = Formula(substitute(through, _moment(line)))
        if line.kind != "gradient":
            yield paragraph("idle", variable=variable, equation=references(zero))
        elif zero.lo is not None and zero.hi is not None:
            yield paragraph("idle_steps", variable=variable, equation=references(zero), when=When(zero.lo, zero.hi))


def _zeros(d: Derivation, line: Line) -> Iterator[tuple[At, Line]]:
    """What a line goes through, where the gradient of that is zero, and the line which says so."""
    zeros = [q for q in d.of_kind("boundary", "adjoint") if not q.edges]
    for through in dict.fromkeys(e.through for e in line.edges if e.through is not None and e.through.time.terms):
        for zero in (q for q in zeros if q.name == through.family.name):
            if line.kind == "gradient" or _within(through, line, zero):
                yield through, zero


def _within(through: At, line: Line, zero: Line) -> bool:
    """Whether, at all times of a line, the member that it goes through stands at times of another line."""
    if line.lo is None or line.hi is None or zero.lo is None or zero.hi is None:
        return False
    first, last = (through.time.substitute({t: end}) for end in (line.lo, line.hi))
    known = (line.lo - 1, line.hi - line.lo)
    return nonnegative(first - zero.lo, known) and nonnegative(zero.hi - last, known)


def _not_written(d: Derivation, steps: int) -> Paragraph:
    """That so many steps are not written out here, and where they are."""
    said = [say("written_none", steps=Steps(steps))]
    if d.closed is not None:
        freely = " --no-limit" if steps * (steps + 1) // 2 > WORDS else ""
        said.append(say("written_proved", command=Verbatim(f"symbptt prove {argument(d.model)} --T {steps}{freely}")))
    return Paragraph(tuple(said))


def _in_case(d: Derivation, line: Line) -> Sentence:
    """Why; with the case in front where a variable has several."""
    several_cases = _cases(d, line)
    if line.lo is None or line.hi is None or not several_cases:
        return _why(d, line)
    last = line.lo == line.hi == index(T)
    case: Value = say("at_last") if last else say("at", when=When(line.lo, line.hi)) if line.kind == "boundary" else \
        say("before_last") if line.hi == index(T) - 1 else say("at", when=Before(line.hi + 1))
    return say("in_case", case=case, why=_why(d, line))


def _cases(d: Derivation, line: Line) -> bool:
    """Whether the gradient has more than one line."""
    if line.kind == "direct":
        return sum(q.name == line.name for q in d.of_kind("direct")) > 1
    return any(q.name == line.name for q in d.of_kind("boundary"))


def _why(d: Derivation, line: Line) -> Sentence:
    variable, rule = line.left.args[0], _moment(line)
    places: dict[str, Value] = {"objective": Formula(OBJECTIVE), "variable": Formula(variable)}
    zero = {through for through, _ in _zeros(d, line)}
    through = [substitute(e.through, rule) for e in line.edges if e.through is not None and e.through not in zero]
    reads_direct = any(isinstance(e.value, Direct) for e in line.edges)
    if line.kind == "direct":
        key = "direct_vanishes" if not line.edges else "direct_case" if _cases(d, line) else "direct"
        return say(key, variable=places["variable"], losses=_losses(d, line))
    if not line.edges:
        return say("vanishes", **places)
    if reads_direct:
        places["direct"] = references(d.line("direct", variable.family.name))
    if not through and not reads_direct and any(e.named is not None for e in line.edges):
        return say("only_loss_named", losses=_losses(d, line), how=how(d, line), **places)
    if not through:
        key = "only_direct" if reads_direct else "only_loss"
        return say(key, losses=_losses(d, line), **places)
    key = "chain_direct" if reads_direct else "chain_only" if len(set(through)) == 1 else "chain"
    if line.kind == "initial":
        computed = [q for q in d.of_kind("model") if q.left == variable]
        places |= {"computed": references(*computed)} if computed else {}
        key = f"{key}_computed" if computed else f"{key}_initial"
    return say(key, consumers=formulas(*through), how=how(d, line), **places)


def _moment(line: Line) -> dict[IndexVar, Index]:
    """Where t stands in the edges of a line that speaks of one moment."""
    if line.kind == "initial":
        return {t: line.left.args[0].time}
    return {t: line.lo} if line.lo is not None and line.lo == line.hi else {}


def _losses(d: Derivation, line: Line) -> Value:
    names = {e.equation for e in line.edges if e.through is None}
    rule, family = _moment(line), line.left.args[0].family
    return formulas(*(substitute(term.loss, rule) for term in d.model.losses
                      if (term.loss.name in names or "" in names) and any(
                          isinstance(a, At) and a.family == family for a in visit(term.loss))))


def how(d: Derivation, line: Line) -> Sentence:
    """The chain rule and the equations to which it was applied; the rules, where one of them is new to the reader."""
    equations = references(*(q for e in line.edges for q in _equations(d, e)))
    rules = _rules(line)
    before = takewhile(lambda q: q != line, d.of_kind(*TIMED, "gradient"))
    if rules <= frozenset(rule for q in before for rule in _rules(q)):
        return say("how_plain", equations=equations)
    return say("how", rules=say("differentials", values=several(*(Phrase("rules", rule) for rule in rules))),
               equations=equations)


def _equations(d: Derivation, edge: Edge) -> tuple[Line, ...]:
    """The lines that define what an edge goes through: a variable, or a loss with a name."""
    if edge.through is not None:
        return (d.line("model", edge.equation),)
    losses = {e.loss for e in visit(edge.named) if isinstance(e, LossGradient)} if edge.named is not None else set()
    return tuple(q for q in d.of_kind("loss") if q.left in losses)


def _rules(line: Line) -> KeysView[str]:
    """The rules that were applied, in order."""
    consumers = (e for e in line.edges if e.through is not None or e.named is not None)
    return dict.fromkeys(rule for e in consumers for trail in e.rules for rule in trail).keys()


def written(d: Derivation) -> Section | None:
    """The case of the given T: each gradient by the recursion, then down to the losses."""
    if d.steps is None:
        return None
    lines = d.of_kind("written")
    if not lines:
        return None
    return Section("written", (*_groups(d, lines, Steps(d.steps)), *_instances(d, d.steps), *_missing(d, d.steps)))


def _groups(d: Derivation, lines: tuple[Line, ...], given: Steps) -> Iterator[Item]:
    defined = d.model.defined
    letters = d.of_kind("letter")
    at = {line: line.left.args[0] if isinstance(line.left, Adjoint | Direct) else None for line in lines}

    def group(line: Line) -> str:
        variable = at[line]
        if not line.name:
            return "written_letters"
        if not isinstance(variable, At):
            return "written_static" if variable in d.model.static else "written_parameters"
        return "written" if variable.family.name in defined and variable.time.const >= 1 else "written_given"

    for key in GROUPS:
        chosen = [line for line in lines if group(line) == key]
        if chosen:
            places: dict[str, Value] = {"steps": given}
            if letters:
                places["letters"] = Span(letters[0].label, letters[-1].label)
            if key in ("written_parameters", "written_static"):
                places["equations"] = references(*(d.line("gradient", line.name) for line in chosen))
            spelled = [q for q in letters if key == "written" and any(q.name in _names(line) for line in chosen)]
            if spelled:
                yield paragraph("written_with_letters", equations=references(*spelled), values=several(
                    *(Formula(q.left) for q in spelled)), steps=given)
            else:
                mixed = key == "written_parameters" and not all(
                    isinstance(d.line("gradient", line.name).forms[-1], Sum) for line in chosen)
                yield paragraph("written_mixed" if mixed else key, **places)
            yield from (_with_chain(line) if key == "written" and given.steps <= UNROLLED else display(line)
                        for line in chosen)


def _names(line: Line) -> set[str]:
    """The names of the matrices and families that the forms of a line are made of."""
    members = (e for form in line.forms for e in visit(form) if isinstance(e, At | MatrixSymbol))
    return {str(e.family.name if isinstance(e, At) else e.name) for e in members}


def _with_chain(line: Line) -> Display:
    """The written-out equation, with the chain rule before it is evaluated where it goes through other variables."""
    shown = display(line)
    variable = line.left.args[0]
    links = [e.named or e.value if e.through is None else Chain(e.through, variable) for e in line.edges]
    if all(e.through is None and e.named is None for e in line.edges):
        return shown
    return replace(shown, relations=(Relation(plus(links)), *shown.relations))


def _instances(d: Derivation, steps: int) -> Iterator[Item]:
    """Initial states and inputs that are not listed, because a general equation says it all."""
    listed = {line.left for line in d.of_kind("written")}
    runs: dict[Line, list[At]] = {}
    for left, step in sorted(d.unrolled.items(), key=lambda pair: _time(pair[1])):
        line = instance_of(d.lines, step, steps) if left not in listed else None
        if line is not None:
            runs.setdefault(line, []).append(step.target)
    ends = [Run(runs[line][0], runs[line][-1]) for line in sorted(runs, key=lambda line: line.number)]
    if ends:
        yield paragraph("written_instances", values=several(*ends), equations=references(*runs))


def _time(step: AdjointStep) -> int:
    return step.target.time.const if isinstance(step.target, At) else 0


def _missing(d: Derivation, steps: int) -> Iterator[Item]:
    """Members whose gradients do not stand among the lines, because they are zero."""
    symbols = (*(e.left.family for e in d.model.equations), *d.model.inputs)
    gone: list[Value] = []
    for v in symbols:
        zero = [s for s in range(1, steps + 1) if Adjoint(At(v, s)) not in d.unrolled]
        if zero:
            gone.append(Run(At(v, zero[0]), At(v, zero[-1])))
    if gone:
        yield paragraph("written_zero", objective=Formula(OBJECTIVE), values=several(*gone))


def gradients(d: Derivation) -> Section:
    """Each parameter: the chain rule summed over the steps, evaluated, and with the closed form put in."""
    return Section("gradients", tuple(_each(d, {v.name for v in d.model.parameters})))


def static(d: Derivation) -> Section | None:
    """The same for data without a time."""
    if not d.model.static:
        return None
    first = paragraph("static", objective=Formula(OBJECTIVE))
    return Section("static", (first, *_each(d, {v.name for v in d.model.static})))


def _each(d: Derivation, names: set[str]) -> Iterator[Item]:
    total = {line.name: line for line in d.of_kind("total")}
    for line in d.of_kind("gradient"):
        if line.name in names:
            yield from _gradient(d, line)
            if line.name in total:
                yield from (inserted(d), display(total[line.name]))


def _gradient(d: Derivation, line: Line) -> Iterator[Item]:
    places: dict[str, Value] = {"objective": Formula(OBJECTIVE), "parameter": Formula(line.left.args[0])}
    if not line.edges:
        yield paragraph("gradient_zero", **places)
    else:
        runs = [v for e in line.edges for v in _consumers(e)]
        yield Paragraph((say("gradient", consumers=several(*runs), how=how(d, line), **places),))
    yield display(line)
    yield from _idle(d, line)


def _consumers(edge: Edge) -> tuple[Value, ...]:
    """What an edge of a parameter goes through: a variable at all steps or at one time, or a regulariser."""
    if edge.through is not None:
        return (_run(edge.through),) if edge.through.time.terms else (Formula(edge.through),)
    return tuple(Formula(e.loss) for e in visit(edge.named) if isinstance(e, LossGradient)) if edge.named is not None \
        else ()


def _run(member: At) -> Run:
    return Run(substitute(member, {t: Index(1)}), substitute(member, {t: index(T)}))


def inserted(d: Derivation) -> Paragraph:
    """What stands before a gradient with the closed form put in."""
    lines = d.of_kind("at_last") or d.of_kind("closed")
    return paragraph("inserted", closed=references(*lines)) if lines else paragraph("expanded")


def ends(d: Derivation) -> Section | None:
    """Initial states and inputs, with the closed form put in."""
    parameters = {p.name for p in (*d.model.parameters, *d.model.static)}
    lines = [line for line in d.of_kind("total") if line.name not in parameters]
    if not lines:
        return None
    before = d.of_kind("initial", "adjoint", "boundary")
    used = [line for line in before if line.name in {x.name for x in lines}]
    first = paragraph("ends", equations=references(*used))
    return Section("ends", (first, *map(display, lines)))
