"""The differentials of sums and products are derivatives: what an operation adds when one operand moves.

Every operation of the rule table but functions and losses is affine in each of its operands. So, without any limit,

    f(…, A + dA, …) = f(…, A, …) + (d f)(…, dA, …),

where d f is the differential of the row with the other operands at rest; and the derivative of a function of several
operands is the sum over them. For a function φ and an opaque loss the row assumes the derivative instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sympy import MatrixSymbol

from symbptt.bptt.rules import RULES
from symbptt.expr.build import children, rebuild
from symbptt.expr.nodes import (
    ONE,
    Block,
    Hadamard,
    Matrix,
    Multiple,
    Node,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
)
from symbptt.proof.account import ProvedStatement
from symbptt.proof.elementwise import exchanged
from symbptt.proof.kernel import check
from symbptt.proof.rules_proved import operands
from symbptt.proof.script import Ref, Script

MOVED = "delta"
"""The name of what an operand moves by."""


@dataclass(frozen=True)
class IncrementTheorem:
    """The increment of one row at an expression, by the number of the operand that moves."""

    rule: str
    expression: Matrix
    operand: int
    proved: ProvedStatement


def increment(e: Matrix, k: int) -> tuple[Matrix, Matrix]:
    """The expression with operand k moved, and the expression plus the differential of its row."""
    parts = children(e)
    step = MatrixSymbol(MOVED, *parts[k].shape)
    moved = rebuild(e, (*parts[:k], Plus(parts[k], step), *parts[k + 1:]))
    places = iter(range(len(parts)))
    # Each row asks for the differential of its operands in order, once each.
    change = RULES[type(e)].differential(e, lambda a: step if next(places) == k else Zero(*a.shape))
    return moved, Plus(e, change)


class Increments:
    """The proofs, in a script without definitions."""

    def __init__(self) -> None:
        self.script = Script(())

    def proved(self, e: Matrix, k: int) -> IncrementTheorem:
        """The theorem of the row of e, for operand k.

        Raises:
            Refused: the differential is not the increment.
        """
        s, rule = self.script, RULES[type(e)].name
        left, right = increment(e, k)
        proof = s.proof(TACTICS.get(type(e), Increments.linear)(self, left, right, k))
        return IncrementTheorem(rule, e, k, ProvedStatement(f"{rule} {e}", check(proof), proof))

    def linear(self, left: Matrix, right: Matrix, _k: int) -> Ref:
        """By the ring laws alone."""
        return self.script.ring(left, right)

    def multiple(self, left: Matrix, right: Matrix, _k: int) -> Ref:
        """By s v = v s for a column v."""
        s, e = self.script, right.args[0]
        a, b = self._behind(left), self._behind(e)
        done = s.congruence(right, {0: b})
        return s.chain(a, s.ring(s[a].right, s[done].right), s.sym(done))

    def _behind(self, e: Matrix) -> Ref:
        s, (number, column) = self.script, e.args
        return s.chain(s.axiom("multiple_identity", number, column), s.sym(s.axiom("scalar_multiple", column, number)))

    def hadamard(self, left: Matrix, right: Matrix, k: int) -> Ref:
        """By a ∘ b ∘ … = diag(b ∘ …) a for columns."""
        s, e = self.script, right.args[0]
        a, b = self._weighted(left, k), self._weighted(e, k)
        done = s.congruence(right, {0: b})
        return s.chain(a, s.ring(s[a].right, s[done].right), s.sym(done))

    def _weighted(self, e: Matrix, k: int) -> Ref:
        """… ∘ a ∘ … = diag(… ∘ …) a, for factor k."""
        s, done = self.script, self.script.refl(e)
        for place in range(k, 0, -1):
            done = s.chain(done, exchanged(s, s[done].right.args, place - 1))
        first, *rest = s[done].right.args
        if len(rest) > 1:
            done = s.chain(done, s.axiom("hadamard_nested", (first,), tuple(rest)))
        first, others = s[done].right.args
        return s.chain(done, s.axiom("hadamard_commutes", first, others), s.axiom("diagonal_times", others, first))

    def block(self, left: Matrix, right: Matrix, _k: int) -> Ref:
        """By block laws, with what moves as a block of its own."""
        s = self.script

        def single(e: Matrix) -> Ref | None:
            return s.sym(s.axiom("block_single", e)) if isinstance(e, MatrixSymbol) and e.name == MOVED else None

        done = s.congruence(right, {1: s.rewrite(right.args[1], single)})
        done = s.chain(done, s.evaluate_blocks(s[done].right))
        found = s[done].right
        cells = {n: s.ring(a, found.args[n]) for n, a in enumerate(left.args) if n and a != found.args[n]}
        return s.chain(s.congruence(left, cells), s.sym(done))


TACTICS: dict[type[Node], Callable[[Increments, Matrix, Matrix, int], Ref]] = {
    Multiple: Increments.multiple, Hadamard: Increments.hadamard, Block: Increments.block}
"""How increments are proved where the ring laws do not do."""

AFFINE = (Plus, Times, Hadamard, Block, Scale, Multiple, Transpose)
"""The operations that are affine in each operand."""


def increment_theorems() -> Iterator[IncrementTheorem]:
    """The increment of every row that is affine in its operands; of elementwise products, for columns.

    Raises:
        Refused: a row is wrong.
    """
    made, table = Increments(), operands()
    for kind in AFFINE:
        for e in table[kind]:
            if type(e) is kind and (kind is not Hadamard or e.shape[1] == ONE):
                yield from (made.proved(e, k) for k in range(len(children(e))))
