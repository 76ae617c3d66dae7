"""The table of expressions in a recorded proof: a row has its class, then numbers of earlier rows and literals.

The classes are those of the vocabulary (`nodes.NODES`), whose operands are rows alone, and the leaves and scalars
below. What is read back is made by the class itself, asked for its shape, and refused when it is no such thing or when
it is not written in the one way in which it would be written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sympy import Add, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol
from sympy.core.basic import Basic
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.index import Index, IndexVar
from symbptt.expr.nodes import NODES, Block, Loss, LossGradient, Node
from symbptt.expr.walk import free_indices
from symbptt.proof.plainly import plainly

Place: TypeAlias = Literal["name", "sort", "number", "scalar", "row"]

SORTS: dict[str, dict[str, bool]] = {"size": {"integer": True, "positive": True}, "constant": {"real": True}}
"""What is assumed of a symbol, by its sort."""
DEPTH = 100
"""The most levels of an expression."""
SIZE = 20_000_000
"""The most nodes of an expression written out as a tree."""
DIGITS = 20_000
"""The most digits of all numbers together."""
MONOMIALS = 10_000
"""The most monomials of a scalar, multiplied out."""
SCALAR = 20_000
"""The same of a scalar, which SymPy walks through as a tree each time that it is asked something."""
EXPONENT = 1_000
"""The largest exponent of a scalar."""
NAME = 100
"""The most characters of the name of a symbol."""
FAULTS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError)
"""What classes raise when their operands do not fit."""
UNFIT = "it takes operands of another kind or number"


class RecordError(ValueError):
    """What is recorded is not of the form. `path` says where, as in theorems[2].steps[17].args[0].

    In a text that is no JSON it is line:column, and `position` is true.
    """

    def __init__(self, path: str, message: str, position: bool = False) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path, self.position = path, position


@dataclass(frozen=True)
class Form:
    """How a class is written: what stands in its places, and, over and over, in those after them."""

    split: Callable[[Any], Sequence[object]]
    make: Callable[..., Basic]
    places: tuple[Place, ...] = ()
    more: tuple[Place, ...] = ()

    def expected(self, count: int) -> tuple[Place, ...] | None:
        """What stands in so many places; None when there cannot be so many."""
        rest = count - len(self.places)
        if rest < 0 or (rest % len(self.more) if self.more else rest):
            return None
        return (*self.places, *self.more * (rest // len(self.more) if self.more else 0))


def _operands(e: Basic) -> Sequence[object]:
    return e.args


def _power(base: Basic, exponent: Basic) -> Basic:
    if isinstance(base, Rational) or not isinstance(exponent, Integer) or abs(exponent) > EXPONENT:
        raise ValueError(f"a power is one of a symbol or a sum to a whole number from -{EXPONENT} to {EXPONENT}")
    return Pow(base, exponent)


def _sort(e: Symbol) -> str:
    for sort, assumptions in SORTS.items():
        if type(e) is Symbol and e == Symbol(e.name, **assumptions):
            return sort
    raise TypeError(f"{e} is a symbol of no known sort")


def _matrix(name: str, rows: Basic, columns: Basic) -> MatrixSymbol:
    if rows.atoms(IndexVar) or columns.atoms(IndexVar):
        raise TypeError("an index variable is no size")
    return MatrixSymbol(name, rows, columns)


SCALARS: dict[str, Form] = {
    "IndexVar": Form(lambda e: (e.name,), IndexVar, ("name",)),
    "Symbol": Form(lambda e: (e.name, _sort(e)), lambda name, sort: Symbol(name, **SORTS[sort]), ("name", "sort")),
    "Integer": Form(lambda e: (int(e),), Integer, ("number",)),
    "Rational": Form(lambda e: (e.p, e.q), Rational, ("number", "number")),
    "Add": Form(_operands, Add, more=("scalar",)),
    "Mul": Form(_operands, Mul, more=("scalar",)),
    "Pow": Form(_operands, _power, ("scalar", "scalar")),
}
"""The grammar of scalars: numbers, symbols, sums, products, whole powers."""

LEAVES: dict[str, Form] = {
    "Str": Form(lambda e: (e.name,), Str, ("name",)),
    "MatrixSymbol": Form(lambda e: (e.name, *e.shape), _matrix, ("name", "scalar", "scalar")),
    "Index": Form(lambda e: (e.const, *(x for term in e.terms for x in term)),
                  lambda const, *rest: Index(const, zip(rest[::2], rest[1::2], strict=True)),
                  ("number",), ("row", "number")),
}
"""Names, letters and index forms."""


def _node(kind: type[Node]) -> Form:
    return Form(_operands, kind, more=("row",))


FORMS: dict[str, Form] = {**SCALARS, **LEAVES, **{kind.__name__: _node(kind) for kind in NODES}}
"""Every class that may stand in a table, by name."""


def form_name(e: Basic) -> str:
    """The name under which an expression stands in the table.

    Raises:
        TypeError: it is of no class that may stand there.
    """
    name = "Integer" if isinstance(e, Integer) else "Rational" if isinstance(e, Rational) else type(e).__name__
    if name not in FORMS or (name in NAMED and type(e) is not NAMED[name]):
        raise TypeError(f"{e} is a {type(e).__name__}, which cannot be recorded")
    return name


NAMED = {kind.__name__: kind for kind in (*NODES, IndexVar, Symbol, Add, Mul, Pow, Str, MatrixSymbol, Index)}


class Table:
    """The rows of a record under construction; every expression has one row, and its parts stand before it."""

    def __init__(self) -> None:
        self.rows: list[list[object]] = []
        self._known: dict[tuple[str, Basic], int] = {}

    def number(self, e: Basic) -> int:
        """The number of the row of an expression; rows are added as needed, without recursion.

        Raises:
            TypeError: a part is of no class that may stand in the table.
        """
        stack = [e]
        while stack:
            here = stack[-1]
            name = form_name(here)
            if (name, here) in self._known:
                stack.pop()
                continue
            parts = FORMS[name].split(here)
            waiting = [a for a in parts if isinstance(a, Basic) and (form_name(a), a) not in self._known]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            self._known[name, here] = len(self.rows)
            self.rows.append([name, *(self._known[form_name(a), a] if isinstance(a, Basic) else a for a in parts)])
            stack.pop()
        return self._known[form_name(e), e]


class Rows:
    """The expressions of a recorded table, and what each costs: nodes as a tree, words once multiplied out."""

    def __init__(self, rows: list[object]) -> None:
        self.made: list[Basic] = []
        self.size: dict[int, int] = {}
        self.words: dict[int, int] = {}
        self._degree: dict[Basic, int] = {}
        self._digits = 0
        self._depth: list[int] = []
        self._unique: dict[tuple[object, ...], int] = {}
        self._letters: dict[str, int] = {}
        for number, row in enumerate(rows):
            self._add(f"nodes[{number}]", row)

    def get(self, number: object, path: str) -> Basic:
        """The expression of a row.

        Raises:
            RecordError: there is no such row.
        """
        if type(number) is not int or not 0 <= number < len(self.made):
            raise RecordError(path, f"{shown(number)} is not the number of a node before this place; there are "
                                     f"{len(self.made)}")
        return self.made[number]

    def _add(self, path: str, row: object) -> None:
        if not isinstance(row, list) or not row or not isinstance(row[0], str):
            raise RecordError(path, f"{shown(row)} is no row [class, …]")
        form = FORMS.get(row[0])
        if form is None:
            raise RecordError(f"{path}[0]", f"there is no class {shown(row[0])}; there are {', '.join(FORMS)}")
        places = form.expected(len(row) - 1)
        if places is None:
            raise RecordError(path, f"a {row[0]} does not have {len(row) - 1} arguments")
        args = [self._argument(place, a, f"{path}[{k}]") for k, (place, a) in enumerate(zip(places, row[1:],
                                                                                        strict=True), 1)]
        key = (row[0], *row[1:])
        if key in self._unique:
            raise RecordError(path, f"it repeats nodes[{self._unique[key]}]")
        self._unique[key] = len(self.made)
        below = [a for place, a in zip(places, row[1:], strict=True) if place in ("row", "scalar")]
        self._bounded(path, 1 + max((self._depth[k] for k in below), default=0), DEPTH, "levels")
        self._bounded(path, 1 + sum(self.size[id(self.made[k])] for k in below), SCALAR if row[0] in SCALARS else SIZE,
                      "nodes as a tree")
        made = self._made(path, row[0], form, args)
        if isinstance(made, MatrixSymbol):
            first = self._letters.setdefault(str(made.name), len(self.made))
            if first != len(self.made):
                raise RecordError(path, f"nodes[{first}] is called {made.name} too")
        self._depth.append(1 + max((self._depth[k] for k in below), default=0))
        self.size[id(made)] = 1 + sum(self.size[id(self.made[k])] for k in below)
        self.words[id(made)] = self._count(made)
        self._digits += len(str(made)) if isinstance(made, Rational) else 0
        self._bounded(path, self._digits, DIGITS, "digits in its numbers together")
        if row[0] in SCALARS:
            self._bounded(path, self._power_of(made), EXPONENT, "as its total degree")
            self._bounded(path, self.words[id(made)], MONOMIALS, "monomials once multiplied out")
        self.made.append(made)

    @staticmethod
    def _bounded(path: str, count: int, most: int, what: str) -> None:
        if count > most:
            raise RecordError(path, f"the expression has more than {most:,} {what}")

    def _argument(self, place: Place, value: object, path: str) -> object:
        if place == "name":
            return name_of(value, path)
        if place == "number":
            return whole(value, path)
        if place == "sort":
            if not isinstance(value, str) or value not in SORTS:
                raise RecordError(path, f"{shown(value)} is no sort of symbol; there are {', '.join(SORTS)}")
            return value
        found = self.get(value, path)
        if place == "scalar" and form_name(found) not in SCALARS:
            raise RecordError(path, f"a {form_name(found)} is no scalar")
        return found

    def _made(self, path: str, name: str, form: Form, args: list[object]) -> Basic:
        try:
            if name == Block.__name__ and (not isinstance(args[0], Integer) or not 0 < args[0] < len(args)):
                raise TypeError(f"{len(args) - 1} blocks do not fill {shown(args[0])} rows")
            if name == LossGradient.__name__ and not (isinstance(args[0], Loss) and isinstance(args[1], Integer)
                                                      and 0 <= args[1] < len(args[0].args) - 1):
                raise TypeError("that is no place of an argument of a loss")
            made = form.make(*args)
            if form_name(made) != name or list(form.split(made)) != args:
                raise TypeError("it is written otherwise, or is something else")
            if isinstance(made, MatrixExpr):
                _ = made.shape, free_indices(made)
        except FAULTS as error:
            raise RecordError(path, f"no {name} can be made of this: {clipped(plainly(error, UNFIT))}") from None
        return made

    def _power_of(self, e: Basic) -> int:
        """A bound on the degree of a scalar."""
        if e not in self._degree:
            parts = list(map(self._power_of, e.args))
            self._degree[e] = parts[0] * abs(int(e.exp)) if isinstance(e, Pow) else \
                sum(parts) if isinstance(e, Mul) else max(parts, default=int(isinstance(e, Symbol)))
        return self._degree[e]

    def _count(self, e: Basic) -> int:
        """A bound on the words, each with the monomials of its coefficient, of which an expression is the sum."""
        name, parts = type(e).__name__, [self.words.get(id(a), 1) for a in e.args]
        if name in ("Plus", "Add"):
            return min(sum(parts), SIZE)
        if name in ("Times", "Mul", "Scale"):
            return _product(parts)
        if name == "Pow":
            return _product([parts[0]] * abs(int(e.args[1])))
        return parts[0] if name == "Transpose" else 1


def _product(counts: Iterable[int]) -> int:
    total = 1
    for count in counts:
        total = min(total * count, SIZE)
    return total


def whole(value: object, path: str) -> int:
    """A whole number as it stands in a file.

    Raises:
        RecordError: it is none.
    """
    if type(value) is not int:
        raise RecordError(path, f"{shown(value)} is no whole number")
    return value


def words_of(value: object, path: str, most: int = NAME) -> str:
    """A text of printable characters.

    Raises:
        RecordError: it is none, or too long.
    """
    if not isinstance(value, str) or not value or len(value) > most or not value.isprintable():
        raise RecordError(path, f"{shown(value)} is no text of 1 to {most} printable characters")
    return value


def name_of(value: object, path: str) -> str:
    """The name of a symbol: letters, digits and underscores, with primes behind.

    Raises:
        RecordError: it is none.
    """
    text = words_of(value, path)
    bare = text.rstrip("'")
    if not (bare.isascii() and bare.isidentifier()):
        raise RecordError(path, f"{shown(value)} is no name of letters from a to z, digits and underscores")
    return text


def shown(value: object) -> str:
    """A value from a file in a message, cut where it is long, without control characters."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return clipped(ascii(value) if isinstance(value, str) and not value.isprintable() else
                   repr(value) if isinstance(value, str) else str(value), 60)


def clipped(text: str, most: int = 300) -> str:
    """The beginning of a long text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"
