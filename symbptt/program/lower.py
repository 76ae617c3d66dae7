"""From expressions of one sample's columns to array expressions of all samples' rows: W x becomes x @ W.T."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sympy import Expr, MatrixSymbol, S

from symbptt.expr.nodes import (
    ONE,
    Apply,
    Block,
    Hadamard,
    Matrix,
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
    Time,
    Turned,
    add,
    call,
    cut,
    matmul,
    multiply,
    scaled,
    sliced,
    turn,
)
from symbptt.program.matrices import Matrices, NoArrayFormError
from symbptt.program.statements import Target
from symbptt.program.words import Word, batched, constant, diagonal, even, picked, placed, plain, rebuilt, turned, words

__all__ = ["Lowering", "NoArrayFormError"]


class Lowering(Matrices):
    """The lowering of one function: columns, matrices and gradients of parameters."""

    def rows(self, e: Matrix) -> Array:
        """A column, as rows of samples: (B, n), or (n,) where no sample comes in; a number where all entries are."""
        number = constant(e)
        if number is not None:
            return self.plain_number(number)
        shaped = COLUMNS.get(type(e))
        if shaped is not None:
            return shaped(self, e)
        summands = [self._column(word) for word in words(e, self.static)]
        return add(summands) if summands else self.zeros(e.shape[0])

    def stored(self, e: Matrix) -> Array:
        """A column as rows that certainly have samples."""
        if batched(e, self.static) or type(e) is Zero:
            return self.array(e)
        return self._spread(self.array(e), e.shape[0])

    def zeros(self, size: Expr) -> Array:
        """Rows of zeros."""
        return call("zeros", Dimension(self.batch), Dimension(size))

    def gradient(self, e: Matrix) -> Iterator[tuple[tuple[Expr, Expr] | None, Array]]:
        """The gradient of a parameter in the shape of its array, summed over the samples; (rows, value) by its rows.

        What [0 I 0]ᵀ puts among zeros comes on its own, with (start, stop) of its rows; all else with None.
        """
        whole: list[Matrix] = []
        parts: dict[tuple[Expr, Expr], list[Array]] = {}
        for summand in e.args if type(e) is Plus else (e,):
            split = list(words(summand, self.static))
            spans = [placed(w.factors[0]) if len(w.factors) > 1 else None for w in split]
            if None in spans:
                whole.append(summand)
                continue
            for word, span in zip(split, spans, strict=True):
                if span is not None:
                    parts.setdefault(span, []).append(self.summed(rebuilt(word, word.factors[1:])))
        if whole:
            yield None, add([self.summed(a) for a in whole])
        for span, values in parts.items():
            yield span, add(values)

    def placed_gradient(self, target: Name, symbol: MatrixSymbol, value: Matrix) -> Iterator[tuple[Target, Array]]:
        """The pieces of the gradient of a parameter, each with the part of its array in which it stands."""
        aside = symbol.name in self.turned
        for span, part in self.gradient(value):
            place = target if span is None else sliced(target, "columns" if aside else "rows", span, symbol.shape[0])
            yield place, turn(part) if aside else part

    def summed(self, e: Matrix) -> Array:
        """A matrix or a column in the shape of a parameter's array, summed over the samples; once if it has none."""
        if not batched(e, self.static):
            return self.array(e) if e.shape[1] == ONE else self.matrix(e)
        if e.shape[1] == ONE:
            return call("sum over samples", self.array(e))
        if type(e) is Plus:
            return add([self.summed(a) for a in e.args])
        if type(e) is Scale:
            return scaled(self.number(e.args[0]), self.summed(e.args[1]))
        if type(e) is Hadamard:
            return self._product_summed(e)
        if type(e) is Transpose and ONE not in e.shape:
            return Turned(self.summed(e.args[0]))
        return add([self._word_summed(word) for word in words(e, self.static)])

    def _product_summed(self, e: Hadamard) -> Array:
        """Σ over the samples of an elementwise product: what has no samples stands outside."""
        inside = [a for a in e.args if batched(a, self.static)]
        outside = [self.matrix(a) for a in e.args if a not in inside]
        body = self.summed(inside[0]) if len(inside) == 1 else call(
            "sum over samples", multiply([self.matrix(a) for a in inside]))
        return multiply([*outside, body])

    def _word_summed(self, word: Word) -> Array:
        """Σ over the samples of a word: column · rowᵀ, or A X B with samples in X alone."""
        segments = word.segments
        if len(segments) > 1:
            return self._outer_summed(word)
        (factors,) = segments
        if factors[0].shape[0] == ONE:
            return call("sum over samples, a row", self._column(word))
        sampled = [k for k, f in enumerate(factors) if batched(f, self.static)]
        if word.scalars or len(sampled) != 1 or type(factors[sampled[0]]) not in (Hadamard, Plus, Transpose):
            return call("sum over samples", self.matrix_word(word, Times(*factors) if len(factors) > 1 else factors[0]))
        body = self.summed(factors[sampled[0]])
        if before := factors[:sampled[0]]:
            body = matmul(self.matrix(rebuilt(word, before, S.One)), body)
        for f in factors[sampled[0] + 1:]:
            body = matmul(body, self.matrix(f))
        return scaled(self.number(word.number), body)

    def _outer_summed(self, word: Word) -> Array:
        """Σ over the samples of column · rowᵀ."""
        first, *rest = word.segments
        middle = [self.segment(s) for s in rest[:-1]] + [self.rows(s) for s in word.scalars]
        left = multiply([self.segment(first), *middle])
        right = self.segment(rest[-1])
        if not any(batched(f, self.static) for f in (*first, *(f for s in rest[:-1] for f in s), *word.scalars)):
            left = self._spread(left, first[0].shape[0])
        if not any(batched(f, self.static) for f in rest[-1]):
            right = self._spread(right, rest[-1][-1].shape[1])
        return scaled(self.number(word.number), matmul(Turned(left), right))

    def _column(self, word: Word) -> Array:
        values = [self.segment(segment) for segment in word.segments] + [self.rows(s) for s in word.scalars]
        return scaled(self.number(word.number), multiply(values) if values else self.filled(Ones(ONE, ONE)))

    def segment(self, factors: tuple[Matrix, ...]) -> Array:
        """A column, a row or a scalar without an inner size of 1, as rows."""
        first, last = factors[0], factors[-1]
        if len(factors) == 1:
            return self._vector(first)
        if first.shape[0] == ONE and last.shape[1] == ONE and not plain(first) and not plain(last):
            return self._inner(first, factors[1:-1], last)
        if last.shape[1] == ONE and not (first.shape[0] == ONE and plain(last)):
            return self._across(last, tuple(turned(f) for f in reversed(factors[:-1])))
        return self._across(first, factors[1:])

    def _inner(self, first: Matrix, middle: tuple[Matrix, ...], last: Matrix) -> Array:
        """Row · matrices · column; with a row of ones a sum of entries."""
        ones, others = constant(first), constant(last)
        if ones is None and others is None:
            return call("dot", self._across(first, middle), self._vector(last))
        if ones is None:
            return self._inner(turned(last), tuple(turned(f) for f in reversed(middle)), turned(first))
        if others is not None and len(middle) == 1 and plain(middle[0], self.static):
            return scaled(self.number(ones * others), call("sum of entries", self.matrix(middle[0])))
        total = call("total", self._across(last, tuple(turned(f) for f in reversed(middle))))
        return scaled(self.number(ones), total)

    def _across(self, vector: Matrix, matrices: tuple[Matrix, ...]) -> Array:
        """Rows times matrices on the right."""
        number = constant(vector)
        thin = number is not None and bool(matrices) and diagonal(matrices[0]) and even(matrices[0]) is None
        rows = self.plain_number(number) if thin and number is not None else self._vector(vector)
        for m in matrices:
            if (span := placed(m)) is not None:
                rows = cut(rows, "last", span, m.shape[0])
            elif (span := picked(m)) is not None:
                rows = call("put among", rows, Dimension(span[0]), Dimension(m.shape[1]))
            elif diagonal(m):
                number = even(m)
                rows = multiply([self.on_diagonal(m), rows]) if number is None else scaled(self.number(number), rows)
            elif batched(m, self.static):
                rows = call("apply", self.matrix(turned(m)), rows)
            else:
                rows = matmul(rows, self.matrix(m))
        return rows

    def _vector(self, e: Matrix) -> Array:
        """A factor that is a column or a row, as an array."""
        if e.shape[1] != ONE:
            return self._vector(turned(e)) if e.shape[0] == ONE else self._refuse(e)
        if constant(e) is not None or type(e) in COLUMNS:
            return self.array(e)
        letter = self.letter(e)
        if letter is not None:
            return letter
        if plain(turned(e), self.static):
            return call("only row", self.matrix(turned(e)))
        if type(e) is Power:
            return call("elementwise power", self.rows(e.args[0]), Time(self.time(e.args[1])))
        return self._refuse(e)

    def _refuse(self, e: Matrix) -> Array:
        raise NoArrayFormError(f"{e} stands where a column is expected")

    def _spread(self, rows: Array, size: Expr) -> Array:
        return call("spread", rows, Dimension(self.batch), Dimension(size))

    def _beside(self, e: Block) -> Array:
        lower = self.stored if batched(e, self.static) else self._alone
        return call("beside", Rows((tuple(lower(cell) for (cell,) in e.rows),)))

    def _alone(self, e: Matrix) -> Array:
        return call("zeros", Dimension(e.shape[0])) if type(e) is Zero else self.array(e)


COLUMNS: dict[type, Callable[..., Array]] = {
    Plus: lambda lower, e: add(lower.beside(e.args, lower.rows)),
    Hadamard: lambda lower, e: multiply(lower.beside(e.args, lower.rows)),
    Apply: lambda lower, e: Mapped(str(e.args[0]), lower.array(e.args[1])),
    Block: Lowering._beside,
}
"""How the columns that are no products are written."""
