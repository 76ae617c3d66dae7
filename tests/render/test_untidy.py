"""Losses that write to what they are given or return other kinds of numbers, and targets of few bits in equations."""

import os
from pathlib import Path

import numpy as np
import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")

import jax.numpy as jnp
import torch

from symbptt.derive import derive
from symbptt.model.read import loads
from symbptt.program.options import Options
from symbptt.render.targets import render
from tests.render.faces import JaxFace, TorchFace
from tests.render.test_numpy_program import error, imported

OPEN = """
name = "open"
[sizes]
d = "input"
h = "hidden"
[parameters]
W = "h, h"
U = "h, d"
[inputs]
x = "d"
[targets]
y = "h"
[states]
h = "h"
[equations]
h = "tanh(W @ h[t-1] + U @ x)"
[[loss]]
term = "l(h, y)"
reduce = "sum"
"""

BITS = """
name = "bits"
[sizes]
h = "hidden"
q = "output"
[parameters]
W = "h, h"
E = "h, q"
V = "q, h"
[inputs]
x = "h"
[targets]
y = "q"
[states]
h = "h"
[equations]
e = "y[t-1] - y[t-2] + square(y[t-1]) - dot(y[t-1], y[t-2])*y[t-1]"
h = "tanh(W @ h[t-1] + E @ e + x)"
o = "V @ h"
[[loss]]
term = "squared_error(o, y)"
"""


def module(text: str, target: str, options: Options, folder: Path):
    path = folder / f"{loads(text).name}_{target.replace('-', '_')}.py"
    path.write_text(render(derive(loads(text)), target, options=options), encoding="utf-8")
    made = imported(path)
    return {"torch": TorchFace, "jax": lambda made: JaxFace(made, jit=False)}.get(target, lambda made: made)(made)


def arrays(made, T: int = 5, B: int = 2, seed: int = 0):
    random, shapes = np.random.default_rng(seed), made._shapes(T, B, made.CHECKED_SIZES)
    return tuple({name: random.normal(size=shapes[name]) / 2 for name in table}
                 for table in (made.PARAMETERS, made.DATA))


def writes_to(place: int):
    """A loss that is right, and then writes to one of its arguments."""
    def loss(*arguments):
        h = arguments[0]
        result = (h * h).sum(-1) / 2, h + 0
        arguments[place][...] -= 1
        return result
    return loss


