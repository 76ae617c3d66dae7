"""What modules say to those who give them something wrong, and that they ask for no more than they read."""

import os
import re

import numpy as np
import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")

from symbptt.api import derive as api_derive
from symbptt.derive import derive
from symbptt.model.masked import masked
from symbptt.program.options import OptionError, Options
from symbptt.render.targets import render
from tests.render.faces import JaxFace, TorchFace
from tests.render.test_numpy_program import (  # noqa: F401 - the fixture
    EXACT,
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

TARGETS = ["numpy", "numpy-textbook", "torch", "jax"]
SHAPED = ["linear", "library lstm", "lag-two", "static-everywhere", "two-losses"]


@pytest.fixture
def program(folder):  # noqa: F811 - the fixture
    def build(name: str, target: str):
        path = folder / f"said_{target.replace('-', '_')}_{re.sub(r'[^a-z0-9]', '_', name)}.py"
        path.write_text(render(derivation(name), target), encoding="utf-8")
        made = imported(path)
        return {"torch": TorchFace, "jax": lambda made: JaxFace(made, jit=False)}.get(target, lambda made: made)(made)
    return build


def longer(array: np.ndarray, axis: int) -> np.ndarray:
    return np.concatenate([array, array.take([0], axis)], axis)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SHAPED)
def test_the_array_that_does_not_fit_is_named(name: str, target: str, program) -> None:
    network, module = Network(model(name), T=5, B=3), program(name, target)
    tables, plain = {**module.PARAMETERS, **module.DATA}, re.compile(r"\d+|[a-z]\w*")
    shown = [axis for axes in tables.values() for axis in set(axes)]
    for key, axes in tables.items():
        for place, axis in enumerate(axes):
            if shown.count(axis) == 1 and axes.count(axis) == 1 and plain.fullmatch(axis) and not axis.isdigit():
                continue  # a size that no other array shows, or reads
            group, given = ("params", network.params) if key in module.PARAMETERS else ("data", network.data)
            wrong = longer(given[key], place)
            params, data = ({**own, key: wrong} if own is given else own for own in (network.params, network.data))
            right = f"({', '.join(axes)}) = {given[key].shape}"
            with pytest.raises(ValueError, match=r"has shape .*; expected ") as said:
                module.value_and_grad(params, data, network.loss)
            message = str(said.value)
            if shown.count(axis) == 2 and axes.count(axis) == 1 and not axis.isdigit():
                # One array against one: both are named with their shapes.
                assert f'{group}["{key}"]' in message, (key, axis)
                assert f"shape {wrong.shape}" in message, (key, axis)
            else:
                assert message == f'{group}["{key}"] has shape {wrong.shape}; expected {right}', (key, axis)


@pytest.mark.parametrize("target", TARGETS)
def test_a_transposed_matrix_and_a_packed_one_are_named(target: str, program) -> None:
    network, module = Network(model("library elman"), T=5, B=3), program("library elman", target)
    turned = {**network.params, "W_hx": network.params["W_hx"].T}
    fault(lambda: module.forward(turned, network.data), 'params["W_hx"] has shape (3, 4); expected (h, d) = (4, 3)')
    first = {name: array.swapaxes(0, 1) if array.ndim == 3 else array for name, array in network.data.items()}
    fault(lambda: module.forward(network.params, {**network.data, "x": first["x"]}), 'data["x"] has shape (3, 5, 3)')


@pytest.mark.parametrize("target", TARGETS)
def test_keys_that_are_missing_or_not_known_are_named(target: str, program) -> None:
    network, module = Network(model("constants")), program("constants", target)
    params, data = network.params, network.data

    def run(params=params, data=data):
        return lambda: module.value_and_grad(params, data, network.loss)

    for group, given in (("params", params), ("data", data)):
        for key in given:
            others = {"other" if k == key else k: v for k, v in given.items()}
            fault(run(**{group: others}), f'{group}["{key}"] is missing; expected', f'not known is {group}["other"]')
            fault(run(**{group: {k: v for k, v in given.items() if k != key}}), f'{group}["{key}"] is missing')
        more = {**given, "other": np.ones(1)}
        fault(run(**{group: more}), f'{group}["other"] is not known; {group} holds {next(iter(given))}')
    together = {**params, **data}
    assert module.value_and_grad(together, together, network.loss)[0] == run()()[0]


