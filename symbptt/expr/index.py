"""Index variables, linear forms in them, and the side conditions that bound them.

A time index such as t, t - 1 or T + t - i is a linear form with integer coefficients. Index variables are a class of
their own, so that a size called i and an index called i are two things.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from sympy import Add, Expr, Integer, S, Symbol
from sympy.core.basic import Basic


class IndexVar(Symbol):
    """An integer variable that counts time steps: t, T, i, k."""

    def __new__(cls, name: str) -> IndexVar:
        return super().__new__(cls, str.__str__(name), integer=True)

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, bool]]:
        return (self.name,), {}


class Index(Basic):
    """The linear form c + Σ a_j v_j with integers c, a_j and index variables v_j."""

    __slots__ = ("const", "terms")
    const: int
    terms: tuple[tuple[IndexVar, int], ...]

    def __new__(cls, const: int = 0, terms: Iterable[tuple[IndexVar, int]] = ()) -> Index:
        total: dict[IndexVar, int] = {}
        for v, a in terms:
            if type(v) is not IndexVar or a != int(a):
                raise TypeError(f"{a} * {v} is no whole multiple of an index variable")
            total[v] = total.get(v, 0) + int(a)
        if const != int(const):
            raise TypeError(f"{const} is not a whole number")
        return _make(int(const), tuple(sorted(((v, a) for v, a in total.items() if a), key=lambda term: term[0].name)))

    def __getnewargs__(self) -> tuple[int, tuple[tuple[IndexVar, int], ...]]:
        return self.const, self.terms

    def _hashable_content(self) -> tuple[object, ...]:
        return (self.const, *self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.const == other.const and self.terms == other.terms

    __hash__ = Basic.__hash__

    def __add__(self, other: IndexLike) -> Index:
        if isinstance(other, int):
            return _make(self.const + other, self.terms)
        other = index(other)
        return Index(self.const + other.const, (*self.terms, *other.terms))

    __radd__ = __add__

    def __neg__(self) -> Index:
        return _make(-self.const, tuple((v, -a) for v, a in self.terms))

    def __sub__(self, other: IndexLike) -> Index:
        return self + (-index(other))

    def __rsub__(self, other: IndexLike) -> Index:
        return index(other) - self

    @property
    def free_symbols(self) -> set[Basic]:
        """The variables of the form."""
        return {v for v, _ in self.terms}

    def coefficient(self, var: IndexVar) -> int:
        """The coefficient of `var`."""
        return dict(self.terms).get(var, 0)

    def substitute(self, rule: Mapping[IndexVar, Index]) -> Index:
        """Replace variables by linear forms, all at once."""
        found = [(v, a, rule.get(v)) for v, a in self.terms]
        const = self.const + sum([a * form.const for _, a, form in found if form is not None])
        kept = tuple([(v, a) for v, a, form in found if form is None])
        more = [(w, a * b) for _, a, form in found if form is not None for w, b in form.terms]
        return Index(const, [*kept, *more]) if more else _make(const, kept)

    def to_expr(self) -> Expr:
        """The same form as a SymPy expression."""
        return Add(self.const, *(a * v for v, a in self.terms))


IndexLike: TypeAlias = Index | IndexVar | Integer | Expr | int


@lru_cache(maxsize=8192)
def _make(const: int, terms: tuple[tuple[IndexVar, int], ...]) -> Index:
    if max(map(abs, (const, *dict(terms).values()))) >= 10**300:
        raise OverflowError("an index form has a number of more than 300 digits")
    form = Basic.__new__(Index)
    form.const, form.terms = const, terms
    return form


def index(value: object) -> Index:
    """Read an integer, an index variable or a linear SymPy expression in such variables as an `Index`.

    Raises:
        TypeError: it is not linear with integer coefficients in index variables.
    """
    if isinstance(value, Index):
        return value
    if type(value) is IndexVar:
        return _make(0, ((value, 1),))
    if isinstance(value, int | Integer):
        return _make(int(value), ())
    if not isinstance(value, Expr):
        raise TypeError(f"{value} is no linear form in index variables")
    terms = dict(value.as_coefficients_dict())
    return Index(terms.pop(S.One, 0), terms.items())


def nonnegative(form: Index, hypotheses: Iterable[Index], depth: int = 6) -> bool:
    """Whether form ≥ 0 follows from `hypotheses` (each h ≥ 0) by adding a few of them up.

    Sound: it answers True only when form - h_1 - … - h_m is a constant ≥ 0 for hypotheses h_1 … h_m (with repetition).
    Not complete: False means that no such sum of at most `depth` hypotheses was found.
    """
    facts = [h for h in hypotheses if h.terms]
    reached: dict[Index, int] = {}

    def search(goal: Index, left: int) -> bool:
        if not goal.terms:
            return goal.const >= 0
        if left == 0 or reached.get(goal, 0) >= left:
            return False
        reached[goal] = left
        var, sign = goal.terms[0][0], goal.terms[0][1] > 0
        return any(search(goal - h, left - 1) for h in facts
                   if any(v is var or v == var for v, a in h.terms if (a > 0) == sign))

    return any(search(form, limit) for limit in range(depth + 1))


t = IndexVar("t")
T = IndexVar("T")
