"""What a certificate's formulas are worth modulo a prime, when values are given to its variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

from symbptt.proof import field as f
from symbptt.proof.declared import Defined, Scope
from symbptt.proof.reading import NotRead, Term

HERE: Term = ("name", "t")
LARGE, MOST = 2**53, 32
"""No number that a certificate writes out is as large as the first, and no exponent larger than the second."""
WORK = 1_000_000
"""No statement of a certificate takes more steps to evaluate at one point."""
LONGEST = 10000
"""No sum or power of a certificate has more terms or factors at the steps that are tried."""


class Astray(ValueError):
    """The text does not say what the model says; the message says where."""


class Evaluation:
    """Terms as numbers, matrices and sequences, at one random point of the model; `count` is T as a number there."""

    def __init__(self, sizes: Mapping[str, int], count: int = 0) -> None:
        self.sizes, self.count = sizes, count
        self.variables: dict[str, Any] = {}
        self.seen: dict[int, tuple[Defined, Any]] = {}
        self.work = 0

    # Natural numbers.

    def nat(self, e: Term, s: Scope) -> int:
        """A natural number, of a form that says the same for every T and every size, so that a few of them tell.

        Raises:
            NotRead: it is no natural number.
            Astray: it is of another form; times are a variable, so much later or earlier, the sum or difference of two.
        """
        value = self._nat(e, s)
        if not self._plain(e, s):
            raise Astray("a time, or a size, is written as none is, so that it could be another one elsewhere")
        return value

    def _plain(self, e: Term, s: Scope) -> bool:
        """A number, a name, a successor of one; t + k, i - t, t = T; a size; the end of a window."""
        def time(a: Term) -> bool:
            return bool(a[0] == "name" and a[1] in s.bound)

        def apart(a: Term) -> bool:
            return a[:2] == ("binary", "-") and time(a[3]) and (time(a[2]) or a[2] in (end, ("binary", "+", end, HERE)))

        end: Term = ("name", "T")
        match e:
            case ("number", _) | ("name", _):
                return True
            case ("postfix", "%N", ("successor", _, _) as inner):
                return self._plain(inner, s)
            case ("successor", back, ("name", "T")) if back < 0:
                return True
            case ("successor", _, inner):
                # Coq has signs for four steps; more are put behind one another.
                while inner[0] == "successor":
                    inner = inner[2]
                return time(inner) or apart(inner) or e == ("successor", 1, end)
            case ("postfix", "%N", ("binary", "==", left, right)):
                return time(left) and right == end
            case ("postfix", "%N", ("binary", "+", left, right)) if time(left):
                return time(right)
            case ("postfix", "%N", ("binary", "-", _, _) as inner) if apart(inner):
                return True
            case ("apply", ("name", "minn"), (("postfix", "%N", ("binary", "+", left, right)), stop)):
                return time(left) and time(right) and stop == ("successor", 1, end)
        return self._size(e)

    def _size(self, e: Term) -> bool:
        """A sum of multiples of sizes."""
        match e:
            case ("number", _):
                return True
            case ("name", name):
                return name in self.sizes and name != "T"
            case ("postfix", "%N", inner):
                return self._size(inner)
            case ("binary", "+" | "*", left, right):
                return self._size(left) and self._size(right)
        return False

    def _nat(self, e: Term, s: Scope) -> int:
        kind = e[0]
        if kind == "number":
            return int(e[1])
        if kind == "name":
            found = s.bound.get(e[1], self.sizes.get(e[1]))
            if isinstance(found, int):
                return found
        if kind == "successor":
            return max(0, self._nat(e[2], s) + int(e[1]))
        if kind == "postfix" and e[1] == "%N":
            return self._nat(e[2], s)
        if kind == "binary" and e[1] in ("+", "-", "*", "=="):
            a, b = self._nat(e[2], s), self._nat(e[3], s)
            return {"+": a + b, "-": max(0, a - b), "*": a * b, "==": int(a == b)}[e[1]]
        if kind == "apply" and e[1] == ("name", "minn") and len(e[2]) == 2:
            return min(self._nat(a, s) for a in e[2])
        raise NotRead(f"no natural number: {e}")

    # Everything else.

    def __call__(self, e: Term, s: Scope) -> Any:
        self.work += 1
        if self.work > WORK:
            raise Astray("the statement takes longer to evaluate than any of a certificate")
        return getattr(self, f"_{e[0]}")(e, s)

    def _number(self, e: Term, _s: Scope) -> int:
        return int(e[1])

    def _name(self, e: Term, s: Scope) -> Any:
        return self.found(e[1], s)

    def found(self, name: str, s: Scope) -> Any:
        """What a name stands for: a bound variable, a definition, a variable of a section."""
        if name in s.bound:
            return s.bound[name]
        if name in s.defined:
            if s.defined[name].given:
                raise NotRead(f"{name} needs {', '.join(s.defined[name].given)}")
            return self.value(s.defined[name])
        if name in self.variables:
            return self.variables[name]
        raise NotRead(f"the name {name} is not known")

    def value(self, d: Defined) -> Any:
        """A definition without variables by its value, with variables as a function of them."""
        if id(d) not in self.seen:
            scope = Scope(d.before)
            found = self.remembered(self.curried(d.variables, d.body, scope)) if d.variables else self(d.body, scope)
            self.seen[id(d)] = d, found
        return self.seen[id(d)][1]

    @staticmethod
    def remembered(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The function, which evaluates at each number once."""
        known: dict[int, Any] = {}

        def once(value: Any) -> Any:
            if not isinstance(value, int):
                return function(value)
            if value not in known:
                known[value] = function(value)
            return known[value]

        return once

    def curried(self, variables: tuple[str, ...], body: Term, s: Scope) -> Callable[[Any], Any]:
        """A function of one variable after another."""
        def function(value: Any) -> Any:
            inner = s.inner(variables[0], value)
            return self.curried(variables[1:], body, inner) if variables[1:] else self(body, inner)

        return function

    def _function(self, e: Term, s: Scope) -> Any:
        return self.curried(e[1], e[2], s)

    def _let(self, e: Term, s: Scope) -> Any:
        return self(e[3], s.inner(e[1], self(e[2], s)))

    def _case(self, e: Term, s: Scope) -> Any:
        k = self.nat(e[1], s)
        return self(e[3], s.inner(e[2], k - 1)) if k else self(e[4], s)

    def _match(self, e: Term, s: Scope) -> Any:
        k = self.nat(e[1], s)
        return self(next(body for key, body in e[2] if key in (k, None)), s)

    def _typed(self, e: Term, s: Scope) -> Any:
        stacking = BLOCKS.get(e[1][1]) if e[1][0] == "apply" else None
        if stacking is not None:
            return stacking(self, e[1][2], e[2][1], e[2][2], s)
        rows, columns = (self.nat(x, s) for x in e[2][1:])
        if e[1] == ("number", 0):
            return f.zeros(rows, columns)
        if e[1] == ("postfix", "%:M", ("number", 1)):
            return f.unit(rows)
        if e[1] == ("apply", ("name", "const_mx"), (("number", 1),)):
            return f.filled(1, rows, columns)
        return self(e[1], s)

    def _minus(self, e: Term, s: Scope) -> Any:
        a = self(e[1], s)
        return (-a) % f.PRIME if isinstance(a, int) else f.scaled(f.PRIME - 1, a)

    def _postfix(self, e: Term, s: Scope) -> Any:
        sign = e[1]
        if sign == "%:R":
            return self._whole(e[2], s)
        if sign == "%:M":
            return ((self(e[2], s),),)
        a = self(e[2], s)
        return f.turned(a) if sign == "^T" else f.inverse(a) if sign == "^-1" else a

    def _whole(self, e: Term, s: Scope) -> int:
        """A whole number among the others: one that is written out, T, or whether it is the last step."""
        if e[0] == "number" and int(e[1]) < LARGE:
            return int(e[1])
        if e == ("name", "T"):
            return self.count
        if e[0] == "postfix" and e[1] == "%N" and e[2][:2] == ("binary", "=="):
            return self.nat(e, s)
        raise Astray("a whole number among the others is written out, or T")

    def _small(self, e: Term) -> int | None:
        """What is made of whole numbers alone; modulo the prime a large one would be another."""
        match e:
            case ("postfix", "%:R", ("number", n)):
                found = int(n)
            case ("minus", inner):
                return self._small(inner)
            case ("binary", "+" | "-" | "*" as sign, left, right):
                a, b = self._small(left), self._small(right)
                if a is None or b is None:
                    return None
                found = a * b if sign == "*" else a + b
            case ("binary", "^+", left, ("number", n)):
                base = self._small(left)
                if base is None:
                    return None
                found = base ** min(int(n), MOST)
            case _:
                return None
        if found >= LARGE:
            raise Astray("a number is larger than any of a certificate")
        return found

    def _binary(self, e: Term, s: Scope) -> Any:
        sign = e[1]
        self._small(e)
        if sign == "^+":
            if e[3][0] == "number" and int(e[3][1]) > MOST:
                raise Astray(f"an exponent is larger than {MOST}")
            return pow(self(e[2], s), self.nat(e[3], s), f.PRIME)
        if sign in "+-":
            return self.added(sign, e[2], e[3], s)
        a, b = self(e[2], s), self(e[3], s)
        if sign == "*m":
            return f.multiplied(a, b)
        return a * b % f.PRIME if isinstance(b, int) else f.scaled(a, b)

    def added(self, sign: str, left: Term, right: Term, s: Scope) -> Any:
        """A sum; a constant beside a matrix has its shape."""
        constants = [CONSTANTS.get(x) for x in (left, right)]
        values: list[Any] = [None if c else self(x, s) for c, x in zip(constants, (left, right), strict=True)]
        like = next((v for v in values if v is not None), None)
        if like is None or isinstance(like, int):
            m, n = (self(x, s) if v is None else v for v, x in zip(values, (left, right), strict=True))
            if not isinstance(m, int) or not isinstance(n, int):
                raise NotRead("the shape of a sum of constants is not known")
            return (m + n if sign == "+" else m - n) % f.PRIME
        a, b = (c(like) if c is not None else v for c, v in zip(constants, values, strict=True))
        return f.added(a, b if sign == "+" else f.scaled(f.PRIME - 1, b))

    def _pair(self, e: Term, s: Scope) -> int:
        a, b = self(e[1], s), self(e[2], s)
        if (len(a), len(a[0])) != (len(b), len(b[0])):
            raise NotRead("a pairing of two shapes")
        return f.paired(a, b)

    def _range(self, e: Term, s: Scope) -> Iterator[Any]:
        lo, hi = self.nat(e[1], s), self.nat(e[3], s)
        if hi - lo > LONGEST:
            raise Astray(f"a sum or a product has more than {LONGEST} terms")
        for k in range(lo, hi):
            yield self(e[4], s.inner(e[2], k))

    def _sum(self, e: Term, s: Scope) -> Any:
        parts = list(self._range(e, s))
        if not parts:
            like = self(e[4], s.inner(e[2], self.nat(e[1], s)))
            return 0 if isinstance(like, int) else f.zeros(len(like), len(like[0]))
        return sum(parts) % f.PRIME if isinstance(parts[0], int) else reduce(f.added, parts)

    def _product(self, e: Term, s: Scope) -> Any:
        return reduce(f.multiplied, self._range(e, s), f.unit(len(self(e[4], s.inner(e[2], self.nat(e[1], s))))))

    def _apply(self, e: Term, s: Scope) -> Any:
        head, arguments = e[1], e[2]
        name = head[1] if head[0] == "name" else ""
        if name in OPERATIONS and name not in s.bound and name not in s.defined:
            return OPERATIONS[name](self, arguments, s)
        if name in s.defined and name not in s.bound and s.defined[name].given:
            needed = tuple(("name", v) for v in s.defined[name].given)
            if arguments[:len(needed)] != needed:
                raise Astray(f"{name} is read at another place than {', '.join(s.defined[name].given)}")
            found, arguments = self.value(s.defined[name]), arguments[len(needed):]
        else:
            found = self(head, s)
        if isinstance(found, tuple) and arguments == (("number", 0), ("number", 0)):
            return found[0][0]
        for a in arguments:
            found = found(self.argument(a, s))
        return found

    def argument(self, a: Term, s: Scope) -> Any:
        """An argument: a natural number where it is one."""
        try:
            return self.nat(a, s)
        except NotRead:
            return self(a, s)

    # Operations of the library.

    def mapped(self, a: tuple[Term, ...], s: Scope) -> Any:
        function = self(a[0], s)
        return tuple(tuple(function(x) for x in row) for row in self(a[1], s))

    def selected(self, a: tuple[Term, ...], s: Scope) -> Any:
        total, size, off = (self.nat(x, s) for x in a)
        return tuple(tuple(int(i == off + j) for j in range(size)) for i in range(total))

    def lagged(self, a: tuple[Term, ...], s: Scope) -> Any:
        family, past, back, time = self(a[0], s), self(a[1], s), self.nat(a[2], s), self.nat(a[3], s)
        return family(time - back) if back <= time else past(back - time)

    def pushed(self, a: tuple[Term, ...], s: Scope) -> Any:
        now, before = self(a[0], s), self(a[1], s)
        return lambda k: before(k - 1) if k else now

    def power(self, a: tuple[Term, ...], s: Scope) -> Any:
        base, count = self(a[0], s), self.nat(a[1], s)
        if count > LONGEST:
            raise Astray(f"a power has more than {LONGEST} factors")
        return reduce(f.multiplied, [base] * count, f.unit(len(base)))

    # Blocks, whose constants have the shape that the sizes of the whole leave them.

    def above(self, a: tuple[Term, ...], rows: Term, columns: Term, s: Scope) -> Any:
        top, bottom = (self(("typed", x, ("shape", size, columns)), s) for x, size in zip(a, parted(rows), strict=True))
        return (*top, *bottom)

    def beside(self, a: tuple[Term, ...], rows: Term, columns: Term, s: Scope) -> Any:
        left, right = (self(("typed", x, ("shape", rows, size)), s) for x, size in zip(a, parted(columns), strict=True))
        return tuple((*x, *y) for x, y in zip(left, right, strict=True))

    def state(self, a: tuple[Term, ...], s: Scope) -> Any:
        return [None if x == ("number", 0) else self(x, s) for x in a]


