"""Coefficients of words: one form for each value, powers with an index for exponent, and sums in closed form.

Symbols in a coefficient are generic: two coefficients are equal when they are as rational functions. Whoever
divides by one that is free of indices loses nothing, as both sides of an equation are polynomials in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sympy import Expr, Function, Integer, Mul, Pow, S, binomial, cancel, factor, factor_list, fraction
from sympy.ntheory import factorrat

from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.walk import free_indices


class Geometric(Function):
    """baseⁿ for an index n and a base ≠ 0 free of indices; written out until base is a prime, -1 or irreducible."""

    nargs = 2

    @classmethod
    def eval(cls, base: Expr, exponent: Expr) -> Expr | None:
        """The product of such powers of single variables; None if this is one."""
        form, atoms = index(exponent), _atoms(base)
        if isinstance(exponent, IndexVar) and atoms == ((base, 1),):
            return None
        return Mul(*(b ** (m * form.const) for b, m in atoms),
                   *(cls(b, v) ** (m * a) for b, m in atoms for v, a in form.terms))

    def _eval_power(self, exponent: Expr) -> Expr | None:
        return self ** (exponent % 2) if self.args[0] is S.NegativeOne and exponent.is_Integer else None


@lru_cache(maxsize=1024)
def _atoms(base: Expr) -> tuple[tuple[Expr, int], ...]:
    """Factors without a relation between them (but for (-1)² = 1), and how often each occurs."""
    found: dict[Expr, int] = {}
    for part, sign in zip(fraction(factor(base)), (1, -1), strict=True):
        number, others = factor_list(part)
        primes = factorrat(number).items() if number.is_Rational else [(number, 1)]
        for b, m in (*((Integer(p) if isinstance(p, int) else p, m) for p, m in primes if p != 1), *others):
            found[b] = found.get(b, 0) + sign * int(m)
    return tuple(found.items())


def tidy(c: Expr) -> Expr:
    """A coefficient in a form that is zero or one exactly when it prints as such.

    SymPy leaves 1ⁿ standing for the power of a product whose every factor becomes one, ((-1)ᵗ (-1)ᵀ)².
    """
    if c.is_Number:
        return c
    c = c.expand()
    if isinstance(c, Pow) and c.base is S.One:
        return S.One
    return cancel(c) if any(p.base.is_Add and not p.exp.is_nonnegative for p in c.atoms(Pow)) else c


def add(terms: dict[Any, Expr], key: object, c: Expr) -> None:
    """Add c to the coefficient of a key; a coefficient that becomes zero leaves."""
    total = tidy(terms[key] + c if key in terms else c)
    if total == 0:
        terms.pop(key, None)
    else:
        terms[key] = total


def substitute_scalar(c: Expr, rule: Mapping[IndexVar, Index]) -> Expr:
    """The coefficient with other free indices."""
    touched = {v: rule[v].to_expr() for v in free_indices(c) if v in rule}
    return c.xreplace(touched) if touched else c


def timeless(c: Expr) -> Expr:
    """The factor of a coefficient that is free of indices."""
    variables = free_indices(c)
    return factor(c).as_independent(*variables, as_Add=False)[0] if variables else c


def closed_sum(weight: Expr, var: IndexVar, lo: Index, hi: Index) -> Expr | None:
    """Σ_{var=lo}^{hi} of nᵏ rⁿ in closed form; None for other weights."""
    degree = weight.as_powers_dict().get(var, S.Zero)
    power = weight / var**degree
    ratio = tidy(power.xreplace({var: var + 1}) / power)
    if not (degree.is_Integer and degree >= 0) or var in free_indices(ratio):
        return None
    return _closed_sum(int(degree), power, ratio, var, (lo.to_expr(), (hi + 1).to_expr()))


def _closed_sum(degree: int, power: Expr, ratio: Expr, var: IndexVar, ends: tuple[Expr, Expr]) -> Expr:
    """By parts: f(n + 1) - f(n) for f(n) = n^d rⁿ holds n^degree rⁿ and lower degrees."""
    d = degree + (ratio == 1)
    bottom, top = ((var**d * power).xreplace({var: end}) for end in ends)
    lower = sum(binomial(d, j) * _closed_sum(j, power, ratio, var, ends) for j in range(degree))
    return (top - bottom - ratio * lower) / (d if ratio == 1 else ratio - 1)
