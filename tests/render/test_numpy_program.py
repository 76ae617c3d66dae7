"""Generated modules: written to a file, imported, compared with a second truth, and refused when they are wrong."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
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
FILES |= {f"library {p.stem}": p for p in sorted((ROOT / "symbptt" / "model" / "library").glob("*.toml"))}
MODELS = [*NETWORKS, *FILES]
HEAVY = {"library gru-reset-after", "library lstm-coupled", "library lstm-peephole", "library mgu", "file five_states",
         "slices-of-everything"}
OFTEN = [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY or not (k % 2 or "library" in name) else name
         for k, name in enumerate(MODELS)]
"""Most of the library and every second other model; the rest are tried in slow tests."""


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


@pytest.mark.parametrize("T", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 1))])
@pytest.mark.parametrize("name", OFTEN)
def test_every_gradient_agrees_with_the_equations_as_written(name: str, T: int, program) -> None:
    network, module = Network(model(name), T), program(name)
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    assert error(L, network.objective(network.params, network.data)) < EXACT
    assert grads.keys() == network.expected
    for key, gradient in grads.items():
        assert error(gradient, network.derivative(key)) < EXACT, key


@pytest.mark.parametrize("name", OFTEN)
def test_forward_gives_the_states(name: str, program) -> None:
    network = Network(model(name))
    states = program(name).forward(network.params, network.data)
    assert list(states) == list(network.model.defined)
    env = network.states(network.params, network.data)
    for family, stack in states.items():
        for t, step in enumerate(stack, start=1):
            for b, row in enumerate(step):
                np.testing.assert_allclose(row, env[family, t, b][:, 0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", OFTEN)
def test_adjoints_are_total(name: str, program) -> None:
    network, module = Network(model(name)), program(name)
    direct, states = network.direct(network.params, network.data), module.forward(network.params, network.data)
    grads, adjoints = module.backward(network.params, network.data, states, direct)
    assert grads.keys() == network.expected
    assert adjoints.keys() == network.model.defined.keys()
    for family, stack in adjoints.items():
        assert error(stack, network.adjoint(family)) < EXACT, family


@pytest.mark.parametrize("name", OFTEN)
def test_the_closed_form_gives_the_same_adjoints(name: str, program) -> None:
    network, module = Network(model(name)), program(name)
    direct, states = network.direct(network.params, network.data), module.forward(network.params, network.data)
    _, adjoints = module.backward(network.params, network.data, states, direct)
    recurs = derivation(name).closed is not None
    closed = module.hidden_gradients_closed_form(network.params, network.data, direct, states)
    assert bool(closed) == recurs
    for family, stack in closed.items():
        assert error(stack, adjoints[family]) < EXACT, family


@pytest.mark.parametrize("name", OFTEN)
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
        (r"_0\b", "_1"), (r"= (?=[a-zA-Z])", "= -"), (r"sum\(axis=0\)", "mean(axis=0)"), (r"gamma \* ", ""),
        (r"\(1 - (\w+\[.*?\]) \* \1\)", r"(1 - \1)"), (r"\(1 - (\w+\[.*?\])\)", r"(1 - \1 * \1)"),
        (r"(?<!\[)\bm \* ", ""), (r" \* m\b", ""), (r"_at_last\((.*)\)", r"\1"), (r"_step\((.*?)\)", r"\1"),
        (r"_softmax\(o\)", "o"), (r" - y\b", ""), (r"np\.tanh", "_sigmoid"), (r"_sigmoid", "np.tanh"),
        (r" / \(?2?[ *]*M\b\)?", ""), (r"\[\.\.\., None, :\]", "[..., :, None]"), (r"(\w+\[t\]) \* ", ""),
        (r"size\[\"h\"\]:\]", 'size["h"] - 1:-1]'), (r":size\[\"h\"\]\]", ':size["h"] - 1]')]
"""Patterns in a statement, and what a person might have written instead."""

REDEFINED = re.compile(r"= np\.zeros|= _count|\w+_values")
"""Statements in which a fault makes another model of the module, or none at all."""


def statements(source: str) -> Iterator[tuple[int, str, str]]:
    """(number of the line, code, note) of every line of a statement that computes an equation."""
    closing = ""
    for number, line in enumerate(source.splitlines()):
        code, _, note = line.partition("  #") if re.search(r"  # \(\d+\)", line) else (line, "", "")
        if (note or closing) and not REDEFINED.search(code):
            yield number, code, note
        if note and code.endswith(("(", "[")):
            closing = code[:len(code) - len(code.lstrip())]
        elif closing and line.startswith(f"{closing})"):
            closing = ""


def lies(source: str) -> dict[str, str]:
    """Sources with one fault planted in one statement that computes an equation."""
    found, lines = {}, source.splitlines()
    for number, code, note in statements(source):
        for pattern, wrong in LIES:
            for hit in re.finditer(pattern, code):
                changed = code[:hit.start()] + hit.expand(wrong) + code[hit.end():]
                found[f"{code.strip()} -> {changed.strip()}"] = "\n".join(
                    [*lines[:number], f"{changed}  #{note}" if note else changed, *lines[number + 1:]])
    return found


def slow(*names: str) -> list:
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def missed(name: str, planted: dict[str, str], program) -> list[str]:
    """The faults that the module does not find when it checks itself."""
    unseen = []
    for what, source in planted.items():
        try:
            found = not program(f"{name} lie", source).check()
        except (ValueError, TypeError, LookupError, NameError, AttributeError, SyntaxError, ArithmeticError):
            found = True
        if not found:
            unseen.append(what)
    return unseen


MANY = ["lag-two", "library elman", "library indrnn", "file masked_mean", "losses-of-all-kinds", "file sliced_weights"]
"""Modules in which so many faults can be planted that the quick suite tries every fifth."""


@pytest.mark.parametrize("name", MANY)
def test_every_fifth_lie_is_found(name: str, program, capsys: pytest.CaptureFixture[str]) -> None:
    planted = list(lies(text(name)).items())[::5]
    assert len(planted) > 10
    assert missed(name, dict(planted), program) == []


@pytest.mark.parametrize("name", ["linear", "constants", *slow(
    "lag-two", "library gru", "file masked_sum", "file regularised", "file computed_start", "file scalar_gate",
    "file last_and_mean", "rank-one")])
def test_a_planted_lie_is_found(name: str, program, capsys: pytest.CaptureFixture[str]) -> None:
    planted = lies(text(name))
    assert len(planted) > 25
    assert missed(name, planted, program) == []


@pytest.mark.parametrize("name", ["linear", "lag-two", "two-states-varying", "constants", "bias-only-equation",
                                  "residual", "size-one-varying", "target-lag", "numbers", "scalars-inside",
                                  "started-by-the-same-weights", "static-everywhere", "losses-of-all-kinds", "nasty",
                                  "functions-of-weights", *(name for name in FILES if name.startswith("library")
                                                            and name not in HEAVY), "file activations",
                                  *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(HEAVY)),
                                  "file masked_sum", "file regularised", "file computed_start", "file attention"])
def test_the_dtype_of_the_input_is_kept(name: str, program) -> None:
    module = program(name)
    network = Network(model(name), dtype=np.float32)
    network.params |= {c.name: np.float64(network.params[c.name]) for c in network.model.constants}
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    states = module.forward(network.params, network.data)
    direct = {k: v.astype(np.float32) for k, v in network.direct(network.params, network.data).items()}
    _, adjoints = module.backward(network.params, network.data, states, direct)
    closed_form = getattr(module, "hidden_gradients_closed_form", lambda *_: {})
    closed = closed_form(network.params, network.data, direct)
    arrays = [L, *grads.values(), *states.values(), *adjoints.values(), *closed.values()]
    assert {np.asarray(a).dtype for a in arrays} == {np.dtype(np.float32)}
    assert all(np.all(np.isfinite(a)) for a in arrays)


def run(name: str, module: ModuleType, T: int = 4, B: int = 2, **changed):
    """A network and (L, grads), with some data or parameters changed."""
    network = Network(model(name), T, B)
    for group in (network.params, network.data):
        group |= {k: v for k, v in changed.items() if k in group}
    return network, module.value_and_grad(network.params, network.data, network.loss)


def test_whole_numbers_may_be_targets_and_masks(program) -> None:
    for name in ("file masked_mean", "library elman-softmax"):
        module, network = program(name), Network(model(name), dtype=np.float32)
        ones = {y.name: np.zeros(network.data[y.name].shape, dtype=int) for y in network.model.targets}
        for key, target in ones.items():
            target[..., 0] = 1
            network.data[key] = target
        L, grads = module.value_and_grad(network.params, network.data, network.loss)
        assert {np.asarray(a).dtype for a in (L, *grads.values())} == {np.dtype(np.float32)}


def test_each_sample_divides_by_the_sum_of_its_own_mask(program) -> None:
    module, network = program("file masked_mean"), Network(model("file masked_mean"), T=4, B=2)
    data = {**network.data, "m": np.array([[1, 1], [0, 1], [0, 1], [1, 0]])[..., None]}
    L, grads = module.value_and_grad(network.params, data)
    single = [module.value_and_grad(network.params, {k: v[:1, :] * 0 + v[b:b + 1] if v.ndim == 2 else v[:, b:b + 1]
                                                     for k, v in data.items()}) for b in range(2)]
    assert abs(L - single[0][0] - single[1][0]) < 1e-14 * abs(L)
    np.testing.assert_allclose(grads["W_hh"], single[0][1]["W_hh"] + single[1][1]["W_hh"], rtol=1e-12)
    assert not np.any(grads["x"][3, 1])
    moved = {**data, "y": data["y"] + 7 * (data["m"] == 0)}
    np.testing.assert_array_equal(module.value_and_grad(network.params, moved)[1]["W_hx"], grads["W_hx"])
    data["m"] = np.array([[1, 0]] * 4)[..., None]
    fault(lambda: module.value_and_grad(network.params, data), 'data["m"]', "no step that counts", "sample 1")


def test_only_the_last_step_of_a_last_loss_counts(program) -> None:
    module = program("file last_direct")
    network, (L, grads) = run("file last_direct", module)
    y = network.data["y"].copy()
    y[:-1] = 55
    _, (other, others) = run("file last_direct", module, y=y)
    assert other == L
    np.testing.assert_array_equal(others["W"], grads["W"])
    _, direct = module._objective(network.params, network.data, module.forward(network.params, network.data),
                                  {"l": network.loss})
    assert not np.any(direct["h"][:-1])
    assert np.all(direct["h"][-1])


def test_a_regulariser_counts_once_and_not_once_a_sample(program) -> None:
    module, network = program("file regularised"), Network(model("file regularised"), B=3)
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    free = {**network.params, "lambda_": 0.0}
    without, plain = module.value_and_grad(free, network.data, network.loss)
    w = network.params["W_hh"]
    assert abs(L - without - network.params["lambda_"] / 2 * (w ** 2).sum()) < 1e-13 * abs(L)
    np.testing.assert_allclose(grads["W_hh"] - plain["W_hh"], network.params["lambda_"] * w, rtol=1e-10)
    assert "a regulariser is added once" in text("file regularised")


def test_a_model_that_states_its_losses_takes_none(program) -> None:
    module, network = program("library jordan"), Network(model("library jordan"))
    assert network.loss is None
    module.value_and_grad(network.params, network.data)
    with pytest.raises(TypeError, match="states its losses itself"):
        module.value_and_grad(network.params, network.data, lambda o, y: (o, y))


def test_an_assumption_is_used_and_required(program) -> None:
    source, module = text("library elman-softmax"), program("library elman-softmax")
    label = derivation("library elman-softmax").label("assumed", "o")
    assert f'direct["o"] = _softmax(o) - y  # ({label})' in source
    assert "Assumed: the entries of y[t] add up to one" in " ".join(source.split())
    network = Network(model("library elman-softmax"))
    network.data["y"] = 2 * network.data["y"]
    fault(lambda: module.value_and_grad(network.params, network.data), 'data["y"]', "add up to one")
    assert "_softmax(o) * y.sum(axis=-1, keepdims=True) - y" in text("file masked_mean")


def test_a_computed_initial_value_is_no_data_and_passes_its_gradient_on(program) -> None:
    module = program("file computed_start")
    assert "h_0" not in module.DATA
    assert module.DATA["s"] == ("B", "k")
    _, (_, grads) = run("file computed_start", module)
    assert {"W_0", "b_0", "s"} <= grads.keys()
    assert "h_0" not in grads


def test_conventions_at_kinks_are_stated() -> None:
    said = " ".join(text("file activations").split())
    for words in ("relu has no derivative at 0; 0 stands", "leaky_relu has no derivative at 0; 1/100 stands",
                  "hard_tanh has no derivative at -1 and 1; 0 stands", "abs has no derivative at 0; 0 stands"):
        assert words in said
    assert "has no derivative" not in text("library elman")
    assert "difference with a step" in text("library irnn")


def test_no_diagonal_matrix_is_built_beside_another_factor() -> None:
    assert "run = run @ (W_hh.T * (1 - h[i] * h[i])[..., None, :])" in text("library elman")
    assert "np.eye" not in text("library indrnn")
    assert "run = run * u * _step(h[i])" in text("library indrnn")
    assert text("library lstm").count("[..., :, None] * np.eye") == 2
    assert "(u / 2) ** (i - t)" in text("diagonal-only")


def test_rows_are_picked_by_slices_and_put_back_by_slices() -> None:
    source = text("file sliced_weights")
    assert 'x[t] @ W[:size["h"]].T + h[t - 1] @ U[size["h"]:].T' in source
    assert 'dU[:size["h"]] += ((1 - z[t]) * dL_dh[t]).T @ h[t - 1]' in source
    assert 'dL_dx[t] = dL_da[t] @ W[:, size["h"]:]' in text("file packed_lstm")
    assert "_placed" in text("file packed_lstm")


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
    network, module = Network(model("lag-two"), T=5, B=3), program("lag-two")
    params, data, loss = network.params, network.data, network.loss

    def run(p=params, d=data, f=loss):
        return lambda: module.value_and_grad(p, d, f)

    def without(given, key):
        return {k: v for k, v in given.items() if k != key}

    fault(run(without(params, "W_hh")), 'params["W_hh"]', "missing", "(h, h)")
    fault(run(d=without(data, "h_m1")), 'data["h_m1"]', "missing", "(B, h)")
    fault(run({**params, "W_hh": np.ones((4, 5))}), 'params["W_hh"]', "(4, 5)", "(h, h) = (4, 4)")
    fault(run({**params, "W_hh": np.ones(5)}), 'params["W_hh"]', "(5,)", "(h, h)")
    fault(run(d={**data, "h_0": data["h_0"][:2]}), 'data["h_0"]', "(2, 4)", "(B, h) = (3, 4)")
    fault(run(d={**data, "y": data["y"][:3]}), 'data["y"]', "(3, 3, 1)", "(T, B, 1) = (5, 3, 1)")
    fault(run(d={**data, "x": data["x"][:0], "y": data["y"][:0]}), 'data["x"]', "T must be at least 1")
    with pytest.raises(TypeError, match="loss l open"):
        run(f=None)()
    fault(run(f=lambda o, y: (o, o)), "loss l gave values", "(5, 3, 2)", "(5, 3)")
    fault(run(f=lambda o, y: (o[..., 0], o[..., :1])), "loss l gave gradients", "(5, 3, 1)", "(5, 3, 2)")
    states = module.forward(params, data)
    fault(lambda: module.backward(params, data, states, {}), 'direct["o"]', "missing", "(T, B, q)")
    fault(lambda: module.backward(params, data, {**states, "h": states["h"][1:]}, network.direct(params, data)),
          'states["h"]', "(4, 3, 4)", "(5, 3, 4)")


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
    assert "Edit the model, not this file." in " ".join(text("linear").split())


@pytest.mark.parametrize(
    "names", [MODELS[::7], pytest.param(MODELS[1::3], marks=pytest.mark.slow)], ids=["some", "many"])
def test_modules_pass_ruff_and_mypy_as_they_stand(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / f"{re.sub(r'[^a-z0-9]', '_', name)}.py").write_text(text(name), encoding="utf-8")
    clean = tmp_path / "clean.toml"
    clean.write_text(
        "line-length = 120\n[lint]\nextend-select = ['E', 'W', 'I', 'B', 'UP', 'SIM']\n", encoding="utf-8")
    for tool, *arguments in (("ruff", "check", "--isolated", "--line-length", "120"),
                             ("ruff", "check", "--config", str(clean), "--no-cache"),
                             ("mypy", "--config-file=", f"--cache-dir={tmp_path.parent / 'mypy'}")):
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
