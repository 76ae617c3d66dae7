"""A product of columns, rows and matrices as a word: a number, 1 × 1 values, and factors split where a size is 1.

A factor that is a sum of matrices of which some belong to a sample, such as W + h xᵀ, is distributed: no matrix of a
sample is ever built for a product that ends in a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sympy import Expr, MatrixSymbol, S

from symbptt.expr.nodes import (
    ONE,
    At,
    Derivative,
    Identity,
    LossGradient,
    Matrix,
    Multiple,
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
            if found[-1] and factor.shape[0] == 1:
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
    if kind is Plus:
        return Plus(*[turned(a) for a in e.args])
    if kind in (Scale, Multiple):
        return kind(e.args[0], turned(e.args[1]))
    if kind is Power:
        return Power(turned(e.args[0]), e.args[1])
    if kind is Zero:
        return Zero(*reversed(e.args))
    return e if kind is Identity else Transpose(e)


def plain(e: Matrix) -> bool:
    """Whether it is a matrix with two axes and no samples: parameters, their transposes, powers and sums."""
    if isinstance(e, MatrixSymbol):
        return bool(e.shape[1] != 1)
    if type(e) is Transpose:
        return isinstance(e.args[0], MatrixSymbol) and plain(e.args[0])
    if type(e) in (Plus, Times):
        return all(plain(a) for a in e.args)
    if type(e) is Scale:
        return plain(e.args[1])
    if type(e) is Power:
        return bool(e.shape != UNIT_SHAPE) and not batched(e.args[0])
    return type(e) is Identity and bool(e.shape != UNIT_SHAPE)


def batched(e: Matrix) -> bool:
    """Whether it has samples."""
    return any(isinstance(node, At | Derivative | LossGradient) for node in visit(e))


def words(e: Matrix) -> Iterator[Word]:
    """The words whose sum e is; none for a zero."""
    number, scalars, factors = _flat(e)
    if any(type(f) is Zero for f in (*scalars, *factors)):
        return
    for k, factor in enumerate(factors):
        if type(factor) is Plus and 1 not in factor.shape and not plain(factor):
            for summand in factor.args:
                for word in words(_product(*factors[:k], summand, *factors[k + 1:])):
                    yield Word(number * word.number, (*scalars, *word.scalars), word.factors)
            return
    yield Word(number, tuple(scalars), tuple(factors))


def _product(*factors: Matrix) -> Matrix:
    return factors[0] if len(factors) == 1 else Times(*factors)


def _flat(e: Matrix) -> tuple[Expr, list[Matrix], list[Matrix]]:
    """(number, 1 × 1 values, factors) of a product, however nested."""
    kind = type(e)
    if kind is Scale:
        number, scalars, factors = _flat(e.args[1])
        return e.args[0] * number, scalars, factors
    if kind is Multiple:
        number, scalars, factors = _flat(e.args[1])
        return number, [e.args[0], *scalars], factors
    if kind is Transpose and (body := turned(e.args[0])) != e:
        return _flat(body)
    if kind is Times:
        flat = [_flat(a) for a in e.args]
        number = S.One
        for c, _, _ in flat:
            number = number * c
        return number, [s for _, found, _ in flat for s in found], [f for _, _, found in flat for f in found]
    return S.One, [], [] if kind is Identity else [e]
