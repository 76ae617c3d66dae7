"""The peer in jax: the compiled value_and_grad of a scan over the step. Imports jax, and turns float64 on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from benchmarks.cases import Case, Result, Run, half_squared_error
from benchmarks.equations import STEPS, Functions

jax.config.update("jax_enable_x64", True)

FUNCTIONS = Functions(jnp.tanh, jax.nn.sigmoid)


def read(result: tuple[Any, dict[str, Any]]) -> Result:
    """L and the gradients in NumPy."""
    return float(result[0]), {name: np.asarray(g) for name, g in result[1].items()}


def scan(case: Case) -> Run:
    """Compiled; compilation happens with the first call."""
    step = STEPS[case.model]

    def objective(leaves: dict[str, Any], y: Any) -> Any:
        start = tuple(leaves[name] for name in case.initial)
        _, outputs = jax.lax.scan(lambda state, x: step(FUNCTIONS, leaves, state, x), start, leaves["x"])
        return half_squared_error(outputs, y)[0].sum() / len(outputs)

    compiled = jax.jit(jax.value_and_grad(objective))
    leaves = {name: jnp.asarray(a) for name, a in {**case.params, **case.data}.items()}
    y = leaves.pop("y")
    return Run(lambda: jax.block_until_ready(compiled(leaves, y)), read)


def program(module: Any, case: Case) -> Run:
    """A generated module that computes with jax arrays, compiled as a whole where it can be traced."""
    params, data = ({name: jnp.asarray(a) for name, a in group.items()} for group in (case.params, case.data))

    def plain(params: Any, data: Any) -> Any:
        return module.value_and_grad(params, data, half_squared_error)

    call: Callable[[Any, Any], Any] = plain
    with contextlib.suppress(jax.errors.JAXTypeError):
        compiled = jax.jit(plain)
        compiled.lower(params, data)
        call = compiled
    return Run(lambda: jax.block_until_ready(call(params, data)), read)
