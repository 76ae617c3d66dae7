"""What is said about derivatives that no theorem proves: those of the functions, and the gradients of opaque losses."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Rational

from symbptt.proof.assumed import Assumed, AssumedDerivative, AssumedLoss
from symbptt.render.document import Writer
from symbptt.render.notation import number
from symbptt.render.outline import Equal, Formula, Scalar, Sentence, Value, Verbatim, formulas, say, several


def points(found: Assumed) -> Iterator[Sentence]:
    """A point for each function, with its source and what stands for its derivative where there is none; one a loss."""
    for row in found.derivatives:
        smooth = say("slope" if row.entrywise else "jacobian", output=Formula(row.value), slope=Formula(row.derivative))
        said = say("kink", smooth=smooth, **_kinks(row)) if row.kinks else smooth
        yield say("assumed_source", said=said, source=Verbatim(row.source))
    yield from map(_differentiable, found.losses)


def lines(writer: Writer, found: Assumed) -> Iterator[str]:
    """The same in short: φ(z)′ = …, (∂φ(z)/∂z)ᵀ = …, and that ℓ is differentiable; a line each."""
    s = writer.symbols
    for row in found.derivatives:
        value, d = writer.print(row.value), s.partial
        matrix = s.transposed(s.parenthesised(s.quotient(d + value, d + writer.print(row.argument))))
        why: Value = Verbatim(row.source)
        why = say("assumed_kink", source=why, **_kinks(row)) if row.kinks else why
        yield f"{f'{value}′' if row.entrywise else matrix} {s.equal} {writer.print(row.derivative)}    " \
              f"({writer.value(why)})"
    yield from (writer.sentence(_differentiable(row)) for row in found.losses)


def needed(found: Assumed) -> Value:
    """The derivatives in a sentence: of which functions, of which losses."""
    parts: list[Value] = []
    if found.derivatives:
        parts.append(say("assumed_functions", values=formulas(*(row.value for row in found.derivatives))))
    if found.losses:
        parts.append(say("assumed_losses", values=formulas(*(row.loss for row in found.losses))))
    return several(*parts)


def _kinks(row: AssumedDerivative) -> dict[str, Value]:
    return {"places": several(*(Equal(row.argument, number(k)) for k in row.kinks)),
            "convention": Scalar(Rational(row.convention))}


def _differentiable(row: AssumedLoss) -> Sentence:
    return say("assumed_loss", loss=Formula(row.loss), gradients=formulas(*row.gradients))
