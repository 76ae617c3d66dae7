"""Values on the command line: numbers, files and folders, each read with a message that says what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import click

DIGITS = 18
"""The most digits of a number on the command line."""


def number_of_steps(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """T as an integer ≥ 1, or a usage error that says what would be right."""
    if value is None:
        return None
    if not re.fullmatch(r"-?[0-9]+", value):
        raise click.BadParameter(f"T counts time steps and must be an integer ≥ 1, not {value!r}")
    steps = 0 if value.startswith("-") else _counting(value)
    if steps < 1:
        raise click.BadParameter(f"T counts time steps and must be ≥ 1, not {_shortened(value)}; "
                                 "leave --T out for symbolic T")
    return steps


def number_of_uses(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """A number of uses of the weights, or a usage error that says what would be right."""
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]+", value) or _counting(value) < 1:
        raise click.BadParameter(f"it counts uses of the weights and must be an integer ≥ 1, not {value!r}")
    return _counting(value)


def _counting(digits: str) -> int:
    if len(digits) > DIGITS:
        raise click.BadParameter(f"{_shortened(digits)} is too large a number; at most {DIGITS} digits are read")
    return int(digits)


def _shortened(digits: str) -> str:
    return digits if len(digits) <= DIGITS else f"{digits[:DIGITS]}…"


def place(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Path | None:
    """The file to write, None for standard output, or a usage error that says what would be right."""
    if value == "":
        raise click.BadParameter("the name is empty; name a file, or leave -o out for standard output")
    return None if value in (None, "-") else Path(value)


def place_of_certificate(context: click.Context, parameter: click.Parameter, value: str | None) -> Path | None:
    """The file to write, None where none is asked for; standard output is for proofs and verdicts."""
    if value == "-":
        raise click.BadParameter("a certificate is written to a file; name one")
    return place(context, parameter, value)


def folder_of(_context: click.Context, _parameter: click.Parameter, value: str) -> Path:
    """The folder to write into, or a usage error that says what would be right."""
    if value in ("", "-"):
        raise click.BadParameter(f"several files are written, so name a folder, not {value!r}")
    return Path(value)
