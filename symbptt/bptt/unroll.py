"""Model and T to Graph. Nothing is ever substituted into anything else; every value keeps its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from sympy import Integer, MatrixSymbol
from sympy.core.basic import Basic
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.bptt.graph import Graph, check_graph
from symbptt.expr.index import Index, index, t
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.walk import free_indices, substitute
from symbptt.model.spec import Equation, Model

Instance: TypeAlias = Callable[[int], Matrix]


class Members(dict[tuple[MatrixSymbol, int], At]):
    """The member of a family at a time, each made once, so that looking one up compares identities."""

    def __missing__(self, key: tuple[MatrixSymbol, int]) -> At:
        self[key] = At(key[0], Index(key[1]))
        return self[key]


def instance(e: Matrix, members: Members) -> Instance:
    """The function s ↦ e[t := s], with what does not depend on t built once."""
    if t not in free_indices(e):
        return lambda s: e
    if type(e) is At:
        family, shift = e.family, (e.time - t).const
        return lambda s: members[family, s + shift]
    kind, parts = type(e), []
    for a in e.args:
        if t in free_indices(a) and not isinstance(a, MatrixExpr):
            return lambda s: substitute(e, {t: index(s)})
        parts.append(instance(a, members) if isinstance(a, MatrixExpr) else _constant(a))
    return lambda s: Basic.__new__(kind, *[part(s) for part in parts])


def _constant(a: Basic) -> Instance:
    return lambda s: a


def unroll(model: Model, steps: int) -> Graph:
    """The named equations of the model at times 1 … T, checked; linear in T in time and memory.

    Raises:
        ValueError: T is not a positive integer.
        GraphError: the result is not well formed.
    """
    if isinstance(steps, bool) or not isinstance(steps, int | Integer) or steps < 1:
        raise ValueError(f"T counts time steps and must be an integer ≥ 1, not {steps!r}")
    times, members = range(1, int(steps) + 1), Members()
    lines = [(e.left.family, instance(e.right, members)) for e in model.order]
    equations = (Equation(members[family, s], right(s)) for s in times for family, right in lines)
    terms = [(term, instance(term.loss, members)) for term in model.losses]
    losses = (replace(term, loss=loss(s)) for s in times for term, loss in terms
              if s == steps or term.reduce not in ("last", "once"))
    graph = Graph(model, int(steps), (*model.computed, *equations), tuple(losses))
    check_graph(graph)
    return graph
