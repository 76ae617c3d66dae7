"""derive(model, T) -> Derivation: the only module that knows all stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from sympy import Integer, MatrixSymbol

from symbptt.accumulation import Found, accumulated, truncated
from symbptt.bptt.backward import NEVER, AdjointStep, Edge, Gradient, Template, sweep, template
from symbptt.bptt.closed import ClosedForm, solve
from symbptt.bptt.stated import stated
from symbptt.bptt.unroll import unroll
from symbptt.derivation import WORDS, Derivation, Kind, Line, instance_of
from symbptt.expr.build import plus
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Chain, Derivative, Direct, Matrix, Sum, Zero
from symbptt.expr.walk import substitute
from symbptt.gradients import word_count
from symbptt.model.depth import TooLarge, bounded
from symbptt.model.spec import Model, initial_name
from symbptt.proof.account import ProvedStatement
from symbptt.proof.bounds import Bounds
from symbptt.proof.last import LastLoss
from symbptt.proof.narrative import induction
from symbptt.proof.script import Ref
from symbptt.proof.written import WrittenOut

WRITTEN_OUT = 12
"""Up to this T the record writes every t out; above it the unrolled gradients are there, their lines are not."""
SPELLED = 5
"""Up to this T the words are spelled letter by letter; above it repeated letters stand as powers."""
COUNTED = 1_000
"""Up to this T the words of the carried gradients are counted; their number may have as many digits as T has steps."""
EQUATIONS = 400_000
"""As many equations are unrolled without being told to; about 7 KB and 0.1 ms each."""
ROWS = 50
"""As many block rows the closed form may have without being told to: the lags of the carried families together."""
RECEIVING = 2
"""From this place on in the reading order of the unrolled case, gradients are received and not passed on."""


def check_steps(steps: object) -> None:
    """Refuse what is no number of time steps.

    Raises:
        ValueError: it is not an integer ≥ 1.
    """
    _check_count("T", "time steps", steps)


def _check_count(name: str, what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | Integer) or value < 1:
        raise ValueError(f"{name} counts {what} and must be an integer ≥ 1, not {value!r}")


def check_truncation(uses: object, closed: ClosedForm | None) -> None:
    """Refuse what is no number of uses of the weights.

    Raises:
        ValueError: it is not an integer ≥ 1, or nothing recurs.
    """
    if uses is None:
        return
    _check_count("truncate", "uses of the weights", uses)
    if closed is None:
        raise ValueError("no gradient is read at a later step, so there is nothing to truncate")


def check_cost(model: Model, steps: int, limit: int | None = EQUATIONS) -> None:
    """Refuse to unroll more than `limit` equations; None is no limit.

    Raises:
        TooLarge: with the cost, and what to do instead.
    """
    size = steps * len(model.equations)
    if limit is not None and size > limit:
        raise TooLarge(f"T = {steps} unrolls {size:,} equations, about {size * 7 / 1e6:.1f} GB and {size / 5e3:.0f} s "
                       f"or more; the limit is {limit:,}. Leave T out for the derivation that holds for every T, or "
                       "raise the limit (limit=None, --no-limit)")


def check_rows(model: Model, limit: int | None) -> None:
    """Refuse lags whose closed form needs more than ROWS block rows, unless there is no limit.

    Raises:
        TooLarge: with the cost.
    """
    rows = sum(max(1, model.lags[v.name]) for v in model.carried)
    if limit is not None and rows > ROWS:
        raise TooLarge(f"the lags of {', '.join(v.name for v in model.carried)} make a closed form with "
                       f"{rows} × {rows} blocks, about {rows ** 3 * 2e-5:.0f} s or more; the limit is {ROWS} rows. "
                       "Use shorter lags, or lift the limit (limit=None, --no-limit)")


@bounded
def derive(model: Model, steps: int | None = None, limit: int | None = EQUATIONS,
           truncate: int | None = None) -> Derivation:
    """Derive every gradient of the model and prove the closed forms.

    Args:
        model: the model.
        steps: a given T ≥ 1 adds the unrolled case; None leaves T symbolic.
        limit: how many equations may be unrolled, or None.
        truncate: a number of uses of the weights adds what back-propagation cut off after so many keeps and leaves out.

    Raises:
        ValueError: T or the number of uses is not an integer ≥ 1, or nothing recurs that could be cut off.
        TooLarge: T unrolls more than `limit` equations, long lags make too large a closed form, or the equations of one
            step nest too deeply.
    """
    check_rows(model, limit)
    unrolled: dict[Gradient, AdjointStep] = {}
    if steps is not None:
        check_steps(steps)
        check_cost(model, int(steps), limit)
        unrolled = sweep(unroll(model, int(steps)))
    stages = _Stages(model, template(model))
    check_truncation(truncate, stages.closed)
    stages.write(int(steps) if steps is not None else None, unrolled, truncate)
    closed = next((q for q in stages.theorems if q.key == "closed"), None)
    made = Derivation(model, int(steps) if steps is not None else None, tuple(stages.lines), stages.closed,
                      tuple(stages.theorems), stages.prover.script.definitions, stages.template.delay,
                      induction(closed.proof) if closed is not None else None, unrolled)
    return replace(made, word_counts=_word_counts(made), truncate=truncate)


def _word_counts(d: Derivation) -> dict[str, int]:
    """How many words ∂L/∂v_1 of the carried families would have, where the closed form gathers them in letters."""
    if d.steps is None or d.steps > COUNTED or d.closed is None or not d.closed.letters:
        return {}
    return {v.name: word_count(d, v.name, 1) for v in d.closed.carried}


@bounded
def prove(model: Model, steps: int | None = None, limit: int | None = WORDS,
          truncate: int | None = None) -> tuple[ProvedStatement, ...]:
    """Every theorem about the model: for every T, or for the given T with every t written out.

    Raises:
        ValueError: T or the number of uses is not an integer ≥ 1, or nothing recurs that could be truncated.
        TooLarge: T writes out more than `limit` words, or the equations of one step nest too deeply.
        Refused: a theorem was not proved.
    """
    check_rows(model, limit)
    stages = _Stages(model, template(model))
    check_truncation(truncate, stages.closed)
    if steps is None:
        stages.prove(truncate, whole=True)
    else:
        check_steps(steps)
        words = steps * (steps + 1) // 2
        if limit is not None and words > limit:
            raise TooLarge(f"T = {steps} writes out {words:,} words, about {words / 5e3:.0f} s or more; the limit is "
                           f"{limit:,}. The theorem for every T holds for this one too; or raise the limit "
                           "(limit=None, --no-limit)")
        stages.prove_written_out(steps)
    return tuple(stages.theorems)


def cases(form: Template, edges: tuple[Edge, ...]) -> Iterator[tuple[Index, Index, tuple[Edge, ...]]]:
    """(lo, hi, edges) for the times at which the same edges of a family carry something: t = T first, then t < T."""
    waits = [max(form.wait(e), int(e.last)) for e in edges if form.wait(e) < NEVER]
    last = max(waits, default=0)
    for _, group in groupby(range(last), key=lambda back: form.live(edges, back)):
        backs = list(group)
        yield index(T) - backs[-1], index(T) - backs[0], form.live(edges, backs[0])
    yield Index(1), index(T) - last, form.live(edges, last)


class _Stages:
    """One run: what has been derived so far, and the numbering."""

    def __init__(self, model: Model, form: Template) -> None:
        self.model, self.template = model, form
        self.closed: ClosedForm | None = solve(form)
        self.prover = LastLoss(form, self.closed)
        self.lines: list[Line] = []
        self.theorems: list[ProvedStatement] = []

    def add(self, kind: Kind, name: str, left: Matrix, *forms: Matrix, lo: Index | None = None,
            hi: Index | None = None, edges: tuple[Edge, ...] = (), theorem: int | None = None) -> None:
        """Number a line; those of the written-out case have their own series."""
        chain = tuple(f for k, f in enumerate(forms) if k == 0 or f != forms[k - 1])
        number = 1 + sum((line.kind == "written") == (kind == "written") for line in self.lines)
        self.lines.append(Line(kind, name, number, left, chain, lo, hi, edges, theorem))

    def lines_of(self, kind: Kind) -> list[Line]:
        """The lines of a kind so far."""
        return [line for line in self.lines if line.kind == kind]

    def theorem(self, key: str, prover: LastLoss, ref: Ref) -> ProvedStatement:
        """Replay and keep a theorem."""
        proved = prover.proved(key, ref)
        self.theorems.append(proved)
        return proved

    def write(self, steps: int | None, unrolled: dict[Gradient, AdjointStep], truncate: int | None) -> None:
        """All lines in reading order."""
        self._model()
        self._adjoints()
        if steps is not None and steps <= WRITTEN_OUT:
            self._written(steps, unrolled)
        self.prove(truncate)

    def _found(self, lines: Iterable[Found]) -> None:
        """Number lines that were found elsewhere, and keep their theorems."""
        for line in lines:
            if line.proved is not None:
                self.theorems.append(line.proved)
            self.add(line.kind, line.name, line.left, *line.forms, lo=line.lo, hi=line.hi,
                     theorem=None if line.proved is None else len(self.theorems) - 1)

    def _model(self) -> None:
        for e in stated(self.model):
            self.add(e.kind, e.name, e.left, e.right, lo=e.lo, hi=e.hi)

    def _adjoints(self) -> None:
        form, families = self.template, self.model.families
        for name in form.direct:
            member = At(families[name], t)
            for lo, hi, edges in cases(form, form.direct[name]):
                rule = {t: lo} if lo == hi else {}
                self.add("direct", name, substitute(Direct(member), rule), *_forms(member, edges, rule), lo=lo, hi=hi,
                         edges=edges)
            self._assumed(name)
        for name in (e.name for e in reversed(self.model.order)):
            self._cases(name)
            if name not in form.direct:
                self._assumed(name)
        for member in self.model.initial:
            self._initial(member)
        for symbol in self.model.inputs:
            self._cases(symbol.name)

    def _assumed(self, name: str) -> None:
        """What a loss sends to a family under the assumption on its target."""
        if any(term.assume and a.family.name == name for term in self.model.losses if term.reduce != "once"
               for a in term.loss.args[1:]):
            self._proved("assumed", name, self.prover.assumed(name))

    def _cases(self, name: str) -> None:
        if self.template.delay[name] == NEVER:
            return
        member = At(self.model.families[name], t)
        for lo, hi, edges in cases(self.template, self.template.families[name]):
            rule = {t: lo} if lo == hi else {}
            kind: Kind = "adjoint" if lo == Index(1) else "boundary"
            self.add(kind, name, substitute(Adjoint(member), rule), *_forms(member, edges, rule), lo=lo, hi=hi,
                     edges=edges)

    def _initial(self, member: At) -> None:
        edges = self.template.before(member)
        if edges:
            here = At(member.family, t)
            self.add("initial", initial_name(member), Adjoint(member), *_forms(here, edges, {t: member.time}),
                     edges=edges)

    def _written(self, steps: int, unrolled: dict[Gradient, AdjointStep]) -> None:
        """The unrolled case; initial states and inputs only where they are more than an instance of a line above."""
        expansions = self.prove_written_out(steps)
        general = tuple(self.lines)
        for step in sorted(unrolled.values(), key=self._place):
            if self._place(step)[0] >= RECEIVING and instance_of(general, step, steps) is not None:
                continue
            name = step.target.family.name if isinstance(step.target, At) else step.target.name
            longer = expansions.get(step.left)
            forms = (step.right,) if longer is None else (step.right, longer[0])
            self.add("written", name, step.left, *forms, edges=step.edges,
                     theorem=None if longer is None else longer[1])
        for left, (right, theorem) in expansions.items():
            if left not in unrolled and not isinstance(left, Derivative):
                self.add("written", "", left, right, theorem=theorem)

    def _place(self, step: AdjointStep) -> tuple[int, int]:
        """Reading order of the unrolled case: what equations define, parameters, initial states, inputs."""
        if not isinstance(step.target, At):
            return 1, (*self.model.parameters, *self.model.static).index(step.target)
        if step.target.family.name in self.model.defined and step.target.time.const >= 1:
            return 0, 0
        return RECEIVING if step.target.time.const < 1 else RECEIVING + 1, 0

    def prove_written_out(self, steps: int) -> dict[Matrix, tuple[Matrix, int]]:
        """Prove the closed form for a given T with every t written out; by left-hand side, right and theorem.

        A large T gives one theorem, a column with a row for each t, and no entry.
        """
        if self.closed is None:
            return {}
        prover = WrittenOut(self.template, self.closed, Index(steps))
        found: dict[Matrix, tuple[Matrix, int]] = {}
        if steps > WRITTEN_OUT:
            self.theorem("written", prover, prover.written_out_at_once())
            return found
        for ref in prover.written_out(letters=steps <= SPELLED):
            theorem = self.theorem("written", prover, ref).theorem
            found[theorem.left] = (theorem.right, len(self.theorems) - 1)
        return found

    def prove(self, truncate: int | None, whole: bool = False) -> None:
        """The theorems for every T, each beside the line that it proves; with `whole`, none may be missing."""
        prover = self.prover
        if self.closed is not None:
            for letter in self.closed.letters:
                self.add("letter", letter.name, letter.left, letter.right)
            self._proved("closed", "", prover.solution)
            self._proved("reversed", "", prover.from_the_end())
            if prover.only_last:
                self._proved("at_last", "", prover.at_last)
            if not self.closed.trivial:
                self._proved("bound", "", Bounds(self.closed, prover.last, prover.script).prove())
        if not self.lines_of("adjoint"):
            for name in (e.name for e in reversed(self.model.order)):
                self._assumed(name)
        for symbol in (*self.model.parameters, *self.model.static):
            self._gradient(symbol)
        for member in (*self.model.initial, *(At(v, t) for v in self.model.inputs)):
            if any(d.left == Adjoint(member) for d in self.prover.script.definitions):
                self._proved("total", initial_name(member) if not member.time.terms else member.family.name,
                             prover.gradient(Adjoint(member)))

        self._found(accumulated(self.template, self.closed, whole))
        if truncate is not None and self.closed is not None:
            self._found(truncated(self.template, self.closed, int(truncate)))

    def _proved(self, kind: Kind, name: str, ref: Ref) -> None:
        theorem = self.theorem(f"{kind} {name}".strip(), self.prover, ref).theorem
        self.add(kind, name, theorem.left, theorem.right, theorem=len(self.theorems) - 1,
                 lo=Index(1) if theorem.hypotheses else None, hi=index(T) if theorem.hypotheses else None)

    def _gradient(self, symbol: MatrixSymbol) -> None:
        timed, once = self.template.uses(symbol.name), self.template.once[symbol.name]
        whole = self.template.total(symbol.name)
        if whole is None:
            self.add("gradient", symbol.name, Adjoint(symbol), Zero(*symbol.shape))
            return
        summed = [Sum(plus([_unevaluated(e, symbol) for e in timed]), t, 1, T)] if timed else []
        chain = plus([*summed, *(_unevaluated(e, symbol) for e in once)])
        self.add("gradient", symbol.name, Adjoint(symbol), chain, whole, edges=(*timed, *once))
        ref = self.prover.gradient(Adjoint(symbol))
        if self.prover.script[ref].right != whole:
            self._proved("total", symbol.name, ref)


def _unevaluated(edge: Edge, variable: Matrix) -> Matrix:
    """What an edge carries before the chain rule, or the derivative of a loss with a name, is evaluated."""
    if edge.through is not None:
        return Chain(edge.through, variable)
    return edge.value if edge.named is None else edge.named


def _forms(member: At, edges: tuple[Edge, ...], rule: dict[IndexVar, Index]) -> tuple[Matrix, ...]:
    """The chain rule before it is evaluated, and after; only the latter when no edge goes through another variable."""
    if not edges:
        return (Zero(*member.shape),)
    value = plus([e.value for e in edges])
    chain = plus([_unevaluated(e, member) for e in edges])
    raw = plus([e.value if e.raw is None else e.raw for e in edges])
    forms = (value,) if all(e.through is None and e.named is None for e in edges) else (chain, raw, value)
    return tuple(substitute(f, rule) for f in forms)
