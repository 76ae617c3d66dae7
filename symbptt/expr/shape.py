"""Shapes, and the error that names both sides."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

from sympy import Add, Expr, Integer
from sympy.matrices.expressions.matexpr import MatrixExpr

Shape: TypeAlias = tuple[Expr, Expr]


class ShapeError(TypeError):
    """Two operands do not fit. The message shows both with their shapes."""


def shape_text(shape: Shape) -> str:
    """A shape as people write it: (h × d)."""
    return f"({shape[0]} × {shape[1]})"


def described(operand: MatrixExpr) -> str:
    """An operand beside its shape."""
    return f"{operand} {shape_text(operand.shape)}"


def common_shape(verb: str, first: MatrixExpr, *rest: MatrixExpr) -> Shape:
    """The shape that all operands share; used by sums."""
    for other in rest:
        if other.shape != first.shape:
            raise ShapeError(f"cannot {verb} {described(first)} and {described(other)}: the shapes differ")
    return first.shape


def product_shape(first: MatrixExpr, *rest: MatrixExpr) -> Shape:
    """The shape of a matrix product; every pair of neighbours must share its inner size."""
    for left, right in pairwise((first, *rest)):
        if left.shape[1] != right.shape[0]:
            raise ShapeError(f"cannot multiply {described(left)} by {described(right)}: "
                             f"the inner sizes {left.shape[1]} and {right.shape[0]} differ")
    return first.shape[0], (first, *rest)[-1].shape[1]


def are_sizes(*sizes: Expr) -> bool:
    """Whether each is a sum of sizes with whole coefficients, of which none is negative."""
    return all(isinstance(c, Integer) and c >= 0 for n in sizes for c in Add(n).as_coefficients_dict().values())
