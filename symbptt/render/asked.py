"""What a module says and does about its options: words in its head, and how what is given is brought inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from symbptt.program.options import AUTO, Options
from symbptt.program.packed import Pack


def words(options: Options, packs: Iterable[Pack]) -> Iterator[str]:
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
    held = [f"{pack.name} holds {', '.join(str(p.name) for p in pack.parts)}" for pack in packs]
    if held:
        yield ("Asked for: parameters of gates that multiply the same operand, and their gradients, in one array, "
               f"{'columns beside' if options.turned else 'rows below'} one another in the order of the gates: "
               f"{'; '.join(held)}.")
    if options.mask is not None:
        yield (f'Asked for: sequences of different lengths, padded at the end. data["{options.mask}"] is 1 at the '
               "steps of a sample and 0 in its padding, where no loss counts and every gradient is 0. Whatever stands "
               "there, numbers or not, is read as zeros, and what a loss says of it is left out; states go on over it, "
               "and mean nothing there.")
    if options.truncate is not None:
        many = "step" if options.truncate == 1 else f"{options.truncate} steps"
        yield (f"Asked for: gradients that count, of the loss of each step, the uses of the weights in the {many} up "
               "to it (TRUNCATE), and not those before. dL/dv[t] in what is returned is the part of the losses at t … "
               "t + TRUNCATE - 1, so that it stands for the whole in the equations above but for the recursion. The "
               "recursion runs over windows of so many steps, which begin with states that are given. The check "
               "compares all gradients for TRUNCATE = T, and for windows of several lengths the truncated ones with "
               "derivatives of the equations through such windows.")
    if options.checkpoint is not None:
        length = "about the root of T" if options.checkpoint == AUTO else str(options.checkpoint)
        yield (f"Asked for: states kept between segments of {length} steps alone (CHECKPOINT) by value_and_grad. The "
               "segments are computed again from these, the last first, so that memory holds the states of one "
               "segment; what a segment sends to the values before it is added to what the losses send there. A loss "
               "that is passed gets the stacks of one segment at a time. forward and backward hold all steps. The "
               "check compares the gradients for segments of one, of two and of all steps.")


SPLIT = {"numpy": "np.split({0}, len(parts){1})", "torch": "{0}.chunk(len(parts){1})",
         "jax": "jnp.split({0}, len(parts){1})"}
WHERE = {"numpy": "np.where", "torch": "torch.where", "jax": "jnp.where"}


def inside(options: Options, library: str = "numpy") -> Iterator[str]:
    """The lines that bring given arrays into the form that functions take; the arrays stand in `given`, by name."""
    yield "inside = dict(given)"
    if options.samples_first:
        yield from ('whole = [name for name, axes in DATA.items() if axes[1] == "T" and name in given]',
                    "inside |= {name: given[name].swapaxes(0, 1) for name in whole}")
    if options.fused is not None:
        aside = f", {'dim' if library == 'torch' else 'axis'}=-1" if options.turned else ""
        yield from ("for name, parts in PACKED.items():",
                    f"    inside |= zip(parts, {SPLIT[library].format('given[name]', aside)}, strict=True)")
    if options.mask is not None:
        name = options.mask
        yield from (f'kept = _kept("{name}", inside["{name}"])',
                    'stacks = [key for key, axes in DATA.items() if "T" in axes and key in given]',
                    f'inside |= {{key: {WHERE[library]}(kept, inside[key], 0) for key in stacks if key != "{name}"}}',
                    f'inside["{name}"] = inside["{name}"][..., None]')
    yield "return inside"
