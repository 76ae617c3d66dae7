"""Graph: the named equations of an unrolled model in an order in which each uses only earlier ones, and its check."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import MatrixSymbol
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.nodes import At, Matrix
from symbptt.expr.shape import shape_text
from symbptt.model.spec import Equation, LossTerm, Model


class GraphError(ValueError):
    """A graph is not well formed."""


@dataclass(frozen=True)
class Graph:
    """A model unrolled over `steps` time steps; `losses` holds the loss terms of every step, in time order.

    The equations of values before the first step come first.
    """

    model: Model
    steps: int
    equations: tuple[Equation, ...]
    losses: tuple[LossTerm, ...]


def check_graph(graph: Graph) -> None:
    """Bound once, used after bound, shapes agree.

    Raises:
        GraphError: one of these fails.
    """
    model = graph.model
    given: set[Matrix] = {*model.parameters, *model.static, *model.given}
    data = dict.fromkeys((*model.inputs, *model.targets), graph.steps)
    bound: set[Matrix] = set()
    for left, right in graph.equations:
        _used(right, bound, given, data, left)
        if left in bound or left in given or left.family in data:
            raise GraphError(f"{left} is bound twice")
        if left.shape != right.shape:
            raise GraphError(f"{left} has shape {shape_text(left.shape)}, its equation {shape_text(right.shape)}")
        bound.add(left)
    for term in graph.losses:
        _used(term.loss, bound, given, data, term.loss)


def _used(tree: Matrix, bound: set[Matrix], given: set[Matrix], data: dict[MatrixSymbol, int], where: Matrix) -> None:
    stack = [tree]
    while stack:
        node = stack.pop()
        if type(node) is not At and type(node) is not MatrixSymbol:
            stack += [a for a in node.args if isinstance(a, MatrixExpr)]
        elif node not in bound and node not in given and not _is_data(node, data):
            raise GraphError(f"{where} uses {node} before it is bound")


def _is_data(node: Matrix, data: dict[MatrixSymbol, int]) -> bool:
    """Whether it is an input or a target at a time from 1 to the last that there is."""
    return type(node) is At and not node.time.terms and 1 <= node.time.const <= data.get(node.family, 0)
