"""The torch and jax modules: all that is asked of NumPy's, and that each needs nothing but its own library."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")

from tests.render import test_numpy_program as numpy_tests
from tests.render.faces import TorchFace, double, face, hardly_optimised, text, truth
from tests.render.test_numpy_program import EXACT, MODELS, Network, derivation, error, model

LIBRARIES = ("torch", "jax")

QUICK = ["linear", "lag-two", "two-states-varying", "constants", "target-lag", "input-in-loss", "nasty",
         "started-by-the-same-weights", "losses-of-all-kinds", "static-everywhere", "functions-of-weights",
         "library elman", "library jordan", "library gru", "file masked_mean", "file regularised",
         "file computed_start", "file attention"]
"""The models that torch is asked of in the quick suite; all are in the slow one."""

COMPILED = ["lag-two", "file regularised", "losses-of-all-kinds"]
"""And jax, which takes seconds to compile a model."""


def cases(torch_quick, jax_quick, names=MODELS):
    """(library, model); slow but for the models that are listed."""
    quick = {"torch": torch_quick, "jax": jax_quick}
    return [pytest.param(library, name, marks=() if name in quick[library] else pytest.mark.slow,
                         id=f"{library}-{name}") for library in LIBRARIES for name in names]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("functional")


@pytest.fixture
def program(folder: Path):
    def build(library: str, name: str, jit: bool = False) -> TorchFace:
        return face(folder, library, name, jit)
    return build


SELDOM = pytest.mark.parametrize("of_library", ["torch", pytest.param("jax", marks=pytest.mark.slow)], indirect=True)
"""For what takes jax seconds."""


@pytest.fixture(params=LIBRARIES)
def of_library(request, program):
    """The modules of one library by the names of their models, as the tests of NumPy's ask for them."""
    return lambda name: program(request.param, name)


@pytest.mark.parametrize(("library", "name"), cases(QUICK, COMPILED))
def test_gradients_states_and_adjoints_agree_with_the_equations_as_written(library: str, name: str, program) -> None:
    right, made = truth(name), program(library, name, jit=True)
    network = right.network
    L, grads = made.value_and_grad(network.params, network.data, network.loss)
    assert error(L, right.L) < EXACT
    assert grads.keys() == network.expected
    for key, gradient in grads.items():
        assert error(gradient, right.grads[key]) < EXACT, key
    states = made.forward(network.params, network.data)
    assert states.keys() == network.model.defined.keys()
    env = network.states(network.params, network.data)
    for family, stack in states.items():
        for t, b in np.ndindex(stack.shape[:2]):
            np.testing.assert_allclose(stack[t, b], env[family, t + 1, b][:, 0], rtol=1e-13, atol=1e-13)
    grads, adjoints = made.backward(network.params, network.data, states, right.direct)
    assert grads.keys() == network.expected
    assert adjoints.keys() == network.model.defined.keys()
    for family, stack in adjoints.items():
        assert error(stack, network.adjoint(family)) < EXACT, family


@pytest.mark.parametrize("T", [1, 2])
@pytest.mark.parametrize(("library", "name"), cases(
    ["lag-three-only", "losses-of-all-kinds"], ["lag-three-only"],
    ["lag-three-only", "losses-of-all-kinds", "input-lag-two", "target-lag", "two-states-varying", "library lstm",
     "library gru", "file computed_start", "file masked_mean"]))
def test_few_steps_are_enough(library: str, name: str, T: int, program) -> None:
    right, made = truth(name, T), program(library, name, jit=True)
    L, grads = made.value_and_grad(right.network.params, right.network.data, right.network.loss)
    assert error(L, right.L) < EXACT
    for key, gradient in grads.items():
        assert error(gradient, right.grads[key]) < EXACT, key


# jax compiles five functions for a check, twice; every model in tests of its own gradients is enough.
@pytest.mark.parametrize(("library", "name"), [
    *cases(QUICK, [])[:len(MODELS)],
    *cases([], [], [*MODELS[::16], "file regularised", "library elman", "losses-of-all-kinds"])[
        len(MODELS[::16]) + 3:]])
