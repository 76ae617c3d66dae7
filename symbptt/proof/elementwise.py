"""Equality of sums of 1 × 1 words in which elementwise products with a matrix of rank one stand.

A ∘ (u vᵀ) becomes diag(u) A diag(v); where a diagonal meets a column, the two change places until they are in order:
diag(x) c = x ∘ c = c ∘ x = diag(c) x, and cᵀ diag(x) = xᵀ diag(c).
"""

from __future__ import annotations

from sympy import MatrixSymbol

from symbptt.expr.build import times, transpose
from symbptt.expr.nodes import (
    ONE,
    At,
    Derivative,
    Diagonal,
    Hadamard,
    LossGradient,
    Matrix,
    Ones,
    Times,
    Transpose,
)
from symbptt.expr.walk import visit
from symbptt.proof.pairing import Scalars
from symbptt.proof.script import Ref

LETTERS = (MatrixSymbol, At, Derivative, LossGradient, Ones)
"""Columns that may change places with a diagonal."""


class Elementwise:
    """The tactics, over those for 1 × 1 factors that commute."""

    def __init__(self, scalars: Scalars) -> None:
        self.scalars, self.script = scalars, scalars.script

    def equal(self, left: Matrix, right: Matrix) -> Ref:
        """⊢ left = right.

        Raises:
            Refused: the two are different sums of words.
        """
        if not any(_cut(part) for e in (left, right) for part in visit(e)):
            return self.scalars.equal(left, right)
        s, a, b = self.script, self.spread(left), self.spread(right)
        return s.chain(a, self.scalars.equal(s[a].right, s[b].right), s.sym(b))

    def spread(self, e: Matrix) -> Ref:
        """e without A ∘ (u vᵀ), and with the diagonals at the ends of its words in order."""
        s = self.script
        done = self.scalars.ordered_after(s.rewrite(e, self._outer))
        while True:
            turned = s.then_rewrite(done, self._end)
            if turned == done:
                return done
            done = self.scalars.ordered_after(turned)

    def _outer(self, e: Matrix) -> Ref | None:
        """A ∘ … ∘ B ∘ (u vᵀ) = diag(u) (A ∘ … ∘ B) diag(v)."""
        cut = _cut(e)
        if cut is None:
            return None
        s, factors, (u, v) = self.script, e.args[:-1], cut
        done = s.axiom("hadamard_nested", factors, e.args[-1:]) if len(factors) > 1 else s.refl(e)
        if len(factors) > 1:
            done = s.chain(done, s.congruence(s[done].right, {0: self._sorted(Hadamard(*factors))}))
        whole = s[done].right
        written = s.ring(e.args[-1], Times(u, Transpose(v)))
        same = s[written].left == s[written].right
        done = done if same else s.chain(done, s.congruence(whole, {1: written}))
        return s.chain(done, s.axiom("hadamard_outer", whole.args[0], u, v))

    def _sorted(self, e: Matrix) -> Ref:
        """An elementwise product with its factors in order."""
        s, done = self.script, self.script.refl(e)
        while True:
            factors = s[done].right.args
            place = next((k for k in range(len(factors) - 1) if str(factors[k]) > str(factors[k + 1])), None)
            if place is None:
                return done
            done = s.chain(done, self.exchanged(factors, place))

    def exchanged(self, factors: tuple[Matrix, ...], k: int) -> Ref:
        """… ∘ A ∘ B ∘ … = … ∘ B ∘ A ∘ …, for the factors k and k + 1."""
        s = self.script
        if len(factors) == 2:
            return s.axiom("hadamard_commutes", *factors)
        first, rest = (factors[:2], factors[2:]) if k == 0 else (factors[:1], factors[1:])
        grouped = s.axiom("hadamard_nested", first, rest)
        law = self.exchanged(first, 0) if k == 0 else self.exchanged(rest, k - 1)
        done = s.chain(grouped, s.congruence(s[grouped].right, {int(k > 0): law}))
        parts = (s[law].right.args, rest) if k == 0 else (first, s[law].right.args)
        return s.chain(done, s.sym(s.axiom("hadamard_nested", *parts)))

    def _end(self, e: Matrix) -> Ref | None:
        """The word e with a diagonal and a column exchanged, at a place where they are not in order."""
        for k in range(len(e.args) - 1) if type(e) is Times else ():
            first, second = e.args[k:k + 2]
            column = type(first) is Diagonal and second.shape[1] == ONE
            row = type(second) is Diagonal and type(first) is Transpose and first.shape[0] == ONE
            if not (column or row):
                continue
            x, c = (first.args[0], second) if column else (second.args[0], first.args[0])
            if type(x) is Times or (isinstance(x, LETTERS) and isinstance(c, LETTERS) and str(x) > str(c)):
                return self._inside(e, k, self._swapped(x, c) if column else self._turned(x, c))
        return None

    def _swapped(self, x: Matrix, c: Matrix) -> Ref:
        """The law diag(x) c = diag(c) x."""
        s = self.script
        return s.chain(s.sym(s.axiom("diagonal_times", x, c)), s.axiom("hadamard_commutes", x, c),
                       s.axiom("diagonal_times", c, x))

    def _turned(self, x: Matrix, c: Matrix) -> Ref:
        """The law cᵀ diag(x) = xᵀ diag(c)."""
        s, law = self.script, self._swapped(x, c)
        whole = Transpose(s[law].left)
        done = s.chain(s.ring(Times(Transpose(c), Diagonal(x)), whole), s.congruence(whole, {0: law}))
        return s.then_ring(done, Times(Transpose(x), Diagonal(c)))

    def _inside(self, word: Matrix, k: int, law: Ref) -> Ref:
        s = self.script
        if len(word.args) == 2:
            return law
        grouped = s.ring(word, Times(*word.args[:k], s[law].left, *word.args[k + 2:]))
        return s.chain(grouped, s.congruence(s[grouped].right, {k: law}))


def _cut(e: Matrix) -> tuple[Matrix, Matrix] | None:
    """The columns u and v of a product A ∘ … ∘ (u vᵀ) of matrices; None for any other expression."""
    product = type(e) is Hadamard and ONE not in e.shape and type(e.args[-1]) is Times
    factors = e.args[-1].args if product else ()
    place = next((k for k, a in enumerate(factors[:-1]) if a.shape[1] == ONE), None)
    return None if place is None else (times(*factors[:place + 1]), transpose(times(*factors[place + 1:])))
