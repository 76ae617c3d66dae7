"""The lines about forward accumulation and about truncation: what is defined, what is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from symbptt.bptt.backward import Template
from symbptt.bptt.closed import ClosedForm, LetterNames
from symbptt.bptt.tangent import Flows, ForwardForm, flows, solve
from symbptt.derivation import Kind
from symbptt.expr.index import Index, IndexVar, T, index
from symbptt.expr.nodes import Immediate, Matrix, Tangent, Zero
from symbptt.model.spec import initial_name
from symbptt.proof.account import ProvedStatement
from symbptt.proof.axioms import Refused
from symbptt.proof.forward import Forward, tangent_definitions
from symbptt.proof.pairing import Pairing
from symbptt.proof.prover import Prover
from symbptt.proof.script import Ref
from symbptt.proof.truncation import Randomised, Truncation, random_form
from symbptt.proof.whole import Whole

FIRST, LAST = Index(1), index(T)


MISSING = "the prover does not find the theorem that the gradients are the derivative of L in every direction"


@dataclass(frozen=True)
class Found:
    """A line to be numbered: left = forms[0] = …, for lo ≤ t ≤ hi, and the theorem that it states, if it is one."""

    kind: Kind
    name: str
    left: Matrix
    forms: tuple[Matrix, ...]
    lo: Index | None = None
    hi: Index | None = None
    proved: ProvedStatement | None = None


def accumulated(template: Template, closed: ClosedForm | None, whole: bool = False) -> Iterator[Found]:
    """Direct and total changes of every variable, their closed form, that both accumulations agree, and that the
    gradients paired with the directions are the change of L.

    Nothing where no parameter moves anything. Where the prover does not find the last theorem, the line is left out and
    documents say so, so that the gradients can still be printed; with `whole` that is refused. It does not find it
    where no axiom leads there: none moves an elementwise product of matrices past a matrix product.

    Raises:
        Refused: a theorem was not proved.
    """
    model = template.model
    form = flows(model)
    if all(type(flow.direct) is Zero for flow in form.families.values()):
        return
    forward = solve(form, closed.letters if closed is not None else ())
    prover = Prover(template, closed, more=tangent_definitions(form, forward))
    yield from _changes(form)
    if forward is not None:
        yield from _solved(prover, form, forward)
    pairing = Pairing(prover, form)
    yield _theorem(prover, "pairing", "", pairing.prove())
    letters = forward.letters if forward is not None else ()
    try:
        found = Whole(pairing, (d.name for d in letters)).prove()
    except Refused as error:
        if whole:
            raise Refused(f"{MISSING}: {error}") from error
        return
    yield _theorem(prover, "directions", "", found)


def _changes(form: Flows) -> Iterator[Found]:
    for equation in form.model.order:
        flow = form.families[equation.name]
        if type(flow.direct) is not Zero:
            yield Found("immediate", equation.name, Immediate(flow.left), (flow.direct,), FIRST, LAST)
    for equation in form.model.order:
        flow = form.families[equation.name]
        if type(flow.total) is not Zero:
            yield Found("tangent", equation.name, Tangent(flow.left), (flow.total,), FIRST, LAST)
    for member, value in form.initial.items():
        yield Found("tangent", initial_name(member), Tangent(member), (value,))


def _solved(prover: Prover, form: Flows, forward: ForwardForm) -> Iterator[Found]:
    for letter in forward.letters:
        yield Found("forward_letter", letter.name, letter.left, (letter.right,))
    yield _theorem(prover, "forward", "", Forward(prover, form, forward).solution, FIRST, LAST)


def truncated(template: Template, closed: ClosedForm, uses: int) -> Iterator[Found]:
    """What a window of so many uses keeps and leaves out, for the carried adjoints and each parameter it touches."""
    model = template.model
    random = random_form(model, closed, LAST)
    prover = Prover(template, closed, more=random.definitions)
    cut = Truncation(prover, closed, uses)
    for name, ref in cut.theorems():
        yield _theorem(prover, "truncated", name, ref, *(() if name else (FIRST, LAST)))
    end = IndexVar(LetterNames(model, (v.name for v in closed.bound))("e", "s", "n"))
    yield _theorem(prover, "chunk", str(end.name), cut.chunk(end), FIRST, index(end))
    for definition in random.recursions:
        yield Found("randomised", definition.name, definition.left, (definition.right,), FIRST, LAST)
    by_chance = Randomised(prover, random)
    yield _theorem(by_chance, "randomised_closed", "", by_chance.solution, FIRST, LAST)
    yield _theorem(by_chance, "unbiased", "", by_chance.unbiased(), FIRST, LAST)


def _theorem(prover: Prover, kind: Kind, name: str, ref: Ref, lo: Index | None = None,
             hi: Index | None = None) -> Found:
    proved = prover.proved(f"{kind} {name}".strip(), ref)
    return Found(kind, name, proved.theorem.left, (proved.theorem.right,), lo, hi, proved)
