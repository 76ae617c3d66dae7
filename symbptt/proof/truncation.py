"""Proofs about truncated back-propagation: full = truncated + remainder, and the randomised truncation without bias.

A window of K keeps, of each loss, the K most recent uses of the weights: ∂L/∂v_t counts the losses of t … t + K - 1.
Sources: Williams and Peng 1990, An efficient gradient-based algorithm for on-line training of recurrent network
trajectories; Tallec and Ollivier 2017, Unbiasing truncated backpropagation through time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sympy import MatrixSymbol

from symbptt.bptt.backward import Template
from symbptt.bptt.closed import ClosedForm, LetterNames, terminal
from symbptt.expr.build import children, plus, rebuild
from symbptt.expr.index import Index, IndexVar, index, t
from symbptt.expr.nodes import (
    ONE,
    Adjoint,
    At,
    Derivative,
    Identity,
    Matrix,
    Multiple,
    Plus,
    Scale,
    Sum,
    Times,
    Zero,
)
from symbptt.expr.walk import substitute, visit
from symbptt.model.spec import Model
from symbptt.proof.prover import Prover
from symbptt.proof.script import Ref
from symbptt.proof.statement import Definition, Theorem

FIRST = Index(1)

USES = IndexVar("uses")
"""The uses that a window of any width keeps."""


@dataclass(frozen=True)
class Halves:
    """whole = kept + left_out, and what no window touches."""

    whole: Matrix
    kept: Matrix
    left_out: Matrix
    once: tuple[Matrix, ...] = ()

    @property
    def right(self) -> Matrix:
        """Kept, left out, and what no window touches."""
        return plus([self.kept, self.left_out, *self.once])


class Truncation:
    """Proofs about a window of `uses` uses of the weights, for one model and symbolic T.

    A window may be a number, or a variable of which no more is known than that it is ≥ 0.
    """

    def __init__(self, prover: Prover, closed: ClosedForm, uses: int | IndexVar) -> None:
        self.prover, self.closed, self.script = prover, closed, prover.script
        self.uses, self.last = index(uses), prover.last
        self.known = (*prover.range, *((self.uses,) if self.uses.terms else ()))
        self._split: Ref | None = None

    def split(self) -> Ref:
        """For 1 ≤ t ≤ T: G_t = Σ_{i=t}^{t+K-1} word(t, i) + Σ_{i=t+K}^{T} word(t, i).

        Words past T are zero, so that the first sum ends there and the second is empty when t + K > T.
        """
        if self._split is None:
            s, here, end = self.script, index(t), index(t) + self.uses - 1
            total = self.closed.solution(here, self.last)
            within, beyond = self.last - end, end - self.last - 1
            inside = s.axiom("sum_split", *total.args[:3], end, self.last)
            longer = s.axiom("sum_split", *total.args[:3], self.last, end)
            gone = s.congruence(s[longer].right, {1: self._past(s[longer].right.args[1])})
            longer = s.sym(s.then_ring(s.chain(longer, gone), total))
            empty = s.axiom("sum_empty", *s[inside].right.args[1].args)
            both = Plus(s[longer].right, s[inside].right.args[1])
            outside = s.chain(longer, s.sym(s.then_ring(s.congruence(both, {1: empty}), s[longer].right)))
            known = self.known
            whole = s.apply("cases", (s.entail(inside, (*known, within)), s.entail(outside, (*known, beyond))), within)
            self._split = s.chain(s.entail(self.prover.solution, known), whole)
        return self._split

    def _past(self, late: Sum) -> Ref:
        """Σ_{i=T+1}^{…} word(t, i) = 0."""
        vanish = self.prover.vanish
        return self.prover.nothing(late, lambda e: vanish(e) if isinstance(e, Derivative) else None,
                                   (late.var - self.last - 1,))

    def total(self, name: str) -> Ref:
        """For 1 ≤ t ≤ T: ∂L/∂v_t as what the window keeps and the remainder."""
        return self.prover.inserted(name, self.split, self._windowed, self.known)

    def gradient(self, left: Adjoint) -> Ref:
        """The gradient of a parameter as Σ over the kept uses and Σ over the uses that are left out."""
        s = self.script
        done = s.apply("definition", (), str(left))
        done = s.then_rewrite(done, self._windowed, self.known[2:])
        done = s.chain(done, s.pull_sums(s[done].right))
        return s.then_rewrite(done, lambda e: self._apart(e) if type(e) is Sum and e.var == t else None)

    def theorems(self) -> Iterator[tuple[str, Ref]]:
        """(name, theorem) of G_t, under the name "", and of every parameter whose gradient the window changes."""
        yield "", self.split()
        template = self.prover.template
        for symbol in (*template.model.parameters, *template.model.static):
            ref = self.gradient(Adjoint(symbol)) if template.uses(symbol.name) else None
            if ref is not None and self._touched(self.script[ref].right):
                yield symbol.name, ref

    def _apart(self, whole: Sum) -> Ref | None:
        """Σ_t (kept + left out) = Σ_t kept + Σ_t left out."""
        s = self.script
        summands = whole.body.args if type(whole.body) is Plus else (whole.body,)
        rest = [a for a in summands if self._left_out(a)]
        kept = [a for a in summands if not self._left_out(a)]
        if not rest or not kept:
            return None
        parts = plus(kept), plus(rest)
        grouped = s.congruence(whole, {0: s.ring(whole.body, Plus(*parts))})
        return s.chain(grouped, s.axiom("sum_plus", *parts, *whole.args[1:]))

    def _left_out(self, e: Matrix) -> bool:
        body = e.args[1] if type(e) is Scale else e
        return type(body) is Sum and body.lo == index(t) + self.uses

    def _windowed(self, e: Matrix) -> Ref | None:
        if type(e) is not Adjoint or type(e.of) is not At or terminal(self.prover.template, e.of.family.name) \
                or not e.of.time.terms:
            return None
        return self.script.instance(self.total(e.of.family.name), {t: e.of.time})

    def halves(self, theorem: Theorem) -> Halves:
        """The sides of a theorem of a window, kept and left out apart also where one word holds both."""
        first, *others = summands(theorem.right)
        if not isinstance(first, Sum) or first.var != t:
            return Halves(theorem.left, first, others[0])
        late = [a for a in others if type(a) is Sum and a.var == t]
        words = [a for whole in (first, *late) for a in summands(whole.body)]
        touched = list(filter(self._touched, words))
        kept, left_out = (Sum(plus([self._half(a, behind) for a in some]), *first.args[1:])
                          for some, behind in ((words, False), (touched, True)))
        return Halves(theorem.left, kept, left_out, tuple(a for a in others if a not in late))

    def _touched(self, e: Matrix) -> bool:
        """Whether a sum of the window stands in e."""
        return any(self._behind(a) is not None for a in visit(e))

    def _behind(self, e: Matrix) -> bool | None:
        """Whether a sum stands behind the window; None for what is neither behind nor inside."""
        if type(e) is not Sum or e.var == t:
            return None
        return True if e.lo == index(t) + self.uses else False if e.hi == index(t) + self.uses - 1 else None

    def _half(self, e: Matrix, behind: bool) -> Matrix:
        """The words of e, each of them linear in the sums of the window, without those of the other half."""
        if self._behind(e) is not None:
            return e if self._behind(e) == behind else Zero(*e.shape)
        parts = children(e) if not isinstance(e, Derivative) else ()
        found = tuple(self._half(a, behind) for a in parts)
        if found == parts:
            return e
        if type(e) is Plus:
            return plus(found, like=e)
        return Zero(*e.shape) if any(type(a) is Zero for a in found) else rebuild(e, found)

    def chunk(self, end: IndexVar) -> Ref:
        """For 1 ≤ t ≤ e ≤ T: G_t = Σ_{i=t}^{e} word(t, i) + Σ_{i=e+1}^{T} word(t, i), for a chunk that ends at e."""
        s, here = self.script, index(t)
        total = self.closed.solution(here, self.last)
        law = s.axiom("sum_split", *total.args[:3], index(end), self.last)
        known = (here - 1, index(end) - t, self.last - end)
        return s.chain(s.entail(self.prover.solution, known), s.entail(law, known))


def summands(e: Matrix) -> Iterator[Matrix]:
    """The summands of a sum, also of those that stand in it."""
    for a in e.args if type(e) is Plus else ():
        yield from summands(a)
    if type(e) is not Plus:
        yield e


def every_window(template: Template, closed: ClosedForm) -> Iterator[tuple[str, Halves]]:
    """(name, halves) of G_t, under the name "", and of the gradients of parameters, for windows of any width."""
    cut = Truncation(Prover(template, closed), closed, USES)
    for name, ref in cut.theorems():
        yield name, cut.halves(cut.prover.proved(name, ref).theorem)


@dataclass(frozen=True)
class RandomForm:
    """R_t = ξ_{t+1} M_{t+1} R_{t+1} + c_t in closed form, its mean Q_t, and the mean μ of the factors ξ.

    `recursions` are the definitions as they are printed; those of `definitions` have blocks in place of letters.
    """

    form: ClosedForm
    expected: Matrix
    mean: Matrix
    definitions: tuple[Definition, ...]
    recursions: tuple[Definition, ...]


def random_form(model: Model, exact: ClosedForm, last: Index) -> RandomForm:
    """The recursion with random factors, in letters that the model and the exact closed form do not use.

    ξ_{t+1} does not depend on the factors after it, hence the mean obeys Q_t = μ M_{t+1} Q_{t+1} + c_t.
    """
    names = LetterNames(model, (*(d.name for d in exact.letters), *(v.name for v in exact.bound)))
    size, ahead = exact.stacked.shape[0], index(t) + 1
    xi, mean = (MatrixSymbol(names(*wanted), ONE, ONE) for wanted in (("xi", "zeta"), ("mu", "nu")))
    sampled, expected = (MatrixSymbol(names(*wanted), size, ONE) for wanted in (("R", "S"), ("Q", "Y")))


    def recursion(v: MatrixSymbol, factor: Matrix, transition: Matrix, drive: Matrix) -> Definition:
        right = Plus(Multiple(factor, Times(transition, At(v, ahead))), drive)
        return Definition(str(v.name), At(v, t), right, FIRST, last)

    parts = (substitute(exact.transition, {t: ahead}), exact.drive)
    spelled = tuple(_spelled(e, exact) for e in parts)
    recursions, definitions = (tuple(recursion(v, factor, *sides) for v, factor in (
        (sampled, At(xi, ahead)), (expected, mean))) for sides in (parts, spelled))

    form = ClosedForm(exact.carried, At(sampled, t), Multiple(At(xi, t), exact.transition), exact.drive, {},
                      bound=exact.bound)
    return RandomForm(form, At(expected, t), mean, definitions, recursions)


def _spelled(e: Matrix, closed: ClosedForm) -> Matrix:
    """The expression with the blocks in place of their letters."""
    for letter in closed.letters:
        if type(e) is At and type(letter.left) is At and e.family == letter.left.family:
            return _spelled(substitute(letter.right, {t: e.time}), closed)
        if e == letter.left:
            return _spelled(letter.right, closed)
    parts = children(e) if not isinstance(e, Derivative) else ()
    return rebuild(e, tuple(_spelled(a, closed) for a in parts)) if parts else e


class Randomised(Prover):
    """Proofs about a randomised truncation; `exact` is the prover of the recursion without it, over all definitions."""

    def __init__(self, exact: Prover, found: RandomForm) -> None:
        super().__init__(exact.template, found.form, exact.last, script=exact.script)
        self.exact, self.found = exact, found

    @cached_property
    def step(self) -> Ref:
        """For 1 ≤ t ≤ T: R_t = (ξ_{t+1} M_{t+1}) R_{t+1} + c_t."""
        s, goal = self.script, self.recurrence.step(index(t))
        ours, theirs = (s.then_rewrite(ref, self._as_identity) for ref in (
            s.apply("definition", (), self.found.definitions[0].name, index(t)), s.rewrite(goal, self.exact.letter)))
        return s.chain(ours, s.ring(s[ours].right, s[theirs].right), s.sym(theirs))

    def _as_identity(self, e: Matrix) -> Ref | None:
        """The law ξ A = (ξ I) A."""
        plain = type(e) is not Multiple or type(e.args[1]) is Identity
        return None if plain else self.script.axiom("multiple_identity", *e.args)

    def stacked_vanishes(self, at: Index) -> Ref:
        return self.script.apply("beyond", (), self.found.definitions[0].name, at)

    def unbiased(self) -> Ref:
        """μ = 1 ⊢ for 1 ≤ t ≤ T + 1: Q_t = G_t, by induction downward from T + 1."""
        s, ahead, exact = self.script, {t: index(t) + 1}, self._exact
        name = self.found.definitions[1].name
        known = s.apply("assumption", (), substitute(self.found.expected, ahead), substitute(exact.stacked, ahead))
        one = s.apply("assumption", (), self.found.mean, Identity(ONE))
        done = s.then_rewrite(s.apply("definition", (), name, index(t)), lambda e: self._without_mean(e, one))
        done = s.then_rewrite(done, {s[known].left: known}.get)
        goal = s.then_rewrite(self.exact.step, self.exact.letter)
        done = s.then_rewrite(done, self.exact.letter)
        done = s.chain(done, s.ring(s[done].right, s[goal].right), s.sym(goal))
        base = s.chain(s.apply("beyond", (), name, self.last + 1), s.sym(self.exact.stacked_vanishes(self.last + 1)))
        return s.apply("induction_down", (base, s.entail(done, self.range)), FIRST, self.last + 1)

    def _without_mean(self, e: Matrix, one: Ref) -> Ref | None:
        """The law μ A = (μ I) A = A μ = A for a column A and μ = 1."""
        if type(e) is not Multiple or e.args[0] != self.found.mean:
            return None
        s, body = self.script, e.args[1]
        behind = s.axiom("scalar_multiple", body, e.args[0])
        done = s.chain(s.axiom("multiple_identity", *e.args), s.sym(behind))
        return s.then_ring(s.chain(done, s.congruence(s[done].right, {1: one})), body)

    @property
    def _exact(self) -> ClosedForm:
        return self.exact.recurrence
