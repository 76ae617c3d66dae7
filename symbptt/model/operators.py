"""What + - * @ / ** and row slices mean between numbers and matrices; the file reader and SymPy reader share them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sympy import Expr, MatrixSymbol, S
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.build import apply, children, hadamard, plus, rebuild, scale, selection, times, transpose
from symbptt.expr.nodes import ONE, At, Matrix, Multiple, Ones, Plus, Scale, Times, Transpose, is_scalar
from symbptt.expr.shape import Shape, ShapeError, described
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
        if all(n == 0 or is_size(n + 1) for n in (start, total - stop)):
            raise ModelError(f"rows {start}:{stop} may be all of {described(whole)}, for a size of 1; what is left "
                             "must have a row for every size: declare a size as a sum, such as k + 1")
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
    """Two summands; a number beside a matrix and a 1 × 1 value beside a column stand in every entry."""
    if isinstance(a, MatrixExpr) and isinstance(b, MatrixExpr):
        return _spread(a, b), _spread(b, a)
    if isinstance(a, MatrixExpr):
        return a, scale(b, Ones(*a.shape))
    return (scale(a, Ones(*b.shape)), b) if isinstance(b, MatrixExpr) else (a, b)


def _spread(s: Matrix, beside: Matrix) -> Matrix:
    """s 1 for a 1 × 1 matrix s beside a column of another size."""
    spread = s.shape == (ONE, ONE) != beside.shape and beside.shape[1] == ONE
    return multiple(s, Ones(*beside.shape)) if spread else s


def redeclared(e: Matrix, shape: Shape) -> str:
    """W declared "h, d", if e is W or W A and has the shape once W is declared so; else nothing."""
    first, *rest = e.args if isinstance(e, Times) else (e,)
    if not isinstance(first, MatrixSymbol) or (rest and e.shape[1] != shape[1]):
        return ""
    rows, columns = shape[0], first.shape[1] if rest else shape[1]
    return f'{first} declared "{rows}{"" if columns == ONE else f", {columns}"}"'


def fitting_sum(a: Matrix, b: Matrix) -> str:
    """The end of a message: what would make a and b summands, where that is plain."""
    if (ONE, ONE) in (a.shape, b.shape):
        return "; a 1 × 1 value is added to columns, not to other matrices"
    if _short(b) and b.shape[::-1] == a.shape:
        return f"; {transposed(b)} would fit"
    if _short(a) and a.shape[::-1] == b.shape:
        return f"; {transposed(a)} would fit"
    return would_fit(redeclared(b, a.shape), redeclared(a, b.shape))


def fitting_product(a: Matrix, b: Matrix) -> str:
    """The end of a message: what would make a and b factors, where that is plain."""
    if not (_short(a) and _short(b)):
        return ""
    if a.shape[1] == ONE and b.shape[1] != ONE and b.shape[1] == a.shape[0]:
        return f"; {b} @ {a} would fit"
    turned = [f"{transposed(a)} @ {b}" if a.shape[0] == b.shape[0] else "",
              f"{a} @ {transposed(b)}" if a.shape[1] == b.shape[1] else ""]
    return would_fit(*turned, redeclared(a, (a.shape[0], b.shape[0])) if a.shape[1] != ONE else "")


def would_fit(*ways: str) -> str:
    """The end of a message that names ways out, if there is one."""
    found = " or ".join(filter(None, ways))
    return f"; {found} would fit" if found else ""


def _short(e: Matrix) -> bool:
    return isinstance(e.args[0] if isinstance(e, Transpose) else e, At | MatrixSymbol)


def add(a: Any, b: Any) -> Value:
    """A + b."""
    a, b = _together(a, b)
    if not isinstance(a, MatrixExpr):
        return a + b
    if a.shape != b.shape:
        raise ShapeError(f"cannot add {described(a)} and {described(b)}: the shapes differ{fitting_sum(a, b)}")
    return summed((a, b))


def subtract(a: Any, b: Any) -> Value:
    """A - b."""
    a, b = _together(a, b)
    if not isinstance(a, MatrixExpr):
        return a - b
    if a.shape != b.shape:
        raise ShapeError(f"cannot subtract {described(b)} from {described(a)}: the shapes differ{fitting_sum(a, b)}")
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
    if a.shape[1] != b.shape[0]:
        raise ShapeError(f"cannot multiply {described(a)} by {described(b)}: the inner sizes {a.shape[1]} and "
                         f"{b.shape[0]} differ{fitting_product(a, b)}")
    return _pulled(a, b)


def _pulled(a: Matrix, b: Matrix) -> Matrix:
    """A B, where (s A) B is s (A B), and A (s B) too unless s B is a column."""
    for factor, other in ((a, b), (b, a)):
        c, body = factor.args if isinstance(factor, Scale) else (S.One, factor)
        if isinstance(body, Multiple) and (factor is a or factor.shape[1] != ONE):
            s, whole = body.args
            product: Any = multiply(s, _pulled(whole, other) if factor is a else _pulled(other, whole))
            return scale(c, product)
    return times(a, b)


def check_multiples(e: Matrix) -> Matrix:
    """The expression, if all that is multiplied by 1 × 1 variables are columns.

    Raises:
        ModelError: it is another matrix; its derivative by s would be a trace.
    """
    for node in visit(e):
        if isinstance(node, Multiple) and node.shape[1] != ONE:
            s, whole = node.args
            raise ModelError(f"{s} (1 × 1) times {described(whole)}: a value that is no constant multiplies columns; "
                             f"write s * (A @ x) + B @ x for (s * A + B) @ x")
    return e


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
