"""Arithmetic modulo a random prime: numbers, matrices by rows, and dual numbers value + ε · tangent with ε² = 0.

A dual number carries one tangent for each direction that is tried at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import mul
from secrets import randbelow
from typing import TypeAlias

from sympy import isprime

SIGNS = {2: 1, 3: -1, 5: 1, 7: -1, 11: -1, 13: 1}
"""Which small numbers are squares and which are not, so that their signs in the oracle do not hang on the prime."""


def _drawn() -> int:
    """A prime from 2⁶⁰ to 2⁶¹ modulo which -1 is no square, and the small numbers are what SIGNS says.

    It is another one in each process, so that no text can hold a number that is 0 or 1 modulo it but not in truth.
    """
    while True:
        p: int = 2**60 + 8 * randbelow(2**57) + 7
        if all(pow(a, p // 2, p) == s % p for a, s in SIGNS.items()) and isprime(p):
            return p


PRIME = _drawn()

Array: TypeAlias = tuple[tuple[int, ...], ...]
"""A matrix by rows, entries from 0 to PRIME - 1."""

Tangents: TypeAlias = tuple[Array, ...] | None
"""A tangent for each direction; None where all are zero."""


class MeaningError(TypeError):
    """The expression holds something that has no meaning here."""


@dataclass(frozen=True)
class Dual:
    """A value, computed when it is first asked for, and its tangents."""

    compute: Callable[[], Array]
    tangents: Tangents = None

    @cached_property
    def value(self) -> Array:
        """The value."""
        return self.compute()


def inverse(a: int) -> int:
    """1 / a.

    Raises:
        MeaningError: a is zero.
    """
    if a % PRIME == 0:
        raise MeaningError("division by zero")
    return pow(a, -1, PRIME)


# Matrices ----------------------------------------------------------------

def added(a: Array, b: Array) -> Array:
    """The sum a + b."""
    return tuple(tuple((x + y) % PRIME for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True))


def multiplied(a: Array, b: Array) -> Array:
    """The matrix product a b."""
    if len(a[0]) != len(b):
        raise MeaningError(f"a matrix of {len(a[0])} columns times one of {len(b)} rows")
    columns = tuple(zip(*b, strict=True))
    return tuple(tuple(sum(map(mul, row, column)) % PRIME for column in columns) for row in a)


def weighed(a: Array, b: Array) -> Array:
    """The elementwise product a ∘ b."""
    return tuple(tuple(x * y % PRIME for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True))


def scaled(c: int, a: Array) -> Array:
    """The multiple c a."""
    return tuple(tuple(c * x % PRIME for x in row) for row in a)


def turned(a: Array) -> Array:
    """The transpose of a."""
    return tuple(zip(*a, strict=True))


def total(a: Array) -> Array:
    """The sum of the entries, 1 × 1."""
    return ((sum(map(sum, a)) % PRIME,),)


def filled(number: int, rows: int, columns: int) -> Array:
    """The matrix whose entries are all that number."""
    return ((number,) * columns,) * rows


def zeros(rows: int, columns: int) -> Array:
    """The zero matrix."""
    return filled(0, rows, columns)


def diagonal(column: Array) -> Array:
    """diag(v) of a column v."""
    return tuple(tuple(row[0] if a == b else 0 for b in range(len(column))) for a, row in enumerate(column))


def unit(size: int) -> Array:
    """The identity matrix."""
    return diagonal(filled(1, size, 1))


def joined(rows: list[list[Array]]) -> Array:
    """A block matrix, row by row."""
    return tuple(tuple(x for part in parts for x in part) for row in rows for parts in zip(*row, strict=True))


def paired(a: Array, b: Array) -> int:
    """<a, b> = tr(aᵀ b)."""
    return sum(x * y for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)) % PRIME


def directions(rows: int, columns: int) -> tuple[Array, ...]:
    """The unit matrices, row by row."""
    places = [(p, q) for p in range(rows) for q in range(columns)]
    return tuple(tuple(tuple(int((a, b) == place) for b in range(columns)) for a in range(rows)) for place in places)


def arranged(numbers: Sequence[int], rows: int, columns: int) -> Array:
    """The matrix with these entries, row by row."""
    return tuple(tuple(numbers[p * columns:(p + 1) * columns]) for p in range(rows))


# Dual numbers ----------------------------------------------------------------

def constant(a: Array) -> Dual:
    """What does not vary."""
    return Dual(lambda: a)


def linear(f: Callable[[Array], Array], a: Dual) -> Dual:
    """f(a + ε a') = f(a) + ε f(a') for a linear f."""
    return Dual(lambda: f(a.value), None if a.tangents is None else tuple(map(f, a.tangents)))


def plus(*parts: Dual) -> Dual:
    """Σ (a + ε a') = Σ a + ε Σ a'."""
    return Dual(lambda: reduce(added, (a.value for a in parts)), reduce(_both, (a.tangents for a in parts)))


def bilinear(f: Callable[[Array, Array], Array], a: Dual, b: Dual) -> Dual:
    """f(a + ε a', b + ε b') = f(a, b) + ε (f(a', b) + f(a, b')) for a bilinear f."""
    first = None if a.tangents is None else tuple(f(x, b.value) for x in a.tangents)
    second = None if b.tangents is None else tuple(f(a.value, y) for y in b.tangents)
    return Dual(lambda: f(a.value, b.value), _both(first, second))


def quotient(a: Dual, s: Dual) -> Dual:
    """a / s for a 1 × 1 s: (a / s)' = (a' s - a s') / s²."""
    def over(power: int) -> int:
        return pow(inverse(s.value[0][0]), power, PRIME)

    top = None if a.tangents is None else tuple(scaled(s.value[0][0], x) for x in a.tangents)
    bottom = None if s.tangents is None else tuple(scaled(-x[0][0], a.value) for x in s.tangents)
    slopes = _both(top, bottom)
    return Dual(lambda: scaled(over(1), a.value),
                None if slopes is None else tuple(scaled(over(2), x) for x in slopes))


def entrywise(value: Callable[[int], int], slope: Callable[[int], int], a: Dual) -> Dual:
    """φ(a + ε a') = φ(a) + ε φ'(a) ∘ a', entry by entry."""
    def each(f: Callable[[int], int]) -> Array:
        return tuple(tuple(map(f, row)) for row in a.value)

    if a.tangents is None:
        return Dual(lambda: each(value))
    steep = each(slope)
    return Dual(lambda: each(value), tuple(weighed(steep, x) for x in a.tangents))


def beside(rows: list[list[Dual]]) -> Dual:
    """A block matrix of dual numbers."""
    count = next((len(a.tangents) for row in rows for a in row if a.tangents is not None), None)

    def of(a: Dual, k: int) -> Array:
        return a.tangents[k] if a.tangents is not None else zeros(len(a.value), len(a.value[0]))

    return Dual(lambda: joined([[a.value for a in row] for row in rows]), None if count is None else tuple(
        joined([[of(a, k) for a in row] for row in rows]) for k in range(count)))


def _both(a: Tangents, b: Tangents) -> Tangents:
    if a is None or b is None:
        return a if b is None else b
    return tuple(map(added, a, b))
