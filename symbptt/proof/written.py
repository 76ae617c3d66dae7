"""The closed form for a given T with every t written out."""

from __future__ import annotations

from functools import cached_property

from symbptt.expr.index import Index, t
from symbptt.expr.nodes import At, Derivative, Matrix, block
from symbptt.expr.walk import substitute, visit
from symbptt.proof.last import LastLoss
from symbptt.proof.script import Ref, expanded


class WrittenOut(LastLoss):
    """Proofs for one model and a given last step."""

    @cached_property
    def _out(self) -> dict[tuple[int, bool], Ref]:
        return {}

    def written_out(self, letters: bool) -> list[Ref]:
        """G_t for t = T, …, 1 as a sum of words, one for each i = T, …, t; letter by letter, or with runs as powers.

        Raises:
            ValueError: T is symbolic.
        """
        if self.last.terms:
            raise ValueError("a case can be written out only for a given T")
        return [self._written_before(time, letters) for time in range(self.last.const, 0, -1)]

    def written_out_at_once(self) -> Ref:
        """The column of G_T, …, G_1 equals the column of their sums of words: one theorem, which one replay serves."""
        s = self.script
        rows = self.written_out(letters=False)
        column = block([[s[ref].left] for ref in rows])
        return s.congruence(column, {k + 1: ref for k, ref in enumerate(rows)})

    def _written(self, time: int, letters: bool) -> Ref:
        closed, s, last = self.recurrence, self.script, self.last.const
        here = Index(time)
        done = s.instance(self.step, {t: here})
        drive = substitute(closed.drive, {t: here})
        if time == last:
            done = s.then_rewrite(done, {s[done].right.args[0].args[1]: self.stacked_vanishes(here + 1)}.get)
            return self._without_past(s.then_ring(done, expanded(drive) if letters else drive))
        if not letters:
            return self._without_past(self._listed(here))
        before = self._written_before(time + 1, letters)
        done = s.then_rewrite(done, {s[before].left: before}.get)
        return self._without_past(s.then_ring(done, expanded(s[done].right)))

    @cached_property
    def _looks_ahead(self) -> bool:
        """Whether the drive of a step holds what a loss sends at a later one, or nothing before the last step."""
        return self.only_last or any(isinstance(e, Derivative) and isinstance(e.of, At) and (e.of.time - t).const > 0
                   for e in visit(self.recurrence.drive))

    def _without_past(self, done: Ref) -> Ref:
        """The same without gradients that are zero: past T, and before T where only the last step has a loss."""
        if not self._looks_ahead:
            return done
        s = self.script

        def find(e: Matrix) -> Ref | None:
            if not isinstance(e, Derivative) or not isinstance(e.of, At):
                return None
            late = (e.of.time - self.last).const
            return self.vanish(e) if late > 0 else self.silent(e) if late < 0 and self.only_last and self.sent(e) \
                else None

        gone = s.then_rewrite(done, find)
        return done if gone == done else s.then_ring(gone, expanded(s[gone].right))

    def _written_before(self, time: int, letters: bool) -> Ref:
        key = (time, letters)
        if key not in self._out:
            self._out[key] = self._written(time, letters)
        return self._out[key]

    def _listed(self, here: Index) -> Ref:
        """The closed form at a given time, term by term, the last step first."""
        closed, s = self.recurrence, self.script
        done = s.chain(s.instance(self.solution, {t: here}),
                       s.axiom("sum_reflect", *closed.solution(here, self.last).args))
        done = s.chain(done, s.axiom("sum_terms", *s[done].right.args))
        *_, one, none = s[done].right.args
        last = len(s[done].right.args) - 1
        return s.chain(done, s.congruence(s[done].right, {last - 1: self._short_run(one), last: self._empty_run(none)}))

    def _short_run(self, word: Matrix) -> Ref:
        """run(t + 1, t + 1) c_{t+1} = M_{t+1} c_{t+1}."""
        closed, s = self.recurrence, self.script
        if closed.trivial:
            return s.refl(word)
        run = word.args[0]
        law = s.axiom("power_step", closed.transition, Index()) if closed.constant \
            else s.axiom("product_first", *run.args)
        factor, rest = s[law].left.args
        empty = s.axiom("power_zero", factor) if closed.constant else s.axiom("product_empty", *rest.args[:3])
        gone = s.then_ring(s.congruence(s[law].left, {1: empty}), factor)
        return s.congruence(word, {0: s.chain(s.sym(law), gone)})
