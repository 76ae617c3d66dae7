"""Planted ill-formed graphs are refused."""

from dataclasses import replace

import pytest

from symbptt.bptt.graph import GraphError, check_graph
from symbptt.bptt.unroll import unroll
from symbptt.expr.build import loss
from symbptt.expr.index import Index
from symbptt.expr.nodes import At, Transpose
from symbptt.model.spec import Equation, LossTerm


def planted(graph, *equations):
    return replace(graph, equations=tuple(equations))


def test_a_good_graph_passes(model) -> None:
    check_graph(unroll(model, 3))


def test_bound_twice(named) -> None:
    graph = unroll(named("linear"), 2)
    with pytest.raises(GraphError, match="bound twice"):
        check_graph(planted(graph, *graph.equations, graph.equations[0]))


def test_an_input_is_not_bound_again(named) -> None:
    graph = unroll(named("linear"), 2)
    x = At(graph.model.families["x"], 1)
    with pytest.raises(GraphError, match=r"x\[1\] is bound twice"):
        check_graph(planted(graph, Equation(x, x), *graph.equations))


def test_used_before_bound(named) -> None:
    graph = unroll(named("linear"), 2)
    with pytest.raises(GraphError, match="before it is bound"):
        check_graph(planted(graph, *reversed(graph.equations)))


def test_an_equation_is_missing(named) -> None:
    graph = unroll(named("linear"), 2)
    with pytest.raises(GraphError, match="before it is bound"):
        check_graph(planted(graph, *graph.equations[1:]))


def test_an_equation_that_uses_itself(named) -> None:
    graph = unroll(named("linear"), 1)
    o = graph.equations[1].left
    with pytest.raises(GraphError, match="before it is bound"):
        check_graph(planted(graph, graph.equations[0], Equation(o, o)))


def test_the_shapes_clash(named) -> None:
    graph = unroll(named("linear"), 1)
    first, second = graph.equations
    with pytest.raises(GraphError, match="has shape"):
        check_graph(planted(graph, first, Equation(second.left, Transpose(second.right))))


def test_data_beyond_the_last_step(named) -> None:
    graph = unroll(named("linear"), 2)
    late = LossTerm(loss("l", At(graph.model.families["o"], Index(3)), At(graph.model.families["y"], Index(3))))
    with pytest.raises(GraphError, match="before it is bound"):
        check_graph(replace(graph, losses=(*graph.losses, late)))
