"""A certificate before the checker: is the statement the model's, does Coq accept it, and what is said of that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from symbptt.model.spec import Model
from symbptt.proof.checker import Verdict, check
from symbptt.proof.declared import Text
from symbptt.proof.evaluation import Astray
from symbptt.proof.guard import formed, guard
from symbptt.proof.vernacular import Sentence

ALONE = "its form was checked and it was compared with no model: what it states is the forward pass in the file"


def examined(text: str, model: Model | None = None, own: str | None = None) -> Verdict:
    """The verdict on a text of the form of certificates; with a model, its statement is compared with the model first.

    A text that came from elsewhere must state word by word what `own`, the certificate written here, states. What is
    tried at random points are the printer's mistakes; against whoever chooses the text by the points it would not do.

    Raises:
        CheckerError: Coq cannot be run here.
    """
    try:
        if model is None:
            formed(text)
        else:
            guard(model, text)
            if own is not None:
                word_by_word(text, own)
    except Astray as error:
        of = "of a certificate" if model is None else f"that of {model.name}"
        return Verdict(False, f"the statement is not {of}: {error}")
    done = f"its statement was compared with the model {model.name}" if model is not None else ALONE
    return replace(check(text), compared=done)


def word_by_word(text: str, own: str) -> None:
    """Refuse a text that states something else than another, be it in other words only; proofs may differ.

    Raises:
        Astray: it does; the message shows the first sentence that differs.
    """
    for theirs, ours in zip_longest(_stated(text), _stated(own)):
        if theirs is None:
            raise Astray(f"it ends where the certificate that symbptt writes goes on: {_shown(ours.text)}")
        if ours is None:
            raise Astray(f"line {theirs.line}: the certificate that symbptt writes ends here: {_shown(theirs.text)}")
        if theirs.text != ours.text:
            raise Astray(f"line {theirs.line} is not what symbptt writes: {_shown(theirs.text, ours.text)}; "
                         f"it writes: {_shown(ours.text, theirs.text)}")


def _stated(text: str) -> Iterator[Sentence]:
    """All sentences outside proofs but questions to Coq."""
    return (s for _, s in Text(text).statement if s.words[:1] != ["Print"])


def _shown(sentence: str, other: str = "") -> str:
    """A sentence; of a long one the part around the first character that differs from another."""
    apart = next((k for k, (a, b) in enumerate(zip(sentence, other, strict=False)) if a != b), 0)
    start = max(0, apart - 60) if len(sentence) > 120 else 0
    return ("…" if start else "") + sentence[start:start + 120] + ("…" if len(sentence) > start + 120 else "")


def told(verdict: Verdict) -> Iterator[str]:
    """The verdict as lines of plain text; of a file without a model, what Coq says that its theorems state in full."""
    if not verdict.accepted:
        yield f"refused: {verdict.reason}"
        return
    for theorem in verdict.theorems:
        if verdict.compared == ALONE:
            yield re.sub(r"\b(?:checked\.)?certificate\.(?=[A-Za-z_])", "", theorem.whole)
        else:
            yield f"{theorem.name}: {theorem.statement}"
            if theorem.supposed:
                yield f"  supposing {'; '.join(theorem.supposed)}"
        yield f"  rests on {', '.join(theorem.axioms)}" if theorem.axioms else "  rests on no axiom"
    many = len(verdict.theorems)
    if verdict.compared:
        yield verdict.compared
    yield f"accepted: {many} theorem{'' if many == 1 else 's'}, by {verdict.version}"
