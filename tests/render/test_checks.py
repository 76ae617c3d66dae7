"""Faults around the recursions: in what value_and_grad returns, in one adjoint, in windows, in buffers that are kept.

Each is planted into modules of every target that has the place, and the module's own check finds it.
"""

import os
import re
from functools import cache

import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")

from symbptt.api import derive, loads
from symbptt.program.options import PLAIN, Options
from symbptt.render.targets import programs, render
from tests.render.faces import hardly_optimised
from tests.render.test_numpy_program import derivation, folder, imported, model, slow  # noqa: F401 - the fixture

TARGETS = ["numpy", "numpy-textbook", "torch", "jax"]
TRUNCATED = Options(truncate=2)
CASES = [("numpy", PLAIN), ("numpy-textbook", PLAIN), ("torch", PLAIN), ("jax", PLAIN), ("numpy", TRUNCATED),
         ("numpy-textbook", TRUNCATED)]


@cache
def text(name: str, target: str, options: Options = PLAIN) -> str:
    return render(derivation(name), target, options=options)


@pytest.fixture
def passes(folder):  # noqa: F811 - the fixture
    def checked(source: str) -> bool:
        path = folder / "planted.py"
        path.write_text(source, encoding="utf-8")
        with hardly_optimised():
            return imported(path).check()
    return checked


