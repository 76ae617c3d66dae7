"""The section about truncated back-propagation: what a window keeps and leaves out, in full, in chunks, at random."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Integer, MatrixSymbol, Symbol

from symbptt.bptt.closed import ClosedForm
from symbptt.derivation import Derivation, Line
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import ONE, At, Identity, Matrix, Plus, Sum, Zero
from symbptt.expr.walk import substitute, visit
from symbptt.render.forward import display
from symbptt.render.notation import letters
from symbptt.render.outline import (
    Count,
    Equal,
    Expected,
    Formula,
    Item,
    Paragraph,
    Scalar,
    Section,
    Sentence,
    Value,
    formulas,
    paragraph,
    references,
    say,
)
from symbptt.render.structure import flattened


def truncation(d: Derivation) -> Section | None:
    """What is kept and left out, for the carried gradients and the parameters; chunks; the randomised truncation."""
    if d.truncate is None or d.closed is None:
        return None
    return Section("truncation", (Paragraph(tuple(_counted(d.truncate))), *_split(d, d.closed, d.truncate),
                                  *_chunks(d), *_randomised(d, d.closed)))


def _counted(uses: int) -> Iterator[Sentence]:
    number: dict[str, Value] = {"number": Count(uses), "more": Count(uses + 1)}
    yield say("window" if uses > 1 else "window_of_one", **number)
    yield say("window_elsewhere" if uses > 1 else "window_elsewhere_one", **number)


def _split(d: Derivation, closed: ClosedForm, uses: int) -> Iterator[Item]:
    whole, *parameters = d.of_kind("truncated")
    last, late = Scalar(index(T).to_expr()), Scalar((index(t) + uses).to_expr())
    yield paragraph("split", closed=references(d.line("closed")), variable=Formula(closed.stacked))
    yield display(whole)
    yield Paragraph((say("split_end", last=last, start=late), say("exact")))
    data = {v.name for v in d.model.static}
    for key, lines in (("split_parameters", [line for line in parameters if line.name not in data]),
                       ("split_static", [line for line in parameters if line.name in data])):
        if lines:
            yield paragraph(key, start=late)
            yield from map(display, lines)
    inside = [line for line in parameters if _together(line, index(t) + uses)]
    if inside:
        yield paragraph("split_inside", equations=references(*inside), kept=Scalar((index(t) + uses - 1).to_expr()),
                        start=late)
    said = tuple(_kept_whole(d, {line.name for line in parameters}))
    if said:
        yield Paragraph(said)


def _together(line: Line, start: Index) -> bool:
    """Whether a summand of a gradient holds both what is kept and what is left out."""
    form = line.forms[-1]
    for part in flattened(form, Plus) if isinstance(form, Plus) else (form,):
        inner = [e for e in visit(part) if isinstance(e, Sum)]
        if any(e.lo == start for e in inner) and any(e.hi == start - 1 for e in inner):
            return True
    return False


def _kept_whole(d: Derivation, cut: set[str]) -> Iterator[Sentence]:
    """The gradients that lose nothing, and those to which values before the first step contribute."""
    through = {line: [e.through.time for e in line.edges if e.through is not None] for line in d.of_kind("gradient")}
    same = [line.left for line, times in through.items() if line.name not in cut and any(s.terms for s in times)]
    if same:
        yield say("loses_nothing", values=formulas(*same))
    early = [line.left for line, times in through.items() if any(not s.terms for s in times)]
    if early:
        yield say("early_uses", values=formulas(*early))
    once = [term.loss for term in d.model.losses if term.reduce == "once"]
    if once:
        yield say("regulariser_whole", losses=formulas(*once))


def _chunks(d: Derivation) -> Iterator[Item]:
    for line in d.of_kind("chunk"):
        assert line.hi is not None
        end = Scalar(line.hi.to_expr())
        yield Paragraph((say("chunks"), say("chunk", end=end)))
        yield display(line)
        yield paragraph("chunk_rest", end=end)


def _randomised(d: Derivation, closed: ClosedForm) -> Iterator[Item]:
    sampled, mean = d.of_kind("randomised")
    factor, expected = _factor(sampled), _factor(mean)
    assert isinstance(factor, At)
    xi = At(factor.family, t)
    later = substitute(sampled.left, {t: index(t) + 1})
    yield Paragraph((say("randomised", factor=Formula(xi)), say("randomised_line", sampled=Formula(sampled.left))))
    yield display(sampled)
    yield Paragraph((say("factors", average=Expected(xi, (expected,)), later=Formula(later), factor=Formula(factor)),
                     say("mean_line", average=Expected(sampled.left, (mean.left,)))))
    yield display(mean)
    yield paragraph("randomised_closed", sampled=Formula(sampled.left))
    yield from map(display, d.of_kind("randomised_closed"))
    one = Equal(expected, Identity(ONE))
    yield paragraph("unbiased", equation=one, average=Expected(xi, (Identity(ONE),)))
    yield from map(display, d.of_kind("unbiased"))
    p = Symbol(str(letters(d, "p", "q", "r", "pi", "rho").name))
    yield Paragraph((
        say("no_bias", average=Expected(sampled.left, (mean.left, closed.stacked)), sampled=Formula(sampled.left),
            exact=Formula(closed.stacked)),
        say("choice", cut=Equal(xi, Zero(ONE, ONE)), probability=Scalar(1 - p), factor=Formula(xi),
            kept=Scalar(Integer(1) / p), other=Scalar(p))))


def _factor(line: Line) -> Matrix:
    """The factor ξ_{t+1} or μ before what arrives from the next step."""
    arriving = line.forms[-1].args[0]
    found: At | MatrixSymbol = arriving.args[0]
    return found
