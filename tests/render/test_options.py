"""Modules with options: each against the equations as written, through an interface that undoes the options."""

import contextlib
import itertools
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from symbptt.program.edits import edits
from symbptt.program.options import Options
from symbptt.render.targets import TARGETS, programs, render
from tests.render.asked import Asked
from tests.render.test_numpy_program import (  # noqa: F401 - the fixture among them
    EXACT,
    HEAVY,
    MODELS,
    Network,
    derivation,
    error,
    fault,
    folder,
    imported,
    model,
    slow,
)

SOME = ["linear", "lag-two", "row-parameters", "two-losses", "input-lag-two", "file regularised", "file last_direct",
        "file computed_start", "file masked_mean", "static-everywhere", "library lstm", "target-lag"]
"""Models that between them have every kind of array, of loss and of gradient."""

FOLLOWED = ["numpy", "numpy-textbook"]
CHANGES = {"layout": ("BTD",), "weights": ("right",)}
"""For each option that any model can follow the values that change something."""

COMBINED = [Options(**dict(zip(names, values, strict=True))) for names in itertools.chain.from_iterable(
    itertools.combinations(CHANGES, k) for k in range(1, len(CHANGES) + 1))
    for values in itertools.product(*(CHANGES[name] for name in names))]


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
    closed = made.hidden_gradients_closed_form(params, data, direct) if "closed_form" in dir(made.module) else {}
    for family, stack in [*adjoints.items(), *closed.items()]:
        assert error(stack, network.adjoint(family)) < EXACT, family


@pytest.mark.parametrize("options", COMBINED, ids=str)
@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", [*SOME, *slow(*(n for n in MODELS if n not in SOME))])
def test_everything_agrees_with_the_equations_as_written(name: str, target: str, options: Options, program) -> None:
    agrees(name, asked(name, target, options, program))


@pytest.mark.parametrize("options", COMBINED, ids=str)
@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", [*SOME, *slow(*(n for n in MODELS if n not in SOME and n not in HEAVY))])
def test_a_module_checks_itself(name: str, target: str, options: Options, program,
                                capsys: pytest.CaptureFixture[str]) -> None:
    assert program(name, target, options).check()
    said = capsys.readouterr().out
    for key in Network(model(name)).expected:
        assert f"dL/d{key} " in said
    assert "WRONG" not in said


@pytest.mark.parametrize("names", [SOME[::3], pytest.param(MODELS, marks=pytest.mark.slow)], ids=["some", "all"])
def test_modules_pass_ruff_and_mypy_as_they_stand(names: list[str], tmp_path: Path) -> None:
    for k, (name, target, options) in enumerate(itertools.product(names, FOLLOWED, COMBINED)):
        (tmp_path / f"m{k}.py").write_text(text(name, target, options), encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)


def pass_ruff_and_mypy(place: Path) -> None:
    clean = place / "clean.toml"
    clean.write_text(
        "line-length = 120\n[lint]\nextend-select = ['E', 'W', 'I', 'B', 'UP', 'SIM']\n", encoding="utf-8")
    for tool, *arguments in (("ruff", "check", "--isolated", "--line-length", "120"),
                             ("ruff", "check", "--config", str(clean), "--no-cache"),
                             ("mypy", "--strict", "--config-file=", f"--cache-dir={place / 'cache'}")):
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"{tool} is not installed")
        done = subprocess.run([found, *arguments, str(place)], capture_output=True, text=True)
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
