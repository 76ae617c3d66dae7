"""A script of kernel steps under construction, and the tactics that write several steps at once.

Every step is run by the kernel as it is written, so the right-hand side reached so far is always at hand; what counts
is that `check` replays the finished proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.build import plus, scale, times
from symbptt.expr.index import Index, IndexVar
from symbptt.expr.nodes import At, Binder, Block, Identity, Matrix, Plus, Power, Scale, Sum, Times, Transpose, Zero
from symbptt.proof.axioms import Refused
from symbptt.proof.kernel import INFERENCE, OPERATIONS, admit
from symbptt.proof.kernel import words as ring_words
from symbptt.proof.statement import Definition, Proof, Step, Theorem

Ref: TypeAlias = int
"""The number of a step."""


class Script:
    """Steps over some definitions. Methods named as rules write one step and give its number."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self.definitions = tuple(definitions)
        self._context = admit(self.definitions)
        self._steps: list[Step] = []
        self._theorems: list[Theorem] = []
        self._known: dict[Step, Ref] = {}

    def __getitem__(self, ref: Ref) -> Theorem:
        return self._theorems[ref]

    def apply(self, rule: str, premises: Iterable[Ref] = (), *args: object) -> Ref:
        """Write the step unless it stands already.

        Raises:
            Refused: the kernel does not accept it.
        """
        step = Step(rule, tuple(premises), args)
        if step not in self._known:
            theorem = INFERENCE[rule](self._context, [self._theorems[k] for k in step.premises], *args)
            self._known[step] = len(self._steps)
            self._steps.append(step)
            self._theorems.append(theorem)
        return self._known[step]

    def proof(self, ref: Ref) -> Proof:
        """The proof of step `ref`: the steps that it needs, renumbered, with all definitions."""
        needed, stack = set[Ref](), [ref]
        while stack:
            k = stack.pop()
            if k not in needed:
                needed.add(k)
                stack.extend(self._steps[k].premises)
        number = {old: new for new, old in enumerate(sorted(needed))}
        steps = (Step(s.rule, tuple(number[k] for k in s.premises), s.args)
                 for s in (self._steps[k] for k in sorted(needed)))
        return Proof(self.definitions, tuple(steps), self._theorems[ref])

    # One step each.

    def refl(self, e: Matrix) -> Ref:
        """⊢ e = e."""
        return self.apply("reflexivity", (), e)

    def sym(self, ref: Ref) -> Ref:
        """From a = b: b = a."""
        return self.apply("symmetry", (ref,))

    def chain(self, *refs: Ref) -> Ref:
        """From a = b, b = c, …: a = z."""
        return refs[0] if len(refs) == 1 else self.apply("transitivity", refs)

    def ring(self, left: Matrix, right: Matrix) -> Ref:
        """⊢ left = right by the ring laws."""
        return self.refl(left) if left == right else self.apply("ring", (), left, right)

    def axiom(self, name: str, *args: object) -> Ref:
        """An instance of an axiom."""
        return self.apply("axiom", (), name, *args)

    def entail(self, ref: Ref, hypotheses: Iterable[Index]) -> Ref:
        """The same under other hypotheses that imply the old ones."""
        wanted = tuple(hypotheses)
        return ref if self[ref].hypotheses <= set(wanted) else self.apply("entailment", (ref,), *wanted)

    def instance(self, ref: Ref, rule: Mapping[IndexVar, Index]) -> Ref:
        """The theorem with forms for index variables."""
        return self.apply("instance", (ref,), *rule.items())

    def congruence(self, e: Matrix, parts: Mapping[int, Ref]) -> Ref:
        """f(a) = f(b) from a = b at the positions given."""
        return self.apply("congruence", parts.values(), e, tuple(parts))

    # Tactics.

    def then_ring(self, ref: Ref, right: Matrix) -> Ref:
        """From a = b: a = right, when b = right by the ring laws."""
        return ref if self[ref].right == right else self.chain(ref, self.ring(self[ref].right, right))

    def rewrite(self, e: Matrix, find: Callable[[Matrix], Ref | None], under: tuple[Index, ...] = ()) -> Ref:
        """e = e' with every outermost subexpression that `find` knows replaced; `under` may be used."""
        found = self._rewritten(e, find, under)
        return self.refl(e) if found is None else found

    def _rewritten(self, e: Matrix, find: Callable[[Matrix], Ref | None], under: tuple[Index, ...]) -> Ref | None:
        found = find(e)
        if found is not None:
            return self.entail(found, under) if self[found].hypotheses else found
        if not isinstance(e, OPERATIONS):
            return None
        inside = (*under, *e.range) if isinstance(e, Binder) else under
        below = ((k, self._rewritten(a, find, inside)) for k, a in enumerate(e.args) if isinstance(a, MatrixExpr))
        changed = {k: ref for k, ref in below if ref is not None}
        return self.congruence(e, changed) if changed else None

    def then_rewrite(self, ref: Ref, find: Callable[[Matrix], Ref | None], under: tuple[Index, ...] = ()) -> Ref:
        """From a = b: a = b' with b rewritten."""
        more = self._rewritten(self[ref].right, find, under)
        return ref if more is None else self.chain(ref, more)

    def unfold(self, e: Matrix, letters: Iterable[Definition]) -> Ref | None:
        """The definition of e, when it is one of these letters."""
        for letter in letters:
            if type(e) is At and type(letter.left) is At and e.family == letter.left.family:
                return self.apply("definition", (), letter.name, e.time)
            if e == letter.left:
                return self.apply("definition", (), letter.name)
        return None

    def evaluate_blocks(self, e: Matrix) -> Ref:
        """e = one block matrix, for sums and products of block matrices.

        Raises:
            Refused: it is something else.
        """
        if type(e) is Block:
            return self.refl(e)
        if type(e) is Transpose:
            turned = self.axiom("block_transpose", e.args[0])
            return self.chain(turned, self.tidy_cells(self[turned].right))
        if type(e) not in (Plus, Times):
            raise Refused(f"{e} is no sum or product of block matrices")
        parts = {k: self.evaluate_blocks(a) for k, a in enumerate(e.args)}
        done = self.congruence(e, parts)
        cells: list[Matrix] = list(self[done].right.args)
        law = "block_times" if type(e) is Times else "block_plus"
        while len(cells) > 1:
            here = type(e)(*cells)
            pair = self.chain(self.axiom(law, *cells[-2:]), self.tidy_cells(self[self.axiom(law, *cells[-2:])].right))
            if len(cells) > 2:
                grouped = self.ring(here, type(e)(*cells[:-2], type(e)(*cells[-2:])))
                outer = self[grouped].right
                done = self.chain(done, grouped, self.congruence(outer, {len(cells) - 2: pair}))
            else:
                done = self.chain(done, pair)
            cells[-2:] = [self[pair].right]
        return done

    def tidy_cells(self, e: Block) -> Ref:
        """A block matrix with each cell as a sum of words."""
        changed = {k: self.ring(a, expanded(a)) for k, a in enumerate(e.args) if k and a != expanded(a)}
        return self.congruence(e, changed) if changed else self.refl(e)

    def zero_sum(self, whole: Sum, body: Ref) -> Ref:
        """From a body that is zero in its range: Σ = 0, as (Σ I) 0."""
        unit, zero = Identity(whole.shape[0]), Zero(*whole.shape)
        inside = self.congruence(whole, {0: self.then_ring(body, Times(unit, zero))})
        out = self.axiom("sum_right", unit, *whole.args[1:], zero)
        return self.then_ring(self.chain(inside, self.sym(out)), zero)

    def pull_sums(self, e: Matrix) -> Ref:
        """e as a sum of words in which no sum stands inside a product: A (Σ B_i) C = Σ A B_i C."""
        flat = self.ring(e, expanded(e))
        whole = self[flat].right
        if type(whole) is Sum:
            inner = self.pull_sums(whole.body)
            return self.chain(flat, self._inside(whole, inner))
        summands = whole.args if type(whole) is Plus else (whole,)
        parts = {k: self._pull_word(a) for k, a in enumerate(summands)}
        parts = {k: ref for k, ref in parts.items() if self[ref].left != self[ref].right}
        if not parts:
            return flat
        return self.chain(flat, self.congruence(whole, parts) if type(whole) is Plus else parts[0])

    def _inside(self, whole: Binder, inner: Ref) -> Ref:
        same = self[inner].left == self[inner].right
        return self.refl(whole) if same else self.congruence(whole, {0: inner})

    def _pull_word(self, word: Matrix) -> Ref:
        if type(word) is Sum:
            return self._inside(word, self.pull_sums(word.body))
        turned = self.rewrite(word, self._turned_sum) if type(word) in (Times, Transpose) else self.refl(word)
        if self[turned].right != word:
            return self.chain(turned, self._pull_word(self[turned].right))
        if type(word) is Scale:
            inner = self._pull_word(word.args[1])
            same = self[inner].left == self[inner].right
            return self.refl(word) if same else self.congruence(word, {1: inner})
        place = next((k for k, a in enumerate(word.args) if type(a) is Sum), None) if type(word) is Times else None
        if place is None:
            return self.refl(word)
        before, s, after = word.args[:place], word.args[place], word.args[place + 1:]
        done = self.refl(word)
        if before:
            left = times(*before)
            rest = [Times(left, s), *after]
            grouped = self.ring(word, Times(*rest) if after else rest[0])
            law = self.axiom("sum_left", left, *s.args)
            done = self.chain(done, grouped, self.congruence(self[grouped].right, {0: law}) if after else law)
            s = self[law].right
        if after:
            right = times(*after)
            grouped = self.ring(self[done].right, Times(s, right))
            done = self.chain(done, grouped, self.axiom("sum_right", *s.args, right))
            s = self[done].right
        return self.chain(done, self._inside(s, self.pull_sums(s.body)))

    def _turned_sum(self, e: Matrix) -> Ref | None:
        """The law (Σ A_i)ᵀ = Σ A_iᵀ."""
        return self.axiom("sum_transpose", *e.args[0].args) if type(e) is Transpose and type(e.args[0]) is Sum else None

    def absorbed(self, word: Matrix) -> Ref | None:
        """n ≥ 0 ⊢ … A Aⁿ … = … Aⁿ⁺¹ …, when a word has such neighbours."""
        factors = word.args if type(word) is Times else ()
        for k, (a, b) in enumerate(pairwise(factors)):
            if type(b) is Power and b.args[0] == a:
                law = self.axiom("power_step", *b.args)
                if len(factors) == 2:
                    return law
                grouped = self.ring(word, Times(*factors[:k], self[law].left, *factors[k + 2:]))
                return self.chain(grouped, self.congruence(self[grouped].right, {k: law}))
        return None


def expanded(e: Matrix) -> Matrix:
    """The flat sum of flat words that equals e by the ring laws, in the order of first occurrence."""
    found = ((word, c.expand()) for word, c in ring_words(e).items())
    return plus((scale(c, times(*word) if word else Identity(e.shape[0])) for word, c in found), like=e)
