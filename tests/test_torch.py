"""Generated NumPy code against torch autograd in float64: every gradient of every model, and the cells of torch.nn."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sympy import MatrixSymbol, Symbol

from symbptt.expr import nodes
from symbptt.expr.index import Index, t
from symbptt.expr.index import T as LAST
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.walk import substitute
from symbptt.model.spec import LossTerm, Model, initial_name
from symbptt.render.targets import render

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
import torch

STEPS, SAMPLES = 5, 3
TOLERANCE = 1e-12
SIZES = (4, 3, 2, 5, 6)
"""Sizes in the order of declaration: all differ."""

ENTRYWISE: dict[str, Callable[[Any], Any]] = {
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu, "softplus": torch.nn.functional.softplus,
    "exp": torch.exp, "sin": torch.sin, "cos": torch.cos, "square": torch.square, "abs": torch.abs,
    "leaky_relu": torch.nn.functional.leaky_relu, "elu": torch.nn.functional.elu, "silu": torch.nn.functional.silu,
    "softsign": torch.nn.functional.softsign, "hard_tanh": torch.nn.functional.hardtanh,
    "softmax": lambda z: torch.softmax(z, -2), "log_softmax": lambda z: torch.log_softmax(z, -2),
}


class Autograd:
    """A model run by torch: columns of samples are (B, n, 1), parameters have two axes."""

    def __init__(self, model: Model, params: dict[str, Any], data: dict[str, Any]) -> None:
        self.model = model
        still = {v.name for v in model.targets} | {initial_name(m) for m in model.given if m.family in model.targets}
        self.leaves = {name: torch.tensor(a, dtype=torch.float64, requires_grad=name not in still)
                       for name, a in {**params, **data}.items()}
        self.values: dict[tuple[str, int], Any] = {}

    def dimension(self, e: Any) -> int:
        sizes = dict(zip((s.symbol for s in self.model.sizes), SIZES, strict=False))
        return int(e.subs(sizes)) if hasattr(e, "subs") else int(e)

    def number(self, c: Any) -> Any:
        c = c.subs(LAST, STEPS)
        free = sorted(c.free_symbols, key=str)
        assert all(isinstance(s, Symbol) for s in free)
        return float(c.subs({s: self.leaves[s.name].item() for s in free}))

    def at(self, name: str, time: int) -> Any:
        key = (name, time)
        if key not in self.values:
            self.values[key] = self._at(name, time)
        return self.values[key]

    def _at(self, name: str, time: int) -> Any:
        if time < 1:
            member = At(self.model.families[name], time)
            for equation in self.model.computed:
                if equation.left == member:
                    return self.value(equation.right, 0).expand(SAMPLES, -1, -1)
            return self.leaves[initial_name(member)][..., None]
        if name in self.model.defined:
            return self.value(self.model.defined[name].right, time).expand(SAMPLES, -1, -1)
        return self.leaves[name][time - 1][..., None]

    def value(self, e: Matrix, time: int) -> Any:
        of = [self.value(a, time) for a in e.args if isinstance(a, nodes.Node | MatrixSymbol)] \
            if not isinstance(e, At | MatrixSymbol) else []
        match e:
            case At():
                return self.at(e.family.name, substitute(e.time, {t: Index(time)}).const)
            case MatrixSymbol():
                a = self.leaves[e.name]
                return a[..., None] if e.shape[1] == 1 or e in self.model.static else a
            case nodes.Plus():
                return sum(of[1:], of[0])
            case nodes.Times():
                product = of[0]
                for factor in of[1:]:
                    product = product @ factor
                return product
            case nodes.Hadamard() | nodes.Multiple():
                product = of[0]
                for factor in of[1:]:
                    product = product * factor
                return product
            case nodes.Apply():
                return ENTRYWISE[str(e.args[0])](of[0])
            case nodes.Scale():
                return self.number(e.args[0]) * of[0]
            case nodes.Transpose():
                return of[0].transpose(-1, -2)
            case nodes.Ones():
                return torch.ones(*map(self.dimension, e.shape), dtype=torch.float64)
            case nodes.Zero():
                return torch.zeros(*map(self.dimension, e.shape), dtype=torch.float64)
            case nodes.Identity():
                return torch.eye(self.dimension(e.shape[0]), dtype=torch.float64)
            case nodes.Block():
                cells = iter(of)
                rows = [[next(cells) for _ in row] for row in e.rows]
                wide = [_beside([c.expand(SAMPLES, *c.shape[-2:]) if c.dim() < 3 else c for c in row], -1)
                        for row in rows]
                return _beside(wide, -2)
        raise AssertionError(f"no truth for {type(e).__name__}")

    def objective(self) -> Any:
        """L, summed over the samples; a regulariser counts once."""
        return sum(self._term(term) for term in self.model.losses)

    def _term(self, term: LossTerm) -> Any:
        weight = self.number(term.weight)
        if term.reduce == "once":
            return weight * (self.leaves[term.loss.args[1].name] ** 2).sum()
        steps = torch.stack([self._loss(term, time) for time in range(1, STEPS + 1)])
        if term.mask is not None:
            mask = self.leaves[term.mask.name][..., 0]
            steps = steps * mask
            return weight * (steps.sum(0) / (mask.sum(0) if term.reduce == "mean" else 1)).sum()
        if term.reduce == "last":
            return weight * steps[-1].sum()
        return weight * steps.sum() / (STEPS if term.reduce == "mean" else 1)

    def _loss(self, term: LossTerm, time: int) -> Any:
        """The loss of each sample at one time."""
        values = [self.value(a, time)[..., 0] for a in term.loss.args[1:]]
        match term.loss.name:
            case "squared_error":
                return ((values[0] - values[1]) ** 2).sum(-1) / 2
            case "softmax_cross_entropy":
                return -(values[1] * torch.log_softmax(values[0], -1)).sum(-1)
            case _:
                return sum(torch.sin(k + v).sum(-1) + (v ** 2).sum(-1) * (k + 1) / 3 for k, v in enumerate(values))


def _beside(parts: list[Any], axis: int) -> Any:
    return torch.cat(parts, axis) if len(parts) > 1 else parts[0]


def opaque(carrying: tuple[int, ...]) -> Callable[..., Any]:
    """The opaque loss of `Autograd._loss` for the generated module: values and gradients."""
    def loss(*values: Any) -> Any:
        total = sum(np.sin(k + v).sum(-1) + (v ** 2).sum(-1) * (k + 1) / 3 for k, v in enumerate(values))
        sent = [np.cos(k + values[k]) + values[k] * 2 * (k + 1) / 3 for k in carrying]
        return total, sent[0] if len(sent) == 1 else tuple(sent)
    return loss


def generated(code: str, folder: Path) -> ModuleType:
    """The module of some generated code."""
    path = folder / "generated.py"
    path.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("generated", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generated"] = module
    spec.loader.exec_module(module)
    return module


def sample(model: Model) -> tuple[dict[str, Any], dict[str, Any]]:
    """Random parameters and data, keyed as a generated module wants them."""
    rng = np.random.default_rng(7)
    numbers = Autograd(model, {}, {}).dimension

    def column(v: MatrixSymbol) -> int:
        return numbers(v.shape[0])

    params: dict[str, Any] = {}
    for p in model.parameters:
        shape = tuple(numbers(n) for n in p.shape[:1 + (p.shape[1] != 1)])
        params[p.name] = 0.7 * rng.standard_normal(shape) / np.sqrt(shape[-1])
    params |= {c.name: 0.8 for c in model.constants}
    masks = {term.mask for term in model.losses if term.mask is not None}
    unit = {y for term in model.losses for y in term.assume}
    data: dict[str, Any] = {}
    for v in (*model.inputs, *model.targets):
        drawn = rng.standard_normal((STEPS, SAMPLES, column(v)))
        if v in masks:
            drawn = (rng.random(drawn.shape) < 0.6).astype(float)
            drawn[-1] = 1
        data[v.name] = np.exp(drawn) / np.exp(drawn).sum(-1, keepdims=True) if v in unit else drawn
    data |= {v.name: rng.standard_normal((SAMPLES, column(v))) for v in model.static}
    data |= {initial_name(m): rng.standard_normal((SAMPLES, column(m.family))) for m in model.given}
    return params, data


def differences(model: Model, module: ModuleType) -> Iterator[tuple[str, float]]:
    """(variable, largest difference over the largest entry) for L and every gradient."""
    params, data = sample(model)
    truth = Autograd(model, params, data)
    objective = truth.objective()
    objective.backward()
    targets = {v.name for v in model.targets}
    losses = {term.loss.name: opaque(tuple(k for k, a in enumerate(term.loss.args[1:])
                                           if a.family.name not in targets))
              for term in model.losses if term.opaque}
    loss = None if not losses else next(iter(losses.values())) if len(losses) == 1 else losses
    value, grads = module.value_and_grad(params, data, loss)
    expected = objective.item()
    yield "L", abs(float(value) - expected) / max(1, abs(expected))
    constants = {c.name for c in model.constants}
    wanted = {name for name, leaf in truth.leaves.items() if leaf.requires_grad} - constants
    assert grads.keys() == wanted
    for name in wanted:
        leaf = truth.leaves[name].grad
        there = np.zeros_like(grads[name]) if leaf is None else leaf.numpy()
        yield name, float(abs(grads[name] - there).max() / max(1.0, abs(there).max()))


@pytest.mark.parametrize("target", ["numpy", "numpy-textbook"])
def test_gradients_agree_with_autograd(model: Model, target: str, derivation: Callable[..., Any],
                                       tmp_path: Path) -> None:
    module = generated(render(derivation(model), target), tmp_path)
    for name, error in differences(model, module):
        assert error < TOLERANCE, f"{name}: {error:.1e}"


@pytest.mark.parametrize(("name", "old", "new"), [
    ("elman", "1 - h[t] * h[t]", "1 - h[t - 1] * h[t - 1]"),
    ("lstm", "i[t] * dL_dc[t]", "g[t] * dL_dc[t]"),
])
def test_a_planted_error_is_seen(name: str, old: str, new: str, named: Callable[[str], Model],
                                 derivation: Callable[..., Any], tmp_path: Path) -> None:
    code = render(derivation(named(name)), "numpy-textbook")
    assert old in code
    head, found, tail = code.rpartition(old)
    module = generated(head + found.replace(old, new) + tail, tmp_path)
    assert max(error for _, error in differences(named(name), module)) > 1e-6


CELLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "elman": ("RNN", {"nonlinearity": "tanh"}, ""),
    "irnn": ("RNN", {"nonlinearity": "relu"}, ""),
    "lstm": ("LSTM", {}, "ifgo"),
    "gru-reset-after": ("GRU", {}, "rzn"),
}
"""For a cell of the library the module of torch.nn, its options, and the order in which it packs the gates."""


def packed(name: str, gates: str, layer: Any, suffix: str = "_l0") -> dict[str, Any]:
    """The tensors of a torch.nn layer under the names of the library; a bias is the sum of torch's two."""
    w, u, b, c = (getattr(layer, f"{kind}_{side}{suffix}") for kind, side in (
        ("weight", "ih"), ("weight", "hh"), ("bias", "ih"), ("bias", "hh")))
    if not gates:
        return {"W_hx": w, "W_hh": u, "b_h": b + c}
    found: dict[str, Any] = {}
    for k, gate in enumerate(gates):
        rows = slice(k * layer.hidden_size, (k + 1) * layer.hidden_size)
        found |= {f"W_{gate}": w[rows], f"U_{gate}": u[rows]}
        found |= {"b_n": b[rows], "c_n": c[rows]} if gate == "n" else {f"b_{gate}": b[rows] + c[rows]}
    return found


