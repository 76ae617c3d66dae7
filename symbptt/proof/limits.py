"""What a recorded proof would cost the kernel, found before it is replayed: a bound on the size of every theorem.

The kernel decides what follows; it does not ask how long that takes. A file from elsewhere may hold a small proof about
enormous terms, so the bound is worked out from the steps alone, and what is too large is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Integer

from symbptt.expr.index import Index
from symbptt.expr.nodes import Block
from symbptt.proof.entries import SIZE, RecordError, Rows
from symbptt.proof.kernel import MOST
from symbptt.proof.statement import Proof

STEPS = 100_000
"""The most steps of a proof."""
DEFINITIONS = 2_000
"""The most definitions of a proof, and of a file; any two of them are compared."""
WORK = 1_000_000_000
"""The most nodes in all theorems of a file, words of ring steps, searches of entailments and pairs of definitions
together; the kernel takes minutes for so many."""
WORD = 50
"""A word of a ring step costs as much as so many nodes."""
WORDS = 2_000_000
"""The most words of a ring step."""
SEARCH = 6
"""How many hypotheses the kernel adds up at most when it derives one from others."""
PREMISE = 50
"""A hypothesis or an assumption of a theorem takes as much room as so many nodes."""
INTRODUCED = 3
"""No step brings more hypotheses of its own, but for an entailment, whose arguments are its hypotheses."""
LAW = 4
"""No law repeats an argument more often, but once for each summand or block."""


def check_cost(proof: Proof, rows: Rows, path: str, spent: int = 0) -> int:
    """What a proof costs the kernel, and all before it in the file; refuse one that would take it too long.

    Raises:
        RecordError: with the place at which it becomes too large.
    """
    if len(proof.steps) > STEPS or len(proof.definitions) > DEFINITIONS:
        raise RecordError(path, f"it has more than {STEPS:,} steps or {DEFINITIONS:,} definitions")
    defined = {d.name: rows.size[id(d.left)] + rows.size[id(d.right)] for d in proof.definitions}
    total = spent + sum(defined.values()) + len(proof.definitions) ** 2
    bounds: list[int] = []
    held: list[int] = []
    under: list[int] = []
    for number, step in enumerate(proof.steps):
        args = list(_flat(step.args))
        own = sum(rows.size.get(id(a), 1) for a in args)
        before = [bounds[k] for k in step.premises if 0 <= k < number]
        if step.rule == "congruence":
            bound = own + sum(before)
        else:
            named = max((defined[a] for a in args if isinstance(a, str) and a in defined), default=0)
            bound = max([own * (LAW + _repeated(args) if step.rule == "axiom" else 1), named, *before])
        bounds.append(bound)
        held.append(min(MOST, len(args) + sum(held[k] for k in step.premises if 0 <= k < number)))
        hypotheses = sum(under[k] for k in step.premises if 0 <= k < number)
        under.append(min(MOST, len(args) if step.rule == "entailment" else hypotheses + INTRODUCED))
        total += bound + PREMISE * held[-1] + hypotheses * _searched(step.rule, args)
        words = sum(rows.words.get(id(a), 1) for a in args) if step.rule == "ring" else 0
        total += WORD * words
        if bound > SIZE or words > WORDS or total > WORK:
            raise RecordError(f"{path}.steps[{number}]", "the terms of the proof grow too large here: more than "
                              f"{SIZE:,} nodes, {WORDS:,} words once multiplied out, or {WORK:,} in all")
    return total


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for a in value:
            yield from _flat(a)
    else:
        yield value


def _repeated(args: list[object]) -> int:
    """How often a law may repeat an argument: summands between two numbers, rows or columns of blocks."""
    numbers = [a.const for a in args if isinstance(a, Index) and not a.terms]
    count = max(numbers) - min(numbers) + 1 if numbers else 1
    for a in args:
        if isinstance(a, Block) and isinstance(a.args[0], Integer):
            rows = int(a.args[0])
            count = max(count, rows, (len(a.args) - 1) // rows)
    return count


def _searched(rule: str, args: list[object]) -> int:
    return (len(args) + 1) ** SEARCH if rule == "entailment" else 0