@pytest.mark.parametrize("target", TARGETS)
def test_a_loss_that_returns_something_else_is_told_what_is_expected(target: str, program) -> None:
    network, module = Network(model("linear"), T=5, B=3), program("linear", target)

    def run(loss):
        return lambda: module.made.value_and_grad(*given, loss) if hasattr(module, "made") else \
            module.value_and_grad(network.params, network.data, loss)

    given = network.params, network.data
    if target == "torch":
        import torch
        given = tuple({name: torch.from_numpy(array) for name, array in arrays.items()} for arrays in given)
    wanted = r"expected two, what it is at each step, \(5, 3\), and the gradient, \(5, 3, 2\)"
    alone = (lambda o, y: o[..., 0] ** 2, "one ndarray") if "numpy" in target else (lambda o, y: 1.5, "one float")
    for loss, said in (alone, (lambda o, y: (o[..., 0], o, y), "3 values"), (lambda o, y: None, "one NoneType")):
        with pytest.raises(TypeError, match=f"the loss l returned {said}; {wanted}"):
            run(loss)()
    fault(run(lambda o, y: (1.5, o)), "the loss l gave values of shape (); expected (5, 3)")
    fault(run(lambda o, y: (o[..., 0], 1.5)), "the loss l gave gradients of shape (); expected (5, 3, 2)")
    fault(run(lambda o, y: o.sum() if "numpy" not in target else (o.sum(), o)),
          "the loss l gave values of shape (); expected (5, 3)")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["linear", "library elman-softmax", "file masked_mean",
                                  *slow(*MODELS[::20], "file lagged_loss")])
def test_targets_that_no_equation_reads_are_asked_for_with_the_loss_alone(name: str, target: str, program) -> None:
    network, module = Network(model(name)), program(name, target)
    data = {key: value for key, value in network.data.items() if key not in module.LOSS_ONLY}
    states, direct = module.forward(network.params, data), network.direct(network.params, network.data)
    whole = module.forward(network.params, network.data)
    for key, stack in whole.items():
        np.testing.assert_array_equal(states[key], stack)
    grads, adjoints = module.backward(network.params, data, states, direct)
    right = module.backward(network.params, network.data, states, direct)
    for found, expected in zip((grads, adjoints), right, strict=True):
        for key, array in expected.items():
            np.testing.assert_array_equal(found[key], array)
    first = next((key for key in module.DATA if key in module.LOSS_ONLY), None)
    if first is not None:
        fault(lambda: module.value_and_grad(network.params, data, network.loss), f'data["{first}"] is missing')


def test_what_equations_read_and_masks_of_padding_are_no_targets_of_losses_alone() -> None:
    assert 'LOSS_ONLY: tuple[str, ...] = ("y",)\n' in render(derivation("linear"), "numpy")
    assert "LOSS_ONLY: tuple[str, ...] = ()\n" in render(derivation("file lagged_loss"), "numpy")
    read = render(derivation("target-lag"), "numpy")
    assert "LOSS_ONLY: tuple[str, ...] = ()\n" in read
    source = render(derive(masked(model("linear"), "mask")), "numpy", options=Options(mask="mask"))
    assert 'LOSS_ONLY: tuple[str, ...] = ("y",)\n' in source


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("T", "B"), [(1, 1), (1, 3), (2, 1)])
@pytest.mark.parametrize("name", ["linear", "lag-three-only", *slow("input-lag-two", "target-lag", "library lstm")])
def test_one_sample_and_fewer_steps_than_lags(name: str, T: int, B: int, target: str, program) -> None:
    network, module = Network(model(name), T=T, B=B), program(name, target)
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    assert error(L, network.objective(network.params, network.data)) < EXACT
    for key, gradient in grads.items():
        assert error(gradient, network.derivative(key)) < EXACT, key


@pytest.mark.parametrize("target", TARGETS)
def test_no_step_is_refused(target: str, program) -> None:
    network, module = Network(model("linear"), T=2), program("linear", target)
    data = {key: array[:0] if array.ndim == 3 else array for key, array in network.data.items()}
    fault(lambda: module.value_and_grad(network.params, data, network.loss), 'data["x"] has no step', "at least 1")
    fault(lambda: module.forward(network.params, data), 'data["x"] has no step', "at least 1")


@pytest.mark.parametrize("target", TARGETS)
def test_a_loss_with_several_gradients_is_told_that_they_are_a_tuple(target: str, program) -> None:
    name = next(n for n in MODELS if any(len(positions) > 1 for positions in carried(n)))
    network, module = Network(model(name)), program(name, target)
    losses = network.loss if isinstance(network.loss, dict) else {network.model.opaque[0]: network.loss}
    whole = {key: lambda *arguments, own=own: (own(*arguments)[0], arguments[0]) for key, own in losses.items()}
    given = whole if isinstance(network.loss, dict) else next(iter(whole.values()))
    with pytest.raises(TypeError, match=r"returned 2 values; expected two.* and a tuple of \d gradients"):
        module.value_and_grad(network.params, network.data, given)


