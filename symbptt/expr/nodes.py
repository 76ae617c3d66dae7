"""The closed vocabulary of expressions.

Every node is a SymPy `MatrixExpr` made by a plain constructor: it hashes, compares and prints, and never simplifies.
The leaves are SymPy's `MatrixSymbol` (a parameter, static data, or the family that a time index selects from) and the
node classes `At`, `Loss`, `LossGradient`, `Adjoint`, `Zero` and `Identity`. The classes do not differentiate, print to
documents or evaluate; tables elsewhere do, one row a class, and tests prove the tables total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, TypeAlias, cast

from sympy import Add, Expr, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol
from sympy.core.basic import Basic
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.index import Index, IndexLike, IndexVar, T, index
from symbptt.expr.shape import Shape, ShapeError, common_shape, described, product_shape, square_shape

ONE = Integer(1)


class Node(MatrixExpr):
    """What all nodes share. Shapes are checked when they are first asked for, and remembered."""

    __slots__ = ("_free", "_shape")
    _shape: Shape
    _free: frozenset[IndexVar]
    writer: ClassVar[Callable[[Basic], str]] = object.__repr__
    """How str() writes a node; the package sets it, so that the vocabulary knows no printer."""

    def __new__(cls, *args: Basic) -> Node:
        return Basic.__new__(cls, *args)

    @property
    def shape(self) -> Shape:
        """(rows, columns).

        Raises:
            ShapeError: the operands do not fit; the message shows both with their shapes.
        """
        try:
            return self._shape
        except AttributeError:
            self._shape = self._infer()
            return self._shape

    def _infer(self) -> Shape:
        raise NotImplementedError(type(self).__name__)

    def __str__(self) -> str:
        return type(self).writer(self)

    __repr__ = __str__

    def _sympystr(self, _printer: object) -> str:
        return type(self).writer(self)

    _latex = _sympystr

Matrix: TypeAlias = Node | MatrixSymbol
"""Whatever may stand as an operand."""


class At(Node):
    """v_s, the member of the family v at time s. Args: the family's symbol, an index form."""

    __slots__ = ()

    def __new__(cls, family: MatrixSymbol, time: IndexLike) -> At:
        return cast(At, Basic.__new__(cls, family, index(time)))

    @property
    def family(self) -> MatrixSymbol:
        """The family's symbol."""
        return self._args[0]

    @property
    def time(self) -> Index:
        """The time index."""
        return self._args[1]

    def _infer(self) -> Shape:
        if type(self._args[0]) is not MatrixSymbol or type(self._args[1]) is not Index:
            raise ShapeError(f"{self._args} is not the symbol of a family and a time")
        return self._args[0].shape


class Loss(Node):
    """ℓ(o, y), an opaque scalar loss of one step, 1 × 1. Args: its name, then its arguments."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the loss function."""
        return self._args[0].name

    def _infer(self) -> Shape:
        for argument in self._args[1:]:
            _ = argument.shape
        return ONE, ONE


class LossGradient(Node):
    """∂ℓ(o, y)/∂o in the shape of o. Args: the loss node, the position (from 0) of the argument."""

    __slots__ = ()

    @property
    def loss(self) -> Loss:
        """The loss that is differentiated."""
        return self._args[0]

    @property
    def wrt(self) -> Matrix:
        """The argument with respect to which it is."""
        return self._args[0].args[1 + int(self._args[1])]

    def _infer(self) -> Shape:
        _ = self.loss.shape
        return self.wrt.shape


class Derivative(Node):
    """A derivative of the objective L with respect to a variable, in its shape."""

    __slots__ = ()

    @property
    def of(self) -> Matrix:
        """The variable v."""
        return self._args[0]

    def _infer(self) -> Shape:
        if type(self._args[0]) not in (At, MatrixSymbol):
            raise ShapeError(f"{self._args[0]} is no variable")
        return self._args[0].shape


class Adjoint(Derivative):
    """∂L/∂v, the total derivative. Args: v, a parameter or a family member."""

    __slots__ = ()


class Direct(Derivative):
    """∂⁺L/∂v, the direct derivative: what the losses that read v contribute. Args: a family member v."""

    __slots__ = ()


class Chain(Node):
    """prod(∂L/∂u, ∂⁺u/∂v), the chain rule before it is evaluated: what L owes to v through u. Args: u, v."""

    __slots__ = ()

    @property
    def through(self) -> At:
        """The consumer u."""
        return self._args[0]

    @property
    def of(self) -> Matrix:
        """The variable v."""
        return self._args[1]

    def _infer(self) -> Shape:
        return self._args[1].shape


class Plus(Node):
    """A sum, in the order given. Args: two or more summands."""

    __slots__ = ()

    def _infer(self) -> Shape:
        return common_shape("add", self._args)


class Times(Node):
    """A matrix product, in the order given. Args: two or more factors."""

    __slots__ = ()

    def _infer(self) -> Shape:
        return product_shape(self._args)


def is_scalar(c: object) -> bool:
    """Whether c is a polynomial in commutative symbols with rational coefficients and symbols as denominators.

    T may stand in a denominator, for it is at least 1; no other index may, for it can become 0.
    """
    if isinstance(c, Symbol):
        return bool(c.is_commutative)
    if isinstance(c, Pow) and isinstance(c.exp, Integer):
        below = isinstance(c.base, Symbol) and (c.base == T or not isinstance(c.base, IndexVar))
        return is_scalar(c.base) and (below or bool(c.exp > 0))
    return isinstance(c, Rational) or (isinstance(c, Add | Mul) and all(map(is_scalar, c.args)))


