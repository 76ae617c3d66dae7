"""States kept between segments of steps alone: the same L and gradients, out of less memory."""

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.memory import loaded, peak
from symbptt.api import derive
from symbptt.cli import main
from symbptt.program.options import OptionError, Options
from tests.render.test_numpy_program import MODELS, Network, folder, model, slow  # noqa: F401 - the fixture
from tests.render.test_options import FOLLOWED, pass_ruff_and_mypy
from tests.render.test_options_mask import program, text  # noqa: F401 - the fixture

SOME = ["linear", "lag-two", "file lagged_data", "file regularised", "file last_and_mean", "file masked_mean",
        "file two_starts", "library gru", "file delayed_loss", "file lagged_loss", "file static_context",
        "file last_cross_entropy"]
"""Models with every kind of lag, of loss and of value before the first step."""


def quickly_compiled(target: str) -> AbstractContextManager[None]:
    """Modules of jax are compiled in half the time."""
    if target != "jax":
        return nullcontext()
    from tests.render.faces import hardly_optimised

    return hardly_optimised()


QUICK = ["linear", "lag-two", "file lagged_data", "file last_and_mean", "file two_starts"]

PLAIN, AUTO = Options(), Options(checkpoint=True)
ROUNDING = 1e-12
FUNCTIONAL = ["torch", "jax"]
COMBINED = [Options(checkpoint=2, layout="BTD"), Options(checkpoint=True, weights="right", dtype="float64"),
            Options(checkpoint=2, mask=True), Options(checkpoint=3, mask=True, layout="BTD", weights="right"),
            Options(checkpoint=2, fused=True, weights="right")]


def over(quick: list[str]) -> list:
    """The fast program of every second model and the textbook's of some, those in `quick` not among the slow tests."""
    return [pytest.param(target, name, marks=() if name in quick else pytest.mark.slow)
            for target in FOLLOWED for name in dict.fromkeys([*quick, *(MODELS[::2] if target == "numpy" else SOME)])]


@pytest.mark.parametrize(("target", "name"), over(QUICK))
def test_segments_of_any_length_give_the_same(name: str, target: str, program) -> None:  # noqa: F811
    plain, module = program(name, target, PLAIN), program(name, target, AUTO)
    for T in (7, 1):
        network = Network(model(name), T)
        L, grads = plain.value_and_grad(network.params, network.data, network.loss)
        for length in (None, 1, 2, 3, T, T + 5):
            module.CHECKPOINT = length
            value, found = module.value_and_grad(network.params, network.data, network.loss)
            assert abs(value - L) <= ROUNDING * abs(L)
            assert list(found) == list(grads)
            for key, gradient in grads.items():
                assert np.max(np.abs(found[key] - gradient)) <= ROUNDING * max(np.max(np.abs(gradient)), 1), key


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", QUICK)
def test_forward_and_backward_are_those_of_all_steps(name: str, target: str, program) -> None:  # noqa: F811
    plain, module = program(name, target, PLAIN), program(name, target, AUTO)
    network = Network(model(name), 6)
    params, data = network.params, network.data
    states, direct = plain.forward(params, data), network.direct(params, data)
    for key, stack in module.forward(params, data).items():
        np.testing.assert_array_equal(stack, states[key])
    right, found = plain.backward(params, data, states, direct), module.backward(params, data, states, direct)
    for a, b in zip(right, found, strict=True):
        assert a.keys() == b.keys()
        for key, array in a.items():
            np.testing.assert_allclose(b[key], array, rtol=1e-11, atol=1e-13)
    assert (plain.STATES, plain.DIRECT, plain.DATA) == (module.STATES, module.DIRECT, module.DATA)


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", [*SOME[2::4], *slow(*(name for name in SOME if name not in SOME[2::4]))])
def test_a_module_checks_itself(name: str, target: str, program,  # noqa: F811
                                capsys: pytest.CaptureFixture[str]) -> None:
    assert program(name, target, AUTO).check()
    said = capsys.readouterr().out
    for key in Network(model(name)).expected:
        for length in (1, 2):
            assert f"dL/d{key}, CHECKPOINT = {length} " in said


