"""What generated NumPy modules bring along. It is copied into them, function by function, and never imported.

The tables and the functions without a body stand for those that each module has of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from symbptt.program.runtime_shared import (
    _expect,
    _misfit,
    _missing,
    _require_among,
    _require_dict,
    _require_known,
    _require_shapes,
    _require_some,
    _returned,
)

Array = npt.NDArray[Any]
Steps = dict[int, Array]
Loss = Callable[..., Any]

PARAMETERS: dict[str, tuple[str, ...]] = {}
DATA: dict[str, tuple[str, ...]] = {}
CONSTANTS: dict[str, float] = {}
TARGETS: tuple[str, ...] = ()
CLOCK = ""
SCHEDULE = "auto"


def _sizes(given: Mapping[str, Array]) -> dict[str, int]:
    """The sizes; generated."""
    raise NotImplementedError


def _shapes(T: int, B: int, size: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes; generated."""
    raise NotImplementedError


def _read(
    params: Mapping[str, Any], data: Mapping[str, Any], spared: tuple[str, ...] = ()
) -> tuple[dict[str, Array], dict[str, int]]:
    """Every array by name, in one dtype, and the sizes by name; targets that are whole numbers stay as they are.

    Data that are spared may be missing.

    Raises:
        ValueError: an array is missing, is not known or does not have the shape that the others make it have.
    """
    _require_dict("params", params)
    _require_dict("data", data)
    given = {name: _array("params", params, name, axes) for name, axes in PARAMETERS.items()}
    for name, axes in DATA.items():
        if name in data or name not in spared:
            given[name] = _array("data", data, name, axes)
    if len(params) + len(data) != len(PARAMETERS) + len(CONSTANTS) + len(DATA):
        _require_known(params, data)
    T, B = given[CLOCK].shape[:2]
    _require_some(T, B)
    shapes = _shapes(T, B, _sizes(given))
    if any(array.shape != shapes[name] for name, array in given.items()):
        raise ValueError(_misfit(given))
    floating = [array for array in given.values() if np.issubdtype(array.dtype, np.inexact)]
    numbers = [_number(params, name) for name in CONSTANTS]
    dtype = np.result_type(*floating, *numbers) if floating else np.dtype(float)
    for name, array in given.items():
        if name not in TARGETS or np.issubdtype(array.dtype, np.inexact):
            given[name] = array.astype(dtype, copy=False)
    return given, _sizes(given)


def _stacks(
    group: str,
    arrays: Mapping[str, Any],
    table: Mapping[str, tuple[str, ...]],
    given: Mapping[str, Array],
    size: Mapping[str, int],
) -> dict[str, Array]:
    """Copies of the stacks that a table lists, checked and in the dtype of the arrays that were given."""
    T, B = given[CLOCK].shape[:2]
    shapes = _shapes(T, B, size)
    dtype = next(array.dtype for name, array in given.items() if name not in TARGETS)
    _require_dict(group, arrays)
    found: dict[str, Array] = {}
    for name, axes in table.items():
        stack = _array(group, arrays, name, axes)
        _expect(group, name, stack, axes, shapes[name])
        found[name] = stack.astype(dtype, casting="same_kind")
    if len(arrays) != len(table):
        _require_among(table, group, arrays, table)
    return found


def _array(group: str, arrays: Mapping[str, Any], name: str, axes: tuple[str, ...]) -> Array:
    """One array, with as many axes as it must have."""
    if name not in arrays:
        raise ValueError(_missing(group, arrays, name, f"an array of shape ({', '.join(axes)})"))
    array = np.asarray(arrays[name])
    _require_numbers(group, name, arrays[name], array)
    if array.ndim != len(axes):
        raise ValueError(f'{group}["{name}"] has shape {array.shape}; expected ({", ".join(axes)})')
    return array


