"""The normal form of polynomials: runs folded, sums turned into running sums; it decides equations.

    Σ_{i=lo}^{hi} f(i) = F(hi) − F(lo − 1),  lo ≤ hi + 1,  F(x + 1) = F(x) + f(x + 1),

where f is re-indexed so that its least letter stands at i. Powers and ordered products have no inverses: they
absorb neighbours, join and rotate, Y_{lo-1} Π (X_k Y_k) = Π (Y_{k-1} X_k) Y_hi, each only under length ≥ 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby, permutations, product
from math import gcd
from typing import Any, NamedTuple, TypeAlias

from sympy import Expr, S, bernoulli

from symbptt.expr.index import Index, IndexLike, IndexVar, index, nonnegative
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.shape import Shape
from symbptt.expr.walk import free_indices, fresh
from symbptt.expr.words import (
    FIXED,
    TIME,
    UNIT,
    Binding,
    Compound,
    Item,
    Leaf,
    Letter,
    Polynomial,
    Power,
    Run,
    Running,
    Term,
    Word,
    add,
    chained,
    index_key,
    item_variables,
    leaf,
    parted,
    polynomial,
    run,
    slot,
    substitute_item,
    substitute_scalar,
    substitute_word,
    transposed,
    variables,
    word_anchors,
    word_key,
)
from symbptt.expr.words import height as word_height

Normal: TypeAlias = dict[Word, Expr]
Last: TypeAlias = Callable[[Leaf], Index | None]
Vanishing: TypeAlias = Mapping[Matrix, IndexLike] | Last | None


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
    """Hypotheses (forms ≥ 0), and the last time at which a letter of a family may be nonzero."""

    def __init__(self, hypotheses: tuple[Index, ...], last: Last, outer: Facts | None = None) -> None:
        self.hypotheses = hypotheses
        self.last = last
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
        return Facts((*self.hypotheses, index(var) - lo, hi - var), self.last, self)

    def commutes(self, x: Letter) -> bool:
        """Whether a letter commutes with others like it: 1 × 1, diagonal, or a product of diagonals."""
        if isinstance(x, Power | Run) and x.shape != UNIT:
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
        while found := next((h for h in facts if _unit(h) and nonnegative(-h, facts)), None):
            var, value = _solved(found)
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


def _unit(form: Index) -> bool:
    common = gcd(form.const, *(a for _, a in form.terms))
    return any(abs(a) == common for _, a in form.terms)


def _solved(form: Index) -> tuple[IndexVar, Index]:
    """The last variable that can be isolated in form = 0, and its value."""
    common = gcd(form.const, *(a for _, a in form.terms))
    var, a = [(v, a // common) for v, a in form.terms if abs(a) == common][-1]
    reduced = Index(form.const // common, ((v, b // common) for v, b in form.terms))
    return var, index(var) - reduced if a == 1 else index(var) + reduced


# The public face ----------------------------------------------------------------

def normal(p: Polynomial, hypotheses: Iterable[IndexLike] = (), vanishing: Vanishing = None) -> Normal:
    """The canonical form word → coefficient; equal forms mean equality under the hypotheses (each ≥ 0).

    `vanishing` gives for a family (its symbol, or any node of its kind such as ∂L/∂h_t) the last time at
    which it may be nonzero; a function from leaves to such times will do too.

    Raises:
        SideCondition: the hypotheses do not show that a sum runs upwards, lo ≤ hi + 1.
    """
    forms = tuple(index(h) for h in hypotheses)
    facts = Facts(forms, _last(vanishing))
    rule = facts.equalities
    if rule:
        facts = Facts(tuple(h.substitute(rule) for h in forms), _fixed(facts.last, rule))
    return _normal(p, facts, rule)


def equal(left: Matrix, right: Matrix, hypotheses: Iterable[IndexLike] = (),
          vanishing: Vanishing = None) -> bool:
    """Whether left = right for all values of the letters and all indices that obey the hypotheses (each ≥ 0).

    Raises:
        SideCondition: see `normal`.
    """
    if left.shape != right.shape:
        return False
    return not normal(polynomial(left) - polynomial(right), hypotheses, vanishing)


def _last(vanishing: Vanishing) -> Last:
    if callable(vanishing):
        return vanishing
    ends = {_family(key): index(value) for key, value in (vanishing or {}).items()}
    return lambda x: ends.get(x.head)


def _family(key: Matrix) -> Matrix:
    head = leaf(key)
    return At(key, TIME) if head.time is None else head.head


def _fixed(last: Last, rule: Mapping[IndexVar, Index]) -> Last:
    def fixed(x: Leaf) -> Index | None:
        end = last(x)
        return None if end is None else end.substitute(rule)
    return fixed


def _normal(p: Polynomial, facts: Facts, rule: Mapping[IndexVar, Index]) -> Normal:
    taken = facts.variables.union(rule)
    out: Normal = {}
    for item in p.terms.items():
        (binders, word), c = substitute_item(_private(item, taken), rule)
        if not binders:
            _settle(word, c, facts, out)
            continue
        try:
            summed = _ordered_sum(list(binders), word, c, facts)
        except SideCondition as refusal:
            pairs = zip(binders, item[0].binders, strict=True)
            raise refusal.named({ours.var: theirs.var for ours, theirs in pairs}) from None
        for settled, a in summed.items():
            add(out, settled, a)
    return out


def _private(item: Item, taken: frozenset[IndexVar]) -> Item:
    """The item with bound variables called @, @', … from the outside in: their names must not matter."""
    (binders, word), c = item
    if not binders:
        return item
    used = taken | item_variables(item)
    rule: dict[IndexVar, Index] = {}
    done = []
    for var, lo, hi in binders:
        new = fresh("@", used)
        used |= {new}
        done.append(Binding(new, lo.substitute(rule), hi.substitute(rule)))
        rule[var] = index(new)
    return Term(tuple(done), substitute_word(word, rule)), substitute_scalar(c, rule)


