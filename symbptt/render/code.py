"""Lines of code on a page: long ones are folded at blanks, which mean the same to Coq."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

WIDTH = 88
"""The longest line."""
FURTHER = 4
"""How much further to the right than it began a line goes on."""
BRACKET = re.compile(r"(?P<opens>[(\[{]|<<)|[)\]}]|>>")


def folded(lines: Iterable[str]) -> Iterator[str]:
    """The lines; one that is too long goes on below."""
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + FURTHER)
        while len(line) > WIDTH and (place := _place(line)):
            yield line[:place]
            line = indent + line[place:].lstrip()
        yield line


def _place(line: str) -> int:
    """The last blank, in the right half if one is there, that the fewest brackets enclose; 0 where there is none."""
    start = len(line) - len(line.lstrip())
    blanks = [m.start() for m in re.finditer(r"(?<=\S) ", line) if start < m.start() <= WIDTH]
    ahead = [m.start() for m in re.finditer(r"(?<=\S) ", line) if m.start() > WIDTH]
    depth = {k: _depth(line[:k]) for k in blanks}
    right = [k for k in blanks if k >= WIDTH // 2]
    return max(right or blanks, key=lambda k: (-depth[k], k), default=min(ahead, default=0))


def _depth(text: str) -> int:
    return sum(1 if m["opens"] else -1 for m in BRACKET.finditer(text))