@pytest.mark.parametrize(("target", "name"), [
    ("torch", "linear"),
    *(pytest.param("torch", name, marks=pytest.mark.slow) for name in sorted({*MODELS[::8], *SOME[::2]} - {"linear"})),
    # It takes seconds to compile each.
    *(pytest.param("jax", name, marks=pytest.mark.slow) for name in QUICK[:2])])
def test_a_torch_or_jax_module_checks_itself(name: str, target: str, program) -> None:  # noqa: F811
    pytest.importorskip(target)
    with quickly_compiled(target):
        assert program(name, target, AUTO).check()


@pytest.mark.parametrize(("target", "options"), [
    *(("numpy", o) for o in COMBINED),
    *(pytest.param(target, o, marks=pytest.mark.slow) for target, chosen in [
        ("numpy-textbook", COMBINED), ("torch", COMBINED[::2]), ("jax", COMBINED[1:2])] for o in chosen)], ids=str)
def test_it_combines_with_other_options(options: Options, target: str, program) -> None:  # noqa: F811
    pytest.importorskip(target.partition("-")[0])
    for name in ["library lstm"] if options.fused is not None else ["linear", "lag-two"]:
        with quickly_compiled(target):
            assert program(name, target, options).check()
        assert f"with {options}. Edit the model" in " ".join(text(name, target, options)[:9000].split())


@pytest.mark.parametrize(("names", "targets"), [
    (["lag-two"], ["numpy"]), pytest.param(SOME[::2], [*FOLLOWED, *FUNCTIONAL], marks=pytest.mark.slow)],
    ids=["one", "some"])
def test_modules_pass_ruff_and_mypy_as_they_stand(names: list[str], targets: list[str], tmp_path: Path) -> None:
    options = Options(checkpoint=True, layout="BTD")
    for name in names:
        for target in targets:
            path = tmp_path / f"{re.sub('[^a-z]', '_', name + target)}.py"
            path.write_text(text(name, target, options), encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)


LIES = [
    ("linear", "what later segments send is forgotten", "        if family in CARRIED:", "        if family in ():"),
    ("lag-two", "it is added at a wrong step", "len(found[family]) - 1 - back", "0"),
    ("file lagged_data", "so it is for inputs", "        if family not in STATES:", "        if family in ():"),
    ("file regularised", "a regulariser counts in each segment", "once=float(first == 0)", "once=1.0"),
    ("file two_starts", "computed values count in each segment", "once=float(first == 0)", "once=1.0"),
    ("linear", "the mean is over a segment", "l_values / steps", 'l_values / len(given["x"])'),
    ("linear", "so are its gradients", "dl_do / steps", 'dl_do / len(given["x"])'),
    ("file masked_mean", "so is a masked one", 'counts["m"]', "m.sum(0).clip(1)"),
    ("file last_and_mean", "each segment ends the sequence", "ends=last == T", "ends=True"),
    ("linear", "a segment begins elsewhere", "stacks[family][-1 - back]", "stacks[family][0]"),
    ("file two_starts", "a segment begins as the first", "{**given, **steps, **begin}", "{**given, **steps}"),
    ("linear", "a segment gets other steps", "given[name][first:last]", "given[name][: last - first]"),
    ("linear", "segments begin in another order", "reversed(begins)", "begins"),
    ("linear", "a weight's gradient is that of one segment", "total[name] + gradient", "gradient"),
    ("linear", "L is that of one segment", "L = L + value", "L = value"),
]


@pytest.mark.parametrize("target", [*FOLLOWED, *slow("torch")])
@pytest.mark.parametrize(("name", "what", "old", "new"), LIES, ids=lambda value: None)
def test_a_fault_is_found_by_the_module(name: str, what: str, old: str, new: str, target: str,
                                        program) -> None:  # noqa: F811
    pytest.importorskip(target.partition("-")[0])
    source = text(name, target, AUTO)
    assert source.count(old) == 1, what
    assert not program(name, target, AUTO, source.replace(old, new)).check(), what