def test_a_module_checks_itself(library: str, name: str, program, capsys: pytest.CaptureFixture[str]) -> None:
    with hardly_optimised():
        assert program(library, name).check()
    said = capsys.readouterr().out
    for key in Network(model(name)).expected:
        assert f"dL/d{key} " in said
    assert "WRONG" not in said


KEPT = ["bias-only-equation", "residual", "numbers", "scalars-inside", "library lstm", "constants", "target-lag",
        "losses-of-all-kinds", "library jordan", "file masked_sum", "file computed_start", "file activations"]


@pytest.mark.parametrize(("library", "name"), cases(KEPT, ["constants"], KEPT))
def test_the_dtype_of_the_input_is_kept(library: str, name: str, program) -> None:
    numpy_tests.test_the_dtype_of_the_input_is_kept(name, lambda name: program(library, name, jit=True))


@pytest.mark.parametrize("number", [0.6, np.float64(0.6), np.array(0.6)])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_constant_of_any_kind_is_not_rounded_and_leaves_the_dtype(library: str, number, program) -> None:
    right = truth("constants")
    made = program(library, "constants", jit=True)
    L, _ = made.value_and_grad({**right.network.params, "gamma": number}, right.network.data, right.network.loss)
    assert error(L, right.L) < EXACT
    narrow = Network(model("constants"), dtype=np.float32)
    L, grads = made.value_and_grad({**narrow.params, "gamma": number}, narrow.data, narrow.loss)
    assert {a.dtype for a in (L, *grads.values())} == {np.dtype(np.float32)}


@SELDOM
def test_whole_numbers_may_be_targets_and_masks(of_library) -> None:
    numpy_tests.test_whole_numbers_may_be_targets_and_masks(of_library)


def test_whole_numbers_and_lists_are_read(of_library) -> None:
    numpy_tests.test_whole_numbers_and_lists_are_read(of_library)


@SELDOM
def test_each_sample_divides_by_the_sum_of_its_own_mask(of_library) -> None:
    numpy_tests.test_each_sample_divides_by_the_sum_of_its_own_mask(of_library)


def test_only_the_last_step_of_a_last_loss_counts(of_library) -> None:
    numpy_tests.test_only_the_last_step_of_a_last_loss_counts(of_library)


@SELDOM
def test_a_regulariser_counts_once_and_not_once_a_sample(of_library) -> None:
    numpy_tests.test_a_regulariser_counts_once_and_not_once_a_sample(of_library)


def test_a_model_that_states_its_losses_takes_none(of_library) -> None:
    numpy_tests.test_a_model_that_states_its_losses_takes_none(of_library)


def test_an_assumption_is_required(of_library) -> None:
    network = Network(model("library elman-softmax"))
    network.data["y"] = 2 * network.data["y"]
    module = of_library("library elman-softmax")
    numpy_tests.fault(lambda: module.value_and_grad(network.params, network.data), 'data["y"]', "add up to one")


def test_a_computed_initial_value_is_no_data_and_passes_its_gradient_on(of_library) -> None:
    numpy_tests.test_a_computed_initial_value_is_no_data_and_passes_its_gradient_on(of_library)


def test_wrong_input_is_named(of_library) -> None:
    numpy_tests.test_wrong_input_is_named(of_library)


def test_losses_by_name_and_constants_are_asked_for(of_library) -> None:
    numpy_tests.test_losses_by_name_and_constants_are_asked_for(of_library)


def test_nothing_given_is_changed_and_nothing_is_remembered(program) -> None:
    numpy_tests.test_nothing_given_is_changed_and_nothing_is_remembered(lambda name: program("torch", name))


ALONE = ["residual", "bias-only-equation", "started-and-not-read", "slices-of-everything", "nasty"]


@pytest.mark.parametrize(("library", "name"), cases(ALONE, [])[:len(MODELS)])
def test_results_of_torch_share_no_memory(library: str, name: str, program) -> None:
    for T in (1, 3):
        network, made = Network(model(name), T=T), program(library, name)
        states = made.forward(network.params, network.data)
        direct = network.direct(network.params, network.data)
        _, grads = made.value_and_grad(network.params, network.data, network.loss)
        again, adjoints = made.backward(network.params, network.data, states, direct)
        given = [*network.params.values(), *network.data.values(), *direct.values()]
        for results in (grads.values(), states.values(), [*again.values(), *adjoints.values()]):
            found = [*results]
            assert not any(np.shares_memory(a, b) for k, a in enumerate(found) for b in [*found[k + 1:], *given])


