"""Our expressions as plain SymPy: MatrixSymbol, MatMul, MatAdd, MatPow, Transpose, BlockMatrix."""

from __future__ import annotations

from collections.abc import Callable

from sympy import (
    BlockMatrix,
    DiagMatrix,
    Function,
    HadamardProduct,
    MatAdd,
    MatMul,
    MatPow,
    MatrixSymbol,
    OneMatrix,
    ZeroMatrix,
)
from sympy import Identity as SymPyIdentity
from sympy import Transpose as SymPyTranspose
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.nodes import (
    Adjoint,
    Apply,
    At,
    Block,
    Chain,
    Delta,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    Immediate,
    Loss,
    LossGradient,
    Matrix,
    Maximum,
    Multiple,
    Node,
    Norm,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Tangent,
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


def _applied(e: Apply) -> MatrixExpr:
    """Entry by entry; the function stands there by its name. Plain SymPy has no softmax, which mixes the entries."""
    if "softmax" in str(e.args[0]):
        raise NotPlain(f"{e} has no plain SymPy form")
    return to_sympy(e.args[1]).applyfunc(Function(str(e.args[0])))


def _each(e: Node) -> list[MatrixExpr]:
    return [to_sympy(a) for a in e.args]


CONVERSIONS: dict[type[Node], Callable[..., MatrixExpr]] = {
    At: _symbol,
    Loss: _symbol,
    LossGradient: _symbol,
    Adjoint: _symbol,
    Direct: _symbol,
    Tangent: _symbol,
    Immediate: _symbol,
    Chain: _refused,
    Plus: lambda e: MatAdd(*_each(e)),
    Times: lambda e: MatMul(*_each(e)),
    Hadamard: lambda e: HadamardProduct(*_each(e)),
    Apply: _applied,
    Diagonal: lambda e: DiagMatrix(to_sympy(e.args[0])),
    Scale: lambda e: MatMul(e.args[0], to_sympy(e.args[1])),
    Multiple: lambda e: MatMul(to_sympy(e.args[0])[0, 0], to_sympy(e.args[1])),
    Transpose: lambda e: SymPyTranspose(to_sympy(e.args[0])),
    Zero: lambda e: ZeroMatrix(*e.args),
    Ones: lambda e: OneMatrix(*e.args),
    Delta: _refused,
    Norm: _refused,
    Maximum: _refused,
    Identity: lambda e: SymPyIdentity(e.args[0]),
    Power: lambda e: MatPow(to_sympy(e.args[0]), e.args[1].to_expr()),
    Sum: _refused,
    Product: _refused,
    Block: lambda e: BlockMatrix([[to_sympy(a) for a in row] for row in e.rows]),
}
"""A conversion for every class of the vocabulary."""
