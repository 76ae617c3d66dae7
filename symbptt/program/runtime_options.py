"""What modules bring along beside `runtime` where options ask for it; copied like that, and never imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def _swapped(stacks: Mapping[str, Array]) -> dict[str, Array]:
    """Stacks with the axes of steps and of samples in the other order, as views."""
    return {name: stack.swapaxes(0, 1) for name, stack in stacks.items()}