# Words ----------------------------------------------------------------

def _settle(word: Word, c: Expr, facts: Facts, out: Normal) -> None:
    """Add c · word in normal form; compounds are distributed, running sums anchored again."""
    word = fold(word, facts)
    if facts.vanishes(word):
        return
    for at, x in enumerate(word):
        if isinstance(x, Compound):
            for settled, a in _contents(x, facts).items():
                _settle(word[:at] + settled + word[at + 1:], c * a, facts, out)
            return
        if isinstance(x, Running):
            var = facts.private(word[:at] + x.body + word[at + 1:])
            rule = {x.var: index(var)}
            body = word[:at] + substitute_word(x.body, rule) + word[at + 1:]
            weight = substitute_scalar(x.weight, rule)
            _sum_word(Binding(var, index(1), x.end), body, c * weight, facts, out, formal=True)
            return
    add(out, word, c)


def _settled(word: Word, c: Expr, facts: Facts) -> Normal:
    out: Normal = {}
    _settle(word, c, facts, out)
    return out


def _contents(x: Compound, facts: Facts) -> Normal:
    return _normal(Polynomial(x.shape, dict(x.items)), facts, {})


def fold(word: Word, facts: Facts) -> Word:
    """The word with its runs as long as they get and as far to the left, and its 1 × 1 factors in order."""
    word = _folded(word, facts)
    while (cut := _cut(word, facts)) != word:
        word = _folded(cut, facts)
    return word


def _folded(word: Word, facts: Facts) -> Word:
    while True:
        if not all(isinstance(x, Leaf) for x in word):
            word = _opened_all(word, facts)
        word = _sorted(word, facts)
        if all(isinstance(x, Leaf) for x in word):
            return word
        longer = _step(word, facts)
        if longer is None:
            mirrored = _step(transposed(word), facts)
            if mirrored is None:
                return word
            longer = transposed(mirrored)
        word = longer


