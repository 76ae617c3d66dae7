"""Binders: re-indexing by the least letter of a word, and the order of nested sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import NamedTuple

from symbptt.expr.facts import Facts, SideCondition
from symbptt.expr.index import Index, IndexVar
from symbptt.expr.letters import FIXED, Binding, Word, word_anchors


class Shift(NamedTuple):
    """The new index n' = sign · n + rest."""

    sign: int
    rest: Index

    def old(self, var: IndexVar) -> Index:
        """The old index in terms of the new one, which takes its name."""
        return var - self.rest if self.sign > 0 else self.rest - var

    def bounds(self, lo: Index, hi: Index) -> tuple[Index, Index]:
        """The range of the new index."""
        return (lo + self.rest, hi + self.rest) if self.sign > 0 else (self.rest - hi, self.rest - lo)


STAY = Shift(1, Index(0))


def shifts(word: Word, var: IndexVar, inner: frozenset[IndexVar] = frozenset()) -> list[Shift]:
    """The re-indexings that put a letter, the least by (kind, name) and never by position, at the index.

    Indices bound further inside cannot take part in the shift and stay in the letter.
    """
    found = [(key, form, bound | inner) for key, form, bound in word_anchors(word)
             if abs(form.coefficient(var)) == 1 and var not in bound]
    least = min((key for key, _, _ in found), default=FIXED)
    if least == FIXED:
        return [STAY]
    options: dict[Shift, None] = {}
    for key, form, hidden in found:
        if key == least:
            rest = Index(form.const, ((v, a) for v, a in form.terms if v != var and v not in hidden))
            options[Shift(form.coefficient(var), rest)] = None
    return list(options)


def orders(keys: Sequence[tuple[int, str]]) -> Iterator[tuple[int, ...]]:
    """The orders in which the keys ascend."""
    groups = [[at for at, k in enumerate(keys) if k == key] for key in sorted(set(keys))]
    for choice in product(*map(permutations, groups)):
        yield tuple(at for group in choice for at in group)


def reordered(binders: list[Binding], order: tuple[int, ...], facts: Facts) -> list[Binding]:
    """The binders in another order, neighbours exchanged one pair at a time."""
    places, done = list(order), list(binders)
    current = list(range(len(done)))
    for at, wanted in enumerate(places):
        for k in range(current.index(wanted), at, -1):
            outer = facts
            for b in done[:k - 1]:
                outer = outer.within(*b)
            done[k - 1], done[k] = _exchanged(done[k - 1], done[k], outer)
            current[k - 1], current[k] = current[k], current[k - 1]
    return done


def _exchanged(outer: Binding, inner: Binding, facts: Facts) -> tuple[Binding, Binding]:
    """Σ_x Σ_y over lo ≤ x ≤ hi, lo' ≤ y ≤ hi' as Σ_y Σ_x over the same pairs; exact on difference bounds."""
    x, y = outer.var, inner.var
    bounds = [x - outer.lo, outer.hi - x, y - inner.lo, inner.hi - y]
    if any(abs(f.coefficient(x)) > 1 for f in bounds):
        raise SideCondition(f"that the sums over {x} and {y} can be exchanged", facts.hypotheses)
    below = [x - f for f in bounds if f.coefficient(x) == 1]
    above = [x + f for f in bounds if f.coefficient(x) == -1]
    alone = [f for f in bounds if f.coefficient(x) == 0] + [u - v for u in above for v in below]
    first = Binding(y, _tightest([y - f for f in alone if f.coefficient(y) == 1], 1, facts),
                    _tightest([y + f for f in alone if f.coefficient(y) == -1], -1, facts))
    facts = facts.within(*first)
    return first, Binding(x, _tightest(below, 1, facts), _tightest(above, -1, facts))


def _tightest(bounds: list[Index], sign: int, facts: Facts) -> Index:
    """The greatest lower (sign 1) or least upper (sign -1) bound."""
    for f in bounds:
        if all(facts.prove(f - g if sign > 0 else g - f) for g in bounds):
            return f
    listed = ", ".join(map(str, bounds))
    raise SideCondition(f"which of {listed} is {'greatest' if sign > 0 else 'least'}", facts.hypotheses)
