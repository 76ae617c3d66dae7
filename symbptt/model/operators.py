"""What + - * @ / ** and row slices mean between numbers and matrices; the file reader and SymPy reader share them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sympy import Expr, S
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.build import apply, children, hadamard, plus, rebuild, scale, selection, times, transpose
from symbptt.expr.nodes import ONE, At, Matrix, Multiple, Ones, Plus, Scale, Transpose, is_scalar
from symbptt.expr.shape import ShapeError, common_shape, described, product_shape
from symbptt.expr.walk import visit
from symbptt.model.functions import VECTOR_FUNCTIONS
from symbptt.model.parts import ModelError
from symbptt.model.reading import Value, is_size

LARGEST_POWER = 100
"""The largest exponent that is read."""


def summed(terms: Iterable[Matrix]) -> Matrix:
    """The sum of matrices of one shape, all its multiples of 1 1ᵀ taken together: z + 1 + 1 is z + 2."""
    whole = plus(terms)
    if not isinstance(whole, Plus):
        return whole
    numbers = [n for n in map(_number, whole.args) if n is not None]
    if len(numbers) < 2:
        return whole
    total = scale(sum(numbers, S.Zero), Ones(*whole.shape))
    place = next(k for k, term in enumerate(whole.args) if _number(term) is not None)
    rest = [None if _number(term) is not None else term for term in whole.args]
    rest[place] = total
    return plus([term for term in rest if term is not None])


def _number(e: Matrix) -> Expr | None:
    """The c of c 1 1ᵀ."""
    c, body = e.args if isinstance(e, Scale) else (S.One, e)
    return c if isinstance(body, Ones) else None


def transposed(e: Matrix) -> Matrix:
    """The transpose; a matrix of ones stays one."""
    return _ones_turned(transpose(e))


def _ones_turned(e: Matrix) -> Matrix:
    if isinstance(e, Transpose) and isinstance(e.args[0], Ones):
        return Ones(*e.shape)
    return rebuild(e, tuple(map(_ones_turned, children(e))))


def multiple(s: Matrix, whole: Matrix) -> Matrix:
    """s A for a 1 × 1 matrix s, scalar factors pulled to the front."""
    (c, s), (d, whole) = (e.args if isinstance(e, Scale) else (S.One, e) for e in (s, whole))
    return scale(c * d, Multiple(s, whole))


def rows(whole: Matrix, start: Expr, stop: Expr) -> Matrix:
    """A[start:stop], the rows from `start` on and before `stop`, counted from 0.

    Raises:
        ModelError: there are no such rows, or nobody can tell for every size.
    """
    total = whole.shape[0]
    if not is_size(stop - start):
        some = "" if start == stop else " for some sizes"
        raise ModelError(f"{start}:{stop} holds no row{some}; rows a:b go from a to before b, counted from 0")
    if not all(n == 0 or is_size(n) for n in (start, total - stop)):
        raise ModelError(f"rows {start}:{stop} reach beyond {described(whole)}, or do for some sizes; "
                         f"it has rows 0:{total}")
    return times(selection(start, stop - start, total), whole)


def elementwise(what: str, e: Matrix) -> Matrix:
    """The matrix, if it may be mapped or multiplied entry by entry.

    Raises:
        ModelError: it is no column and changes with time.
    """
    if e.shape[1] != ONE and any(isinstance(node, At) for node in visit(e)):
        raise ModelError(f"{what} of {described(e)}, which changes with time: columns, and matrices of parameters, are "
                         "mapped and multiplied entry by entry; give each column a name by an equation of its own")
    return e


def _together(a: Value, b: Value) -> tuple[Any, Any]:
    """Two summands; a number beside a matrix stands for that number in every entry."""
    if isinstance(a, MatrixExpr) == isinstance(b, MatrixExpr):
        return a, b
    if isinstance(a, MatrixExpr):
        return a, scale(b, Ones(*a.shape))
    return scale(a, Ones(*b.shape)), b


def add(a: Any, b: Any) -> Value:
    """A + b."""
    a, b = _together(a, b)
    if not isinstance(a, MatrixExpr):
        return a + b
    common_shape("add", a, b)
    return summed((a, b))


def subtract(a: Any, b: Any) -> Value:
    """A - b."""
    a, b = _together(a, b)
    if not isinstance(a, MatrixExpr):
        return a - b
    if a.shape != b.shape:
        raise ShapeError(f"cannot subtract {described(b)} from {described(a)}: the shapes differ")
    return summed((a, scale(-1, b)))


def multiply(a: Any, b: Any) -> Value:
    """A * b: a number times anything, or two matrices of one shape entry by entry, or a 1 × 1 one times any."""
    if isinstance(a, MatrixExpr) and isinstance(b, MatrixExpr):
        if a.shape == b.shape:
            return elementwise("the elementwise product", hadamard(a, b))
        if (ONE, ONE) in (a.shape, b.shape):
            return multiple(a, b) if a.shape == (ONE, ONE) else multiple(b, a)
        raise ModelError(f"* between {described(a)} and {described(b)}: the elementwise product takes two of one "
                         "shape; @ is the matrix product")
    number, other = (b, a) if isinstance(a, MatrixExpr) else (a, b)
    if number == 0 or other == 0:
        raise ModelError(f"0 * {other if number == 0 else number} is nothing; leave the term out")
    return scale(number, other) if isinstance(other, MatrixExpr) else number * other


def multiply_matrices(a: Any, b: Any) -> Value:
    """A @ b."""
    for operand in (a, b):
        if not isinstance(operand, MatrixExpr):
            raise ModelError(f"@ is the matrix product, but {operand} is a number; write *")
    product_shape(a, b)
    return times(a, b)


def divide(a: Any, b: Any) -> Value:
    """A / b for a number or a constant b, or a product of such."""
    if b == 0:
        raise ModelError("division by zero")
    if isinstance(b, MatrixExpr) or not is_scalar(1 / b):
        raise ModelError(f"cannot divide by {described(b) if isinstance(b, MatrixExpr) else b}: "
                         "only by a number such as 2, a constant, or a product of these")
    return scale(1 / b, a) if isinstance(a, MatrixExpr) else a / b


def power(a: Any, b: Any) -> Value:
    """A ** b for scalars and a whole number b."""
    if isinstance(a, MatrixExpr):
        raise ModelError(f"** of {described(a)}: only numbers and constants have powers; square(v) squares every "
                         "entry, W @ W is the matrix product")
    exponent = b * a.exp if not isinstance(b, MatrixExpr) and a.is_Pow else b
    if isinstance(b, MatrixExpr) or not b.is_Integer or abs(exponent) > LARGEST_POWER:
        raise ModelError(f"** {b}: an exponent is a whole number from -{LARGEST_POWER} to {LARGEST_POWER}")
    if b < 0:
        return divide(S.One, power(a, -b))
    return a**b


def applied(name: str, z: Matrix) -> Matrix:
    """The function of that name of z.

    Raises:
        ModelError: z has a shape that the function does not take.
    """
    if name in VECTOR_FUNCTIONS and z.shape[1] != ONE:
        raise ModelError(f"{name} of {described(z)}: it takes a column")
    return apply(name, elementwise(name, z))
