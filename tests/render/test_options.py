"""Modules with options: each against the equations as written, through an interface that undoes the options."""

import contextlib
import importlib.util
import itertools
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from symbptt.program.edits import edits
from symbptt.program.options import OptionError, Options
from symbptt.render.targets import TARGETS, programs, render
from tests.render.asked import Asked
from tests.render.test_numpy_program import (  # noqa: F401 - the fixture among them
    EXACT,
    MODELS,
    Network,
    derivation,
    error,
    fault,
    folder,
    imported,
    lies,
    missed,
    model,
    slow,
)

SOME = ["linear", "lag-two", "row-parameters", "two-losses", "input-lag-two", "file regularised", "file last_direct",
        "file computed_start", "file masked_mean", "static-everywhere", "library lstm", "target-lag"]
"""Models that between them have every kind of array, of loss and of gradient."""

FOLLOWED = ["numpy", "numpy-textbook"]
CHANGES = {"layout": "BTD", "weights": "right", "dtype": "float64"}
"""For each option that any model can follow a value that changes something."""

COMBINED = [Options(**{name: CHANGES[name] for name in names}) for names in itertools.chain.from_iterable(
    itertools.combinations(CHANGES, k) for k in range(1, len(CHANGES) + 1))]
ALL = COMBINED[-1]
SINGLE = [o for o in COMBINED if len(o.given) == 1]
ONE_ROW = "as-many-as-rows"
"""A model with a sum of rows of samples and of one row for all of them, which is transposed as a whole."""

CASES = [(ONE_ROW, ALL), *((name, ALL) for name in SOME), *((name, o) for name in SOME[::4] for o in SINGLE),
         *(pytest.param(name, o, marks=pytest.mark.slow) for k, name in enumerate(MODELS[::3])
           for o in [COMBINED[k % len(COMBINED)]] if o != ALL or name not in [ONE_ROW, *SOME])]
"""Models and options: all options at once for some models, single ones for few; in slow tests every third model
with one of the combinations.
"""


@cache
def text(name: str, target: str, options: Options) -> str:
    return render(derivation(name), target, options=options)


@pytest.fixture
def program(folder: Path):  # noqa: F811 - the fixture
    def build(name: str, target: str, options: Options, source: str | None = None):
        path = folder / f"{re.sub(r'[^A-Za-z0-9]', '_', f'{name} {target} {options}')}.py"
        path.write_text(source if source is not None else text(name, target, options), encoding="utf-8")
        return imported(path)
    return build


def asked(name: str, target: str, options: Options, program) -> Asked:
    return Asked(program(name, target, options), options, model(name))


def agrees(name: str, made: Asked, T: int = 4) -> None:
    """Everything that a module offers, against the equations as written."""
    network = Network(model(name), T)
    params, data = network.params, network.data
    L, grads = made.value_and_grad(params, data, network.loss)
    assert error(L, network.objective(params, data)) < EXACT
    assert grads.keys() == network.expected
    right = {key: network.derivative(key) for key in grads}
    for key, gradient in grads.items():
        assert error(gradient, right[key]) < EXACT, key
    states, env = made.forward(params, data), network.states(params, data)
    for family, stack in states.items():
        for t, b in np.ndindex(stack.shape[:2]):
            np.testing.assert_allclose(stack[t, b], env[family, t + 1, b][:, 0], rtol=1e-13, atol=1e-13)
    direct = network.direct(params, data)
    found, adjoints = made.backward(params, data, states, direct)
    for key, gradient in found.items():
        assert error(gradient, right[key]) < EXACT, key
    closed = made.hidden_gradients_closed_form(params, data, direct) if hasattr(
        made.module, "hidden_gradients_closed_form") else {}
    for family, stack in [*adjoints.items(), *closed.items()]:
        assert error(stack, network.adjoint(family)) < EXACT, family


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_everything_agrees_with_the_equations_as_written(name: str, target: str, options: Options, program) -> None:
    agrees(name, asked(name, target, options, program))


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_a_module_checks_itself(name: str, target: str, options: Options, program,
                                capsys: pytest.CaptureFixture[str]) -> None:
    assert program(name, target, options).check()
    said = capsys.readouterr().out
    for key in Network(model(name)).expected:
        assert f"dL/d{key} " in said
    assert "WRONG" not in said


@pytest.mark.parametrize(("names", "given"), [
    (SOME[::4], [ALL]), pytest.param(MODELS[::7], [ALL], marks=pytest.mark.slow),
    pytest.param(SOME[::4], COMBINED, marks=pytest.mark.slow)], ids=["some", "many", "combined"])
def test_modules_pass_ruff_and_mypy_as_they_stand(names: list[str], given: list[Options], tmp_path: Path) -> None:
    for k, (name, target, options) in enumerate(itertools.product(names, FOLLOWED, given)):
        (tmp_path / f"m{k}.py").write_text(text(name, target, options), encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)