def _constant_matrix(run: Evaluation, a: tuple[Term, ...], s: Scope) -> Any:
    return ((run(a[0], s),),)


def parted(size: Term) -> tuple[Term, Term]:
    """The sizes of the two blocks of which something of this size is made."""
    if size[:2] != ("binary", "+"):
        raise NotRead(f"two blocks of the size {size}")
    return size[2], size[3]


BLOCKS: dict[Term, Callable[[Evaluation, tuple[Term, ...], Term, Term, Scope], Any]] = {
    ("name", "col_mx"): Evaluation.above, ("name", "row_mx"): Evaluation.beside,
}
"""The ways to put two blocks together."""

OPERATIONS: dict[str, Callable[[Evaluation, tuple[Term, ...], Scope], Any]] = {
    "map_mx": Evaluation.mapped, "sel": Evaluation.selected, "at_lag": Evaluation.lagged, "push": Evaluation.pushed,
    "mxpow": Evaluation.power,
    "State": Evaluation.state, "const_mx": _constant_matrix,
    "hadm": lambda run, a, s: f.weighed(run(a[0], s), run(a[1], s)), "dg": lambda run, a, s: f.diagonal(run(a[0], s)),
    "msc": lambda run, a, s: f.scaled(run(a[0], s)[0][0], run(a[1], s)),
}
"""What the names of the library mean."""

CONSTANTS: dict[Term, Callable[[f.Array], f.Array]] = {
    ("apply", ("name", "const_mx"), (("number", 1),)): lambda a: f.filled(1, len(a), len(a[0])),
    ("postfix", "%:M", ("number", 1)): lambda a: f.unit(len(a)),
    ("number", 0): lambda a: f.zeros(len(a), len(a[0])),
}
"""Constants whose shape is that of what stands beside them."""
