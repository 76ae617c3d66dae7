import ast
import keyword

from symbptt.derive import derive
from symbptt.model.read import load, loads
from symbptt.program.carry import carried, functions
from symbptt.program.names import UNAVAILABLE, Names
from symbptt.render.targets import render

AWKWARD = """
name = "awkward"
[sizes]
B = ""
T_k = ""
[parameters]
B = "B, B"
dL_dh = "B, B"
np = "B, T_k"
[constants]
print = ""
[inputs]
data = "T_k"
[states]
h = "B"
[equations]
h = "B @ h[t-1] + dL_dh @ h[t-1] + print*(np @ data)"
[[loss]]
term = "l(h)"
"""


def test_the_field_names_stay() -> None:
    names = Names(derive(load("linear")))
    assert [names.own(n) for n in ("W_hx", "h", "x", "o")] == ["W_hx", "h", "x", "o"]
    assert (names.adjoint("h"), names.gradient("W_hh"), names.gradient("h_0"), names.direct("o"), names.batch) == (
        "dL_dh", "dW_hh", "dh_0", "direct_o", "B")


def test_no_name_is_given_twice_or_belongs_to_python() -> None:
    names = Names(derive(loads(AWKWARD)))
    given = list(names._given.values())
    assert len(set(given)) == len(given)
    assert not set(given) & UNAVAILABLE
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in given)
    assert (names.own("B"), names.batch, names.own("np"), names.own("print")) == ("B", "batch", "np_", "print_")
    assert (names.own("dL_dh"), names.adjoint("h")) == ("dL_dh", "dL_dh_")


def test_functions_bring_those_that_they_call() -> None:
    brought = [source.split("(")[0] for source in carried("y = _stacks(a)")]
    assert brought == ["def _stacks", "def _array", "def _require_numbers", "def _expect", "def _missing",
                       "def _require_among", "def _require_dict"]
    assert carried("y = 1") == []
    assert {"forward", "unrolled", "_objective", "_sizes", "_shapes"}.isdisjoint(functions())


def test_whatever_a_module_calls_at_its_top_is_no_name_of_a_model() -> None:
    """A model's own STATES or check must not hide what the module needs."""
    for name in ("linear", "lstm", "elman-softmax"):
        tree = ast.parse(render(derive(load(name)), "numpy"))
        stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                  and node.col_offset == 0}
        stored |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert {"STATES", "DIRECT", "check"} <= stored
        assert {s for s in stored if not s.startswith("_")} <= UNAVAILABLE
