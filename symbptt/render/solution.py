"""The sections about the closed form: how it is found, and its proof by induction."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from symbptt.bptt.closed import ClosedForm
from symbptt.derivation import Derivation, Kind, Line
from symbptt.expr.build import children, rebuild
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import (
    ONE,
    Adjoint,
    At,
    Block,
    Diagonal,
    Identity,
    Immediate,
    Matrix,
    Plus,
    Power,
    Product,
    Scale,
    Tangent,
    Times,
    Transpose,
)
from symbptt.expr.walk import substitute, visit
from symbptt.proof.account import Row
from symbptt.render.forward import display
from symbptt.render.letters import explained
from symbptt.render.outline import (
    Count,
    Display,
    Equal,
    Formula,
    Item,
    Paragraph,
    Phrase,
    Ref,
    Relation,
    Scalar,
    Section,
    Steps,
    Value,
    paragraph,
    references,
    say,
    several,
)
from symbptt.render.structure import flattened

LONG = 16
"""A factor of more nodes is not repeated in a sentence."""


def closed(d: Derivation) -> Section:
    """The closed form, or that there is nothing to unroll."""
    return Section("closed", tuple(_closed(d)))


def _closed(d: Derivation) -> Iterator[Item]:
    form = d.closed
    if form is None:
        yield paragraph("closed_none")
        return
    recursion = references(*(d.line("adjoint", v.name) for v in form.carried))
    letters = d.of_kind("letter")
    if letters:
        single = len(letters) == 1
        yield from _counted(d, form)
        yield Paragraph((say("letter", recursion=recursion),) if single else
                        (say("letters", recursion=recursion), *explained(form)))
        yield from map(display, letters)
        yield paragraph("recursion_in_letter" if single else "recursion_in_letters")
        yield Display(form.stacked, (Relation(form.step(index(t))),))
        yield paragraph("unrolled_letters")
    else:
        yield paragraph("unrolled", recursion=recursion)
    yield from map(display, d.of_kind("closed"))
    selected = [(v, row) for v, row in ((v, form.select[v.name]) for v in form.carried) if row is not None]
    if selected:
        yield paragraph("selected", stacked=Formula(form.stacked))
        for v, row in selected:
            yield Display(Adjoint(At(v, t)), (Relation(Times(row, form.stacked)),))
    if any(isinstance(run, Product) for run in _runs(d.line("closed").forms[-1])):
        yield paragraph("product_order", index=Scalar(form.bound[1]), identity=Formula(Identity(form.stacked.shape[0])))
    if d.of_kind("reversed"):
        yield paragraph("reversed")
        yield from map(display, d.of_kind("reversed"))
    if d.of_kind("at_last"):
        yield paragraph("one_word", closed=references(*d.of_kind("closed")))
        yield from map(display, d.of_kind("at_last"))
    yield from _remark(d, form)
    if d.of_kind("bound"):
        yield paragraph("bound", last=Scalar(T), early=Scalar(t))
        yield from map(display, d.of_kind("bound"))


def _counted(d: Derivation, form: ClosedForm) -> Iterator[Item]:
    """How many words the carried gradients have without letters, for a given T."""
    if d.steps is not None and d.word_counts:
        counts = (say("word_count", count=Count(d.word_counts[v.name]), gradient=Formula(Adjoint(At(v, Index(1)))))
                  for v in form.carried)
        key = "word_counts" if len(form.letters) > 1 else "word_counts_single"
        yield paragraph(key, steps=Steps(d.steps), counts=several(*counts))


def _remark(d: Derivation, form: ClosedForm) -> Iterator[Item]:
    """What the power or the product in the closed form means for distant steps, and for which parameters."""
    line = d.line("closed")
    run = next(_runs(line.forms[-1]), None)
    if run is None:
        return
    i = form.bound[0]
    places: dict[str, Value] = {"closed": references(line), "early": Scalar(t), "late": Scalar(i)}
    if isinstance(run, Power):
        said = [say("remark_power", exponent=Scalar(run.args[1].to_expr()), base=Formula(run.args[0]), **places)]
    else:
        long = sum(1 for _ in visit(run.body)) > LONG
        said = [say("remark_long", **places) if long else say("remark_product", factor=Formula(run.body), **places)]
    place = {t: index(form.bound[1])} if isinstance(run, Product) else {}
    said += [say("remark_gate", diagonal=Formula(e), gate=Formula(e.args[0]))
             for e in (substitute(a, place) for a in passed_on(form))]
    names = {q.name for q in d.of_kind("total") if next(_runs(q.forms[-1]), None) is not None}
    affected = [Formula(Adjoint(p)) for p in d.model.parameters if p.name in names]
    if affected:
        said.append(say("remark_parameters", values=several(*affected)))
    yield Paragraph(tuple(said))


def passed_on(form: ClosedForm) -> list[Diagonal]:
    """The summands diag(v), with nothing else in them, of the transition or of a block on the diagonal of K."""
    heads = {letter.left: letter.right for letter in form.letters}
    whole = heads.get(form.transition, form.transition)
    inner = [heads[e] for e in flattened(whole, Times) if e in heads] if isinstance(whole, Times) else [whole]
    cells = [row[k] for e in inner if isinstance(e, Block) and e.shape[0] == e.shape[1] for k, row in enumerate(e.rows)]
    found = (a for e in (cells or [whole]) for a in (flattened(e, Plus) if isinstance(e, Plus) else (e,)))
    return list(dict.fromkeys(a for a in found if isinstance(a, Diagonal)))


def _runs(e: Matrix) -> Iterator[Power | Product]:
    """The powers with a symbolic exponent and the products in an expression, but powers of the identity."""
    for node in visit(e):
        if isinstance(node, Product) or (isinstance(node, Power) and node.args[1].terms
                                         and not isinstance(node.args[0], Identity)):
            yield node


def proof(d: Derivation) -> Section | None:
    """The induction: statement, base, hypothesis, step with a reason for each row."""
    if d.induction is None or d.closed is None:
        return None
    found = d.induction
    carried = {v.name for v in d.closed.carried}
    at_last = any(e.last for q in d.of_kind("boundary") if q.name in carried for e in q.edges)
    kinds: tuple[Kind, ...] = ("boundary", "adjoint") if at_last else ("adjoint",)
    given = references(*(q for q in d.of_kind(*kinds) if q.name in carried))
    number = references(*d.of_kind("closed"))
    return Section("proof", (
        paragraph("proof_at_last" if at_last else "proof", closed=number, recursion=given),
        paragraph("base", left=Formula(found.base[0])), _chain(d, *found.base),
        paragraph("hypothesis"), Display(found.hypothesis[0], (Relation(found.hypothesis[1]),)),
        paragraph("step"), _chain(d, *found.step),
        paragraph("proved", closed=number)))


def assumption(d: Derivation, line: Line) -> Value:
    """The equations that the theorem of a line assumes."""
    found = d.theorems[line.theorem].theorem.assumptions if line.theorem is not None else frozenset()
    return several(*(Equal(a, b) for a, b in sorted(found, key=str)))


def spanned(d: Derivation, line: Line) -> bool:
    """Whether the theorem of a line about directions speaks of matrices u vᵀ, which span all others."""
    return line.theorem is not None and bool(d.theorems[line.theorem].theorem.assumptions)


def general(d: Derivation, line: Line) -> tuple[Line, ...]:
    """The lines of the same gradient without an assumption."""
    return tuple(q for q in d.of_kind("direct", "adjoint", "boundary") if q.name == line.name
                 and type(q.left) is type(line.left))


def _chain(d: Derivation, left: Matrix, rows: tuple[Row, ...]) -> Display:
    """The rows that look different from the one before: associativity cannot be seen; unfoldings in a row are one."""
    seen = flat(left)
    kept: list[Relation] = []
    for row in rows:
        if flat(row.right) != seen:
            here = Relation(row.right, tuple(reason(d, name) for name in row.reasons))
            if kept and _unfolds(kept[-1]) and _unfolds(here):
                here = Relation(here.right, tuple(dict.fromkeys((*kept.pop().reasons, *here.reasons))))
            kept.append(here)
        seen = flat(row.right)
    return Display(left, tuple(kept))


def _unfolds(row: Relation) -> bool:
    return all(isinstance(v, Ref) for v in row.reasons)


@lru_cache(maxsize=1 << 14)
def flat(e: Matrix) -> Matrix:
    """The expression without what no notation prints: parentheses, the transpose of a 1 × 1 value, a factor 1."""
    operands = tuple(flat(a) for a in children(e))
    made = rebuild(e, operands) if operands else e
    if type(made) is Transpose and made.shape == (ONE, ONE):
        return made.args[0]
    if type(made) is Scale and made.args[0] == 1:
        return made.args[1]
    return type(made)(*flattened(made, type(made))) if isinstance(made, Plus | Times) else made


def reason(d: Derivation, name: str) -> Value:
    """Why a row follows: an equation by label, or a law by name."""
    line = equation_of(d, name)
    return Ref(line.label) if line is not None else Phrase("reasons", name)


def equation_of(d: Derivation, name: str) -> Line | None:
    """The equation that a definition of the proofs stands for."""
    heads = {q.name: q.left for q in d.definitions}
    lines = d.of_kind("adjoint", "direct", "letter", "initial", "gradient")
    found = (line for line in lines if name in heads and line.left == heads[name])
    changes = (line for line in d.of_kind("tangent", "immediate") if str(line.left) == name)
    named = (line for line in d.of_kind("forward_letter", "randomised") if line.name == name)
    return next((line for group in (found, changes, named) for line in group), None)


def definitions(d: Derivation) -> set[str]:
    """The names of all definitions that theorems unfold: of the gradients, the changes, the letters and the means."""
    changes = (*(e.left for e in d.model.equations), *d.model.initial)
    named = d.of_kind("forward_letter", "randomised")
    return {*(q.name for q in d.definitions), *(str(kind(v)) for v in changes for kind in (Tangent, Immediate)),
            *(line.name for line in named)}


def hypotheses(forms: frozenset[Index]) -> list[tuple[Index, Index]]:
    """Each form ≥ 0 as left ≥ right without negative terms, in a fixed order."""
    made = []
    for form in sorted(forms, key=str):
        above = Index(max(form.const, 0), [(v, a) for v, a in form.terms if a > 0])
        made.append((above, above - form))
    return made
