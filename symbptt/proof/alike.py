"""What the statements of a record do not show: things that are printed alike, and constants that are not zero.

A proof about a constant i under a sum over an index i is right, and printed it is wrong. Names are compared as they are
printed: W1 and W_1 are one name, and so are x and x_.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from sympy import Expr, MatrixSymbol, Pow, Symbol
from sympy.core.basic import Basic
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.index import Index, IndexVar
from symbptt.expr.nodes import ONE, At, Identity, Loss, Multiple, Node, Ones, Scale, Tangent, Times
from symbptt.model.notation import RESERVED, SIGNS, Name, called, change, in_one_word, split
from symbptt.proof.statement import Proof

CLOCK = (Name("t"), Name("T"))
"""The signs that are indices; in a record these two may stand for indices alone."""
LOWERED = frozenset("aehijklmnoprsuvx")
"""The index variables that stand below the line in plain text, so that h at i is not h_i."""


def alike(statements: Iterable[Basic]) -> str | None:
    """What is printed like something else, in words; None when nothing is."""
    printed: dict[Name, tuple[Basic, str]] = {}
    sizes: dict[Name, Symbol] = {}
    summed: set[Basic] = set()
    functions: dict[str, str] = {}
    spoken: dict[Name, str] = {}
    for e in parts(statements):
        if isinstance(e, Str):
            shown = called(e.name)
            spoken[shown] = e.name
            other = functions.setdefault(in_one_word(e.name), e.name)
            if shown in SIGNS or RESERVED.get(shown, e.name) != e.name or other != e.name:
                return f"the function or loss {e.name} prints like another, or like a sign"
        elif isinstance(e, Loss) and len(set(e.args)) < len(e.args):
            return f"one gradient of the loss {e.name}, which reads a variable twice, prints like another"
        elif isinstance(e, Times | Multiple) and any(type(a) is Identity and a.shape[0] == ONE for a in e.args):
            return "the factor 1 prints like a matrix of ones"
        if isinstance(e, Times):
            summed |= {a.shape[1] for a, b in pairwise(e.args) if type(a) is type(b) is Ones}
            if len(summed) > 1:
                return "a product of ones over so many entries prints like one over others"
        elif isinstance(e, Scale):
            for s in sorted((s for s in e.args[0].free_symbols if s.is_positive), key=str):
                if sizes.setdefault(split(s.name), s) != s:
                    return f"the size {s} prints like the size {sizes[split(s.name)]}"
        for name, thing, words in _named(e):
            if name in SIGNS and not (isinstance(thing, IndexVar) and name in CLOCK):
                return f"{words} prints like {SIGNS[name]}"
            if name in RESERVED:
                return f"{words} prints like the function or loss {RESERVED[name]}"
            first, other = printed.setdefault(name, (thing, words))
            if first != thing:
                return f"{words} prints like {other}"
    for shown, function in spoken.items():
        if shown in printed and not isinstance(printed[shown][0], IndexVar):
            return f"{printed[shown][1]} prints like the function or loss {function}"
    for name, size in sizes.items():
        if name in printed:
            return f"the size {size} prints like {printed[name][1]}"
    return None


def parts(statements: Iterable[Basic]) -> Iterator[Basic]:
    """Every part of expressions down to the scalars and the names, once."""
    seen, stack = set[int](), list(statements)
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            stack.extend([v for v, _ in e.terms] if isinstance(e, Index) else e.args if isinstance(e, Node) else
                         sorted(e.free_symbols, key=str) if not isinstance(e, MatrixSymbol) and e.args else ())


def stated(proof: Proof) -> Iterator[Basic]:
    """What is printed of a proof: its definitions and its claim."""
    claim = proof.claim
    yield from (e for d in proof.definitions for e in (d.left, d.right, d.lo, d.hi) if e is not None)
    yield from (claim.left, claim.right, *claim.hypotheses, *(e for pair in claim.assumptions for e in pair))


def excluded_zeros(proof: Proof) -> list[Symbol]:
    """The constants by which the steps divide and the statement does not: it holds where none of them is zero."""
    waiting: list[object] = [a for step in proof.steps for a in step.args]
    found: list[Basic] = []
    while waiting:
        a = waiting.pop()
        if isinstance(a, tuple | list):
            waiting.extend(a)
        elif isinstance(a, Basic):
            found.append(a)
    return sorted(denominators(found) - denominators(stated(proof)), key=str)


def denominators(expressions: Iterable[Basic]) -> set[Symbol]:
    """The constants by which expressions divide."""
    scalars = (e for e in parts(expressions) if isinstance(e, Expr) and not isinstance(e, MatrixExpr))
    below = (p.base for c in scalars for p in c.atoms(Pow) if p.exp.is_negative)
    return {s for s in below if isinstance(s, Symbol) and not isinstance(s, IndexVar) and not s.is_positive}


def _named(e: Basic) -> Iterator[tuple[Name, Basic, str]]:
    """The names that a part has in print, what they stand for, and that in words."""
    if isinstance(e, MatrixSymbol):
        yield split(str(e.name)), e, f"the letter {e}"
    elif isinstance(e, IndexVar):
        yield split(e.name), e, f"the index {e}"
    elif isinstance(e, Symbol) and not e.is_positive:
        yield split(e.name), e, f"the constant {e}"
    elif isinstance(e, At):
        yield from _member(e, e, "")
    elif type(e) is Tangent:
        of = e.args[0]
        name = change(str(of.family.name if isinstance(of, At) else of.name))
        yield name, Tangent(of.family if isinstance(of, At) else of), f"a change {e}"
        if isinstance(of, At):
            yield from _member(of, e, "d")


def _member(of: At, e: Basic, prefix: str) -> Iterator[tuple[Name, Basic, str]]:
    name, time = split(str(of.family.name)), str(of.time).replace(" ", "")
    if time not in LOWERED:
        yield Name(prefix + name.base, (*name.subscripts, time)), e, f"the member {e}"
