"""The prover: from a solved recurrence to kernel proofs. It may fail; what it returns has been replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from symbptt.bptt.backward import NEVER, Template
from symbptt.bptt.closed import ClosedForm, eliminate, terminal
from symbptt.expr.build import plus, times
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import ONE as UNIT
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Derivative,
    Direct,
    Identity,
    Matrix,
    Ones,
    Plus,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.sums import SideCondition, equal
from symbptt.expr.walk import substitute
from symbptt.proof.account import ProvedStatement
from symbptt.proof.axioms import Refused
from symbptt.proof.defining import ONE, definitions
from symbptt.proof.kernel import check
from symbptt.proof.script import Ref, Script, expanded
from symbptt.proof.statement import Definition


class Prover:
    """Proofs for one model, with a symbolic last step T or a given one."""

    def __init__(self, template: Template, closed: ClosedForm | None, last: Index | None = None,
                 more: Iterable[Definition] = (), script: Script | None = None) -> None:
        self.template, self.closed = template, closed
        self.last = index(T) if last is None else last
        self.script = script or Script((*definitions(template, closed, self.last), *more))
        self.positive = index(t) - 1
        self.range = (self.positive, self.last - t)
        self._everywhere: dict[str, Ref] = {}
        self._eliminated: dict[str, Ref] = {}

    def proved(self, key: str, ref: Ref) -> ProvedStatement:
        """The theorem of a step, after its proof has been replayed."""
        proof = self.script.proof(ref)
        return ProvedStatement(key, check(proof), proof)

    # The recurrence of the stacked adjoints.

    def recursion(self, name: str) -> Ref:
        """The recursion of ∂L/∂v_t for 1 ≤ t ≤ T."""
        return self.script.apply("definition", (), str(Adjoint(At(self.template.model.families[name], t))), index(t))

    def vanish(self, at: Derivative) -> Ref:
        """s ≥ T + 1 ⊢ ∂L/∂v_s = 0."""
        pattern = type(at)(At(at.of.family, t))
        return self.script.apply("beyond", (), str(pattern), at.of.time)

    def everywhere(self, name: str) -> Ref:
        """The recursion of ∂L/∂v_t for every t ≥ 1: past T both sides vanish."""
        if name not in self._everywhere:
            s = self.script
            inside = self.recursion(name)
            past = index(t) - self.last - 1
            right = s[inside].right
            zeros = s.rewrite(right, lambda e: self.vanish(e) if isinstance(e, Derivative) else None,
                              (self.positive, past))
            gone = s.then_ring(zeros, Zero(*right.shape))
            outside = s.chain(self.vanish(s[inside].left), s.sym(gone))
            self._everywhere[name] = s.apply("cases", (s.entail(inside, self.range),
                                                       s.entail(outside, (self.positive, past))), self.range[1])
        return self._everywhere[name]

    def eliminated(self, name: str) -> Ref:
        """For t ≥ 1: ∂L/∂v_t = Σ J · gradient over carried adjoints and what the losses send."""
        if name not in self._eliminated:
            s, template = self.script, self.template
            edges = [e for e in template.families[name] if template.wait(e) < NEVER]
            values = [substitute(e.value, {T: self.last}) for e in edges]
            whole = self.everywhere(name)
            parts = {k: self._edge(e.through, value) for k, (e, value) in enumerate(zip(edges, values, strict=True))}
            spread = values[0] if len(values) == 1 else Plus(*values)
            done = s.then_ring(whole, spread)
            done = s.chain(done, parts[0] if len(values) == 1 else s.congruence(spread, parts))
            linear = eliminate(template, name)
            tidy = plus([times(j, g) for g, j in linear.items()], like=spread)
            self._eliminated[name] = s.then_ring(done, substitute(tidy, {T: self.last}))
        return self._eliminated[name]

    def _edge(self, through: At | None, value: Matrix) -> Ref:
        """One contribution with its consumer's adjoint eliminated, when that is neither carried nor sent by a loss."""
        s, template = self.script, self.template
        if through is None:
            return s.refl(value)
        straight = self.straight(value, Adjoint(through))
        name = through.family.name
        if terminal(template, name) or through.family in template.model.carried:
            return straight
        moved = s.instance(self.eliminated(name), {t: through.time})
        return s.then_rewrite(straight, {Adjoint(through): moved}.get, (self.positive,))

    def straight(self, value: Matrix, gradient: Derivative) -> Ref:
        """value with the gradient at the right end of every word: g s = (s I) g, gᵀ v = vᵀ g."""
        s = self.script
        done = s.ring(value, expanded(value))
        if type(s[done].right) is Zero:
            return done
        summands = s[done].right.args if type(s[done].right) is Plus else (s[done].right,)
        parts = {k: self._straight_word(a, gradient) for k, a in enumerate(summands)}
        parts = {k: ref for k, ref in parts.items() if s[ref].left != s[ref].right}
        if not parts:
            return done
        return s.chain(done, s.congruence(s[done].right, parts) if len(summands) > 1 else parts[0])

    def _straight_word(self, word: Matrix, gradient: Derivative) -> Ref:
        s = self.script
        if type(word) is Scale:
            inner = self._straight_word(word.args[1], gradient)
            return s.congruence(word, {1: inner}) if s[inner].left != s[inner].right else s.refl(word)
        factors = word.args if type(word) is Times else (word,)
        place = next(k for k, a in enumerate(factors) if a in (gradient, Transpose(gradient)))
        before, after = factors[:place], factors[place + 1:]
        if factors[place] == gradient and not after:
            return s.refl(word)
        if factors[place] == gradient:
            law = s.axiom("scalar_multiple", gradient, times(*after))
        else:
            inside = Times(factors[place], *after) if after else factors[place]
            law = s.sym(s.axiom("scalar_transpose", inside))
        grouped = s.ring(word, Times(*before, s[law].left) if before else s[law].left)
        if not before:
            return s.chain(grouped, law)
        return s.chain(grouped, s.congruence(s[grouped].right, {len(before): law}))

    @cached_property
    def step(self) -> Ref:
        """For 1 ≤ t ≤ T: G_t = transition · G_{t+1} + drive."""
        closed, s = self.recurrence, self.script
        goal = closed.step(index(t))
        if isinstance(closed.stacked, Adjoint):
            done = self.eliminated(closed.carried[0].name)
            unfolded = s.rewrite(goal, self.letter)
            return s.entail(s.chain(done, s.ring(s[done].right, s[unfolded].right), s.sym(unfolded)), self.range)
        rows = s.rewrite(closed.stacked, self.letter)
        for _ in closed.carried:
            rows = s.then_rewrite(rows, self._same_time, (self.positive,))
        unfolded = s.rewrite(goal, self.letter)
        unfolded = s.chain(unfolded, s.evaluate_blocks(s[unfolded].right))
        ours, theirs = s[rows].right, s[unfolded].right
        cells = {k: s.ring(a, theirs.args[k]) for k, a in enumerate(ours.args) if k and a != theirs.args[k]}
        matched = s.congruence(ours, cells) if cells else s.refl(ours)
        return s.entail(s.chain(rows, matched, s.sym(unfolded)), self.range)

    @property
    def recurrence(self) -> ClosedForm:
        if self.closed is None:
            raise ValueError("the model has no recurrence")
        return self.closed

    def letter(self, e: Matrix) -> Ref | None:
        """The unfolding of an abbreviation."""
        return self.script.unfold(e, self.recurrence.letters)

    def _same_time(self, e: Matrix) -> Ref | None:
        carried = type(e) is Adjoint and type(e.of) is At and e.of.family in self.recurrence.carried
        return self.eliminated(e.of.family.name) if carried and e.of.time == index(t) else None

    # The closed form.

    def decided(self) -> bool:
        """Whether the closed form solves the recurrence, by the normal form of words and running sums; no proof.

        Raises:
            SideCondition: the normal form cannot bring the sums together.
        """
        closed, start = self.recurrence, index(t)
        ahead = closed.solution(start + 1, self.last)
        step = Plus(Times(substitute(closed.transition, {t: start + 1}), ahead), closed.drive)
        return equal(step, closed.solution(start, self.last), self.range)

    @cached_property
    def solution(self) -> Ref:
        """For 1 ≤ t ≤ T + 1: G_t = Σ_{i=t}^{T} word(t, i), by induction downward from T + 1.

        Raises:
            Refused: the steps do not go through; the message says what the normal form makes of the equation.
        """
        try:
            return self._induction()
        except Refused as error:
            raise Refused(f"{error}; by the normal form {self._verdict()}") from error

    def _verdict(self) -> str:
        try:
            return "the equation holds, its steps were not found" if self.decided() else "the equation does not hold"
        except SideCondition as condition:
            return f"it is undecided: {condition}"

    def _induction(self) -> Ref:
        closed, s, last = self.recurrence, self.script, self.last
        start, ahead = index(t), index(t) + 1
        known = s.apply("assumption", (), substitute(closed.stacked, {t: ahead}), closed.solution(ahead, last))
        done = s.then_rewrite(self.step, {s[known].left: known}.get)
        total = closed.solution(ahead, last)
        transition = substitute(closed.transition, {t: ahead})
        pulled = s.axiom("sum_left", transition, *total.args)
        pulled = s.chain(pulled, s.congruence(s[pulled].right, {0: self._absorbed(transition, total)}))
        done = s.chain(done, s.congruence(s[done].right, {0: pulled}))
        goal = closed.solution(start, last)
        opened = s.axiom("sum_first", *goal.args)
        opened = s.chain(opened, s.congruence(s[opened].right, {0: self._empty_run(s[opened].right.args[0])}))
        done = s.chain(done, s.ring(s[done].right, s[opened].right), s.sym(opened))
        empty = s.axiom("sum_empty", *closed.solution(last + 1, last).args)
        base = s.chain(self.stacked_vanishes(last + 1), s.sym(empty))
        return s.apply("induction_down", (base, s.entail(done, self.range)), ONE, last + 1)

    def _absorbed(self, transition: Matrix, total: Sum) -> Ref:
        """lo ≤ i ⊢ M (run(lo + 1, i) c_i) = run(lo, i) c_i."""
        closed, s = self.recurrence, self.script
        if closed.trivial:
            return s.ring(Times(transition, total.body), total.body)
        i = index(total.var)
        law = s.axiom("power_step", closed.transition, i - total.lo) if closed.constant \
            else s.axiom("product_first", *closed.run(total.lo, i).args)
        drive = total.body.args[1]
        grouped = s.ring(Times(transition, total.body), Times(s[law].left, drive))
        return s.chain(grouped, s.entail(s.congruence(s[grouped].right, {0: law}), (i - total.lo,)))

    def _empty_run(self, word: Matrix) -> Ref:
        """run(t + 1, t) c_t = c_t."""
        closed, s = self.recurrence, self.script
        if closed.trivial:
            return s.refl(word)
        run, drive = word.args
        law = s.axiom("power_zero", closed.transition) if closed.constant else s.axiom("product_empty", *run.args[:3])
        return s.then_ring(s.congruence(word, {0: law}), drive)

    def stacked_vanishes(self, at: Index) -> Ref:
        """s ≥ T + 1 ⊢ G_s = 0, for a given form s."""
        closed, s = self.recurrence, self.script
        here = substitute(closed.stacked, {t: at})
        if isinstance(here, Adjoint):
            return self.vanish(here)
        done = s.rewrite(here, self.letter)
        done = s.then_rewrite(done, lambda e: self.vanish(e) if isinstance(e, Derivative) else None,
                              (at - self.last - 1,))
        return s.chain(done, s.axiom("block_zero", s[done].right))

    def nothing(self, words: Sum, find: Callable[[Matrix], Ref | None], under: tuple[Index, ...]) -> Ref:
        """Σ_i word(t, i) = 0 over a range of i, when `find` knows under these bounds that what losses send is zero."""
        s, word = self.script, words.body
        drive = word if self.recurrence.trivial else word.args[-1]
        done = s.then_rewrite(s.rewrite(drive, self.letter), find, under)
        if isinstance(self.recurrence.stacked, Adjoint):
            done = s.then_ring(done, Zero(*drive.shape))
        else:
            done = s.chain(done, s.evaluate_blocks(s[done].right))
            done = s.chain(done, s.tidy_cells(s[done].right))
            done = s.chain(done, s.axiom("block_zero", s[done].right))
        return s.zero_sum(words, done if drive is word else s.congruence(word, {len(word.args) - 1: done}))

    @cached_property
    def solution_everywhere(self) -> Ref:
        """The closed form for every t ≥ 1: past T + 1 the sum is empty."""
        closed, s = self.recurrence, self.script
        inside = self.last + 1 - t
        past = index(t) - self.last - 2
        goal = closed.solution(index(t), self.last)
        empty = s.chain(self.stacked_vanishes(index(t)), s.sym(s.axiom("sum_empty", *goal.args)))
        return s.apply("cases", (s.entail(self.solution, (self.positive, inside)),
                                 s.entail(empty, (self.positive, past))), inside)

    def from_the_end(self) -> Ref:
        """The closed form with the index running from the end: Σ_{i=t}^{T} word(t, T + t - i)."""
        goal = self.recurrence.solution(index(t), self.last)
        return self.script.chain(self.solution, self.script.axiom("sum_reflect", *goal.args))

    def total(self, name: str) -> Ref:
        """For t ≥ 1: ∂L/∂v_t in closed form."""
        return self.inserted(name, lambda: self.solution_everywhere, self.in_closed_form, (self.positive,))

    def inserted(self, name: str, solved: Callable[[], Ref], find: Callable[[Matrix], Ref | None],
                 under: tuple[Index, ...]) -> Ref:
        """∂L/∂v_t with what is known of G_t put in; for a family that is not carried, `find` knows the carried ones."""
        closed, s = self.closed, self.script
        if closed is None or name not in closed.select:
            return s.then_rewrite(self.eliminated(name), find, under)
        row = closed.select[name]
        if row is None:
            return solved()
        return s.chain(self.selected(name), s.congruence(Times(row, closed.stacked), {1: solved()}))

    def selected(self, name: str) -> Ref:
        """∂L/∂v_t = P G_t."""
        s, row = self.script, self.recurrence.select[name]
        opened = s.rewrite(Times(row, self.recurrence.stacked), self.letter)
        cell = s.evaluate_blocks(s[opened].right)
        return s.sym(s.chain(opened, cell, s.axiom("block_single", Adjoint(At(self.template.model.families[name], t)))))

    def gradient(self, left: Adjoint) -> Ref:
        """The gradient of a parameter, an input or an initial state, with every carried adjoint in closed form."""
        s = self.script
        timed = isinstance(left.of, At) and bool(left.of.time.terms)
        under = self.range if timed else ()
        done = s.apply("definition", (), str(left), *((left.of.time,) if timed else ()))
        done = s.then_rewrite(done, self.in_closed_form, under)
        done = s.chain(done, s.pull_sums(s[done].right))
        return s.then_rewrite(done, s.absorbed, under)

    def in_closed_form(self, e: Matrix) -> Ref | None:
        """Any adjoint but those at which the paths end, in closed form."""
        if type(e) is not Adjoint or type(e.of) is not At or terminal(self.template, e.of.family.name):
            return None
        if not e.of.time.terms and e.of.time.const < 1:
            return self.gradient(e)
        return self.script.instance(self.total(e.of.family.name), {t: e.of.time})

    def assumed(self, name: str) -> Ref:
        """What a loss sends to ∂L/∂o_t, or to ∂⁺L/∂o_t where o is read again, when 1ᵀy_t = 1."""
        s, member = self.script, At(self.template.model.families[name], t)
        left = Direct(member) if name in self.template.direct else Adjoint(member)
        targets = {At(y, t) for term in self.template.model.losses for y in term.assume}

        def find(e: Matrix) -> Ref | None:
            for k in range(1, len(e.args)) if type(e) is Times else ():
                if e.args[k] in targets and e.args[k - 1] == Transpose(Ones(*e.args[k].shape)):
                    before, after = e.args[:k - 1], e.args[k + 1:]
                    one = s.apply("assumption", (), Times(*e.args[k - 1:k + 1]), Identity(UNIT))
                    grouped = s.ring(e, Times(*before, s[one].left, *after))
                    done = s.chain(grouped, s.congruence(s[grouped].right, {k - 1: one}))
                    return s.then_ring(done, times(*before, *after))
            return None

        return s.then_rewrite(s.apply("definition", (), str(left), index(t)), find)
