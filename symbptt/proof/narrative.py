"""How a person reads a proof: chains of equations with their reasons, taken from the steps that the kernel replayed.

A link of a chain is a step that gives an equation of its own: an axiom, the ring laws, a definition, a hypothesis, or a
statement proved before. The other rules only put such links together. What is proved by induction or in cases on the
way becomes a lemma, told before the statement that cites it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TypeAlias, cast

from sympy.core.basic import Basic

from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import Block, Matrix, Node
from symbptt.expr.walk import substitute
from symbptt.proof.account import (
    Argument,
    Chain,
    Cited,
    Divided,
    Induction,
    Inductive,
    Link,
    ProvedStatement,
    Reason,
    Row,
    Straight,
    Told,
)
from symbptt.proof.kernel import replay
from symbptt.proof.statement import Equality, Proof, Theorem

HYPOTHESIS, ASSUMPTION = "induction hypothesis", "assumption"
INDUCTIONS = ("induction_down", "induction_up")
CHAIN = 6
"""A block matrix whose proof has more links is told block by block."""
GENERAL = 4
"""A statement with a longer chain that is used at a time of its own is told as a lemma."""


def induction(proof: Proof) -> Induction | None:
    """The induction that ends a proof; None when it ends otherwise."""
    reader = _Reader(proof)
    last = proof.steps[-1]
    if last.rule != "induction_down":
        return None
    base, step = last.premises
    left = reader.theorems[step].left
    hypothesis: Equality = next(iter(reader.theorems[step].assumptions))
    return Induction(reader.theorems[-1], index(last.args[1]),
                     (reader.theorems[base].left, _merged(reader.links(base))), hypothesis,
                     (left, _merged(reader.links(step))))


def told(proved: Iterable[ProvedStatement]) -> tuple[Told, ...]:
    """Every theorem with its proof, in order; lemmas stand before the first theorem that cites them.

    Raises:
        Refused: the kernel does not accept a proof.
    """
    known: dict[_Statement, list[int]] = {}
    made: list[Told] = []
    for q in proved:
        teller = _Teller(q.proof, known, made)
        teller.tell(len(q.proof.steps) - 1, q)
    return tuple(made)


_Statement: TypeAlias = tuple[frozenset[Index], frozenset[Equality], Matrix, Matrix]


def _statement(theorem: Theorem) -> _Statement:
    """What a theorem says, without what it rests on."""
    return theorem.hypotheses, theorem.assumptions, theorem.left, theorem.right


class _Reader:
    """Turns a step into links; the expressions are those of the replayed theorems."""

    def __init__(self, proof: Proof) -> None:
        self.steps, self.theorems = proof.steps, replay(proof)

    def links(self, ref: int) -> list[Link]:
        """The chain from the left to the right side of a step's theorem."""
        step, theorem = self.steps[ref], self.theorems[ref]
        if step.rule == "transitivity":
            return [link for k in step.premises for link in self.links(k)]
        if step.rule == "symmetry":
            return self._backwards(step.premises[0])
        if step.rule == "congruence":
            return self._inside(ref)
        if step.rule in ("entailment", "cases"):  # the first case is the one inside the range of t
            return self.links(step.premises[0])
        if step.rule == "instance":
            return self._moved(step.premises[0], cast(tuple[tuple[IndexVar, Index], ...], step.args))
        if step.rule == "reflexivity":
            return []
        return [Link(theorem.right, self._reason(ref))]

    def _reason(self, ref: int) -> Reason:
        step = self.steps[ref]
        if step.rule == "assumption":
            return Reason("hypothesis", HYPOTHESIS)
        if step.rule == "definition":
            return Reason("definition", str(step.args[0]))
        return Reason("law", str(step.args[0]) if step.rule == "axiom" else step.rule)

    def _backwards(self, ref: int) -> list[Link]:
        links = self.links(ref)
        rights = [self.theorems[ref].left, *(link.right for link in links)]
        return [Link(rights[k], links[k].reason) for k in range(len(links) - 1, -1, -1)]

    def _inside(self, ref: int) -> list[Link]:
        step = self.steps[ref]
        whole, positions = cast(tuple[Node, tuple[int, ...]], step.args)
        operands = list(whole.args)
        made = []
        for premise, place in zip(step.premises, positions, strict=True):
            for link in self.links(premise):
                operands[place] = link.right
                made.append(Link(Basic.__new__(type(whole), *operands), link.reason))
        return made

    def _moved(self, ref: int, pairs: Iterable[tuple[IndexVar, Index]]) -> list[Link]:
        rule = {v: index(f) for v, f in pairs}
        return [Link(substitute(link.right, rule), link.reason) for link in self.links(ref)]


