"""Array expressions: what a statement of a generated program computes, whatever the library.

A column of every sample, v_t, stands as rows: an array of shape (B, size). A 1 × 1 value has shape (B, 1). A matrix
without samples keeps its two axes, and a parameter declared as a column is an array (size,).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeAlias

from sympy import Expr, S

from symbptt.expr.index import Index


@dataclass(frozen=True)
class Name:
    """A variable."""

    text: str


@dataclass(frozen=True)
class Member:
    """The value of a variable at a time: h[t - 1]."""

    name: str
    time: Index


@dataclass(frozen=True)
class Entry:
    """The entry of a dictionary under a key: states["h"]."""

    name: str
    key: str


@dataclass(frozen=True)
class Text:
    """A name as a string."""

    text: str


@dataclass(frozen=True)
class Scalar:
    """A number, as a SymPy expression in numbers, constants and T."""

    value: Expr


@dataclass(frozen=True)
class Dimension:
    """A linear form in the sizes, or a variable that holds a length."""

    value: Expr | str


@dataclass(frozen=True)
class Time:
    """An index form as a number."""

    value: Index


@dataclass(frozen=True)
class Slice:
    """Rows of a matrix, columns of a matrix or entries of rows from start on; an end that is None is left open.

    axis is "rows", "columns" or "last".
    """

    body: Array
    axis: str
    start: Expr | None
    stop: Expr | None


@dataclass(frozen=True)
class Turned:
    """The transpose."""

    body: Array


@dataclass(frozen=True)
class Negative:
    """The negative."""

    body: Array


@dataclass(frozen=True)
class Add:
    """A sum, in order."""

    args: tuple[Array, ...]


@dataclass(frozen=True)
class Multiply:
    """An elementwise product with broadcasting, in order."""

    args: tuple[Array, ...]


@dataclass(frozen=True)
class MatMul:
    """A matrix product, in order."""

    args: tuple[Array, ...]


@dataclass(frozen=True)
class Divide:
    """A quotient by a number."""

    above: Array
    below: Array


@dataclass(frozen=True)
class Rows:
    """Arrays in the order of a block matrix, row by row."""

    cells: tuple[tuple[Array, ...], ...]


@dataclass(frozen=True)
class Call:
    """A function of the array library, by its name in the table of `render.arrays`."""

    function: str
    args: tuple[Array, ...]


@dataclass(frozen=True)
class Mapped:
    """A function that an equation may call, or a slope of one, by its name in the model language."""

    function: str
    body: Array


Array: TypeAlias = (Name | Member | Entry | Text | Scalar | Dimension | Time | Slice | Turned | Negative | Add
                    | Multiply | MatMul | Divide | Rows | Call | Mapped)


def call(function: str, *args: Array) -> Call:
    """A call with its arguments."""
    return Call(function, args)


def add(args: list[Array]) -> Array:
    """A sum of one or more."""
    return args[0] if len(args) == 1 else Add(tuple(args))


def multiply(args: list[Array]) -> Array:
    """An elementwise product of one or more; a factor 1 beside others is left out."""
    flat = [b for a in args for b in (a.args if isinstance(a, Multiply) else (a,))]
    kept = [a for a in flat if a != Scalar(S.One)] or flat[:1]
    return kept[0] if len(kept) == 1 else Multiply(tuple(kept))


def matmul(left: Array, right: Array) -> Array:
    """A matrix product, flattened on the left."""
    return MatMul((*left.args, right)) if isinstance(left, MatMul) else MatMul((left, right))


def turn(body: Array) -> Array:
    """The transpose of a matrix, pushed down to what a product is made of.

    It stays outside a sum, in which one row may stand for as many as there are samples.
    """
    match body:
        case Turned():
            return body.body
        case Scalar():
            return body
        case MatMul():
            return MatMul(tuple(map(turn, reversed(body.args))))
        case Negative():
            return Negative(turn(body.body))
        case Divide():
            return Divide(turn(body.above), body.below)
        case Multiply() if sum(not isinstance(a, Scalar) for a in body.args) < 2:
            return Multiply(tuple(map(turn, body.args)))
    return Turned(body)


def scaled(c: Expr, body: Array) -> Array:
    """A multiple by a number: the sign in front, the denominator behind."""
    if not c.is_Add and c.could_extract_minus_sign():
        return Negative(scaled(-c, body))
    above, below = c.as_numer_denom()
    value = body if above == 1 else multiply([Scalar(above), body])
    return value if below == 1 else Divide(value, Scalar(below))


def cut(body: Array, axis: str, span: tuple[Expr, Expr], whole: Expr) -> Array:
    """A slice from span[0] to span[1] of `whole`; rows of a transpose are columns."""
    if isinstance(body, Turned):
        return Turned(cut(body.body, {"rows": "columns", "columns": "rows"}.get(axis, axis), span, whole))
    return sliced(body, axis, span, whole)


def sliced(body: Array, axis: str, span: tuple[Expr, Expr], whole: Expr) -> Slice:
    """A slice from span[0] to span[1] of `whole`."""
    start, stop = span
    return Slice(body, axis, None if start == 0 else start, None if stop == whole else stop)


def parts(e: object) -> Iterator[object]:
    """Everything that an array expression or a statement is made of, itself first."""
    yield e
    if isinstance(e, tuple):
        for item in e:
            yield from parts(item)
    elif hasattr(e, "__dataclass_fields__"):
        for field in fields(e):  # type: ignore[arg-type]
            yield from parts(getattr(e, field.name))
