"""The rule table: for each operation its differential and, beside it, its pull-back.

A row is a law. With <A, B> = tr(AᵀB) the two halves of a row satisfy <g, d e> = Σ_a <pull-back to a, d a> over the
operands a of e; tests prove that for every row modulo a prime. Source of the rows: Giles 2008, Collected matrix
derivative results for forward and reverse mode algorithmic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sympy import Integer, MatrixSymbol

from symbptt.expr.build import plus, scale, times, transpose
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

Differential: TypeAlias = Callable[[Node, Callable[[Matrix], Matrix]], Matrix]
PullBack: TypeAlias = Callable[[Node, Matrix], Iterator[tuple[Matrix, Matrix]]]


@dataclass(frozen=True)
class Rule:
    """One operation: its name, d e from the d of its operands, and what a gradient g of e sends to each operand."""

    name: str
    differential: Differential
    pull_back: PullBack


def _d_plus(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d(A + B) = dA + dB."""
    return plus((d(a) for a in e.args), like=e)


def _pull_plus(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """g to A, g to B."""
    return ((a, g) for a in e.args)


def _d_times(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d(A B) = dA B + A dB."""
    f = e.args
    return plus((times(*f[:k], d(f[k]), *f[k + 1:]) for k in range(len(f))), like=e)


def _pull_times(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """g Bᵀ to A, Aᵀ g to B."""
    f = e.args
    if len(f) == 2:
        yield f[0], times(g, transpose(f[1]))
        yield f[1], times(transpose(f[0]), g)
        return
    turned = [transpose(a) for a in f]
    for k, a in enumerate(f):
        yield a, times(*reversed(turned[:k]), g, *reversed(turned[k + 1:]))


def _d_scale(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d(c A) = c dA."""
    return scale(e.args[0], d(e.args[1]))


def _pull_scale(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """c g to A."""
    yield e.args[1], scale(e.args[0], g)


def _d_multiple(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d(s v) = v ds + s dv for a column v."""
    s, v = e.args
    return plus((times(v, d(s)), times(d(v), s)), like=e)


def _pull_multiple(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """vᵀ g to s, g s to v, for a column v."""
    s, v = e.args
    yield s, times(transpose(v), g)
    yield v, times(g, s)


def _d_transpose(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d(Aᵀ) = (dA)ᵀ."""
    return transpose(d(e.args[0]))


def _pull_transpose(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """gᵀ to A."""
    yield e.args[0], transpose(g)


def _d_loss(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d ℓ(o, y) = (∂ℓ/∂o)ᵀ do + (∂ℓ/∂y)ᵀ dy."""
    return plus((times(transpose(LossGradient(e, Integer(k))), d(a)) for k, a in enumerate(e.args[1:])), like=e)


def _pull_loss(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """∂ℓ/∂o g to o, for a 1 × 1 g."""
    return ((a, times(LossGradient(e, Integer(k)), g)) for k, a in enumerate(e.args[1:]))


def _d_constant(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """D C = 0."""
    return Zero(*e.shape)


def _pull_constant(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """Nothing."""
    return iter(())


RULES: dict[type[Node], Rule] = {
    Plus: Rule("sum", _d_plus, _pull_plus),
    Times: Rule("product", _d_times, _pull_times),
    Scale: Rule("scalar multiple", _d_scale, _pull_scale),
    Multiple: Rule("scalar product", _d_multiple, _pull_multiple),
    Transpose: Rule("transpose", _d_transpose, _pull_transpose),
    Loss: Rule("opaque loss", _d_loss, _pull_loss),
    Zero: Rule("constant", _d_constant, _pull_constant),
    Identity: Rule("constant", _d_constant, _pull_constant),
}
"""The operations that an equation of a model can hold."""

VARIABLES: frozenset[type[Node]] = frozenset({At})
"""Node classes that are variables: the sweep ends there."""

RESULTS: frozenset[type[Node]] = frozenset({Adjoint, Direct, Chain, LossGradient, Power, Sum, Product, Block})
"""Node classes that only results hold; an equation with one is refused before a rule is looked up."""


def pull_back(e: Matrix, g: Matrix, trail: tuple[str, ...] = ()) -> Iterator[tuple[Matrix, Matrix, tuple[str, ...]]]:
    """All (variable, contribution, names of the rules on the way) that the gradient g of e sends down.

    A variable that stands in e several times comes several times.
    """
    if type(e) is At or isinstance(e, MatrixSymbol):
        yield e, g, trail
        return
    rule = RULES[type(e)]
    trail = (*trail, rule.name)
    for operand, contribution in rule.pull_back(e, g):
        if type(operand) is At or isinstance(operand, MatrixSymbol):
            yield operand, contribution, trail
        else:
            yield from pull_back(operand, contribution, trail)


def differential(e: Matrix, d: Callable[[Matrix], Matrix]) -> Matrix:
    """D e, given the differential of every variable."""
    if type(e) is At or isinstance(e, MatrixSymbol):
        return d(e)
    return RULES[type(e)].differential(e, lambda a: differential(a, d))
