"""Where plain text may not break: the spaces of a formula within a sentence."""

from __future__ import annotations

LONGEST = 60
"""Nothing longer is kept on one line of a sentence."""
SOLID = 40
"""A formula of so many characters is not broken in a sentence."""
GLUE = "\N{NO-BREAK SPACE}"
"""Stands for the spaces of plain text at which no line is broken."""


def unglued(text: str) -> str:
    """The text with its spaces."""
    return text.replace(GLUE, " ")


def glued(text: str, start: str = "") -> str:
    """The formula with no space at which a line may break between `start` and the bracket that closes it.

    Without a start: nowhere if the formula is short, else outside of all brackets.
    """
    if not start and len(text) <= SOLID:
        return text.replace(" ", GLUE)
    made, depth = "", 0
    for k, c in enumerate(text):
        opens = c in "([{" and (depth > 0 or text[:k + 1].endswith(start))
        depth += opens - (c in ")]}" and depth > 0)
        made += GLUE if c == " " and depth else c
    return made if start or max(map(len, made.split(" "))) <= LONGEST else text
