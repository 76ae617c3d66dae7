"""The normal form of polynomials: runs folded, sums turned into running sums; it decides equations.

    Σ_{i=lo}^{hi} f(i) = F(hi) − F(lo − 1),  lo ≤ hi + 1,  F(x + 1) = F(x) + f(x + 1),

where f is re-indexed so that its least letter stands at i. What is done to powers and ordered products is told
in `symbptt.expr.fold`, what to coefficients in `symbptt.expr.scalars`.

Not decided, so never called equal: (t A)ⁿ with an index t taken apart; Π_k c_k A_k with c_k in its index taken apart;
absorption between powers of two different sums, or of a sum whose every word is a column times a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from sympy import Expr, S

from symbptt.expr import letters
from symbptt.expr.binders import STAY, orders, reordered, shifts
from symbptt.expr.facts import Facts, Last, Normal, SideCondition
from symbptt.expr.fold import absorbed, fold
from symbptt.expr.index import Index, IndexLike, IndexVar, index
from symbptt.expr.letters import (
    Binding,
    Compound,
    Leaf,
    Running,
    Term,
    Word,
    apart,
    pointwise,
    substitute_word,
    word_key,
)
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.scalars import add, closed_sum, substitute_scalar
from symbptt.expr.walk import free_indices
from symbptt.expr.words import Polynomial, polynomial

__all__ = ["SideCondition", "equal", "normal"]

Vanishing: TypeAlias = Mapping[Matrix, IndexLike] | Last | None


# The public face ----------------------------------------------------------------

def normal(p: Polynomial, hypotheses: Iterable[IndexLike] = (), vanishing: Vanishing = None) -> Normal:
    """The canonical form word → coefficient; equal forms mean equality under the hypotheses (each ≥ 0).

    `vanishing` gives for a family (its symbol, or any node of its kind such as ∂L/∂h_t) the last time at
    which it may be nonzero; a function from leaves to such times will do too.

    Raises:
        SideCondition: the hypotheses do not show that a sum runs upwards, lo ≤ hi + 1.
    """
    forms = tuple(index(h) for h in hypotheses)
    last = _last(vanishing)
    rule = Facts(forms, last, _settled).equalities

    def fixed(x: Leaf) -> Index | None:
        end = last(x)
        return None if end is None else end.substitute(rule)

    return _normal(p, Facts(tuple(h.substitute(rule) for h in forms), fixed, _settled), rule)


def equal(left: Matrix, right: Matrix, hypotheses: Iterable[IndexLike] = (), vanishing: Vanishing = None) -> bool:
    """Whether left = right for all values of the letters and all indices that obey the hypotheses (each ≥ 0).

    Raises:
        SideCondition: see `normal`.
    """
    return left.shape == right.shape and not normal(polynomial(left) - polynomial(right), hypotheses, vanishing)


def _last(vanishing: Vanishing) -> Last:
    if callable(vanishing):
        return vanishing
    ends = {_family(key): index(value) for key, value in (vanishing or {}).items()}
    return lambda x: ends.get(x.head)


def _family(key: Matrix) -> Matrix:
    head = letters.leaf(key)
    return At(key, letters.TIME) if head.time is None else head.head


def _normal(p: Polynomial, facts: Facts, rule: Mapping[IndexVar, Index]) -> Normal:
    taken = facts.variables.union(rule)
    out: Normal = {}
    for item in p.terms.items():
        (binders, word), c = letters.substitute_item(apart(item, taken, "@"), rule)
        try:
            summed = _ordered_sum(list(binders), word, c, facts)
        except SideCondition as refusal:
            pairs = zip(binders, item[0].binders, strict=True)
            raise refusal.named({ours.var: theirs.var for ours, theirs in pairs}) from None
        _add_all(out, summed)
    return out


def _add_all(out: Normal, more: Normal) -> None:
    for word, c in more.items():
        add(out, word, c)


# Words ----------------------------------------------------------------

def _settle(word: Word, c: Expr, facts: Facts, out: Normal) -> None:
    """Add c · word in normal form; compounds are distributed, running sums anchored again, factors absorbed."""
    word = fold(word, facts)
    if facts.vanishes(word):
        return
    for at, x in enumerate(word):
        if isinstance(x, Compound):
            for settled, a in _normal(Polynomial(x.shape, dict(x.items)), facts, {}).items():
                _settle(word[:at] + settled + word[at + 1:], c * a, facts, out)
            return
        if isinstance(x, Running):
            var = facts.private(word[:at] + x.body + word[at + 1:])
            rule = {x.var: index(var)}
            body = word[:at] + substitute_word(x.body, rule) + word[at + 1:]
            weight = substitute_scalar(x.weight, rule)
            _sum_word(Binding(var, index(1), x.end), body, c * weight, facts, out, formal=True)
            return
    parts = absorbed(word, facts)
    if not parts:
        add(out, pointwise(word), c)
    for part, a in parts:
        _settle(part, c * a, facts, out)


def _settled(word: Word, facts: Facts, c: Expr = S.One) -> Normal:
    out: Normal = {}
    _settle(word, c, facts, out)
    return out


# Sums ----------------------------------------------------------------

def _ordered_sum(binders: list[Binding], word: Word, c: Expr, facts: Facts) -> Normal:
    """The sum with the binders of each word in the order of their anchors; of several such orders the least outcome.

    Where no such order can be had, the given one stays.
    """
    if len(binders) > 1:
        inside = facts
        for b in binders:
            inside = inside.within(*b)
        try:
            out: Normal = {}
            for settled, a in _settled(word, inside, c).items():
                _add_all(out, _least_sum(binders, settled, a, facts))
            return out
        except SideCondition:
            pass
    return _sum(binders, word, c, facts)


def _least_sum(binders: list[Binding], word: Word, c: Expr, facts: Facts) -> Normal:
    moved, moved_word, moved_c, keys = _anchored(binders, word, c)
    outcomes = []
    for order in orders(keys):
        try:
            ordered = Term(tuple(reordered(moved, order, facts)), moved_word)
            (renamed, renamed_word), renamed_c = apart((ordered, moved_c), facts.variables, "@")
            outcomes.append(_sum(renamed, renamed_word, renamed_c, facts))
        except SideCondition:
            continue
    return min(outcomes, key=_outcome_key) if outcomes else _sum(binders, word, c, facts)


def _outcome_key(outcome: Normal) -> tuple[Any, ...]:
    return (len(outcome), sorted((word_key(word), str(c)) for word, c in outcome.items()))


def _anchored(binders: list[Binding], word: Word,
              c: Expr) -> tuple[list[Binding], Word, Expr, list[tuple[int, str]]]:
    """Every binder, the inner first, re-indexed by its least letter; and those letters."""
    done = list(binders)
    keys = []
    inner: frozenset[IndexVar] = frozenset()
    for at in range(len(done) - 1, -1, -1):
        var, lo, hi = done[at]
        shift = shifts(word, var, inner)[0]
        rule = {var: shift.old(var)}
        done[at] = Binding(var, *shift.bounds(lo, hi))
        done[at + 1:] = [Binding(b.var, b.lo.substitute(rule), b.hi.substitute(rule)) for b in done[at + 1:]]
        word, c = substitute_word(word, rule), substitute_scalar(c, rule)
        found = [key for key, form, _ in letters.word_anchors(word) if abs(form.coefficient(var)) == 1]
        keys.append(min(found, default=letters.FIXED))
        inner |= {var}
    return done, word, c, keys[::-1]


def _sum(binders: Sequence[Binding], word: Word, c: Expr, facts: Facts) -> Normal:
    """The sum over the binders in the order given, the innermost first."""
    if not binders:
        return _settled(word, facts, c)
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


def _sum_word(own: Binding, word: Word, c: Expr, facts: Facts, out: Normal, formal: bool = False) -> None:
    """Add Σ c · word over one binder; a `formal` sum is F(hi) - F(lo - 1) even where hi < lo - 1."""
    options = []
    for shift in shifts(word, own.var):
        lo, hi = shift.bounds(own.lo, own.hi)
        rule = {own.var: shift.old(own.var)}
        inside = facts if formal else facts.within(own.var, lo, hi)
        settled = _settled(substitute_word(word, rule), inside, substitute_scalar(c, rule))
        key = _outcome_key(settled), letters.index_key(lo), letters.index_key(hi)
        options.append((key, Binding(own.var, lo, hi), settled))
    _, moved, settled = min(options, key=lambda option: option[0])
    for body, a in settled.items():
        if STAY in shifts(body, own.var):
            _emit(moved, body, a, facts, out)
        else:
            _sum_word(moved, body, a, facts, out, formal)


def _emit(own: Binding, word: Word, c: Expr, facts: Facts, out: Normal) -> None:
    """Add F(hi) - F(lo - 1) for each part of the coefficient; in closed form if the body lacks the index."""
    var, lo, hi = own
    indexed = var in letters.variables(word)
    for part in c.expand().as_ordered_terms() if var in free_indices(c) else [c]:
        factor, weight = part.as_independent(var) if var in free_indices(part) else (part, S.One)
        total = None if indexed else closed_sum(weight, var, lo, hi)
        if total is not None:
            _settle(word, factor * total, facts, out)
            continue
        own_slot = letters.slot(letters.height(word) + 1)
        rule = {var: index(own_slot)}
        body = substitute_word(word, rule)
        for end, sign in ((hi, 1), (lo - 1, -1)):
            _add_running(substitute_scalar(weight, rule), body, own_slot, end, sign * factor, facts, out)


def _add_running(weight: Expr, body: Word, var: IndexVar, end: Index, c: Expr, facts: Facts, out: Normal) -> None:
    """Add c · F(end): F at the end without its constant, and the bodies between."""
    end = facts.clamped(body, var, end)
    start = Index(0, end.terms)
    if end.terms:
        add(out, (Running(weight, body, start),), c)
    sign = S.One if end.const > 0 else S.NegativeOne
    for k in range(min(end.const, 0) + 1, max(end.const, 0) + 1):
        rule = {var: start + k}
        _settle(substitute_word(body, rule), sign * c * substitute_scalar(weight, rule), facts, out)
