"""Options of torch and jax modules: what is asked of NumPy's with options, through the same interface."""

import os
import re
from pathlib import Path

import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")

from symbptt.api import derive
from symbptt.program.options import OptionError, Options
from symbptt.render.targets import render
from tests.render import test_options_mask as padding
from tests.render.asked import Asked
from tests.render.faces import JaxFace, TorchFace
from tests.render.test_numpy_program import derivation, imported, model
from tests.render.test_options import ALL, SOME, agrees, pass_ruff_and_mypy
from tests.render.test_options_fused import LSTM

LIBRARIES = ("torch", "jax")
PACKED = {"W_ifgo": ["W_i", "W_f", "W_g", "W_o"], "U_ifgo": ["U_i", "U_f", "U_g", "U_o"],
          "b_ifgo": ["b_i", "b_f", "b_g", "b_o"]}
OTHERS = {"layout": "BTD", "weights": "right", "dtype": "float64"}


def each(names, quick=()):
    """(library, model): torch, and jax, which compiles, for few models; the rest in slow tests."""
    return [pytest.param(library, name, id=f"{library}-{name}",
                         marks=() if library == "torch" or name in quick else pytest.mark.slow)
            for library in LIBRARIES for name in names]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture
def program(folder: Path):
    def build(name: str, target: str, options: Options, source: str | None = None):
        path = folder / f"{re.sub(r'[^A-Za-z0-9]', '_', f'{name} {target} {options}')}.py"
        text = derive(model(name)).to_code(target, **options.given) if source is None else source
        path.write_text(text, encoding="utf-8")
        made = imported(path)
        return TorchFace(made) if target == "torch" else JaxFace(made, jit=False)
    return build


@pytest.mark.parametrize(("library", "name"), each(SOME, ["lag-two"]))
def test_everything_agrees_with_the_equations_as_written(library: str, name: str, program) -> None:
    agrees(name, Asked(program(name, library, ALL), ALL, model(name)))


@pytest.mark.parametrize(("library", "name"), [
    case for k, case in enumerate(each(SOME)) if case.values[0] == "torch" or k % 3 == 0])  # each takes long to compile
def test_a_module_checks_itself(library: str, name: str, program) -> None:
    assert program(name, library, ALL).check()


@pytest.mark.parametrize("others", [{}, OTHERS], ids=str)
@pytest.mark.parametrize(("library", "name"), each(["library lstm"]))
def test_parameters_of_gates_come_packed(library: str, name: str, others: dict, program) -> None:
    options = Options(fused=LSTM, **others)
    made = program(name, library, options)
    assert {key: list(parts) for key, parts in made.PACKED.items()} == PACKED
    agrees(name, Asked(made, options, model(name), PACKED))
    # It takes jax a minute.
    assert (library == "jax" and others) or made.check()


@pytest.mark.parametrize("others", [{}, OTHERS], ids=str)
@pytest.mark.parametrize(("library", "name"), each(padding.SOME[:-1], ["linear"]))
def test_each_sample_is_as_if_it_were_alone(library: str, name: str, others: dict, program) -> None:
    padding.test_each_sample_is_as_if_it_were_alone(name, library, others, program)


@pytest.mark.parametrize(("library", "name"), each(["linear", "library lstm", "two-losses"]))
def test_padding_has_no_influence_whatever_it_holds(library: str, name: str, program) -> None:
    padding.test_padding_has_no_influence_whatever_it_holds(name, library, program)


@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.slow)])
def test_a_mask_that_is_none_is_refused(library: str, program) -> None:
    padding.test_masks_that_are_none_are_refused(library, program)


FAULTS = [("linear", {"layout": "BTD"}, "given[name].swapaxes(0, 1)", "given[name]"),
          ("linear", {"layout": "BTD"}, "_backward(params, given, size, _swapped(states), _swapped(direct)",
           "_backward(params, given, size, states, _swapped(direct)"),
          ("linear", {"weights": "right"}, "h_before @ W_hh ", "h_before @ W_hh.T "),
          ("linear", {"weights": "right"}, "dW_hh = h_rows_back_1.T @ dL_dh_rows",
           "dW_hh = dL_dh_rows.T @ h_rows_back_1"),
          ("library lstm", {"fused": LSTM}, "W_ifgo\": torch.cat([dW_i, dW_f", "W_ifgo\": torch.cat([dW_f, dW_i"),
          ("linear", {"mask": True}, "torch.where(kept, inside[key], 0)", "inside[key]"),
          ("linear", {"dtype": "float32"}, "DTYPE is None else DTYPE", "DTYPE is None else torch.float16")]


@pytest.mark.parametrize(("name", "given", "old", "new"), FAULTS)
def test_a_fault_is_found_by_the_module(name: str, given: dict, old: str, new: str, program) -> None:
    options = Options(**given)
    source = derive(model(name)).to_code("torch", **options.given)
    assert source.count(old) == 1
    try:
        good = program(name, "torch", options, source.replace(old, new)).check()
    except (RuntimeError, ValueError):
        good = False
    assert not good


@pytest.mark.parametrize("library", LIBRARIES)
def test_options_that_are_not_for_these_targets_are_refused(library: str) -> None:
    with pytest.raises(OptionError, match=f"is not for the target {library}"):
        render(derivation("linear"), library, options=Options(schedule="loop"))


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_modules_pass_ruff_and_mypy_as_they_stand(library: str, tmp_path: Path) -> None:
    for k, (name, given) in enumerate([("linear", OTHERS), ("library lstm", {**OTHERS, "fused": LSTM, "mask": True}),
                                       ("library gru", {"fused": True})]):
        (tmp_path / f"made_{k}.py").write_text(derive(model(name)).to_code(library, **Options(**given).given),
                                               encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)
