"""Sequences of different lengths: each sample as if it were alone, whatever stands in the padding."""

import itertools
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sympy import MatrixSymbol

from symbptt.api import derive
from symbptt.model.masked import masked
from symbptt.model.spec import LossTerm, Model, ModelError
from symbptt.program.options import OptionError, Options
from symbptt.render.targets import render
from tests.render.asked import Asked
from tests.render.test_numpy_program import EXACT, Network, error, fault, folder, imported, model  # noqa: F401
from tests.render.test_options import FOLLOWED, derivation, pass_ruff_and_mypy
from tests.render.test_options_fused import LSTM, ORDERS

SOME = ["linear", "lag-two", "two-losses", "input-lag-two", "target-lag", "library elman-softmax", "library lstm",
        "library jordan", "file computed_start", "static-everywhere", "sum-of-states", "file regularised"]
OFTEN = [name if k % 2 == 0 else pytest.param(name, marks=pytest.mark.slow) for k, name in enumerate(SOME)]
ALL = {"layout": "BTD", "weights": "right", "dtype": "float64"}
GARBAGE = [0.0, 3.25, 1e30, -np.inf, np.nan]


@cache
def text(name: str, target: str, options: Options) -> str:
    return derive(model(name)).to_code(target, **options.given)


@pytest.fixture
def program(folder: Path):  # noqa: F811 - the fixture
    def build(name: str, target: str, options: Options, source: str | None = None):
        path = folder / f"{re.sub(r'[^A-Za-z0-9]', '_', f'masked {name} {target} {options}')}.py"
        path.write_text(source if source is not None else text(name, target, options), encoding="utf-8")
        return imported(path)
    return build


def padded(name: str, lengths, T: int, garbage: float = 7.5) -> tuple[Network, dict]:
    """A network of the masked model and its data, with something in the padding."""
    network = Network(masked(model(name), "mask"), T, len(lengths))
    network.data["mask"] = np.asarray(np.arange(T)[:, None] < np.array(lengths), dtype=float)[..., None]
    kept = network.data["mask"] != 0
    for v in (*network.model.inputs, *network.model.targets):
        if v.name != "mask":
            network.data[v.name] = np.where(kept, network.data[v.name], 0)
    spoiled = {v.name: np.where(kept, network.data[v.name], garbage)
               for v in (*network.model.inputs, *network.model.targets) if v.name != "mask"}
    return network, {**network.data, **spoiled}


def alone(name: str, network: Network, b: int, length: int) -> Network:
    """One sample of a network by itself, as long as it is."""
    one = Network(model(name), length, 1)
    one.params = network.params
    timed = {v.name for v in (*one.model.inputs, *one.model.targets)}
    one.data = {k: network.data[k][:length, b:b + 1] if k in timed else network.data[k][b:b + 1] for k in one.data}
    return one


