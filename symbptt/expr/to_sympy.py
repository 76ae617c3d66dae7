"""Our expressions as plain SymPy: MatrixSymbol, MatMul, MatAdd, MatPow, Transpose, BlockMatrix."""

from __future__ import annotations

from collections.abc import Callable

from sympy import BlockMatrix, MatAdd, MatMul, MatPow, MatrixSymbol, ZeroMatrix
from sympy import Identity as SymPyIdentity
from sympy import Transpose as SymPyTranspose
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.nodes import (
    Adjoint,
    At,
    Block,
    Chain,
    Direct,
    Identity,
    Loss,
    LossGradient,
    Matrix,
    Multiple,
    Node,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
)


class NotPlain(ValueError):
    """The expression has a bound index or a notation that plain SymPy has no class for."""


def to_sympy(e: Matrix) -> MatrixExpr:
    """The expression in SymPy's own classes; family members and gradients become matrix symbols named as they print.

    Raises:
        NotPlain: a sum or product with a bound index occurs, or an unevaluated chain rule.
        TypeError: it is no matrix expression.
    """
    if isinstance(e, Node):
        return CONVERSIONS[type(e)](e)
    if not isinstance(e, MatrixExpr):
        raise TypeError(f"{type(e).__name__} is no matrix expression; of an equation convert its .left or .right")
    return e


def _symbol(e: Node) -> MatrixExpr:
    return MatrixSymbol(str(e), *e.shape)


def _refused(e: Node) -> MatrixExpr:
    raise NotPlain(f"{e} has no plain SymPy form")


def _each(e: Node) -> list[MatrixExpr]:
    return [to_sympy(a) for a in e.args]


CONVERSIONS: dict[type[Node], Callable[..., MatrixExpr]] = {
    At: _symbol,
    Loss: _symbol,
    LossGradient: _symbol,
    Adjoint: _symbol,
    Direct: _symbol,
    Chain: _refused,
    Plus: lambda e: MatAdd(*_each(e)),
    Times: lambda e: MatMul(*_each(e)),
    Scale: lambda e: MatMul(e.args[0], to_sympy(e.args[1])),
    Multiple: lambda e: MatMul(to_sympy(e.args[0])[0, 0], to_sympy(e.args[1])),
    Transpose: lambda e: SymPyTranspose(to_sympy(e.args[0])),
    Zero: lambda e: ZeroMatrix(*e.args),
    Identity: lambda e: SymPyIdentity(e.args[0]),
    Power: lambda e: MatPow(to_sympy(e.args[0]), e.args[1].to_expr()),
    Sum: _refused,
    Product: _refused,
    Block: lambda e: BlockMatrix([[to_sympy(a) for a in row] for row in e.rows]),
}
"""A conversion for every class of the vocabulary."""