def carried(name: str) -> list:
    network = Network(model(name))
    return [network.carrying(key) for key in network.model.opaque]


@pytest.mark.parametrize("target", TARGETS)
def test_stacks_that_are_not_known_are_named(target: str, program) -> None:
    network, module = Network(model("linear")), program("linear", target)
    params, data = network.params, network.data
    states, direct = module.forward(params, data), network.direct(params, data)
    more = next(iter(states.values()))
    for name, given in (("hh", states), ("x", states), ("h", direct), ("hh", direct)):
        group, held = ("states", states) if given is states else ("direct", direct)
        wrong = {**given, name: more}
        arguments = (wrong, direct) if given is states else (states, wrong)
        fault(lambda a=arguments: module.backward(params, data, *a),
              f'{group}["{name}"] is not known; {group} holds {", ".join(held)}')


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_no_dict_is_refused(target: str, program) -> None:
    network, module = Network(model("linear")), program("linear", target)
    made = getattr(module, "made", module)
    given = {name: list(arrays.values()) for name, arrays in (("params", network.params), ("data", network.data))}
    with pytest.raises(TypeError, match="params is of type list; expected a dict by name"):
        made.value_and_grad(given["params"], network.data, network.loss)
    with pytest.raises(TypeError, match="data is of type list; expected a dict by name"):
        made.forward(network.params, given["data"])
    with pytest.raises(TypeError, match="states is of type list; expected a dict by name"):
        made.backward(network.params, network.data, [], {})


@pytest.mark.parametrize("target", TARGETS)
def test_no_sample_is_refused(target: str, program) -> None:
    network, module = Network(model("linear")), program("linear", target)
    data = {key: array[:, :0] if array.ndim == 3 else array[:0] for key, array in network.data.items()}
    fault(lambda: module.value_and_grad(network.params, data, network.loss), 'data["x"] has no sample; B', "at least 1")


@pytest.mark.parametrize("target", ["torch", "jax"])
def test_complex_numbers_are_refused(target: str, program) -> None:
    network, module = Network(model("constants")), program("constants", target)
    for group, given in (("params", network.params), ("data", network.data)):
        for name, value in given.items():
            both = {"params": network.params, "data": network.data, group: {**given, name: np.asarray(value) + 0.5j}}
            with pytest.raises(TypeError, match=rf'{group}\["{name}"\] is complex; expected'):
                module.forward(both["params"], both["data"])


@pytest.mark.parametrize("target", ["numpy", "numpy-textbook"])
@pytest.mark.parametrize(("made", "said"), [
    (lambda value: np.asarray(value).astype(str), "has dtype <U32; expected numbers"),
    (lambda value: np.asarray(value).astype(object), "has dtype object; expected numbers"),
    (np.ma.masked_array, "is a masked array, whose mask would be lost; expected plain numbers"),
], ids=["texts", "objects", "masked"])
def test_what_is_no_number_is_refused(target: str, made, said: str, program) -> None:
    network, module = Network(model("constants")), program("constants", target)
    for group, given in (("params", network.params), ("data", network.data)):
        for name, value in given.items():
            both = {"params": network.params, "data": network.data, group: {**given, name: made(value)}}
            with pytest.raises(TypeError, match=re.escape(f'{group}["{name}"] {said}')):
                module.forward(both["params"], both["data"])


@pytest.mark.parametrize(("buffers", "said"), [
    ([], "buffers is of type list; expected a dict, empty at first"),
    ({"forward": 3}, "buffers holds 'forward', which no call puts there; expected a dict, empty at first"),
], ids=["a list", "a number"])
def test_what_cannot_keep_work_arrays_is_refused(buffers, said: str, program) -> None:
    network, module = Network(model("linear")), program("linear", "numpy")
    with pytest.raises(TypeError, match=re.escape(said)):
        module.value_and_grad(network.params, network.data, network.loss, buffers=buffers)


@pytest.mark.parametrize("mask", [["m"], 3, {"m": 1}])
def test_a_mask_has_a_name(mask) -> None:
    with pytest.raises(OptionError, match="--mask is the name of the mask in data, such as mask, not "):
        api_derive(model("linear")).to_code("numpy", mask=mask)
