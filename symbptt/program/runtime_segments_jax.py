"""How jax modules go through segments of steps: by scans; copied into them beside `runtime_segments`, not imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from symbptt.program.runtime_segments import (
    CLOCK,
    DATA,
    EARLIER,
    _bounds,
    _counts,
    _owed,
    _reached,
    _segment,
    _turn,
    _window,
)


def _in_segments(
    params: Mapping[str, Any], given: Mapping[str, Any], size: Mapping[str, int], loss: Mapping[str, Any], buffers: Any
) -> tuple[Any, dict[str, Any]]:
    """L and its gradients, where states are kept between segments of CHECKPOINT steps alone.

    A segment is computed again from the values before it, the last segment first; what it sends to these values is
    added to what the losses send there when the segment before it has its turn. All but the last are the steps of a
    scan, which a compiler does not run at once.
    """
    T = len(given[CLOCK])
    *whole, (start, _) = _bounds(T)
    counts, axis = _counts(given), DATA[CLOCK].index("T")
    length = whole[0][1] if whole else 0
    steps = [name for name, axes in DATA.items() if "T" in axes]
    parts = {name: given[name][:start].reshape(len(whole), length, *given[name].shape[1:]) for name in steps}

    def ahead(begin: Any, part: Any) -> tuple[Any, Any]:
        window = {**given, **part, **begin}
        _, states = _segment(params, window, size, buffers)
        return {name: value.astype(begin[name].dtype) for name, value in _reached(window, states).items()}, begin

    def back(carry: Any, given_now: Any) -> tuple[Any, Any]:
        L, total, later = carry
        number, begin, part = given_now
        once = jnp.where(number == 0, 1.0, 0.0)
        window = {**given, **part, **begin}
        value, grads, later = _turn(params, window, size, loss, T, counts, later, once, False, buffers)
        total = {name: summed + grads[name] for name, summed in total.items()}
        return (L + value, total, later), {name: grads[name] for name in steps if name in grads}

    # A scan hands on one dtype, also of targets that are whole numbers behind values that are none.
    begin: Any = {name: given[name].astype(jnp.result_type(given[name], given.get(family, given[name])))
                  for name, (family, _) in EARLIER.items()}
    begins: Any = {}
    if whole:
        begin, begins = jax.lax.scan(ahead, begin, parts)
    L, grads, later = _turn(
        params, _window(given, begin, start, T), size, loss, T, counts, {}, float(not whole), True, buffers
    )
    if whole:
        total = {name: gradient for name, gradient in grads.items() if name not in EARLIER and name not in steps}
        first = (L, total, later)
        numbered = (jnp.arange(len(whole)), begins, parts)
        (L, total, later), stacks = jax.lax.scan(back, first, numbered, reverse=True)
        for name, stack in stacks.items():
            joined = jnp.moveaxis(stack, 0, axis)
            joined = joined.reshape(*joined.shape[:axis], start, *joined.shape[axis + 2 :])
            total[name] = jnp.concatenate([joined, grads[name]], axis)
        grads = {name: {**total, **later}[name] for name in grads}
    return L, _owed(grads)
