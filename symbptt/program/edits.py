"""What options change in the functions that modules bring along: pieces of their text, each standing there once."""

from __future__ import annotations

from collections.abc import Iterator

from symbptt.program.options import Options

Edit = tuple[str, str, str]
"""The function, a piece of its text, and what stands there instead."""

LAYOUT: tuple[Edit, ...] = (
    ("_read", "T, B = given[CLOCK].shape[:2]", "B, T = given[CLOCK].shape[:2]"),
    ("_stacks", "stack.astype(dtype, ", 'stack.swapaxes(0, 1).astype(dtype, "C", '),
    ("_evaluated", "    values, gradients = loss[name](*arguments)\n",
     "    arguments = tuple(argument.swapaxes(0, 1) for argument in arguments)\n"
     "    values, gradients = loss[name](*arguments)\n"),
    ("_evaluated", "return np.asarray(values)[..., None], found",
     "return np.asarray(values).swapaxes(0, 1)[..., None], tuple(gradient.swapaxes(0, 1) for gradient in found)"),
)
FUNCTIONAL_LAYOUT: tuple[Edit, ...] = (
    ("_read", "T, B = given[CLOCK].shape[:2]", "B, T = given[CLOCK].shape[:2]"),
    ("_stacks", "found[name] = stack.", "found[name] = stack.swapaxes(0, 1)."),
    ("_evaluated", "    result = loss[name](*arguments)\n",
     "    arguments = tuple(argument.swapaxes(0, 1) for argument in arguments)\n"
     "    result = loss[name](*arguments)\n"),
    ("_evaluated", "[..., None], same",
     ".swapaxes(0, 1)[..., None], tuple(gradient.swapaxes(0, 1) for gradient in same)"),
)

WEIGHTS: tuple[Edit, ...] = (
    ("_sample", "width = shapes[name][-1] if", "width = shapes[name][0] if"),
)

DTYPE: tuple[Edit, ...] = (
    ("_read", "if floating else np.dtype(float)\n",
     "if floating else np.dtype(float)\n    dtype = dtype if DTYPE is None else np.dtype(DTYPE)\n"),
    ("_read", "array.astype(dtype, copy=False)", 'array.astype(dtype, casting="same_kind", copy=False)'),
    ("_evaluated", "found = tuple(map(np.asarray, gradients if len(carrying) > 1 else (gradients,)))",
     "kind = arguments[carrying[0]].dtype\n"
     "    found = tuple(np.asarray(array, kind) for array in (gradients if len(carrying) > 1 else (gradients,)))\n"
     "    values = np.asarray(values, kind)"),
)
FUNCTIONAL_DTYPE: tuple[Edit, ...] = (
    ("_read", "dtype = _dtype(given)", "dtype = _dtype(given) if DTYPE is None else DTYPE"),
)

INSIDE: tuple[Edit, ...] = (
    ("_read", "    return given, _sizes(given)", "    return _inside(given), _sizes(given)"),
)
"""Arrays that are read are brought into the form of the functions."""


def edits(options: Options, library: str = "numpy") -> Iterator[Edit]:
    """The changes that the options of a module ask for."""
    if options.samples_first:
        yield from LAYOUT if library == "numpy" else FUNCTIONAL_LAYOUT
    if options.turned:
        yield from WEIGHTS
    if options.dtype is not None:
        yield from DTYPE if library == "numpy" else FUNCTIONAL_DTYPE
    if brought_inside(options):
        yield from INSIDE


def brought_inside(options: Options) -> bool:
    """Whether what is given has another form than that which the functions take."""
    return options.samples_first or options.fused is not None or options.mask is not None
