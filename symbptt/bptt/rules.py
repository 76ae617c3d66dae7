"""The rule table: for each operation its differential and, beside it, its pull-back.

A row is a law. With <A, B> = tr(AᵀB) the two halves of a row satisfy <g, d e> = Σ_a <pull-back to a, d a> over the
operands a of e; tests prove that for every row modulo a prime. Source of the rows: Giles 2008, Collected matrix
derivative results for forward and reverse mode algorithmic differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import chain, product, starmap
from typing import Any, TypeAlias

from sympy import Add, Integer, MatrixSymbol

from symbptt.expr.build import children, hadamard, plus, rebuild, scale, selection, times, transpose, weighted
from symbptt.expr.nodes import (
    ONE,
    Adjoint,
    Apply,
    At,
    Block,
    Chain,
    Delta,
    Derivative,
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
from symbptt.model.functions import ENTRYWISE, LOSSES, VECTOR_FUNCTIONS

Differential: TypeAlias = Callable[[Any, Callable[[Matrix], Matrix]], Matrix]
PullBack: TypeAlias = Callable[[Any, Matrix], Iterator[tuple[Matrix, Matrix]]]


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
    yield e.args[0], _turned(g)


def _d_hadamard(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d(a ∘ b) = b ∘ da + a ∘ db; for columns diag(b) da + diag(a) db."""
    return plus((_spread(_others(e, k), d(a)) for k, a in enumerate(e.args)), like=e)