@pytest.mark.parametrize("name", CELLS)
def test_torch_nn_agrees(name: str, named: Callable[[str], Model], derivation: Callable[..., Any],
                         tmp_path: Path) -> None:
    kind, options, gates = CELLS[name]
    torch.manual_seed(3)
    model, steps, samples, d, h = named(name), 7, 4, 5, 6
    layer = getattr(torch.nn, kind)(d, h, dtype=torch.float64, **options)
    tensors = {key: value.detach().clone().requires_grad_() for key, value in packed(name, gates, layer).items()}
    readout = next(e.name for e in reversed(model.equations) if e.name in ("o", "p") and e.name != "h" and (
        gates == "" or e.name == "p"))
    out, bias = ("W_qh", "b_q") if readout == "o" else ("W_p", "b_p")
    tensors |= {out: torch.randn(3, h, dtype=torch.float64, requires_grad=True),
                bias: torch.randn(3, dtype=torch.float64, requires_grad=True)}
    data = {"x": torch.randn(steps, samples, d, dtype=torch.float64, requires_grad=True),
            "h_0": torch.randn(samples, h, dtype=torch.float64, requires_grad=True)}
    if kind == "LSTM":
        data["c_0"] = torch.randn(samples, h, dtype=torch.float64, requires_grad=True)
    start = data["h_0"][None] if kind != "LSTM" else (data["h_0"][None], data["c_0"][None])
    states, _ = layer(data["x"], start)
    target = torch.randn(steps, samples, 3, dtype=torch.float64)
    error = states @ tensors[out].T + tensors[bias] - target
    objective = (error ** 2).sum() / 2 / steps
    objective.backward()

    module = generated(render(derivation(model), "numpy"), tmp_path)
    arrays = {key: value.detach().numpy() for key, value in {**data, "y": target}.items()}

    def loss(o: Any, y: Any) -> Any:
        return ((o - y) ** 2).sum(-1) / 2, o - y

    value, grads = module.value_and_grad({key: v.detach().numpy() for key, v in tensors.items()}, arrays, loss)
    assert abs(float(value) - objective.item()) < TOLERANCE * abs(objective.item())
    expected = {key: v.grad for key, v in packed_gradients(name, gates, layer).items()}
    expected |= {key: v.grad for key, v in {**data, out: tensors[out], bias: tensors[bias]}.items()}
    assert expected.keys() == grads.keys()
    for key, tensor in expected.items():
        there = tensor.numpy()
        assert abs(grads[key] - there).max() < TOLERANCE * max(1.0, abs(there).max()), key


class _Gradient:
    """A gradient where a tensor would hold it."""

    def __init__(self, grad: Any) -> None:
        self.grad = grad


def packed_gradients(name: str, gates: str, layer: Any) -> dict[str, _Gradient]:
    """What torch found for each variable of the library; that of a summed bias is that of either part."""
    w, u, b, c = (getattr(layer, f"{kind}_{side}_l0").grad for kind, side in (
        ("weight", "ih"), ("weight", "hh"), ("bias", "ih"), ("bias", "hh")))
    if not gates:
        return {"W_hx": _Gradient(w), "W_hh": _Gradient(u), "b_h": _Gradient(b)}
    found: dict[str, _Gradient] = {}
    for k, gate in enumerate(gates):
        rows = slice(k * layer.hidden_size, (k + 1) * layer.hidden_size)
        found |= {f"W_{gate}": _Gradient(w[rows]), f"U_{gate}": _Gradient(u[rows]), f"b_{gate}": _Gradient(b[rows])}
        if gate == "n":
            found["c_n"] = _Gradient(c[rows])
    return found
