"""What torch modules bring along beside `runtime_windows`; copied like that, and never imported."""

from __future__ import annotations

import torch
from torch import Tensor


def _joined(parts: list[Tensor], axis: int) -> Tensor:
    """Tensors behind one another."""
    return torch.cat(parts, axis)


def _with_part(stack: Tensor, axis: int, first: int, part: Tensor) -> Tensor:
    """The stack, to whose steps from first on others are added."""
    stack.narrow(axis, first, part.shape[axis]).add_(part)
    return stack


def _finite(value: Tensor) -> Tensor:
    """A value with 0 where it is no number."""
    return torch.nan_to_num(value)


def _weighed(sent: Tensor, last: Tensor) -> Tensor:
    """The sum of the products; where nothing is sent the other factor may be no number."""
    return (sent * torch.where(sent != 0, last, 0)).sum()
