"""What modules bring along that keep states between segments of steps alone, whatever their library; never imported.

The tables and the functions without a body stand for those that each module has of its own or from another runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DATA: dict[str, tuple[str, ...]] = {}
PARAMETERS: dict[str, tuple[str, ...]] = {}
STATES: dict[str, tuple[str, ...]] = {}
EARLIER: dict[str, tuple[str, int]] = {}
CARRIED: tuple[str, ...] = ()
CHECKPOINT: int | None = None
CLOCK = ""


def _counts(given: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of the masks over all steps; generated."""
    raise NotImplementedError


def _segment(params: Mapping[str, Any], given: Mapping[str, Any], size: Mapping[str, int], buffers: Any) -> Any:
    """What backward reads of a segment, and its states; generated."""
    raise NotImplementedError


def _segment_backward(
    params: Mapping[str, Any],
    given: Mapping[str, Any],
    size: Mapping[str, int],
    kept: Any,
    direct: Mapping[str, Any],
    once: Any,
    buffers: Any,
) -> dict[str, Any]:
    """The gradients of a segment; generated."""
    raise NotImplementedError


def _sent(
    params: Mapping[str, Any],
    given: Mapping[str, Any],
    size: Mapping[str, int],
    states: Mapping[str, Any],
    loss: Mapping[str, Any],
    steps: int,
    counts: Mapping[str, Any],
    once: Any,
    ends: bool,
) -> tuple[Any, dict[str, Any]]:
    """What a segment adds to L, and the direct gradients; generated."""
    raise NotImplementedError


def _added(stack: Any, axis: int, step: int, value: Any) -> Any:
    """A stack with a value added at one step; from the runtime of a library."""
    raise NotImplementedError


def _put(whole: Any, axis: int, first: int, T: int, part: Any) -> Any:
    """A stack of T steps with a part of them; from the runtime of a library."""
    raise NotImplementedError


def _zeros_like(stack: Any) -> Any:
    """Zeros; from the runtime of a library."""
    raise NotImplementedError


def _at_last(stack: Any) -> Any:
    """The stack with zeros before its last step; from the runtime of a library."""
    raise NotImplementedError


def _at_end(stack: Any, ends: bool) -> Any:
    """The stack with zeros before the last step of all, which it holds or not."""
    return _at_last(stack) if ends else _zeros_like(stack)


def _in_segments(
    params: Mapping[str, Any], given: Mapping[str, Any], size: Mapping[str, int], loss: Mapping[str, Any], buffers: Any
) -> tuple[Any, dict[str, Any]]:
    """L and its gradients, where states are kept between segments of CHECKPOINT steps alone.

    A segment is computed again from the values before it, the last segment first; what it sends to these values is
    added to what the losses send there when the segment before it has its turn.
    """
    T = len(given[CLOCK])
    begins = _begins(params, given, size, buffers)
    counts = _counts(given)
    axis = DATA[CLOCK].index("T")
    L: Any = 0
    later: dict[str, Any] = {}
    total: dict[str, Any] = {}
    for (first, last), begin in zip(reversed(_bounds(T)), reversed(begins), strict=True):
        window = _window(given, begin, first, last)
        value, grads, later = _turn(
            params, window, size, loss, T, counts, later, once=float(first == 0), ends=last == T, buffers=buffers
        )
        L = L + value
        for name, gradient in grads.items():
            if name in DATA and "T" in DATA[name]:
                total[name] = _put(total.get(name), axis, first, T, gradient)
            elif name in EARLIER or name not in total:
                total[name] = gradient
            else:
                total[name] = total[name] + gradient
    return L, _owed(total)


def _turn(
    params: Mapping[str, Any],
    window: Mapping[str, Any],
    size: Mapping[str, int],
    loss: Mapping[str, Any],
    T: int,
    counts: Mapping[str, Any],
    later: Mapping[str, Any],
    once: Any,
    ends: bool,
    buffers: Any,
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """What one segment of T steps adds to L, its gradients, and those of the values before it."""
    steps = len(window[CLOCK])
    kept, states = _segment(params, window, size, buffers)
    values, direct = _sent(params, window, size, states, loss, T, counts, once, ends)
    sent = _with_later(states, direct, later)
    grads = _segment_backward(params, window, size, kept, sent, once, buffers)
    return values.sum(), grads, _handed_on(grads, later, DATA[CLOCK].index("T"), steps)


def _bounds(T: int) -> list[tuple[int, int]]:
    """The steps before and up to the end of each segment, which no lag reaches across."""
    length = max(CHECKPOINT or round(T**0.5), 1, *(back + 1 for _, back in EARLIER.values()))
    return [(first, min(first + length, T)) for first in range(0, T, length)]


def _begins(
    params: Mapping[str, Any], given: Mapping[str, Any], size: Mapping[str, int], buffers: Any
) -> list[dict[str, Any]]:
    """The values before each segment, by one run through all but the last, of which nothing else is kept."""
    found = [{name: given[name] for name in EARLIER}]
    for first, last in _bounds(len(given[CLOCK]))[:-1]:
        window = _window(given, found[-1], first, last)
        _, states = _segment(params, window, size, buffers)
        found.append(_reached(window, states))
    return found


def _window(given: Mapping[str, Any], begin: Mapping[str, Any], first: int, last: int) -> dict[str, Any]:
    """What is given to the steps from first on, up to last."""
    steps = {name: given[name][first:last] for name, axes in DATA.items() if "T" in axes}
    return {**given, **steps, **begin}


def _reached(window: Mapping[str, Any], states: Mapping[str, Any]) -> dict[str, Any]:
    """The values before the segment behind one of so many steps, and nothing beside them."""
    stacks = {**window, **states}
    return {name: stacks[family][-1 - back].copy() for name, (family, back) in EARLIER.items()}


def _with_later(
    states: Mapping[str, Any], direct: Mapping[str, Any], later: Mapping[str, Any]
) -> dict[str, Any]:
    """What the losses send to the states of a segment, and beside it what later segments send."""
    found = dict(direct)
    for family in CARRIED:
        found[family] = direct[family] if family in direct else _zeros_like(states[family])
    for name, gradient in later.items():
        family, back = EARLIER[name]
        if family in CARRIED:
            found[family] = _added(found[family], 0, len(found[family]) - 1 - back, gradient)
    return found


def _handed_on(grads: dict[str, Any], later: Mapping[str, Any], axis: int, steps: int) -> dict[str, Any]:
    """The gradients of the values before a segment; what later segments send to its inputs is added to grads."""
    for name, gradient in later.items():
        family, back = EARLIER[name]
        if family not in STATES:
            grads[family] = _added(grads[family], axis, steps - 1 - back, gradient)
    return {name: grads[name] for name in EARLIER if name in grads}


def _owed(grads: Mapping[str, Any]) -> dict[str, Any]:
    """The gradients of what is given, and not those of values before the first step that equations define."""
    return {name: gradient for name, gradient in grads.items() if name in PARAMETERS or name in DATA}