@pytest.mark.parametrize("others", [{}, ALL], ids=str)
@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", OFTEN[:-1])
def test_each_sample_is_as_if_it_were_alone(name: str, target: str, others: dict, program) -> None:
    options, lengths, T = Options(mask=True, **others), (2, 5, 1), 5
    network, data = padded(name, lengths, T)
    made = Asked(program(name, target, options), options, network.model)
    L, grads = made.value_and_grad(network.params, data, network.loss)
    single = [alone(name, network, b, n) for b, n in enumerate(lengths)]
    assert error(L, sum(one.objective(one.params, one.data) for one in single)) < EXACT
    assert grads.keys() == network.expected
    inputs = {v.name for v in network.model.inputs}
    for key, gradient in grads.items():
        right = [one.derivative(key) for one in single]
        if key in inputs:
            for b, n in enumerate(lengths):
                assert error(gradient[:n, b:b + 1], right[b]) < EXACT, key
                assert not np.any(gradient[n:, b])
        elif key in network.params:
            assert error(gradient, sum(right)) < EXACT, key
        else:
            assert error(gradient, np.concatenate(right)) < EXACT, key
    states = made.forward(network.params, data)
    found, adjoints = made.backward(network.params, data, states, network.direct(network.params, network.data))
    for key, gradient in found.items():
        assert error(gradient, grads[key]) < EXACT
    for stack in adjoints.values():
        assert not any(np.any(stack[n:, b]) for b, n in enumerate(lengths))


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", ["file regularised", "library elman-softmax"])
def test_everything_agrees_with_the_equations_of_the_masked_model(name: str, target: str, program) -> None:
    options = Options(mask="m")
    network = Network(masked(model(name), "m"))
    network.data["m"] = np.array([[1, 1], [1, 1], [1, 0], [0, 0]], dtype=float)[..., None]
    network.data |= {k: v * network.data["m"] for k, v in network.data.items() if k in ("x", "y")}
    made = Asked(program(name, target, options), options, network.model)
    L, grads = made.value_and_grad(network.params, network.data, network.loss)
    assert error(L, network.objective(network.params, network.data)) < EXACT
    for key, gradient in grads.items():
        if key != "x":
            assert error(gradient, network.derivative(key)) < EXACT, key


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", SOME[::2])
def test_padding_has_no_influence_whatever_it_holds(name: str, target: str, program) -> None:
    options = Options(mask=True)
    module, found = program(name, target, options), []
    for garbage in GARBAGE:
        network, data = padded(name, (3, 1, 4), 4, garbage)
        network, data = network, {**data, "mask": data["mask"][..., 0]}
        L, grads = module.value_and_grad(network.params, data, network.loss)
        states = module.forward(network.params, data)
        direct = {k: np.where(network.data["mask"] != 0, v, garbage)
                  for k, v in network.direct(network.params, network.data).items()}
        again, adjoints = module.backward(network.params, data, states, direct)
        closed = getattr(module, "hidden_gradients_closed_form", lambda *_: {})(network.params, data, direct)
        found.append([L, *grads.values(), *again.values(), *adjoints.values(), *closed.values()])
    assert all(np.all(np.isfinite(a)) for a in found[0])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("target", FOLLOWED)
def test_what_a_loss_says_of_padding_is_left_out(target: str, program) -> None:
    module = program("linear", target, Options(mask=True))
    network, data = padded("linear", (3, 1), 4)
    data["mask"] = data["mask"][..., 0] != 0

    def spoiled(o, y):
        values, gradient = network.loss(o, y)
        return np.where(data["mask"], values, np.nan), np.where(data["mask"][..., None], gradient, np.inf)

    right, found = (module.value_and_grad(network.params, data, f) for f in (network.loss, spoiled))
    assert right[0] == found[0]
    for key, gradient in right[1].items():
        np.testing.assert_array_equal(gradient, found[1][key])


