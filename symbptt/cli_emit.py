"""The options of `symbptt emit`, a row each; what is wrong with a value `program.options` knows."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from symbptt.cli_values import number_of_uses
from symbptt.model.read import library
from symbptt.program.options import AUTO, MASK, PLAIN, Options

Command = Callable[..., Any]

ASKED = (
    click.option("--layout", type=click.Choice(Options.CHOICES["layout"]), default=PLAIN.layout, show_default=True,
                 help="The axes of stacks: T steps, B samples, the size D."),
    click.option("--weights", type=click.Choice(Options.CHOICES["weights"]), default=PLAIN.weights, show_default=True,
                 help="The side from which W multiplies: W @ x, or x @ W with arrays of the other shape."),
    click.option("--dtype", type=click.Choice(Options.CHOICES["dtype"]),
                 help="The dtype of all arrays; without it that of what is given."),
    click.option("--schedule", type=click.Choice(Options.CHOICES["schedule"]), default=PLAIN.schedule,
                 show_default=True, help="How linear recurrences run, in the target numpy: step by step, in parallel "
                                         "chunks of time, or by the sizes."),
    click.option("--mask", metavar="[NAME]", is_flag=False, flag_value=MASK,
                 help="Sequences of different lengths, padded at the end: data holds a mask (T, B) under this name, "
                      f"without NAME, {MASK}."),
    click.option("--truncate", metavar="INTEGER", callback=number_of_uses,
                 help="Gradients truncated to so many uses of the weights."),
    click.option("--checkpoint", metavar="[STEPS]", is_flag=False, flag_value=AUTO,
                 help="Keep states between segments of so many steps alone, and compute the others again for the "
                      "gradient; without STEPS, segments of about the root of T."),
    click.option("--fused", metavar="[ORDER]", is_flag=False, flag_value="",
                 help="Pack parameters of gates that multiply the same operand in one array, in the order of the "
                      "gates, such as i,f,g,o; without ORDER in that of the model."),
)


WITHOUT_VALUE = ("--mask", "--fused", "--checkpoint")
"""Options whose value may be left out; the next word is taken for it."""


class ModelAnywhere(click.Command):
    """A command whose MODEL may stand right behind an option without a value, which then has taken it for its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, with MODEL first where an option had taken it.

        Raises:
            click.UsageError: MODEL is missing.
        """
        words = list(args)
        taken = [k for k, option in enumerate(words[:-1], start=1) if option in WITHOUT_VALUE]
        models = [k for k in taken if words[k] in library() or Path(words[k]).is_file()]
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            if len(models) == 1:
                word = words.pop(models[0])
                return super().parse_args(ctx, [word, *words])
            if not taken:
                raise
            option, word = words[taken[0] - 1], words[taken[0]]
            hint = f"Missing argument 'MODEL'; {option} has taken {word} for its value: put MODEL first."
            raise click.UsageError(hint, ctx) from error


def asked(command: Command) -> Command:
    """The command with every option of a program."""
    return reduce(lambda made, option: option(made), reversed(ASKED), command)