def _sorted(word: Word, facts: Facts) -> Word:
    """Runs of adjacent commuting letters in order."""
    return tuple(x for commuting, group in groupby(word, key=facts.commutes)
                 for x in (sorted(group, key=_place) if commuting else group))


def _place(x: Letter) -> tuple[Any, ...]:
    return (x.shape != UNIT, x.key)


def _cut(word: Word, facts: Facts) -> Word:
    """The word with its 1 × 1 factors, each up to transpose, in order at the front: x gᵀd = (dᵀg) x."""
    if any(isinstance(x, Running) for x in word):
        return word
    scalars, core = parted(word)
    upright = sorted((_upright(scalar, facts) for scalar in scalars), key=word_key)
    return tuple(x for piece in (*upright, core) for x in piece)


def _upright(scalar: Word, facts: Facts) -> Word:
    return scalar if len(scalar) == 1 else min(scalar, _folded(transposed(scalar), facts), key=word_key)


# Powers and ordered products ----------------------------------------------------------------

def _opened(x: Letter, facts: Facts) -> Word:
    """A letter in normal form by itself: written out if its length is constant."""
    if isinstance(x, Power | Run):
        length = x.length
        if not length.terms and length.const >= 0:
            word = tuple(y for k in range(length.const) for y in x.factor(x.ends[0] + k))
            return _opened_all(transposed(word) if x.transposed else word, facts)
        return _opened_power(x, facts) if isinstance(x, Power) else _opened_run(x, facts)
    return (x,)


def _opened_all(word: Word, facts: Facts) -> Word:
    return tuple(y for x in word for y in _opened(x, facts))


def _base(word: Word, facts: Facts) -> Word:
    """A base or body in normal form as a word, empty for the identity; a sum becomes one letter."""
    inner = _settled(word, S.One, facts)
    if len(inner) == 1:
        (only, c), = inner.items()
        if c == 1:
            return only
    return (Compound(_square(word), frozenset((Term((), w), c) for w, c in inner.items())),)


def _square(word: Word) -> Shape:
    return word[0].shape[0], word[0].shape[0]


def _wrapped(base: Word, shape: Shape) -> Word:
    """A base that may stand in a letter of unknown length: one whose shape can be read off."""
    return base if chained(base, shape) else (Compound(shape, frozenset({(Term((), base), S.One)})),)


def _commuting_parts(word: Word, facts: Facts) -> list[Word]:
    """Factors of a base that commute with one another, so that a power of it is the product of theirs."""
    scalars, core = parted(word)
    return [*scalars, *([(x,) for x in core] if all(map(facts.commutes, core)) else [core])]


