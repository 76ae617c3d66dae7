"""The unrolled graph: every equation at every step, each value bound once and used after it is bound."""

import pytest

from symbptt.bptt.graph import GraphError
from symbptt.bptt.unroll import unroll
from symbptt.expr.index import Index, index, t
from symbptt.expr.nodes import At
from symbptt.expr.walk import substitute, visit


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_unrolled_equations_are_the_instances_of_the_model(model, steps) -> None:
    graph = unroll(model, steps)
    wanted = {(substitute(e.left, {t: Index(s)}), substitute(e.right, {t: Index(s)}))
              for e in model.equations for s in range(1, steps + 1)} | set(model.computed)
    assert {(left, right) for left, right in graph.equations} == wanted
    assert len(graph.equations) == len(wanted)
    assert len(graph.losses) == sum(steps if q.reduce in ("mean", "sum") else 1 for q in model.losses)


def test_each_value_is_bound_before_it_is_used(model) -> None:
    graph = unroll(model, 4)
    bound = set()
    for left, right in graph.equations:
        for node in visit(right):
            if isinstance(node, At) and node.family.name in model.defined and node.time.const >= 1:
                assert node in bound
        assert left not in bound
        bound.add(left)


def test_all_times_are_numbers(model) -> None:
    for left, right in unroll(model, 3).equations:
        assert not any(isinstance(n, At) and n.time.terms for n in (*visit(left), *visit(right)))


@pytest.mark.parametrize("steps", [0, -1, True, 2.0, "3", None])
def test_steps_must_be_a_whole_positive_number(named, steps) -> None:
    with pytest.raises(ValueError, match="counts time steps"):
        unroll(named("linear"), steps)


def test_what_depends_on_no_time_is_built_once(named) -> None:
    graph = unroll(named("transposed_weight"), 3)
    transposes = {id(n) for _, right in graph.equations for n in visit(right) if type(n).__name__ == "Transpose"}
    assert len(transposes) == 1


def test_shapes_agree(model) -> None:
    for left, right in unroll(model, 2).equations:
        assert left.shape == right.shape


def test_a_symbolic_time_is_never_left(named) -> None:
    assert index(t) not in {n.time for e in unroll(named("lag_two"), 2).equations for n in visit(e.right)
                            if isinstance(n, At)}


def test_graph_error_is_a_value_error() -> None:
    assert issubclass(GraphError, ValueError)
