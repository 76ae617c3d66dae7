"""The closed vocabulary of expressions.

Every node is a SymPy `MatrixExpr` made by a plain constructor: it hashes, compares and prints, and never simplifies.
The leaves are SymPy's `MatrixSymbol` (a parameter, static data, or the family that a time index selects from) and the
node classes `At`, `Loss`, `LossGradient`, `Adjoint`, `Zero` and `Identity`. The classes do not differentiate, print to
documents or evaluate; tables elsewhere do, one row a class, and tests prove the tables total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias, cast

from sympy import Add, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol
from sympy.core.basic import Basic
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.index import Index, IndexLike, IndexVar, T, index
from symbptt.expr.shape import Shape, ShapeError, are_sizes, common_shape, described, product_shape

ONE = Integer(1)
NUMBERS = (Integer, Rational, *map(type, (ONE, Integer(0), Integer(-1), Rational(1, 2))))
"""The classes of rational numbers."""


class Node(MatrixExpr):
    """What all nodes share. Arguments and shapes are checked when the shape is first asked for; it is remembered."""

    __slots__ = ("_free", "_shape")
    _shape: Shape
    _free: frozenset[IndexVar]
    rule: ClassVar[Callable[..., Shape]]
    """The shape from the arguments: as many as the class takes, each of its kind."""

    __new__ = Basic.__new__

    @property
    def shape(self) -> Shape:
        """(rows, columns).

        Raises:
            ShapeError: the operands do not fit; the message shows both with their shapes.
            TypeError: there are too many arguments, or too few.
        """
        if not hasattr(self, "_shape"):
            self._shape = type(self).rule(*self._args)
        return self._shape


Matrix: TypeAlias = Node | MatrixSymbol
"""Whatever may stand as an operand."""


def operand(place: int, doc: str) -> Any:
    """A property that names one of the arguments of a node."""
    return property(lambda e: e._args[place], doc=doc)


def checked(shape: Shape, *parts: object, kind: tuple[type, ...]) -> Shape:
    """The shape of an expression that has such parts, when each of them is of one of these classes."""
    for part in parts:
        if type(part) not in kind:
            raise ShapeError(f"{part} is no {' or '.join(k.__name__ for k in kind)}")
    return shape


def number(*parts: Matrix) -> Shape:
    """1 × 1, when each of these is."""
    return common_shape("take for numbers", Identity(ONE), *parts)


class At(Node):
    """v_s, the member of the family v at time s. Args: the family's symbol, an index form."""

    def __new__(cls, family: MatrixSymbol, time: IndexLike) -> At:
        return cast(At, Basic.__new__(cls, family, index(time)))

    family = operand(0, "The family's symbol.")
    time = operand(1, "The time index.")
    rule = staticmethod(lambda v, s: checked(checked(v.shape, v, kind=(MatrixSymbol,)), s, kind=(Index,)))


class Loss(Node):
    """ℓ(o, y), an opaque scalar loss of one step, 1 × 1. Args: its name, then its arguments."""

    name = property(lambda e: e._args[0].name, doc="The name of the loss function.")
    rule = staticmethod(lambda name, *of: checked((ONE, ONE) if all(a.shape for a in of) else of, name, kind=(Str,)))


class LossGradient(Node):
    """∂ℓ(o, y)/∂o in the shape of o. Args: the loss node, the position (from 0) of the argument."""

    loss = operand(0, "The loss that is differentiated.")
    wrt = property(lambda e: e._args[0].args[1 + int(e._args[1])], doc="The argument with respect to which it is.")
    rule = staticmethod(lambda loss, place: checked(loss.shape and loss.args[1 + int(place)].shape, loss, kind=(Loss,)))


class Derivative(Node):
    """A derivative with respect to a variable, or its differential, in its shape."""

    of = operand(0, "The variable v.")
    rule = staticmethod(lambda of: checked(of.shape, of, kind=(At, MatrixSymbol)))


class Adjoint(Derivative):
    """∂L/∂v, the total derivative. Args: v, a parameter or a family member."""


