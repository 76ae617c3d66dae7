"""What is known: hypotheses on indices, the inequalities that follow, and where families vanish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from math import gcd
from typing import TypeAlias

from sympy import Expr

from symbptt.expr.index import Index, IndexVar, index, nonnegative
from symbptt.expr.letters import UNIT, Leaf, Letter, Run, Running, Word, variables
from symbptt.expr.walk import fresh

Normal: TypeAlias = dict[Word, Expr]
Last: TypeAlias = Callable[[Leaf], Index | None]
Settle: TypeAlias = "Callable[[Word, Facts], Normal]"


class SideCondition(Exception):
    """An inequality on which a rule depends does not follow from the hypotheses."""

    def __init__(self, claim: str, hypotheses: Iterable[Index]) -> None:
        self.claim, self.hypotheses = claim, tuple(hypotheses)
        facts = ", ".join(f"{h} >= 0" for h in self.hypotheses)
        super().__init__(f"cannot prove {claim} from {facts or 'nothing'}")

    def named(self, names: Mapping[IndexVar, IndexVar]) -> SideCondition:
        """The same with other names of indices."""
        claim = self.claim
        for old in sorted(names, key=lambda var: len(var.name), reverse=True):
            claim = claim.replace(old.name, names[old].name)
        rule = {old: index(new) for old, new in names.items()}
        return SideCondition(claim, (h.substitute(rule) for h in self.hypotheses))


class Facts:
    """Hypotheses (forms ≥ 0), the last time at which a letter of a family may be nonzero, and the normal form."""

    def __init__(self, hypotheses: tuple[Index, ...], last: Last, settle: Settle, outer: Facts | None = None) -> None:
        self.hypotheses = hypotheses
        self.last = last
        self.settle = settle
        self.outermost: Facts = self if outer is None else outer.outermost
        self._proved: dict[Index, bool] = {}

    @cached_property
    def variables(self) -> frozenset[IndexVar]:
        """The variables of the hypotheses."""
        return frozenset(v for h in self.hypotheses for v, _ in h.terms)

    def prove(self, form: Index) -> bool:
        """Whether form ≥ 0 follows."""
        if not form.terms:
            return form.const >= 0
        if form not in self._proved:
            self._proved[form] = nonnegative(form, self.hypotheses)
        return self._proved[form]

    def within(self, var: IndexVar, lo: Index, hi: Index) -> Facts:
        """The facts that hold under a binder."""
        return Facts((*self.hypotheses, index(var) - lo, hi - var), self.last, self.settle, self)

    def settled(self, word: Word) -> Normal:
        """The normal form of a word under these facts."""
        return self.settle(word, self)

    def commutes(self, x: Letter) -> bool:
        """Whether a letter commutes with others like it: 1 × 1, diagonal, or a product of diagonals."""
        if isinstance(x, Run) and x.shape != UNIT:
            return self.prove(x.length) and all(map(self.commutes, x.body))
        return x.shape == UNIT or (isinstance(x, Leaf) and x.diagonal)

    def private(self, word: Word) -> IndexVar:
        """A name for the bound index of a letter that is neither free in its body nor in the hypotheses.

        Slots are names at rest; under work they could capture one another.
        """
        return fresh("@", variables(word) | self.variables)

    def vanishes(self, word: Word) -> bool:
        """Whether a letter of the word stands where its family is zero."""
        return any(x.time is not None and (last := self.last(x)) is not None and self.prove(x.time - last - 1)
                   for x in _factors(word))

    def clamped(self, body: Word, var: IndexVar, end: Index) -> Index:
        """The least end, provably, at which the running sum already has the value it has at `end`."""
        for x in _factors(body):
            if x.time is not None and x.time.coefficient(var) == 1 and (last := self.last(x)) is not None:
                limit = last - (x.time - var)
                if self.prove(end - limit):
                    end = limit
        return end

    @cached_property
    def equalities(self) -> dict[IndexVar, Index]:
        """Variables that the hypotheses fix, and what they equal."""
        rule: dict[IndexVar, Index] = {}
        facts = self.hypotheses
        while found := next((s for h in facts if (s := _solved(h)) and nonnegative(-h, facts)), None):
            var, value = found
            one = {var: value}
            rule = {v: form.substitute(one) for v, form in rule.items()} | one
            facts = tuple(h.substitute(one) for h in facts)
        return rule


def _factors(word: Word) -> Iterator[Leaf]:
    """The leaves whose vanishing makes the word vanish, those in the body of a running sum included."""
    for x in word:
        if isinstance(x, Leaf):
            yield x
        elif isinstance(x, Running):
            yield from _factors(x.body)


def _solved(form: Index) -> tuple[IndexVar, Index] | None:
    """The last variable that can be isolated in form = 0, and its value."""
    common = gcd(form.const, *(a for _, a in form.terms))
    for var, a in reversed(form.terms):
        if abs(a) == common:
            reduced = Index(form.const // a, ((v, b // a) for v, b in form.terms))
            return var, index(var) - reduced
    return None