@pytest.mark.parametrize("others", [{}, ALL], ids=str)
@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", OFTEN)
def test_a_module_checks_itself_with_padding_that_is_no_number(name: str, target: str, others: dict, program,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    module = program(name, target, Options(mask=True, **others))
    assert module.check()
    assert "WRONG" not in capsys.readouterr().out


@pytest.mark.parametrize("target", FOLLOWED)
def test_all_options_at_once(target: str, program, tmp_path: Path) -> None:
    order, packed = ORDERS["library lstm"]
    options = Options(mask="kept", fused=order, layout="BTD", weights="right", dtype="float64")
    network, data = padded("library lstm", (2, 4), 4, np.nan)
    module = program("library lstm", target, options)
    made = Asked(module, options, masked(model("library lstm"), "kept"), packed)
    _, grads = made.value_and_grad(network.params, {"kept": data.pop("mask"), **data}, network.loss)
    for key in ("U_f", "b_o", "h_0", "W_p"):
        assert error(grads[key], network.derivative(key)) < EXACT, key
    assert module.check()
    head = " ".join(text("library lstm", target, options).partition("import")[0].split())
    assert f"--layout BTD --weights right --dtype float64 --fused {LSTM} --mask kept." in head


FAULTS = [("_inside", "np.where(kept, inside[key], 0)", "inside[key]"),
          ("_inside", "np.where(kept, inside[key], 0)", "np.where(~kept, inside[key], 0)"),
          ("_objective", "dl_do * mask / M", "dl_do * mask / len(mask)"),
          ("_where_kept", "np.where(mask != 0, gradient, 0)", "np.where(mask == 0, gradient, 0)"),
          ("_without_padding", "mask != 0", "mask == 0")]


@pytest.mark.parametrize(("where", "old", "new"), FAULTS)
def test_a_fault_in_the_mask_is_found_by_the_module(where: str, old: str, new: str, program) -> None:
    source = text("linear", "numpy-textbook", Options(mask=True))
    start = source.index(f"def {where}(")
    end = source.find("\ndef ", start)
    assert old in source[start:end], source[start:end]
    wrong = source[:start] + source[start:end].replace(old, new, 1) + source[end:]
    assert not program("linear", "numpy-textbook", Options(mask=True), wrong).check()


@pytest.mark.parametrize("target", FOLLOWED)
def test_masks_that_are_none_are_refused(target: str, program) -> None:
    network, data = padded("linear", (3, 1), 4)
    mask = data["mask"][..., 0]
    for layout in ("TBD", "BTD"):
        module = program("linear", target, Options(mask=True, layout=layout))
        turned = (lambda v: np.swapaxes(v, 0, 1)) if layout == "BTD" else np.asarray
        given = {k: turned(v) if v.ndim == 3 else v for k, v in data.items()}

        def run(m, module=module, given=given):
            return lambda: module.value_and_grad(network.params, {**given, "mask": m}, network.loss)

        run(turned(mask))()
        run(turned(mask.astype(int)))()
        fault(run(turned(mask)[..., None]), 'data["mask"]', "(T, B)" if layout == "TBD" else "(B, T)")
        fault(run(turned(mask)[:1]), 'data["mask"]', "(4, 2)" if layout == "TBD" else "(2, 4)")
        fault(run(turned(mask) * 2), 'data["mask"] holds more than 0 and 1')
        fault(run(turned(mask) * np.nan), 'data["mask"] holds more than 0 and 1')
        fault(run(turned(mask[::-1])), 'data["mask"] has a 0 before a 1 in sample 0; padding stands at the end')
        fault(run(turned(mask * [1, 0])), 'data["mask"] has no step that counts for sample 1')
        fault(lambda module=module, given=given: module.value_and_grad(
            network.params, {k: v for k, v in given.items() if k != "mask"}, network.loss), 'data["mask"] is missing')


def test_a_sum_may_have_samples_without_a_step(program) -> None:
    network, data = padded("sum-of-states", (3, 0), 4)
    for target in FOLLOWED:
        module = program("sum-of-states", target, Options(mask=True))
        _, grads = module.value_and_grad(network.params, {**data, "mask": data["mask"][..., 0]}, network.loss)
        assert not np.any(grads["x"][:, 1])
        assert not np.any(grads["h_0"][1])
        assert np.all(grads["x"][:3, 0])


@pytest.mark.parametrize(("name", "words"), [
    ("file masked_mean", r"has the mask m already; set it to 0 in the padding"),
    ("file last_direct", r"is read at t = T alone.*give it reduce = \"sum\"")])
def test_models_that_leave_no_room_are_refused(name: str, words: str) -> None:
    with pytest.raises(OptionError, match=f"--mask mask: the loss .*{words}"):
        derive(model(name)).to_code("numpy", mask=True)


@pytest.mark.parametrize("taken", ["x", "W_hh", "h", "T", "a b", "lambda", "m_t"])
def test_a_name_that_is_taken_or_none_is_refused(taken: str) -> None:
    with pytest.raises(OptionError, match=f"--mask {taken}: "):
        derive("linear").to_code("numpy", mask=taken)


def test_a_derivation_without_the_mask_is_refused() -> None:
    with pytest.raises(OptionError, match="--mask mask: the model was derived without this mask"):
        render(derivation("linear"), "numpy", options=Options(mask=True))


def test_the_model_with_a_mask_differs_in_its_losses_alone() -> None:
    plain = model("file regularised")
    made = masked(plain, "mask")
    mask = MatrixSymbol("mask", 1, 1)
    assert made.targets == (*plain.targets, mask)
    assert [term.mask for term in made.losses] == [None if term.reduce == "once" else mask for term in plain.losses]
    assert replace(made, targets=plain.targets, losses=plain.losses) == plain
    assert isinstance(made, Model)
    assert all(isinstance(term, LossTerm) for term in made.losses)
    with pytest.raises(ModelError, match="has the mask mask already"):
        masked(masked(model("linear"), "mask"), "other")


def test_modules_pass_ruff_and_mypy_as_they_stand(tmp_path: Path) -> None:
    for k, (name, target) in enumerate(itertools.product(("library elman-softmax", "two-losses"), FOLLOWED)):
        (tmp_path / f"m{k}.py").write_text(text(name, target, Options(mask=True, **ALL)), encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)
