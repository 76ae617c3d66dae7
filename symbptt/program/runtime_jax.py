"""What generated jax modules bring along. It is copied into them, function by function, and never imported.

The tables and the functions without a body stand for those that each module has of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

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

Steps = dict[int, Array]
Loss = Callable[..., Any]

PARAMETERS: dict[str, tuple[str, ...]] = {}
DATA: dict[str, tuple[str, ...]] = {}
CONSTANTS: dict[str, float] = {}
TARGETS: tuple[str, ...] = ()
CLOCK = ""


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


def _sizes(given: Mapping[str, Array]) -> dict[str, int]:
    """The sizes; generated."""
    raise NotImplementedError


def _shapes(T: int, B: int, size: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes; generated."""
    raise NotImplementedError


def _agree(what: str, found: Array | None, right: Array, least: float = 0.0, limit: float = 1e-11) -> bool:
    """Print how far two arrays are apart, measured by the largest entry or `least`; True where that is rounding."""
    if found is None:
        print(f"    {what} is missing: WRONG")
        return False
    fits = found.shape == right.shape
    apart = float(jnp.abs(found - right).max()) if fits else float("inf")
    scale = max(float(jnp.abs(right).max()), least)
    error = apart / scale if scale else apart and float("inf")
    good = error <= limit
    verdict = "ok" if good else "WRONG" if bool(jnp.isfinite(right).all()) else "not finite"
    print(f"    {what:<40} {found.shape!s:<14} {error:8.1e}  {verdict}")
    return good


def _plainly(
    params: Mapping[str, Any], data: Mapping[str, Any], moved: Mapping[str, Array], loss: Mapping[str, Loss]
) -> Array:
    """L, by the equations as they stand, with what is added to states."""
    return _objective(params, data, unrolled(params, data, moved), loss)[0].sum()


def _by_autodiff(
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    like: Mapping[str, Array],
    wanted: tuple[str, ...],
    objective: Callable[..., Array],
    *more: Any,
) -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """L, the gradients that jax itself finds through an objective, and those of what is added to states."""

    def by_leaves(leaves: dict[str, Array], moved: dict[str, Array]) -> Array:
        moved_params = {name: leaves.get(name, value) for name, value in params.items()}
        moved_data = {name: leaves.get(name, value) for name, value in data.items()}
        return objective(moved_params, moved_data, moved, *more)

    leaves = {name: (params if name in PARAMETERS else data)[name] for name in wanted}
    still = {name: jnp.zeros_like(stack) for name, stack in like.items()}
    L, (grads, total) = jax.jit(jax.value_and_grad(by_leaves, argnums=(0, 1)))(leaves, still)
    return L, grads, total


def _along(
    wanted: tuple[str, ...],
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    loss: Mapping[str, Loss],
    grads: Mapping[str, Array],
) -> tuple[Array, Array, float]:
    """What the gradients make of the slope of L along one direction, the slope, and the sum of absolute terms."""
    given = {name: (params if name in PARAMETERS else data)[name] for name in wanted if name in grads}
    keys = jax.random.split(jax.random.key(2), len(given))
    direction = {name: jax.random.normal(key, given[name].shape) for key, name in zip(keys, given, strict=True)}

    def plain(leaves: dict[str, Array]) -> Array:
        return _plainly({**params, **_among(leaves, PARAMETERS)}, {**data, **_among(leaves, DATA)}, {}, loss)

    _, slope = jax.jit(lambda: jax.jvp(plain, (given,), (direction,)))()
    products = [grads[name] * direction[name] for name in given]
    scale = sum(float(abs(product).sum()) for product in products)
    return jnp.stack([product.sum() for product in products]).sum(), slope, scale


