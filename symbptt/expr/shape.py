"""Shapes, and the error that names both sides."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol, TypeAlias

from sympy import Expr

Shape: TypeAlias = tuple[Expr, Expr]


class Shaped(Protocol):
    """Anything that has a shape: our nodes and SymPy's matrix symbols."""

    @property
    def shape(self) -> Shape: ...


class ShapeError(TypeError):
    """Two operands do not fit. The message shows both with their shapes."""


def shape_text(shape: Shape) -> str:
    """A shape as people write it: (h × d)."""
    return f"({shape[0]} × {shape[1]})"


def described(operand: Shaped) -> str:
    """An operand beside its shape."""
    return f"{operand} {shape_text(operand.shape)}"


def common_shape(verb: str, first: Shaped, *rest: Shaped) -> Shape:
    """The shape that all operands share; used by sums."""
    for other in rest:
        if other.shape != first.shape:
            raise ShapeError(f"cannot {verb} {described(first)} and {described(other)}: the shapes differ")
    return first.shape


def product_shape(first: Shaped, *rest: Shaped) -> Shape:
    """The shape of a matrix product; every pair of neighbours must share its inner size."""
    for left, right in pairwise((first, *rest)):
        if left.shape[1] != right.shape[0]:
            raise ShapeError(f"cannot multiply {described(left)} by {described(right)}: "
                             f"the inner sizes {left.shape[1]} and {right.shape[0]} differ")
    return first.shape[0], (first, *rest)[-1].shape[1]
