"""A proof made anew: what its parts remember of themselves, or only seem to be, is found out once more.

The kernel computes shapes and free indices once for each node and believes itself afterwards, and it leaves numbers to
SymPy. What somebody else made, in the same process, could remember something else than it is, or be a number that SymPy
never makes, such as 1/0; what is read from a record cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from sympy import Add, Basic, MatrixSymbol, Mul, Pow, Rational, Symbol, Tuple, preorder_traversal
from sympy.core.symbol import Str

from symbptt.expr.index import Index, IndexVar
from symbptt.expr.nodes import NODES, NUMBERS, Node
from symbptt.proof.axioms import Refused
from symbptt.proof.statement import Definition, Proof, Step, Theorem

DATA = (Definition, Proof, Step, Theorem)


def afresh(proof: Proof) -> Proof:
    """The same proof, of which no part remembers anything.

    Raises:
        Refused: something else than tuples, sets, names, numbers and expressions stands in it.
        RecursionError: it is nested too deeply.
    """
    found: Proof = _afresh(proof, {})
    return found


def _afresh(e: Any, known: dict[int, Any]) -> Any:
    kind = type(e)
    if id(e) not in known:
        if kind in DATA:
            new = kind(*(_afresh(getattr(e, field.name), known) for field in fields(e)))
        elif kind in (tuple, frozenset):
            new = kind([_afresh(a, known) for a in e])
        elif isinstance(e, Node) and kind in NODES:
            new = Basic.__new__(kind, *[_afresh(a, known) for a in e.args])
        elif kind in LEAVES:
            new = _leaf(e, known)
        elif not _bare(e):
            raise Refused(f"a proof is made of tuples and expressions; this one holds a {kind.__name__}")
        else:
            new = e  # of no class of ours: the kernel takes it or refuses it
        known[id(e)] = new
    return known[id(e)]


def _bare(e: Any) -> bool:
    """Whether something is a name, a number or an expression in which no node stands, and not a container."""
    if isinstance(e, Basic):
        return not isinstance(e, Tuple) and not any(isinstance(a, Node | Tuple) for a in preorder_traversal(e))
    return e is None or type(e) in (str, int, bool)


def _leaf(e: Basic, known: dict[int, Any]) -> Basic:
    """A letter, an index form or a scalar, made as SymPy or we make it from what it holds."""
    try:
        return LEAVES[type(e)](e, lambda part: _afresh(part, known))
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise Refused(f"{type(e).__name__}: this one is of no form that its class makes: {error}") from error


def _exactly(kind: type, *parts: Any) -> tuple[Any, ...]:
    """These parts, each of this very class."""
    for part in parts:
        if type(part) is not kind:
            raise TypeError(f"one of its parts is a {type(part).__name__}, no {kind.__name__}")
    return parts


def _index(e: Any, again: Callable[[Any], Any]) -> Basic:
    terms = [(again(v), *_exactly(int, a)) for v, a in _exactly(tuple, e.terms)[0]]
    (const,) = _exactly(int, e.const)
    return Index(const, terms)


def _symbol(e: Any, _: Callable[[Any], Any]) -> Basic:
    assumed = {str(k): v for k, v in e.assumptions0.items()}
    _exactly(bool, *assumed.values())
    return Symbol(*_exactly(str, e.name), **assumed)


def _number(e: Any, _: Callable[[Any], Any]) -> Basic:
    p, q = _exactly(int, e.p, e.q)
    if q <= 0:
        raise ValueError("its denominator is not positive")
    return Rational(p, q)


def _sum_or_product(e: Any, again: Callable[[Any], Any]) -> Basic:
    made: Basic = type(e)._from_args([again(a) for a in e.args])  # nothing is worked out, which could take long
    return made


LEAVES: dict[type, Callable[[Any, Callable[[Any], Any]], Basic]] = {
    Index: _index, Symbol: _symbol, **dict.fromkeys(NUMBERS, _number), **dict.fromkeys((Add, Mul), _sum_or_product),
    IndexVar: lambda e, _: IndexVar(*_exactly(str, e.name)),
    Str: lambda e, _: Str(*_exactly(str, e.name)),
    Pow: lambda e, again: Pow(*map(again, e.args), evaluate=False),
    MatrixSymbol: lambda e, again: MatrixSymbol(*_exactly(str, e.name), *map(again, e.shape)),
}
"""How what is no node is made anew, by its class."""
