"""What modules bring along whose gradients count some uses of the weights, whatever their library; never imported.

The tables and the functions without a body stand for those that each module has of its own or from another runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PARAMETERS: dict[str, tuple[str, ...]] = {}
DATA: dict[str, tuple[str, ...]] = {}
STATES: dict[str, tuple[str, ...]] = {}
EARLIER: dict[str, tuple[str, int]] = {}
CLOCK = ""
TRUNCATE = 1


def _window_backward(
    params: Mapping[str, Any],
    given: Mapping[str, Any],
    size: Mapping[str, int],
    states: Mapping[str, Any],
    direct: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recursion over all steps of what is given; generated."""
    raise NotImplementedError


def _at_last(stack: Any) -> Any:
    """The stack with zeros before its last step; from the runtime of a library."""
    raise NotImplementedError


def _added(stack: Any, axis: int, step: int, value: Any) -> Any:
    """A stack with a value added at one step; from the runtime of a library."""
    raise NotImplementedError


def _joined(parts: list[Any], axis: int) -> Any:
    """Arrays behind one another; from the runtime of a library."""
    raise NotImplementedError


def _with_part(stack: Any, axis: int, first: int, part: Any) -> Any:
    """A stack to whose steps from one on others are added; from the runtime of a library."""
    raise NotImplementedError


def _zeros_like(stack: Any) -> Any:
    """Zeros; from the runtime of a library."""
    raise NotImplementedError


def _finite(value: Any) -> Any:
    """A value with 0 where it is no number; from the runtime of a library."""
    raise NotImplementedError


def _weighed(sent: Any, last: Any) -> Any:
    """The sum of the products; from the runtime of a library."""
    raise NotImplementedError


