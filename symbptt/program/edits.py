"""What options change in the functions that modules bring along: pieces of their text, each standing there once."""

from __future__ import annotations

from collections.abc import Iterator

from symbptt.program.options import Options

Edit = tuple[str, str, str]
"""The function, a piece of its text, and what stands there instead."""

LAYOUT: tuple[Edit, ...] = (
    ("_read", "T, B = given[CLOCK].shape[:2]", "B, T = given[CLOCK].shape[:2]"),
    ("_evaluated", "    result = loss[name](*arguments)\n",
     "    arguments = tuple(argument.swapaxes(0, 1) for argument in arguments)\n"
     "    result = loss[name](*arguments)\n"),
    ("_evaluated", "return values[..., None], found",
     "return values.swapaxes(0, 1)[..., None], tuple(gradient.swapaxes(0, 1) for gradient in found)"),
)
STACKS: dict[str, Edit] = {
    "numpy": ("_stacks", "stack.astype(dtype, ", 'stack.swapaxes(0, 1).astype(dtype, "C", '),
    **dict.fromkeys(("torch", "jax"), ("_stacks", "found[name] = stack.", "found[name] = stack.swapaxes(0, 1).")),
}
"""Stacks that are given samples first, by library."""

WEIGHTS: tuple[Edit, ...] = (
    ("_sample", "width = shapes[name][-1] if", "width = shapes[name][0] if"),
)

DTYPE: tuple[Edit, ...] = (
    ("_read", "if floating else np.dtype(float)\n",
     "if floating else np.dtype(float)\n    dtype = dtype if DTYPE is None else np.dtype(DTYPE)\n"),
    ("_read", "array.astype(dtype, copy=False)", 'array.astype(dtype, casting="same_kind", copy=False)'),
)
FUNCTIONAL_DTYPE: tuple[Edit, ...] = (
    ("_read", "dtype = _dtype(given)", "dtype = _dtype(given) if DTYPE is None else DTYPE"),
)

INSIDE: tuple[Edit, ...] = (
    ("_read", "    return given, _sizes(given)", "    return _inside(given), _sizes(given)"),
)
"""Arrays that are read are brought into the form of the functions."""


SEGMENTS: tuple[Edit, ...] = (
    ("_reached", ".copy()", ".clone()"),
)
"""How torch writes what all libraries share."""


def edits(options: Options, library: str = "numpy") -> Iterator[Edit]:
    """The changes that the options of a module ask for."""
    if options.samples_first:
        yield from (*LAYOUT, STACKS[library])
    if options.turned:
        yield from WEIGHTS
    if options.dtype is not None:
        yield from DTYPE if library == "numpy" else FUNCTIONAL_DTYPE
    if brought_inside(options):
        yield from INSIDE
    if options.checkpoint is not None and library == "torch":
        yield from SEGMENTS


def brought_inside(options: Options) -> bool:
    """Whether what is given has another form than that which the functions take."""
    return options.samples_first or options.fused is not None or options.mask is not None
