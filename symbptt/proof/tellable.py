"""What the terms of a statement are made of, so that a few numbers of steps and a few sizes tell what they say.

A term that is zero at every point that is tried could say something else at another one. Outside of the closed forms
certificates count steps by one sum over all of them, which is no factor of anything, read times at most a few steps
away, and bind no name but by `let` in the step. The closed forms hold more sums; there Coq proves both sides equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sympy import Expr, Integer, Symbol, expand

from symbptt.proof.declared import Defined, Text
from symbptt.proof.evaluation import Astray
from symbptt.proof.grammar import RESERVED
from symbptt.proof.premises import Premises
from symbptt.proof.reading import NotRead, Term, read
from symbptt.proof.skeleton import introduced
from symbptt.proof.solved import theorems

ALL_STEPS: tuple[Term, Term] = (("number", 1), ("successor", 1, ("name", "T")))
GIVEN = ("env", "reals")
"""What is given, which is compared field by field."""
LOCAL = ("t", "k", "uses", "past")
"""Variables of definitions and theorems, which have primes where the model has a name like them."""
FACTORS = ("*", "*m", "*:")
SUMMED = re.compile(r"loss(?:_\d+'*)?|dL_d[\w']+")
"""The definitions that sum over steps."""


def tellable(text: Text, assumed: Premises) -> int:
    """Refuse a term that the points which are tried cannot tell from another; return how far back the text reads.

    Raises:
        Astray: there is one; the message says where.
    """
    sizes = frozenset(text.sizes)
    far, known = 0, _known(text)
    for where, e, here, part in _terms(text, assumed):
        closed = part == "Closed"
        if part == "step":
            e = _past_lets(e, sizes)
        summed = part == "gradient" or (part != "step" and SUMMED.fullmatch(where) is not None)
        for inner in walk(e):
            _form(where, inner, sizes, closed, summed)
        bound = {inner[2] for inner in walk(e) if inner[0] in ("sum", "product")}
        unknown = [n for n in sorted(_names(e) - known - bound) if n.rstrip("'") not in LOCAL and n[:6] != "@real."]
        if unknown:
            raise Astray(f"{where}: the name {unknown[0]} is not known")
        if not closed and steps(e, here) > 1:
            raise Astray(f"{where}: a sum over steps is multiplied with another, or stands in one")
        far = max(far, reach(e, here))
    return far


def _known(text: Text) -> set[str]:
    """The names that a statement may read: what it introduces but theorems and lemmas, and those of the library."""
    proved = {s.words[1] for _, s in text.statement if s.words[0] in ("Lemma", "Theorem")}
    names = {new.name for new in introduced(text)} - proved
    return names | RESERVED


def walk(e: Any) -> Iterator[Term]:
    """All terms in a term, but the sizes of a type."""
    if isinstance(e, tuple) and e:
        if isinstance(e[0], str):
            yield e
        for part in e[:2] if e[0] == "typed" else e:
            yield from walk(part)


def _terms(text: Text, assumed: Premises) -> Iterator[tuple[str, Term, Mapping[str, Defined], str]]:
    """(name, term, what may be read there, part) of all that is evaluated."""
    for trail, s in text.statement:
        section = trail[-1] if trail else ""
        if section in ("Forward", "Backward", "Closed") and s.words[0] == "Definition":
            name, d = s.words[1], text.sections[section][s.words[1]]
            if not name.startswith("past_"):  # a choice, whose form the grammar gives
                yield name, d.body, d.before, "step" if name == "step_of" else section
    for name, kind in text.records["recursion"]:
        yield name, read(kind.rpartition("%N -> ")[2]), text.sections["Backward"], ""
    for name in ("formal_gradient", "gradient"):
        claim = text.claims.get(name, "")
        right = re.fullmatch(r".*? 0 0\) = (.*)|.*? 0 0\) \((.*)\)", claim)
        if right is None:
            raise Astray(f"the theorem {name} has another form")
        yield name, read(right[1] or right[2]), text.sections["Formal" if right[1] else "Real"], "gradient"
    for name, _, _, equation in theorems(text):
        yield name, equation, text.sections["Closed"], "Closed"
    for kink in assumed.kinks:
        yield kink.name, kink.argument, text.sections["Real"], ""


def _past_lets(e: Term, sizes: frozenset[str]) -> Term:
    """The values that a step names, and the state that it ends in, as one term."""
    values = []
    while e[0] == "let":
        if e[1] in sizes or e[1] == "T":
            raise Astray(f"step_of: {e[1]} gets another meaning")
        values.append(e[2])
        e = e[3]
    return ("apply", ("name", "State"), (*values, e))


def _form(where: str, e: Term, sizes: frozenset[str], closed: bool, summed: bool) -> None:
    """Refuse a sign that has no place."""
    match e:
        case ("function" | "let", *_):
            raise Astray(f"{where}: a name is bound within a formula")
        case ("binary", "^+", _, exponent) if exponent[0] != "number":
            raise Astray(f"{where}: an exponent is written out")
        case ("sum" | "product", lo, name, hi, _):
            if name in sizes or name == "T" or sizes & _names((lo, hi)):
                raise Astray(f"{where}: a sum runs over time alone, and binds no size")
            if not closed and (e[0] == "product" or not summed or (lo, hi) != ALL_STEPS):
                raise Astray(f"{where}: this sum has no place here")
        case ("name", "mxpow") if not closed:
            raise Astray(f"{where}: this power has no place here")
        case ("postfix", "%N", ("binary", "+" | "-" | "*", *_)) | ("successor", _, ("binary", *_)) \
                if not closed and not _names(e) <= sizes:
            raise Astray(f"{where}: a time is computed where none is")
        case ("successor", back, ("name", "T")) if back > 1 and not closed:
            raise Astray(f"{where}: a time is computed where none is")
        case ("apply", ("name", "sel"), (total, size, off)):
            left = expand(_size(total) - _size(size) - _size(off))
            if any(c < 0 for c in left.as_coefficients_dict().values()):
                raise Astray(f"{where}: the rows that are taken are not within what they are taken from")
        case ("binary", "*m", a, b) | ("pair", a, b) if not (_names(a) | _names(b)) - sizes - {"const_mx"} \
                and ("name", "const_mx") in [*walk(a)] and ("name", "const_mx") in [*walk(b)]:
            raise Astray(f"{where}: a size as a number has no place here")


def _names(e: object) -> set[str]:
    if not isinstance(e, tuple):
        return set()
    return {str(e[1])} if len(e) == 2 and e[0] == "name" else set().union(*map(_names, e))


def _size(e: Term) -> Expr:
    match e:
        case ("number", n):
            return Integer(n)
        case ("name", name):
            return Symbol(name)
        case ("postfix", "%N", inner):
            return _size(inner)
        case ("binary", "+", a, b):
            return _size(a) + _size(b)
        case ("binary", "*", a, b):
            return _size(a) * _size(b)
    raise NotRead(f"no size: {e}")


def steps(e: Any, here: Mapping[str, Defined], known: dict[int, int] | None = None) -> int:
    """The degree of a term in the number of steps, where sums over them are what grows with it."""
    known = {} if known is None else known
    if not isinstance(e, tuple) or not e:
        return 0
    match e:
        case ("name", name):
            d = here.get(name) if name not in GIVEN else None
            if d is None:
                return 0
            if id(d) not in known:
                known[id(d)] = 0
                known[id(d)] = steps(d.body, d.before, known)
            return known[id(d)]
        case ("sum", _, _, _, body):
            return 1 + steps(body, here, known)
        case ("binary", sign, a, b) if sign in FACTORS:
            return steps(a, here, known) + steps(b, here, known)
        case ("pair", a, b):
            return steps(a, here, known) + steps(b, here, known)
        case ("binary", "^+", base, _):
            return 2 * steps(base, here, known)
        case ("apply", _, arguments) if arguments != (("number", 0), ("number", 0)):
            return 2 * max(steps(a, here, known) for a in arguments)
    return max((steps(a, here, known) for a in e), default=0)


def reach(e: Any, here: Mapping[str, Defined], known: dict[int, int] | None = None) -> int:
    """How many steps away from its times a term may read, through definitions too; a bound from above."""
    known = {} if known is None else known
    if not isinstance(e, tuple) or not e:
        return 0
    match e:
        case ("number", n):
            return int(n)
        case ("name", name):
            d = here.get(name) if name not in GIVEN else None
            if d is None:
                return 0
            if id(d) not in known:
                known[id(d)] = 0
                known[id(d)] = reach(d.body, d.before, known)
            return known[id(d)]
        case ("postfix", "%:R" | "%:M", ("number", _)):
            return 0
        case ("binary", "^+", base, _):
            return reach(base, here, known)
        case ("successor", k, inner):
            return abs(int(k)) + reach(inner, here, known)
        case ("typed", inner, _):
            return reach(inner, here, known)
        case ("apply", ("name", "sel" | "const_mx"), _):
            return 0
        case ("apply", ("name", "at_lag"), (family, past, back, time)):
            return sum(reach(a, here, known) for a in (family, back, time)) + reach(past, here, known)
        case ("apply", head, arguments):
            return reach(head, here, known) + max(reach(a, here, known) for a in arguments)
    return max((reach(a, here, known) for a in e), default=0)