@pytest.mark.parametrize(("wide", "narrow"), [(7, 3), (3, 7), (4, 4)])
def test_the_product_over_rows_is_one_in_both_orders(wide: int, narrow: int, program) -> None:
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(1)
    a, b, c = (rng.standard_normal((3, 5, n)) for n in (wide, narrow, wide))
    over_rows = program("jax", "linear")._over_rows
    with double():
        for f in (jax.vmap(over_rows), jax.jit(jax.vmap(over_rows))):
            np.testing.assert_allclose(f(a, b), np.einsum("snw,snm->swm", a, b), rtol=1e-12)
        _, along = jax.jvp(lambda a: over_rows(a, b[0]), (a[0],), (c[0],))
        np.testing.assert_allclose(along, np.einsum("nw,nm->wm", c[0], b[0]), rtol=1e-12)


@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.slow)])
def test_run_as_a_program_it_needs_its_library_only(library: str, tmp_path: Path) -> None:
    source = text(library, "linear")
    assert set(re.findall(r"^(?:from|import) (\w+)", source, re.M)) == {
        "__future__", "sys", "collections", "typing", library}
    path = tmp_path / "linear.py"
    path.write_text(source, encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all gradients agree" in done.stdout


def test_a_wrong_module_run_as_a_program_fails(tmp_path: Path) -> None:
    path = tmp_path / "linear.py"
    wrong = text("torch", "linear").replace("dL_dh_after @ W_hh", "dL_dh_after @ W_hh.T")
    assert wrong != text("torch", "linear")
    path.write_text(wrong, encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "not all gradients agree" in done.stdout


def test_conventions_and_units_are_stated() -> None:
    said = " ".join(text("torch", "file activations").split())
    assert "relu has no derivative at 0; 0 stands" in said
    assert "hard_tanh has no derivative at -1 and 1; 0 stands" in said
    for library in LIBRARIES:
        assert f"target {library}." in " ".join(text(library, "linear").split())
        label = derivation("linear").label("adjoint", "h")
        assert re.search(rf"dL_dh_t = .*  # \(.*\b{label}\)\n", text(library, "linear"))


def test_equal_models_give_equal_bytes() -> None:
    names = ("library elman-softmax", "losses-of-all-kinds", "two-states-varying")
    script = ("from tests.render.test_numpy_program import derivation\nfrom symbptt.render.targets import render\n"
              f"for name in {names}:\n  for library in {LIBRARIES}:\n    print(render(derivation(name), library))")
    runs = [subprocess.run([sys.executable, "-c", script], cwd=numpy_tests.ROOT, capture_output=True, text=True,
                           check=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "77")]
    assert runs[0] == runs[1] == "".join(f"{text(library, name)}\n" for name in names for library in LIBRARIES)


@pytest.mark.parametrize("names", [MODELS[::12], pytest.param(MODELS, marks=pytest.mark.slow)], ids=["some", "all"])
def test_modules_pass_ruff_as_they_stand(names: list[str], tmp_path: Path) -> None:
    written(names, tmp_path)
    clean(tmp_path, "ruff", "check", "--isolated", "--no-cache", "--line-length", "120", "--select",
          "E,F,W,I,B,UP,SIM,RET,C4")


@pytest.mark.slow
def test_modules_pass_mypy_as_they_stand(tmp_path: Path) -> None:
    written(MODELS[::5], tmp_path)
    clean(tmp_path, "mypy", "--config-file=", "--strict", f"--cache-dir={tmp_path.parent / 'mypy'}")


def written(names: list[str], folder: Path) -> None:
    """The modules of some models in files."""
    for library in LIBRARIES:
        for name in names:
            path = folder / f"{library}_{re.sub(r'[^a-z0-9]', '_', name)}.py"
            path.write_text(text(library, name), encoding="utf-8")


def clean(folder: Path, tool: str, *arguments: str) -> None:
    """A tool says nothing against what is in a folder."""
    if not os.environ.get("SYMBPTT_CI"):
        pytest.importorskip(tool)
    done = subprocess.run([sys.executable, "-m", tool, *arguments, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
