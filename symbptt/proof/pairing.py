"""The pairing identity: forward and backward accumulation give the same change of L.

With g_v = ∂L/∂v, the direct gradients e_v that losses send and the direct parts ∂⁺v of the changes,

    Σ_{t=1}^{T} Σ_v e_{v,t}ᵀ dv_t = Σ_{t=1}^{T} Σ_v g_{v,t}ᵀ ∂⁺v_t (+ Σ g_sᵀ dv_s over values before the first step).

The left side is dL accumulated forward in time, the right side the gradients of the parameters paired with their
directions. Inserting both recursions leaves on either side the terms g_{w,t}ᵀ (∂w_t/∂v_{t-k}) dv_{t-k} of all edges,
which a shift of the index by k matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from symbptt.bptt.backward import NEVER
from symbptt.bptt.closed import terminal
from symbptt.bptt.tangent import Flows
from symbptt.expr.build import plus, scale, times, transpose
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import (
    ONE,
    Adjoint,
    At,
    Direct,
    Identity,
    Immediate,
    Matrix,
    Plus,
    Scale,
    Sum,
    Tangent,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.walk import substitute
from symbptt.proof.forward import before
from symbptt.proof.prover import Prover
from symbptt.proof.script import Ref, Script, expanded

LAST, FIRST = index(T), Index(1)
UNIT = Identity(ONE)


@dataclass(frozen=True)
class _Edge:
    """v at t - lag reaches w at t: paired is g_{w,t}ᵀ (∂w_t/∂v_{t-lag}) dv_{t-lag}, in order."""

    lag: int
    paired: Matrix


class Scalars:
    """Equality of sums of 1 × 1 words whose 1 × 1 factors commute and are their own transposes."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def equal(self, left: Matrix, right: Matrix) -> Ref:
        """⊢ left = right.

        Raises:
            Refused: the two are different sums of words.
        """
        s, a, b = self.script, self.ordered(left), self.ordered(right)
        return s.chain(a, s.ring(s[a].right, s[b].right), s.sym(b))

    def ordered(self, e: Matrix) -> Ref:
        """e = the sum of its words, each with its 1 × 1 factors in order."""
        s = self.script
        done = s.ring(e, expanded(e))
        whole = s[done].right
        summands = whole.args if type(whole) is Plus else (whole,)
        parts = {k: self._summand(a) for k, a in enumerate(summands)}
        parts = {k: ref for k, ref in parts.items() if s[ref].left != s[ref].right}
        if not parts:
            return done
        return s.chain(done, s.congruence(whole, parts) if type(whole) is Plus else parts[0])

    def ordered_after(self, ref: Ref) -> Ref:
        """From a = b: a = the ordered sum of the words of b."""
        more = self.ordered(self.script[ref].right)
        return ref if self.script[more].left == self.script[more].right else self.script.chain(ref, more)

    def _summand(self, e: Matrix) -> Ref:
        s = self.script
        if type(e) is Scale:
            inner = self._summand(e.args[1])
            return s.congruence(e, {1: inner}) if s[inner].left != s[inner].right else s.refl(e)
        return self._word(e) if type(e) is Times else s.refl(e)

    def _word(self, word: Matrix) -> Ref:
        s = self.script
        segments = [list(group) for _, group in groupby(word.args, key=_counter())]
        scalars = [segment[0] if len(segment) == 1 else Times(*segment) for segment in segments]
        grouped = s.ring(word, Times(*scalars) if len(scalars) > 1 else scalars[0])
        turned = {k: self._turned(a) for k, a in enumerate(scalars)}
        turned = {k: ref for k, ref in turned.items() if s[ref].left != s[ref].right}
        if len(scalars) == 1:
            return s.chain(grouped, turned[0]) if turned else grouped
        if turned:
            grouped = s.chain(grouped, s.congruence(s[grouped].right, turned))
        return self._sorted(grouped)

    def _turned(self, e: Matrix) -> Ref:
        """A 1 × 1 factor, or its transpose if that comes first."""
        s, other = self.script, transpose(e)
        if str(e) <= str(other):
            return s.refl(e)
        return s.chain(s.ring(e, Transpose(other)), s.axiom("scalar_transpose", other))

    def _sorted(self, done: Ref) -> Ref:
        s = self.script
        while True:
            factors = list(s[done].right.args)
            place = next((k for k in range(len(factors) - 1) if str(factors[k]) > str(factors[k + 1])), None)
            if place is None:
                return done
            swap = self._swapped(*factors[place:place + 2])
            if len(factors) == 2:
                done = s.chain(done, swap)
                continue
            outer = Times(*factors[:place], s[swap].left, *factors[place + 2:])
            nested = s.chain(s.ring(s[done].right, outer), s.congruence(outer, {place: swap}))
            factors[place:place + 2] = reversed(factors[place:place + 2])
            done = s.chain(done, s.then_ring(nested, Times(*factors)))

    def _swapped(self, a: Matrix, b: Matrix) -> Ref:
        """The law a b = b a for 1 × 1 matrices: a b = (b I) a, and b I = b."""
        s = self.script
        law, same = s.axiom("scalar_multiple", a, b), s.axiom("scalar_multiple", UNIT, b)
        plain = s.chain(s.ring(b, s[same].left), s.then_ring(same, s[law].right.args[0]))
        return s.chain(law, s.congruence(s[law].right, {0: s.sym(plain)}))


