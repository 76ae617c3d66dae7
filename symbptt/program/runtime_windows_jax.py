"""What jax modules bring along beside `runtime_windows`; copied like that, and never imported."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array


def _joined(parts: list[Array], axis: int) -> Array:
    """Arrays behind one another."""
    return jnp.concatenate(parts, axis)


def _with_part(stack: Array, axis: int, first: int, part: Array) -> Array:
    """The stack, to whose steps from first on others are added."""
    place = (slice(None), slice(first, first + part.shape[1])) if axis else slice(first, first + len(part))
    return stack.at[place].add(part)


def _finite(value: Array) -> Array:
    """A value with 0 where it is no number."""
    return jnp.nan_to_num(value)


def _weighed(sent: Array, last: Array) -> Array:
    """The sum of the products; where nothing is sent the other factor may be no number."""
    return (sent * jnp.where(sent != 0, last, 0)).sum()
