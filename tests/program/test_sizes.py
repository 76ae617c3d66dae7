import pytest

from symbptt.derive import derive
from symbptt.model.read import load, loads
from symbptt.program.names import Names
from symbptt.program.sizes import sources, variables

MODEL = """
name = "compound"
[sizes]
d = ""
h = ""
[parameters]
W = "{}"
[inputs]
x = "{}"
[equations]
o = "W @ x"
[[loss]]
term = "l(o)"
"""


def found(model):
    return [(s.size, s.key, s.axis, str(s.minus), s.over)
            for s in sources(variables(model, Names(derive(model))), model)]


def test_sizes_are_read_where_they_stand_alone() -> None:
    assert found(load("linear")) == [("d", "W_hx", 1, "0", 1), ("h", "W_hx", 0, "0", 1), ("q", "W_qh", 0, "0", 1)]


def test_a_size_inside_a_sum_is_solved_for() -> None:
    assert found(loads(MODEL.format("4*h, h + d", "h + d"))) == [("h", "W", 0, "0", 4), ("d", "W", 1, "h", 1)]


def test_a_size_that_no_shape_determines_is_refused() -> None:
    with pytest.raises(ValueError, match="do not determine the size d"):
        found(loads(MODEL.format("h + d, h + d", "h + d")))


def test_variables_have_their_axes() -> None:
    model = load("linear")
    assert [(v.key, v.group, tuple(map(str, v.axes))) for v in variables(model, Names(derive(model)))] == [
        ("W_hx", "params", ("h", "d")), ("W_hh", "params", ("h", "h")), ("W_qh", "params", ("q", "h")),
        ("x", "data", ("T", "B", "d")), ("y", "data", ("T", "B", "1")), ("h_0", "data", ("B", "h"))]
