"""Options: what a program is asked to be beside its model. Values are checked here, whoever gives them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import ClassVar


class OptionError(ValueError):
    """An option that does not exist, that a target cannot follow or that says nothing for a model."""


AUTO = "auto"
"""The steps of a segment where no number is given: about the root of T."""

MASK = "mask"
"""What the mask of padding is called unless it gets a name."""


@dataclass(frozen=True)
class Options:
    """layout: the order of the axes of stacks, steps (T) and samples (B) first or second, the size last; weights: the
    side from which a matrix of parameters multiplies, W @ x, or x @ W with an array (columns, rows); dtype: that of all
    arrays, or None for that of what is given; schedule: how linear recurrences run; fused: the order of the gates whose
    parameters come in one array, empty for that of the model, None for arrays of their own; mask: the name in
    data of a mask (T, B) of sequences that are padded at the end; truncate: how many uses of the weights the gradients
    count of each loss, None for all; checkpoint: how many steps a segment has of which states are computed again, AUTO
    for the root of T, None where all states are kept.
    """

    layout: str = "TBD"
    weights: str = "left"
    dtype: str | None = None
    schedule: str = "auto"
    fused: tuple[str, ...] | None = None
    mask: str | None = None
    truncate: int | None = None
    checkpoint: int | str | None = None

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        "layout": ("TBD", "BTD"), "weights": ("left", "right"), "dtype": ("float32", "float64"),
        "schedule": ("auto", "loop", "chunked")}
    """The values of an option that has few."""

    def __post_init__(self) -> None:
        for name, choices in self.CHOICES.items():
            value = getattr(self, name)
            if value not in (*choices, *self._absent(name)):
                raise OptionError(f"--{name} {value}: there is no such {name}; there are {', '.join(choices)}")
        object.__setattr__(self, "fused", _listed(self.fused))
        object.__setattr__(self, "mask", _named(self.mask))
        object.__setattr__(self, "checkpoint", _length(self.checkpoint))
        if self.truncate is not None and (type(self.truncate) is not int or self.truncate < 1):
            raise OptionError(f"--truncate {self.truncate}: it counts uses of the weights and must be an integer ≥ 1")
        if self.truncate is not None and self.checkpoint is not None:
            raise OptionError(f"--checkpoint and --truncate {self.truncate}: what is truncated runs over "
                              "windows that need the states of all steps; ask for one of them")

    def _absent(self, name: str) -> tuple[None, ...]:
        """None, where that is what an option is when it is left out."""
        return (None,) if getattr(type(self), name) is None else ()

    @property
    def given(self) -> dict[str, object]:
        """The options that are not what they are when nothing is said, by name."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if value != getattr(type(self), name)}

    def __str__(self) -> str:
        """As they stand on a command line; empty where nothing is said."""
        return " ".join(f"--{name} {_written(value)}".rstrip() for name, value in self.given.items())

    def followed_by(self, target: str, known: Collection[str]) -> None:
        """Refuse what a target does not know.

        Raises:
            OptionError: an option is none of those.
        """
        for name in self.given:
            if name not in known:
                raise OptionError(f"--{name} is not for the target {target}"
                                  + (f"; options there are {', '.join(f'--{k}' for k in sorted(known))}" if known
                                     else ", which has no options"))

    @property
    def samples_first(self) -> bool:
        """Whether stacks are (B, T, size)."""
        return self.layout == "BTD"

    @property
    def turned(self) -> bool:
        """Whether matrices of parameters are arrays (columns, rows)."""
        return self.weights == "right"


def _listed(value: object) -> tuple[str, ...] | None:
    """Names out of a text with commas, or out of a list; True is an empty list."""
    if value is None or value is False:
        return None
    names = value.split(",") if isinstance(value, str) else () if value is True else value
    if not isinstance(names, Iterable):
        raise OptionError(f"--fused is the order of the gates, such as i,f,g,o, not {value!r}")
    return tuple(name for name in (str(name).strip() for name in names) if name)


def _named(value: object) -> object:
    """The name of the mask; True is the one that it has by itself.

    Raises:
        OptionError: it is no name.
    """
    if value is not None and not isinstance(value, (bool, str)):
        raise OptionError(f"--mask is the name of the mask in data, such as {MASK}, not {value!r}")
    return (MASK if value else None) if isinstance(value, bool) else value


def _length(value: object) -> object:
    """The steps of a segment; True, or nothing said, is AUTO.

    Raises:
        OptionError: it is no number of steps.
    """
    if value is None or value is False:
        return None
    if value is True or value == AUTO:
        return AUTO
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value) else value
    if type(number) is not int or number < 1:
        raise OptionError(f"--checkpoint {value}: it is the number of steps of a segment and must be an integer ≥ 1, "
                          f"or {AUTO} for about the root of T")
    return number


def _written(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


PLAIN = Options()
"""What a program is when nothing is said."""
