"""The outline of a document: sections of sentences, numbered displays and lists, in no language and no notation.

A `Sentence` names a row of the word tables and what stands in its places; a `Display` holds expressions. Writers turn
both into text. Everything here is data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from sympy import Expr, MatrixSymbol

from symbptt.derivation import Line
from symbptt.expr.index import Index
from symbptt.expr.nodes import At, Matrix

OBJECTIVE = MatrixSymbol("L", 1, 1)


@dataclass(frozen=True)
class Formula:
    """An expression in a sentence."""

    expression: Matrix


@dataclass(frozen=True)
class Equal:
    """left = right in a sentence."""

    left: Matrix
    right: Matrix


@dataclass(frozen=True)
class Expected:
    """E[variable] = value = … in a sentence."""

    variable: Matrix
    values: tuple[Matrix, ...]


@dataclass(frozen=True)
class Scalar:
    """A size or a constant in a sentence."""

    expression: Expr


@dataclass(frozen=True)
class Space:
    """v ∈ ℝ^{rows × columns}."""

    variable: Matrix


@dataclass(frozen=True)
class Run:
    """v_a, …, v_b."""

    first: At
    last: At


@dataclass(frozen=True)
class When:
    """lo ≤ t ≤ hi, or t = lo where both are equal; with hi ≤ last where hi is a time of its own."""

    lo: Index
    hi: Index
    last: Index | None = None


@dataclass(frozen=True)
class Before:
    """t < end."""

    end: Index


@dataclass(frozen=True)
class Steps:
    """T = steps."""

    steps: int


@dataclass(frozen=True)
class AtLeast:
    """left ≥ right."""

    left: Index
    right: Index


@dataclass(frozen=True)
class Ref:
    """An equation by its label."""

    label: str


@dataclass(frozen=True)
class Span:
    """The equations from one label to another."""

    first: str
    last: str


@dataclass(frozen=True)
class Heading:
    """A section by the key of its title."""

    title: str


@dataclass(frozen=True)
class Dots:
    """The dots of a list that goes on."""


@dataclass(frozen=True)
class Count:
    """How many there are of something."""

    number: int


@dataclass(frozen=True)
class Verbatim:
    """Words that a person wrote."""

    text: str


@dataclass(frozen=True)
class Phrase:
    """A phrase of the word tables: of rules, of reasons, of roles."""

    table: str
    key: str


@dataclass(frozen=True)
class Several:
    """Some values, with commas and an "and" between them."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Sentence:
    """A row of the word tables, and what stands in its places."""

    key: str
    places: tuple[tuple[str, Value], ...] = ()


Value: TypeAlias = (Formula | Equal | Expected | Scalar | Space | Run | When | Before | Steps | AtLeast | Ref | Span |
                    Heading | Dots | Count | Verbatim | Phrase | Several | Sentence)


@dataclass(frozen=True)
class Paragraph:
    """Sentences, one after the other."""

    template: ClassVar[str] = "paragraph"
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True)
class Relation:
    """One link of a chain: … = right, or … ≤ right, and why."""

    right: Matrix
    reasons: tuple[Value, ...] = ()
    at_most: bool = False


@dataclass(frozen=True)
class Display:
    """left = … = …, for the times given; `label` is its label, or None. One that goes on with the chain of the display
    before it does not write the left side again.
    """

    template: ClassVar[str] = "display"
    left: Matrix
    relations: tuple[Relation, ...]
    label: str | None = None
    when: When | None = None
    goes_on: bool = False


@dataclass(frozen=True)
class Listing:
    """Points, a sentence each."""

    template: ClassVar[str] = "listing"
    points: tuple[Sentence, ...]


@dataclass(frozen=True)
class Code:
    """Lines of a program or a file, as they stand there."""

    template: ClassVar[str] = "code"
    lines: tuple[str, ...]


Item: TypeAlias = Paragraph | Display | Listing | Code


@dataclass(frozen=True)
class Section:
    """A title, by key, and what stands below it."""

    title: str
    items: tuple[Item, ...]


def say(key: str, **places: Value) -> Sentence:
    """A sentence with its places filled."""
    return Sentence(key, tuple(places.items()))


def paragraph(key: str, **places: Value) -> Paragraph:
    """A paragraph of one sentence."""
    return Paragraph((say(key, **places),))


def formulas(*expressions: Matrix) -> Value:
    """The expressions, joined."""
    return several(*(Formula(e) for e in expressions))


def several(*values: Value) -> Value:
    """The values joined, each once, or the one that there is."""
    once = tuple(dict.fromkeys(values))
    return once[0] if len(once) == 1 else Several(once)


def references(*lines: Line) -> Value:
    """Equations by label, each once, in order; those of the written-out case last."""
    return several(*(Ref(line.label) for line in sorted(lines, key=lambda line: (line.kind == "written", line.number))))
