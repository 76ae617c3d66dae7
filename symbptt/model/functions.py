"""The functions that equations may call and the losses that have a name: one row each.

A row of FUNCTIONS holds the SymPy scalar function, from which its derivative is checked, and the derivative as books
write it, in the output y = φ(z) where that is shorter: tanh' = 1 - y∘y. A row of LOSSES defines a loss by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import sympy
from sympy import Expr, MatrixSymbol, Rational, Symbol

from symbptt.expr.build import apply, hadamard, plus, scale, times, transpose
from symbptt.expr.nodes import ONE, Apply, Diagonal, Hadamard, Identity, Matrix, Ones, Zero
from symbptt.expr.walk import visit

Slope: TypeAlias = Callable[[Matrix, Matrix], Matrix]


@dataclass(frozen=True)
class Function:
    """φ, entry by entry: the scalar function, φ'(z) from z and y = φ(z), its source.

    `kinks` are the points at which φ has no derivative, `convention` says what stands for it there.
    """

    scalar: Callable[[Expr], Expr]
    slope: Slope
    source: str
    kinks: tuple[int, ...] = ()
    convention: str = ""


@dataclass(frozen=True)
class VectorFunction:
    """A function of a column that mixes its entries: the transpose of its Jacobian matrix from z and y = φ(z)."""

    jacobian: Slope
    source: str


def ones(like: Matrix) -> Matrix:
    """Ones in the shape of a matrix."""
    return Ones(*like.shape)


def _minus(a: Matrix, b: Matrix) -> Matrix:
    return plus((a, scale(-1, b)))


def _leaky(z: Expr) -> Expr:
    return sympy.Max(z, 0) + LEAK * sympy.Min(z, 0)


LEAK = Rational(1, 100)
"""The slope of leaky_relu below zero; Maas, Hannun and Ng 2013."""

DLMF = "NIST Digital Library of Mathematical Functions, ch. 4"
GOODFELLOW = "Goodfellow, Bengio and Courville 2016, Deep Learning, §3.10 and §6.3"

FUNCTIONS: dict[str, Function] = {
    "tanh": Function(sympy.tanh, lambda _z, y: _minus(ones(y), hadamard(y, y)), f"{DLMF}, §4.34"),
    "sigmoid": Function(lambda z: 1 / (1 + sympy.exp(-z)), lambda _z, y: hadamard(y, _minus(ones(y), y)), GOODFELLOW),
    "relu": Function(lambda z: sympy.Max(z, 0), lambda _z, y: apply("step", y), GOODFELLOW, (0,), "0"),
    "softplus": Function(lambda z: sympy.log(1 + sympy.exp(z)), lambda z, _y: apply("sigmoid", z), GOODFELLOW),
    "exp": Function(sympy.exp, lambda _z, y: y, f"{DLMF}, §4.7"),
    "sin": Function(sympy.sin, lambda z, _y: apply("cos", z), f"{DLMF}, §4.20"),
    "cos": Function(sympy.cos, lambda z, _y: scale(-1, apply("sin", z)), f"{DLMF}, §4.20"),
    "square": Function(lambda z: z**2, lambda z, _y: scale(2, z), f"{DLMF}, §1.4"),
    "abs": Function(sympy.Abs, lambda z, _y: apply("sign", z), f"{DLMF}, §1.4", (0,), "0"),
    "leaky_relu": Function(_leaky, lambda z, _y: plus((scale(LEAK, ones(z)), scale(1 - LEAK, apply("step", z)))),
                           "Maas, Hannun and Ng 2013, Rectifier nonlinearities improve neural network acoustic models",
                           (0,), "1/100"),
    "elu": Function(lambda z: sympy.Max(z, 0) + sympy.exp(sympy.Min(z, 0)) - 1,
                    lambda z, _y: apply("exp", scale(-1, apply("relu", scale(-1, z)))),
                    "Clevert, Unterthiner and Hochreiter 2016, Fast and accurate deep network learning by ELUs"),
    "silu": Function(lambda z: z / (1 + sympy.exp(-z)), lambda z, y: plus((
        apply("sigmoid", z), hadamard(y, _minus(ones(y), apply("sigmoid", z))))),
        "Elfwing, Uchibe and Doya 2018, Sigmoid-weighted linear units, eq. 6"),
    "softsign": Function(lambda z: z / (1 + sympy.Abs(z)),
                         lambda z, y: apply("square", _minus(ones(y), hadamard(apply("sign", z), y))),
                         "Glorot and Bengio 2010, Understanding the difficulty of training deep networks"),
    "hard_tanh": Function(lambda z: sympy.Max(z, -1) - sympy.Max(z, 1) + 1,
                          lambda z, _y: hadamard(apply("step", plus((z, ones(z)))), apply("step", _minus(ones(z), z))),
                          "Collobert 2004, Large scale machine learning", (-1, 1), "0"),
}
"""The functions of one entry."""

SLOPES: dict[str, Function] = {
    "step": Function(lambda z: sympy.Heaviside(z, 0), lambda _z, y: Zero(*y.shape), GOODFELLOW, (0,), "0"),
    "sign": Function(sympy.sign, lambda _z, y: Zero(*y.shape), GOODFELLOW, (0,), "0"),
}
"""Functions that stand for derivatives alone."""

VECTOR_FUNCTIONS: dict[str, VectorFunction] = {
    "softmax": VectorFunction(lambda _z, y: _minus(Diagonal(y), times(y, transpose(y))), GOODFELLOW),
    "log_softmax": VectorFunction(lambda z, y: _minus(Identity(y.shape[0]), times(apply("softmax", z),
                                                                                transpose(ones(z)))), GOODFELLOW),
}
"""The functions of a column."""

ENTRYWISE = FUNCTIONS | SLOPES
CALLABLE = (*FUNCTIONS, *VECTOR_FUNCTIONS)
"""What an equation may call, beside identity, concat and dot."""


def slopes(functions: Iterable[str]) -> Iterator[str]:
    """The functions of which derivatives of these are made."""
    z = MatrixSymbol("z", Symbol("n", positive=True, integer=True), ONE)
    for name in dict.fromkeys(functions):
        if name in ENTRYWISE or name in VECTOR_FUNCTIONS:
            slope = ENTRYWISE[name].slope if name in ENTRYWISE else VECTOR_FUNCTIONS[name].jacobian
            yield from (str(e.args[0]) for e in visit(slope(z, apply(name, z))) if isinstance(e, Apply))


@dataclass(frozen=True)
class NamedLoss:
    """A loss with a meaning of its own: what its arguments are called, and its definition in other operations."""

    arguments: tuple[str, ...]
    definition: Callable[..., Matrix]
    source: str


def _squared_error(o: Matrix, y: Matrix) -> Matrix:
    """½ ‖o − y‖²."""
    e = _minus(o, y)
    return scale(Rational(1, 2), times(transpose(e), e))


def _cross_entropy(o: Matrix, y: Matrix) -> Matrix:
    """−yᵀ log softmax(o)."""
    return scale(-1, times(transpose(y), apply("log_softmax", o)))


def _squared_norm(w: Matrix) -> Matrix:
    """‖W‖² = 1ᵀ (W ∘ W) 1, the sum of the squared entries; wᵀw for a column."""
    if w.shape[1] == ONE:
        return times(transpose(w), w)
    return times(transpose(Ones(w.shape[0], ONE)), Hadamard(w, w), Ones(w.shape[1], ONE))


LOSSES: dict[str, NamedLoss] = {
    "squared_error": NamedLoss(("o", "y"), _squared_error,
                               "Bishop 2006, Pattern Recognition and Machine Learning, §5.2"),
    "softmax_cross_entropy": NamedLoss(("o", "y"), _cross_entropy, "Bishop 2006, §4.3.4 and eq. 5.24"),
    "squared_norm": NamedLoss(("W",), _squared_norm, "Bishop 2006, §5.5"),
}
"""The losses with a name."""
