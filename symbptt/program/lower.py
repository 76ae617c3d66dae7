"""From expressions of one sample's columns to array expressions of all samples' rows: W x becomes x @ W.T."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, MatrixSymbol, Symbol

from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Block,
    Direct,
    Identity,
    LossGradient,
    Matrix,
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
    Member,
    Name,
    Rows,
    Scalar,
    Time,
    Turned,
    add,
    call,
    matmul,
    multiply,
    scaled,
)
from symbptt.program.names import Names
from symbptt.program.words import UNIT_SHAPE, Word, batched, plain, turned, words


class NoArrayFormError(ValueError):
    """An expression that this lowering has no row for; an internal error."""


class Lowering:
    """The lowering of one function, under its names.

    `gradients` names the stack of each loss gradient, `letters` the variable of each letter of a closed form, `indices`
    the variable of each bound index.
    """

    def __init__(self, names: Names, gradients: Mapping[Matrix, str] | None = None) -> None:
        self.names = names
        self.gradients = dict(gradients or {})
        self.letters: dict[str, str] = {}
        self.indices: dict[IndexVar, Index] = {}

    def rows(self, e: Matrix) -> Array:
        """A column, as rows of samples: (B, n), or (n,) where no sample comes in."""
        if type(e) is Plus:
            return add([self.rows(a) for a in e.args])
        if type(e) is Block:
            return call("beside", Rows((tuple(self.rows(cell) for (cell,) in e.rows),)))
        summands = [self._column(word) for word in words(e)]
        return add(summands) if summands else self.zeros(e.shape[0])

    def stored(self, e: Matrix) -> Array:
        """A column as rows that certainly have samples."""
        return self.rows(e) if batched(e) or type(e) is Zero else self._spread(self.rows(e), e.shape[0])

    def summed(self, e: Matrix, variable: MatrixSymbol) -> Array:
        """The gradient of a parameter, in the shape of its array, summed over the samples."""
        if variable.shape[1] == 1:
            return call("sum over samples", self.rows(e))
        return add([self._outer_sum(word, variable) for word in words(e)])

    def matrix(self, e: Matrix) -> Array:
        """A matrix: with two axes, or three, the first of samples."""
        if plain(e):
            return self._plain(e)
        if type(e) is Plus:
            return add([self.matrix(a) for a in e.args])
        if type(e) is Block:
            cells = Rows(tuple(tuple(self.matrix(cell) for cell in row) for row in e.rows))
            return call("blocks of samples", Name(self.names.batch), cells) if batched(e) else call("blocks", cells)
        summands = [self._matrix_word(word, e) for word in words(e)]
        return add(summands) if summands else call("zeros", *map(Dimension, e.shape))

    def zeros(self, size: Expr) -> Array:
        """Rows of zeros."""
        return call("zeros", Dimension(self.names.batch), Dimension(size))

    def number(self, c: Expr) -> Expr:
        """A scalar with the constants under their local names."""
        return c.xreplace({s: Symbol(self.names.own(s.name), real=True) for s in c.free_symbols
                           if not isinstance(s, IndexVar)})

    def time(self, form: Index) -> Index:
        """An index form with the bound indices under their local names."""
        return index(form).substitute(self.indices)

    def _column(self, word: Word) -> Array:
        values = [self._segment(segment) for segment in word.segments] + [self.rows(s) for s in word.scalars]
        number = self.number(word.number)
        return scaled(number, multiply(values)) if values else Scalar(number)

    def _segment(self, factors: tuple[Matrix, ...]) -> Array:
        """A column, a row or a scalar without an inner size of 1, as rows."""
        first, last = factors[0], factors[-1]
        if len(factors) == 1:
            return self._vector(first)
        if first.shape[0] == 1 and last.shape[1] == 1 and not plain(first) and not plain(last):
            return call("dot", self._across(self._vector(first), factors[1:-1]), self._vector(last))
        if last.shape[1] == 1 and not (first.shape[0] == 1 and plain(last)):
            return self._across(self._vector(last), tuple(turned(f) for f in reversed(factors[:-1])))
        return self._across(self._vector(first), factors[1:])

    def _across(self, rows: Array, matrices: tuple[Matrix, ...]) -> Array:
        """Rows times matrices on the right."""
        for m in matrices:
            rows = matmul(rows, self._plain(m)) if plain(m) else call("apply", self.matrix(turned(m)), rows)
        return rows

    def _vector(self, e: Matrix) -> Array:
        """A factor that is a column or a row."""
        if e.shape[1] != 1 and e.shape[0] == 1:
            return self._vector(turned(e))
        match e:
            case _ if e.shape[1] != 1:
                pass
            case At():
                return Member(self._letter(e.family), self.time(e.time))
            case Adjoint(of=At() as v):
                return Member(self.names.adjoint(v.family.name), self.time(v.time))
            case Direct(of=At() as v):
                return Member(self.names.direct(v.family.name), self.time(v.time))
            case LossGradient():
                return Name(self.gradients[e])
            case MatrixSymbol():
                return Name(self._letter(e))
            case Transpose():
                return call("only row", self._plain(e.args[0]))
            case Power():
                return call("elementwise power", self.rows(e.args[0]), Time(self.time(e.args[1])))
            case Plus() | Block():
                return self.rows(e)
        raise NoArrayFormError(f"{e} stands where a column is expected")

    def _letter(self, symbol: MatrixSymbol) -> str:
        return self.letters.get(symbol.name) or self.names.own(symbol.name)

    def _plain(self, e: Matrix) -> Array:
        match e:
            case MatrixSymbol():
                return Name(self._letter(e))
            case Transpose():
                return Turned(self._plain(e.args[0]))
            case Plus():
                return add([self._plain(a) for a in e.args])
            case Times():
                product = self._plain(e.args[0])
                for a in e.args[1:]:
                    product = matmul(product, self._plain(a))
                return product
            case Scale():
                return scaled(self.number(e.args[0]), self._plain(e.args[1]))
            case Power():
                return call("power", self.matrix(e.args[0]), Time(self.time(e.args[1])))
            case Identity():
                return call("identity", Dimension(e.shape[0]))
        raise NoArrayFormError(f"{e} stands where a matrix is expected")

    def _spread(self, rows: Array, size: Expr) -> Array:
        return call("spread", rows, Dimension(self.names.batch), Dimension(size))

    def _outer_sum(self, word: Word, variable: MatrixSymbol) -> Array:
        """Σ over the samples of column · rowᵀ."""
        first, *rest = word.segments
        if not rest:
            return call("sum over samples, a row", self._column(word))
        middle = [self._segment(s) for s in rest[:-1]] + [self.rows(s) for s in word.scalars]
        left = multiply([self._segment(first), *middle])
        right = self._segment(rest[-1])
        if not any(batched(f) for f in (*first, *(f for s in rest[:-1] for f in s), *word.scalars)):
            left = self._spread(left, variable.shape[0])
        if not any(batched(f) for f in rest[-1]):
            right = self._spread(right, variable.shape[1])
        return scaled(self.number(word.number), matmul(Turned(left), right))

    def _matrix_word(self, word: Word, whole: Matrix) -> Array:
        scalars = [self.rows(s) for s in word.scalars]
        segments = word.segments
        if not segments:
            body: Array = call("identity", Dimension(whole.shape[0]))
        elif 1 in whole.shape:
            body = call("as a column" if whole.shape[1] == 1 else "as a row",
                        multiply([self._segment(s) for s in segments]))
        elif len(segments) > 1:
            scalars = [self._segment(s) for s in segments[1:-1]] + scalars
            body = call("outer", self._segment(segments[0]), self._segment(segments[-1]))
        else:
            body = self._factor(segments[0][0])
            for f in segments[0][1:]:
                body = matmul(body, self._factor(f))
        spread: list[Array] = [call("as a column", s) for s in scalars]
        return scaled(self.number(word.number), multiply([*spread, body]))

    def _factor(self, e: Matrix) -> Array:
        if type(e) is At and e.shape != UNIT_SHAPE:
            return Member(self._letter(e.family), self.time(e.time))
        return self._plain(e)
