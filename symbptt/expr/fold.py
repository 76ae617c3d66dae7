"""Folding: powers and ordered products as long as they get, coefficients taken out of them, scalars in order.

Powers and products have no inverses. They absorb neighbours, join, rotate, Y_{lo-1} Π (X_k Y_k) = Π (Y_{k-1} X_k) Y_hi,
and give up their coefficients, Π_{k=lo}^{hi} c X_k = c^(hi - lo + 1) Π X_k, each only under length ≥ 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sympy import Expr, S

from symbptt.expr import letters
from symbptt.expr.binders import Shift, shifts
from symbptt.expr.facts import Facts, Normal
from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.letters import UNIT, Compound, Leaf, Letter, Run, Running, Term, Word, parted, transposed
from symbptt.expr.scalars import Geometric, tidy, timeless
from symbptt.expr.shape import Shape
from symbptt.expr.walk import free_indices
from symbptt.expr.words import Polynomial, as_word


def fold(word: Word, facts: Facts) -> Word:
    """The word with its runs as long as they get and as far to the left, and its 1 × 1 factors in order."""
    word = _folded(word, facts)
    while (cut := _cut(word, facts)) != word:
        word = _folded(cut, facts)
    return word


def _folded(word: Word, facts: Facts) -> Word:
    while True:
        word = _sorted(_opened_all(word, facts), facts)
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
    upright = sorted((_upright(scalar, facts) for scalar in scalars), key=letters.word_key)
    return tuple(x for piece in (*upright, core) for x in piece)


def _upright(scalar: Word, facts: Facts) -> Word:
    return scalar if len(scalar) == 1 else min(scalar, _folded(transposed(scalar), facts), key=letters.word_key)


# The bases of powers and products ----------------------------------------------------------------

def _rank(word: Word) -> tuple[Any, ...]:
    """By length, names and places, those last that multiply a matrix by a scalar, which could belong to either side.

    The word that leads a sum also leads its transpose.
    """
    length = max((len(x.body) for x in word if isinstance(x, Running)), default=len(word))
    both = sorted((letters.word_key(word), letters.word_key(transposed(word))))
    return not all(parted(word)), length, sorted((x.label for x in word), reverse=True), both


def _base(inner: Normal, shape: Shape) -> tuple[Expr, Word]:
    """A base c · word, word empty for the identity; a sum becomes one letter, its leading coefficient c."""
    if not inner:
        return S.One, as_word(Polynomial(shape, {}))
    first = max(inner, key=_rank)
    c = timeless(inner[first])
    if len(inner) == 1 and c == inner[first]:
        return c, first
    return c, as_word(_polynomial({word: tidy(a / c) for word, a in inner.items()}, shape))


def _polynomial(inner: Normal, shape: Shape) -> Polynomial:
    return Polynomial(shape, {Term((), word): c for word, c in inner.items()})


def _opened(x: Letter, facts: Facts) -> Word:
    """A letter in normal form by itself: written out if its length is constant."""
    if not isinstance(x, Run):
        return (x,)
    length = x.length
    if not length.terms and length.const >= 0:
        word = tuple(y for k in range(length.const) for y in x.factor(x.lo + k))
        return _opened_all(transposed(word) if x.transposed else word, facts)
    known = facts.prove(length)
    if known and x.transposed and not x.indexed:
        return _opened(letters.power(transposed(x.body), length), facts)
    var = facts.private(x.body)
    inside = facts.within(var, x.lo, x.hi) if known and x.indexed else facts
    inner = inside.settled(x.factor(index(var)))
    if not known:
        body = as_word(_polynomial(inner, x.shape))
        return (letters.run(body, var, x.lo, x.hi, x.transposed, x.indexed),)
    c, body = _base(inner, x.shape)
    return _constant(c, length) + _opened_run(x, body, var, inside, facts)


def _opened_all(word: Word, facts: Facts) -> Word:
    return tuple(y for x in word for y in _opened(x, facts))


def _constant(c: Expr, length: Index) -> Word:
    """The power of a coefficient."""
    return letters.number(c if c == 1 else Geometric(c, length.to_expr()))


def _opened_run(x: Run, body: Word, var: IndexVar, inside: Facts, facts: Facts) -> Word:
    """The letters that a run of this body comes to, its index called var."""
    parts = _commuting_parts(body, inside)
    if len(parts) != 1:
        split = (letters.run(part, var, x.lo, x.hi, x.transposed, x.indexed) for part in parts)
        return _opened_all(tuple(split), facts)
    if not x.indexed:
        size = next((n for n in range(1, len(body)) if body[:n] * (len(body) // n) == body), len(body))
        times = len(body) // size
        return (letters.power(body[:size], Index(times * x.hi.const, ((v, times * a) for v, a in x.hi.terms))),)
    if var not in letters.variables(body):
        return _opened(letters.power(body, x.length, x.transposed), facts)
    options = [_turned(body, letters.Binding(var, x.lo, x.hi), x.transposed, s, facts) for s in shifts(body, var)]
    c, turned = min(options, key=lambda option: option[1].key)
    return (*_constant(c, x.length), turned)


def _commuting_parts(word: Word, facts: Facts) -> list[Word]:
    """Factors of a base that commute with one another, so that a power of it is the product of theirs."""
    scalars, core = parted(word)
    return [*scalars, *([(x,) for x in core] if all(map(facts.commutes, core)) else [core])]


def _turned(body: Word, own: letters.Binding, flip: bool, shift: Shift, facts: Facts) -> tuple[Expr, Run]:
    """The run re-indexed. Where the index turns round, a product that ascends becomes one that descends."""
    lo, hi = shift.bounds(own.lo, own.hi)
    inside = facts.within(own.var, lo, hi)
    moved = letters.substitute_word(body, {own.var: shift.old(own.var)})
    if shift.sign < 0:
        moved, flip = transposed(moved), not flip
    shape = body[0].shape[0], body[0].shape[0]
    c, moved = _base(inside.settled(moved), shape)
    return c, letters.run(moved, own.var, lo, hi, flip and not all(map(inside.commutes, moved)))


# Absorption ----------------------------------------------------------------

def _step(word: Word, facts: Facts) -> Word | None:
    """One absorption, junction or rotation at the first power or product that allows one."""
    for at, x in enumerate(word):
        if isinstance(x, Run) and not x.transposed and facts.prove(x.length):
            stepped = _step_at(word[:at], x, word[at + 1:], facts)
            if stepped is not None:
                return stepped
    return None


def _step_at(left: Word, x: Run, right: Word, facts: Facts) -> Word | None:
    before = x.factor(x.lo - 1)
    if (rest := _without_end(left, before, facts)) is not None:
        return (*rest, x.stretched(1, 0), *right)
    if (rest := _without_start(right, x.factor(x.hi + 1), facts)) is not None:
        return (*left, x.stretched(0, 1), *rest)
    ahead = _opened_up(right[0], facts.outermost) if right and not x.indexed else None
    if ahead and (rest := _without_start(ahead + right[1:], x.body, facts)) is not None:
        return (*left, x.stretched(0, 1), *rest)
    for at, y in enumerate(right):
        if isinstance(y, Run) and _continues(x, y) and facts.prove(y.length):
            return (*left, x.stretched(0, y.length), *right[:at], *right[at + 1:])
        if not (facts.commutes(x) and facts.commutes(y)):
            break
    for at in _movable(before, facts):
        if (rest := _without_end(left, before[at:at + 1], facts)) is not None:
            return (*rest, x.rotated(at), *x.factor(x.hi)[at:at + 1], *right)
    peeled = _peeled(left[-1], facts.outermost) if left else None
    return None if peeled is None else _step_at(left[:-1] + peeled, x, right, facts)


def _peeled(x: Letter, facts: Facts) -> Word | None:
    """A power or product with its last factor written out; None unless it has one.

    Only the outermost hypotheses count, lest the form of a body depend on the range it is summed over. A
    product that runs the other way is left alone: two that face each other would pass factors back and forth.
    """
    if isinstance(x, Run) and not (x.transposed and x.indexed) and facts.prove(x.length - 1):
        factor = x.factor(x.hi)
        return (x.stretched(0, -1), *(transposed(factor) if x.transposed else factor))
    return None


def _opened_up(x: Letter, facts: Facts) -> Word | None:
    """A product that runs the other way with its first factor written out, for a power before it."""
    if isinstance(x, Run) and x.indexed and x.transposed and facts.prove(x.length - 1):
        return (*transposed(x.factor(x.hi)), x.stretched(0, -1))
    return None


def _movable(body: Word, facts: Facts) -> Iterator[int]:
    """The positions of the letters that can stand last; a body of one letter has none to rotate."""
    for at in range(len(body) - 1, -1, -1):
        if len(body) > 1 and (at == len(body) - 1 or facts.commutes(body[at])):
            yield at
        if not facts.commutes(body[at]):
            return


def _continues(x: Run, y: Run) -> bool:
    return x.body == y.body and x.indexed == y.indexed and not y.transposed and (not y.indexed or y.lo == x.hi + 1)


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


# Bases that are sums ----------------------------------------------------------------

def absorbed(word: Word, facts: Facts) -> list[tuple[Word, Expr]]:
    """For X = c w + Σ w', the factor that P lacks to P', w P as (P' - Σ w' P) / c; likewise on the right of P.

    This decides (A + B) (A + B)ⁿ = (A + B)ⁿ⁺¹ = (A + B)ⁿ (A + B) with all sides written out. Of the words of X that
    can lead, w is the longest; it is the same for X transposed. It is no running sum and no column times a row, and
    its c is no index, which might be zero. Nothing if there is no such w beside any P.
    """
    for flipped in (False, True):
        scalars, core = parted(transposed(word) if flipped else word)
        pieces = [*scalars, core]
        for at, piece in enumerate(pieces):
            for place, x in enumerate(piece):
                if isinstance(x, Run) and isinstance(x.body[0], Compound) and facts.prove(x.length):
                    found = _absorbed_at(pieces[:at] + pieces[at + 1:], piece[:place], x, piece[place + 1:], facts)
                    if found:
                        return [(transposed(w), c) for w, c in found] if flipped else found
    return []


def _absorbed_at(others: list[Word], left: Word, x: Run, right: Word, facts: Facts) -> list[tuple[Word, Expr]]:
    factor = transposed(x.factor(x.hi + 1)) if x.transposed else x.factor(x.lo - 1)
    missing = facts.settled(factor)
    first = max((w for w in missing if _leads(w, missing, facts)), key=_rank, default=None)
    if first is None:
        return []
    scalars, core = parted(first)
    free, rest = _without_each(others, scalars), _unrolled(left, core, facts)
    if free is None or rest is None:
        return []
    before, c = (*(y for piece in free for y in piece), *rest), missing.pop(first)
    return [((*before, x.stretched(not x.transposed, x.transposed), *right), 1 / c),
            *(((*before, *w, x, *right), -a / c) for w, a in missing.items())]


def _leads(word: Word, missing: Normal, facts: Facts) -> bool:
    """Whether a word may be replaced by the others of its sum: none of them begins or ends with it."""
    scalars, core = parted(word)
    if not word or free_indices(missing[word]) or isinstance(word[0], Running) or any(
            x.shape[1] is S.One for x in core[:-1]):
        return False
    for other in missing:
        pieces, rest = parted(other[0].body if other and isinstance(other[0], Running) else other)
        if other != word and _without_each(pieces, scalars) is not None and (
                _without_end(rest, core, facts) is not None or _without_start(rest, core, facts) is not None):
            return False
    return True


def _without_each(words: list[Word], some: list[Word]) -> list[Word] | None:
    rest = list(words)
    for word in some:
        if word not in rest:
            return None
        rest.remove(word)
    return rest


def _unrolled(word: Word, end: Word, facts: Facts) -> Word | None:
    """The word without its end, as many factors of a last power or product written out as that takes."""
    for _ in range(len(end) + 1):
        rest = _without_end(word, end, facts)
        x = word[-1] if word else None
        if rest is not None or not isinstance(x, Run) or not facts.outermost.prove(x.length - 1):
            return rest
        word = word[:-1] + ((x.stretched(-1, 0), *transposed(x.factor(x.lo))) if x.transposed
                            else (x.stretched(0, -1), *x.factor(x.hi)))
    return None
