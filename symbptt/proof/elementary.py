"""The functions of one number, modulo the prime: values from their SymPy scalars, slopes from SymPy's own derivative.

exp, log, tanh, sin and cos are random tables, for what is proved of them follows from their derivatives and from
exp(-a) = 1 / exp(a), exp(0) = 1 alone. A field of p elements has no order. Positive are the quadratic residues: since
p ≡ 7 mod 8, sign(-a) = -sign(a), sign(2) = 1 and sign(a b) = sign(a) sign(b), so that Max, Min, Abs and Heaviside are
exact and every piece of a function with kinks is met, that of hard_tanh between -1 and 1 too. What lies above one kink
of a function is made to lie above all that are smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from hashlib import blake2b
from typing import Any, TypeAlias

import sympy
from sympy import Add, DiracDelta, Expr, Heaviside, Integer, Max, Min, Mul, Pow, Rational, Symbol

from symbptt.model.functions import ENTRYWISE
from symbptt.proof.field import PRIME, MeaningError, inverse

Z = Symbol("z", real=True)
Table: TypeAlias = Callable[[str, int], int]
"""A random number for the name of a function and an argument, always the same."""

Scalar: TypeAlias = Callable[[Table, int], int]


class Elementary:
    """The functions of FUNCTIONS and SLOPES at one random choice of their tables."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[tuple[str, bool, int], int] = {}
        self._drawn: dict[tuple[str, int], int] = {}

    def value(self, name: str, a: int) -> int:
        """φ(a)."""
        return self._remembered(name, False, a)

    def slope(self, name: str, a: int) -> int:
        """φ'(a); at a kink what the convention says."""
        return self._remembered(name, True, a)

    def drawn(self, name: str, a: int) -> int:
        """The entry of a random table, never zero."""
        if (name, a) not in self._drawn:
            digest = blake2b(f"{self._seed} {name} {a}".encode(), digest_size=16).digest()
            self._drawn[name, a] = 1 + int.from_bytes(digest) % (PRIME - 1)
        return self._drawn[name, a]

    def _remembered(self, name: str, steep: bool, a: int) -> int:
        key = (name, steep, a)
        if key not in self._known:
            self._known[key] = (_slope if steep else _value)(name)(self.drawn, a)
        return self._known[key]


def sign(a: int) -> int:
    """1 for a quadratic residue, -1 for a non-residue, 0 for 0 (Euler's criterion)."""
    return pow(a, (PRIME - 1) // 2, PRIME)


def compiled(e: Expr, kinks: tuple[int, ...] = ()) -> Scalar:
    """The function z ↦ e as a closure.

    Raises:
        MeaningError: e holds what has no meaning here.
    """
    if e == Z:
        return lambda _, z: z
    if isinstance(e, Rational):
        number = int(e.p) * inverse(int(e.q)) % PRIME
        return lambda *_: number
    if type(e) not in OPERATIONS:
        raise MeaningError(f"{type(e).__name__} has no meaning: {e}")
    if len(kinks) > 1 and isinstance(e, Max | Heaviside):
        return _piece(e, kinks)
    operation = OPERATIONS[type(e)]
    if isinstance(e, Pow):
        if not isinstance(e.exp, Integer):
            raise MeaningError(f"{e} is no integer power")
        base, exponent = compiled(e.base, kinks), int(e.exp)
        return lambda table, z: operation(table, base(table, z), exponent)
    parts = [compiled(a, kinks) for a in e.args]
    return lambda table, z: operation(table, *[part(table, z) for part in parts])


def _piece(e: Expr, kinks: tuple[int, ...]) -> Scalar:
    """Max(z, c) or Heaviside(z - c) of a function with several kinks."""
    rest = [a for a in e.args if a != Z]
    c = rest[0] if isinstance(e, Max) else Z - e.args[0]
    if not isinstance(c, Integer) or (isinstance(e, Max) and len(rest) != 1):
        raise MeaningError(f"{e} has no meaning")
    number, larger = int(c) % PRIME, [k for k in kinks if k >= c]

    def above(z: int) -> bool:
        return any(sign((z - k) % PRIME) == 1 for k in larger)

    if isinstance(e, Max):
        return lambda _, z: z if above(z) else number
    return lambda _, z: int(above(z))


@cache
def _value(name: str) -> Scalar:
    return compiled(_scalar(name), ENTRYWISE[name].kinks)


@cache
def _slope(name: str) -> Scalar:
    smooth = compiled(_scalar(name).diff(Z), ENTRYWISE[name].kinks)
    kinks = frozenset(k % PRIME for k in ENTRYWISE[name].kinks)
    if not kinks:
        return smooth
    there = compiled(Rational(ENTRYWISE[name].convention))
    return lambda table, z: (there if z in kinks else smooth)(table, z)


def _scalar(name: str) -> Expr:
    if name not in ENTRYWISE:
        raise MeaningError(f"the function {name} has no meaning")
    return ENTRYWISE[name].scalar(Z)


def _power(_: Table, base: int, exponent: int) -> int:
    return pow(base if exponent >= 0 else inverse(base), abs(exponent), PRIME)


def _exp(table: Table, a: int) -> int:
    """Exp(0) = 1, exp(-a) = 1 / exp(a)."""
    if a == 0:
        return 1
    least = min(a, PRIME - a)
    return table("exp", least) if a == least else inverse(table("exp", least))


def _step(a: int, at_zero: int) -> int:
    return at_zero if a % PRIME == 0 else int(sign(a) == 1)


def _max(a: int, b: int) -> int:
    """Max(a, b) = b + (a - b) [a - b positive]."""
    return (b + (a - b) * _step((a - b) % PRIME, 0)) % PRIME


def _dirac(_: Table, a: int) -> int:
    if a == 0:
        raise MeaningError("a derivative at a jump")
    return 0


OPERATIONS: dict[type, Callable[..., Any]] = {
    Add: lambda _, *parts: sum(parts) % PRIME,
    Mul: lambda _, *parts: reduce(lambda a, b: a * b % PRIME, parts),
    Pow: _power,
    sympy.exp: _exp,
    sympy.log: lambda table, a: table("log", a),
    sympy.tanh: lambda table, a: table("tanh", a),
    sympy.sin: lambda table, a: table("sin", a),
    sympy.cos: lambda table, a: table("cos", a),
    sympy.Abs: lambda _, a: a * sign(a) % PRIME,
    sympy.sign: lambda _, a: sign(a),
    Heaviside: lambda _, a, at_zero: _step(a, at_zero),
    DiracDelta: _dirac,
    Max: lambda _, *parts: reduce(_max, parts),
    Min: lambda _, *parts: reduce(lambda a, b: (a + b - _max(a, b)) % PRIME, parts),
}
"""What each class of a SymPy scalar means; the first argument is the random tables."""
