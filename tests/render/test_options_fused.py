"""Parameters of gates in one array: which go together, in which order, and that torch's own arrays can be handed in."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from symbptt.model.read import loads
from symbptt.program.options import OptionError, Options
from symbptt.program.packed import packs
from tests.render.asked import Asked
from tests.render.test_numpy_program import Network, fault, folder, model  # noqa: F401 - the fixture among them
from tests.render.test_options import FOLLOWED, agrees, pass_ruff_and_mypy, program, text  # noqa: F401 - the fixture

LSTM = "i,f,g,o"
ORDERS = {
    "library lstm": (LSTM, {"W_ifgo": ["W_i", "W_f", "W_g", "W_o"], "U_ifgo": ["U_i", "U_f", "U_g", "U_o"],
                            "b_ifgo": ["b_i", "b_f", "b_g", "b_o"]}),
    "library gru": ("z,r,n", {"W_zrn": ["W_z", "W_r", "W"], "U_zr": ["U_z", "U_r"]}),
    "library gru-reset-after": ("r,z,n", {"W_rzn": ["W_r", "W_z", "W_n"], "U_rzn": ["U_r", "U_z", "U_n"],
                                          "b_rzn": ["b_r", "b_z", "b_n"]}),
    "library lstm-coupled": ("g,o,i", {"W_goi": ["W_g", "W_o", "W_i"], "U_goi": ["U_g", "U_o", "U_i"],
                                       "b_goi": ["b_g", "b_o", "b_i"]}),
    "library lstm-peephole": ("o,g,f,i", {
        "W_ogfi": ["W_o", "W_g", "W_f", "W_i"], "U_ogfi": ["U_o", "U_g", "U_f", "U_i"],
        "v_fi": ["v_f", "v_i"], "b_ogfi": ["b_o", "b_g", "b_f", "b_i"]}),
}
"""Models with gates, an order, and what goes together, by hand."""

OTHERS = [{}, {"weights": "right"}, {"layout": "BTD", "weights": "right", "dtype": "float64"}]
CASES = [(name, others) if name == "library lstm" or (name.endswith("after") and not others) else
         pytest.param(name, others, marks=pytest.mark.slow) for name, others in itertools.product(ORDERS, OTHERS)]


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize(("name", "others"), CASES, ids=str)
def test_everything_agrees_with_the_equations_as_written(name: str, others: dict, target: str, program) -> None:  # noqa: F811
    order, packed = ORDERS[name]
    options = Options(fused=order, **others)
    module = program(name, target, options)
    assert {key: list(parts) for key, parts in module.PACKED.items()} == packed
    agrees(name, Asked(module, options, model(name), packed))
    assert module.check()


def test_without_an_order_it_is_that_of_the_model() -> None:
    assert [pack.name for pack in packs(model("library lstm"), ())] == ["W_ifog", "U_ifog", "b_ifog"]
    assert packs(model("library lstm"), None) == ()
    assert Options(fused=True) == Options(fused="") == Options(fused=()) != Options()
    assert Options(fused="i, f ,g,o") == Options(fused=["i", "f", "g", "o"])
    assert "with --fused. Edit" in " ".join(text("library lstm", "numpy", Options(fused=True)).split())


def test_the_head_names_the_order() -> None:
    for target in FOLLOWED:
        head = " ".join(text("library lstm", target, Options(fused=LSTM)).partition("import")[0].split())
        assert "W_ifgo holds W_i, W_f, W_g, W_o; U_ifgo holds U_i, U_f, U_g, U_o; b_ifgo holds" in head
        assert f"with --fused {LSTM}." in head


def test_where_the_order_is_the_loops_own_nothing_is_joined() -> None:
    fast = text("library lstm", "numpy", Options(fused="i,f,o,g"))
    assert 'U_i_U_f_U_o_U_g = given["U_ifog"]' in fast
    assert "concatenate([U_i" in text("library lstm", "numpy", Options(fused=LSTM))


CELL = """name = "cell"
[sizes]
d = "input"
h = "hidden"
[parameters]
A = "h, d"
B_ = "h, d"
C = "h, d"
U = "h, h"
u = "h"
v = "h"
w = "h"
[inputs]
x = "d"
[targets]
y = "h"
[states]
h = "h"
[equations]
{equations}
[[loss]]
term = "l(h, y)"
reduce = "mean"
"""


@pytest.mark.parametrize(("equations", "found"), [
    ('in_ = "A @ x + u"\nout = "tanh(B_ @ x + v)"\nh = "in_ * out + U @ h[t-1] + C @ x[t-1] + w"',
     {"A_B_": ["A", "B_"], "u_v": ["u", "v"]}),
    ('a = "A @ x + w * (B_ @ x)"\nb = "C @ x"\nh = "a + b + U @ h[t-1] + u + v"', {}),
    ('a = "A @ x + u"\nb = "A @ x + v + C @ x"\nh = "a + b + B_ @ x + U @ h[t-1] + w"',
     {"C_B_": ["C", "B_"], "v_w": ["v", "w"]}),
    ('a = "u * h[t-1] + A @ x"\nb = "w * h[t-1] + B_ @ x"\nh = "a * b + U @ h[t-1] + v + C @ x"',
     {"A_B__C": ["A", "B_", "C"], "u_w": ["u", "w"]}),
])
def test_what_goes_together_is_found_from_the_equations(equations: str, found: dict) -> None:
    made = loads(CELL.format(equations=equations))
    if not found:
        with pytest.raises(OptionError, match="--fused: no two equations of cell multiply one operand"):
            packs(made, ())
        return
    assert {pack.name: [str(p.name) for p in pack.parts] for pack in packs(made, ())} == found


def test_gates_with_long_names_are_kept_apart() -> None:
    source = CELL.replace("A =", "W_inn =").replace("B_ =", "W_out =").format(
        equations='inn = "W_inn @ x + u"\nout = "tanh(W_out @ x + v)"\nh = "inn * out + U @ h[t-1] + C @ x[t-1] + w"')
    assert [pack.name for pack in packs(loads(source), ("out", "inn"))] == ["W_out_inn", "v_u"]


@pytest.mark.parametrize("order", ["i,f", "i,f,f,g,o", "i,f,g,o,p", "x"])
def test_an_order_names_each_gate_once(order: str) -> None:
    with pytest.raises(OptionError, match=rf"--fused {order}: the gates of lstm are i, f, o, g; name each"):
        text("library lstm", "numpy", Options(fused=order))


@pytest.mark.parametrize("target", FOLLOWED)
def test_errors_name_the_array_that_is_handed_in(target: str, program) -> None:  # noqa: F811
    network, module = Network(model("library lstm")), program("library lstm", target, Options(fused=LSTM))
    packed = ORDERS["library lstm"][1]
    given = {name: np.concatenate([network.params[p] for p in parts]) for name, parts in packed.items()}
    given |= {k: network.params[k] for k in ("W_p", "b_p")}
    fault(lambda: module.value_and_grad(network.params, network.data, network.loss), 'params["W_ifgo"]', "(4*h, d)")
    fault(lambda: module.value_and_grad({**given, "b_ifgo": given["b_ifgo"][1:]}, network.data, network.loss),
          'params["b_ifgo"]', "(15,)", "(4*h) = (16,)")


@pytest.mark.parametrize(("old", "new"), [('("W_i", "W_f", "W_g", "W_o")', '("W_i", "W_g", "W_f", "W_o")'),
                                          ("[dU_i, dU_f, dU_g, dU_o]", "[dU_f, dU_i, dU_g, dU_o]"),
                                          ("np.split(given[name]", "np.split(2 * given[name]")])
def test_a_fault_in_the_packing_is_found_by_the_module(old: str, new: str, program) -> None:  # noqa: F811
    options = Options(fused=LSTM)
    source = text("library lstm", "numpy-textbook", options)
    assert source.count(old) == 1
    assert not program("library lstm", "numpy-textbook", options, source.replace(old, new)).check()


def test_modules_pass_ruff_and_mypy_as_they_stand(tmp_path: Path) -> None:
    for k, (name, target) in enumerate(itertools.product(("library lstm", "library gru"), FOLLOWED)):
        options = Options(fused=ORDERS[name][0], weights="right", layout="BTD", dtype="float32")
        (tmp_path / f"m{k}.py").write_text(text(name, target, options), encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)


@pytest.mark.parametrize("target", FOLLOWED)
def test_arrays_of_torch_can_be_handed_in(target: str, program) -> None:  # noqa: F811
    """The module of an LSTM takes the arrays of torch.nn.LSTM, sequences first, and gives the gradients of torch."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    cell = torch.nn.LSTM(3, 4, batch_first=True, dtype=torch.float64)
    head = torch.nn.Linear(4, 5, dtype=torch.float64)
    x, y = (torch.randn(2, 6, n, dtype=torch.float64, requires_grad=n == 3) for n in (3, 5))
    h, c = (torch.randn(1, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    right = ((head(cell(x, (h, c))[0]) - y) ** 2).sum(dim=-1).mean(dim=1).sum() / 2
    right.backward()
    named = dict(cell.named_parameters())
    params = {"W_ifgo": named["weight_ih_l0"], "U_ifgo": named["weight_hh_l0"], "W_p": head.weight, "b_p": head.bias,
              "b_ifgo": named["bias_ih_l0"] + named["bias_hh_l0"]}
    module = program("library lstm", target, Options(fused=LSTM, layout="BTD"))
    data = {"x": x, "y": y, "h_0": h[0], "c_0": c[0]}
    L, grads = module.value_and_grad({k: v.detach().numpy() for k, v in params.items()},
                                     {k: v.detach().numpy() for k, v in data.items()},
                                     lambda p, y: (((p - y) ** 2).sum(-1) / 2, p - y))
    assert abs(L - float(right.detach())) < 1e-12 * abs(L)
    for key, there in {"W_ifgo": named["weight_ih_l0"], "U_ifgo": named["weight_hh_l0"], "W_p": head.weight, "x": x,
                       "b_ifgo": named["bias_ih_l0"], "b_p": head.bias, "h_0": h, "c_0": c}.items():
        expected = there.grad.numpy()
        np.testing.assert_allclose(grads[key], expected[0] if key.endswith("_0") else expected, rtol=1e-9, atol=1e-13)
