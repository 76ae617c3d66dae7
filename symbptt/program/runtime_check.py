"""What generated NumPy modules bring along to check themselves; copied like `runtime`, and never imported.

The tables and the functions without a body stand for those that each module has of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Loss = Callable[..., Any]

PARAMETERS: dict[str, tuple[str, ...]] = {}
DATA: dict[str, tuple[str, ...]] = {}
CONSTANTS: dict[str, float] = {}


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


def _shapes(T: int, B: int, size: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes; generated."""
    raise NotImplementedError


def _agree(what: str, found: Any, right: Any, terms: Any, limit: float = 1e-11) -> bool:
    """Print how far two arrays are apart, measured by the sum of absolute terms; True where that is rounding."""
    if found is None:
        print(f"    {what} is missing: WRONG")
        return False
    fits = np.shape(found) == np.shape(right)
    apart, scale = float(np.max(np.abs(np.asarray(found) - right))) if fits else np.inf, float(np.max(terms))
    error = apart / scale if scale else apart and np.inf
    good = bool(error <= limit)
    verdict = "ok" if good else "WRONG" if np.isfinite(scale) and np.all(np.isfinite(right)) else "not finite"
    print(f"    {what:<40} {np.shape(found)!s:<14} {error:8.1e}  {verdict}")
    return good


def _complex_step(
    name: str, params: Mapping[str, Any], data: Mapping[str, Any], loss: Mapping[str, Loss]
) -> tuple[Array, Array]:
    """The derivatives of L with respect to one array, and the sums of the absolute terms that make them up."""
    base = np.asarray(params[name] if name in PARAMETERS else data[name])
    derivative, terms = np.zeros(base.shape), np.zeros(base.shape)
    for place in np.ndindex(base.shape):
        moved = base.astype(complex)
        moved[place] += 1e-30j
        shifted_params = {**params, name: moved} if name in PARAMETERS else params
        shifted_data = data if name in PARAMETERS else {**data, name: moved}
        states = forward(shifted_params, shifted_data)
        slopes = _objective(shifted_params, shifted_data, states, loss)[0].imag / 1e-30
        derivative[place], terms[place] = slopes.sum(), np.abs(slopes).sum()
    return derivative, terms


def _added_step(
    name: str,
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    states: Mapping[str, Array],
    loss: Mapping[str, Loss],
) -> tuple[Array, Array]:
    """The same with respect to what is added to a family at each step: the total derivatives."""
    derivative, terms = np.zeros(states[name].shape), np.zeros(states[name].shape)
    for place in np.ndindex(derivative.shape):
        moved = {key: np.zeros(stack.shape, complex if key == name else float) for key, stack in states.items()}
        moved[name][place] = 1e-30j
        slopes = _objective(params, data, unrolled(params, data, moved), loss)[0].imag / 1e-30
        derivative[place], terms[place] = slopes.sum(), np.abs(slopes).sum()
    return derivative, terms


def _along(
    step: complex,
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    loss: Mapping[str, Loss],
    grads: Mapping[str, Array],
) -> tuple[Any, float, float]:
    """The slope of L along one direction, by a complex step or a difference, what the gradients make of it, and the sum
    of absolute terms.
    """
    random = np.random.default_rng(2)
    direction: dict[str, Any] = {name: random.normal(size=gradient.shape) for name, gradient in grads.items()}
    after_params = {name: value + step * direction.get(name, 0) for name, value in params.items()}
    after_data = {name: value + step * direction.get(name, 0) for name, value in data.items()}
    after = _objective(after_params, after_data, unrolled(after_params, after_data), loss)[0].sum()
    products = [grads[name] * direction[name] for name in grads]
    if step.imag:
        slope = after.imag / step.imag
    else:
        slope = (after - _objective(params, data, unrolled(params, data), loss)[0].sum()) / step
    return slope, float(sum(map(np.sum, products))), float(sum(np.sum(abs(p)) for p in products))


def _copies(*groups: Mapping[str, Any]) -> list[dict[str, Array]]:
    """Copies of all arrays."""
    return [{name: np.array(value) for name, value in group.items()} for group in groups]


def _unchanged(before: list[dict[str, Array]], *groups: Mapping[str, Any]) -> bool:
    """Print which arrays are not what they were; True where all are."""
    changed = [
        name
        for group, copies in zip(groups, before, strict=True)
        for name, value in copies.items()
        if not np.array_equal(value, np.asarray(group[name]), equal_nan=True)
    ]
    for name in changed:
        print(f"    {name} was changed: WRONG")
    return not changed


def _spoil(buffers: Mapping[Any, Any]) -> None:
    """Leave no number in work arrays: what a call reads of them before it writes it shows."""
    for kept in buffers.values():
        if isinstance(kept, dict):
            _spoil(kept)
        else:
            for array in kept[1]:
                array.fill(np.nan)


def _mask(T: int, B: int) -> Array:
    """A mask with zeros and ones; the first step counts for every sample of two."""
    return np.asarray((np.arange(T)[:, None] + np.arange(B)) % 3 != 2, dtype=float)[..., None]


def _sample(T: int, B: int, size: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Random parameters and data, a third below zero: weights near ±1/2 over their width, initial values not zero."""
    random = np.random.default_rng(1)
    shapes = _shapes(T, B, size)

    def drawn(name: str, spread: float) -> Array:
        signs = random.choice([-1.0, 1.0, 1.0], shapes[name])
        return np.asarray(signs * random.normal(0.5, spread, shapes[name]))

    params: dict[str, Any] = dict(CONSTANTS)
    for name, axes in PARAMETERS.items():
        width = shapes[name][-1] if len(axes) > 1 else 1
        params[name] = drawn(name, 0.25) / width
    return params, {name: drawn(name, 0.5) for name in DATA}


def _smooth_loss(seed: int, carrying: tuple[int, ...]) -> Loss:
    """A loss for check: with s the weighted sum of all entries, s + s²/2 + half of the squared norms."""

    def loss(*arguments: Array) -> tuple[Array, Any]:
        weights = [np.cos(seed + 3 * k + np.arange(v.shape[-1])) for k, v in enumerate(arguments)]
        s = np.sum([np.sum(w * v, axis=-1) for w, v in zip(weights, arguments, strict=True)], axis=0)
        squares = np.sum([np.sum(v * v, axis=-1) for v in arguments], axis=0)
        gradients = tuple((1 + s)[..., None] * weights[k] + arguments[k] for k in carrying)
        return s + s * s / 2 + squares / 2, gradients if len(gradients) > 1 else gradients[0]

    return loss
