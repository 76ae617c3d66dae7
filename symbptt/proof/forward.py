"""Proofs about the forward sweep: its closed form, and that forward and backward accumulation agree."""

from __future__ import annotations

from functools import cached_property

from symbptt.bptt.tangent import Flows, ForwardForm, eliminate
from symbptt.expr.build import plus, times
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import At, Immediate, Matrix, Plus, Power, Sum, Tangent, Times, Transpose, Zero
from symbptt.expr.walk import substitute
from symbptt.proof.prover import Prover
from symbptt.proof.script import Ref, Script
from symbptt.proof.statement import Definition

LAST = index(T)


def tangent_definitions(form: Flows, forward: ForwardForm | None) -> tuple[Definition, ...]:
    """What the forward sweep defines: values before the first step, then recursions for 1 ≤ t ≤ T, then letters."""
    made = [Definition(str(Tangent(member)), Tangent(member), value) for member, value in form.initial.items()]
    for equation in form.model.order:
        flow = form.families[equation.name]
        if type(flow.direct) is not Zero:
            direct = Immediate(flow.left)
            made.append(Definition(str(direct), direct, flow.direct, Index(1), LAST))
        left = Tangent(flow.left)
        made.append(Definition(str(left), left, flow.total, Index(1), LAST))
    return (*made, *(forward.letters if forward is not None else ()))


def before(script: Script, e: Matrix) -> Ref | None:
    """The definition of dv_s for a time before the first step."""
    early = type(e) is Tangent and type(e.of) is At and not e.of.time.terms and e.of.time.const < 1
    return script.apply("definition", (), str(e)) if early else None


