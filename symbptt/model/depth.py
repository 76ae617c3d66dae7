"""What is said where expressions or equations nest deeper than Python lets calls nest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from symbptt.expr.index import index, t
from symbptt.expr.nodes import At
from symbptt.expr.walk import visit
from symbptt.model.parts import Parts

P = ParamSpec("P")
R = TypeVar("R")

LONG = 50
"""A chain of so many equations is what nests, where calls within one another come to an end."""


class TooLarge(ValueError):
    """The work would cost more than the limit, or nests deeper than calls may; the message says how much."""


def bounded(work: Callable[P, R]) -> Callable[P, R]:
    """The function, with one `TooLarge` where calls within one another come to their end, however that is told.

    One of its arguments is a model, or has one.
    """
    @wraps(work)
    def within(*args: P.args, **options: P.kwargs) -> R:
        try:
            return work(*args, **options)
        except (RecursionError, ValueError) as error:
            if not ended(error):
                raise
        raise TooLarge(too_deep(next(filter(None, map(_model, (*args, *options.values()))), None)))

    return within


def ended(error: BaseException | None) -> bool:
    """Whether an error tells of calls that nest too deeply, itself or by what it was raised from."""
    while error is not None and not isinstance(error, RecursionError):
        error = error.__cause__
    return error is not None


def too_deep(model: Parts | None = None) -> str:
    """What nests too deeply, and what would be right."""
    room = f"Python lets no more than {sys.getrecursionlimit():,} calls nest (sys.setrecursionlimit)"
    if model is None:
        return f"an expression is nested too deeply: {room}"
    lengths = chains(model)
    name = max(lengths, key=lengths.__getitem__)
    if lengths[name] < LONG:
        return f"an expression of the model {model.name} is nested too deeply: {room}; name its parts by equations"
    return (f"the equations of the model {model.name} are nested too deeply: within one step {name} is computed "
            f"through {lengths[name]:,} equations, one after the other, and {room}; use fewer, longer equations")


def chains(model: Parts) -> dict[str, int]:
    """For each family that is computed, through how many equations within one step, its own among them."""
    lengths: dict[str, int] = {}
    for equation in model.order:
        read = (lengths.get(node.family.name, 0) for node in visit(equation.right)
                if isinstance(node, At) and node.time == index(t))
        lengths[equation.name] = 1 + max(read, default=0)
    return lengths


def _model(value: object) -> Parts | None:
    model = getattr(value, "model", value)
    return model if isinstance(model, Parts) else None
