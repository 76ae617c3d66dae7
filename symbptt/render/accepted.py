"""What Coq has accepted of a model, and the section of a document that says so.

Nothing is called accepted without an `Accepted`, and `accepted` makes one only when it has just had a certificate
compared with the model and checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from symbptt.model.depth import bounded
from symbptt.model.read import argument
from symbptt.model.spec import Model
from symbptt.proof.axioms import Refused
from symbptt.proof.checker import Checked, Verdict
from symbptt.proof.quotation import Quoted, quotation
from symbptt.render.certificate_check import examined
from symbptt.render.outline import (
    OBJECTIVE,
    Code,
    Count,
    Formula,
    Item,
    Listing,
    Paragraph,
    Section,
    Verbatim,
    paragraph,
    say,
)

NOTATION = {"adjoint": "g_v t", "direct": "e_v t", "gradient": "dL_dv"}
"""How a certificate writes the gradients of a variable v."""


@dataclass(frozen=True)
class Accepted:
    """The text of a certificate, the model with which it was compared, and what Coq says of it.

    Raises:
        Refused: Coq has not accepted it, or it does not say which Coq has.
    """

    model: Model
    text: str
    verdict: Verdict

    def __post_init__(self) -> None:
        if not self.verdict.accepted:
            raise Refused(self.verdict.reason)
        if not self.verdict.version or not self.verdict.theorems:
            raise Refused("Coq tells neither its version nor a theorem")

    @property
    def version(self) -> str:
        """The checker's version, as it says itself."""
        return self.verdict.version

    @property
    def theorems(self) -> tuple[Checked, ...]:
        """The theorems with their statements and axioms."""
        return self.verdict.theorems

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the text, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def file(self) -> str:
        """What a file with the text is called: by a name that is one of a module to Coq."""
        return f"{self.model.name.replace('-', '_')}.v"

    def of(self, model: Model | None) -> None:
        """Refuse another model than the one with which the certificate was compared.

        Raises:
            ValueError: it is another one.
        """
        if model != self.model:
            raise ValueError(f"what Coq accepted is about the model {self.model.name}, not about the one told of here")

    def data(self) -> dict[str, object]:
        """The same for a program to read."""
        return {"version": self.version, "sha256": self.digest, "theorems": [
            {"name": q.name, "statement": q.statement, "axioms": list(q.axioms)} for q in self.theorems]}


@bounded
def accepted(text: str, model: Model) -> Accepted:
    """Compare a certificate with a model and have Coq check it.

    Raises:
        Refused: it states something else, or Coq does not accept it; the message says why.
        CheckerError: Coq cannot be run here.
    """
    return Accepted(model, text, examined(text, model))


def section(found: Accepted, model: Model | None) -> Section:
    """What Coq accepted, for a document about a model.

    Raises:
        ValueError: it is about another model.
    """
    found.of(model)
    return Section("coq", tuple(_items(found)))


def _items(found: Accepted) -> Iterator[Item]:
    quoted = quotation(found.text, (q.name for q in found.theorems))
    count = len(found.theorems)
    theorems = say("coq_one_theorem") if count == 1 else say("coq_theorems", number=Count(count))
    yield Paragraph((say("coq_accepted", theorems=theorems, version=Verbatim(found.version)), say("coq_compared"),
                     say("coq_again")))
    yield Code((f"symbptt prove {argument(found.model)} --certificate {found.file} --check",
                f"symbptt certificate {found.file}", f"sha256sum {found.file}", f"{found.digest}  {found.file}"))
    yield paragraph("coq_quoted", objective=Formula(OBJECTIVE),
                    **{place: Verbatim(text) for place, text in NOTATION.items()})
    yield Code(quoted.setting)
    for q, checked in zip(quoted.theorems, found.theorems, strict=True):
        yield from _theorem(q, checked.axioms)


def _theorem(q: Quoted, axioms: tuple[str, ...]) -> Iterator[Item]:
    yield paragraph("coq_theorem_axioms" if axioms else "coq_theorem", name=Verbatim(q.name),
                    section=Verbatim(q.section))
    yield Code(q.lines)
    if axioms:
        yield paragraph("coq_rests" if len(axioms) == 1 else "coq_rests_more")
        yield Listing(tuple(say("coq_axiom", axiom=Verbatim(axiom)) for axiom in axioms))
