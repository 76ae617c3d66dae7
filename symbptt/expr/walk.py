"""Visiting, and substitution that never captures a bound index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sympy import MatrixSymbol
from sympy.core.basic import Basic
from sympy.core.symbol import Str
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import NODES, At, Binder, Identity, Matrix, Node, Ones, Zero, is_scalar

NONE: frozenset[IndexVar] = frozenset()


def visit(e: Matrix) -> Iterator[Matrix]:
    """Every subexpression, the whole first, without recursion."""
    stack = [e]
    while stack:
        here = stack.pop()
        yield here
        if not isinstance(here, MatrixSymbol | At):
            stack.extend([a for a in reversed(here.args) if isinstance(a, MatrixExpr)])


def free_indices(e: Basic) -> frozenset[IndexVar]:
    """The index variables that occur free; remembered on the node. Sizes are no indices, whatever they are called.

    Raises:
        TypeError: a part of the expression is of no class of the vocabulary.
    """
    if isinstance(e, Node) and type(e) in NODES and hasattr(e, "_free"):
        return e._free
    if type(e) is Index and type(e.const) is int and all(type(v) is IndexVar and type(a) is int for v, a in e.terms):
        return frozenset([v for v, _ in e.terms]) if e.terms else NONE
    if isinstance(e, MatrixExpr | Index) and not ((type(e) is MatrixSymbol or type(e) in NODES) and _known(e)):
        raise TypeError(f"{e} is a {type(e).__name__} or has a part that is not of the vocabulary")
    if isinstance(e, Node):
        e._free = _free_in_node(e)
        return e._free
    return NONE if type(e) is MatrixSymbol else frozenset(s for s in e.free_symbols if isinstance(s, IndexVar))


def _known(e: Basic) -> bool:
    """Whether each part is of the vocabulary, a scalar or a name, as far as it is not an expression itself."""
    sizes = e.args[type(e) is MatrixSymbol:] if type(e) in (MatrixSymbol, Zero, Ones, Identity) else ()
    return all((a not in sizes and (isinstance(a, Node | MatrixSymbol | Index) or (
        type(a) is Str and type(a.name) is str))) or is_scalar(a) for a in e.args)


def _free_in_node(e: Node) -> frozenset[IndexVar]:
    if isinstance(e, Binder):
        return (free_indices(e.body) - free_indices(e.var)) | free_indices(e.lo) | free_indices(e.hi)
    found = [free for a in e._args if (free := free_indices(a))]
    return found[0].union(*found[1:]) if found and not isinstance(e, Zero | Ones | Identity) else NONE


def fresh(name: str, taken: frozenset[IndexVar]) -> IndexVar:
    """A variable called `name` or, if that is taken, the name with the fewest primes that is not."""
    var = IndexVar(name)
    return fresh(f"{name}'", taken) if var in taken else var


def substitute(e: Basic, rule: Mapping[IndexVar, Index]) -> Any:
    """Replace free index variables by index forms; bound ones are renamed where a form would be captured."""
    if type(e) is Index:
        return e.substitute(rule)
    if free_indices(e).isdisjoint(rule):
        return e
    if isinstance(e, Binder):
        return _under(e, rule)
    if isinstance(e, Node):
        return Basic.__new__(type(e), *[substitute(a, rule) for a in e._args])
    return e.xreplace({v: form.to_expr() for v, form in rule.items()})


def _under(e: Binder, rule: Mapping[IndexVar, Index]) -> Binder:
    body, var, lo, hi = e.body, e.var, e.lo.substitute(rule), e.hi.substitute(rule)
    inner = {v: form for v, form in rule.items() if v != var and v in free_indices(body)}
    taken = NONE.union(*map(free_indices, (lo, hi, *inner.values())))
    if var in taken:
        var = fresh(var.name, taken | free_indices(body))
        inner[e.var] = index(var)
    return type(e)(substitute(body, inner), var, lo, hi)