def _number(params: Mapping[str, Any], name: str) -> Any:
    """A constant as a Python number, which leaves the dtype of arrays alone."""
    if name not in params:
        raise ValueError(_missing("params", params, name, "a number"))
    number = np.asarray(params[name])
    _require_numbers("params", name, params[name], number)
    if number.shape != ():
        raise ValueError(f'params["{name}"] has shape {number.shape}; expected a number')
    return number.item()


def _require_numbers(group: str, name: str, given: Any, array: Array) -> None:
    """Refuse what NumPy would make numbers of: texts, dates and objects; and masks, which it would leave out."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f'{group}["{name}"] is a masked array, whose mask would be lost; expected plain numbers')
    if array.dtype.kind in "OSUTMm":
        raise TypeError(f'{group}["{name}"] has dtype {array.dtype}; expected numbers')


def _work_arrays(buffers: Any) -> dict[str, Any]:
    """What keeps the work arrays of a call, which may be those of the call before."""
    if buffers is None:
        return {}
    if not isinstance(buffers, dict):
        raise TypeError(f"buffers is of type {type(buffers).__name__}; expected a dict, empty at first")
    for key, kept in buffers.items():
        if not isinstance(kept, dict) and not (isinstance(kept, tuple) and len(kept) == 2):
            raise TypeError(f"buffers holds {key!r}, which no call puts there; expected a dict, empty at first")
    return buffers


def _evaluated(
    loss: Mapping[str, Loss], name: str, arguments: tuple[Array, ...], carrying: tuple[int, ...]
) -> tuple[Array, tuple[Array, ...]]:
    """The values of a loss, (T, B, 1), and its gradients with respect to the arguments at the positions `carrying`.

    The loss may read its arguments and not write to them: they are the states that the backward pass reads, and data.
    """
    arguments = tuple(map(_read_only, arguments))
    result = loss[name](*arguments)
    values, gradients = _returned(name, result, arguments, carrying)
    values, found = np.asarray(values), tuple(map(np.asarray, gradients))
    _require_shapes(name, values, found, arguments, carrying)
    dtype = np.result_type(*(arguments[position].dtype for position in carrying))
    for array in (values, *found):
        if not np.can_cast(array.dtype, dtype, "same_kind"):
            raise TypeError(f"the loss {name} gave numbers of dtype {array.dtype}; expected {dtype}")
    # What is added to them later would be rounded to theirs.
    values, found = values.astype(dtype, copy=False), tuple(g.astype(dtype, copy=False) for g in found)
    return values[..., None], found


def _read_only(array: Array) -> Array:
    """A view that nothing can be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def _by_time(stack: Array, *earlier: Array, later: int = 0) -> Steps:
    """The steps of a stack by time: 1 … T; before them the values at 0, -1, …; after them `later` steps of zeros."""
    steps = {-k: value for k, value in enumerate(earlier)}
    steps |= dict(enumerate(stack, start=1))
    return steps | {len(stack) + k: np.zeros_like(stack[0]) for k in range(1, later + 1)}


def _stacked(steps: Steps, T: int, back: int = 0) -> Array:
    """The steps at 1 … T, or as many times back, as a stack."""
    return np.stack([steps[t - back] for t in range(1, T + 1)])


