"""The stacks that losses read, as torch and jax differentiate them: beside other modules and transformed."""

import os
from pathlib import Path

import numpy as np
import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")
import jax
import jax.numpy as jnp
import torch

from tests.render.faces import JaxFace, TorchFace, arrays, host, module, there, truth
from tests.render.test_numpy_program import EXACT, MODELS, Network, error, model, slow

KINDS = ["lag-two", "lag-three-only", "constants", "input-in-loss", "error-against-input", "two-losses", "target-lag",
         "started-by-the-same-weights", "losses-of-all-kinds", "file regularised", "file computed_start",
         "static-everywhere", "unused"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture
def made(folder: Path):
    return lambda library, name: module(folder, library, name)


def varying(network: Network) -> list[str]:
    """What carries a gradient."""
    return sorted(network.expected)


def split(network: Network, leaves, others):
    """Parameters and data, with leaves for those that carry a gradient."""
    return ({k: leaves.get(k, others[k]) for k in network.params}, {k: leaves.get(k, others[k]) for k in network.data})


def by_torch(states, network: Network, leaves, others, direct):
    """Gradients of what is sent to the stacks that losses read, through the states that a function gives."""
    params, data = split(network, leaves, others)
    read = {**data, **states(params, data)}
    total = torch.stack([(read[name] * sent).sum() for name, sent in direct.items()]).sum()
    return torch.autograd.grad(total, list(leaves.values()), allow_unused=True)


@pytest.mark.parametrize("name", [*KINDS, *slow(*(n for n in MODELS if n not in KINDS))])
def test_autograd_takes_the_recursion_for_the_gradient_of_any_model(name: str, made) -> None:
    network, it = Network(model(name), T=4), made("torch", name)
    others = there({**network.params, **network.data})
    leaves = {k: others[k].clone().requires_grad_() for k in varying(network)}
    direct = there(network.direct(network.params, network.data))
    if not it.OUTPUTS:
        pytest.skip("no loss reads a state")
    found = by_torch(it.outputs, network, leaves, others, direct)
    right = by_torch(it.unrolled, network, leaves, others, direct)
    largest = max(float(g.abs().max()) for g in right if g is not None)
    for key, a, b in zip(leaves, found, right, strict=True):
        a, b = (torch.zeros_like(leaves[key]) if g is None else g for g in (a, b))
        assert float((a - b).abs().max()) <= EXACT * max(float(b.abs().max()), 1e-3 * largest), key


class Tagger(torch.nn.Module):
    """Words to vectors, the network, and a readout with a nonlinearity."""

    def __init__(self, states, params, data) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.states, self.data = states, data
        self.words = torch.nn.Embedding(9, data["x"].shape[-1], dtype=torch.float64)
        self.weights = torch.nn.ParameterDict({k: torch.nn.Parameter(v.clone()) for k, v in params.items()})
        self.readout = torch.nn.Sequential(torch.nn.Linear(2, 6, dtype=torch.float64), torch.nn.Tanh(),
                                           torch.nn.Linear(6, 9, dtype=torch.float64))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.readout(self.states(self.weights, {**self.data, "x": self.words(words)})["o"])


def test_it_stands_in_a_torch_module_among_others(made) -> None:
    network, it = Network(model("library elman"), T=5, B=3), made("torch", "library elman")
    words = torch.randint(9, (5, 3), generator=torch.Generator().manual_seed(2))
    gradients = []
    for states in (it.outputs, it.unrolled):
        tagger = Tagger(states, there(network.params), there(network.data))
        torch.nn.functional.cross_entropy(tagger(words).flatten(0, 1), words.roll(-1, 0).flatten()).backward()
        gradients.append({name: p.grad for name, p in tagger.named_parameters()})
    for name, right in gradients[1].items():
        assert error(gradients[0][name].numpy(), right.numpy()) < EXACT, name


def elman(made, T=4, dtype=np.float64):
    network = Network(model("library elman"), T, dtype=dtype)
    return made("torch", "library elman"), there(network.params), there(network.data)


def test_only_what_asks_for_a_gradient_gets_one(made) -> None:
    it, params, data = elman(made)
    assert not it.outputs(params, data)["o"].requires_grad
    params["W_hh"] = params["W_hh"].clone().requires_grad_()
    data["h_0"] = data["h_0"].clone().requires_grad_()
    it.outputs(params, data)["o"].square().sum().backward()
    assert params["W_hh"].grad is not None
    assert data["h_0"].grad is not None
    assert all(v.grad is None for k, v in {**params, **data}.items() if k not in ("W_hh", "h_0"))
    with torch.no_grad():
        assert not it.outputs(params, data)["o"].requires_grad
    # Asked for the gradient itself, the module records nothing.
    _, grads = it.value_and_grad(params, data, lambda o, y: ((o - y) ** 2).sum(-1))
    assert not any(g.requires_grad for g in grads.values())


def test_gradients_add_up_over_calls(made) -> None:
    it, params, data = elman(made)
    params = {k: v.clone().requires_grad_() for k, v in params.items()}
    for _ in range(2):
        it.outputs(params, data)["o"].sum().backward()
    twice = params["W_hh"].grad.clone()
    params["W_hh"].grad = None
    it.outputs(params, data)["o"].sum().backward()
    torch.testing.assert_close(twice, 2 * params["W_hh"].grad, rtol=1e-14, atol=0)


def test_a_second_derivative_is_refused(made) -> None:
    it, params, data = elman(made)
    params["W_hh"] = params["W_hh"].clone().requires_grad_()
    L = it.outputs(params, data)["o"].square().sum()
    gradient, = torch.autograd.grad(L, [params["W_hh"]], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_a_weight_changed_before_backward_is_noticed(made) -> None:
    it, params, data = elman(made)
    params["W_hh"] = params["W_hh"].clone().requires_grad_()
    L = it.outputs(params, data)["o"].square().sum()
    with torch.no_grad():
        params["W_hh"] += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        L.backward()


def test_each_tensor_has_its_gradient_in_its_own_dtype(made) -> None:
    it, params, data = elman(made, dtype=np.float32)
    leaves = {k: v.clone().requires_grad_() for k, v in params.items()}
    stack = it.outputs(leaves, data)["o"]
    assert stack.dtype == torch.float32
    stack.square().sum().backward()
    assert {v.grad.dtype for v in leaves.values()} == {torch.float32}
    leaves = {k: v.clone().requires_grad_() for k, v in params.items()}
    wide = {**data, "x": data["x"].double().requires_grad_()}
    stack = it.outputs(leaves, wide)["o"]
    assert stack.dtype == torch.float64
    stack.square().sum().backward()
    assert {v.grad.dtype for v in leaves.values()} == {torch.float32}
    assert wide["x"].grad.dtype == torch.float64


def test_tensors_stay_on_their_device(made) -> None:
    for name in ("library elman", "lag-two", "library lstm", "bias-only-equation"):
        network, it = Network(model(name)), made("torch", name)
        params, data = ({k: v.to("meta") for k, v in there(given).items()} for given in (network.params, network.data))
        L, grads = it.value_and_grad(params, data, lambda o, y: ((o - y) ** 2).sum(-1) / 2)
        assert {v.device.type for v in (L, *grads.values(), *it.forward(params, data).values())} == {"meta"}
        leaves = {k: v.requires_grad_() for k, v in params.items()}
        next(iter(it.outputs(leaves, data).values())).sum().backward()
        assert {v.grad.device.type for v in leaves.values()} == {"meta"}


def through_jax(states, network: Network, others, direct):
    """The same by jax."""
    def total(leaves):
        params, data = split(network, leaves, others)
        read = {**data, **states(params, data)}
        return jnp.sum(jnp.stack([(read[name] * sent).sum() for name, sent in direct.items()]))
    return jax.jit(jax.grad(total))({k: others[k] for k in varying(network)})


@pytest.mark.parametrize("name", slow(*KINDS))
def test_jax_takes_the_recursion_for_the_gradient(name: str, made) -> None:
    network, it = Network(model(name), T=4), made("jax", name)
    with jax.enable_x64(True):
        others = arrays({**network.params, **network.data})
        direct = arrays(network.direct(network.params, network.data))
        found, right = (through_jax(states, network, others, direct) for states in (it.outputs, it.unrolled))
    found, right = host(found), host(right)
    largest = max(np.abs(g).max() for g in right.values())
    for key, a in found.items():
        assert np.abs(a - right[key]).max() <= EXACT * max(np.abs(right[key]).max(), 1e-3 * largest), key


def squared(o, y):
    return ((o - y) ** 2).sum(-1) / 2


def several(network: Network, count: int, key: str):
    """As many values of one variable."""
    base = network.params.get(key, network.data.get(key))
    return jnp.stack([jnp.asarray(base) * (1 + k / 10) for k in range(count)])


def test_jax_maps_over_parameters_and_data(made) -> None:
    network, it = Network(model("linear")), made("jax", "linear")
    with jax.enable_x64(True):
        params, data = arrays(network.params), arrays(network.data)

        def L(w, x):
            return squared(it.outputs({**params, "W_hh": w}, {**data, "x": x})["o"], data["y"]).sum()

        ws, xs = several(network, 3, "W_hh"), several(network, 3, "x")
        slope = jax.jit(jax.grad(L, argnums=(0, 1)))
        singles = [slope(w, x) for w, x in zip(ws, xs, strict=True)]
        for k, found in enumerate(jax.jit(jax.vmap(jax.grad(L, argnums=(0, 1))))(ws, xs)):
            assert error(found, np.stack([single[k] for single in singles])) < EXACT
        # One set of parameters, and their gradient for each of several data.
        found = jax.jit(jax.vmap(jax.grad(L), in_axes=(None, 0)))(ws[1], xs)
        assert error(found, np.stack([slope(ws[1], x)[0] for x in xs])) < EXACT


@pytest.mark.slow
@pytest.mark.parametrize("name", ["constants", "file masked_mean", "library elman-softmax", "lag-three-only"])
def test_value_and_grad_maps_over_every_parameter_and_all_data(name: str, made) -> None:
    network, it = Network(model(name)), made("jax", name)
    loss = squared if network.losses else None
    with jax.enable_x64(True):
        params, data = ({k: several(network, 3, k) for k in given} for given in (network.params, network.data))
        for key in [*network.data]:
            # A mask stays one, and so does what adds up to one.
            if key in it.TARGETS:
                data[key] = jnp.stack([jnp.asarray(network.data[key])] * 3)
        one = jax.jit(lambda p, d: it.value_and_grad(p, d, loss))
        found = jax.jit(jax.vmap(lambda p, d: it.value_and_grad(p, d, loss)))(params, data)
        for k in range(3):
            right = one(*({key: v[k] for key, v in given.items()} for given in (params, data)))
            for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
                assert error(a[k], b) < EXACT


def test_jax_composes_it_with_other_functions_and_runs_one_step(made) -> None:
    it = made("jax", "linear")
    for T in (1, 4):
        network = Network(model("linear"), T)
        with jax.enable_x64(True):
            params, data = arrays(network.params), arrays(network.data)
            outer = {"A": jnp.eye(3) + 0.1, "v": jnp.ones(2) / 3}

            def L(outer, states, data=data, params=params):
                moved = {**data, "x": jnp.tanh(data["x"] @ outer["A"]), "h_0": jnp.sin(data["h_0"])}
                o = states({**params, "W_hx": jnp.exp(params["W_hx"])}, moved)["o"]
                return jnp.logaddexp(o, 0).sum() + (o * outer["v"]).mean()

            found, right = (jax.jit(jax.grad(L), static_argnums=1)(outer, states) for states in
                            (it.outputs, it.unrolled))
            for key, gradient in found.items():
                assert error(gradient, right[key]) < EXACT, key


@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.slow)])
def test_a_loss_may_give_its_values_alone(library: str, made) -> None:
    right, it = truth("two-losses"), made(library, "two-losses")
    network = right.network

    def by(lib):
        def l(o, y):  # noqa: E743 - the name of the loss
            return lib.sin(o).sum(-1) * y[..., 0]

        def m(h, o):
            return (h ** 2).sum(-1) * o[..., 0]
        return {"l": l, "m": m}

    with_gradients = {"l": lambda o, y: (by(np)["l"](o, y), np.cos(o) * y[..., :1]),
                      "m": lambda h, o: (by(np)["m"](h, o), (2 * h * o[..., :1], np.concatenate(
                          [(h ** 2).sum(-1, keepdims=True), np.zeros_like(o[..., 1:])], -1)))}
    face = TorchFace(it) if library == "torch" else JaxFace(it, jit=True)
    L, grads = face.value_and_grad(network.params, network.data, with_gradients)
    if library == "torch":
        value, found = it.value_and_grad(there(network.params), there(network.data), by(torch))
    else:
        with jax.enable_x64(True):
            value, found = jax.jit(lambda p, d: it.value_and_grad(p, d, by(jnp)))(network.params, network.data)
    assert error(np.asarray(value), L) < EXACT
    for key, gradient in found.items():
        assert error(np.asarray(gradient), grads[key]) < EXACT, key


@pytest.mark.slow
def test_targets_of_whole_numbers_carry_no_gradient(made) -> None:
    network, it = Network(model("library elman-softmax")), made("jax", "library elman-softmax")
    y = np.zeros(network.data["y"].shape, dtype=int)
    y[..., 0] = 1
    with jax.enable_x64(True):
        params, data = arrays(network.params), {**arrays(network.data), "y": jnp.asarray(y)}
        right = jax.jit(it.value_and_grad)(params, data)

        def L(params):
            o = it.outputs(params, data)["o"]
            return -(data["y"] * jax.nn.log_softmax(o)).sum()
        value, grads = jax.jit(jax.value_and_grad(L))(params)
    assert error(value, right[0]) < EXACT
    for key, gradient in grads.items():
        assert error(gradient, right[1][key]) < EXACT, key
