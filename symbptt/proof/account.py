"""What is said about proofs: a theorem with its proof under a name, and proofs as a person reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from symbptt.expr.index import Index
from symbptt.expr.nodes import Matrix
from symbptt.proof.statement import Definition, Equality, Proof, Theorem


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


@dataclass(frozen=True)
class Reason:
    """Why a link of a chain holds: a definition of the proof, a law (an axiom or a rule) or a hypothesis."""

    kind: Literal["definition", "law", "hypothesis"]
    name: str


@dataclass(frozen=True)
class Cited:
    """A statement that was told before, by its number."""

    number: int


@dataclass(frozen=True)
class Link:
    """One link of a chain of equations, which is one step of the proof: … = right, and why."""

    right: Matrix
    reason: Reason | Cited


@dataclass(frozen=True)
class Chain:
    """Equations one after the other: left = … = … ."""

    left: Matrix
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Straight:
    """A proof by one chain, or by one for each block of two block matrices."""

    chains: tuple[Chain, ...]


@dataclass(frozen=True)
class Inductive:
    """A proof by induction on t from `start`, downwards or upwards: the base, what is supposed, the step."""

    downwards: bool
    start: Index
    base: Chain
    hypotheses: tuple[Equality, ...]
    step: Chain


@dataclass(frozen=True)
class Divided:
    """A proof in two cases: form ≥ 0, and form < 0."""

    form: Index
    inside: Chain
    outside: Chain


Argument: TypeAlias = Straight | Inductive | Divided


@dataclass(frozen=True)
class Told:
    """A statement with its proof as a person reads it; what it cites is told before. A lemma has no `proved`.

    `definitions` are those that it rests on.
    """

    theorem: Theorem
    definitions: tuple[Definition, ...]
    argument: Argument
    proved: ProvedStatement | None = None
