"""What generated modules bring along whatever their library. It is copied into them like the rest of their runtime.

The functions know of an array that it has a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Loss = Callable[..., Any]


def _one_loss(loss: Any, name: str) -> dict[str, Loss]:
    """The loss that the caller has to pass, under its name."""
    if not callable(loss):
        raise TypeError(f"the model leaves its loss {name} open; pass it as the function loss")
    return {name: loss}


def _no_loss(loss: Any) -> dict[str, Loss]:
    """Nothing: the model states its losses."""
    if loss is not None:
        raise TypeError("the model states its losses itself; leave loss out")
    return {}


def _named_losses(loss: Any, *names: str) -> dict[str, Loss]:
    """The losses that the caller has to pass, by name."""
    if not isinstance(loss, Mapping) or not all(callable(loss.get(name)) for name in names):
        raise TypeError(f"the model leaves its losses open; pass loss as a dict of functions {', '.join(names)}")
    return dict(loss)


def _enlarged(objective: Callable[..., Any], by: float) -> Callable[..., Any]:
    """The objective and what it sends, times a number, for check: a gradient that someone clips shows."""

    def times(*given: Any) -> tuple[Any, dict[str, Any]]:
        values, direct = objective(*given)
        return by * values, {name: by * stack for name, stack in direct.items()}

    return times