class Direct(Derivative):
    """∂⁺L/∂v, the direct derivative: what the losses that read v contribute. Args: a family member v."""


class Tangent(Derivative):
    """dv, what a change of the parameters along a direction changes in v. Args: v, a parameter or a family member."""


class Immediate(Tangent):
    """∂⁺v, the part of dv that comes of this step's use of the parameters alone. Args: a family member v."""


class Chain(Node):
    """prod(∂L/∂u, ∂⁺u/∂v), the chain rule before it is evaluated: what L owes to v through u. Args: u, v."""

    through = operand(0, "The consumer u.")
    of = operand(1, "The variable v.")
    rule = staticmethod(lambda u, of: checked(u.shape and of.shape, u, of, kind=(At, MatrixSymbol)))


class Plus(Node):
    """A sum, in the order given. Args: two or more summands."""

    rule = staticmethod(lambda *of: common_shape("add", *of))


class Times(Node):
    """A matrix product, in the order given. Args: two or more factors."""

    rule = staticmethod(product_shape)


def is_scalar(c: Any) -> bool:
    """Whether c is a polynomial in commutative symbols with rational coefficients and symbols as denominators.

    T may stand in a denominator, for it is at least 1; no other index may, for it can become 0.
    """
    if isinstance(c, Symbol):
        return type(c) in (Symbol, IndexVar) and type(c.name) is str and bool(c.is_commutative)
    if type(c) is Pow and isinstance(c.exp, Integer):
        below = isinstance(c.base, Symbol) and (c.base == T or not isinstance(c.base, IndexVar))
        return is_scalar(c.base) and is_scalar(c.exp) and (below or bool(c.exp > 0))
    return type(c) in NUMBERS or (type(c) in (Add, Mul) and all(map(is_scalar, c.args)))


class Hadamard(Node):
    """The elementwise product, in the order given. Args: two or more factors."""

    rule = staticmethod(lambda *of: common_shape("multiply elementwise", *of))


class Apply(Node):
    """A function of a matrix in its shape, such as tanh(A), entry by entry, or softmax(v). Args: its name, a matrix."""

    rule = staticmethod(lambda name, body: checked(body.shape, name, kind=(Str,)))


class Diagonal(Node):
    """The matrix diag(v). Args: a column v."""

    rule = staticmethod(lambda v: 2 * common_shape("put on a diagonal", v, Ones(v.shape[0], ONE))[:1])


class Scale(Node):
    """A scalar multiple c A. Args: a scalar (see `is_scalar`), a matrix."""

    @staticmethod
    def rule(c: object, body: Matrix) -> Shape:
        if not is_scalar(c):
            raise ShapeError(f"cannot scale by {c}: it is not a scalar")
        return body.shape


class Multiple(Node):
    """s A for a 1 × 1 matrix s. Args: s, A."""

    rule = staticmethod(lambda s, body: number(s) and body.shape)


class Transpose(Node):
    """Aᵀ. Args: a matrix."""

    rule = staticmethod(lambda body: body.shape[::-1])


class Zero(Node):
    """The zero matrix. Args: rows, columns."""

    rule = staticmethod(lambda rows, columns: (rows, columns))


class Ones(Node):
    """The matrix whose entries are all one. Args: rows, columns."""

    rule = Zero.rule


class Identity(Node):
    """The identity matrix. Args: its size."""

    rule = staticmethod(lambda size: (size, size))


class Power(Node):
    """Aⁿ with an index form n ≥ 0; for n < 0 it stands for an unknown matrix. Args: a square matrix, n."""

    def __new__(cls, base: Matrix, exponent: IndexLike) -> Power:
        return cast(Power, Basic.__new__(cls, base, index(exponent)))

    rule = staticmethod(lambda base, n: checked(product_shape(base, base), n, kind=(Index,)))


class Delta(Node):
    """The 1 × 1 matrix that is 1 for equal indices and 0 otherwise. Args: two index forms."""

    def __new__(cls, a: IndexLike, b: IndexLike) -> Delta:
        return cast(Delta, Basic.__new__(cls, index(a), index(b)))

    rule = staticmethod(lambda a, b: checked((ONE, ONE), a, b, kind=(Index,)))


