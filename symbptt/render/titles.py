"""The titles of printed statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from symbptt.expr.nodes import Block
from symbptt.proof.statement import Theorem
from symbptt.render.document import Writer
from symbptt.render.outline import Formula, Sentence, Value, Verbatim, say
from symbptt.render.words_proofs import KINDS


def what(key: str, theorem: Theorem) -> Value:
    """What a theorem is called: by the first word of its key; a gradient by its own name."""
    kind, _, _ = key.partition(" ")
    if kind == "total" and type(theorem.left) is not Block:
        return say("proofs_total", gradient=Formula(theorem.left))
    return Verbatim(KINDS.get(kind, key))


def titled(writer: Writer, s: Sentence) -> str:
    """A sentence as a title; in plain text in capitals, but for its formulas."""
    text, formulas = writer.sentence(s), [writer.value(v) for v in _formulas(s)]
    if not writer.form.plain:
        return text
    parts = re.split(f"({'|'.join(map(re.escape, formulas))})", text) if formulas else [text]
    return "".join(part if part in formulas else part.upper() for part in parts)


def _formulas(s: Sentence) -> Iterator[Formula]:
    """The formulas in a sentence and in those that stand in it."""
    for _, v in s.places:
        if isinstance(v, Sentence):
            yield from _formulas(v)
        elif isinstance(v, Formula):
            yield v
