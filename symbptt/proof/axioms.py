"""The axioms: laws of matrix algebra, of finite sums, of ordered products and of operator norms.

A row takes its parameters and gives left, right and the side conditions (each form ≥ 0) under which left = right holds.
A condition becomes a hypothesis of the theorem; nobody has to believe that it was checked. Sums with hi < lo are zero;
products and powers of negative length stand for an unknown matrix, so their laws ask for a length ≥ 0.

What follows from others is no axiom. The last summand: split, then the first of one. A scalar before a sum: c A is
(c I) A by the ring, then pull it out. Aᵐ Aⁿ = Aᵐ⁺ⁿ: as products of a constant, joined. Two diagonals commute:
diag(u) diag(v) = diag(u ∘ v) = diag(v ∘ u). a ≤ b is written max(a, b) = b; a ≤ b ≤ c gives a ≤ c by associativity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from sympy import Expr

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import ONE, Block, Diagonal, Hadamard, Matrix, Maximum, Norm, Plus, Product, Sum, Times, block
from symbptt.expr.walk import free_indices, substitute


class Refused(ValueError):
    """A step does not follow: a rule was applied outside its side condition, or to premises that do not fit."""


def require(holds: object, message: str, *about: object) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise Refused(message.format(*about))


Law: TypeAlias = tuple[Matrix, Matrix, tuple[Index, ...]]


class Axiom(NamedTuple):
    """A named law. `law` maps parameters to (left, right, conditions); `source` says where it stands."""

    law: Callable[..., Law]
    source: str


def _at(body: Matrix, var: IndexVar, form: Index) -> Matrix:
    return substitute(body, {var: form})


def _without(var: IndexVar, *trees: Matrix | Index | Expr) -> None:
    require(all(var not in free_indices(e) for e in trees), "the bound index {} occurs where it must not", var)


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
    require(not lo.terms and not hi.terms and lo.const < hi.const, "{} and {} are no ascending integers", lo, hi)
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
    require(outer != inner, "the two bound indices are one")
    left = Sum(Sum(body, inner, lo, index(outer)), outer, lo, hi)
    return left, Sum(Sum(body, outer, index(inner), hi), inner, lo, hi), ()


def block_times(a: Block, b: Block) -> Law:
    """[A_pq] [B_qr] = [Σ_q A_pq B_qr]."""
    columns = list(zip(*b.rows, strict=True))
    cells = [[_dot(row, column) for column in columns] for row in a.rows]
    return Times(a, b), block(cells), ()


def block_plus(a: Block, b: Block) -> Law:
    """[A_pq] + [B_pq] = [A_pq + B_pq]."""
    rows = zip(a.rows, b.rows, strict=True)
    return Plus(a, b), block([[Plus(x, y) for x, y in zip(p, q, strict=True)] for p, q in rows]), ()


def block_transpose(a: Block) -> Law:
    """[A_pq]ᵀ = [A_qpᵀ]."""
    columns = zip(*a.rows, strict=True)
    return nodes.Transpose(a), block([[nodes.Transpose(x) for x in column] for column in columns]), ()


def block_zero(a: Block) -> Law:
    """[0] = 0: a block matrix whose cells are all zero."""
    require(type(a) is Block and all(type(x) is nodes.Zero for row in a.rows for x in row), "a cell is not zero")
    return a, nodes.Zero(*a.shape), ()


def block_single(a: Matrix) -> Law:
    """[A] = A."""
    return block([[a]]), a, ()


def scalar_multiple(a: Matrix, s: Matrix) -> Law:
    """A s = (s I) A for a column A and a 1 × 1 matrix s."""
    require(nodes.number(s) and a.shape[1] == ONE, "{} is no column", a)
    return Times(a, s), Times(nodes.Multiple(s, nodes.Identity(a.shape[0])), a), ()


def multiple_identity(s: Matrix, a: Matrix) -> Law:
    """For a 1 × 1 matrix s: s A = (s I) A."""
    return nodes.Multiple(s, a), Times(nodes.Multiple(s, nodes.Identity(a.shape[0])), a), ()


def scalar_transpose(s: Matrix) -> Law:
    """For a 1 × 1 matrix s: sᵀ = s."""
    nodes.number(s)
    return nodes.Transpose(s), s, ()


def delta_same(a: Index) -> Law:
    """δ_{aa} = 1."""
    return nodes.Delta(a, a), nodes.Identity(ONE), ()


def delta_apart(a: Index, b: Index) -> Law:
    """δ_{ab} = 0 for b - a - 1 ≥ 0."""
    return nodes.Delta(a, b), nodes.Zero(ONE, ONE), (b - a - 1,)


def hadamard_commutes(a: Matrix, b: Matrix) -> Law:
    """A ∘ B = B ∘ A."""
    return Hadamard(a, b), Hadamard(b, a), ()


def hadamard_nested(first: tuple[Matrix, ...], rest: tuple[Matrix, ...]) -> Law:
    """A ∘ … ∘ B ∘ … ∘ C = (A ∘ … ) ∘ (B ∘ … ∘ C); a product of one factor is that factor."""
    parts = (part[0] if len(part) == 1 else Hadamard(*part) for part in (first, rest))
    return Hadamard(*first, *rest), Hadamard(*parts), ()


def hadamard_outer(a: Matrix, u: Matrix, v: Matrix) -> Law:
    """A ∘ (u vᵀ) = diag(u) A diag(v) for columns u, v."""
    return Hadamard(a, Times(u, nodes.Transpose(v))), Times(Diagonal(u), a, Diagonal(v)), ()


def diagonal_times(u: Matrix, v: Matrix) -> Law:
    """u ∘ v = diag(u) v for columns u, v."""
    return Hadamard(u, v), Times(Diagonal(u), v), ()


def diagonal_product(u: Matrix, v: Matrix) -> Law:
    """diag(u ∘ v) = diag(u) diag(v)."""
    return Diagonal(Hadamard(u, v)), Times(Diagonal(u), Diagonal(v)), ()


def diagonal_plus(*parts: Matrix) -> Law:
    """diag(u + v + …) = diag(u) + diag(v) + …."""
    return Diagonal(Plus(*parts)), Plus(*map(Diagonal, parts)), ()


def diagonal_scale(c: Expr, u: Matrix) -> Law:
    """diag(c u) = c diag(u)."""
    return Diagonal(nodes.Scale(c, u)), nodes.Scale(c, Diagonal(u)), ()


def diagonal_ones(size: Expr) -> Law:
    """diag(1) = I."""
    return Diagonal(nodes.Ones(size, ONE)), nodes.Identity(size), ()


def norm_times(*factors: Matrix) -> Law:
    """‖A B …‖ ≤ ‖A‖ ‖B‖ …."""
    bound = Times(*map(Norm, factors))
    return Maximum(Norm(Times(*factors)), bound), bound, ()


def norm_identity(size: Expr) -> Law:
    """‖I‖ ≤ 1."""
    return Maximum(Norm(nodes.Identity(size)), nodes.Identity(ONE)), nodes.Identity(ONE), ()


def max_associative(a: Matrix, b: Matrix, c: Matrix) -> Law:
    """max(a, max(b, c)) = max(max(a, b), c)."""
    return Maximum(a, Maximum(b, c)), Maximum(Maximum(a, b), c), ()


def max_times(c: Matrix, a: Matrix, b: Matrix) -> Law:
    """‖C‖ max(a, b) = max(‖C‖ a, ‖C‖ b), for ‖C‖ ≥ 0."""
    return Times(Norm(c), Maximum(a, b)), Maximum(Times(Norm(c), a), Times(Norm(c), b)), ()


def _dot(row: tuple[Matrix, ...], column: tuple[Matrix, ...]) -> Matrix:
    products = [Times(x, y) for x, y in zip(row, column, strict=True)]
    return Plus(*products) if len(products) > 1 else products[0]


LAWS: dict[str, tuple[Callable[..., Law], ...]] = {
    "laws of non-commutative rings; Lang, Algebra, ch. II": (
        power_zero, power_step, product_empty, product_first, product_join, product_shift, product_rotate,
        product_constant, scalar_multiple, multiple_identity, scalar_transpose),
    "Graham, Knuth and Patashnik, Concrete Mathematics, §2.1–2.4": (
        sum_empty, sum_first, sum_terms, sum_split, sum_shift, sum_reflect, sum_left, sum_right, sum_plus,
        sum_transpose, sum_exchange, delta_same, delta_apart),
    "Horn and Johnson, Matrix Analysis, §0.7": (
        block_times, block_plus, block_transpose, block_zero, block_single),
    "Horn and Johnson, Matrix Analysis, §0.9.1 on diagonal matrices, §7.5 on the elementwise product": (
        hadamard_commutes, hadamard_nested, hadamard_outer, diagonal_times, diagonal_product, diagonal_plus,
        diagonal_scale, diagonal_ones),
    "Horn and Johnson, Matrix Analysis, §5.6 on operator norms; max as in any ordered field": (
        norm_times, norm_identity, max_associative, max_times),
}
"""The laws by source."""

AXIOMS = {law.__name__: Axiom(law, source) for source, laws in LAWS.items() for law in laws}
"""Every axiom by name."""
