"""What generated torch modules bring along. It is copied into them, function by function, and never imported.

The tables and the functions without a body stand for those that each module has of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

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

Steps = dict[int, Tensor]
Loss = Callable[..., Any]

PARAMETERS: dict[str, tuple[str, ...]] = {}
DATA: dict[str, tuple[str, ...]] = {}
CONSTANTS: dict[str, float] = {}
TARGETS: tuple[str, ...] = ()
CLOCK = ""


def unrolled(
    params: Mapping[str, Any], data: Mapping[str, Any], moved: Mapping[str, Any] | None = None
) -> dict[str, Tensor]:
    """The states by the equations as they stand; generated."""
    raise NotImplementedError


def _objective(
    params: Mapping[str, Any], data: Mapping[str, Any], states: Mapping[str, Tensor], loss: Mapping[str, Loss]
) -> tuple[Tensor, dict[str, Tensor]]:
    """What each step and sample adds to L, and the direct gradients; generated."""
    raise NotImplementedError


def _sizes(given: Mapping[str, Tensor]) -> dict[str, int]:
    """The sizes; generated."""
    raise NotImplementedError


def _shapes(T: int, B: int, size: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes; generated."""
    raise NotImplementedError


def _agree(what: str, found: Tensor | None, right: Tensor, least: float = 0.0, limit: float = 1e-11) -> bool:
    """Print how far two tensors are apart, measured by the largest entry or `least`; True where that is rounding."""
    if found is None:
        print(f"    {what} is missing: WRONG")
        return False
    fits = found.shape == right.shape
    apart = float((found - right).abs().max()) if fits else float("inf")
    scale = max(float(right.abs().max()), least)
    error = apart / scale if scale else apart and float("inf")
    good = error <= limit
    verdict = "ok" if good else "WRONG" if bool(torch.isfinite(right).all()) else "not finite"
    print(f"    {what:<40} {tuple(found.shape)!s:<14} {error:8.1e}  {verdict}")
    return good


def _plainly(
    params: Mapping[str, Any], data: Mapping[str, Any], moved: Mapping[str, Tensor], loss: Mapping[str, Loss]
) -> Tensor:
    """L, by the equations as they stand, with what is added to states."""
    return _objective(params, data, unrolled(params, data, moved), loss)[0].sum()


def _by_autograd(
    params: Mapping[str, Any],
    data: Mapping[str, Any],
    like: Mapping[str, Tensor],
    wanted: tuple[str, ...],
    objective: Callable[..., Tensor],
    *more: Any,
) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    """L, the gradients that torch itself finds through an objective, and those of what is added to states."""
    leaves = {name: (params if name in PARAMETERS else data)[name].clone().requires_grad_() for name in wanted}
    moved = {name: torch.zeros_like(stack).requires_grad_() for name, stack in like.items()}
    moved_params = {name: leaves.get(name, value) for name, value in params.items()}
    moved_data = {name: leaves.get(name, value) for name, value in data.items()}
    L = objective(moved_params, moved_data, moved, *more)
    found = torch.autograd.grad(L, [*leaves.values(), *moved.values()], materialize_grads=True)
    by_name = dict(zip(leaves, found, strict=False))
    return L.detach(), by_name, dict(zip(moved, found[len(leaves) :], strict=True))


def _copies(*groups: Mapping[str, Any]) -> list[dict[str, Tensor]]:
    """Copies of all tensors."""
    return [{name: torch.as_tensor(value).detach().clone() for name, value in group.items()} for group in groups]


def _unchanged(before: list[dict[str, Tensor]], *groups: Mapping[str, Any]) -> bool:
    """Print which tensors are not what they were; True where all are."""
    changed = [
        name
        for group, copies in zip(groups, before, strict=True)
        for name, value in copies.items()
        if not torch.allclose(value, torch.as_tensor(group[name], dtype=value.dtype), rtol=0, atol=0, equal_nan=True)
    ]
    for name in changed:
        print(f"    {name} was changed: WRONG")
    return not changed


