"""Constructors that tidy as they build: flatten, drop units and zeros, pull scalars out. Proofs do not rest on them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from sympy import Expr, Integer, MatrixSymbol, S
from sympy.core.basic import Basic
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.nodes import (
    ONE,
    Apply,
    At,
    Block,
    Diagonal,
    Hadamard,
    Identity,
    Loss,
    Matrix,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
    block,
)

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
    return e if kind in (Identity, Diagonal) else Transpose(e)


def hadamard(a: Matrix, b: Matrix) -> Matrix:
    """The elementwise product, nested products flattened, scalars pulled to the front, ones dropped."""
    c: Expr = S.One
    flat: list[Matrix] = []
    for f in (a, b):
        if type(f) is Scale:
            c, f = c * f.args[0], f.args[1]
        flat.extend(f.args if type(f) is Hadamard else [] if _all_ones(f) else [f])
    if any(type(f) is Zero for f in flat):
        return Zero(*a.shape)
    return scale(c, Hadamard(*flat) if len(flat) > 1 else flat[0] if flat else Ones(*a.shape))


def _all_ones(e: Matrix) -> bool:
    """Whether it is a matrix of ones, written so or as 1 1ᵀ."""
    return type(e) is Ones or (type(e) is Times and all(
        Ones in (type(a), type(a.args[0])) and ONE in a.shape for a in e.args))


def weighted(d: Matrix, g: Matrix) -> Matrix:
    """The elementwise product d ∘ g; diag(d) g for columns, g diag(dᵀ) for rows, so that it is a matrix product in g.

    A 1 × 1 factor stands as it is; a sum stays under the diagonal, so that products do not distribute over it.
    """
    c, d = d.args if type(d) is Scale else (S.One, d)
    if type(d) is Zero or ONE not in d.shape:
        return hadamard(scale(c, d), g)
    if d.shape[1] != ONE:
        return transpose(weighted(transpose(scale(c, d)), transpose(g)))
    number = d.shape == (ONE, ONE) and type(d) is not Plus
    return scale(c, g if type(d) is Ones else times(d if number else Diagonal(d), g))


def apply(name: str, e: Matrix) -> Apply:
    """The node φ(e) of a function by its name."""
    return cast(Apply, Apply(Str(name), e))


def stacked(columns: Iterable[Matrix]) -> Matrix:
    """Columns below one another."""
    cells = list(columns)
    return block([[c] for c in cells]) if len(cells) > 1 else cells[0]


def selection(start: Expr, size: Expr, total: Expr) -> Matrix:
    """[0 I 0], which picks the rows start + 1 … start + size of what has `total` rows."""
    sides = (Zero(size, start), Identity(size), Zero(size, total - start - size))
    cells = [c for c in sides if c.shape[1] != S.Zero]
    return block([cells]) if len(cells) > 1 else cells[0]


def selected(e: Matrix) -> tuple[Expr, Expr] | None:
    """(start, stop) of the rows that a matrix [0 I 0] picks; None for any other matrix."""
    if type(e) is not Block or len(e.rows) != 1 or sum(type(c) is Identity for c in e.rows[0]) != 1 \
            or any(type(c) not in (Identity, Zero) for c in e.rows[0]) or len(e.rows[0]) > 3:
        return None
    place = next(k for k, c in enumerate(e.rows[0]) if type(c) is Identity)
    start = sum((c.shape[1] for c in e.rows[0][:place]), S.Zero)
    return start, start + e.rows[0][place].shape[1]


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