def _pull_hadamard(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """b ∘ g to a, a ∘ g to b."""
    return ((a, weighted(_others(e, k), g)) for k, a in enumerate(e.args))


def _others(e: Node, k: int) -> Matrix:
    return reduce(hadamard, [*e.args[:k], *e.args[k + 1:]])


def _spread(w: Matrix, d: Matrix) -> Matrix:
    """The product w ∘ d, for matrices over the summands of d; w ∘ dᵀ = (wᵀ ∘ d)ᵀ, so that d stands as in its operand.

    No axiom distributes an elementwise product over a sum or transposes one, so the definitions must not need it.
    """
    return weighted(w, d) if ONE in d.shape else plus((_placed(w, a) for a in _summands(d)), like=d)


def _placed(w: Matrix, d: Matrix) -> Matrix:
    if type(d) is Scale:
        return scale(d.args[0], _placed(w, d.args[1]))
    return transpose(weighted(_turned(w), d.args[0])) if type(d) is Transpose else weighted(w, d)


def _summands(e: Matrix) -> Iterator[Matrix]:
    """The summands of a matrix, sums in products and multiples distributed."""
    if type(e) is Plus:
        return chain.from_iterable(map(_summands, e.args))
    if type(e) is Scale:
        return (scale(e.args[0], a) for a in _summands(e.args[1]))
    if type(e) is Times:
        return starmap(times, product(*map(_summands, e.args)))
    return iter([e])


def _turned(e: Matrix) -> Matrix:
    """The transpose, that of an elementwise product factor by factor."""
    if type(e) is Scale:
        return scale(e.args[0], _turned(e.args[1]))
    return Hadamard(*map(_turned, e.args)) if type(e) is Hadamard else transpose(e)


def _d_apply(e: Node, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d φ(z) = φ'(z) ∘ dz entry by entry; J dz for a function with the Jacobian matrix J."""
    name, z = str(e.args[0]), e.args[1]
    if name in VECTOR_FUNCTIONS:
        return times(transpose(VECTOR_FUNCTIONS[name].jacobian(z, e)), d(z))
    return _spread(ENTRYWISE[name].slope(z, e), d(z))


def _pull_apply(e: Node, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """φ'(z) ∘ g to z; Jᵀ g for a function with the Jacobian matrix J."""
    name, z = str(e.args[0]), e.args[1]
    if name in VECTOR_FUNCTIONS:
        yield z, times(VECTOR_FUNCTIONS[name].jacobian(z, e), g)
    else:
        yield z, weighted(ENTRYWISE[name].slope(z, e), g)


def _d_block(e: Block, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d[A_pq] = Σ_pq E_pᵀ dA_pq E_q, where E_p picks the rows of the blocks p."""
    return plus((times(transpose(rows), d(a), columns) if columns is not None else times(transpose(rows), d(a))
                 for a, rows, columns in _places(e)), like=e)


def _pull_block(e: Block, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """E_p g E_qᵀ, the rows and columns of g at its place, to each block."""
    for a, rows, columns in _places(e):
        yield a, times(rows, g, transpose(columns)) if columns is not None else times(rows, g)


def _places(e: Block) -> Iterator[tuple[Matrix, Matrix, Matrix | None]]:
    """(A_pq, E_p, E_q) for each block; without E_q where there is but one column."""
    heights, widths = [row[0].shape[0] for row in e.rows], [a.shape[1] for a in e.rows[0]]
    for p, row in enumerate(e.rows):
        for q, a in enumerate(row):
            columns = selection(Add(*widths[:q]), widths[q], e.shape[1]) if len(widths) > 1 else None
            yield a, selection(Add(*heights[:p]), heights[p], e.shape[0]), columns


def _d_loss(e: Loss, d: Callable[[Matrix], Matrix]) -> Matrix:
    """d ℓ(o, y) = (∂ℓ/∂o)ᵀ do + (∂ℓ/∂y)ᵀ dy; that of its definition for a loss that has one."""
    if e.name in LOSSES:
        return differential(LOSSES[e.name].definition(*e.args[1:]), d)
    return plus((times(transpose(LossGradient(e, Integer(k))), d(a)) for k, a in enumerate(e.args[1:])), like=e)


def _pull_loss(e: Loss, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """∂ℓ/∂o g to o, for a 1 × 1 g; g to the definition of a loss that has one."""
    if e.name in LOSSES:
        return iter([(LOSSES[e.name].definition(*e.args[1:]), g)])
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
    Hadamard: Rule("elementwise product", _d_hadamard, _pull_hadamard),
    Apply: Rule("function", _d_apply, _pull_apply),
    Block: Rule("concatenation", _d_block, _pull_block),
    Scale: Rule("scalar multiple", _d_scale, _pull_scale),
    Multiple: Rule("scalar product", _d_multiple, _pull_multiple),
    Transpose: Rule("transpose", _d_transpose, _pull_transpose),
    Loss: Rule("loss", _d_loss, _pull_loss),
    Zero: Rule("constant", _d_constant, _pull_constant),
    Ones: Rule("constant", _d_constant, _pull_constant),
    Identity: Rule("constant", _d_constant, _pull_constant),
}
"""The operations that an equation of a model can hold."""

VARIABLES: frozenset[type[Node]] = frozenset({At})
"""Node classes that are variables: the sweep ends there."""

RESULTS: frozenset[type[Node]] = frozenset({
    Adjoint, Direct, Tangent, Immediate, Chain, LossGradient, Diagonal, Power, Delta, Norm, Maximum, Sum,
    Product})
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


def in_output_form(value: Matrix, right: Matrix, left: Matrix | None) -> Matrix:
    """The value with v where φ(z) stands, for an equation v = φ(z): 1 - v ∘ v, not 1 - tanh(z) ∘ tanh(z)."""
    if type(right) is not Apply or left is None:
        return value
    if value == right:
        return left
    parts = children(value) if not isinstance(value, Derivative) else ()
    return rebuild(value, tuple(in_output_form(a, right, left) for a in parts)) if parts else value


def differential(e: Matrix, d: Callable[[Matrix], Matrix]) -> Matrix:
    """D e, given the differential of every variable."""
    if type(e) is At or isinstance(e, MatrixSymbol):
        return d(e)
    return RULES[type(e)].differential(e, lambda a: differential(a, d))
