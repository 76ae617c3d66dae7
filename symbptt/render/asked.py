"""What a module says and does about its options: words in its head, and how what is given is brought inside."""

from __future__ import annotations

from collections.abc import Iterator

from symbptt.program.options import Options


def words(options: Options) -> Iterator[str]:
    """Sentences of the head, one an option."""
    if options.samples_first:
        yield ("Asked for: stacks as (B, T, size), a sample's steps behind one another, in all that is given and "
               "returned; the functions take views of them with the steps first.")
    if options.turned:
        yield ("Asked for: matrices of parameters, and their gradients, as arrays (columns, rows).")
    if options.dtype is not None:
        yield (f"Asked for: {options.dtype}, to which all that is given is converted, but for targets that are whole "
               "numbers. The check compares with complex-step derivatives in double precision, for which it sets DTYPE "
               f"aside, and then the gradients in {options.dtype} with those.")
    if options.schedule != "auto":
        yield f'Asked for: linear recurrences that run with SCHEDULE = "{options.schedule}".'


def inside(options: Options) -> Iterator[str]:
    """The lines that bring given arrays into the form that functions take; the arrays stand in `given`, by name."""
    yield "inside = dict(given)"
    if options.samples_first:
        yield 'inside |= {name: given[name].swapaxes(0, 1) for name, axes in DATA.items() if axes[1] == "T"}'
    yield "return inside"
