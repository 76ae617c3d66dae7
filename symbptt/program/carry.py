"""The functions of `runtime` and `runtime_options` as text: those that a module calls, and those that these call."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from importlib import resources

from symbptt.program.edits import Edit

SOURCES = ("runtime", "runtime_options")


@cache
def functions() -> dict[str, str]:
    """The source of every function there that has a body, by name, in order."""
    sources = [(resources.files("symbptt.program") / f"{name}.py").read_text(encoding="utf-8") for name in SOURCES]
    return {node.name: ast.get_source_segment(source, node) or "" for source in sources
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef) and not isinstance(node.body[-1], ast.Raise)}


def edited(changes: Iterable[Edit]) -> dict[str, str]:
    """The functions with changes in their text.

    Raises:
        ValueError: a piece that is to be changed does not stand where it should, once; an internal error.
    """
    known = dict(functions())
    for name, old, new in changes:
        if known[name].count(old) != 1:
            raise ValueError(f"{old!r} stands {known[name].count(old)} times in {name}")
        known[name] = known[name].replace(old, new)
    return known


def carried(code: str, changes: Iterable[Edit] = ()) -> list[str]:
    """The sources of the functions that the code needs, with changes in their text, in the order of `runtime`."""
    known, needed = edited(changes), set[str]()
    waiting = _called(code)
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting |= _called(known[name]) - needed
    return [source for name, source in known.items() if name in needed]


def _called(code: str) -> set[str]:
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return names & functions().keys()
