"""Graph: the named equations of an unrolled model in an order in which each uses only earlier ones, and its check."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import MatrixSymbol

from symbptt.expr.nodes import At, Matrix
from symbptt.expr.shape import shape_text
from symbptt.expr.walk import visit
from symbptt.model.spec import Equation, LossTerm, Model


class GraphError(ValueError):
    """A graph is not well formed."""


@dataclass(frozen=True)
class Graph:
    """A model unrolled over `steps` time steps; `losses` holds the loss terms of every step, in time order."""

    model: Model
    steps: int
    equations: tuple[Equation, ...]
    losses: tuple[LossTerm, ...]


def check_graph(graph: Graph) -> None:
    """Bound once, used after bound, shapes agree.

    Raises:
        GraphError: one of these fails.
    """
    given = _given(graph)
    bound: set[Matrix] = set()
    for left, right in graph.equations:
        _used(right, bound, given, left)
        if left in bound or left in given:
            raise GraphError(f"{left} is bound twice")
        if left.shape != right.shape:
            raise GraphError(f"{left} has shape {shape_text(left.shape)}, its equation {shape_text(right.shape)}")
        bound.add(left)
    for term in graph.losses:
        _used(term.loss, bound, given, term.loss)


def _given(graph: Graph) -> set[Matrix]:
    model = graph.model
    data = (At(v, s) for v in (*model.inputs, *model.targets) for s in range(1, graph.steps + 1))
    return {*model.parameters, *model.initial, *data}


def _used(tree: Matrix, bound: set[Matrix], given: set[Matrix], where: Matrix) -> None:
    for node in visit(tree):
        if (type(node) is At or isinstance(node, MatrixSymbol)) and node not in bound and node not in given:
            raise GraphError(f"{where} uses {node} before it is bound")
