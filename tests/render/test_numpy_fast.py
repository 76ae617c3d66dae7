"""The fast modules: all that is asked of the textbook's, and what is their own: arrays shared, products joined."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from symbptt.render.numpy_fast import numpy_fast
from tests.render.test_numpy_program import (  # noqa: F401 - asked of these modules too
    EXACT,
    MODELS,
    OFTEN,
    Network,
    derivation,
    error,
    folder,
    imported,
    missed,
    model,
    slow,
    test_a_computed_initial_value_is_no_data_and_passes_its_gradient_on,
    test_a_model_that_states_its_losses_takes_none,
    test_a_module_checks_itself,
    test_a_regulariser_counts_once_and_not_once_a_sample,
    test_adjoints_are_total,
    test_an_assumption_is_used_and_required,
    test_complex_numbers_pass_unconjugated,
    test_each_sample_divides_by_the_sum_of_its_own_mask,
    test_every_gradient_agrees_with_the_equations_as_written,
    test_forward_gives_the_states,
    test_gradients_share_no_memory,
    test_losses_by_name_and_constants_are_asked_for,
    test_nothing_given_is_changed_and_nothing_is_remembered,
    test_only_the_last_step_of_a_last_loss_counts,
    test_the_dtype_of_the_input_is_kept,
    test_whole_numbers_and_lists_are_read,
    test_whole_numbers_may_be_targets_and_masks,
    test_wrong_input_is_named,
)


@cache
def text(name: str) -> str:
    return numpy_fast(derivation(name))


@pytest.fixture
def program(folder: Path):  # noqa: F811 - the fixture
    def build(name: str, source: str | None = None):
        path = folder / f"fast_{re.sub(r'[^a-z0-9]', '_', name)}.py"
        path.write_text(source if source is not None else text(name), encoding="utf-8")
        return imported(path)
    return build


@pytest.mark.parametrize("name", ["library lstm", "library linear", *slow(*MODELS[::4])])
def test_buffers_are_used_again_and_hold_nothing_that_is_returned(name: str, program) -> None:
    module, buffers = program(name), {}
    network, other = Network(model(name), T=4), Network(model(name), T=2)
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    for _ in range(2):
        module.value_and_grad(other.params, other.data, other.loss, buffers=buffers)
        value, first = module.value_and_grad(network.params, network.data, network.loss, buffers=buffers)
        kept = [array for _, arrays in buffers.values() for array in arrays]
        assert kept
        assert not any(np.shares_memory(gradient, array) for gradient in first.values() for array in kept)
        for array in kept:
            array[...] = np.nan
        again, second = module.value_and_grad(network.params, network.data, network.loss, buffers=buffers)
        assert all(a is b for a, b in zip(kept, (a for _, found in buffers.values() for a in found), strict=True))
        assert L == value == again
        for key, gradient in grads.items():
            np.testing.assert_array_equal(first[key], gradient)
            np.testing.assert_array_equal(second[key], gradient)


def test_buffers_of_another_dtype_are_not_used(program) -> None:
    module, buffers, network = program("library elman"), {}, Network(model("library elman"))
    for dtype in ("float64", "float32", "float64"):
        params, data = ({key: np.asarray(value, dtype) for key, value in arrays.items()}
                        for arrays in (network.params, network.data))
        _, grads = module.value_and_grad(params, data, network.loss, buffers=buffers)
        assert {str(gradient.dtype) for gradient in grads.values()} == {dtype}


FAULTS = [(r"np\.add\(", "np.subtract("), (r"np\.subtract\(", "np.add("), (r"np\.multiply\(", "np.add("),
          (r"np\.tanh\(", "np.sin("), (r"np\.reciprocal\(", "np.negative("), (r"np\.negative\(", "np.positive("),
          (r" \+= ", " -= "), (r" -= ", " += "), (r" \*= ", " += "), (r"\.T @", " @"),
          (r" \+ ", " - "), (r" - ", " + "),
          (r"(\w+)_T\b", r"\1"), (r"\[t - 1\]", "[t]"), (r"\[t\]", "[t - 1]"), (r"_rows_back_1\b", "_rows"),
          (r"\[1:T \+ 1\]", "[:T]"), (r"\[:T\]", "[1:T + 1]"), (r"range\(T, 0, -1\)", "range(T - 1, 0, -1)"),
          (r"range\(1, T \+ 1\)", "range(2, T + 1)"), (r", 1, out", ", 2, out"), (r"\((\d), ", r"(2, "),
          (r" = 0$", " = np.nan"), (r"\[0\]", "[1]"), (r"sum\(axis=0\)", "mean(axis=0)"),
          (r"= (np\.concatenate\(\[)(\w+), (\w+)", r"= \1\3, \2")]
"""Patterns in a statement, and what a person might have written instead: every line of the recursions is tried."""

HARMLESS = re.compile(r"= np\.(empty|zeros_like)|^\s+(T|T, \w+|N|dtype|work\w*|block\w*) = |reshape\(|^\s+strip\w+ = |"
                      r"\] = 0$|_arrays\(|^\s+\w+=\(|last - first|^\s+step\w* = |"
                      r"^\s+arrays\[|^\s+\w+ = (given|arrays|direct)\[")
"""Lines in which a fault makes no other module, or none that runs: shapes, scratch, what is overwritten later,
and where a second block of steps begins, as the sample of a module has one (tests/program/test_fast.py has more)."""


def lines_of(source: str) -> list[int]:
    """The numbers of the lines that compute something in the recursions."""
    found, inside = [], False
    for number, line in enumerate(source.splitlines()):
        if line.startswith("def "):
            inside = line.startswith(("def _empty", "def _forward", "def _stored", "def _backward"))
        if inside and re.match(r"    .*(=|np\.)", line) and not HARMLESS.search(line) and '"""' not in line:
            found.append(number)
        if line.strip() == "if not every:":
            inside = False
    return found


def faults(source: str) -> dict[str, str]:
    """Modules with one fault each: a statement changed, or left out."""
    lines, found = source.splitlines(), {}
    for number in lines_of(source):
        code = lines[number].partition("  #")[0]
        for pattern, wrong in FAULTS:
            for hit in re.finditer(pattern, code):
                changed = code[:hit.start()] + hit.expand(wrong) + code[hit.end():]
                if changed != code:
                    found[f"{number}: {code.strip()} -> {changed.strip()}"] = "\n".join(
                        [*lines[:number], changed, *lines[number + 1:]])
        if re.match(r"\s+(np\.\w+\(.*\)|\w+(\[.*\])? [-+*]= .*)$", code):
            found[f"{number}: without {code.strip()}"] = "\n".join([*lines[:number], *lines[number + 1:]])
    return found


LEFT_OUT = ("library irnn", "scalars-inside")
"""With the sign of its bias changed every unit of irnn is dead on the sample, and all gradients are rightly zero; the
other takes a minute.
"""


@pytest.mark.parametrize("name", ["linear", "library lstm", *slow(*(n for n in MODELS[::12] if n not in LEFT_OUT))])
def test_every_fault_in_a_statement_is_found(name: str, program, capsys: pytest.CaptureFixture[str]) -> None:
    planted = faults(text(name))
    assert len(planted) > 5
    if "library" in name:
        planted = dict(list(planted.items())[::7])
    assert missed(name, planted, program) == []