class Forward:
    """Proofs for one model at symbolic T; the prover knows the definitions of both sweeps."""

    def __init__(self, prover: Prover, form: Flows, forward: ForwardForm | None) -> None:
        self.prover, self.form, self.forward = prover, form, forward
        self.script: Script = prover.script
        self.range = (index(t) - 1, LAST - t)
        self._eliminated: dict[str, Ref] = {}

    @property
    def _forward(self) -> ForwardForm:
        if self.forward is None:
            raise ValueError("no change is carried to a later step")
        return self.forward

    # The recurrence of the stacked changes.

    def eliminated(self, name: str) -> Ref:
        """For 1 ≤ t ≤ T: dv_t = Σ J · change over earlier changes of carried families and direct parts at t."""
        if name not in self._eliminated:
            s, flow = self.script, self.form.families[name]
            done = s.apply("definition", (), str(Tangent(flow.left)), index(t))
            summands = [*([] if type(flow.direct) is Zero else [Immediate(flow.left)]), *(v for _, v in flow.paths)]
            if len(summands) > 1:
                done = s.then_ring(done, Plus(*summands))
            shift = len(summands) - len(flow.paths)
            parts = {k + shift: self._path(u, value) for k, (u, value) in enumerate(flow.paths)}
            if parts and len(summands) == 1:
                done = s.chain(s.then_ring(done, summands[0]), parts[0])
            elif parts:
                done = s.chain(done, s.congruence(s[done].right, parts))
            linear = eliminate(self.form, name)
            tidy = plus([times(j, change) for change, j in linear.items()], like=flow.left)
            self._eliminated[name] = s.then_ring(done, tidy)
        return self._eliminated[name]

    def _path(self, u: At, value: Matrix) -> Ref:
        straight = self.prover.straight(value, Tangent(u))
        if u.time != index(t):
            return straight
        return self.script.then_rewrite(straight, {Tangent(u): self.eliminated(u.family.name)}.get, self.range)

    def _letter(self, e: Matrix) -> Ref | None:
        """The unfolding of an abbreviation."""
        return self.script.unfold(e, self._forward.letters)

    @cached_property
    def step(self) -> Ref:
        """For 1 ≤ t ≤ T: V_t = F_tᵀ V_{t-1} + u_t."""
        form, s = self._forward, self.script
        unfolded = s.rewrite(form.step(index(t)), self._letter)
        if isinstance(form.stacked, Tangent):
            done = self.eliminated(form.carried[0].name)
            return s.entail(s.chain(done, s.ring(s[done].right, s[unfolded].right), s.sym(unfolded)), self.range)
        rows = s.rewrite(form.stacked, self._letter)
        rows = s.then_rewrite(rows, self._now, self.range)
        unfolded = s.chain(unfolded, s.evaluate_blocks(s[unfolded].right))
        ours, theirs = s[rows].right, s[unfolded].right
        cells = {k: s.ring(a, theirs.args[k]) for k, a in enumerate(ours.args) if k and a != theirs.args[k]}
        matched = s.congruence(ours, cells) if cells else s.refl(ours)
        return s.entail(s.chain(rows, matched, s.sym(unfolded)), self.range)

    def _now(self, e: Matrix) -> Ref | None:
        return self.eliminated(e.of.family.name) if type(e) is Tangent and e.of.time == index(t) else None

    # The closed form.

    @cached_property
    def solution(self) -> Ref:
        """For 0 ≤ t ≤ T: V_t = Σ_{i=1}^{t} [Π F]ᵀ u_i (+ [Π F]ᵀ V_0), by induction upward from 0.

        Raises:
            Refused: the steps do not go through.
        """
        form, s = self._forward, self.script
        here, before = index(t), index(t) - 1
        start = substitute(form.stacked, {t: Index()})
        known = s.apply("assumption", (), substitute(form.stacked, {t: before}), form.solution(before))
        done = s.then_rewrite(self.step, {s[known].left: known}.get)
        jacobian, drive = s[done].right.args[0].args[0], s[done].right.args[1]
        sum_before = form.total(before)
        pulled = s.axiom("sum_left", jacobian, *sum_before.args)
        pulled = s.chain(pulled, s.congruence(s[pulled].right, {0: self._further(jacobian, sum_before)}))
        flat: list[Matrix] = [s[pulled].left, drive]
        parts = {0: pulled}
        if form.starts:
            first = form.solution(before).args[1]
            carried = self._longer(jacobian, Index(1), first)
            flat.append(s[carried].left)
            parts[2] = s.entail(carried, self.range)
        spread = s.then_ring(done, Plus(*flat))
        moved = s.chain(spread, s.congruence(Plus(*flat), parts))
        goal = s.refl(form.solution(here))
        total = form.total(here)
        split = s.axiom("sum_split", *total.args[:3], before, here)
        single = s.axiom("sum_first", *s[split].right.args[1].args)
        single = s.chain(single, s.congruence(s[single].right, {
            0: self._empty_run(s[single].right.args[0]), 1: s.axiom("sum_empty", *s[single].right.args[1].args)}))
        split = s.chain(split, s.congruence(s[split].right, {1: single}))
        goal = s.congruence(form.solution(here), {0: split}) if form.starts else split
        done = s.chain(moved, s.ring(s[moved].right, s[goal].right), s.sym(goal))
        return s.apply("induction_up", (self._base(start), s.entail(done, self.range)), Index(), LAST)

    def _base(self, start: Matrix) -> Ref:
        form, s = self._forward, self.script
        total = form.total(Index())
        empty = s.axiom("sum_empty", *total.args)
        if form.starts:
            goal = form.solution(Index())
            run = self._empty_run(goal.args[1])
            return s.sym(s.then_ring(s.congruence(goal, {0: empty, 1: run}), start))
        return s.chain(self._nothing_before(start), s.sym(empty))

    def _nothing_before(self, start: Matrix) -> Ref:
        """V_0 = 0, when no value before the first step is computed from parameters."""
        s = self.script
        unfolded = s.rewrite(start, self._letter)
        zero = s.then_rewrite(unfolded, lambda e: before(s, e))
        return zero if isinstance(start, Tangent) else s.chain(zero, s.axiom("block_zero", s[zero].right))

    def _further(self, jacobian: Matrix, total: Sum) -> Ref:
        """i ≤ t - 1 ⊢ F_tᵀ (run(i + 1, t - 1) u_i) = run(i + 1, t) u_i."""
        i = index(total.var)
        return self.script.entail(self._longer(jacobian, i + 1, total.body), (i - 1, index(t) - 1 - i))

    def _longer(self, jacobian: Matrix, lo: Index, word: Matrix) -> Ref:
        """The word F_tᵀ (run(lo, t - 1) c) with one more factor in its run."""
        form, s, here = self._forward, self.script, index(t)
        run, drive = word.args
        if form.constant:
            law = s.axiom("power_step", run.args[0], here - lo)
        else:
            product = run.args[0]
            one = s.axiom("product_first", product.body, product.var, here, here)
            empty = s.axiom("product_empty", *s[one].left.args[1].args[:3])
            one = s.chain(s.sym(s.then_ring(s.congruence(s[one].left, {1: empty}), s[one].left.args[0])), one)
            join = s.axiom("product_join", product.body, product.var, lo, here - 1, here)
            factors = Times(product, s[one].left)
            joined = s.chain(s.congruence(factors, {1: one}), join)
            turned = s.congruence(Transpose(factors), {0: joined})
            law = s.chain(s.ring(Times(jacobian, run), Transpose(factors)), turned)
        grouped = s.ring(Times(jacobian, word), Times(s[law].left, drive))
        return s.chain(grouped, s.congruence(s[grouped].right, {0: law}))

    def _empty_run(self, word: Matrix) -> Ref:
        """run(t + 1, t) u_t = u_t."""
        s, (run, drive) = self.script, word.args
        if type(run) is Power:
            law = s.axiom("power_zero", run.args[0])
        else:
            law = s.congruence(run, {0: s.axiom("product_empty", *run.args[0].args[:3])})
        return s.then_ring(s.congruence(word, {0: law}), drive)
