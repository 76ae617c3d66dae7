"""How a person reads a proof: chains of equations with their reasons, taken from the steps that the kernel replayed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import cast

from sympy.core.basic import Basic

from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import Node
from symbptt.expr.walk import substitute
from symbptt.proof.account import Induction, Row
from symbptt.proof.kernel import replay
from symbptt.proof.statement import Equality, Proof

HYPOTHESIS = "induction hypothesis"


def induction(proof: Proof) -> Induction | None:
    """The induction that ends a proof; None when it ends otherwise."""
    reader = _Reader(proof)
    last = proof.steps[-1]
    if last.rule != "induction_down":
        return None
    base, step = last.premises
    left = reader.theorems[step].left
    hypothesis: Equality = next(iter(reader.theorems[step].assumptions))
    return Induction(reader.theorems[-1], index(last.args[1]), (reader.theorems[base].left, _merged(reader.rows(base))),
                     hypothesis, (left, _merged(reader.rows(step))))


class _Reader:
    """Turns a step into rows; the expressions are those of the replayed theorems."""

    def __init__(self, proof: Proof) -> None:
        self.steps, self.theorems = proof.steps, replay(proof)

    def rows(self, ref: int) -> list[Row]:
        """The chain from the left to the right side of a step's theorem."""
        step, theorem = self.steps[ref], self.theorems[ref]
        if step.rule == "transitivity":
            return [row for k in step.premises for row in self.rows(k)]
        if step.rule == "symmetry":
            return self._backwards(step.premises[0])
        if step.rule == "congruence":
            return self._inside(ref)
        if step.rule in ("entailment", "cases"):  # the first case is the one inside the range of t
            return self.rows(step.premises[0])
        if step.rule == "instance":
            return self._moved(step.premises[0], cast(tuple[tuple[IndexVar, Index], ...], step.args))
        if step.rule == "reflexivity":
            return []
        return [Row(theorem.right, (self._reason(ref),))]

    def _reason(self, ref: int) -> str:
        step = self.steps[ref]
        if step.rule == "assumption":
            return HYPOTHESIS
        return str(step.args[0]) if step.rule in ("axiom", "definition") else step.rule

    def _backwards(self, ref: int) -> list[Row]:
        rows = self.rows(ref)
        rights = [self.theorems[ref].left, *(row.right for row in rows)]
        return [Row(rights[k], rows[k].reasons) for k in range(len(rows) - 1, -1, -1)]

    def _inside(self, ref: int) -> list[Row]:
        step = self.steps[ref]
        whole, positions = cast(tuple[Node, tuple[int, ...]], step.args)
        operands = list(whole.args)
        made = []
        for premise, place in zip(step.premises, positions, strict=True):
            for row in self.rows(premise):
                operands[place] = row.right
                made.append(Row(Basic.__new__(type(whole), *operands), row.reasons))
        return made

    def _moved(self, ref: int, pairs: Iterable[tuple[IndexVar, Index]]) -> list[Row]:
        rule = {v: index(f) for v, f in pairs}
        return [Row(substitute(row.right, rule), row.reasons) for row in self.rows(ref)]


def _merged(rows: list[Row]) -> tuple[Row, ...]:
    """Consecutive rows with the same reasons as one."""
    made = []
    for reasons, group in groupby(rows, key=lambda row: row.reasons):
        made.append(Row(list(group)[-1].right, reasons))
    return tuple(made)