class _Teller(_Reader):
    """A reader that cites what has been told, and tells inductions and cases as lemmas first."""

    def __init__(self, proof: Proof, known: dict[_Statement, list[int]], made: list[Told]) -> None:
        super().__init__(proof)
        self._definitions, self._known, self._made = proof.definitions, known, made
        self._links: dict[int, list[Link]] = {}
        self._discharged = {e for k, step in enumerate(proof.steps) if step.rule in INDUCTIONS
                            for e in self.theorems[step.premises[1]].assumptions - self.theorems[k].assumptions}

    def tell(self, ref: int, proved: ProvedStatement | None = None) -> None:
        """Add the statement of a step with its proof, and before it what it cites."""
        theorem = self.theorems[ref]
        argument = self._argument(ref)
        self._known.setdefault(_statement(theorem), []).append(len(self._made))
        used = tuple(d for d in self._definitions if d.name in theorem.used)
        self._made.append(Told(theorem, used, argument, proved))

    def links(self, ref: int) -> list[Link]:
        """The chain; a step with a statement that was told before is one link."""
        if ref not in self._links:
            step = self.steps[ref]
            if step.rule in ("cases", *INDUCTIONS) and self._before(ref) is None:
                self.tell(ref)
            if step.rule == "instance" and self._general(step.premises[0]):
                self.tell(step.premises[0])
                self._links.pop(step.premises[0])
            number = self._before(ref)
            self._links[ref] = super().links(ref) if number is None else [Link(self.theorems[ref].right, Cited(number))]
        return self._links[ref]

    def _general(self, ref: int) -> bool:
        return not self.theorems[ref].assumptions and len(self.links(ref)) > GENERAL

    def _reason(self, ref: int) -> Reason:
        q = self.theorems[ref]
        if self.steps[ref].rule == "assumption" and (q.left, q.right) not in self._discharged:
            return Reason("hypothesis", ASSUMPTION)
        return super()._reason(ref)

    def _before(self, ref: int) -> int | None:
        """The number of the statement of a step, told before from nothing that the step does not rest on."""
        here = self.theorems[ref]
        return next((k for k in self._known.get(_statement(here), ()) if self._made[k].theorem.used <= here.used
                     and set(self._made[k].definitions) <= set(self._definitions)), None)

    def _argument(self, ref: int) -> Argument:
        step = self.steps[ref]
        if step.rule in INDUCTIONS:
            base, inner = step.premises
            down = step.rule == "induction_down"
            return Inductive(down, index(step.args[1] if down else step.args[0]), self._chain(base),
                             tuple(sorted(self.theorems[inner].assumptions - self.theorems[ref].assumptions, key=str)),
                             self._chain(inner))
        if step.rule == "cases":
            return Divided(index(step.args[0]), *map(self._chain, step.premises))
        if step.rule == "congruence" and isinstance(step.args[0], Block) and len(super().links(ref)) > CHAIN:
            return Straight(tuple(map(self._chain, step.premises)))
        return Straight((Chain(self.theorems[ref].left, tuple(super().links(ref))),))

    def _chain(self, ref: int) -> Chain:
        return Chain(self.theorems[ref].left, tuple(self.links(ref)))


def _merged(links: list[Link]) -> tuple[Row, ...]:
    """Consecutive links with the same reason as one row."""
    made = []
    for reason, group in groupby(links, key=lambda link: cast(Reason, link.reason)):
        made.append(Row(list(group)[-1].right, (reason.name,)))
    return tuple(made)
