"""Faults around the recursions: in what value_and_grad returns, in one adjoint, in windows, in buffers that are kept.

Each is planted into modules of every target that has the place, and the module's own check finds it.
"""

import os
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


@pytest.mark.parametrize("name", ["library elman-softmax", *slow("library linear", "file regularised")])
@pytest.mark.parametrize(("target", "lie"), [
    pytest.param(target, lie, marks=pytest.mark.slow if target == "jax" and lie != "one clipped" else ())
    for target in TARGETS for lie in RETURNED if (target, lie) != ("jax", "clipped by its norm")])
def test_what_value_and_grad_does_to_its_result_is_found(name: str, target: str, lie: str, passes) -> None:
    lines = RETURNED[lie].replace("W_hh", model(name).parameters[-1].name)
    assert not passes(wrapped(text(name, target), "value_and_grad", lines))


@pytest.mark.parametrize("target", [*TARGETS[:3], *slow("jax")])
def test_functions_in_front_that_change_nothing_are_no_fault(target: str, passes) -> None:
    source = wrapped(text("library elman", target), "value_and_grad", "return honest(*given, **named)")
    assert passes(wrapped(source.replace("honest", "graded"), "backward", "return honest(*given, **named)"))


@pytest.mark.parametrize(("target", "options"), [
    pytest.param(*case, marks=pytest.mark.slow if case[0] == "jax" else ()) for case in CASES], ids=str)
@pytest.mark.parametrize("name", ["library elman", *slow("library lstm")])
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
     '    if "seen" not in (buffers or {}):\n        h[0] = given["h_0"]\n    (buffers or {})["seen"] = 1\n'),
    ('dL_dx = np.empty((T, B, size["d"]), dtype)',
     'dL_dx, = _arrays(buffers, "dx", dtype, dL_dx=(T, B, size["d"]))'),
    ("W_hh_T = np.ascontiguousarray(W_hh.T)",
     'W_hh_T = np.ascontiguousarray(W_hh.T)\n    if buffers is not None:\n'
     '        W_hh_T = buffers.setdefault("W_hh_T", W_hh_T)'),
], ids=["the start of the call before", "a result in them", "a weight of the call before"])
def test_a_fault_in_kept_buffers_is_found(old: str, new: str, passes) -> None:
    assert not passes(planted(text("library elman", "numpy"), old, new))


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
