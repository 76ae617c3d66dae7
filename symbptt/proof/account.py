"""What is said about proofs: a theorem with its proof under a name, and a proof by induction as a person reads it."""

from __future__ import annotations

from dataclasses import dataclass

from symbptt.expr.index import Index
from symbptt.expr.nodes import Matrix
from symbptt.proof.statement import Equality, Proof, Theorem


@dataclass(frozen=True)
class ProvedStatement:
    """A theorem that the kernel has replayed, its proof, and a key that says what it is."""

    key: str
    theorem: Theorem
    proof: Proof

    def __repr__(self) -> str:
        return f"<{self.key}: {self.theorem.left} = {self.theorem.right}, {len(self.proof.steps)} steps>"


@dataclass(frozen=True)
class Row:
    """One link of a chain of equations: … = right, and the names of the rules, axioms and definitions that give it."""

    right: Matrix
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Induction:
    """A proof by downward induction as a person reads it: the base at `start`, the hypothesis, the step."""

    goal: Theorem
    start: Index
    base: tuple[Matrix, tuple[Row, ...]]
    hypothesis: Equality
    step: tuple[Matrix, tuple[Row, ...]]