class Norm(Node):
    """‖A‖, 1 × 1, in an operator norm: one for all shapes, with ‖A B‖ ≤ ‖A‖ ‖B‖ and ‖I‖ = 1. Args: a matrix."""

    rule = staticmethod(lambda body: body.shape and (ONE, ONE))


class Maximum(Node):
    """The larger of two 1 × 1 matrices; max(a, b) = b says a ≤ b. Args: the two."""

    rule = staticmethod(lambda a, b: number(a, b))


class Binder(Node):
    """An expression that binds an index over lo … hi. Args: body, bound variable, lo, hi.

    The bounds do not mention the bound variable, and T, the number of steps, is never bound.
    """

    def __new__(cls, body: Matrix, var: IndexVar, lo: IndexLike, hi: IndexLike) -> Binder:
        return cast(Binder, Basic.__new__(cls, body, var, index(lo), index(hi)))

    body = operand(0, "The body under the binder.")
    var = operand(1, "The bound variable.")
    lo = operand(2, "The first value of the variable.")
    hi = operand(3, "The last value of the variable.")
    @staticmethod
    def rule(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Shape:
        if var in (T, *lo.free_symbols, *hi.free_symbols):
            raise ShapeError(f"{var} is bound where it is T or stands in a bound: {lo} … {hi}")
        return checked(checked(body.shape, var, kind=(IndexVar,)), lo, hi, kind=(Index,))

    range = property(lambda e: (index(e.var) - e.lo, e.hi - e.var),
                     doc="The two forms that are ≥ 0 under the binder: var - lo and hi - var.")


class Sum(Binder):
    """Σ_{var=lo}^{hi} body; zero when hi < lo."""


class Product(Binder):
    """Π_{var=lo}^{hi} body, lo on the left; the identity for hi = lo - 1, an unknown matrix below that."""

    @staticmethod
    def rule(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Shape:
        return Binder.rule(body, var, lo, hi) and product_shape(body, body)


class Block(Node):
    """A matrix of blocks. Args: the number of block rows, then the blocks row by row."""

    @property
    def rows(self) -> list[tuple[Matrix, ...]]:
        """The blocks by rows."""
        count, cells = int(self._args[0]), self._args[1:]
        width = len(cells) // count
        return [cells[k * width:(k + 1) * width] for k in range(count)]

    @staticmethod
    def rule(count: Integer, *cells: Matrix) -> Shape:
        rows = Block(count, *cells).rows
        if len(rows) * len(rows[0]) != len(cells):
            raise ShapeError(f"{len(cells)} blocks do not fill {count} rows")
        for row in rows:
            for cell, top in zip(row, rows[0], strict=True):
                if cell.shape != (row[0].shape[0], top.shape[1]):
                    raise ShapeError(f"cannot put {described(cell)} below {described(top)} and beside "
                                     f"{described(row[0])}: the widths or the heights differ")
        heights, widths = [row[0].shape[0] for row in rows], [cell.shape[1] for cell in rows[0]]
        if not are_sizes(*heights, *widths):
            raise ShapeError(f"{(*heights, *widths)}: not all are sums of sizes, so they do not add up")
        return Add(*heights), Add(*widths)


def block(rows: Iterable[Iterable[Matrix]]) -> Block:
    """A block matrix from its rows."""
    listed = [tuple(row) for row in rows]
    return cast(Block, Block(Integer(len(listed)), *(cell for row in listed for cell in row)))


NODES: tuple[type[Node], ...] = (At, Loss, LossGradient, Adjoint, Direct, Tangent, Immediate, Chain, Plus, Times,
                                 Hadamard, Apply, Diagonal, Scale, Multiple, Transpose, Zero, Ones, Identity, Power,
                                 Delta, Norm, Maximum, Sum, Product, Block)
"""Every class of the vocabulary; each table has a row for each."""
