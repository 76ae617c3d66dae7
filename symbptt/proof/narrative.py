"""How a person reads a proof: chains of equations with their reasons, taken from the steps that the kernel replayed.

A link of a chain is a step that gives an equation of its own: an axiom, the ring laws, a definition, a hypothesis, or a
statement proved before. The other rules only put such links together. What is proved by induction or in cases on the
way becomes a lemma, told before the statement that cites it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from itertools import groupby
from typing import Any, TypeAlias, cast

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
_Asking: TypeAlias = Generator[int, list[Link], list[Link]]
"""What yields the numbers of steps and is sent their chains: proofs are deeper than calls may be nested."""


def _answered(asking: Generator[int, Any, Any], found: Callable[[int], _Asking]) -> Any:
    """What comes of it once every chain that it asks for is found, and every chain that those ask for."""
    waiting, answer = [asking], None
    while waiting:
        try:
            wanted = waiting[-1].send(answer)
        except StopIteration as done:
            waiting.pop()
            answer = done.value
        else:
            waiting.append(found(wanted))
            answer = None
    return answer


def _statement(theorem: Theorem) -> _Statement:
    """What a theorem says, without what it rests on."""
    return theorem.hypotheses, theorem.assumptions, theorem.left, theorem.right


class _Reader:
    """Turns a step into links; the expressions are those of the replayed theorems."""

    def __init__(self, proof: Proof) -> None:
        self.steps, self.theorems = proof.steps, replay(proof)

    def links(self, ref: int) -> list[Link]:
        """The chain from the left to the right side of a step's theorem."""
        return cast(list[Link], _answered(self._found(ref), self._found))

    def _found(self, ref: int) -> _Asking:
        step, theorem = self.steps[ref], self.theorems[ref]
        if step.rule == "transitivity":
            whole = []
            for k in step.premises:
                whole += yield k
            return whole
        if step.rule == "symmetry":
            return self._backwards(step.premises[0], (yield step.premises[0]))
        if step.rule == "congruence":
            return (yield from self._inside(ref))
        if step.rule in ("entailment", "cases"):  # the first case is the one inside the range of t
            return (yield step.premises[0])
        if step.rule == "instance":
            return _moved((yield step.premises[0]), cast(tuple[tuple[IndexVar, Index], ...], step.args))
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

    def _backwards(self, ref: int, links: list[Link]) -> list[Link]:
        rights = [self.theorems[ref].left, *(link.right for link in links)]
        return [Link(rights[k], links[k].reason) for k in range(len(links) - 1, -1, -1)]

    def _inside(self, ref: int) -> _Asking:
        step = self.steps[ref]
        whole, positions = cast(tuple[Node, tuple[int, ...]], step.args)
        operands = list(whole.args)
        made = []
        for premise, place in zip(step.premises, positions, strict=True):
            for link in (yield premise):
                operands[place] = link.right
                made.append(Link(Basic.__new__(type(whole), *operands), link.reason))
        return made


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
        _answered(self._told(ref, proved), self._found)

    def _told(self, ref: int, proved: ProvedStatement | None = None) -> Generator[int, list[Link], None]:
        theorem = self.theorems[ref]
        argument = yield from self._argument(ref)
        self._known.setdefault(_statement(theorem), []).append(len(self._made))
        used = tuple(d for d in self._definitions if d.name in theorem.used)
        self._made.append(Told(theorem, used, argument, proved))

    def _found(self, ref: int) -> _Asking:
        """The chain; a step with a statement that was told before is one link."""
        if ref not in self._links:
            step = self.steps[ref]
            if step.rule in ("cases", *INDUCTIONS) and self._before(ref) is None:
                yield from self._told(ref)
            if step.rule == "instance" and (yield from self._general(step.premises[0])):
                yield from self._told(step.premises[0])
                self._links.pop(step.premises[0])
            number = self._before(ref)
            self._links[ref] = (yield from super()._found(ref)) if number is None \
                else [Link(self.theorems[ref].right, Cited(number))]
        return self._links[ref]

    def _general(self, ref: int) -> Generator[int, list[Link], bool]:
        return not self.theorems[ref].assumptions and len((yield ref)) > GENERAL

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

    def _argument(self, ref: int) -> Generator[int, list[Link], Argument]:
        step = self.steps[ref]
        if step.rule in INDUCTIONS:
            base, inner = step.premises
            down = step.rule == "induction_down"
            return Inductive(down, index(step.args[1] if down else step.args[0]), self._chain(base, (yield base)),
                             tuple(sorted(self.theorems[inner].assumptions - self.theorems[ref].assumptions, key=str)),
                             self._chain(inner, (yield inner)))
        if step.rule == "cases":
            first, second = step.premises
            return Divided(index(step.args[0]), self._chain(first, (yield first)), self._chain(second, (yield second)))
        links = yield from super()._found(ref)
        if step.rule == "congruence" and isinstance(step.args[0], Block) and len(links) > CHAIN:
            rows = []
            for k in step.premises:
                rows.append(self._chain(k, (yield k)))
            return Straight(tuple(rows))
        return Straight((self._chain(ref, links),))

    def _chain(self, ref: int, links: list[Link]) -> Chain:
        return Chain(self.theorems[ref].left, tuple(links))


def _moved(links: Iterable[Link], pairs: Iterable[tuple[IndexVar, Index]]) -> list[Link]:
    rule = {v: index(f) for v, f in pairs if index(f) != index(v)}
    return [Link(substitute(link.right, rule), link.reason) for link in links]


def _merged(links: list[Link]) -> tuple[Row, ...]:
    """Consecutive links with the same reason as one row."""
    made = []
    for reason, group in groupby(links, key=lambda link: cast(Reason, link.reason)):
        made.append(Row(list(group)[-1].right, (reason.name,)))
    return tuple(made)