def pass_ruff_and_mypy(place: Path) -> None:
    clean = place / "clean.toml"
    clean.write_text(
        "line-length = 120\n[lint]\nextend-select = ['E', 'W', 'I', 'B', 'UP', 'SIM']\n", encoding="utf-8")
    for tool, *arguments in (("ruff", "check", "--isolated", "--line-length", "120"),
                             ("ruff", "check", "--config", str(clean), "--no-cache"),
                             ("mypy", "--strict", "--config-file=", f"--cache-dir={place.parent / 'mypy'}")):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed")
        done = subprocess.run([sys.executable, "-m", tool, *arguments, str(place)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr


@pytest.mark.parametrize("options", COMBINED, ids=str)
@pytest.mark.parametrize("target", FOLLOWED)
def test_a_module_names_its_options(target: str, options: Options) -> None:
    head = " ".join(text("linear", target, options).partition('"""\n\nfrom')[0].split())
    assert f"target {target} with {options}. Edit the model" in head


def test_nothing_said_changes_nothing() -> None:
    assert str(Options()) == ""
    assert list(edits(Options())) == []
    for target in programs():
        assert render(derivation("linear"), target) == render(derivation("linear"), target, options=Options())


def test_values_that_do_not_exist_are_refused() -> None:
    for options, words in (({"layout": "BDT"}, r"--layout BDT: there is no such layout; there are TBD, BTD"),
                           ({"dtype": "float16"}, "--dtype float16: .* there are float32, float64"),
                           ({"schedule": "later"}, "there is no such schedule; there are auto, loop, chunked"),
                           ({"weights": "both"}, "--weights both: there is no such weights; there are left, right")):
        with pytest.raises(ValueError, match=words):
            Options(**options)


def test_a_target_that_does_not_follow_an_option_says_so() -> None:
    with pytest.raises(ValueError, match="--layout is not for the target text, which has no options"):
        render(derivation("linear"), "text", options=Options(layout="BTD"))
    assert all(TARGETS[target].options for target in FOLLOWED)


LAID_OUT = [("_read", "B, T = given", "T, B = given"), ("_stacks", "stack.swapaxes(0, 1)", "stack"),
            ("_evaluated", "argument.swapaxes(0, 1)", "argument"),
            ("_evaluated", "gradient.swapaxes(0, 1)", "gradient"),
            ("_inside", "given[name].swapaxes(0, 1)", "given[name]"), ("_swapped", "stack.swapaxes(0, 1)", "stack"),
            ("forward", ".swapaxes(0, 1)", ""), ("backward", ".swapaxes(0, 1)", "")]


@pytest.mark.parametrize(("where", "old", "new"), LAID_OUT)
def test_a_fault_in_the_layout_is_found_by_the_module(where: str, old: str, new: str, program) -> None:
    options = Options(layout="BTD")
    source = text("linear", "numpy-textbook", options)
    start = source.index(f"def {where}(")
    end = source.find("\ndef ", start)
    assert old in source[start:end]
    wrong = source[:start] + source[start:end].replace(old, new, 1) + source[end:]
    with contextlib.suppress(ValueError, LookupError):
        assert not program("linear", "numpy-textbook", options, wrong).check()


@pytest.mark.parametrize("target", FOLLOWED)
def test_errors_name_the_shapes_that_are_expected(target: str, program) -> None:
    network, module = Network(model("lag-two"), T=5, B=3), program("lag-two", target, Options(layout="BTD"))
    params, loss = network.params, network.loss
    data = {k: np.swapaxes(v, 0, 1) if v.ndim == 3 else v for k, v in network.data.items()}

    def run(d=data, f=loss):
        return lambda: module.value_and_grad(params, d, f)

    fault(run({**data, "y": data["y"][:, :3]}), 'data["y"]', "(3, 3, 1)", "(B, T, 1) = (3, 5, 1)")
    fault(run({**data, "x": data["x"][:, :0], "y": data["y"][:, :0]}), 'data["x"]', "T must be at least 1")
    fault(run(f=lambda o, y: (o, o)), "loss l gave values", "(3, 5, 2)", "(3, 5)")
    states = module.forward(params, data)
    fault(lambda: module.backward(params, data, states, {}), 'direct["o"]', "missing", "(B, T, q)")


def test_weights_from_the_right_are_written_as_one_would() -> None:
    source = text("linear", "numpy-textbook", Options(weights="right"))
    for code in ("h[t] = x[t] @ W_hx + h[t - 1] @ W_hh  #", "dL_dh[t] = dL_dh[t + 1] @ W_hh.T + dL_do[t] @ W_qh.T  #",
                 "dW_hh += h[t - 1].T @ dL_dh[t]  #", '"W_hx": ("d", "h")', "so that W @ x stands as x @ W;"):
        assert code in source
    sliced = text("file sliced_weights", "numpy-textbook", Options(weights="right"))
    assert 'x[t] @ W[:, :size["h"]] + h[t - 1] @ U[:, size["h"]:]' in sliced
    assert 'dU[:, :size["h"]] += h[t - 1].T @ ((1 - z[t]) * dL_dh[t])' in sliced
    for name in ("linear", "library lstm", "row-parameters"):
        assert ".T.T" not in text(name, "numpy", Options(weights="right"))
    fast = text("library lstm", "numpy", Options(weights="right"))
    assert "np.concatenate([U_i, U_f, U_o, U_g], axis=1)" in fast
    assert "dU_i_U_f_U_o_U_g = h_rows_back_1.T @ delta_i_f_o_g_rows" in fast


@pytest.mark.parametrize("target", FOLLOWED)
def test_errors_name_the_shape_of_weights_from_the_right(target: str, program) -> None:
    network, module = Network(model("lag-two")), program("lag-two", target, Options(weights="right"))
    given = {k: np.transpose(v) for k, v in network.params.items()}
    fault(lambda: module.value_and_grad({**given, "W_qh": network.params["W_qh"]}, network.data, network.loss),
          'params["W_qh"]', "(h, q)")


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", [*SOME[::3], *slow(*(name for k, name in enumerate(SOME) if k % 3))])
def test_arrays_are_converted_to_the_dtype(name: str, target: str, program) -> None:
    network, options = Network(model(name)), Options(dtype="float32", layout="BTD")
    made = asked(name, target, options, program)
    params, data, direct = network.params, network.data, network.direct(network.params, network.data)
    L, grads = made.value_and_grad(params, data, network.loss)
    states = made.forward(params, data)
    found, adjoints = made.backward(params, data, states, direct)
    closed = made.hidden_gradients_closed_form(params, data, direct) if hasattr(
        made.module, "hidden_gradients_closed_form") else {}
    arrays = [L, *grads.values(), *states.values(), *found.values(), *adjoints.values(), *closed.values()]
    assert {np.asarray(a).dtype for a in arrays} == {np.dtype(np.float32)}
    for key, gradient in grads.items():
        assert error(gradient, network.derivative(key)) < 1e-4, key
    assert made.module.check()
    assert made.module.DTYPE == "float32"
    with pytest.raises(TypeError, match=r"complex128.*float32"):
        made.value_and_grad({k: np.asarray(v) * 1j for k, v in params.items()}, data, network.loss)


def test_a_module_that_computes_in_another_dtype_is_found_by_itself(program) -> None:
    options = Options(dtype="float32")
    source = text("linear", "numpy-textbook", options)
    for old, new in (("if DTYPE is None else np.dtype(DTYPE)", "if DTYPE is None else dtype"),
                     ("dW_hh = np.zeros_like(W_hh)", "dW_hh = np.zeros(W_hh.shape)")):
        assert source.count(old) == 1
        assert not program("linear", "numpy-textbook", options, source.replace(old, new)).check()


def test_whole_numbers_stay_targets(program) -> None:
    for target in FOLLOWED:
        made = program("library elman-softmax", target, Options(dtype="float32"))
        network = Network(model("library elman-softmax"))
        labels = np.zeros(network.data["y"].shape, dtype=int)
        labels[..., 1] = 1
        L, grads = made.value_and_grad(network.params, {**network.data, "y": labels})
        assert {np.asarray(a).dtype for a in (L, *grads.values())} == {np.dtype(np.float32)}


@pytest.mark.parametrize("schedule", ["loop", "chunked"])
def test_the_schedule_is_the_one_asked_for(schedule: str, program) -> None:
    options = Options(schedule=schedule)
    for name in ("linear", "lag-two"):
        module = program(name, "numpy", options)
        assert schedule == module.SCHEDULE
        assert bool(module._chunk_length(7, 32, 128, 1)) == (schedule == "chunked")
        agrees(name, Asked(module, options, model(name)), T=7)
        assert module.check()
        assert schedule == module.SCHEDULE


def test_a_schedule_that_says_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match=r"no recurrence of lstm has the form.*of parameters.*leave it out"):
        text("library lstm", "numpy", Options(schedule="chunked"))
    assert "SCHEDULE = " not in text("library lstm", "numpy", Options(schedule="loop")).partition("import")[2]
    with pytest.raises(OptionError, match="--schedule is not for the target numpy-textbook"):
        text("linear", "numpy-textbook", Options(schedule="loop"))


@pytest.mark.parametrize("name", ["linear", *slow("library elman", "lag-two")])
def test_every_fault_in_a_statement_is_found(name: str, program, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(weights="right", layout="BTD")
    planted = lies(text(name, "numpy-textbook", options))
    assert len(planted) > 20
    assert missed(name, planted, lambda _, source: program(name, "numpy-textbook", options, source)) == []
