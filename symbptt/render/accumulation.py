"""The section about direct and total derivatives: forward accumulation, and that it gives the same gradients."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import MatrixSymbol

from symbptt.bptt.tangent import flows, solve
from symbptt.derivation import Derivation, Line
from symbptt.expr.index import index, t
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Block,
    Chain,
    Direct,
    Immediate,
    Matrix,
    Plus,
    Tangent,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.walk import substitute, visit
from symbptt.proof.kernel import words as ring_words
from symbptt.render.forward import display, sources
from symbptt.render.letters import explained_forward
from symbptt.render.outline import (
    OBJECTIVE,
    Display,
    Formula,
    Item,
    Paragraph,
    Relation,
    Section,
    Sentence,
    Value,
    formulas,
    paragraph,
    references,
    say,
    several,
)
from symbptt.render.solution import assumption, spanned


def accumulation(d: Derivation) -> Section | None:
    """The two derivatives, the forward recursion, its solution, and the theorem that pairs both accumulations."""
    if not d.of_kind("pairing"):
        return None
    return Section("accumulation", (Paragraph(tuple(_two(d))), *_changes(d), *_solved(d), *_paired(d),
                                    paragraph("cost", objective=Formula(OBJECTIVE))))


def _two(d: Derivation) -> Iterator[Sentence]:
    """What the two derivatives are, and where each one stands."""
    yield say("two_derivatives")
    found = _example(d)
    if found is not None:
        variable, parameter, held = found
        places: dict[str, Value] = {"variable": Formula(variable), "parameter": Formula(parameter)}
        yield say("where_direct", chain=Formula(Chain(variable, parameter)), values=formulas(*held), **places)
        yield say("not_lost", gradient=Formula(Adjoint(variable)), **places)
    for line in d.of_kind("direct")[:1]:
        member = At(d.model.families[line.name], t)
        lines = {kinds: [q for q in d.of_kind(*kinds) if q.name == line.name]
                 for kinds in (("direct",), ("adjoint", "boundary"))}
        own, whole = (say("reason", equations=references(*found)) for found in lines.values())
        yield say("same_pair", direct=Formula(Direct(member)), total=Formula(Adjoint(member)), own=own, whole=whole,
                  variable=Formula(member))


def _example(d: Derivation) -> tuple[At, MatrixSymbol, tuple[Matrix, ...]] | None:
    """A variable, a parameter that its equation uses, and what else it reads; preferably beside something earlier."""
    found = []
    for line in d.of_kind("gradient"):
        for e in line.edges:
            if e.through is None or not e.through.time.terms:
                continue
            read = sources(d.line("model", e.equation).forms[0])
            held = tuple(a for a in read if isinstance(a, At) and a.family.name in d.model.defined)
            early = [a for a in held if a.time != index(t)]
            rank = bool(held) + bool(early) + any(a in early for a in visit(e.value))
            found.append((rank, (e.through, line.left.args[0], held)))
    best = max((rank for rank, _ in found), default=0)
    return next(value for rank, value in found if rank == best) if best else None


def _changes(d: Derivation) -> Iterator[Item]:
    direct, total = d.of_kind("immediate"), d.of_kind("tangent")
    moved = tuple(dict.fromkeys(e for line in (*direct, *total) for form in line.forms for e in visit(form)
                                if type(e) is Tangent and isinstance(e.of, MatrixSymbol)))
    key = "directions_static" if any(e.of in d.model.static for e in moved) else "directions"
    yield Paragraph((say(key, values=formulas(*moved)), say("no_tensor"),
                     say("immediate", direct=Formula(direct[0].left))))
    yield from map(display, direct)
    own, reached = ({line.name for line in lines} for lines in (direct, total))
    equations = d.model.order
    bare = [Immediate(e.left) for e in equations if e.name in reached and e.name not in own]
    still = [Tangent(e.left) for e in equations if e.name not in reached]
    said = [say("no_parameter", values=formulas(*bare))] if bare else []
    said += [say("not_reached", values=formulas(*still))] if still else []
    yield Paragraph((*said, say("tangent", total=Formula(Tangent(direct[0].left.args[0])))))
    yield from map(display, (line for line in total if line.lo is not None))
    before = [line for line in total if line.lo is None]
    keys = {"start_given" if type(line.forms[0]) is Zero else "start_computed" for line in before}
    if keys:
        yield paragraph("start_mixed" if len(keys) > 1 else keys.pop())
    yield from map(display, before)


def _solved(d: Derivation) -> Iterator[Item]:
    lines, letters = d.of_kind("forward"), d.of_kind("forward_letter")
    if not lines:
        return
    if letters:
        yield Paragraph((say("forward_letters"), explained_forward(*(line.left for line in letters)))
                        if len(letters) > 1 else (say("forward_letter"),))
        yield from map(display, letters)
    if len(letters) > 1:
        yield paragraph("recursion_in_letters")
        yield _recursion(*letters)
    yield paragraph("forward_start" if type(lines[0].forms[-1]) is Plus else "forward")
    yield from map(display, lines)
    yield Paragraph((*_transposed(d, letters), say("forward_proof", equations=references(*lines))))


def _transposed(d: Derivation, letters: tuple[Line, ...]) -> Iterator[Sentence]:
    """How the factors are related to those of the backward sum: its transposes, unless blocks part them."""
    closed = references(*d.of_kind("closed"))
    if d.closed is None or d.closed.trivial:
        return
    ahead = solve(flows(d.model), d.closed.letters)
    reaching = {line.name for line in d.of_kind("direct", "boundary", "adjoint") if line.edges}
    if ahead is None or not {str(v.name) for v in ahead.carried} <= reaching:
        return
    named = {line.left: line.forms[0] for line in (*letters, *d.of_kind("letter"))}
    here, there = (named.get(e, e) for e in (ahead.transition, d.closed.transition))
    if not letters and here == there:
        yield say("forward_same", closed=closed)
    elif ring_words(here) == ring_words(there):
        yield say("forward_same_letter", closed=closed, letter=Formula(ahead.transition),
                  factor=Formula(d.closed.transition))
    else:
        apart = any(isinstance(e, Block) for side in (here, there) for e in visit(side)) or here.shape != there.shape
        yield say("forward_same_blocks" if apart else "forward_same_parts", closed=closed)


def _recursion(stacked: Line, transition: Line, drive: Line) -> Display:
    """V_t = Fᵀ V_{t-1} + u_t."""
    before = substitute(stacked.left, {t: index(t) - 1})
    return Display(stacked.left, (Relation(Plus(Times(Transpose(transition.left), before), drive.left)),))


def _paired(d: Derivation) -> Iterator[Item]:
    lines = d.of_kind("pairing")
    yield paragraph("pairing", objective=Formula(OBJECTIVE))
    yield from map(display, lines)
    said = []
    if any(line.lo is None and type(line.forms[0]) is not Zero for line in d.of_kind("tangent")):
        said.append(say("pairing_start"))
    once = [term.loss for term in d.model.losses if term.reduce == "once"]
    if once:
        said.append(say("pairing_once", losses=formulas(*once)))
    changed = {e for line in d.of_kind("immediate", "tangent") for form in line.forms for e in visit(form)}
    read = [line for line in d.of_kind("gradient") if Tangent(line.left.args[0]) in changed]
    points = several(*(say("used", gradient=Formula(q.left), equations=references(q)) for q in read))
    example = _example(d)
    first = next((q for q in read if example is not None and q.left.args[0] == example[1]), read[0])
    said += [say("read_off", direction=Formula(Tangent(first.left.args[0])), gradient=Formula(first.left)),
             say("all_read_off", values=points)]
    yield Paragraph(tuple(said))
    if not d.of_kind("directions"):
        yield paragraph("along_missing", objective=Formula(OBJECTIVE))
    for line in d.of_kind("directions"):
        rank_one = spanned(d, line)
        places: dict[str, Value] = {"equations": assumption(d, line)} if rank_one else {}
        yield paragraph("along_rank_one" if rank_one else "along", objective=Formula(OBJECTIVE), **places)
        yield display(line)
        if rank_one:
            yield paragraph("spanned", equations=references(line))
