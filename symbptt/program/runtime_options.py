"""What modules bring along beside `runtime` where options ask for it; copied like that, and never imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

Loss = Callable[..., Any]

PARAMETERS: dict[str, tuple[str, ...]] = {}
DATA: dict[str, tuple[str, ...]] = {}
STATES: dict[str, tuple[str, ...]] = {}
CLOCK = ""
TRUNCATE = 1


def forward(params: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Array]:
    """The states; generated."""
    raise NotImplementedError


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


def _window_of(data: Mapping[str, Any], states: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    """What is given to some steps; from the runtime of windows."""
    raise NotImplementedError


def _swapped(stacks: Mapping[str, Array]) -> dict[str, Array]:
    """Stacks with the axes of steps and of samples in the other order, as views."""
    return {name: stack.swapaxes(0, 1) for name, stack in stacks.items()}


def _kept(name: str, mask: Array) -> Array:
    """Where a mask (T, B) keeps a step, as (T, B, 1).

    Raises:
        ValueError: it holds more than 0 and 1, or padding stands before a step that is kept.
    """
    kept: Array = mask != 0
    if np.any(mask != kept):
        raise ValueError(f'data["{name}"] holds more than 0 and 1')
    if np.any(kept[1:] > kept[:-1]):
        sample = int(np.argmax(np.any(kept[1:] > kept[:-1], axis=0)))
        raise ValueError(f'data["{name}"] has a 0 before a 1 in sample {sample}; padding stands at the end')
    return kept[..., None]


def _where_kept(mask: Array, values: Array, gradients: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
    """What a loss gave, and zero in padding whatever it gave there."""
    return np.where(mask != 0, values, 0), tuple(np.where(mask != 0, gradient, 0) for gradient in gradients)


def _without_padding(mask: Array, stacks: Mapping[str, Array]) -> dict[str, Array]:
    """Stacks with zeros in padding."""
    return {name: np.where(mask != 0, stack, 0) for name, stack in stacks.items()}


def _lengths(T: int, B: int) -> Array:
    """A mask (T, B) for check: every sample is two steps shorter than the one before it, but for one step."""
    return np.asarray(np.arange(T)[:, None] < np.maximum(T - 2 * np.arange(B), 1), dtype=float)


def _spoiled(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Data with padding that is no number."""
    stacks = [key for key, axes in DATA.items() if "T" in axes and key != name]
    return {**data, **{key: np.where(data[name][..., None] != 0, data[key], np.nan) for key in stacks}}


def _kept_step(
    name: str,
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    states: Mapping[str, Array],
    direct: Mapping[str, Array],
    loss: Mapping[str, Loss],
) -> tuple[Array, Array]:
    """What TRUNCATE uses of the weights keep of the derivatives of L with respect to one array, by forward alone.

    The loss of each step is taken in a window of steps up to it, which begins with the states as they are; what it
    sends stands for it. Padding that is no number is 0 before a window. Sums of absolute terms come second.
    """
    base, axis = np.asarray(params[name] if name in PARAMETERS else data[name]), DATA[CLOCK].index("T")
    fixed = {key: stack.astype(complex) for key, stack in states.items()}
    derivative, terms = np.zeros(base.shape), np.zeros(base.shape)
    for place in np.ndindex(base.shape):
        moved = base.astype(complex)
        moved[place] += 1e-30j
        shifted_params = {**params, name: moved} if name in PARAMETERS else params
        shifted_data = data if name in PARAMETERS else {**data, name: moved}
        slopes = [_objective(shifted_params, data, fixed, loss)[0].imag.sum()] if name in PARAMETERS else []
        for end in range(1, np.shape(data[CLOCK])[axis] + 1):
            start = max(end - TRUNCATE, 0)
            window = _window_of(shifted_data, states, start, end)
            reached = {**window, **forward(shifted_params, window)}
            for key, stack in direct.items():
                sent, last = np.take(stack, end - 1, axis), np.take(reached[key], -1, axis)
                slopes.append((sent * np.where(sent != 0, last, 0)).imag.sum())
        derivative[place], terms[place] = sum(slopes) / 1e-30, sum(map(abs, slopes)) / 1e-30
    return derivative, terms


def _added_slopes(
    name: str,
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    states: Mapping[str, Array],
    direct: Mapping[str, Array],
) -> Array:
    """The derivatives of what L sends at each step, the first axis, by what is added to a family at each place."""
    axis = DATA[CLOCK].index("T")
    slopes = np.zeros((states[name].shape[axis], *states[name].shape))
    for place in np.ndindex(states[name].shape):
        moved = {key: np.zeros(stack.shape, complex if key == name else float) for key, stack in states.items()}
        moved[name][place] = 1e-30j
        reached = {**data, **unrolled(params, data, moved)}
        for key, stack in direct.items():
            products = np.moveaxis((stack * np.where(stack != 0, reached[key], 0)).imag, axis, 0)
            slopes[(slice(None), *place)] += products.sum(axis=(1, 2)) / 1e-30
    return slopes


def _kept_slopes(slopes: Array) -> tuple[Array, Array]:
    """What TRUNCATE uses of the weights keep of them: those of as many steps, from that where something is added on."""
    axis = DATA[CLOCK].index("T")
    kept = slopes.copy()
    for t in range(len(slopes)):
        np.moveaxis(kept, axis + 1, 1)[t + TRUNCATE :, t] = 0
    return kept.sum(axis=0), abs(kept).sum(axis=0)


def _added(stack: Array, axis: int, step: int, value: Array) -> Array:
    """A stack with a value added at one step."""
    found = stack.copy()
    np.moveaxis(found, axis, 0)[step] += value
    return found


def _finite(value: Array) -> Array:
    """A value with 0 where it is no number."""
    return np.nan_to_num(value)


def _joined(parts: list[Array], axis: int) -> Array:
    """Arrays behind one another."""
    return np.concatenate(parts, axis)


def _with_part(stack: Array, axis: int, first: int, part: Array) -> Array:
    """The stack, to whose steps from first on others are added."""
    np.moveaxis(stack, axis, 0)[first : first + part.shape[axis]] += np.moveaxis(part, axis, 0)
    return stack


def _put(whole: Array | None, axis: int, first: int, T: int, part: Array) -> Array:
    """A stack of T steps with a part of them from a step on; a new one if there is none."""
    if whole is None:
        whole = np.empty([T if k == axis else n for k, n in enumerate(part.shape)], part.dtype)
    np.moveaxis(whole, axis, 0)[first : first + part.shape[axis]] = np.moveaxis(part, axis, 0)
    return whole


def _zeros_like(stack: Array) -> Array:
    """Zeros in the shape and dtype of a stack."""
    return np.zeros(stack.shape, stack.dtype)