JAX_LIES = [
    ("linear", "later = carry\n", "later = carry\n        later = {n: 0 * v for n, v in later.items()}\n"),
    ("linear", "return _reached(window, states), begin\n", "return begin, begin\n"),
    ("file regularised", "jnp.where(number == 0, 1.0, 0.0)", "1.0"),
    ("linear", "l_values / steps", 'l_values / len(given["x"])'),
    ("linear", "numbered, reverse=True)", "numbered)"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), JAX_LIES[::4])
def test_a_fault_is_found_by_the_jax_module(name: str, old: str, new: str, program) -> None:  # noqa: F811
    pytest.importorskip("jax")
    source = text(name, "jax", AUTO)
    assert source.count(old) == 1
    assert not program(name, "jax", AUTO, source.replace(old, new)).check()


def test_a_loss_gets_the_stacks_of_segments(program) -> None:  # noqa: F811
    network, seen = Network(model("linear"), 7), []

    def loss(o, y):
        seen.append((len(o), len(y)))
        return network.loss(o, y)

    program("linear", "numpy", Options(checkpoint=3)).value_and_grad(network.params, network.data, loss)
    assert seen == [(1, 1), (3, 3), (3, 3)]


@pytest.mark.parametrize(("name", "most"), [("linear", 0.25), pytest.param("lstm", 0.15, marks=pytest.mark.slow)])
def test_the_peak_is_far_below_that_of_all_states(name: str, most: float) -> None:
    assert peak(loaded(name, checkpoint=True), 1000) < most * peak(loaded(name), 1000)


def test_buffers_serve_again(program) -> None:  # noqa: F811
    module, network, buffers = program("library gru", "numpy", AUTO), Network(model("library gru"), 7), {}
    first = module.value_and_grad(network.params, network.data, network.loss, buffers=buffers)
    kept = {key: id(part["states"][1][0]) for key, part in buffers.items()}
    again = module.value_and_grad(network.params, network.data, network.loss, buffers=buffers)
    assert kept == {key: id(part["states"][1][0]) for key, part in buffers.items()}
    for key, gradient in first[1].items():
        np.testing.assert_array_equal(again[1][key], gradient)


@pytest.mark.parametrize("value", [0, -3, 2.5, "0", "many", "1.5"])
def test_what_is_no_number_of_steps_is_refused(value: object) -> None:
    with pytest.raises(OptionError, match=r"--checkpoint .*: it is the number of steps of a segment .* or auto"):
        Options(checkpoint=value)


def test_it_is_written_as_it_was_said() -> None:
    assert [str(Options(checkpoint=v)) for v in (True, "auto", 5, "5", None, False)] == [
        "--checkpoint auto"] * 2 + ["--checkpoint 5"] * 2 + [""] * 2


def test_truncation_and_documents_leave_no_room() -> None:
    with pytest.raises(OptionError, match=r"--checkpoint and --truncate 2: .*ask for one of them"):
        Options(checkpoint=4, truncate=2)
    with pytest.raises(ValueError, match="--checkpoint is not for the target text"):
        derive(model("linear")).to_code("text", checkpoint=True)


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["linear", "--checkpoint"], 0, "CHECKPOINT: int | None = None"),
    (["linear", "--checkpoint", "12"], 0, "CHECKPOINT: int | None = 12"),
    (["linear", "--checkpoint", "0"], 2, "must be an integer"),
    (["linear", "--checkpoint", "4", "--truncate", "2"], 2, "ask for one of them")])
def test_the_command_line(arguments: list[str], code: int, said: str) -> None:
    done = CliRunner().invoke(main, ["emit", *arguments])
    assert done.exit_code == code
    assert said in done.output