def _opened_power(x: Power, facts: Facts) -> Word:
    base = _base(x.body, facts)
    if not facts.prove(x.length):
        return (Power(_wrapped(base, x.shape), x.length, x.transposed),)
    if x.transposed and base:
        base = _base(transposed(base), facts)
    parts = _commuting_parts(base, facts)
    if len(parts) != 1:
        return tuple(Power(part, x.length) for part in parts)
    size = next((n for n in range(1, len(base)) if base[:n] * (len(base) // n) == base), len(base))
    return (Power(base[:size], _multiple(x.length, len(base) // size)),)


def _multiple(form: Index, n: int) -> Index:
    return Index(n * form.const, ((v, n * a) for v, a in form.terms))


def _opened_run(x: Run, facts: Facts) -> Word:
    var = facts.private(x.body)
    known = facts.prove(x.length)
    inside = facts.within(var, x.lo, x.hi) if known else facts
    body = _base(x.factor(index(var)), inside)
    if not known:
        return (run(_wrapped(body, x.shape), var, x.lo, x.hi, x.transposed),)
    parts = _commuting_parts(body, inside)
    if len(parts) != 1:
        return _opened_all(tuple(run(part, var, x.lo, x.hi, x.transposed) for part in parts), facts)
    if var not in variables(body):
        return _opened(Power(body, x.length, x.transposed), facts)
    options = [_turned(body, Binding(var, x.lo, x.hi), x.transposed, s, facts) for s in _shifts(body, var)]
    return (min(options, key=lambda option: option.key),)


def _turned(body: Word, own: Binding, flip: bool, shift: Shift, facts: Facts) -> Run:
    """The run re-indexed. Where the index turns round, a product that ascends becomes one that descends."""
    lo, hi = shift.bounds(own.lo, own.hi)
    inside = facts.within(own.var, lo, hi)
    moved = substitute_word(body, {own.var: shift.old(own.var)})
    if shift.sign < 0:
        moved, flip = transposed(moved), not flip
    moved = _base(moved, inside)
    return run(moved, own.var, lo, hi, flip and not all(map(inside.commutes, moved)))


def _step(word: Word, facts: Facts) -> Word | None:
    """One absorption, junction or rotation at the first power or product that allows one."""
    for at, x in enumerate(word):
        if isinstance(x, Power | Run) and not x.transposed and facts.prove(x.length):
            stepped = _step_at(word[:at], x, word[at + 1:], facts)
            if stepped is not None:
                return stepped
    return None


def _step_at(left: Word, x: Power | Run, right: Word, facts: Facts) -> Word | None:
    first, last = x.ends
    before = x.factor(first - 1)
    if (rest := _without_end(left, before, facts)) is not None:
        return (*rest, x.stretched(1, 0), *right)
    if (rest := _without_start(right, x.factor(last + 1), facts)) is not None:
        return (*left, x.stretched(0, 1), *rest)
    ahead = _opened_up(right[0], facts.outermost) if right and isinstance(x, Power) else None
    if ahead and (rest := _without_start(ahead + right[1:], x.body, facts)) is not None:
        return (*left, x.stretched(0, 1), *rest)
    for at, y in enumerate(right):
        if isinstance(y, Power | Run) and _continues(x, y) and facts.prove(y.length):
            return (*left, x.stretched(0, y.length), *right[:at], *right[at + 1:])
        if not (facts.commutes(x) and facts.commutes(y)):
            break
    for at in _movable(before, facts):
        if (rest := _without_end(left, before[at:at + 1], facts)) is not None:
            return (*rest, x.rotated(at), *x.factor(last)[at:at + 1], *right)
    peeled = _peeled(left[-1], facts.outermost) if left else None
    return None if peeled is None else _step_at(left[:-1] + peeled, x, right, facts)


def _peeled(x: Letter, facts: Facts) -> Word | None:
    """A power or product with its last factor written out; None unless it has one.

    Only the outermost hypotheses count, lest the form of a body depend on the range it is summed over. A
    product that runs the other way is left alone: two that face each other would pass factors back and forth.
    """
    if isinstance(x, Power) and facts.prove(x.length - 1):
        factor = transposed(x.body) if x.transposed else x.body
        return (replace(x, length=x.length - 1), *factor)
    if isinstance(x, Run) and not x.transposed and facts.prove(x.length - 1):
        return (x.stretched(0, -1), *x.factor(x.hi))
    return None


def _opened_up(x: Letter, facts: Facts) -> Word | None:
    """A product that runs the other way with its first factor written out, for a power before it."""
    if isinstance(x, Run) and x.transposed and facts.prove(x.length - 1):
        return (*transposed(x.factor(x.hi)), replace(x, hi=x.hi - 1))
    return None


def _movable(body: Word, facts: Facts) -> Iterator[int]:
    """The positions of the letters that can stand last; a body of one letter has none to rotate."""
    for at in range(len(body) - 1, -1, -1):
        if len(body) > 1 and (at == len(body) - 1 or facts.commutes(body[at])):
            yield at
        if not facts.commutes(body[at]):
            return


def _continues(x: Power | Run, y: Power | Run) -> bool:
    return type(x) is type(y) and x.body == y.body and not y.transposed and (
        isinstance(y, Power) or y.ends[0] == x.ends[1] + 1)


def _without_start(word: Word, start: Word, facts: Facts) -> Word | None:
    """What is left of a word that starts so once commuting neighbours are exchanged, or None."""
    rest = list(word)
    for x in start:
        for at, y in enumerate(rest):
            if x == y:
                del rest[at]
                break
            if not (facts.commutes(x) and facts.commutes(y)):
                return None
        else:
            return None
    return tuple(rest)


def _without_end(word: Word, end: Word, facts: Facts) -> Word | None:
    rest = _without_start(word[::-1], end[::-1], facts)
    return None if rest is None else rest[::-1]


# Re-indexing ----------------------------------------------------------------

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


def _anchor_key(word: Word, var: IndexVar) -> tuple[int, str]:
    return min((key for key, form, _ in word_anchors(word) if abs(form.coefficient(var)) == 1), default=FIXED)


def _shifts(word: Word, var: IndexVar, inner: frozenset[IndexVar] = frozenset()) -> list[Shift]:
    """The re-indexings that put a letter, the least by (kind, name) and never by position, at the index.

    Indices bound further inside cannot take part in the shift and stay in the letter.
    """
    found = [(key, form, bound | inner) for key, form, bound in word_anchors(word)
             if abs(form.coefficient(var)) == 1 and var not in bound]
    least = min((key for key, _, _ in found), default=FIXED)
    if least == FIXED:
        return [STAY]
    shifts: dict[Shift, None] = {}
    for key, form, hidden in found:
        if key == least:
            rest = Index(form.const, ((v, a) for v, a in form.terms if v != var and v not in hidden))
            shifts[Shift(form.coefficient(var), rest)] = None
    return list(shifts)


# Sums ----------------------------------------------------------------

def _ordered_sum(binders: list[Binding], word: Word, c: Expr, facts: Facts) -> Normal:
    """The sum with its binders in the order of their anchors; of several such orders the least outcome.

    Where no such order can be had, the given one stays.
    """
    if len(binders) == 1:
        return _sum(binders, word, c, facts)
    try:
        moved, moved_word, moved_c, keys = _anchored(binders, word, c, facts)
        outcomes = []
        for order in _orders(keys):
            try:
                ordered = Term(tuple(_reordered(moved, order, facts)), moved_word)
                (renamed, renamed_word), renamed_c = _private((ordered, moved_c), facts.variables)
                outcomes.append(_sum(renamed, renamed_word, renamed_c, facts))
            except SideCondition:
                continue
        if outcomes:
            return min(outcomes, key=_outcome_key)
    except SideCondition:
        pass
    return _sum(binders, word, c, facts)


def _outcome_key(outcome: Normal) -> tuple[Any, ...]:
    return (len(outcome), sorted((word_key(word), str(c)) for word, c in outcome.items()))


def _anchored(binders: list[Binding], word: Word, c: Expr,
              facts: Facts) -> tuple[list[Binding], Word, Expr, list[tuple[int, str]]]:
    """Every binder, the inner first, re-indexed by its least letter; and those letters."""
    for b in binders:
        facts = facts.within(*b)
    word = fold(word, facts)
    done = list(binders)
    keys = []
    inner: frozenset[IndexVar] = frozenset()
    for at in range(len(done) - 1, -1, -1):
        var, lo, hi = done[at]
        shift = _shifts(word, var, inner)[0]
        rule = {var: shift.old(var)}
        done[at] = Binding(var, *shift.bounds(lo, hi))
        done[at + 1:] = [Binding(b.var, b.lo.substitute(rule), b.hi.substitute(rule)) for b in done[at + 1:]]
        word, c = substitute_word(word, rule), substitute_scalar(c, rule)
        keys.append(_anchor_key(word, var))
        inner |= {var}
    return done, word, c, keys[::-1]


def _orders(keys: Sequence[tuple[int, str]]) -> Iterator[tuple[int, ...]]:
    """The orders in which the keys ascend."""
    groups = [[at for at, k in enumerate(keys) if k == key] for key in sorted(set(keys))]
    for choice in product(*map(permutations, groups)):
        yield tuple(at for group in choice for at in group)


def _reordered(binders: list[Binding], order: tuple[int, ...], facts: Facts) -> list[Binding]:
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


def _sum(binders: Sequence[Binding], word: Word, c: Expr, facts: Facts) -> Normal:
    """The sum over the binders in the order given, the innermost first."""
    if not binders:
        return _settled(word, c, facts)
    own, *rest = binders
    if facts.prove(own.lo - own.hi - 1):
        return {}
    inner = _sum(rest, word, c, facts.within(*own))
    if inner and not facts.prove(own.hi - own.lo + 1):
        raise SideCondition(f"{own.lo} <= {own.hi + 1}", facts.hypotheses)
    out: Normal = {}
    for body, a in inner.items():
        _sum_word(own, body, a, facts, out)
    return out


def _sum_word(own: Binding, word: Word, c: Expr, facts: Facts, out: Normal,
              formal: bool = False) -> None:
    """Add Σ c · word over one binder; a `formal` sum is F(hi) - F(lo - 1) even where hi < lo - 1."""
    options = []
    for shift in _shifts(word, own.var):
        lo, hi = shift.bounds(own.lo, own.hi)
        rule = {own.var: shift.old(own.var)}
        inside = facts if formal else facts.within(own.var, lo, hi)
        settled = _settled(substitute_word(word, rule), substitute_scalar(c, rule), inside)
        key = _outcome_key(settled), index_key(lo), index_key(hi)
        options.append((key, Binding(own.var, lo, hi), settled))
    _, moved, settled = min(options, key=lambda option: option[0])
    for body, a in settled.items():
        if STAY in _shifts(body, own.var):
            _emit(moved, body, a, facts, out)
        else:
            _sum_word(moved, body, a, facts, out, formal)


def _emit(own: Binding, word: Word, c: Expr, facts: Facts, out: Normal) -> None:
    """Add F(hi) - F(lo - 1) for each part of the coefficient; in closed form if the body lacks the index."""
    var, lo, hi = own
    free = var not in variables(word)
    for part in c.expand().as_ordered_terms() if var in free_indices(c) else [c]:
        factor, weight = part.as_independent(var) if var in free_indices(part) else (part, S.One)
        if free and weight.is_polynomial(var):
            _, degree = weight.as_coeff_exponent(var)
            _settle(word, factor * _power_sum(int(degree), lo, hi), facts, out)
            continue
        own_slot = slot(word_height(word) + 1)
        rule = {var: index(own_slot)}
        body = substitute_word(word, rule)
        for end, sign in ((hi, 1), (lo - 1, -1)):
            _add_running(substitute_scalar(weight, rule), body, own_slot, end, sign * factor, facts, out)


def _power_sum(degree: int, lo: Index, hi: Index) -> Expr:
    """Σ_{n=lo}^{hi} n^degree."""
    top, bottom = (hi + 1).to_expr(), lo.to_expr()
    if degree == 0:
        return top - bottom
    return (bernoulli(degree + 1, top) - bernoulli(degree + 1, bottom)) / (degree + 1)


def _add_running(weight: Expr, body: Word, var: IndexVar, end: Index, c: Expr, facts: Facts,
                 out: Normal) -> None:
    """Add c · F(end): F at the end without its constant, and the bodies between."""
    end = facts.clamped(body, var, end)
    start = Index(0, end.terms)
    if end.terms:
        add(out, (Running(weight, body, start),), c)
    sign = S.One if end.const > 0 else S.NegativeOne
    for k in range(min(end.const, 0) + 1, max(end.const, 0) + 1):
        rule = {var: start + k}
        _settle(substitute_word(body, rule), sign * c * substitute_scalar(weight, rule), facts, out)
