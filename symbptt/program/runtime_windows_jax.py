"""What jax modules bring along beside `runtime_windows`; copied like that, and never imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
from jax import Array

Loss = Callable[..., Any]

DATA: dict[str, tuple[str, ...]] = {}
EARLIER: dict[str, tuple[str, int]] = {}
CLOCK = ""
TRUNCATE = 1


def unrolled(
    params: Mapping[str, Any], data: Mapping[str, Any], moved: Mapping[str, Any] | None = None
) -> dict[str, Array]:
    """The states by the equations as they stand; generated."""
    raise NotImplementedError


def _objective(
    params: Mapping[str, Any], data: Mapping[str, Any], states: Mapping[str, Array], loss: Mapping[str, Loss]
) -> tuple[Array, dict[str, Array]]:
    """What each step and sample adds to L, and the direct gradients; generated."""
    raise NotImplementedError


def _cut(stack: Any, axis: int, start: int, stop: int) -> Any:
    """Some steps; from the runtime of windows."""
    raise NotImplementedError


def _earlier(data: Mapping[str, Any], states: Mapping[str, Any], name: str, start: int, axis: int = 0) -> Any:
    """A value before the first step of a window; from the runtime of windows."""
    raise NotImplementedError


def _joined(parts: list[Array], axis: int) -> Array:
    """Arrays behind one another."""
    return jnp.concatenate(parts, axis)


def _with_part(stack: Array, axis: int, first: int, part: Array) -> Array:
    """The stack, to whose steps from first on others are added."""
    place = (slice(None), slice(first, first + part.shape[1])) if axis else slice(first, first + len(part))
    return stack.at[place].add(part)


def _in_windows(
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    moved: Mapping[str, Array],
    fixed: Mapping[str, Any],
    states: Mapping[str, Array],
    direct: Mapping[str, Array],
    loss: Mapping[str, Loss],
) -> Array:
    """What has the gradients that TRUNCATE uses of the weights keep, by the equations as they stand.

    The loss of each step is taken in a window of steps up to it, which begins with the states as they are; what it
    sends stands for it. What L counts once is taken of params, and data are `fixed` there. Padding that is no number is
    0 before a window.
    """
    axis = DATA[CLOCK].index("T")
    total = _objective(params, fixed, states, loss)[0].sum()
    for end in range(1, data[CLOCK].shape[axis] + 1):
        start = max(end - TRUNCATE, 0)
        window: dict[str, Any] = {}
        for name, axes in DATA.items():
            if "T" in axes:
                window[name] = _cut(data[name], axis, start, end)
            elif name in EARLIER:
                value = _earlier(data, states, name, start, axis)
                window[name] = jnp.nan_to_num(value)
            else:
                window[name] = data[name]
        reached = unrolled(params, window, {name: _cut(stack, axis, start, end) for name, stack in moved.items()})
        for name, stack in direct.items():
            last = _cut({**window, **reached}[name], axis, end - start - 1, end - start)
            sent = _cut(stack, axis, end - 1, end)
            total = total + _weighed(sent, last)
    return total


def _weighed(sent: Array, last: Array) -> Array:
    """The sum of the products; where nothing is sent the other factor may be no number."""
    return (sent * jnp.where(sent != 0, last, 0)).sum()