def planted(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1, old
    return source.replace(old, new)


def wrapped(source: str, function: str, lines: str) -> str:
    """The module with another function in front of one of its own, which is called `honest`."""
    arguments = "*given, **named"
    own = planted(source, f"def {function}(\n    params", "def honest(\n    params").replace("@torch.no_grad()\n", "")
    body = "\n".join(f"    {line}" for line in lines.splitlines())
    return planted(own, "\n\nif __name__ ==", f"\n\ndef {function}({arguments}):\n{body}\n\n\nif __name__ ==")


RETURNED = {
    "scaled": "L, grads = honest(*given, **named)\nreturn L, {name: 1.0001 * g for name, g in grads.items()}",
    "clipped at 100": "L, grads = honest(*given, **named)\n"
                      "return L, {name: g.clip(-100, 100) for name, g in grads.items()}",
    "one clipped": "L, grads = honest(*given, **named)\n"
                   "return L, {name: g.clip(-100, 100) if name == 'W_hh' else g for name, g in grads.items()}",
    "clipped by its norm": "L, grads = honest(*given, **named)\n"
                           "norm = sum((g * g).sum() for g in grads.values()) ** 0.5\n"
                           "return L, grads if norm < 1000 else {name: 1000 / norm * g for name, g in grads.items()}",
}


@pytest.mark.parametrize(("name", "target", "lie"), [
    *(pytest.param("library elman-softmax", target, lie,
                   marks=pytest.mark.slow if target == "jax" and lie != "one clipped" else ())
      for target in TARGETS for lie in RETURNED if (target, lie) != ("jax", "clipped by its norm")),
    *(pytest.param(name, target, lie, marks=pytest.mark.slow)
      for name in ("library linear", "file regularised") for target in TARGETS[:3] for lie in RETURNED)])
def test_what_value_and_grad_does_to_its_result_is_found(name: str, target: str, lie: str, passes) -> None:
    lines = RETURNED[lie].replace("W_hh", model(name).parameters[-1].name)
    assert not passes(wrapped(text(name, target), "value_and_grad", lines))


@pytest.mark.parametrize("target", [*TARGETS[:3], *slow("jax")])
def test_functions_in_front_that_change_nothing_are_no_fault(target: str, passes) -> None:
    source = wrapped(text("library elman", target), "value_and_grad", "return honest(*given, **named)")
    assert passes(wrapped(source.replace("honest", "graded"), "backward", "return honest(*given, **named)"))


@pytest.mark.parametrize(("name", "target", "options"), [
    *(pytest.param("library elman", *case, marks=pytest.mark.slow if case[0] == "jax" else ()) for case in CASES),
    *(pytest.param("library lstm", *case, marks=pytest.mark.slow) for case in CASES[:3])], ids=str)
def test_every_wrong_adjoint_is_found(name: str, target: str, options: Options, passes) -> None:
    for family in model(name).defined:
        for wrong in ("stack + 1e-6",) if target == "jax" else ("2 * stack", "stack + 1e-6", "-stack"):
            lines = (f"grads, adjoints = honest(*given, **named)\nstack = adjoints['{family}']\n"
                     f"return grads, {{**adjoints, '{family}': {wrong}}}")
            assert not passes(wrapped(text(name, target, options), "backward", lines)), (family, wrong)


@pytest.mark.parametrize("target", ["numpy", "numpy-textbook"])
@pytest.mark.parametrize(("old", "new"), [
    ("K = min(TRUNCATE, T)", "K = min(4 if TRUNCATE == 3 else TRUNCATE, T)"),
    ("K = min(TRUNCATE, T)", "K = min(max(TRUNCATE, T), T)"),
    ("K = min(TRUNCATE, T)", "K = min(TRUNCATE, T, 2)"),
    ("K = min(TRUNCATE, T)", "K = T - 1 if TRUNCATE > T > 1 else min(TRUNCATE, T)"),
    ("beside = max(1, T // K)", "beside = max(1, T // K)\n    T -= K == 3"),
], ids=["three", "all", "two", "more than T", "a window left out"])
def test_a_wrong_window_is_found(target: str, old: str, new: str, passes) -> None:
    assert not passes(planted(text("library elman", target, TRUNCATED), old, new))


@pytest.mark.parametrize(("old", "new"), [
    ('    h[0] = given["h_0"]\n',
     '    if "seen" not in (buffers or {}):\n        h[0] = given["h_0"]\n    (buffers or {})["seen"] = (1, [])\n'),
    ('dL_dx = np.empty((T, B, size["d"]), dtype)',
     'dL_dx, = _arrays(buffers, "dx", dtype, dL_dx=(T, B, size["d"]))'),
    ("W_hh_T = np.ascontiguousarray(W_hh.T)",
     'W_hh_T = np.ascontiguousarray(W_hh.T)\n    if buffers is not None:\n'
     '        W_hh_T, _ = buffers.setdefault("W_hh_T", (W_hh_T, []))'),
], ids=["the start of the call before", "a result in them", "a weight of the call before"])
def test_a_fault_in_kept_buffers_is_found(old: str, new: str, passes) -> None:
    assert not passes(planted(text("library elman", "numpy"), old, new))


@pytest.mark.parametrize("line", ["    dL_dc[T :] = 0\n", "    delta_i_f_o_g[T :] = 0\n", "    i_f_o[T :] = 0\n"])
def test_zeros_behind_the_last_step_that_are_not_written_are_found(line: str, passes) -> None:
    """Some are multiplied by zeros, so that only what is no number shows through."""
    assert not passes(planted(text("library lstm", "numpy"), line, ""))


@pytest.mark.parametrize(("name", "old", "new"), [
    ("library elman", "for last in range(T, 0, -block):", "for last in range(T, 0, -block - 1):"),
    ("library elman", "for last in range(T, 0, -block):", "for last in range(T, T - 1, -block):"),
    ("library lstm", "f_part = f_rows[part]", "f_part = f_rows[: (last - first) * B]"),
    ("library linear", "for k in range(1, len(begins)):", "for k in range(1, min(2, len(begins))):"),
    ("library linear", "stack.dtype), c)\n", "stack.dtype), 2)\n"),
    ("library linear", "np.dot(begins[k - 1], power", "np.dot(begins[0], power"),
], ids=["a step between blocks", "one block", "the first block's rows", "two chunks", "chunks of two", "one beginning"])
def test_a_fault_behind_the_first_block_or_chunk_is_found(name: str, old: str, new: str, passes) -> None:
    assert not passes(planted(text(name, "numpy"), old, new))


@pytest.mark.parametrize("bound", [5, 50])
@pytest.mark.parametrize(("target", "name", "old", "new"), [
    ("torch", "library lstm", "dL_dc_after = dL_dc_t\n", "dL_dc_after = dL_dc_t.clamp(-{0}, {0})\n"),
    ("torch", "library elman", "delta_h_after = delta_h_t\n", "delta_h_after = delta_h_t.clamp(-{0}, {0})\n"),
    pytest.param("jax", "library lstm", "delta_g_t, dL_dc_t), (", "delta_g_t, jnp.clip(dL_dc_t, -{0}, {0})), (",
                 marks=pytest.mark.slow),
    ("numpy", "library lstm", "dc_0 = f[0] * dL_dc[0]", "dc_0 = np.clip(f[0] * dL_dc[0], -{0}, {0})"),
    ("numpy", "library elman", "dL_dh_t += work\n",
     "dL_dh_t += work\n            np.clip(dL_dh_t, -{0}, {0}, out=dL_dh_t)\n"),
], ids=["c", "delta_h", "c, jax", "c_0", "h, numpy"])
def test_what_is_clipped_on_the_way_is_found(target: str, name: str, old: str, new: str, bound: float, passes) -> None:
    assert not passes(planted(text(name, target), old, new.format(bound)))


@pytest.mark.parametrize("target", [*TARGETS[:3], *slow("jax")])
def test_what_is_sent_to_padding_is_left_out(target: str, passes) -> None:
    source = derive(model("library gru")).to_code(target, mask="m")
    lines = [line for line in source.splitlines(keepends=True) if "direct = _without_padding(" in line]
    assert lines
    for line in lines:
        source = source.replace(line, "")
    assert not passes(source)


def test_every_target_is_tried() -> None:
    assert set(TARGETS) == set(programs())


OVERFLOWS = """
name = "overflows"
[sizes]
d = "input"
h = "hidden"
[parameters]
W = "h, d"
U = "h, h"
[inputs]
x = "d"
[targets]
y = "h"
[states]
h = "h"
[equations]
h = "exp(exp(exp(U @ h[t-1] + W @ x)))"
[[loss]]
term = "squared_error(h, y)"
"""


@pytest.mark.parametrize("target", [*TARGETS[:3], *slow("jax")])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_network_that_overflows_is_not_called_wrong(target: str, passes, capsys) -> None:
    assert not passes(derive(loads(OVERFLOWS)).to_code(target))
    said = capsys.readouterr().out
    assert "not finite" in said
    assert "WRONG" not in said
    assert said.endswith("not all gradients agree\n")


@pytest.mark.parametrize(("target", "old", "new"), [
    ("numpy", "dL_dh_t += work\n", "dL_dh_t += work * (t % 6 != 0)\n"),
    ("numpy-textbook", "dL_dh[t + 1]) @ W_hh + dL_do", "dL_dh[t + 1]) @ W_hh * (t % 6 != 0) + dL_do"),
    ("torch", "delta_h_after = delta_h_t\n", "delta_h_after = delta_h_t * (len(dL_dh_steps) % 6 != 0)\n"),
    pytest.param("jax", 'dL_dh_rest_rows.reshape(T, B, size["h"])',
                 'dL_dh_rest_rows.reshape(T, B, size["h"]) * (jnp.arange(T) % 6 != 5)[:, None, None]',
                 marks=pytest.mark.slow),
], ids=lambda value: value if value in TARGETS else "")
def test_a_path_that_is_cut_after_six_steps_is_found(target: str, old: str, new: str, passes, capsys) -> None:
    assert not passes(planted(text("library elman", target), old, new))
    wrong = [line for line in capsys.readouterr().out.splitlines() if "WRONG" in line]
    assert len(wrong) == 1
    assert "slope of L along one direction" in wrong[0]


RECTIFIED = """
name = "rectified"
[sizes]
d = "input"
h = "hidden"
[parameters]
W = "h, d"
U = "h, h"
V = "h, h"
[inputs]
x = "d"
[targets]
y = "h"
[states]
h = "h"
[equations]
g = "sigmoid(W @ x)"
r = "relu(V @ g)"
h = "tanh(U @ h[t-1] + r)"
[[loss]]
term = "squared_error(h, y)"
"""


@pytest.mark.parametrize("target", [*TARGETS[:3], *slow("jax")])
def test_a_slope_that_forgets_the_sign_of_an_inner_layer_is_found(target: str, passes) -> None:
    source = derive(loads(RECTIFIED)).to_code(target)
    wrong = re.sub(r"(?<!def )_step\((r\w*(?:\[t\])?)\)", r"(_step(\1) * 0 + 1)", source)
    assert wrong != source
    assert passes(source)
    assert not passes(wrong)


@pytest.mark.parametrize("target", [*TARGETS[:3], *slow("jax")])
@pytest.mark.parametrize(("function", "lines"), [
    ("backward", "grads, adjoints = honest(*given, **named)\nadjoints.pop('h')\nreturn grads, adjoints"),
    ("backward", "grads, adjoints = honest(*given, **named)\ngrads.pop('x', None)\nreturn grads, adjoints"),
    ("value_and_grad", "L, grads = honest(*given, **named)\ngrads.pop('x')\nreturn L, grads"),
], ids=["an adjoint", "a gradient of backward", "a gradient"])
def test_what_is_missing_is_said(target: str, function: str, lines: str, passes, capsys) -> None:
    assert not passes(wrapped(text("library elman", target), function, lines))
    said = capsys.readouterr().out
    assert "is missing: WRONG" in said
    assert said.endswith("not all gradients agree\n")


@pytest.mark.parametrize("line", ['states["h"].mul_(0.5)', 'params["W_hh"].mul_(0.5)', 'given["x"].mul_(0.5)'])
def test_what_torch_changes_in_place_is_found_without_a_traceback(line: str, passes, capsys) -> None:
    head = re.search(r"def _backward\(.*?of all of them.\"\"\"\n", text("library elman", "torch"), re.DOTALL)
    assert head is not None
    assert not passes(planted(text("library elman", "torch"), head.group(), f"{head.group()}    {line}\n"))
    said = capsys.readouterr().out
    assert "was changed: WRONG" in said
    assert said.endswith("not all gradients agree\n")


def test_an_update_behind_the_gradients_of_outputs_is_found(passes, capsys) -> None:
    line = "        return None, None, *cast\n"
    update = "        for p in params.values():\n            p.data.sub_(0.01 * p.data)\n"
    assert not passes(planted(text("library elman", "torch"), line, update + line))
    assert "W_hh was changed: WRONG" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["numpy", "numpy-textbook"])
@pytest.mark.parametrize("changed", ["given[1]['x']", "given[0]['W_hh']", "given[2]['h']", "given[3]['o']"])
def test_what_numpy_changes_behind_its_result_is_found(target: str, changed: str, passes, capsys) -> None:
    lines = f"found = honest(*given, **named)\n{changed}[...] *= 1 + 1e-15\nreturn found"
    assert not passes(wrapped(text("library elman", target), "backward", lines))
    assert "was changed: WRONG" in capsys.readouterr().out
