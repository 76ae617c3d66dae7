"""What modules bring along beside `runtime` where options ask for it; copied like that, and never imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DATA: dict[str, tuple[str, ...]] = {}


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
