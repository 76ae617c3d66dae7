"""Equality of sums of 1 × 1 words in which elementwise products of matrices stand.

Diagonals leave such a product, A ∘ (diag(u) M diag(v)) = diag(u) (A ∘ M) diag(v), and A ∘ (u vᵀ) = diag(u) A diag(v);
its factors stand in order. What is left are words of matrices, columns and diagonals, which `trees` decides.
"""

from __future__ import annotations

from symbptt.expr.build import times, transpose
from symbptt.expr.nodes import ONE, Apply, Diagonal, Hadamard, Matrix, Ones, Plus, Scale, Times, Transpose
from symbptt.expr.walk import visit
from symbptt.proof.axioms import Refused
from symbptt.proof.pairing import Scalars
from symbptt.proof.script import Ref, Script, expanded
from symbptt.proof.trees import Trees

ROUNDS, WORDS = 60, 400
"""How many rounds of rewriting a side may take, and how many words it may have then."""


def equal(scalars: Scalars, left: Matrix, right: Matrix) -> Ref:
    """⊢ left = right.

    Raises:
        Refused: the two are different sums of words, or the laws do not show that they are the same.
    """
    if not any(type(e) is Hadamard and ONE not in e.shape for side in (left, right) for e in visit(side)):
        return scalars.equal(left, right)
    try:
        return Elementwise(scalars.script).equal(left, right)
    except Refused:
        return Elementwise(scalars.script, linear=True).equal(left, right)


class Elementwise(Trees):
    """The tactics; `linear` says whether diagonals of sums and of elementwise products fall apart in the end."""

    def __init__(self, script: Script, linear: bool = False) -> None:
        super().__init__(script)
        self.linear = linear

    def ordered(self, e: Matrix) -> Ref:
        """e = the sum of its words as trees, without what can leave an elementwise product of matrices.

        Raises:
            Refused: the rounds do not end, or there are too many words.
        """
        s, done, tidied = self.script, self.script.refl(e), self._tidied
        for _ in range(ROUNDS):
            before = s[done].right
            done = s.then_rewrite(done, tidied)
            if s[done].right != before:
                continue
            done = s.then_ring(done, expanded(before))
            words = s[done].right.args if type(s[done].right) is Plus else ()
            if len(words) > WORDS:
                break
            if self.linear and tidied == self._tidied:
                tidied = self._apart
                continue
            more = super().ordered(s[done].right)
            done = done if s[more].left == s[more].right else s.chain(done, more)
            if s[done].right == before:
                return done
        raise Refused(f"rewriting {e} does not end within {ROUNDS} rounds and {WORDS} words")

    def _tidied(self, e: Matrix) -> Ref | None:
        """One step at a diagonal or an elementwise product of matrices, at their operands first."""
        if type(e) is not Diagonal and (type(e) is not Hadamard or ONE in e.shape):
            return None
        found = {k: ref for k, a in enumerate(e.args) if (ref := self._operand(a)) is not None}
        if found:
            return self.script.congruence(e, found)
        return self._diagonal(e) if type(e) is Diagonal else self._matrix(e)

    def _apart(self, e: Matrix) -> Ref | None:
        """One step at a diagonal or an elementwise product of columns."""
        s = self.script
        if type(e) is Hadamard:
            return self._column(e) if e.shape[1] == ONE else s.refl(e)
        if type(e) is not Diagonal:
            return s.refl(e) if type(e) is Apply else None
        x, inner = e.args[0], s.rewrite(e.args[0], self._apart)
        if s[inner].right == x and expanded(x) != x:
            inner = s.ring(x, expanded(x))
        if s[inner].right != x:
            return s.congruence(e, {0: inner})
        return s.axiom("diagonal_plus", *x.args) if type(x) is Plus else self._diagonal(e)

    def _operand(self, a: Matrix) -> Ref | None:
        """One step inside; or the operand as a word, sums of matrices left alone."""
        s = self.script
        inner = s.rewrite(a, self._tidied)
        if s[inner].right != a:
            return inner
        flat = expanded(a) if type(a) in (Times, Transpose) else a
        word = a.shape[1] == ONE or type(a) is Transpose or type(flat) is not Plus
        return s.ring(a, flat) if word and flat != a else None

    def _diagonal(self, e: Matrix) -> Ref | None:
        """The laws of diagonals of sums of products, multiples, ones and diagonals."""
        s, (x,) = self.script, e.args
        if type(x) is Plus and any(type(a) is Times for a in x.args):
            return s.axiom("diagonal_plus", *x.args)
        if type(x) is Scale:
            return s.axiom("diagonal_scale", *x.args)
        if type(x) is Ones:
            return s.axiom("diagonal_ones", x.shape[0])
        if type(x) is Times and type(x.args[0]) is Diagonal:
            a, b = x.args[0].args[0], times(*x.args[1:])
            inner = s.chain(s.ring(x, Times(x.args[0], b)), s.sym(s.axiom("diagonal_times", a, b)))
            return s.chain(s.congruence(e, {0: inner}), s.axiom("diagonal_product", a, b))
        return None

    def _column(self, e: Matrix) -> Ref:
        """a ∘ b ∘ … = diag(a) (b ∘ …)."""
        s, (first, *rest) = self.script, e.args
        if len(rest) == 1:
            return s.axiom("diagonal_times", first, *rest)
        return s.chain(s.axiom("hadamard_nested", (first,), tuple(rest)),
                       s.axiom("diagonal_times", first, Hadamard(*rest)))

    # Elementwise products of matrices.

    def _matrix(self, e: Matrix) -> Ref | None:
        """One step to a flat product in order, with diagonals, numbers and columns outside; None where none is left."""
        s, factors = self.script, e.args
        for k, a in enumerate(factors):
            others = (*factors[:k], *factors[k + 1:])
            if type(a) is Hadamard:
                return s.chain(self._behind(e, k), s.sym(s.axiom("hadamard_nested", others, a.args)))
            if (cut := _cut(a)) is not None:
                ends, done = Times(cut[0], Transpose(cut[1])), self._behind(e, k)
                if a != ends:
                    done = s.chain(done, s.congruence(s[done].right, {1: s.ring(a, ends)}))
                return s.chain(done, s.axiom("hadamard_outer", s[done].right.args[0], *cut))
            if (apart := _factored(a)) is not None:
                return self._lifted(self._behind(e, k), *apart)
        place = next((k for k in range(len(factors) - 1) if str(factors[k]) > str(factors[k + 1])), None)
        return None if place is None else exchanged(s, factors, place)

    def _behind(self, e: Matrix, k: int) -> Ref:
        """… ∘ A ∘ … = (… ∘ …) ∘ A, for the factor k."""
        s, done = self.script, self.script.refl(e)
        for place in range(k, len(e.args) - 1):
            done = s.chain(done, exchanged(s, s[done].right.args, place))
        factors = s[done].right.args
        return done if len(factors) == 2 else s.chain(done, s.axiom("hadamard_nested", factors[:-1], factors[-1:]))

    def _lifted(self, done: Ref, u: Matrix, m: Matrix, v: Matrix) -> Ref:
        """From e = A ∘ (diag(u) M diag(v)): e = diag(u) (A ∘ M) diag(v), by (A ∘ M) ∘ (u vᵀ)."""
        s, (a, b), ends = self.script, self.script[done].right.args, Times(u, Transpose(v))
        outer = s.axiom("hadamard_outer", m, u, v)
        inner = s.then_ring(s.then_rewrite(outer, self._unit), b)
        done = s.chain(done, s.congruence(s[done].right, {1: s.sym(inner)}),
                       s.sym(s.axiom("hadamard_nested", (a,), (m, ends))),
                       s.axiom("hadamard_nested", (a, m), (ends,)), s.axiom("hadamard_outer", Hadamard(a, m), u, v))
        done = s.then_rewrite(done, self._unit)
        return s.then_ring(done, expanded(s[done].right))

    def _unit(self, e: Matrix) -> Ref | None:
        """The laws diag(1) = I and diag(c 1) = c I."""
        s = self.script
        if e == Diagonal(Ones(e.shape[0], ONE)):
            return s.axiom("diagonal_ones", e.shape[0])
        if type(e) is Diagonal and type(e.args[0]) is Scale and type(e.args[0].args[1]) is Ones:
            law = s.axiom("diagonal_scale", *e.args[0].args)
            return s.chain(law, s.congruence(s[law].right, {1: s.axiom("diagonal_ones", e.shape[0])}))
        return None