def _counter() -> Callable[[Matrix], int]:
    """A key that changes where a 1 × 1 factor of a 1 × 1 word begins: before a letter with one row."""
    count = 0

    def key(letter: Matrix) -> int:
        nonlocal count
        count += letter.shape[0] == ONE
        return count

    return key


class Pairing:
    """The proof of the pairing identity for one model."""

    def __init__(self, prover: Prover, form: Flows) -> None:
        self.prover, self.form, self.script = prover, form, prover.script
        self.template = prover.template
        self.scalars = Scalars(self.script)
        self.live = [e.name for e in form.model.order if self.template.delay[e.name] < NEVER]
        self.edges = [_Edge((t - u.time).const, times(transpose(Adjoint(form.families[w].left)), value))
                      for w in self.live for u, value in form.families[w].paths]

    def statement(self) -> tuple[Matrix, Matrix]:
        """What the losses send, paired with dv; and ∂L/∂v, paired with the direct parts. At symbolic t."""
        sent, direct = [], []
        for name in self.live:
            member = At(self.form.model.families[name], t)
            if terminal(self.template, name):
                sent.append(times(transpose(Adjoint(member)), Tangent(member)))
            elif name in self.template.direct:
                sent.append(times(transpose(Direct(member)), Tangent(member)))
            if type(self.form.families[name].direct) is not Zero:
                direct.append(times(transpose(Adjoint(member)), Immediate(member)))
        return plus(sent, like=UNIT), plus(direct, like=UNIT)

    def prove(self) -> Ref:
        """The identity for every T.

        Raises:
            Refused: the steps do not go through.
        """
        s, (sent, direct) = self.script, self.statement()
        ahead = [substitute(e.paired, {t: index(t) + e.lag}) for e in self.edges]
        left, right = Plus(sent, *ahead), Plus(direct, *(e.paired for e in self.edges))
        if not self.edges:
            left, right = sent, direct
        middle = self._unfolded()
        pointwise = s.chain(s.sym(self._backward(middle, left)), self._forwards(middle, right))
        under = Sum(left, t, FIRST, LAST)
        summed = s.congruence(under, {0: s.entail(pointwise, (index(t) - 1, LAST - t))})
        if not self.edges:
            return summed
        apart = s.chain(s.sym(self.spread(left)), summed, self.spread(right))
        shifted = [self._shifted(e) for e in self.edges]
        return self._cancelled(apart, shifted)

    # For one t.

    def _unfolded(self) -> Matrix:
        """Σ_v g_vᵀ dv."""
        members = [At(self.form.model.families[name], t) for name in self.live]
        return plus([times(transpose(Adjoint(v)), Tangent(v)) for v in members])

    def _backward(self, middle: Matrix, left: Matrix) -> Ref:
        """1 ≤ t ≤ T ⊢ Σ_v g_vᵀ dv = what the losses send and the edges ahead, by the recursions of g."""
        s = self.script

        def find(e: Matrix) -> Ref | None:
            here = type(e) is Adjoint and type(e.of) is At and e.of.time == index(t)
            name = e.of.family.name if here else ""
            return self.prover.recursion(name) if name in self.live and not terminal(self.template, name) else None

        done = s.rewrite(middle, find, (index(t) - 1, LAST - t))
        return s.chain(done, self.scalars.equal(s[done].right, left))

    def _forwards(self, middle: Matrix, right: Matrix) -> Ref:
        """1 ≤ t ≤ T ⊢ Σ_v g_vᵀ dv = the direct parts and the edges, by the recursions of dv."""
        s = self.script

        def find(e: Matrix) -> Ref | None:
            here = type(e) is Tangent and type(e.of) is At and e.of.time == index(t)
            return s.apply("definition", (), str(e), index(t)) if here else None

        done = s.rewrite(middle, find, (index(t) - 1, LAST - t))
        return s.chain(done, self.scalars.equal(s[done].right, right))

    # Over all t.

    def spread(self, body: Matrix) -> Ref:
        """Σ_t (a + b + …) = Σ_t a + Σ_t b + …."""
        s, first, rest = self.script, body.args[0], body.args[1:]
        whole = Sum(body, t, FIRST, LAST)
        if len(rest) == 1:
            return s.axiom("sum_plus", first, rest[0], t, FIRST, LAST)
        tail = Plus(*rest)
        grouped = s.congruence(whole, {0: s.ring(body, Plus(first, tail))})
        law = s.axiom("sum_plus", first, tail, t, FIRST, LAST)
        more = self.spread(tail)
        done = s.chain(grouped, law, s.congruence(s[law].right, {1: more}))
        return s.then_ring(done, Plus(s[law].right.args[0], *s[more].right.args))

    def _shifted(self, e: _Edge) -> Ref:
        """Σ_t E_{t+k} = Σ_t E_t - (E_1 + … + E_k), for an edge with lag k; what is zero left out."""
        s, k = self.script, e.lag
        ahead = Sum(substitute(e.paired, {t: index(t) + k}), t, FIRST, LAST)
        if k == 0:
            return s.refl(ahead)
        moved = s.axiom("sum_shift", *ahead.args, Index(k))
        late = s.axiom("sum_split", e.paired, t, FIRST, Index(k), LAST + k)
        early = s.axiom("sum_split", e.paired, t, FIRST, LAST, LAST + k)
        late, early = s.entail(late, ()), s.entail(early, ())
        gone = s.congruence(s[early].right, {1: self._past(s[early].right.args[1])})
        whole = s.chain(s.sym(late), early, s.then_ring(gone, s[early].right.args[0]))
        opened = s.congruence(s[late].right, {0: self._started(s[late].right.args[0])})
        both = s.chain(s.sym(opened), whole)
        start, rest = s[opened].right.args
        alone = s.ring(rest, Plus(Plus(start, rest), scale(-1, start)))
        done = s.chain(moved, alone, s.congruence(s[alone].right, {0: both}))
        return s.then_ring(done, plus((s[both].right, scale(-1, start))))

    def _past(self, late: Sum) -> Ref:
        """Σ_{t=T+1}^{T+k} E_t = 0, for every g_{w,t} there is zero."""
        s = self.script
        body = s.rewrite(late.body, lambda a: self.prover.vanish(a) if isinstance(a, Adjoint) else None,
                         (late.var - LAST - 1,))
        return s.zero_sum(late, body)

    def _started(self, early: Sum) -> Ref:
        """Σ_{t=1}^{k} E_t = its terms, those with dv_s = 0 left out."""
        s = self.script
        if early.hi.const == 1:
            done = s.axiom("sum_first", *early.args)
            done = s.chain(done, s.congruence(s[done].right, {1: s.axiom("sum_empty", *s[done].right.args[1].args)}))
        else:
            done = s.axiom("sum_terms", *early.args)
        done = s.then_rewrite(done, self._still)
        return s.then_ring(done, expanded(s[done].right))

    def _still(self, e: Matrix) -> Ref | None:
        """The definition dv_s = 0 of a value before the first step that no parameter moves."""
        found = before(self.script, e)
        return found if found is not None and type(self.script[found].right) is Zero else None

    def _cancelled(self, apart: Ref, shifted: list[Ref]) -> Ref:
        """From X + Σ C' = Y + Σ C and C'_e = C_e - I_e: X = Y + Σ I_e, the I_e gathered by values before step one."""
        s = self.script
        sent, *ahead = s[apart].left.args
        direct = s[apart].right.args[0]
        minus = scale(-1, plus(ahead))
        opened = s.ring(sent, Plus(s[apart].left, minus))
        done = s.chain(opened, s.congruence(s[opened].right, {0: apart}))
        known = {s[ref].left: ref for ref in shifted if s[ref].left != s[ref].right}
        done = s.then_rewrite(s.then_ring(done, Plus(s[apart].right, minus)), known.get)
        left_over = expanded(plus((s[done].right, scale(-1, direct))))
        started = plus([times(transpose(Adjoint(m)), Tangent(m)) for m, value in self.form.initial.items()
                        if type(value) is not Zero and self.template.before(m)], like=UNIT)
        if type(started) is Zero:
            return s.then_ring(done, plus((direct, left_over)))
        done = s.then_ring(done, Plus(direct, left_over))
        unfold = s.rewrite(started, lambda a: s.apply("definition", (), str(a)) if type(a) is Adjoint else None)
        same = s.chain(unfold, self.scalars.equal(s[unfold].right, left_over))
        return s.chain(done, s.congruence(Plus(direct, left_over), {1: s.sym(same)}))
