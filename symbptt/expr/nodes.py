"""The closed vocabulary of expressions.

Every node is a SymPy `MatrixExpr` made by a plain constructor: it hashes, compares and prints, and never simplifies.
The leaves are SymPy's `MatrixSymbol` (a parameter, static data, or the family that a time index selects from) and the
node classes `At`, `Loss`, `LossGradient`, `Adjoint`, `Zero` and `Identity`. The classes do not differentiate, print to
documents or evaluate; tables elsewhere do, one row a class, and tests prove the tables total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, TypeAlias, cast

from sympy import Add, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol
from sympy.core.basic import Basic
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.index import Index, IndexLike, IndexVar, T, index
from symbptt.expr.shape import Shape, ShapeError, common_shape, described, product_shape

ONE = Integer(1)


class Node(MatrixExpr):
    """What all nodes share. Shapes are checked when they are first asked for, and remembered."""

    __slots__ = ("_free", "_shape")
    _shape: Shape
    _free: frozenset[IndexVar]
    rule: ClassVar[Callable[..., Shape]]
    """The shape from the arguments; a class that needs more overrides `_infer`."""

    __new__ = Basic.__new__

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
        return type(self).rule(*self._args)


Matrix: TypeAlias = Node | MatrixSymbol
"""Whatever may stand as an operand."""


def operand(place: int, doc: str) -> Any:
    """A property that names one of the arguments of a node."""
    return property(lambda e: e._args[place], doc=doc)


class At(Node):
    """v_s, the member of the family v at time s. Args: the family's symbol, an index form."""

    def __new__(cls, family: MatrixSymbol, time: IndexLike) -> At:
        return cast(At, Basic.__new__(cls, family, index(time)))

    family = operand(0, "The family's symbol.")
    time = operand(1, "The time index.")
    def _infer(self) -> Shape:
        if type(self._args[0]) is not MatrixSymbol or type(self._args[1]) is not Index:
            raise ShapeError(f"{self._args} is not the symbol of a family and a time")
        return self._args[0].shape


class Loss(Node):
    """ℓ(o, y), an opaque scalar loss of one step, 1 × 1. Args: its name, then its arguments."""

    @property
    def name(self) -> str:
        """The name of the loss function."""
        return self._args[0].name

    rule = staticmethod(lambda _, *of: (ONE, ONE) if all(a.shape for a in of) else of)


class LossGradient(Node):
    """∂ℓ(o, y)/∂o in the shape of o. Args: the loss node, the position (from 0) of the argument."""

    loss = operand(0, "The loss that is differentiated.")
    @property
    def wrt(self) -> Matrix:
        """The argument with respect to which it is."""
        return self._args[0].args[1 + int(self._args[1])]

    rule = staticmethod(lambda loss, place: loss.shape and loss.args[1 + int(place)].shape)


class Derivative(Node):
    """A derivative with respect to a variable, or its differential, in its shape."""

    of = operand(0, "The variable v.")
    def _infer(self) -> Shape:
        if type(self._args[0]) not in (At, MatrixSymbol):
            raise ShapeError(f"{self._args[0]} is no variable")
        return self._args[0].shape


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
    rule = staticmethod(lambda _, of: of.shape)


class Plus(Node):
    """A sum, in the order given. Args: two or more summands."""

    rule = staticmethod(partial(common_shape, "add"))


class Times(Node):
    """A matrix product, in the order given. Args: two or more factors."""

    rule = staticmethod(product_shape)


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


class Hadamard(Node):
    """The elementwise product, in the order given. Args: two or more factors."""

    rule = staticmethod(partial(common_shape, "multiply elementwise"))


class Apply(Node):
    """A function of a matrix in its shape, such as tanh(A), entry by entry, or softmax(v). Args: its name, a matrix."""

    rule = staticmethod(lambda _, body: body.shape)


class Diagonal(Node):
    """The matrix diag(v). Args: a column v."""

    rule = staticmethod(lambda v: 2 * common_shape("put on a diagonal", v, Ones(v.shape[0], ONE))[:1])


class Scale(Node):
    """A scalar multiple c A. Args: a scalar (see `is_scalar`), a matrix."""

    def _infer(self) -> Shape:
        if not is_scalar(self._args[0]):
            raise ShapeError(f"cannot scale by {self._args[0]}: it is not a scalar")
        return self._args[1].shape


class Multiple(Node):
    """s A for a 1 × 1 matrix s. Args: s, A."""

    def _infer(self) -> Shape:
        if self._args[0].shape != (ONE, ONE):
            raise ShapeError(f"cannot scale by {described(self._args[0])}: it is not 1 × 1")
        return self._args[1].shape


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

    rule = staticmethod(lambda base, _: product_shape(base, base))


class Delta(Node):
    """The 1 × 1 matrix that is 1 for equal indices and 0 otherwise. Args: two index forms."""

    def __new__(cls, a: IndexLike, b: IndexLike) -> Delta:
        return cast(Delta, Basic.__new__(cls, index(a), index(b)))

    rule = staticmethod(lambda *_: (ONE, ONE))


class Binder(Node):
    """An expression that binds an index over lo … hi. Args: body, bound variable, lo, hi.

    The bounds do not mention the bound variable, and T, the number of steps, is never bound.
    """

    def __new__(cls, body: Matrix, var: IndexVar, lo: IndexLike, hi: IndexLike) -> Binder:
        if not isinstance(var, IndexVar):
            raise TypeError(f"{var} is not an index variable")
        return cast(Binder, Basic.__new__(cls, body, var, index(lo), index(hi)))

    body = operand(0, "The body under the binder.")
    var = operand(1, "The bound variable.")
    lo = operand(2, "The first value of the variable.")
    hi = operand(3, "The last value of the variable.")
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


class Product(Binder):
    """Π_{var=lo}^{hi} body, lo on the left; the identity for hi = lo - 1, an unknown matrix below that."""

    def _infer(self) -> Shape:
        super()._infer()
        return product_shape(self.body, self.body)


class Block(Node):
    """A matrix of blocks. Args: the number of block rows, then the blocks row by row."""

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
                if cell.shape != (row[0].shape[0], top.shape[1]):
                    raise ShapeError(f"cannot put {described(cell)} below {described(top)} and beside "
                                     f"{described(row[0])}: the widths or the heights differ")
        heights, widths = [row[0].shape[0] for row in rows], [cell.shape[1] for cell in rows[0]]
        if not all(isinstance(c, Integer) and c >= 0 for n in (*heights, *widths)
                   for c in Add(n).as_coefficients_dict().values()):
            raise ShapeError(f"{(*heights, *widths)}: not all are sums of sizes, so they do not add up")
        return Add(*heights), Add(*widths)


def block(rows: Iterable[Iterable[Matrix]]) -> Block:
    """A block matrix from its rows."""
    listed = [tuple(row) for row in rows]
    return cast(Block, Block(Integer(len(listed)), *(cell for row in listed for cell in row)))


NODES: tuple[type[Node], ...] = (At, Loss, LossGradient, Adjoint, Direct, Tangent, Immediate, Chain, Plus, Times,
                                 Hadamard, Apply, Diagonal, Scale, Multiple, Transpose, Zero, Ones, Identity, Power,
                                 Delta, Sum, Product, Block)
"""Every class of the vocabulary; each table has a row for each."""
