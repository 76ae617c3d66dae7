"""Rows of a system as statements that write in place: one operation a statement, into arrays that exist already."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sympy import Expr, MatrixSymbol, S

from symbptt.expr.nodes import Apply, At, Hadamard, Matrix, Plus, Scale
from symbptt.program.array import Array, Mapped, Name, scaled
from symbptt.program.lower import Lowering
from symbptt.program.names import Names
from symbptt.program.normal import Row, members
from symbptt.program.stages import product
from symbptt.program.statements import Change, Into, Statement
from symbptt.program.words import constant, turned

IN_PLACE: dict[str, tuple[tuple[str, tuple[object, ...]], ...]] = {
    "tanh": (("tanh", (None,)),), "exp": (("exp", (None,)),), "sin": (("sin", (None,)),), "cos": (("cos", (None,)),),
    "square": (("square", (None,)),),
    "sigmoid": (("negative", (None,)), ("exp", (None,)), ("add", (None, 1)), ("reciprocal", (None,))),
}
"""Functions as operations in place; None stands for the array."""

Letter = Callable[[At], Array]


class Located(Lowering):
    """A lowering in which members of families stand where `place` says."""

    def __init__(self, names: Names, place: Letter, batch: str) -> None:
        super().__init__(names)
        self.place, self.batch = place, batch
        self.symbols: dict[str, str] = {}

    def letter(self, e: Matrix) -> Array | None:
        """The array of a letter."""
        if isinstance(e, At):
            return self.place(e)
        if isinstance(e, MatrixSymbol) and e.name in self.symbols:
            return Name(self.symbols[e.name])
        return super().letter(e)


class Emit:
    """Statements of one kind: of one step in a loop, or of all steps at once."""

    def __init__(self, lower: Located, static: frozenset[str], whole: Callable[[MatrixSymbol], bool],
                 scratch: Callable[[Expr, int], str], matrix: Callable[[Array], Array], dot: str) -> None:
        self.lower, self.fixed, self.whole = lower, static, whole
        self.scratch, self.matrix, self.dot = scratch, matrix, dot
        self.busy: dict[Expr, int] = {}
        self.found: list[Statement] = []
        self.labels: tuple[str, ...] = ()
        self.out_member: At | None = None

    def row(self, row: Row, member: At) -> list[Statement]:
        """family[t] = right."""
        self.found, self.labels, self.out_member = [], row.labels, member
        out = self.lower.place(member)
        self.into(out, row.right)
        return self.found

    def _say(self, statement: Statement) -> None:
        self.found.append(statement)
        self.labels = ()

    def _apply(self, function: str, out: Array, *args: Array) -> None:
        self._say(Into(function, out, args, self.labels))

    def _change(self, out: Array, sign: str, value: Array) -> None:
        self._say(Change(out, sign, value, self.labels))

    def into(self, out: Array, e: Matrix) -> None:
        """The value of a column, into an array."""
        if constant(e) is not None:
            self._change(out, "", self.lower.plain_number(constant(e) or S.Zero))
        elif self._leaf(e):
            value = self.lower.rows(e)
            if value != out:
                self._change(out, "", value)
        elif product(e, self.fixed):
            self._product(out, e)
        elif type(e) is Plus:
            self._sum(out, e.args)
        elif type(e) is Hadamard:
            self._factors(out, e.args)
        elif type(e) is Apply:
            self._map(out, str(e.args[0]), e.args[1])
        elif type(e) is Scale:
            self._scaled(out, e)
        else:
            self._change(out, "", self.lower.rows(e))

    def _leaf(self, e: Matrix) -> bool:
        return isinstance(e, At | MatrixSymbol)

    def _product(self, out: Array, e: Matrix) -> None:
        matrix, letter = e.args
        rows, right = self.lower.rows(letter), self.matrix(self.lower.matrix(turned(matrix)))
        if self.dot == "dot" and not self._contiguous(out):
            width = matrix.shape[0]
            work = self._take(width)
            self._apply(self.dot, work, rows, right)
            self._change(out, "", work)
            self._give(width)
        else:
            self._apply(self.dot, out, rows, right)

    def _contiguous(self, out: Array) -> bool:
        return isinstance(out, Name) or (self.out_member is not None and self.whole(self.out_member.family))

    def _map(self, out: Array, name: str, argument: Matrix) -> None:
        source = self.lower.rows(argument) if self._leaf(argument) else out
        if source is out:
            self.into(out, argument)
        if name not in IN_PLACE:
            self._change(out, "", Mapped(name, source))
            return
        for function, args in IN_PLACE[name]:
            self._apply(function, out, *(source if a is None else self.lower.plain_number(S(a)) for a in args))
            source = out

    def _is_out(self, out: Array, e: Matrix) -> bool:
        return isinstance(e, At) and self.lower.place(e) == out

    def _reads_out(self, out: Array, e: Matrix) -> bool:
        return any(self.lower.place(m) == out for m in members(e))

    def _sum(self, out: Array, args: Iterable[Matrix]) -> None:
        left = [_signed(a) for a in args]
        here = next((x for x in left if self._is_out(out, x[1])), None)
        if here is None:
            here = self._first(out, left)
        elif here[0] < 0:
            self._apply("negative", out, out)
        left.remove(here)
        for sign, body in left:
            self._with(out, body, "+" if sign > 0 else "-")

    def _first(self, out: Array, left: list[tuple[int, Matrix]]) -> tuple[int, Matrix]:
        """Start a sum: what is computed goes straight into the array, unless something else still reads that."""
        heavy = [x for x in left if not self._operand(x[1])]
        free = [x for x in heavy if not any(self._reads_out(out, y[1]) for y in left if y is not x)]
        if free:
            first = next((x for x in free if x[0] > 0), free[0])
            self.into(out, first[1])
            if first[0] < 0:
                other = next((x for x in left if x[0] > 0 and self._operand(x[1])), None)
                if other is None:
                    self._apply("negative", out, out)
                else:
                    self._apply("subtract", out, self._value(other[1]), out)
                    left.remove(other)
            return first
        light = [x for x in left if self._operand(x[1])]
        first = next((x for x in light if x[0] > 0), light[0] if light else left[0])
        other = next((x for x in light if x is not first), None)
        if other is not None and first[0] > 0:
            self._apply("add" if other[0] > 0 else "subtract", out, self._value(first[1]), self._value(other[1]))
            left.remove(other)
        else:
            self.into(out, first[1])
            if first[0] < 0:
                self._apply("negative", out, out)
        return first

    def _with(self, out: Array, body: Matrix, sign: str) -> None:
        """Out sign= body."""
        if self._operand(body):
            self._change(out, sign, self._value(body))
            return
        width = body.shape[0]
        work = self._take(width)
        self.into(work, body)
        self._change(out, sign, work)
        self._give(width)

    def _factors(self, out: Array, args: Iterable[Matrix]) -> None:
        left = list(args)
        here = next((x for x in left if self._is_out(out, x)), None)
        if here is not None:
            left.remove(here)
        else:
            heavy = [x for x in left if not self._operand(x)]
            free = [x for x in heavy if not any(self._reads_out(out, y) for y in left if y is not x)]
            light = [x for x in left if self._operand(x)]
            if free:
                self.into(out, free[0])
                left.remove(free[0])
            elif len(light) > 1:
                self._apply("multiply", out, self._value(light[0]), self._value(light[1]))
                left.remove(light[0])
                left.remove(light[1])
            else:
                self.into(out, left[0])
                left.remove(left[0])
        for body in left:
            self._with(out, body, "*")

    def _operand(self, e: Matrix) -> bool:
        """Whether it can stand in an operation as it is."""
        return constant(e) is not None or self._leaf(e) or e.shape[0] == 1

    def _value(self, e: Matrix) -> Array:
        number = constant(e)
        return self.lower.rows(e) if number is None else self.lower.plain_number(number)

    def _scaled(self, out: Array, e: Matrix) -> None:
        c, body = e.args
        self.into(out, body)
        above, below = self.lower.number(c).as_numer_denom()
        if above == -1:
            self._apply("negative", out, out)
        elif above != 1:
            self._change(out, "*", scaled(above, self.lower.plain_number(S.One)))
        if below != 1:
            self._change(out, "/", self.lower.plain_number(below))

    def _take(self, width: Expr) -> Array:
        self.busy[width] = self.busy.get(width, 0) + 1
        return Name(self.scratch(width, self.busy[width]))

    def _give(self, width: Expr) -> None:
        self.busy[width] -= 1


def _signed(e: Matrix) -> tuple[int, Matrix]:
    """The sign of a summand and the rest."""
    if type(e) is Scale and e.args[0] == -1:
        return -1, e.args[1]
    return 1, e
