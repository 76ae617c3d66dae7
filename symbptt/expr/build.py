"""Constructors that tidy as they build: flatten, drop units and zeros, pull scalars out. Proofs do not rest on them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from sympy import Expr, Integer, MatrixSymbol, S
from sympy.core.basic import Basic
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.nodes import At, Identity, Loss, Matrix, Plus, Scale, Times, Transpose, Zero

TIDIED = frozenset({Scale, Times, Identity, Zero})
"""What a product does not leave as it is."""


@lru_cache(maxsize=1024)
def _turned(symbol: MatrixSymbol) -> Matrix:
    """The transpose of a parameter, made once however often a sweep needs it."""
    return Transpose(symbol)


def plus(summands: Iterable[Matrix], like: Matrix | None = None) -> Matrix:
    """Their sum in the order given, nested sums flattened, zeros dropped; the zero of shape `like` if none is left."""
    flat: list[Matrix] = []
    first = like
    for s in summands:
        first = first if first is not None else s
        if type(s) is Plus:
            flat.extend(s.args)
        elif type(s) is not Zero:
            flat.append(s)
    if not flat:
        if first is None:
            raise ValueError("an empty sum needs a shape")
        return Zero(*first.shape)
    return flat[0] if len(flat) == 1 else Plus(*flat)


def scale(c: Expr | int, e: Matrix) -> Matrix:
    """C·e, scalar factors collected."""
    c = Integer(c) if isinstance(c, int) else c
    if type(e) is Scale:
        c, e = c * e.args[0], e.args[1]
    if c is S.One or type(e) is Zero:
        return e
    return Zero(*e.shape) if c is S.Zero else Scale(c, e)


def times(*factors: Matrix) -> Matrix:
    """Their matrix product, nested products flattened, scalars pulled to the front, identities dropped."""
    if len(factors) == 2 and type(factors[0]) not in TIDIED and type(factors[1]) not in TIDIED:
        return Times(*factors)
    c: Expr = S.One
    flat: list[Matrix] = []
    for f in factors:
        if type(f) is Scale:
            c, f = c * f.args[0], f.args[1]
        if type(f) is Times:
            flat.extend(f.args)
        elif type(f) is not Identity:
            flat.append(f)
    if any(type(f) is Zero for f in flat):
        return Zero(factors[0].shape[0], factors[-1].shape[1])
    if not flat:
        flat = [factors[0] if type(factors[0]) is not Scale else factors[0].args[1]]
    return scale(c, flat[0] if len(flat) == 1 else Times(*flat))


def transpose(e: Matrix) -> Matrix:
    """The transpose with the sign pushed down to the letters: (A B)ᵀ = Bᵀ Aᵀ, Aᵀᵀ = A."""
    kind = type(e)
    if kind is MatrixSymbol:
        return _turned(e)
    if kind is Transpose:
        return e.args[0]
    if kind is Times:
        return Times(*[transpose(a) for a in reversed(e.args)])
    if kind is Plus:
        return Plus(*[transpose(a) for a in e.args])
    if kind is Scale:
        return Scale(e.args[0], transpose(e.args[1]))
    if kind is Zero:
        return Zero(e.args[1], e.args[0])
    return e if kind is Identity else Transpose(e)


def loss(name: str, *arguments: Matrix) -> Loss:
    """The node ℓ(o, y) of an opaque loss."""
    return cast(Loss, Loss(Str(name), *arguments))


def children(e: Matrix) -> tuple[Matrix, ...]:
    """The operands that are matrices, in order; a family member is a leaf."""
    return () if isinstance(e, MatrixSymbol | At) else tuple(a for a in e.args if isinstance(a, MatrixExpr))


def rebuild(e: Matrix, operands: tuple[Matrix, ...]) -> Matrix:
    """The same node with other matrix operands, in order."""
    coming = iter(operands)
    args = [next(coming) if isinstance(a, MatrixExpr) else a for a in e.args] if operands else None
    return e if args is None else Basic.__new__(type(e), *args)