@pytest.mark.parametrize("options", [Options(), Options(checkpoint=2), Options(layout="BTD"), Options(dtype="float64")])
@pytest.mark.parametrize("target", ["numpy", "numpy-textbook", "torch"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_loss_that_writes_to_its_arguments_is_refused(target: str, options: Options, place: int, tmp_path) -> None:
    made = module(OPEN, target, options, tmp_path)
    params, data = arrays(made)
    if target == "torch":
        made = made.made
        params, data = ({k: torch.from_numpy(a) for k, a in given.items()} for given in (params, data))
    with pytest.raises(ValueError, match="read-only" if target != "torch" else "the loss l wrote to its arguments"):
        made.value_and_grad(params, data, writes_to(place))


@pytest.mark.parametrize("options", [Options(), Options(checkpoint=2)])
@pytest.mark.parametrize("target", ["numpy", "numpy-textbook"])
def test_a_loss_may_return_numbers_of_any_real_dtype(target: str, options: Options, tmp_path) -> None:
    made = module(OPEN, target, options, tmp_path)
    params, data = arrays(made)

    def ones(dtype):
        return lambda h, y: (np.ones(h.shape[:2], dtype), np.ones(h.shape, dtype))

    _, right = made.value_and_grad(params, data, ones(float))
    for dtype in (int, bool, np.float32):
        L, grads = made.value_and_grad(params, data, ones(dtype))
        assert np.asarray(L).dtype == float
        assert all(np.array_equal(grads[name], right[name]) for name in right), dtype
    for dtype in (complex, object):
        with pytest.raises(TypeError, match=r"the loss l gave numbers of dtype \w+; expected float64"):
            made.value_and_grad(params, data, ones(dtype))


def test_torch_differentiates_a_loss_that_reads_a_part_of_its_arguments(tmp_path) -> None:
    made = module(OPEN.replace("l(h, y)", "l(h, a, y)").replace('h = "tanh(', 'a = "U @ x"\nh = "tanh('), "torch",
                  Options(), tmp_path).made
    params, data = ({k: torch.from_numpy(a) for k, a in given.items()} for given in arrays(made))
    right = made.value_and_grad(params, data, lambda h, a, y: ((h * y).sum(-1), (y, torch.zeros_like(a))))
    with torch.inference_mode():
        inside = made.value_and_grad(params, data, lambda h, a, y: (h * y).sum(-1))
    for L, grads in (made.value_and_grad(params, data, lambda h, a, y: (h * y).sum(-1)), inside):
        assert torch.equal(L, right[0])
        assert all(torch.equal(grads[name], right[1][name]) for name in grads)
    with pytest.raises(ValueError, match="the loss l gave values that torch cannot differentiate"):
        made.value_and_grad(params, data, lambda h, a, y: (h.detach() * y).sum(-1))


@pytest.mark.parametrize("target", ["torch", "jax"])
def test_value_and_gradient_are_of_one_draw(target: str, tmp_path) -> None:
    made = module(OPEN, target, Options(), tmp_path).made
    library, to = (torch, torch.from_numpy) if target == "torch" else (jnp, jnp.asarray)
    params, data = ({k: to(a) for k, a in part.items()} for part in arrays(made))
    scales = iter(range(1, 100))
    # The values are linear in h, so that they tell their scale.
    L, grads = made.value_and_grad(params, data, lambda h, y: next(scales) * h.sum(-1) + 0 * y.sum(-1))
    scale = float(L) / float(made.forward(params, data)["h"].sum())
    assert scale == pytest.approx(round(scale), rel=1e-4)
    _, right = made.value_and_grad(params, data, lambda h, y: (scale * h.sum(-1) + 0 * y.sum(-1),
                                                               scale * library.ones_like(h)))
    assert all(error(np.asarray(grads[name]), np.asarray(right[name])) < 1e-4 for name in grads)


@pytest.mark.parametrize("target", ["torch", "jax"])
@pytest.mark.parametrize("place", [0, 1])
def test_complex_numbers_of_a_loss_are_refused(target: str, place: int, tmp_path) -> None:
    made = module(OPEN, target, Options(), tmp_path)

    def loss(h, y):
        result = [(h * h).sum(-1) / 2, h + 0 * y]
        result[place] = result[place] + 0j
        return tuple(result)

    with pytest.raises(TypeError, match=r"the loss l gave complex numbers; expected (torch\.)?float\d\d"):
        made.made.value_and_grad(*({k: (torch.from_numpy if target == "torch" else jnp.asarray)(a)
                                    for k, a in part.items()} for part in arrays(made)), loss)


@pytest.mark.parametrize("options", [Options(), Options(checkpoint=2), Options(truncate=2)])
@pytest.mark.parametrize("target", ["numpy", "numpy-textbook", "torch", "jax"])
def test_equations_compute_with_targets_of_few_bits_as_with_others(target: str, options: Options, tmp_path) -> None:
    """np.uint8(0) - np.uint8(1) is 255, and truths cannot be subtracted."""
    made = module(BITS, target, options, tmp_path)
    params, data = arrays(made)
    random = np.random.default_rng(1)
    for dtype, end in ((np.uint8, 40), (bool, 2)):
        for begin in ("whole", "halves"):
            whole = {name: random.integers(0, end, data[name].shape).astype(dtype) for name in ("y", "y_0", "y_m1")}
            halves = {name: whole[name] + 0.5 for name in ("y_0", "y_m1") if begin == "halves"}
            given = {**data, **whole, **halves}
            L, grads = made.value_and_grad(params, given)
            right, others = made.value_and_grad(params, {name: array.astype(float) for name, array in given.items()})
            assert np.allclose(L, right, rtol=1e-12, atol=0)
            assert all(np.allclose(grads[name], others[name], rtol=1e-9, atol=1e-9) for name in others), (dtype, begin)
