"""Matrices as arrays: two axes, or three where they belong to samples, the first of samples.

A diagonal beside another matrix scales its rows or its columns; a block row [0 I 0] beside one is a slice. Neither is
built as a matrix unless it stands alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from itertools import groupby
from math import prod

from sympy import Expr, S

from symbptt.expr.nodes import (
    ONE,
    Apply,
    At,
    Block,
    Diagonal,
    Hadamard,
    Matrix,
    Multiple,
    Ones,
    Plus,
    Power,
    Scale,
    Times,
    Transpose,
    Zero,
)
from symbptt.program.array import (
    Array,
    Dimension,
    Mapped,
    Name,
    Rows,
    Scalar,
    Time,
    Turned,
    add,
    call,
    cut,
    matmul,
    multiply,
    scaled,
)
from symbptt.program.letters import Letters
from symbptt.program.words import Word, batched, constant, diagonal, even, picked, placed, plain, turned, words


class NoArrayFormError(ValueError):
    """An expression that this lowering has no row for; an internal error."""


class Matrices(Letters):
    """The lowering of matrices; that of columns comes with `rows` and `segment`."""

    @abstractmethod
    def rows(self, e: Matrix) -> Array:
        """A column as rows, or a plain number where all entries are one."""

    @abstractmethod
    def segment(self, factors: tuple[Matrix, ...]) -> Array:
        """A product that is a column, a row or a scalar, as rows."""

    def matrix(self, e: Matrix) -> Array:
        """A matrix, with a third axis in front where it has samples."""
        if ONE in e.shape and type(e) is not Zero and not plain(e, self.static):
            column = e.shape[1] == ONE
            return call("as a column" if column else "as a row", self.array(e if column else turned(e)))
        if diagonal(e):
            return self._full_diagonal(e)
        shaped = WRITTEN.get(type(e))
        if shaped is not None:
            return shaped(self, e)
        letter = self.letter(e)
        if letter is not None:
            return letter
        if type(e) not in (Times, Scale, Multiple):
            raise NoArrayFormError(f"{e} stands where a matrix is expected")
        summands = [self.matrix_word(word, e) for word in words(e, self.static, apart=False)]
        return add(summands) if summands else call("zeros", *map(Dimension, e.shape))

    def array(self, e: Matrix) -> Array:
        """A column as rows that certainly are an array."""
        return self.rows(e) if constant(e) is None else self.filled(e)

    def filled(self, e: Matrix) -> Array:
        """An array whose entries are all one number."""
        c = constant(e)
        sizes = (e.shape[0],) if e.shape[1] == ONE else e.shape
        return scaled(self.number(S.One if c is None else c), call("ones", *map(Dimension, sizes)))

    def beside(self, args: Iterable[Matrix], lower: Callable[[Matrix], Array]) -> list[Array]:
        """Operands of an elementwise operation: an array of equal entries beside another is a plain number."""
        listed = list(args)
        numbers = [constant(a) for a in listed]
        if all(c is not None for c in numbers):
            return [self.filled(a) for a in listed]
        return [lower(a) if c is None else self.plain_number(c) for a, c in zip(listed, numbers, strict=True)]

    def plain_number(self, c: Expr) -> Array:
        """A number that broadcasts."""
        return scaled(self.number(c), Scalar(S.One))

    def on_diagonal(self, e: Matrix) -> Array:
        """The diagonal of a diagonal matrix as rows, or a number where all its entries are one."""
        number = even(e)
        if number is not None:
            return self.plain_number(number)
        match e:
            case Diagonal():
                return self.rows(e.args[0])
            case Power():
                return call("elementwise power", self.on_diagonal(e.args[0]), Time(self.time(e.args[1])))
            case Times():
                return multiply([self.on_diagonal(a) for a in e.args])
            case Plus():
                return add([self.on_diagonal(a) for a in e.args])
            case Scale():
                return scaled(self.number(e.args[0]), self.on_diagonal(e.args[1]))
        return multiply([self.rows(e.args[0]), self.on_diagonal(e.args[1])])

    def matrix_word(self, word: Word, whole: Matrix) -> Array:
        """A word that is a matrix."""
        segments, scalars = word.segments, [self.rows(s) for s in word.scalars if constant(s) is None]
        number = prod((c for c in map(constant, word.scalars) if c is not None), start=word.number)
        if not segments:
            body: Array = call("identity", Dimension(whole.shape[0]))
        elif len(segments) > 1:
            scalars = [self.segment(s) for s in segments[1:-1]] + scalars
            body = call("outer", self.segment(segments[0]), self.segment(segments[-1]))
        else:
            body = self._product(segments[0])
        spread: list[Array] = [call("as a column", s) for s in scalars]
        return scaled(self.number(number), multiply([*spread, body]))

    def _product(self, factors: tuple[Matrix, ...]) -> Array:
        """Factors of one word, none of them of size 1."""
        if all(map(diagonal, factors)):
            return self._full_diagonal(Times(*factors) if len(factors) > 1 else factors[0])
        if len(factors) == 1:
            joined = type(factors[0]) is Times
            return self._product(factors[0].args) if joined else self.matrix(factors[0])
        first, last = factors[0], factors[-1]
        samples = any(batched(f, self.static) for f in factors)
        if (span := picked(first)) is not None:
            return cut(self._product(factors[1:]), "rows of samples" if samples else "rows", span, first.shape[1])
        if (span := placed(last)) is not None:
            return cut(self._product(factors[:-1]), "last" if samples else "columns", span, last.shape[0])
        if (span := placed(first)) is not None:
            return call("put among rows", self._product(factors[1:]), Dimension(span[0]), Dimension(first.shape[0]))
        if (span := picked(last)) is not None:
            return call("put among", self._product(factors[:-1]), Dimension(span[0]), Dimension(last.shape[1]))
        return self._chain(factors)

    def _chain(self, factors: tuple[Matrix, ...]) -> Array:
        """Factors from the left, each run of diagonals as a scaling."""
        groups = [(scaling, list(group)) for scaling, group in groupby(factors, diagonal)]
        if groups[0][0]:
            (_, left), (_, (first, *further)), *groups = groups
            body = self._scaled_by(self.matrix(first), left, "as a column")
        else:
            (_, (first, *further)), *groups = groups
            body = self.matrix(first)
        for scaling, group in [(False, further), *groups]:
            if scaling:
                body = self._scaled_by(body, group, "as a row")
            else:
                for f in group:
                    body = matmul(body, self.matrix(f))
        return body

    def _scaled_by(self, body: Array, diagonals: list[Matrix], axis: str) -> Array:
        """A matrix whose rows ("as a column") or columns ("as a row") are scaled."""
        number = prod((c for c in map(even, diagonals) if c is not None), start=S.One)
        varying = [self.on_diagonal(a) for a in diagonals if even(a) is None]
        rows = [call(axis, multiply(varying))] if varying else []
        return scaled(self.number(number), multiply([*rows, body] if axis == "as a column" else [body, *rows]))

    def _full_diagonal(self, e: Matrix) -> Array:
        unit, number = call("identity", Dimension(e.shape[0])), even(e)
        if number is not None:
            return scaled(self.number(number), unit)
        return multiply([call("as a column", self.on_diagonal(e)), unit])

    def _transposed(self, e: Matrix) -> Array:
        body = self.matrix(e.args[0])
        if batched(e, self.static):
            return call("swapped", body)
        return body.body if isinstance(body, Turned) else Turned(body)

    def _blocks(self, e: Block) -> Array:
        cells = Rows(tuple(tuple(map(self._cell, row)) for row in e.rows))
        samples = batched(e, self.static)
        return call("blocks of samples", Name(self.batch), cells) if samples else call("blocks", cells)

    def _cell(self, e: Matrix) -> Array:
        return self.matrix(e) if constant(e) is None else self.filled(e)

    def _power(self, e: Matrix) -> Array:
        return call("power", self.matrix(e.args[0]), Time(self.time(e.args[1])))


WRITTEN: dict[type, Callable[..., Array]] = {
    At: lambda lower, e: lower.letter(e),
    Transpose: Matrices._transposed,
    Plus: lambda lower, e: add(lower.beside(e.args, lower.matrix)),
    Hadamard: lambda lower, e: multiply(lower.beside(e.args, lower.matrix)),
    Apply: lambda lower, e: Mapped(str(e.args[0]), lower._cell(e.args[1])),
    Block: Matrices._blocks,
    Power: Matrices._power,
    Zero: lambda _, e: call("zeros", *map(Dimension, e.shape)),
    Ones: Matrices.filled,
}
"""How the matrices that are no products are written."""
