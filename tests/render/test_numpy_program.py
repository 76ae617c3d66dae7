"""Generated modules: written to a file, imported, compared with a second truth, and refused when they are wrong."""

import importlib.util
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from symbptt.derive import derive
from symbptt.model.read import load, loads
from symbptt.render.numpy_program import numpy_program

ROOT = Path(__file__).resolve().parents[2]
EXACT = 1e-12


def imported(path: Path) -> ModuleType:
    """A module from its file; the folders of tests are no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NETWORKS = imported(ROOT / "tests" / "program" / "networks.py").NETWORKS
Network = imported(ROOT / "tests" / "program" / "interpreter.py").Network
FILES = {f"file {p.stem}": p for p in sorted((ROOT / "tests" / "data" / "models").glob("*.toml"))}
MODELS = [*NETWORKS, *FILES]


@cache
def model(name: str):
    return load(FILES[name]) if name in FILES else loads(NETWORKS[name])


@cache
def derivation(name: str):
    return derive(model(name))


@cache
def text(name: str) -> str:
    return numpy_program(derivation(name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture
def program(folder: Path):
    def build(name: str, source: str | None = None) -> ModuleType:
        path = folder / f"{re.sub(r'[^a-z0-9]', '_', name)}.py"
        path.write_text(source if source is not None else text(name), encoding="utf-8")
        return imported(path)
    return build


def error(found, right) -> float:
    assert np.shape(found) == np.shape(right)
    apart = np.max(np.abs(found - right))
    return float(apart / (np.max(np.abs(right)) or 1.0))


@pytest.mark.parametrize("T", [5, pytest.param(2, marks=pytest.mark.slow), 1])
@pytest.mark.parametrize("name", MODELS)
def test_every_gradient_agrees_with_the_equations_as_written(name: str, T: int, program) -> None:
    network, module = Network(model(name), T), program(name)
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    assert error(L, network.objective(network.params, network.data)) < EXACT
    assert grads.keys() == network.expected
    for key, gradient in grads.items():
        assert error(gradient, network.derivative(key)) < EXACT, key


@pytest.mark.parametrize("name", MODELS)
def test_forward_gives_the_states(name: str, program) -> None:
    network = Network(model(name))
    states = program(name).forward(network.params, network.data)
    assert list(states) == list(network.model.defined)
    env = network.states(network.params, network.data)
    for family, stack in states.items():
        for t, step in enumerate(stack, start=1):
            for b, row in enumerate(step):
                np.testing.assert_allclose(row, env[family, t, b][:, 0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_adjoints_are_total_and_the_closed_form_gives_the_same(name: str, program) -> None:
    network, module = Network(model(name)), program(name)
    direct, states = network.direct(network.params, network.data), module.forward(network.params, network.data)
    grads, adjoints = module.backward(network.params, network.data, states, direct)
    assert grads.keys() == network.expected
    assert adjoints.keys() == network.model.defined.keys()
    for family, stack in adjoints.items():
        assert error(stack, network.adjoint(family)) < EXACT, family
    recurs = derivation(name).closed is not None
    closed = module.hidden_gradients_closed_form(network.params, network.data, direct, states)
    assert bool(closed) == recurs
    for family, stack in closed.items():
        assert error(stack, adjoints[family]) < EXACT, family


@pytest.mark.parametrize("name", MODELS)
def test_a_module_checks_itself(name: str, program, capsys: pytest.CaptureFixture[str]) -> None:
    assert program(name).check()
    said = capsys.readouterr().out
    network = Network(model(name))
    for key in network.expected:
        assert f"dL/d{key} " in said
    assert "WRONG" not in said


def test_run_as_a_program_it_needs_numpy_only(tmp_path: Path) -> None:
    path = tmp_path / "linear.py"
    path.write_text(text("linear"), encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all gradients agree" in done.stdout
    assert set(re.findall(r"^(?:from|import) (\w+)", text("linear"), re.M)) <= {
        "__future__", "sys", "collections", "typing", "numpy"}
    path.write_text(text("linear").replace("dL_dh[t + 1] @ W_hh", "dL_dh[t + 1] @ W_hh.T"), encoding="utf-8")
    assert subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True).returncode != 0


LIES = [(r" \+ ", " - "), (r" - (?!\d)", " + "), (r"\.T", ""), (r"(W_hh|W_qh|V|U|A)\b(?!\.T|\[)", r"\1.T"),
        (r"t - 1\]", "t]"), (r"t - 2\]", "t - 1]"), (r"t \+ 1\]", "t]"), (r"t \+ 2\]", "t + 1]"), (r" \+= ", " = "),
        (r"\[t\]\.T @", "[T].T @"), (r" / T\b", ""), (r" / (\d)", r" * \1"), (r"= ", "= 2 * "), (r"i - t\)", "T - i)"),
        (r"_0\b", "_1"), (r"= (?=[a-zA-Z])", "= -"), (r"sum\(axis=0\)", "mean(axis=0)"), (r"gamma \* ", "")]
"""Patterns in a statement, and what a person might have written instead."""


def lies(source: str) -> dict[str, str]:
    """Sources with one fault planted in one statement that computes an equation."""
    found = {}
    for number, line in enumerate(lines := source.splitlines()):
        if not re.search(r"  # \(\d+\)", line) or "= np.zeros" in line:
            continue
        code, note = line.rsplit("  #", 1)
        for pattern, wrong in LIES:
            for hit in re.finditer(pattern, code):
                changed = code[:hit.start()] + hit.expand(wrong) + code[hit.end():]
                found[f"{code.strip()} -> {changed.strip()}"] = "\n".join(
                    [*lines[:number], f"{changed}  #{note}", *lines[number + 1:]])
    return found


def slow(*names: str) -> list:
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", ["linear", "lag-two", "constants", "bias", *slow(
    "sign", "two-states-same-time", "two-states-varying", "transposed-twin", "two-losses", "rank-one",
    "output-sees-all")])
def test_a_planted_lie_is_found(name: str, program, capsys: pytest.CaptureFixture[str]) -> None:
    planted = lies(text(name))
    assert len(planted) > 25
    missed = []
    for what, source in planted.items():
        try:
            found = not program(f"{name} lie", source).check()
        except (ValueError, TypeError, LookupError, NameError, AttributeError, SyntaxError, ArithmeticError):
            found = True
        if not found:
            missed.append(what)
    assert missed == []


@pytest.mark.parametrize("name", ["linear", "lag-two", "two-states-varying", "constants", "bias-only-equation",
                                  "residual", "size-one-varying", "target-lag"])
def test_the_dtype_of_the_input_is_kept(name: str, program) -> None:
    module = program(name)
    network = Network(model(name), dtype=np.float32)
    network.params |= {c.name: np.float64(network.params[c.name]) for c in network.model.constants}
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    states = module.forward(network.params, network.data)
    direct = {k: v.astype(np.float32) for k, v in network.direct(network.params, network.data).items()}
    _, adjoints = module.backward(network.params, network.data, states, direct)
    closed = module.hidden_gradients_closed_form(network.params, network.data, direct)
    arrays = [L, *grads.values(), *states.values(), *adjoints.values(), *closed.values()]
    assert {np.asarray(a).dtype for a in arrays} == {np.dtype(np.float32)}


def test_complex_numbers_pass_unconjugated(program) -> None:
    network, module = Network(model("linear")), program("linear")
    twisted = {k: v * (1 + 0.5j) for k, v in network.params.items()}
    L, grads = module.value_and_grad(twisted, network.data, network.loss)
    moved = {k: v * (1 + 1e-6) for k, v in twisted.items()}
    further, _ = module.value_and_grad(moved, network.data, network.loss)
    step = sum(np.sum(grads[k] * twisted[k]) for k in twisted) * 1e-6
    assert abs(further - L - step) < 1e-4 * abs(step)


def test_whole_numbers_and_lists_are_read(program) -> None:
    module = program("linear")
    params = {"W_hx": [[1, 2], [3, 4], [5, 6]], "W_hh": np.eye(3, dtype=int), "W_qh": [[1, 0, 1]]}
    data = {"x": [[[1, 2]]], "y": [[[7]]], "h_0": [[1, 1, 1]]}

    def squared(o, y):
        assert y.dtype.kind == "i"
        return ((o - y) ** 2).sum(-1) / 2, o - y

    L, grads = module.value_and_grad(params, data, squared)
    assert L == (6 + 18 - 7) ** 2 / 2
    assert grads["h_0"].tolist() == [[17.0, 0.0, 17.0]]


def test_nothing_given_is_changed_and_nothing_is_remembered(program) -> None:
    network, module = Network(model("two-states")), program("two-states")
    before = {k: np.copy(v) for k, v in {**network.params, **network.data}.items()}
    _, first = module.value_and_grad(network.params, network.data, network.loss)
    kept = {k: v.copy() for k, v in first.items()}
    for gradient in first.values():
        gradient *= 0
    _, second = module.value_and_grad(network.params, network.data, network.loss)
    for key, value in {**network.params, **network.data}.items():
        np.testing.assert_array_equal(value, before[key])
    for key, value in second.items():
        np.testing.assert_array_equal(value, kept[key])


def test_gradients_share_no_memory(program) -> None:
    for name in ("residual", "lag-two", "two-states"):
        network, module = Network(model(name), T=1), program(name)
        _, grads = module.value_and_grad(network.params, network.data, network.loss)
        arrays = [*grads.values(), *network.params.values(), *network.data.values()]
        assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[k + 1:])


def fault(call, *words: str) -> None:
    with pytest.raises(ValueError, match=".*".join(map(re.escape, words))):
        call()


def test_wrong_input_is_named(program) -> None:
    network, module = Network(model("lag-two")), program("lag-two")
    params, data, loss = network.params, network.data, network.loss

    def run(p=params, d=data, f=loss):
        return lambda: module.value_and_grad(p, d, f)

    def without(given, key):
        return {k: v for k, v in given.items() if k != key}

    fault(run(without(params, "W_hh")), 'params["W_hh"]', "missing", "(h, h)")
    fault(run(d=without(data, "h_m1")), 'data["h_m1"]', "missing", "(B, h)")
    fault(run({**params, "W_hh": np.ones((5, 4))}), 'params["W_hh"]', "(5, 4)", "(h, h) = (5, 5)")
    fault(run({**params, "W_hh": np.ones(5)}), 'params["W_hh"]', "(5,)", "(h, h)")
    fault(run(d={**data, "h_0": data["h_0"][:2]}), 'data["h_0"]', "(2, 5)", "(B, h) = (3, 5)")
    fault(run(d={**data, "y": data["y"][:3]}), 'data["y"]', "(3, 3, 1)", "(T, B, 1) = (5, 3, 1)")
    fault(run(d={**data, "x": data["x"][:0], "y": data["y"][:0]}), 'data["x"]', "T must be at least 1")
    with pytest.raises(TypeError, match="loss l open"):
        run(f=None)()
    fault(run(f=lambda o, y: (o, o)), "loss l gave values", "(5, 3, 4)", "(5, 3)")
    fault(run(f=lambda o, y: (o[..., 0], o[..., :2])), "loss l gave gradients", "(5, 3, 2)", "(5, 3, 4)")
    states = module.forward(params, data)
    fault(lambda: module.backward(params, data, states, {}), 'direct["o"]', "missing", "(T, B, q)")
    fault(lambda: module.backward(params, data, {**states, "h": states["h"][1:]}, network.direct(params, data)),
          'states["h"]', "(4, 3, 5)", "(5, 3, 5)")


def test_losses_by_name_and_constants_are_asked_for(program) -> None:
    network, module = Network(model("two-losses")), program("two-losses")
    with pytest.raises(TypeError, match=r"losses open.*l, m"):
        module.value_and_grad(network.params, network.data, network.losses["l"])
    network, module = Network(model("constants")), program("constants")
    fault(lambda: module.value_and_grad({**network.params, "gamma": np.ones(2)}, network.data, network.loss),
          'params["gamma"]', "(2,)", "a number")


def test_statements_carry_the_numbers_of_their_equations() -> None:
    d, source = derivation("linear"), text("linear")
    for kind, name, code in (("model", "h", "h[t] = x[t] @ W_hx.T + h[t - 1] @ W_hh.T"),
                             ("model", "o", "o[t] = h[t] @ W_qh.T"), ("boundary", "h", "dL_dh[t] = dL_do[t] @ W_qh"),
                             ("initial", "h_0", "dh_0 = dL_dh[1] @ W_hh"),
                             ("adjoint", "h", "dL_dh[t] = dL_dh[t + 1] @ W_hh + dL_do[t] @ W_qh"),
                             ("gradient", "W_hh", "dW_hh += dL_dh[t].T @ h[t - 1]"),
                             ("closed", "", "dL_dh[t] += dL_do[i] @ W_qh @ np.linalg.matrix_power(W_hh, i - t)")):
        assert f"{code}  # ({d.label(kind, name)})\n" in source


def test_a_sign_in_the_model_changes_the_program() -> None:
    assert "h[t] = x[t] @ W_hx.T - h[t - 1] @ W_hh.T" in text("sign")
    assert "dL_dh[t] = -dL_dh[t + 1] @ W_hh - dL_do[t] @ W_qh" in text("sign")


def test_the_stamp_names_its_maker() -> None:
    assert "Generated by symbptt" in text("linear")
    assert "Edit the model, not" in text("linear")


def test_modules_pass_ruff_and_mypy_as_they_stand(tmp_path: Path) -> None:
    for name in MODELS:
        (tmp_path / f"{re.sub(r'[^a-z0-9]', '_', name)}.py").write_text(text(name), encoding="utf-8")
    clean = tmp_path / "clean.toml"
    clean.write_text(
        "line-length = 120\n[lint]\nextend-select = ['E', 'W', 'I', 'B', 'UP', 'SIM']\n", encoding="utf-8")
    for tool, *arguments in (("ruff", "check", "--isolated", "--line-length", "120"),
                             ("ruff", "check", "--config", str(clean), "--no-cache"),
                             ("mypy", "--config-file=", f"--cache-dir={tmp_path / 'cache'}")):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed")
        done = subprocess.run([sys.executable, "-m", tool, *arguments, str(tmp_path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_equal_models_give_equal_bytes() -> None:
    script = ("import sys, importlib.util; from symbptt.model.read import loads; from symbptt.derive import derive;"
              "from symbptt.render.numpy_program import numpy_program;"
              "print(numpy_program(derive(loads(sys.stdin.read()))))")
    runs = [subprocess.run([sys.executable, "-c", script], input=NETWORKS["two-states-varying"], capture_output=True,
                           text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
            for seed in ("1", "77")]
    assert runs[0] == runs[1] == text("two-states-varying") + "\n"