def _along(grads: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, float]:
    """The slopes along one direction that two sets of gradients make, and the sum of absolute terms."""
    random = torch.Generator().manual_seed(2)
    direction = {name: torch.randn(g.shape, generator=random, dtype=torch.float64) for name, g in right.items()}
    products = [right[name] * direction[name] for name in right]
    scale = torch.stack([product.abs().sum() for product in products]).sum()
    found = torch.stack([(grads[name] * direction[name]).sum() for name in right if name in grads]).sum()
    return found, torch.stack([product.sum() for product in products]).sum(), float(scale)


def _mask(T: int, B: int) -> Tensor:
    """A mask with zeros and ones; the first step counts for every sample of two."""
    return ((torch.arange(T)[:, None] + torch.arange(B)) % 3 != 2).double()[..., None]


def _sample(T: int, B: int, size: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Random parameters and data, a third below zero: weights near ±1/2 over their width, initial values not zero."""
    random = torch.Generator().manual_seed(1)
    shapes = _shapes(T, B, size)

    def drawn(name: str, spread: float) -> Tensor:
        signs = torch.where(torch.rand(shapes[name], generator=random) < 1 / 3, -1, 1)
        return signs * (0.5 + spread * torch.randn(shapes[name], generator=random, dtype=torch.float64))

    params: dict[str, Any] = dict(CONSTANTS)
    for name, axes in PARAMETERS.items():
        width = shapes[name][-1] if len(axes) > 1 else 1
        params[name] = drawn(name, 0.25) / width
    return params, {name: drawn(name, 0.5) for name in DATA}


def _smooth_loss(seed: int, carrying: tuple[int, ...]) -> Loss:
    """A loss for check: with s the weighted sum of all entries, 40 times s + s²/2 + half of the squared norms.

    So much that a gradient that someone clips is clipped here.
    """

    def loss(*arguments: Tensor) -> tuple[Tensor, Any]:
        weights = [torch.cos(seed + 3 * k + torch.arange(v.shape[-1], dtype=v.dtype)) for k, v in enumerate(arguments)]
        s = torch.stack([(w * v).sum(-1) for w, v in zip(weights, arguments, strict=True)]).sum(0)
        squares = torch.stack([(v * v).sum(-1) for v in arguments]).sum(0)
        gradients = tuple(40 * ((1 + s)[..., None] * weights[k] + arguments[k]) for k in carrying)
        return 40 * (s + s * s / 2 + squares / 2), gradients if len(gradients) > 1 else gradients[0]

    return loss


def _read(
    params: Mapping[str, Any], data: Mapping[str, Any], spared: tuple[str, ...] = ()
) -> tuple[dict[str, Tensor], dict[str, int]]:
    """Every tensor by name, in one dtype, and the sizes by name; targets that are whole numbers stay as they are.

    Data that are spared may be missing.

    Raises:
        ValueError: a tensor is missing, is not known or does not have the shape that the others make it have.
    """
    _require_dict("params", params)
    _require_dict("data", data)
    given = {name: _tensor("params", params, name, axes) for name, axes in PARAMETERS.items()}
    for name, axes in DATA.items():
        if name in data or name not in spared:
            given[name] = _tensor("data", data, name, axes)
    if len(params) + len(data) != len(PARAMETERS) + len(CONSTANTS) + len(DATA):
        _require_known(params, data)
    T, B = given[CLOCK].shape[:2]
    _require_some(T, B)
    shapes = _shapes(T, B, _sizes(given))
    if any(tensor.shape != shapes[name] for name, tensor in given.items()):
        raise ValueError(_misfit(given))
    for name in CONSTANTS:
        _number(params, name)
    dtype = _dtype(given)
    for name, tensor in given.items():
        if name not in TARGETS or tensor.is_floating_point():
            given[name] = tensor.to(dtype)
    return given, _sizes(given)


def _dtype(given: Mapping[str, Tensor]) -> torch.dtype:
    """The widest floating dtype of all tensors; that of torch where there is none."""
    found: torch.dtype | None = None
    for tensor in given.values():
        if tensor.is_floating_point():
            found = tensor.dtype if found is None else torch.promote_types(found, tensor.dtype)
    return torch.get_default_dtype() if found is None else found


def _stacks(
    group: str,
    tensors: Mapping[str, Any],
    table: Mapping[str, tuple[str, ...]],
    given: Mapping[str, Tensor],
    size: Mapping[str, int],
) -> dict[str, Tensor]:
    """The stacks that a table lists, checked and in the dtype of the tensors that were given."""
    T, B = given[CLOCK].shape[:2]
    shapes = _shapes(T, B, size)
    dtype = next(tensor.dtype for name, tensor in given.items() if name not in TARGETS)
    _require_dict(group, tensors)
    found: dict[str, Tensor] = {}
    for name, axes in table.items():
        stack = _tensor(group, tensors, name, axes)
        _expect(group, name, stack, axes, shapes[name])
        found[name] = stack.to(dtype)
    if len(tensors) != len(table):
        _require_among(table, group, tensors, table)
    return found


def _tensor(group: str, tensors: Mapping[str, Any], name: str, axes: tuple[str, ...]) -> Tensor:
    """One tensor, with as many axes as it must have."""
    if name not in tensors:
        raise ValueError(_missing(group, tensors, name, f"a tensor of shape ({', '.join(axes)})"))
    tensor = torch.as_tensor(tensors[name])
    if tensor.is_complex():
        raise TypeError(f'{group}["{name}"] is complex; expected real numbers')
    if tensor.ndim != len(axes):
        raise ValueError(f'{group}["{name}"] has shape {tuple(tensor.shape)}; expected ({", ".join(axes)})')
    return tensor


def _number(params: Mapping[str, Any], name: str) -> Any:
    """A constant as a Python number, which leaves the dtype of tensors alone."""
    if name not in params:
        raise ValueError(_missing("params", params, name, "a number"))
    number = params[name]
    value = torch.as_tensor(number)
    if value.is_complex():
        raise TypeError(f'params["{name}"] is complex; expected a real number')
    shape = tuple(value.shape)
    if shape:
        raise ValueError(f'params["{name}"] has shape {shape}; expected a number')
    # A tensor made of a Python number would round it.
    return number if isinstance(number, (int, float)) else number.item()


def _evaluated(
    loss: Mapping[str, Loss], name: str, arguments: tuple[Tensor, ...], carrying: tuple[int, ...]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The values of a loss, (T, B, 1), and its gradients with respect to the arguments at the positions `carrying`.

    A loss that returns its values alone is differentiated by torch.

    Raises:
        ValueError: it wrote to its arguments, which are the states that the backward pass reads, and data; or its
            values depend on none of them.
    """
    with torch.inference_mode(False):
        arguments = tuple(a.clone() if a.is_inference() else a for a in arguments)
    versions = [a._version for a in arguments]
    result = loss[name](*arguments)
    if not isinstance(result, Tensor):
        values, found = _returned(name, result, arguments, carrying)
    else:
        with torch.inference_mode(False), torch.enable_grad():
            leaves = [a.detach().requires_grad_() if k in carrying else a for k, a in enumerate(arguments)]
            # These values and not those before: a loss that draws numbers has the gradients of one draw.
            values = loss[name](*leaves)
            if not values.requires_grad:
                raise ValueError(f"the loss {name} gave values that torch cannot differentiate; return gradients too")
            found = torch.autograd.grad(values.sum(), [leaves[k] for k in carrying], materialize_grads=True)
        values = values.detach()
    if versions != [a._version for a in arguments]:
        raise ValueError(f"the loss {name} wrote to its arguments; work on copies")
    _require_shapes(name, values, found, arguments, carrying)
    dtypes = [arguments[position].dtype for position in carrying]
    if any(array.is_complex() for array in (values, *found)):
        raise TypeError(f"the loss {name} gave complex numbers; expected {dtypes[0]}")
    values = values.to(dtypes[0])
    found = tuple(gradient.to(dtype) for gradient, dtype in zip(found, dtypes, strict=True))
    return values[..., None], found


def _by_time(stack: Tensor, *earlier: Tensor, later: int = 0) -> Steps:
    """The steps of a stack by time: 1 … T; before them the values at 0, -1, …; after them `later` steps of zeros."""
    steps = {-k: value for k, value in enumerate(earlier)}
    steps |= dict(enumerate(stack.unbind(), start=1))
    return steps | {len(stack) + k: torch.zeros_like(stack[0]) for k in range(1, later + 1)}


def _stacked(steps: Steps, T: int, back: int = 0) -> Tensor:
    """The steps at 1 … T, or as many times back, as a stack."""
    return torch.stack([steps[t - back] for t in range(1, T + 1)])


def _ahead(stack: Tensor, by: int) -> Tensor:
    """The stack so many steps later; zeros behind its end."""
    return torch.cat([stack[by:], torch.zeros_like(stack[:by])])


def _behind(stack: Tensor, *earlier: Tensor) -> Tensor:
    """The stack as many steps earlier as there are values at 0, -1, …, which come first."""
    return torch.cat([torch.stack(earlier[::-1]), stack])[: len(stack)]


def _at(stack: Tensor, t: int) -> Tensor:
    """The step at t; zeros behind the end."""
    return stack[t - 1] if t <= len(stack) else torch.zeros_like(stack[0])


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """The product aᵀb of every sample: (B, n) and (B, n) to (B, 1)."""
    return (a * b).sum(-1, keepdim=True)


def _apply(matrix: Tensor, rows: Tensor) -> Tensor:
    """The product of every sample's matrix and column: (B, m, n) and (B, n) to (B, m)."""
    return (matrix @ rows[..., :, None])[..., 0]


def _outer(a: Tensor, b: Tensor) -> Tensor:
    """The product a bᵀ of every sample: (B, m) and (B, n) to (B, m, n)."""
    return a[..., :, None] * b[..., None, :]


def _block(rows: list[Any]) -> Tensor:
    """A block matrix; a list without lists in it is one row."""
    beside = [row if isinstance(row, Tensor) else torch.cat(row, dim=-1) for row in rows]
    return torch.cat(beside, dim=-1 if isinstance(rows[0], Tensor) else -2)


def _blocks(B: int, rows: list[Any]) -> Tensor:
    """The block matrix of every sample, (B, m, n); a block without samples is the same in all of them."""

    def whole(cell: Any) -> Any:
        return cell.expand(B, *cell.shape[-2:]) if isinstance(cell, Tensor) else [whole(part) for part in cell]

    return _block(whole(rows))


def _placed(rows: Tensor, start: int, size: int, axis: int = -1) -> Tensor:
    """A tensor among zeros: along the axis it begins at `start`, and `size` is the length with the zeros."""
    shape = list(rows.shape)
    shape[axis] = size
    whole = rows.new_zeros(shape)
    whole.narrow(axis, start, rows.shape[axis]).copy_(rows)
    return whole


def _at_last(stack: Tensor) -> Tensor:
    """The stack with zeros before its last step."""
    return torch.cat([torch.zeros_like(stack[:-1]), stack[-1:]])


def _count(name: str, mask: Tensor) -> Tensor:
    """The number of steps that count for each sample, (B, 1); a mean over none of them is refused."""
    total = mask.sum(0)
    if bool((total == 0).any()):
        sample = int((total[:, 0] == 0).long().argmax())
        raise ValueError(f'data["{name}"] has no step that counts for sample {sample}; a mean divides by their number')
    return total


def _require_sum_one(name: str, target: Tensor, mask: Any = 1.0) -> None:
    """Refuse a target that breaks the assumption of the model, in a step that counts."""
    if bool((((target.sum(-1, keepdim=True) - 1) * mask).abs() > 1e-3).any()):
        raise ValueError(f'data["{name}"]: the model assumes that the entries of every step add up to one')


def _step(z: Tensor) -> Tensor:
    """One above zero, else zero."""
    return (z > 0).to(z.dtype)


def _leaky_relu(z: Tensor) -> Tensor:
    """The argument above zero, a hundredth of it below."""
    return torch.where(z <= 0, z / 100, z)


def _softplus(z: Tensor) -> Tensor:
    """The function log(1 + exp(z)); the exponent is never positive."""
    return torch.relu(z) + torch.log1p(torch.exp(-z.abs()))


def _softsign(z: Tensor) -> Tensor:
    """The function z / (1 + |z|)."""
    return z / (1 + z.abs())


def _hard_tanh(z: Tensor) -> Tensor:
    """The argument between -1 and 1, and these beyond."""
    return z.clamp(-1, 1)


def _softmax(z: Tensor) -> Tensor:
    """Exponentials along the last axis over their sum."""
    return torch.softmax(z, dim=-1)


def _swapped(stacks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Stacks with the axes of steps and of samples in the other order, as views."""
    return {name: stack.swapaxes(0, 1) for name, stack in stacks.items()}


def _kept(name: str, mask: Tensor) -> Tensor:
    """Where a mask (T, B) keeps a step, as (T, B, 1).

    Raises:
        ValueError: it holds more than 0 and 1, or padding stands before a step that is kept.
    """
    kept = mask != 0
    if bool((mask != kept).any()):
        raise ValueError(f'data["{name}"] holds more than 0 and 1')
    late = (kept[1:] & ~kept[:-1]).any(0)
    if bool(late.any()):
        sample = int(late.long().argmax())
        raise ValueError(f'data["{name}"] has a 0 before a 1 in sample {sample}; padding stands at the end')
    return kept[..., None]


def _where_kept(mask: Tensor, values: Tensor, gradients: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """What a loss gave, and zero in padding whatever it gave there."""
    return torch.where(mask != 0, values, 0), tuple(torch.where(mask != 0, gradient, 0) for gradient in gradients)


def _without_padding(mask: Tensor, stacks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Stacks with zeros in padding."""
    return {name: torch.where(mask != 0, stack, 0) for name, stack in stacks.items()}


def _lengths(T: int, B: int) -> Tensor:
    """A mask (T, B) for check: every sample is two steps shorter than the one before it, but for one step."""
    return (torch.arange(T)[:, None] < (T - 2 * torch.arange(B)).clamp(min=1)).double()


def _spoiled(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Data with padding that is no number."""
    stacks = [key for key, axes in DATA.items() if "T" in axes and key != name]
    return {**data, **{key: torch.where(data[name][..., None] != 0, data[key], torch.nan) for key in stacks}}


def _added(stack: Tensor, axis: int, step: int, value: Tensor) -> Tensor:
    """A stack with a value added at one step."""
    found = stack.clone()
    found.select(axis, step).add_(value)
    return found


def _put(whole: Tensor | None, axis: int, first: int, T: int, part: Tensor) -> Tensor:
    """A stack of T steps with a part of them from a step on; a new one if there is none."""
    if whole is None:
        whole = part.new_empty([T if k == axis else n for k, n in enumerate(part.shape)])
    whole.narrow(axis, first, part.shape[axis]).copy_(part)
    return whole


def _zeros_like(stack: Tensor) -> Tensor:
    """Zeros in the shape and dtype of a stack."""
    return torch.zeros_like(stack)
