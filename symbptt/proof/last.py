"""Proofs where only the last step has a loss: what a loss sends is zero before it, and sums of words have one term."""

from __future__ import annotations

from functools import cached_property

from symbptt.bptt.backward import NEVER
from symbptt.bptt.closed import terminal
from symbptt.expr.index import Index, index, t
from symbptt.expr.nodes import Adjoint, At, Delta, Derivative, Direct, Matrix, Zero
from symbptt.expr.walk import visit
from symbptt.proof.prover import Prover
from symbptt.proof.script import Ref


class LastLoss(Prover):
    """Proofs for one model; where every loss stands at t = T, closed forms have the one word that ends there."""

    @cached_property
    def only_last(self) -> bool:
        """Whether every loss stands at t = T and the drive holds what losses send at its own time alone."""
        if self.closed is None or any(term.reduce not in ("last", "once") for term in self.template.model.losses):
            return False
        sides = [letter.right for letter in self.closed.letters if letter.left != self.closed.stacked]
        members = [node.of for side in (*sides, self.closed.drive) for node in visit(side) if self.sent(node)]
        return all(isinstance(v, At) and v.time == index(t) for v in members)

    def sent(self, e: Matrix) -> bool:
        """Whether it is what a loss sends: ∂L/∂o_t where the paths end, or ∂⁺L/∂h_t."""
        if type(e) is Direct:
            return True
        return type(e) is Adjoint and type(e.of) is At and terminal(self.template, e.of.family.name) \
            and self.template.delay[e.of.family.name] < NEVER

    def silent(self, e: Derivative) -> Ref:
        """1 ≤ s, s ≤ T - 1 ⊢ ∂L/∂o_s = 0, for a loss at T alone."""
        s, time = self.script, e.of.time
        pattern = type(e)(At(e.of.family, t))
        done = s.apply("definition", (), str(pattern), time)
        apart = s.axiom("delta_apart", time, self.last)
        done = s.then_rewrite(done, {Delta(time, self.last): apart}.get, (time - 1, self.last - 1 - time))
        return s.then_ring(done, Zero(*e.shape))

    @cached_property
    def at_last(self) -> Ref:
        """For 1 ≤ t ≤ T: G_t = word(t, T), when only the last step has a loss."""
        closed, s, here = self.recurrence, self.script, index(t)
        total = closed.solution(here, self.last)
        split = s.axiom("sum_split", *total.args[:3], self.last - 1, self.last)
        early, late = s[split].right.args
        single = s.axiom("sum_first", *late.args)
        word, rest = s[single].right.args
        single = s.chain(single, s.congruence(s[single].right, {1: s.axiom("sum_empty", *rest.args)}))
        inside = (index(early.var) - t, self.last - 1 - early.var, here - 1)
        gone = self.nothing(early, lambda e: s.entail(self.silent(e), inside) if self.sent(e) else None, inside)
        parts = s.congruence(s[split].right, {0: gone, 1: s.then_ring(single, word)})
        done = s.then_ring(s.chain(split, parts), word)
        return s.chain(s.entail(self.solution, self.range), s.entail(done, self.range))

    def in_closed_form(self, e: Matrix) -> Ref | None:
        """Any adjoint but those at which the paths end, in closed form, with one word where that is all."""
        name = e.of.family.name if type(e) is Adjoint and type(e.of) is At else ""
        if not name or not self.only_last or terminal(self.template, name):
            return super().in_closed_form(e)
        if e.of.time == Index(1):
            return self.script.instance(self._one_word(name), {t: Index(1)})
        return self._one_word(name) if e.of.time == index(t) else super().in_closed_form(e)

    def total(self, name: str) -> Ref:
        """For t ≥ 1, past T too: ∂L/∂v_t in closed form, with the sums of all others that stand in it."""
        return self.inserted(name, lambda: self.solution_everywhere, super().in_closed_form, (self.positive,))

    def _one_word(self, name: str) -> Ref:
        """For 1 ≤ t ≤ T: ∂L/∂v_t in closed form."""
        return self.inserted(name, lambda: self.at_last, self.in_closed_form, self.range)
