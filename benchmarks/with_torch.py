"""The peers in torch: autograd through the step loop, and the recurrent layers of torch.nn. Imports torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchmarks.cases import Array, Case, Result, Run, half_squared_error
from benchmarks.equations import STEPS, Functions

FUNCTIONS = Functions(torch.tanh, torch.sigmoid)
LAYERS: dict[str, tuple[Any, str]] = {"elman": (torch.nn.RNN, ""), "lstm": (torch.nn.LSTM, "ifgo"),
                                      "gru-reset-after": (torch.nn.GRU, "rzn")}
"""For a model the layer with the same equations, and the order in which it packs the gates."""
RECURRENT = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def tensors(case: Case, inside: str = "") -> dict[str, Any]:
    """Every array as a tensor, under its own name; all but the target ask for gradients, where wanted."""
    return {name: torch.tensor(a).requires_grad_(inside == "autograd" and name != "y")
            for name, a in {**case.params, **case.data}.items()}


def read(result: tuple[Any, dict[str, Any]]) -> Result:
    """L and the gradients in NumPy."""
    return float(result[0].detach()), {name: g.detach().numpy() for name, g in result[1].items()}


def objective(outputs: Any, y: Any) -> Any:
    """Half the squared error, the mean over t and the sum over samples."""
    return half_squared_error(outputs, y)[0].sum() / len(outputs)


def loop(case: Case) -> Run:
    """Autograd through the equations, step by step."""
    values, step = tensors(case, "autograd"), STEPS[case.model]
    leaves = {name: v for name, v in values.items() if v.requires_grad}

    def call() -> tuple[Any, dict[str, Any]]:
        state, outputs = tuple(values[name] for name in case.initial), []
        for x in values["x"]:
            state, output = step(FUNCTIONS, values, state, x)
            outputs.append(output)
        value = objective(torch.stack(outputs), values["y"])
        return value, dict(zip(leaves, torch.autograd.grad(value, list(leaves.values())), strict=True))

    return Run(call, read)


def weights_of(case: Case, gates: str) -> dict[str, Array]:
    """The four arrays of a layer; a bias that torch has twice is ours once and zero the other time."""
    p = case.params
    if not gates:
        return dict(zip(RECURRENT, (p["W_hx"], p["W_hh"], p["b_h"], np.zeros_like(p["b_h"])), strict=True))
    zero = np.zeros_like(p[f"b_{gates[0]}"])
    parts = ([p[f"W_{g}"] for g in gates], [p[f"U_{g}"] for g in gates], [p[f"b_{g}"] for g in gates],
             [p.get(f"c_{g}", zero) for g in gates])
    return dict(zip(RECURRENT, map(np.concatenate, parts), strict=True))


def by_name(case: Case, gates: str, grads: dict[str, Array]) -> dict[str, Array]:
    """The gradients of a layer under the names of the model."""
    w, u, b, c = (grads.pop(name) for name in RECURRENT)
    if not gates:
        return grads | {"W_hx": w, "W_hh": u, "b_h": b}
    for k, gate in enumerate(gates):
        rows = slice(k * case.size.h, (k + 1) * case.size.h)
        grads |= {f"W_{gate}": w[rows], f"U_{gate}": u[rows], f"b_{gate}": b[rows]}
        if f"c_{gate}" in case.params:
            grads[f"c_{gate}"] = c[rows]
    return grads


def layer(case: Case) -> Run:
    """The layer of torch.nn, then the output projection over all steps."""
    kind, gates = LAYERS[case.model]
    values = tensors(case, "autograd")
    recurrent = kind(case.size.d, case.size.h, dtype=values["x"].dtype)
    with torch.no_grad():
        for name, a in weights_of(case, gates).items():
            getattr(recurrent, name).copy_(torch.tensor(a))
    out, bias = ("W_qh", "b_q") if "W_qh" in values else ("W_p", "b_p")
    leaves = {name: getattr(recurrent, name) for name in RECURRENT}
    leaves |= {name: values[name] for name in (out, bias, "x", *case.initial)}

    def call() -> tuple[Any, dict[str, Any]]:
        start = tuple(values[name][None] for name in case.initial)
        states, _ = recurrent(values["x"], start if len(start) > 1 else start[0])
        value = objective(torch.nn.functional.linear(states, values[out], values[bias]), values["y"])
        return value, dict(zip(leaves, torch.autograd.grad(value, list(leaves.values())), strict=True))

    def named(result: tuple[Any, dict[str, Any]]) -> Result:
        value, grads = read(result)
        return value, by_name(case, gates, dict(grads))

    return Run(call, named)


def program(module: Any, case: Case) -> Run:
    """A generated module that computes with tensors."""
    values = tensors(case)
    params, data = ({name: values[name] for name in group} for group in (case.params, case.data))
    return Run(lambda: module.value_and_grad(params, data, half_squared_error), read)