def unrolled(
    params: Mapping[str, Any], data: Mapping[str, Any], moved: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The states by the equations as they stand; generated."""
    raise NotImplementedError


def _objective(
    params: Mapping[str, Any], data: Mapping[str, Any], states: Mapping[str, Any], loss: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """What each step and sample adds to L, and the direct gradients; generated."""
    raise NotImplementedError


def _truncated(
    params: Mapping[str, Any],
    given: Mapping[str, Any],
    size: Mapping[str, int],
    states: Mapping[str, Any],
    direct: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Gradients and adjoints that count, of the loss of each step, the uses of the weights in TRUNCATE steps up to it.

    The losses of the first TRUNCATE steps take one recursion, each later one a recursion over a window of its own,
    which begins with states that are given; windows stand beside one another as samples, as many as make up T steps.
    """
    T, B = given[CLOCK].shape[:2]
    K = min(TRUNCATE, T)
    window = _windows(given, states, range(1), K)
    sent = {name: stack[:K] for name, stack in direct.items()}
    results = _window_backward(params, window, size, {name: stack[:K] for name, stack in states.items()}, sent)
    if T == K:
        return results
    axis = DATA[CLOCK].index("T")
    stacks = {*STATES, *(name for name, axes in DATA.items() if "T" in axes)}
    whole = [
        {name: _lengthened(array, axis, T) if name in stacks else array for name, array in found.items()}
        for found in results
    ]
    first_step = {name: stack[:1] for name, stack in states.items()}
    nothing = {name: _zeros_like(stack[:1]) for name, stack in direct.items()}
    once, _ = _window_backward(params, _windows(given, states, range(1), 1), size, first_step, nothing)
    beside = max(1, T // K)
    for first in range(1, T - K + 1, beside):
        starts = range(first, min(first + beside, T - K + 1))
        sent = {name: _at_last(_beside(stack, starts, K)) for name, stack in direct.items()}
        reached = {name: _beside(stack, starts, K) for name, stack in states.items()}
        window = _windows(given, states, starts, K)
        for total, found in zip(whole, _window_backward(params, window, size, reached, sent), strict=True):
            for name, array in found.items():
                if name in stacks:
                    total[name] = _with_windows(total[name], axis, starts, array)
                elif name in EARLIER:
                    _add_earlier(total, name, array.reshape(len(starts), B, -1), starts, axis)
                elif name in DATA:
                    total[name] = total[name] + array.reshape(len(starts), B, -1).sum(0)
                else:
                    total[name] = total[name] + (array - once[name])
    return whole[0], whole[1]


def _cut(stack: Any, axis: int, start: int, stop: int) -> Any:
    """The steps from start on, up to stop."""
    return stack[:, start:stop] if axis else stack[start:stop]


def _lengthened(array: Any, axis: int, T: int) -> Any:
    """A stack with zeros behind it, up to T steps."""
    parts = [array, *[_zeros_like(array)] * (T // array.shape[axis])]
    return _cut(_joined(parts, axis), axis, 0, T)


def _with_windows(total: Any, axis: int, starts: range, array: Any) -> Any:
    """A stack with what windows that stand beside one another as samples add to its steps."""
    steps = array.swapaxes(0, 1) if axis else array
    for k, step in enumerate(steps):
        part = step.reshape(len(starts), -1, step.shape[-1])
        total = _with_part(total, axis, starts[0] + k, part.swapaxes(0, 1) if axis else part)
    return total


def _beside(stack: Any, starts: range, K: int) -> Any:
    """Windows of K steps of a stack, beside one another as samples."""
    return _joined([stack[start : start + K] for start in starts], 1)


def _windows(given: Mapping[str, Any], states: Mapping[str, Any], starts: range, K: int) -> dict[str, Any]:
    """What is given to windows of K steps, beside one another as samples."""
    found = dict(given)
    for name, axes in DATA.items():
        if name not in given:
            continue
        if "T" in axes:
            found[name] = _beside(given[name], starts, K)
        elif name in EARLIER:
            found[name] = _joined([_earlier(given, states, name, start) for start in starts], 0)
        else:
            found[name] = _joined([given[name]] * len(starts), 0)
    return found


def _earlier(data: Mapping[str, Any], states: Mapping[str, Any], name: str, start: int, axis: int = 0) -> Any:
    """A value before the first step, for a window before which so many steps stand."""
    family, back = EARLIER[name]
    if start > back:
        stack = (states if family in STATES else data)[family]
        return stack[:, start - back - 1] if axis else stack[start - back - 1]
    return data[next(key for key, place in EARLIER.items() if place == (family, back - start))]


def _add_earlier(total: dict[str, Any], name: str, rows: Any, starts: range, axis: int) -> None:
    """Add the gradients of what stands before the first step of windows; what reaches a computed state is cut off."""
    family, back = EARLIER[name]
    for start, row in zip(starts, rows, strict=True):
        if start > back and family in STATES:
            continue
        if start > back:
            total[family] = _added(total[family], axis, start - back - 1, row)
        else:
            key = next(key for key, place in EARLIER.items() if place == (family, back - start))
            total[key] = total[key] + row


def _window_of(data: Mapping[str, Any], states: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    """What is given to the steps behind `start` up to `end`; padding that is no number is 0 before them."""
    axis = DATA[CLOCK].index("T")
    return {
        name: _cut(data[name], axis, start, end)
        if "T" in axes
        else _finite(_earlier(data, states, name, start, axis))
        if name in EARLIER
        else data[name]
        for name, axes in DATA.items()
    }


def _in_windows(
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    moved: Mapping[str, Any],
    fixed: Mapping[str, Any],
    states: Mapping[str, Any],
    direct: Mapping[str, Any],
    loss: Mapping[str, Any],
) -> Any:
    """What has the gradients that TRUNCATE uses of the weights keep, by the equations as they stand.

    The loss of each step is taken in a window of steps up to it, which begins with the states as they are; what it
    sends stands for it. What L counts once is taken of params, and data are `fixed` there. Padding that is no number is
    0 before a window.
    """
    axis = DATA[CLOCK].index("T")
    total = _objective(params, fixed, states, loss)[0].sum()
    for end in range(1, data[CLOCK].shape[axis] + 1):
        start = max(end - TRUNCATE, 0)
        window = _window_of(data, states, start, end)
        reached = unrolled(params, window, {name: _cut(stack, axis, start, end) for name, stack in moved.items()})
        for name, stack in direct.items():
            last = _cut({**window, **reached}[name], axis, end - start - 1, end - start)
            sent = _cut(stack, axis, end - 1, end)
            total = total + _weighed(sent, last)
    return total
