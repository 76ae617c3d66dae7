"""What a reader has to know of the notation and of the functions: only what this document uses."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.derivation import Derivation, Kind
from symbptt.expr.build import apply, scale, selected
from symbptt.expr.index import T, t
from symbptt.expr.nodes import ONE, Apply, At, Block, Delta, Diagonal, Hadamard, Matrix, Ones, Times, Transpose
from symbptt.expr.walk import visit
from symbptt.model.functions import ENTRYWISE, FUNCTIONS, VECTOR_FUNCTIONS
from symbptt.model.notation import split
from symbptt.render.outline import Dots, Equal, Formula, Scalar, Sentence, say, several

ARGUMENT, VALUE = ("z", "a", "s", "v", "zeta", "omega"), ("y", "r", "w", "u", "eta", "psi")
"""What z and y = φ(z) are called, whichever name is free."""
TAKEN: tuple[Kind, ...] = ("letter", "forward_letter", "randomised")
"""The kinds of lines that give names of their own."""
LENGTH = Symbol("n", integer=True, positive=True)


def applied(d: Derivation) -> tuple[str, ...]:
    """The functions that the model applies, each once, in order."""
    forms = (form for line in d.of_kind("model", "loss") for form in line.forms)
    return tuple(dict.fromkeys(str(e.args[0]) for form in forms for e in visit(form) if type(e) is Apply))


def slope(name: str, z: Matrix, y: Matrix) -> Matrix | None:
    """The derivative of a function at z with the value y; for one of a column, the transpose of its Jacobian matrix."""
    if name in VECTOR_FUNCTIONS:
        return VECTOR_FUNCTIONS[name].jacobian(z, y)
    return ENTRYWISE[name].slope(z, y) if name in ENTRYWISE else None


def letters(d: Derivation, *wanted: str) -> MatrixSymbol:
    """A column under the first of these names that nothing in the document has, with or without subscripts."""
    m = d.model
    symbols = (*m.parameters, *m.static, *m.families.values(), *m.constants, *m.counts.values(), *m.sizes)
    taken = {str(v.name) for v in symbols} | {"L", "T", "I", "t"}
    parts = (e for line in d.of_kind(*TAKEN) for form in (line.left, *line.forms) for e in visit(form))
    taken |= {str(e.family.name if isinstance(e, At) else e.name) for e in parts if isinstance(e, At | MatrixSymbol)}
    taken |= {line.name for line in d.of_kind("chunk")} | {str(v.name) for v in (d.closed.bound if d.closed else ())}
    taken |= {split(name).base for name in taken}
    numbered = (f"{wanted[0]}_{k}" for k in range(1, len(taken) + 2))
    return MatrixSymbol(next(w for w in (*wanted, *numbered) if w not in taken), LENGTH, ONE)


def differentiated(d: Derivation) -> Iterator[Matrix]:
    """φ(z) for each function of the model whose derivative is listed."""
    z = letters(d, *ARGUMENT)
    yield from (apply(name, z) for name in applied(d) if slope(name, z, z) is not None)


def functions(d: Derivation) -> Iterator[Sentence]:
    """A point for each function of the model: its derivative, and what stands for it where there is none."""
    z, y = letters(d, *ARGUMENT), letters(d, *VALUE)
    for name in applied(d):
        found = slope(name, z, y)
        if found is None:
            continue
        value = apply(name, z)
        key = "jacobian" if name in VECTOR_FUNCTIONS else "slope"
        said = say(f"{key}_output", output=Formula(value), slope=Formula(found), value=Equal(y, value)) \
            if y in set(visit(found)) else say(key, output=Formula(value), slope=Formula(found))
        row = FUNCTIONS.get(name)
        if row is not None and row.kinks:
            places = several(*(Equal(z, number(k)) for k in row.kinks))
            said = say("kink", smooth=said, places=places, convention=Scalar(Rational(row.convention)))
        yield said


def number(k: int) -> Matrix:
    """A number as a 1 × 1 matrix."""
    return scale(Integer(k), Ones(ONE, ONE))


def shown(d: Derivation) -> Iterator[Matrix]:
    """Every expression that the document displays, and the derivatives that it lists."""
    z, y = letters(d, "z"), letters(d, "y")
    yield from (form for line in d.lines for form in (line.left, *line.forms))
    if d.induction is not None:
        for left, rows in (d.induction.base, d.induction.step):
            yield from (left, *(row.right for row in rows))
    yield from (found for name in applied(d) if (found := slope(name, z, y)) is not None)


def notation(d: Derivation) -> Iterator[Sentence]:
    """A sentence for each sign that is not common property."""
    forms = tuple(shown(d))
    parts = {part for form in forms for part in visit(form)}
    kinds = {type(part) for part in parts}
    names = {str(part.args[0]) for part in parts if type(part) is Apply}
    z, y = letters(d, *ARGUMENT), letters(d, *VALUE)
    if Hadamard in kinds or Diagonal in kinds:
        yield say("hadamard", example=Formula(Hadamard(z, y)), diagonal=Formula(Diagonal(z)), vector=Formula(z))
    if any(type(part) is Ones and part.shape != (ONE, ONE) for part in parts):
        yield say("number", ones=Formula(Ones(LENGTH, ONE)))
    for name, key in (("step", "indicator"), ("square", "square")):
        if name in names:
            yield say(key, example=Formula(apply(name, z)), argument=Formula(z))
    rows = next((e for form in forms for e in visit(form) if e != form and type(e) is Block and selected(e)), None)
    picked = selected(rows) if rows is not None else None
    if rows is not None and picked is not None:
        name = letters(d, "A", "B", "C", "D", "Q").name
        matrix = MatrixSymbol(name, rows.shape[1], LENGTH)
        spread = Times(Transpose(rows), MatrixSymbol(z.name, rows.shape[0], ONE))
        yield say("rows", example=Formula(Times(rows, matrix)), matrix=Formula(matrix), first=Scalar(picked[0] + 1),
                  dots=Dots(), stop=Scalar(picked[1]), turned=Formula(spread), vector=Formula(z))
    if Delta in kinds:
        yield say("delta", example=Formula(Delta(t, T)))