def exchanged(s: Script, factors: tuple[Matrix, ...], k: int) -> Ref:
    """… ∘ A ∘ B ∘ … = … ∘ B ∘ A ∘ …, for the factors k and k + 1."""
    if len(factors) == 2:
        return s.axiom("hadamard_commutes", *factors)
    first, rest = (factors[:2], factors[2:]) if k == 0 else (factors[:1], factors[1:])
    grouped = s.axiom("hadamard_nested", first, rest)
    law = exchanged(s, first, 0) if k == 0 else exchanged(s, rest, k - 1)
    done = s.chain(grouped, s.congruence(s[grouped].right, {int(k > 0): law}))
    parts = (s[law].right.args, rest) if k == 0 else (first, s[law].right.args)
    return s.chain(done, s.sym(s.axiom("hadamard_nested", *parts)))


def _cut(e: Matrix) -> tuple[Matrix, Matrix] | None:
    """The columns u and v of a matrix u vᵀ; None for any other expression."""
    factors = e.args if type(e) is Times else ()
    place = next((k for k, a in enumerate(factors[:-1]) if a.shape[1] == ONE), None)
    return None if place is None else (times(*factors[:place + 1]), transpose(times(*factors[place + 1:])))


def _factored(e: Matrix) -> tuple[Matrix, Matrix, Matrix] | None:
    """The u, M and v of diag(u) M diag(v), of which one diagonal may be a number or missing; None for any other."""
    ones = [Ones(n, ONE) for n in e.shape]
    if type(e) is Scale:
        return Scale(e.args[0], ones[0]), e.args[1], ones[1]
    if type(e) is Times and type(e.args[0]) is Diagonal:
        return e.args[0].args[0], times(*e.args[1:]), ones[1]
    if type(e) is Times and type(e.args[-1]) is Diagonal:
        return ones[0], times(*e.args[:-1]), e.args[-1].args[0]
    return None
