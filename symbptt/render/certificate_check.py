"""A certificate before the checker: is the statement the model's, does Coq accept it, and what is said of that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from symbptt.model.spec import Model
from symbptt.proof.checker import Verdict, check
from symbptt.proof.evaluation import Astray
from symbptt.proof.guard import formed, guard

ALONE = "its form was checked and it was compared with no model: what it states is the forward pass in the file"


def examined(text: str, model: Model | None = None) -> Verdict:
    """The verdict on a text of the form of certificates; with a model, its statement is compared with the model first.

    Raises:
        CheckerError: Coq cannot be run here.
    """
    try:
        if model is None:
            formed(text)
        else:
            guard(model, text)
    except Astray as error:
        of = "of a certificate" if model is None else f"that of {model.name}"
        return Verdict(False, f"the statement is not {of}: {error}")
    done = f"its statement was compared with the model {model.name}" if model is not None else ALONE
    return replace(check(text), compared=done)


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
