"""A product of columns, rows and matrices as a word: a number, 1 × 1 values, and factors split where a size is 1.

A factor that is a sum of matrices of which some belong to a sample, such as W + h xᵀ, is distributed where the product
ends in a column: no matrix of a sample is ever built for it. A factor [0 I 0] that picks rows of a matrix of parameters
is joined with it, so that it becomes a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from sympy import Expr, MatrixSymbol, S

from symbptt.expr.nodes import (
    ONE,
    Apply,
    At,
    Block,
    Derivative,
    Diagonal,
    Hadamard,
    Identity,
    LossGradient,
    Matrix,
    Multiple,
    Node,
    Ones,
    Plus,
    Power,
    Scale,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.walk import visit

UNIT_SHAPE = (ONE, ONE)


@dataclass(frozen=True)
class Word:
    """number · Π scalars · Π factors. No factor is a product, a multiple or an identity."""

    number: Expr
    scalars: tuple[Matrix, ...]
    factors: tuple[Matrix, ...]

    @property
    def segments(self) -> list[tuple[Matrix, ...]]:
        """The factors, split where two neighbours share a size of 1: at most the first and the last are no scalars."""
        found: list[list[Matrix]] = [[]]
        for factor in self.factors:
            if found[-1] and factor.shape[0] == 1 and not (placed(found[-1][-1]) and factor.shape == UNIT_SHAPE):
                found.append([])
            found[-1].append(factor)
        return [tuple(segment) for segment in found if segment]


def turned(e: Matrix) -> Matrix:
    """The transpose, pushed down to the letters; a 1 × 1 value is its own."""
    if e.shape == UNIT_SHAPE:
        return e
    kind = type(e)
    if kind is Transpose:
        return e.args[0]
    if kind is Times:
        return Times(*[turned(a) for a in reversed(e.args)])
    if kind is Plus or (kind is Hadamard and e.shape[0] == ONE):
        return kind(*[turned(a) for a in e.args])
    if kind in (Scale, Multiple):
        return kind(e.args[0], turned(e.args[1]))
    if kind is Power:
        return Power(turned(e.args[0]), e.args[1])
    if kind in (Zero, Ones):
        return kind(*reversed(e.args))
    if kind is Apply and e.shape[0] == ONE:
        return Apply(e.args[0], turned(e.args[1]))
    return e if kind in (Identity, Diagonal) else Transpose(e)


def picked(e: Matrix) -> tuple[Expr, Expr] | None:
    """(start, stop) of the rows that a block row [0 I 0] picks, whatever the number of zeros; None for all else."""
    if type(e) is not Block or len(e.rows) != 1 or any(type(c) not in (Identity, Zero) for c in e.rows[0]):
        return None
    places = [k for k, cell in enumerate(e.rows[0]) if type(cell) is Identity]
    if len(places) != 1:
        return None
    start = sum((cell.shape[1] for cell in e.rows[0][:places[0]]), S.Zero)
    return start, start + e.rows[0][places[0]].shape[1]


def placed(e: Matrix) -> tuple[Expr, Expr] | None:
    """(start, stop) of the rows among zeros where the transpose of such a block row puts what it is given."""
    return picked(e.args[0]) if type(e) is Transpose else None


def diagonal(e: Matrix) -> bool:
    """Whether it is a diagonal matrix, larger than 1 × 1, by the way it is written."""
    if e.shape == UNIT_SHAPE or e.shape[0] != e.shape[1]:
        return False
    if type(e) in (Plus, Times):
        return all(map(diagonal, e.args))
    if type(e) in (Scale, Multiple):
        return diagonal(e.args[1])
    return diagonal(e.args[0]) if type(e) is Power else type(e) in (Diagonal, Identity)


def constant(e: Matrix) -> Expr | None:
    """The number that every entry is, where that is written down; None for all else."""
    return _number(e, Hadamard, lambda a: S.One if type(a) is Ones else None)


def even(e: Matrix) -> Expr | None:
    """The number that every entry of a diagonal is, where that is written down; None for all else."""
    return _number(e, Times, _even_leaf)


def _even_leaf(e: Matrix) -> Expr | None:
    if type(e) is Multiple:
        factor, inside = constant(e.args[0]), even(e.args[1])
        return None if factor is None or inside is None else factor * inside
    return S.One if type(e) is Identity else constant(e.args[0]) if type(e) is Diagonal else None


def _number(e: Matrix, product: type[Node], leaf: Callable[[Matrix], Expr | None]) -> Expr | None:
    kind = type(e)
    if kind in (Scale, Transpose):
        inside = _number(e.args[-1], product, leaf)
        return inside if inside is None or kind is Transpose else e.args[0] * inside
    if kind not in (Plus, product):
        return leaf(e)
    total = S.Zero if kind is Plus else S.One
    for a in e.args:
        value = _number(a, product, leaf)
        if value is None:
            return None
        total = total + value if kind is Plus else total * value
    return total


def plain(e: Matrix, static: Collection[str] = ()) -> bool:
    """Whether it is a matrix with two axes and no samples: parameters, and what is made of such."""
    kind = type(e)
    if isinstance(e, MatrixSymbol):
        return bool(e.shape[1] != 1) and e.name not in static
    if kind is Transpose:
        return plain(e.args[0], static) and (isinstance(e.args[0], MatrixSymbol) or ONE not in e.shape)
    if kind in (Plus, Times):
        return all(plain(a, static) for a in e.args)
    if kind is Scale:
        return plain(e.args[1], static)
    if kind is Power:
        return bool(e.shape != UNIT_SHAPE) and not diagonal(e) and not batched(e.args[0], static)
    if kind is Block:
        return bool(e.shape[1] != 1) and not batched(e, static)
    if kind in (Hadamard, Apply):
        return ONE not in e.shape and not batched(e, static)
    return kind is Identity and bool(e.shape != UNIT_SHAPE)


def batched(e: Matrix, static: Collection[str] = ()) -> bool:
    """Whether it has samples; `static` names the symbols without a time that have."""
    return any(isinstance(node, At | Derivative | LossGradient) or (isinstance(node, MatrixSymbol) and
                                                                    node.name in static) for node in visit(e))


def words(e: Matrix, static: Collection[str] = (), apart: bool = True) -> Iterator[Word]:
    """The words whose sum e is; none for a zero.

    Sums of matrices with samples are distributed; without `apart` only those that rows are picked of or put among.
    """
    number, scalars, factors = _flat(e)
    if any(type(f) is Zero for f in (*scalars, *factors)):
        return
    for k, factor in enumerate(factors):
        if type(factor) is Plus and 1 not in factor.shape and not plain(factor, static) and not diagonal(factor) \
                and (apart or any(_moves_rows(a) for a in factor.args)):
            for summand in factor.args:
                for word in words(_product(*factors[:k], summand, *factors[k + 1:]), static, apart):
                    yield Word(number * word.number, (*scalars, *word.scalars), word.factors)
            return
    yield Word(number, tuple(scalars), tuple(_joined(factors, static)))


def _product(*factors: Matrix) -> Matrix:
    return factors[0] if len(factors) == 1 else Times(*factors)


def _moves_rows(e: Matrix) -> bool:
    _, _, factors = _flat(e)
    return bool(factors) and (placed(factors[0]) is not None or picked(factors[-1]) is not None)


def _joined(factors: list[Matrix], static: Collection[str]) -> Iterator[Matrix]:
    """The factors, those that pick rows or columns of a matrix of parameters joined with it."""
    waiting: Matrix | None = None
    for f in factors:
        if waiting is not None and ((picked(waiting) and _rests(f, static)) or (placed(f) and _rests(waiting, static))):
            waiting = Times(*(a for part in (waiting, f) for a in (part.args if type(part) is Times else (part,))))
        else:
            if waiting is not None:
                yield waiting
            waiting = f
    if waiting is not None:
        yield waiting


def _rests(e: Matrix, static: Collection[str]) -> bool:
    """Whether it is a matrix of parameters that rows can be picked of."""
    return plain(e, static) and not diagonal(e) and not picked(e) and not placed(e)


def _flat(e: Matrix) -> tuple[Expr, list[Matrix], list[Matrix]]:
    """(number, 1 × 1 values, factors) of a product, however nested."""
    kind = type(e)
    if kind is Scale:
        number, scalars, factors = _flat(e.args[1])
        return e.args[0] * number, scalars, factors
    if kind is Multiple:
        number, scalars, factors = _flat(e.args[1])
        return number, [e.args[0], *scalars], factors
    if kind is Diagonal and e.shape == UNIT_SHAPE:
        return _flat(e.args[0])
    if kind is Transpose and (body := turned(e.args[0])) != e:
        return _flat(body)
    if kind is Ones:
        ends = [Ones(e.shape[0], ONE), Ones(ONE, e.shape[1])]
        return S.One, [], [f for f in ends if f.shape != UNIT_SHAPE]
    if kind is Times:
        flat = [_flat(a) for a in e.args]
        number = S.One
        for c, _, _ in flat:
            number = number * c
        return number, [s for _, found, _ in flat for s in found], [f for _, _, found in flat for f in found]
    return S.One, [], [] if kind is Identity else [e]


def rebuilt(word: Word, factors: tuple[Matrix, ...], number: Expr | None = None) -> Matrix:
    """The word with other factors, as an expression."""
    body = factors[0] if len(factors) == 1 else Times(*factors)
    for s in word.scalars if number is None else ():
        body = Multiple(s, body)
    c = word.number if number is None else number
    return body if c == 1 else Scale(c, body)