class Scale(Node):
    """A scalar multiple c A. Args: a scalar (see `is_scalar`), a matrix."""

    __slots__ = ()

    def _infer(self) -> Shape:
        if not is_scalar(self._args[0]):
            raise ShapeError(f"cannot scale by {self._args[0]}: it is not a scalar")
        return self._args[1].shape


class Multiple(Node):
    """s A for a 1 × 1 matrix s. Args: s, A."""

    __slots__ = ()

    def _infer(self) -> Shape:
        if self._args[0].shape != (ONE, ONE):
            raise ShapeError(f"cannot scale by {described(self._args[0])}: it is not 1 × 1")
        return self._args[1].shape


class Transpose(Node):
    """Aᵀ. Args: a matrix."""

    __slots__ = ()

    def _infer(self) -> Shape:
        rows, columns = self._args[0].shape
        return columns, rows


class Zero(Node):
    """The zero matrix. Args: rows, columns."""

    __slots__ = ()

    def _infer(self) -> Shape:
        return self._args[0], self._args[1]


class Identity(Node):
    """The identity matrix. Args: its size."""

    __slots__ = ()

    def _infer(self) -> Shape:
        return self._args[0], self._args[0]


class Power(Node):
    """Aⁿ with an index form n ≥ 0; for n < 0 it stands for an unknown matrix. Args: a square matrix, n."""

    __slots__ = ()

    def __new__(cls, base: Matrix, exponent: IndexLike) -> Power:
        return cast(Power, Basic.__new__(cls, base, index(exponent)))

    def _infer(self) -> Shape:
        return square_shape("raise to a power", self._args[0])


class Binder(Node):
    """An expression that binds an index over lo … hi. Args: body, bound variable, lo, hi.

    The bounds do not mention the bound variable, and T, the number of steps, is never bound.
    """

    __slots__ = ()

    def __new__(cls, body: Matrix, var: IndexVar, lo: IndexLike, hi: IndexLike) -> Binder:
        if not isinstance(var, IndexVar):
            raise TypeError(f"{var} is not an index variable")
        return cast(Binder, Basic.__new__(cls, body, var, index(lo), index(hi)))

    @property
    def body(self) -> Matrix:
        """The body under the binder."""
        return self._args[0]

    @property
    def var(self) -> IndexVar:
        """The bound variable."""
        return self._args[1]

    @property
    def lo(self) -> Index:
        """The first value of the variable."""
        return self._args[2]

    @property
    def hi(self) -> Index:
        """The last value of the variable."""
        return self._args[3]

    def _infer(self) -> Shape:
        if self.var in (T, *self.lo.free_symbols, *self.hi.free_symbols):
            raise ShapeError(f"{self.var} is bound where it is T or stands in a bound: {self.lo} … {self.hi}")
        return self.body.shape

    @property
    def range(self) -> tuple[Index, Index]:
        """The two forms that are ≥ 0 under the binder: var - lo and hi - var."""
        var = index(self.var)
        return var - self.lo, self.hi - var


class Sum(Binder):
    """Σ_{var=lo}^{hi} body; zero when hi < lo."""

    __slots__ = ()


class Product(Binder):
    """Π_{var=lo}^{hi} body, lo on the left; the identity for hi = lo - 1, an unknown matrix below that."""

    __slots__ = ()

    def _infer(self) -> Shape:
        super()._infer()
        return square_shape("multiply up", self.body)


class Block(Node):
    """A matrix of blocks. Args: the number of block rows, then the blocks row by row."""

    __slots__ = ()

    @property
    def rows(self) -> list[tuple[Matrix, ...]]:
        """The blocks by rows."""
        count, cells = int(self._args[0]), self._args[1:]
        width = len(cells) // count
        return [cells[k * width:(k + 1) * width] for k in range(count)]

    def _infer(self) -> Shape:
        rows = self.rows
        if len(rows) * len(rows[0]) + 1 != len(self._args):
            raise ShapeError(f"{len(self._args) - 1} blocks do not fill {self._args[0]} rows")
        for row in rows:
            for cell, top in zip(row, rows[0], strict=True):
                if cell.shape[1] != top.shape[1]:
                    raise ShapeError(f"cannot stack {described(top)} on {described(cell)}: the widths differ")
                if cell.shape[0] != row[0].shape[0]:
                    raise ShapeError(f"cannot put {described(cell)} beside {described(row[0])}: the heights differ")
        height: Expr = sum((row[0].shape[0] for row in rows), Integer(0))
        width: Expr = sum((cell.shape[1] for cell in rows[0]), Integer(0))
        return height, width


def block(rows: Iterable[Iterable[Matrix]]) -> Block:
    """A block matrix from its rows."""
    listed = [tuple(row) for row in rows]
    return cast(Block, Block(Integer(len(listed)), *(cell for row in listed for cell in row)))


def loss(name: str, *arguments: Matrix) -> Loss:
    """The node ℓ(o, y) of an opaque loss."""
    return cast(Loss, Loss(Str(name), *arguments))


NODES: tuple[type[Node], ...] = (At, Loss, LossGradient, Adjoint, Direct, Chain, Plus, Times, Scale, Multiple,
                                 Transpose, Zero, Identity, Power, Sum, Product, Block)
"""Every class of the vocabulary; each table has a row for each."""