def _among(arrays: Mapping[str, Array], table: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays that a table lists."""
    return {name: array for name, array in arrays.items() if name in table}


def _mask(T: int, B: int) -> Array:
    """A mask with zeros and ones; the first step counts for every sample of two."""
    return ((jnp.arange(T)[:, None] + jnp.arange(B)) % 3 != 2).astype(float)[..., None]


def _sample(T: int, B: int, size: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Random parameters and data, a third below zero: weights near ±1/2 over their width, initial values not zero."""
    shapes = _shapes(T, B, size)
    keys = iter(jax.random.split(jax.random.key(1), 2 * len(PARAMETERS) + 2 * len(DATA)))

    def drawn(name: str, spread: float) -> Array:
        signs = jnp.where(jax.random.uniform(next(keys), shapes[name]) < 1 / 3, -1, 1)
        return signs * (0.5 + spread * jax.random.normal(next(keys), shapes[name]))

    params: dict[str, Any] = dict(CONSTANTS)
    for name, axes in PARAMETERS.items():
        width = shapes[name][-1] if len(axes) > 1 else 1
        params[name] = drawn(name, 0.25) / width
    return params, {name: drawn(name, 0.5) for name in DATA}


def _smooth_loss(seed: int, carrying: tuple[int, ...]) -> Loss:
    """A loss for check: with s the weighted sum of all entries, 40 times s + s²/2 + half of the squared norms.

    So much that a gradient that someone clips is clipped here.
    """

    def loss(*arguments: Array) -> tuple[Array, Any]:
        weights = [jnp.cos(seed + 3 * k + jnp.arange(v.shape[-1])) for k, v in enumerate(arguments)]
        s = jnp.stack([(w * v).sum(-1) for w, v in zip(weights, arguments, strict=True)]).sum(0)
        squares = jnp.stack([(v * v).sum(-1) for v in arguments]).sum(0)
        gradients = tuple(40 * ((1 + s)[..., None] * weights[k] + arguments[k]) for k in carrying)
        return 40 * (s + s * s / 2 + squares / 2), gradients if len(gradients) > 1 else gradients[0]

    return loss


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
    dtype = _dtype(given)
    for name, array in given.items():
        if name not in TARGETS or jnp.issubdtype(array.dtype, jnp.floating):
            given[name] = array.astype(dtype)
    given |= {name: _number(params, name).astype(dtype) for name in CONSTANTS}
    return given, _sizes(given)


def _dtype(given: Mapping[str, Array]) -> Any:
    """The widest floating dtype of all arrays; that of jax where there is none."""
    floating = [array for array in given.values() if jnp.issubdtype(array.dtype, jnp.floating)]
    return jnp.result_type(*floating) if floating else jnp.result_type(float)


def _stacks(
    group: str,
    arrays: Mapping[str, Any],
    table: Mapping[str, tuple[str, ...]],
    given: Mapping[str, Array],
    size: Mapping[str, int],
) -> dict[str, Array]:
    """The stacks that a table lists, checked and in the dtype of the arrays that were given."""
    T, B = given[CLOCK].shape[:2]
    shapes = _shapes(T, B, size)
    dtype = next(array.dtype for name, array in given.items() if name not in TARGETS)
    _require_dict(group, arrays)
    found: dict[str, Array] = {}
    for name, axes in table.items():
        stack = _array(group, arrays, name, axes)
        _expect(group, name, stack, axes, shapes[name])
        found[name] = stack.astype(dtype)
    if len(arrays) != len(table):
        _require_among(table, group, arrays, table)
    return found


def _array(group: str, arrays: Mapping[str, Any], name: str, axes: tuple[str, ...]) -> Array:
    """One array, with as many axes as it must have."""
    if name not in arrays:
        raise ValueError(_missing(group, arrays, name, f"an array of shape ({', '.join(axes)})"))
    array = jnp.asarray(arrays[name])
    if jnp.iscomplexobj(array):
        raise TypeError(f'{group}["{name}"] is complex; expected real numbers')
    if array.ndim != len(axes):
        raise ValueError(f'{group}["{name}"] has shape {array.shape}; expected ({", ".join(axes)})')
    return array


def _number(params: Mapping[str, Any], name: str) -> Array:
    """A constant, given as a number or an array without axes."""
    if name not in params:
        raise ValueError(_missing("params", params, name, "a number"))
    if jnp.shape(params[name]) != ():
        raise ValueError(f'params["{name}"] has shape {jnp.shape(params[name])}; expected a number')
    if jnp.iscomplexobj(params[name]):
        raise TypeError(f'params["{name}"] is complex; expected a real number')
    return jnp.asarray(params[name])


def _evaluated(
    loss: Mapping[str, Loss], name: str, arguments: tuple[Array, ...], carrying: tuple[int, ...]
) -> tuple[Array, tuple[Array, ...]]:
    """The values of a loss, (T, B, 1), and its gradients with respect to the arguments at the positions `carrying`.

    A loss that returns its values alone is differentiated by jax.
    """
    result = loss[name](*arguments)
    if not isinstance(result, Array):
        values, found = _returned(name, result, arguments, carrying)
    else:
        # The values of the same call: a loss that draws numbers has the gradients of one draw.
        def total(*moved: Array) -> tuple[Array, Array]:
            by_place = dict(zip(carrying, moved, strict=True))
            values = loss[name](*(by_place.get(k, a) for k, a in enumerate(arguments)))
            return jnp.sum(values), values

        slopes = jax.grad(total, argnums=tuple(range(len(carrying))), has_aux=True)
        found, values = slopes(*(arguments[k] for k in carrying))
    _require_shapes(name, values, found, arguments, carrying)
    dtypes = [arguments[position].dtype for position in carrying]
    if any(map(jnp.iscomplexobj, (values, *found))):
        raise TypeError(f"the loss {name} gave complex numbers; expected {dtypes[0]}")
    values = values.astype(dtypes[0])
    found = tuple(gradient.astype(dtype) for gradient, dtype in zip(found, dtypes, strict=True))
    return values[..., None], found


def _by_time(stack: Array, *earlier: Array, later: int = 0) -> Steps:
    """The steps of a stack by time: 1 … T; before them the values at 0, -1, …; after them `later` steps of zeros."""
    steps = {-k: value for k, value in enumerate(earlier)}
    steps |= dict(enumerate(stack, start=1))
    return steps | {len(stack) + k: jnp.zeros_like(stack[0]) for k in range(1, later + 1)}


def _stacked(steps: Steps, T: int, back: int = 0) -> Array:
    """The steps at 1 … T, or as many times back, as a stack."""
    return jnp.stack([steps[t - back] for t in range(1, T + 1)])


def _ahead(stack: Array, by: int) -> Array:
    """The stack so many steps later; zeros behind its end."""
    return jnp.concatenate([stack[by:], jnp.zeros_like(stack[:by])])


def _behind(stack: Array, *earlier: Array) -> Array:
    """The stack as many steps earlier as there are values at 0, -1, …, which come first."""
    return jnp.concatenate([jnp.stack(earlier[::-1]), stack])[: len(stack)]


def _at(stack: Array, t: int) -> Array:
    """The step at t; zeros behind the end."""
    return stack[t - 1] if t <= len(stack) else jnp.zeros_like(stack[0])


def _dot(a: Array, b: Array) -> Array:
    """The product aᵀb of every sample: (B, n) and (B, n) to (B, 1)."""
    return (a * b).sum(axis=-1, keepdims=True)


def _apply(matrix: Array, rows: Array) -> Array:
    """The product of every sample's matrix and column: (B, m, n) and (B, n) to (B, m)."""
    return (matrix @ rows[..., :, None])[..., 0]


def _over_rows(a: Array, b: Array) -> Array:
    """The product aᵀb, a sum over the rows of both."""
    if a.shape[1] < b.shape[1]:
        return a.T @ b
    # XLA's product on a processor is up to twice as fast when it has fewer rows than columns; without the barrier the
    # compiler would turn it back.
    kept: Callable[[Array], Array] = jax.lax.optimization_barrier
    return kept(b.T @ a).T


def _outer(a: Array, b: Array) -> Array:
    """The product a bᵀ of every sample: (B, m) and (B, n) to (B, m, n)."""
    return a[..., :, None] * b[..., None, :]


def _blocks(B: int, rows: list[list[Array]]) -> Array:
    """The block matrix of every sample, (B, m, n); a block without samples is the same in all of them."""
    return jnp.block([[jnp.broadcast_to(cell, (B, *cell.shape[-2:])) for cell in row] for row in rows])


def _placed(rows: Array, start: int, size: int, axis: int = -1) -> Array:
    """An array among zeros: along the axis it begins at `start`, and `size` is the length with the zeros."""
    around = [(0, 0)] * rows.ndim
    around[axis] = (start, size - start - rows.shape[axis])
    return jnp.pad(rows, around)


def _at_last(stack: Array) -> Array:
    """The stack with zeros before its last step."""
    return jnp.concatenate([jnp.zeros_like(stack[:-1]), stack[-1:]])


def _count(name: str, mask: Array) -> Array:
    """The number of steps that count for each sample, (B, 1); a mean over none of them is refused where it is seen."""
    total = mask.sum(axis=0)
    if not isinstance(total, jax.core.Tracer) and bool((total == 0).any()):
        sample = int(jnp.argmax(total[:, 0] == 0))
        raise ValueError(f'data["{name}"] has no step that counts for sample {sample}; a mean divides by their number')
    return total


def _require_sum_one(name: str, target: Array, mask: Any = 1.0) -> None:
    """Refuse a target that breaks the assumption of the model, in a step that counts, where it is seen."""
    broken = (abs((target.sum(axis=-1, keepdims=True) - 1) * mask) > 1e-3).any()
    if not isinstance(broken, jax.core.Tracer) and bool(broken):
        raise ValueError(f'data["{name}"]: the model assumes that the entries of every step add up to one')


def _step(z: Array) -> Array:
    """One above zero, else zero."""
    return (z > 0).astype(z.dtype)


def _leaky_relu(z: Array) -> Array:
    """The argument above zero, a hundredth of it below."""
    return jnp.where(z <= 0, z / 100, z)


def _softsign(z: Array) -> Array:
    """The function z / (1 + |z|)."""
    return z / (1 + abs(z))


def _hard_tanh(z: Array) -> Array:
    """The argument between -1 and 1, and these beyond."""
    return jnp.clip(z, -1, 1)


def _softmax(z: Array) -> Array:
    """Exponentials along the last axis over their sum."""
    return jax.nn.softmax(z, axis=-1)


def _cotangent(gradient: Array | None, value: Any) -> Any:
    """A gradient in the dtype of its variable; zeros for what carries none."""
    if not jnp.issubdtype(jnp.result_type(value), jnp.floating):
        return jnp.zeros(jnp.shape(value), jax.dtypes.float0)
    if gradient is None:
        return jnp.zeros_like(value)
    return gradient.astype(jnp.result_type(value))


def _swapped(stacks: Mapping[str, Array]) -> dict[str, Array]:
    """Stacks with the axes of steps and of samples in the other order."""
    return {name: stack.swapaxes(0, 1) for name, stack in stacks.items()}


def _kept(name: str, mask: Array) -> Array:
    """Where a mask (T, B) keeps a step, as (T, B, 1); a mask that is wrong is refused where it is seen.

    Raises:
        ValueError: it holds more than 0 and 1, or padding stands before a step that is kept.
    """
    kept = mask != 0
    wrong, late = (mask != kept).any(), (kept[1:] & ~kept[:-1]).any(axis=0)
    if not isinstance(wrong, jax.core.Tracer):
        if bool(wrong):
            raise ValueError(f'data["{name}"] holds more than 0 and 1')
        if bool(late.any()):
            sample = int(jnp.argmax(late))
            raise ValueError(f'data["{name}"] has a 0 before a 1 in sample {sample}; padding stands at the end')
    return kept[..., None]


def _where_kept(mask: Array, values: Array, gradients: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
    """What a loss gave, and zero in padding whatever it gave there."""
    return jnp.where(mask != 0, values, 0), tuple(jnp.where(mask != 0, gradient, 0) for gradient in gradients)


def _without_padding(mask: Array, stacks: Mapping[str, Array]) -> dict[str, Array]:
    """Stacks with zeros in padding."""
    return {name: jnp.where(mask != 0, stack, 0) for name, stack in stacks.items()}


def _lengths(T: int, B: int) -> Array:
    """A mask (T, B) for check: every sample is two steps shorter than the one before it, but for one step."""
    return (jnp.arange(T)[:, None] < jnp.maximum(T - 2 * jnp.arange(B), 1)).astype(float)


def _spoiled(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Data with padding that is no number."""
    stacks = [key for key, axes in DATA.items() if "T" in axes and key != name]
    return {**data, **{key: jnp.where(data[name][..., None] != 0, data[key], jnp.nan) for key in stacks}}


def _added(stack: Array, axis: int, step: int, value: Array) -> Array:
    """A stack with a value added at one step."""
    return stack.at[:, step].add(value) if axis else stack.at[step].add(value)


def _zeros_like(stack: Array) -> Array:
    """Zeros in the shape and dtype of a stack."""
    return jnp.zeros_like(stack)
