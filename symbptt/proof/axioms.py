"""The axioms: laws of matrix algebra, of finite sums and of ordered products.

A row takes its parameters and gives left, right and the side conditions (each form ≥ 0) under which left = right holds.
A condition becomes a hypothesis of the theorem; nobody has to believe that it was checked. Sums with hi < lo are zero;
products and powers of negative length stand for an unknown matrix, so their laws ask for a length ≥ 0.

What follows from others is no axiom. The last summand: split, then the first of one. A scalar before a sum: c A is
(c I) A by the ring, then pull it out. Aᵐ Aⁿ = Aᵐ⁺ⁿ: as products of a constant, joined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from sympy import Expr

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import ONE, Block, Matrix, Plus, Product, Sum, Times, block
from symbptt.expr.walk import free_indices, substitute


class Refused(ValueError):
    """A step does not follow: a rule was applied outside its side condition, or to premises that do not fit."""


Law: TypeAlias = tuple[Matrix, Matrix, tuple[Index, ...]]


class Axiom(NamedTuple):
    """A named law. `law` maps parameters to (left, right, conditions); `source` says where it stands."""

    law: Callable[..., Law]
    source: str


def _at(body: Matrix, var: IndexVar, form: Index) -> Matrix:
    return substitute(body, {var: form})


def _without(var: IndexVar, *trees: Matrix | Index | Expr) -> None:
    if any(var in free_indices(e) for e in trees):
        raise Refused(f"the bound index {var} occurs where it must not")


def power_zero(a: Matrix) -> Law:
    """A⁰ = I."""
    return nodes.Power(a, 0), nodes.Identity(a.shape[0]), ()


def power_step(a: Matrix, n: Index) -> Law:
    """A Aⁿ = Aⁿ⁺¹ for n ≥ 0."""
    return Times(a, nodes.Power(a, n)), nodes.Power(a, n + 1), (n,)


def product_empty(body: Matrix, var: IndexVar, lo: Index) -> Law:
    """Π_{k=lo}^{lo-1} A_k = I."""
    return Product(body, var, lo, lo - 1), nodes.Identity(body.shape[0]), ()


def product_first(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """A_lo Π_{k=lo+1}^{hi} A_k = Π_{k=lo}^{hi} A_k for hi - lo ≥ 0."""
    return Times(_at(body, var, lo), Product(body, var, lo + 1, hi)), Product(body, var, lo, hi), (hi - lo,)


def product_join(body: Matrix, var: IndexVar, lo: Index, mid: Index, hi: Index) -> Law:
    """Π_{lo}^{mid} Π_{mid+1}^{hi} = Π_{lo}^{hi} for mid - lo + 1 ≥ 0 and hi - mid ≥ 0."""
    parts = Times(Product(body, var, lo, mid), Product(body, var, mid + 1, hi))
    return parts, Product(body, var, lo, hi), (mid - lo + 1, hi - mid)


def product_shift(body: Matrix, var: IndexVar, lo: Index, hi: Index, by: Index) -> Law:
    """Π_{k=lo}^{hi} A_k = Π_{k=lo+c}^{hi+c} A_{k-c}."""
    _without(var, by)
    return Product(body, var, lo, hi), Product(_at(body, var, index(var) - by), var, lo + by, hi + by), ()


def product_rotate(x: Matrix, y: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """Y_{lo-1} Π_{k=lo}^{hi} (X_k Y_k) = Π_{k=lo}^{hi} (Y_{k-1} X_k) Y_hi for hi - lo + 1 ≥ 0."""
    left = Times(_at(y, var, lo - 1), Product(Times(x, y), var, lo, hi))
    right = Times(Product(Times(_at(y, var, index(var) - 1), x), var, lo, hi), _at(y, var, hi))
    return left, right, (hi - lo + 1,)


def product_constant(a: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """Π_{k=lo}^{hi} A = A^{hi-lo+1} for hi - lo + 1 ≥ 0, when k does not occur in A."""
    _without(var, a)
    return Product(a, var, lo, hi), nodes.Power(a, hi - lo + 1), (hi - lo + 1,)


def sum_empty(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """Σ_{i=lo}^{hi} A_i = 0 for lo - hi - 1 ≥ 0."""
    return Sum(body, var, lo, hi), nodes.Zero(*body.shape), (lo - hi - 1,)


def sum_first(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """Σ_{i=lo}^{hi} A_i = A_lo + Σ_{i=lo+1}^{hi} A_i for hi - lo ≥ 0."""
    return Sum(body, var, lo, hi), Plus(_at(body, var, lo), Sum(body, var, lo + 1, hi)), (hi - lo,)


def sum_terms(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """Σ_{i=a}^{b} A_i = A_a + … + A_b for integers a < b."""
    if lo.terms or hi.terms or lo.const >= hi.const:
        raise Refused(f"{lo} and {hi} are not integers in ascending order")
    return Sum(body, var, lo, hi), Plus(*[_at(body, var, Index(k)) for k in range(lo.const, hi.const + 1)]), ()


def sum_split(body: Matrix, var: IndexVar, lo: Index, mid: Index, hi: Index) -> Law:
    """Σ_{lo}^{hi} = Σ_{lo}^{mid} + Σ_{mid+1}^{hi} for mid - lo + 1 ≥ 0 and hi - mid ≥ 0."""
    parts = Plus(Sum(body, var, lo, mid), Sum(body, var, mid + 1, hi))
    return Sum(body, var, lo, hi), parts, (mid - lo + 1, hi - mid)


def sum_shift(body: Matrix, var: IndexVar, lo: Index, hi: Index, by: Index) -> Law:
    """Σ_{i=lo}^{hi} A_i = Σ_{i=lo+c}^{hi+c} A_{i-c}."""
    _without(var, by)
    return Sum(body, var, lo, hi), Sum(_at(body, var, index(var) - by), var, lo + by, hi + by), ()


def sum_reflect(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """Σ_{i=lo}^{hi} A_i = Σ_{i=lo}^{hi} A_{lo+hi-i}."""
    _without(var, lo, hi)
    return Sum(body, var, lo, hi), Sum(_at(body, var, lo + hi - index(var)), var, lo, hi), ()


def sum_left(a: Matrix, body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """A Σ_i B_i = Σ_i A B_i, when i does not occur in A."""
    _without(var, a)
    return Times(a, Sum(body, var, lo, hi)), Sum(Times(a, body), var, lo, hi), ()


def sum_right(body: Matrix, var: IndexVar, lo: Index, hi: Index, a: Matrix) -> Law:
    """(Σ_i B_i) A = Σ_i B_i A, when i does not occur in A."""
    _without(var, a)
    return Times(Sum(body, var, lo, hi), a), Sum(Times(body, a), var, lo, hi), ()


def sum_plus(a: Matrix, b: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """Σ (A_i + B_i) = Σ A_i + Σ B_i."""
    return Sum(Plus(a, b), var, lo, hi), Plus(Sum(a, var, lo, hi), Sum(b, var, lo, hi)), ()


def sum_transpose(body: Matrix, var: IndexVar, lo: Index, hi: Index) -> Law:
    """(Σ A_i)ᵀ = Σ A_iᵀ."""
    return nodes.Transpose(Sum(body, var, lo, hi)), Sum(nodes.Transpose(body), var, lo, hi), ()


def sum_exchange(body: Matrix, outer: IndexVar, inner: IndexVar, lo: Index, hi: Index) -> Law:
    """Σ_{i=lo}^{hi} Σ_{j=lo}^{i} A_ij = Σ_{j=lo}^{hi} Σ_{i=j}^{hi} A_ij."""
    _without(outer, lo, hi)
    _without(inner, lo, hi)
    if outer == inner:
        raise Refused("the two bound indices are one")
    left = Sum(Sum(body, inner, lo, index(outer)), outer, lo, hi)
    return left, Sum(Sum(body, outer, index(inner), hi), inner, lo, hi), ()


def block_times(a: Block, b: Block) -> Law:
    """[A_pq] [B_qr] = [Σ_q A_pq B_qr]."""
    columns = list(zip(*b.rows, strict=True))
    cells = [[_sum_of([Times(x, y) for x, y in zip(row, column, strict=True)]) for column in columns] for row in a.rows]
    return Times(a, b), block(cells), ()


def block_plus(a: Block, b: Block) -> Law:
    """[A_pq] + [B_pq] = [A_pq + B_pq]."""
    rows = zip(a.rows, b.rows, strict=True)
    return Plus(a, b), block([[Plus(x, y) for x, y in zip(p, q, strict=True)] for p, q in rows]), ()


def block_transpose(a: Block) -> Law:
    """[A_pq]ᵀ = [A_qpᵀ]."""
    return nodes.Transpose(a), block([[nodes.Transpose(x) for x in column] for column in zip(*a.rows, strict=True)]), ()


def block_zero(a: Block) -> Law:
    """[0] = 0: a block matrix whose cells are all zero."""
    if any(type(x) is not nodes.Zero for row in a.rows for x in row):
        raise Refused("a cell is not zero")
    return a, nodes.Zero(*a.shape), ()


def block_single(a: Matrix) -> Law:
    """[A] = A."""
    return block([[a]]), a, ()


def scalar_multiple(a: Matrix, s: Matrix) -> Law:
    """A s = (s I) A for a column A and a 1 × 1 matrix s."""
    if a.shape[1] != ONE or s.shape != (ONE, ONE):
        raise Refused("needs a column and a 1 × 1 matrix")
    return Times(a, s), Times(nodes.Multiple(s, nodes.Identity(a.shape[0])), a), ()


def multiple_identity(s: Matrix, a: Matrix) -> Law:
    """For a 1 × 1 matrix s: s A = (s I) A."""
    return nodes.Multiple(s, a), Times(nodes.Multiple(s, nodes.Identity(a.shape[0])), a), ()


def scalar_transpose(s: Matrix) -> Law:
    """For a 1 × 1 matrix s: sᵀ = s."""
    if s.shape != (ONE, ONE):
        raise Refused("needs a 1 × 1 matrix")
    return nodes.Transpose(s), s, ()


def delta_same(a: Index) -> Law:
    """δ_{aa} = 1."""
    return nodes.Delta(a, a), nodes.Identity(ONE), ()


def delta_apart(a: Index, b: Index) -> Law:
    """δ_{ab} = 0 for b - a - 1 ≥ 0."""
    return nodes.Delta(a, b), nodes.Zero(ONE, ONE), (b - a - 1,)


def _sum_of(cells: list[Matrix]) -> Matrix:
    return cells[0] if len(cells) == 1 else Plus(*cells)


LAWS: dict[str, tuple[Callable[..., Law], ...]] = {
    "laws of non-commutative rings; Lang, Algebra, ch. II": (
        power_zero, power_step, product_empty, product_first, product_join, product_shift, product_rotate,
        product_constant, scalar_multiple, multiple_identity, scalar_transpose),
    "Graham, Knuth and Patashnik, Concrete Mathematics, §2.1–2.4": (
        sum_empty, sum_first, sum_terms, sum_split, sum_shift, sum_reflect, sum_left, sum_right, sum_plus,
        sum_transpose, sum_exchange, delta_same, delta_apart),
    "Horn and Johnson, Matrix Analysis, §0.7": (
        block_times, block_plus, block_transpose, block_zero, block_single),
}
"""The laws by source."""

AXIOMS = {law.__name__: Axiom(law, source) for source, laws in LAWS.items() for law in laws}
"""Every axiom by name."""
