"""Theorem, Definition, Step, Proof: data. Nothing here decides anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from symbptt.expr.index import Index
from symbptt.expr.nodes import Matrix

Equality: TypeAlias = tuple[Matrix, Matrix]


@dataclass(frozen=True)
class Theorem:
    """hypotheses (each form ≥ 0), assumptions (equations) ⊢ left = right, and the names of what it rests on."""

    hypotheses: frozenset[Index]
    assumptions: frozenset[Equality]
    left: Matrix
    right: Matrix
    used: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Definition:
    """left = right.

    With lo and hi it defines a family by recursion: left(t) = right(t) for lo ≤ t ≤ hi and left(t) = 0 for t > hi.
    Without them it is an abbreviation, for every t when t occurs in left.
    """

    name: str
    left: Matrix
    right: Matrix
    lo: Index | None = None
    hi: Index | None = None


@dataclass(frozen=True)
class Step:
    """One application of an inference rule to earlier steps (by number) and arguments."""

    rule: str
    premises: tuple[int, ...] = ()
    args: tuple[object, ...] = ()


@dataclass(frozen=True)
class Proof:
    """Definitions and steps; the last step is what it proves, `claim` what it says it proves."""

    definitions: tuple[Definition, ...]
    steps: tuple[Step, ...]
    claim: Theorem
