"""What generated modules bring along whatever their library. It is copied into them like the rest of their runtime.

The functions know of an array that it has a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Loss = Callable[..., Any]

PARAMETERS: dict[str, tuple[str, ...]] = {}
DATA: dict[str, tuple[str, ...]] = {}
STATES: dict[str, tuple[str, ...]] = {}
DIRECT: dict[str, tuple[str, ...]] = {}
CONSTANTS: dict[str, float] = {}
CLOCK = ""


def _sizes(given: Mapping[str, Any]) -> dict[str, int]:
    """The sizes; generated."""
    raise NotImplementedError


def _shapes(T: int, B: int, size: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes; generated."""
    raise NotImplementedError


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


def _returned(
    name: str, result: Any, arguments: tuple[Any, ...], carrying: tuple[int, ...]
) -> tuple[Any, tuple[Any, ...]]:
    """The values of a loss and its gradients, out of what it returned.

    Raises:
        TypeError: it returned something else.
    """
    pair = isinstance(result, (tuple, list)) and len(result) == 2
    if pair and len(carrying) == 1:
        return result[0], (result[1],)
    if pair and isinstance(result[1], (tuple, list)) and len(result[1]) == len(carrying):
        return result[0], tuple(result[1])
    found = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"one {type(result).__name__}"
    right = [str(tuple(arguments[position].shape)) for position in carrying]
    tail = f"the gradient, {right[0]}" if len(right) == 1 else f"a tuple of {len(right)} gradients, {', '.join(right)}"
    whole = tuple(arguments[0].shape[:2])
    raise TypeError(f"the loss {name} returned {found}; expected two, what it is at each step, {whole}, and {tail}")


def _require_shapes(
    name: str, values: Any, gradients: tuple[Any, ...], arguments: tuple[Any, ...], carrying: tuple[int, ...]
) -> None:
    """Refuse values and gradients of a loss that have other shapes than they should."""
    whole, right = tuple(arguments[0].shape[:2]), [tuple(arguments[position].shape) for position in carrying]
    if (shape := tuple(getattr(values, "shape", ()))) != whole:
        raise ValueError(f"the loss {name} gave values of shape {shape}; expected {whole}")
    found = [tuple(getattr(gradient, "shape", ())) for gradient in gradients]
    if found != right:
        shapes = ", ".join(map(str, found))
        raise ValueError(f"the loss {name} gave gradients of shape {shapes}; expected {', '.join(map(str, right))}")


def _expect(group: str, name: str, array: Any, axes: tuple[str, ...], shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if tuple(array.shape) != shape:
        raise ValueError(f'{group}["{name}"] has shape {tuple(array.shape)}; expected ({", ".join(axes)}) = {shape}')


def _missing(group: str, arrays: Mapping[str, Any], name: str, expected: str) -> str:
    """What is said of an array that is not there, and of what stands there that is not known."""
    known = {**PARAMETERS, **CONSTANTS, **DATA, **STATES, **DIRECT}
    others = ", ".join(f'{group}["{key}"]' for key in arrays if key not in known)
    return f'{group}["{name}"] is missing; expected {expected}' + (f"; not known is {others}" if others else "")


def _require_known(params: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Refuse what the model does not know; either may hold what belongs to the other."""
    known = {**PARAMETERS, **CONSTANTS, **DATA, **STATES}
    for group, arrays, tables in (("params", params, {**PARAMETERS, **CONSTANTS}), ("data", data, DATA)):
        _require_among(known, group, arrays, tables)


def _require_among(known: Mapping[str, Any], group: str, arrays: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    """Refuse a name that is none of those that are known, and say which ones the group holds."""
    for name in arrays:
        if name not in known:
            raise ValueError(f'{group}["{name}"] is not known; {group} holds {", ".join(table) or "nothing"}')


def _require_dict(group: str, arrays: Any) -> None:
    """Refuse what holds nothing by name."""
    if not hasattr(arrays, "keys"):
        raise TypeError(f"{group} is of type {type(arrays).__name__}; expected a dict by name")


def _require_some(T: int, B: int) -> None:
    """Refuse data without steps or without samples."""
    if T < 1 or B < 1:
        raise ValueError(f'data["{CLOCK}"] has no {"step; T" if T < 1 else "sample; B"} must be at least 1')


def _misfit(given: Mapping[str, Any]) -> str:
    """What is said where shapes do not fit: which array the others outvote, or which two stand against each other."""
    axes, blamed, reason = {**PARAMETERS, **DATA}, "", ""
    held = _held(given)
    odd = [name for found in held.values() for names in found.values() for name in names
           if len(names) < max(map(len, found.values()))]
    if odd:
        blamed = max(odd, key=odd.count)
        held |= _held({name: array for name, array in given.items() if name != blamed})
    else:
        for axis, found in held.items():
            if len(found) > 1 and not blamed:
                (n, (other, *_)), (_, (blamed, *_)) = list(found.items())[:2]
                group = "params" if other in PARAMETERS else "data"
                reason = f', as {axis} is {n} in {group}["{other}"] of shape {tuple(given[other].shape)}'
    size = _sizes(given) | {axis: max(found, key=lambda n: len(found[n])) for axis, found in held.items()}
    batch = next(axis for axis in DATA[CLOCK][:2] if axis != "T")
    shapes = _shapes(size["T"], size[batch], size)
    name = next((n for n in (blamed, *given) if n and tuple(given[n].shape) != shapes[n]), CLOCK)
    group = "params" if name in PARAMETERS else "data"
    expected = f"({', '.join(axes[name])}) = {shapes[name]}"
    return f'{group}["{name}"] has shape {tuple(given[name].shape)}; expected {expected}{reason}'


def _held(given: Mapping[str, Any]) -> dict[str, dict[int, list[str]]]:
    """The arrays that give an axis its length, by axis and by length, each once."""
    held: dict[str, dict[int, list[str]]] = {}
    for name, array in given.items():
        for axis, n in zip({**PARAMETERS, **DATA}[name], array.shape, strict=True):
            names = held.setdefault(axis, {}).setdefault(n, [])
            if name not in names:
                names.append(name)
    return held


def _enlarged(objective: Callable[..., Any], by: float) -> Callable[..., Any]:
    """The objective and what it sends, times a number, for check: a gradient that someone clips shows."""

    def times(*given: Any) -> tuple[Any, dict[str, Any]]:
        values, direct = objective(*given)
        return by * values, {name: by * stack for name, stack in direct.items()}

    return times


def _all_there(what: str, wanted: tuple[str, ...], found: Mapping[str, Any]) -> bool:
    """Print, for check, what is not among what was found; True where nothing is missing."""
    missing = [name for name in wanted if name not in found]
    for name in missing:
        print(f"    {what.format(name)} is missing: WRONG")
    return not missing