def _recur(stack: Array, *matrices: Array | None) -> None:
    """The linear recurrence stack[t] += Σ_k stack[t - k] @ matrices[k - 1] in place, behind as many given steps.

    Step by step; or, by the closed form, in chunks of c steps: all chunks run at once from zero, their ends are carried
    from one to the next by the c-th power of the transition, and all run again from where they begin. That is twice the
    arithmetic in 2 c + T / c products instead of T.
    """
    lags, (B, n), T = len(matrices), stack.shape[1:], len(stack) - len(matrices)
    c = _chunk_length(T, B, n, lags)
    whole = T // c * c if c else 0
    if whole:
        states = [np.zeros((whole // c, B, n), stack.dtype) for _ in matrices]
        ends = np.concatenate(_swept(stack, c, states, matrices, keep=False), axis=-1)
        power = np.linalg.matrix_power(_transition(matrices, n, stack.dtype), c)
        begins = np.empty_like(ends)
        begins[0] = np.concatenate(list(stack[:lags]), axis=-1)
        for k in range(1, len(begins)):
            np.dot(begins[k - 1], power, out=begins[k])
            begins[k] += ends[k - 1]
        _swept(stack, c, [np.ascontiguousarray(s) for s in np.split(begins, lags, axis=-1)], matrices, keep=True)
    work = np.empty((B, n), stack.dtype)
    for steps in zip(*(stack[whole + k :] for k in range(lags + 1)), strict=False):
        for k, matrix in enumerate(matrices, start=1):
            if matrix is not None:
                np.dot(steps[lags - k], matrix, out=work)
                np.add(steps[lags], work, out=steps[lags])


def _arrays(buffers: dict[str, Any] | None, key: str, dtype: Any, /, **shapes: tuple[int, ...]) -> list[Array]:
    """Arrays without values: new ones, or in buffers those of the call before if it had the same shapes and dtype.

    In buffers they are cut out of one: memory is got for all at once, as the first use of it costs more than a sum.
    """
    if buffers is None:
        return [np.empty(shape, dtype) for shape in shapes.values()]
    wanted = (dtype, *shapes.values())
    if key not in buffers or buffers[key][0] != wanted:
        lengths = [math.prod(shape) for shape in shapes.values()]
        # Each begins a multiple of 64 numbers behind the first.
        whole, starts = np.empty(sum(n + 63 for n in lengths), dtype), [0]
        for n in lengths:
            starts.append(starts[-1] + (n + 63) // 64 * 64)
        parts = zip(starts, lengths, shapes.values(), strict=False)
        buffers[key] = (wanted, [whole[at : at + n].reshape(shape) for at, n, shape in parts])
    found: list[Array] = buffers[key][1]
    return found


def _chunk_length(T: int, B: int, n: int, lags: int) -> int:
    """The length of chunks, 0 for none; auto: none unless the steps are many, and so small that calling costs most."""
    pays = T >= 64 and B * n * n * lags <= 32768
    return max(2, round(T**0.5 / 2)) if SCHEDULE == "chunked" or (SCHEDULE == "auto" and pays) else 0


def _swept(stack: Array, c: int, states: list[Array], matrices: tuple[Array | None, ...], keep: bool) -> list[Array]:
    """The states of all chunks of c steps at their ends, the latest last; with keep every step is written."""
    lags, (count, B, n) = len(matrices), states[0].shape
    for j in range(lags, lags + c):
        step = stack[j : j + (count - 1) * c + 1 : c]
        state = np.array(step)
        for k, matrix in enumerate(matrices, start=1):
            if matrix is not None:
                state += (states[-k].reshape(count * B, n) @ matrix).reshape(count, B, n)
        if keep:
            step[...] = state
        states = [*states[1:], state]
    return states


def _transition(matrices: tuple[Array | None, ...], n: int, dtype: Any) -> Array:
    """One step of the recurrence for the last len(matrices) states beside one another, the latest last."""
    lags = len(matrices)
    whole = np.eye(lags * n, k=-n, dtype=dtype)
    for k, matrix in enumerate(matrices, start=1):
        whole[(lags - k) * n : (lags - k + 1) * n, (lags - 1) * n :] = 0 if matrix is None else matrix
    return whole


def _block_length(T: int, width: int) -> int:
    """How many of T steps, of so many numbers each, are made ready together for a loop.

    As many as stay in a cache, and of a long loop no more than a sixteenth, so that they add little to what is kept.
    """
    return min(T, max(64, T // 16), max(1, 262144 // max(1, width)))


def _dot(a: Array, b: Array) -> Any:
    """The product aᵀb of every sample: (B, n) and (B, n) to (B, 1)."""
    return np.sum(a * b, axis=-1, keepdims=True)


def _apply(matrix: Array, rows: Array) -> Any:
    """The product of every sample's matrix and column: (B, m, n) and (B, n) to (B, m)."""
    return (matrix @ rows[..., :, None])[..., 0]


def _outer(a: Array, b: Array) -> Any:
    """The product a bᵀ of every sample: (B, m) and (B, n) to (B, m, n)."""
    return a[..., :, None] * b[..., None, :]


def _blocks(B: int, rows: list[list[Array]]) -> Array:
    """The block matrix of every sample, (B, m, n); a block without samples is the same in all of them."""
    return np.block([[np.broadcast_to(cell, (B, *cell.shape[-2:])) for cell in row] for row in rows])


def _placed(rows: Array, start: int, size: int, axis: int = -1) -> Array:
    """An array among zeros: along the axis it begins at `start`, and `size` is the length with the zeros."""
    rows = np.moveaxis(rows, axis, -1)
    whole = np.zeros((*rows.shape[:-1], size), rows.dtype)
    whole[..., start : start + rows.shape[-1]] = rows
    return np.moveaxis(whole, -1, axis)


def _at_last(stack: Array) -> Array:
    """The stack with zeros before its last step."""
    last = np.zeros_like(stack)
    last[-1] = stack[-1]
    return last


def _count(name: str, mask: Array) -> Array:
    """The number of steps that count for each sample, (B, 1); a mean over none of them is refused."""
    total = mask.sum(axis=0)
    if np.any(total == 0):
        sample = int(np.argmax(total[:, 0] == 0))
        raise ValueError(f'data["{name}"] has no step that counts for sample {sample}; a mean divides by their number')
    return np.asarray(total)


def _require_sum_one(name: str, target: Array, mask: Any = 1.0) -> None:
    """Refuse a target that breaks the assumption of the model, in a step that counts."""
    if np.any(abs((target.sum(axis=-1, keepdims=True) - 1) * mask) > 1e-3):
        raise ValueError(f'data["{name}"]: the model assumes that the entries of every step add up to one')


def _absolute(z: Array) -> Any:
    """The absolute value; the sign is that of the real part, as in all branches below."""
    return np.where(z.real < 0, -z, z)


def _step(z: Array) -> Any:
    """One above zero, else zero."""
    return (z.real > 0).astype(z.dtype)


def _sign(z: Array) -> Any:
    """The sign; zero at zero."""
    return np.sign(z.real).astype(z.dtype)


def _sigmoid(z: Array) -> Any:
    """The logistic function; the exponent is never positive, so that nothing overflows and small values are exact."""
    small = np.exp(-_absolute(z))
    return np.where(z.real < 0, small, 1) / (1 + small)


def _relu(z: Array) -> Any:
    """The positive part."""
    return np.where(z.real <= 0, 0, z)


def _leaky_relu(z: Array) -> Any:
    """The argument above zero, a hundredth of it below."""
    return np.where(z.real <= 0, z / 100, z)


def _elu(z: Array) -> Any:
    """The argument above zero, exp(z) - 1 below."""
    return np.where(z.real <= 0, np.expm1(z - _relu(z)), z)


def _softplus(z: Array) -> Any:
    """The function log(1 + exp(z)); the exponent is never positive."""
    return _relu(z) + np.log1p(np.exp(-_absolute(z)))


def _silu(z: Array) -> Any:
    """The argument times the logistic function of it."""
    return z * _sigmoid(z)


def _softsign(z: Array) -> Any:
    """The function z / (1 + |z|)."""
    return z / (1 + _absolute(z))


def _hard_tanh(z: Array) -> Any:
    """The argument between -1 and 1, and these beyond."""
    return np.where(z.real <= -1, -1, np.where(z.real >= 1, 1, z))


def _softmax(z: Array) -> Any:
    """Exponentials along the last axis over their sum; the largest exponent is 0."""
    powers = np.exp(z - z.real.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _log_softmax(z: Array) -> Any:
    """The logarithm of the softmax, without the softmax."""
    low = z - z.real.max(axis=-1, keepdims=True)
    return low - np.log(np.exp(low).sum(axis=-1, keepdims=True))
