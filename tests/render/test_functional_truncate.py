"""Torch and jax modules whose gradients count some uses of the weights: what is asked of NumPy's."""

import os
from pathlib import Path

import numpy as np
import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")

from symbptt.api import derive
from symbptt.program.options import Options
from tests.render import test_options_truncate as of_numpy
from tests.render.asked import Asked
from tests.render.faces import JaxFace
from tests.render.test_functional_options import LIBRARIES, each, folder, program  # noqa: F401 - the fixtures
from tests.render.test_numpy_program import Network, error, model
from tests.render.test_options import pass_ruff_and_mypy
from tests.render.test_options_fused import LSTM, ORDERS

SOME = [*of_numpy.LINEAR, "library lstm", "library jordan", "input-lag-two", "two-states-varying", "static-everywhere"]
CHECKED = ["linear", "lag-two", "file regularised", "library lstm", "static-everywhere", "file masked_mean",
           "input-in-loss"]


@pytest.mark.parametrize(("library", "name", "uses"), [
    pytest.param(*case.values, uses, marks=case.marks, id=f"{case.id}-{uses}")
    for k, case in enumerate(each(SOME)) for uses in ((1, 2, 3) if case.values[0] == "torch" else (2,) * (k % 2))])
def test_gradients_are_what_the_derivation_keeps(library: str, name: str, uses: int, program) -> None:  # noqa: F811
    of_numpy.test_gradients_of_parameters_are_what_the_derivation_keeps(name, uses, library, program)


@pytest.mark.parametrize(("library", "name"), each(of_numpy.LINEAR[1:3]))
def test_what_reaches_inputs_comes_through_windows(library: str, name: str, program) -> None:  # noqa: F811
    of_numpy.test_what_reaches_inputs_and_initial_values_comes_through_windows(name, library, program)


@pytest.mark.parametrize("uses", [4, 100])
@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.slow)])
def test_as_many_uses_as_steps_keep_everything(library: str, uses: int, program) -> None:  # noqa: F811
    of_numpy.test_as_many_uses_as_steps_keep_everything("lag-two", library, uses, program)


@pytest.mark.parametrize(("library", "name", "others"), [
    pytest.param(*case.values, others, marks=case.marks, id=f"{case.id}-{others}")
    for case in each(CHECKED) for others in ({}, of_numpy.ALL)
    # It takes half a minute to compile one for all windows.
    if case.values[0] == "torch" or (others == {} and case.values[1] in CHECKED[1:3])])
def test_a_module_checks_itself(library: str, name: str, others: dict, program,  # noqa: F811
                                capsys: pytest.CaptureFixture[str]) -> None:
    module = program(name, library, Options(truncate=3, **others))
    assert module.check()
    assert module.TRUNCATE == 3
    said = capsys.readouterr().out
    for key in Network(model(name)).expected:
        assert f"dL/d{key}, TRUNCATE = 2 " in said


@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.slow)])
def test_options_combine(library: str, program) -> None:  # noqa: F811
    order, packed = ORDERS["library lstm"]
    network, right = Network(model("library lstm"), 5), of_numpy.kept("library lstm", 2, 5)
    options = Options(truncate=2, fused=order, mask="m", **of_numpy.ALL)
    module = program("library lstm", library, options)
    # It takes minutes to compile it for all windows.
    assert library == "jax" or module.check()
    options = Options(truncate=2, fused=order, **of_numpy.ALL)
    made = Asked(program("library lstm", library, options), options, model("library lstm"), packed)
    _, grads = made.value_and_grad(network.params, network.data, network.loss)
    for key, gradient in right.items():
        assert error(grads[key], gradient) < of_numpy.CLOSE, key


def test_autograd_through_outputs_is_truncated_too(program) -> None:  # noqa: F811
    torch = pytest.importorskip("torch")
    module = program("library elman", "torch", Options(truncate=2)).made
    params, data = module._sample(6, 2, module.CHECKED_SIZES)
    leaves = {name: value.clone().requires_grad_() for name, value in params.items()}
    (family,) = module.OUTPUTS
    (module.outputs(leaves, data)[family] ** 2).sum().backward()
    _, grads = module.value_and_grad(params, data, lambda o, y: ((o**2).sum(-1), 2 * o))
    mean = 6  # the module's L is a mean over the steps
    for name, leaf in leaves.items():
        torch.testing.assert_close(leaf.grad, mean * grads[name])


@pytest.mark.slow
def test_compiled_by_jax_it_is_the_same(folder: Path, program) -> None:  # noqa: F811
    network = Network(model("lag-two"), 5)
    options = Options(truncate=2)
    plain = program("lag-two", "jax", options)
    compiled = JaxFace(plain.made, jit=True)
    right = plain.value_and_grad(network.params, network.data, network.loss)
    found = compiled.value_and_grad(network.params, network.data, network.loss)
    for key, gradient in right[1].items():
        np.testing.assert_allclose(found[1][key], gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("library", "where", "old", "new"), [
    *(("torch", *fault) for fault in of_numpy.FAULTS),
    *(pytest.param("jax", *fault, marks=pytest.mark.slow) for fault in of_numpy.FAULTS[:1])])
def test_a_fault_in_the_windows_is_found_by_the_module(library: str, where: str, old: str, new: str,
                                                       program) -> None:  # noqa: F811
    options = Options(truncate=2)
    source = derive(model("file regularised")).to_code(library, truncate=2)
    wrong = of_numpy.with_a_fault(source, where, old, new)
    assert not of_numpy.passes(program("file regularised", library, options, wrong))


@pytest.mark.parametrize("library", LIBRARIES)
def test_modules_pass_ruff_and_mypy_as_they_stand(library: str, tmp_path: Path) -> None:
    for k, (name, given) in enumerate([("linear", of_numpy.ALL), ("library lstm", {"fused": LSTM, "mask": True})]):
        (tmp_path / f"made_{k}.py").write_text(
            derive(model(name)).to_code(library, **Options(truncate=2, **given).given), encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)
