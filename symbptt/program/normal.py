"""Columns rewritten so that every product of a matrix of parameters and a column stands alone.

In what comes out, a matrix of parameters stands in front of a letter: a member of a family. What stood there instead
becomes a family of its own, once, however often it occurs; that is how δ_t = φ'(z_t) ∘ ∂L/∂h_t comes to be computed
once for the recursion, the inputs and every weight gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sympy import MatrixSymbol

from symbptt.expr.build import children, rebuild
from symbptt.expr.index import index, t
from symbptt.expr.nodes import (
    ONE,
    Apply,
    At,
    Block,
    Diagonal,
    Hadamard,
    Matrix,
    Multiple,
    Ones,
    Plus,
    Scale,
    Times,
)
from symbptt.expr.walk import substitute, visit
from symbptt.program.words import Word, constant, diagonal, even, picked, placed, plain, words

NOW = index(t)


@dataclass(frozen=True)
class Row:
    """family[t] = right, for all t; labels are those of the equations of the derivation that it computes."""

    family: MatrixSymbol
    right: Matrix
    labels: tuple[str, ...] = ()


@dataclass
class Normal:
    """The rewriting; `fresh` gives a new family of a size, `rows` are those that were made on the way."""

    fresh: Callable[[str, Matrix], MatrixSymbol]
    static: frozenset[str]
    rows: dict[MatrixSymbol, Row] = field(default_factory=dict)
    known: dict[Matrix, MatrixSymbol] = field(default_factory=dict)
    hint: str = "part"

    def column(self, e: Matrix) -> Matrix:
        """A column in this form."""
        if isinstance(e, MatrixSymbol | At) or constant(e) is not None or e.shape[1] != ONE:
            return e
        kind = type(e)
        if kind is Plus:
            return collected([self.column(a) for a in e.args])
        if kind is Hadamard:
            return flat(*map(self.column, e.args))
        if kind is Apply or kind is Scale:
            return kind(e.args[0], self.column(e.args[1]))
        if kind is Multiple:
            return Multiple(self.column(e.args[0]), self.column(e.args[1]))
        if kind is Block:
            return rebuild(e, tuple(map(self.column, children(e))))
        if kind is not Times:
            return e
        found = [self._word(word) for word in words(e, self.static)]
        if not found or None in found:
            return e
        return found[0] if len(found) == 1 else collected([a for a in found if a is not None])

    def _word(self, word: Word) -> Matrix | None:
        """A word from its end: diagonals as elementwise products, matrices of parameters in front of a letter."""
        if not word.factors or word.factors[-1].shape[1] != ONE or len(word.segments) > 1:
            return None
        *front, last = word.factors
        body = self.column(last)
        for f in reversed(front):
            if diagonal(f):
                body = self._scaled(f, body)
            elif picked(f) or placed(f) or not plain(f, self.static) or not timed(body):
                body = Times(f, *(body.args if type(body) is Times else (body,)))
            else:
                body = Times(f, self.letter(body))
        for s in word.scalars:
            body = Multiple(self.column(s), body)
        return body if word.number == 1 else Scale(word.number, body)

    def _scaled(self, f: Matrix, body: Matrix) -> Matrix:
        number = even(f)
        if number is not None:
            return Scale(number, body) if number != 1 else body
        if type(f) is not Diagonal:
            return Times(f, *(body.args if type(body) is Times else (body,)))
        return flat(self.column(f.args[0]), body)

    def letter(self, e: Matrix, moved: bool = True) -> Matrix:
        """A letter with this value: the column itself if it is one, else a member of the family that is made for it.

        What reads a later step is `moved` there, unless it may not be zero behind the last step.
        """
        if isinstance(e, At | MatrixSymbol):
            return e
        later = max(latest(e), 0) if moved else 0
        base = shifted(e, -later)
        if base not in self.known:
            family = self.fresh(self.hint, base)
            self.known[base] = family
            self.rows[family] = Row(family, base)
        return At(self.known[base], NOW + later)


def flat(*factors: Matrix) -> Matrix:
    """The elementwise product of two or more columns, nested ones flattened."""
    return Hadamard(*[b for a in factors for b in (a.args if type(a) is Hadamard else (a,))])


def collected(summands: Iterable[Matrix]) -> Matrix:
    """A sum in which a ∘ x + b ∘ x + x stands as (a + b + 1) ∘ x, for a letter x at the end."""
    groups: dict[Matrix, list[Matrix | None]] = {}
    for e in summands:
        for a in e.args if type(e) is Plus else (e,):
            number, body = (a.args[0], a.args[1]) if type(a) is Scale else (None, a)
            if type(body) is not Hadamard or not isinstance(body.args[-1], At):
                groups.setdefault(a, []).append(None)
                continue
            *front, last = body.args
            factor = front[0] if len(front) == 1 else Hadamard(*front)
            groups.setdefault(last, []).append(factor if number is None else Scale(number, factor))
    found = [_joined(key, factors) for key, factors in groups.items()]
    return found[0] if len(found) == 1 else Plus(*found)


def _joined(key: Matrix, factors: list[Matrix | None]) -> Matrix:
    """Σ factors ∘ key; None stands for the factor 1."""
    if factors == [None]:
        return key
    if len(factors) > 1:
        return flat(Plus(*[Ones(*key.shape) if a is None else a for a in factors]), key)
    (factor,) = factors
    assert factor is not None
    number, body = (factor.args[0], factor.args[1]) if type(factor) is Scale else (None, factor)
    return flat(body, key) if number is None else Scale(number, flat(body, key))


def timed(e: Matrix) -> bool:
    """Whether a member of a family occurs."""
    return any(isinstance(node, At) for node in visit(e))


def members(e: Matrix) -> Iterator[At]:
    """The members of families that occur."""
    return (node for node in visit(e) if isinstance(node, At))


def offset(member: At) -> int:
    """How much later than t it stands."""
    return int((member.time - t).const)


def latest(e: Matrix) -> int:
    """How much later than t its latest member stands."""
    return max((offset(m) for m in members(e) if m.time.terms), default=0)


def shifted(e: Matrix, by: int) -> Matrix:
    """The expression at t + by."""
    return e if by == 0 else substitute(e, {t: NOW + by})


def swapped(e: Matrix, known: Callable[[Matrix], Matrix | None]) -> Matrix:
    """The expression with other leaves or parts, where `known` has one."""
    found = known(e)
    if found is not None:
        return found
    operands = children(e)
    return rebuild(e, tuple(swapped(a, known) for a in operands)) if operands else e


def by_table(table: Mapping[Matrix, Matrix]) -> Callable[[Matrix], Matrix | None]:
    """A look-up for `swapped`: a family's member at t + k where the table has the member at t."""
    def look(e: Matrix) -> Matrix | None:
        if isinstance(e, At) and e.time.terms and (value := table.get(At(e.family, NOW))) is not None:
            return shifted(value, offset(e))
        return None

    return look
