"""The functions of a runtime as text: those that a module calls, and those that these call."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from importlib import resources

from symbptt.program.edits import Edit

SOURCES = ("runtime_check", "runtime", "runtime_options", "runtime_segments", "runtime_windows", "runtime_shared")
"""The files of the runtime of NumPy modules."""


@cache
def functions(sources: tuple[str, ...] = SOURCES) -> dict[str, str]:
    """The source of every function there that has a body, by name, in order."""
    texts = [(resources.files("symbptt.program") / f"{name}.py").read_text(encoding="utf-8") for name in sources]
    return {node.name: ast.get_source_segment(text, node) or "" for text in texts for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef) and not _generated(node)}


def _generated(node: ast.FunctionDef) -> bool:
    """Whether a function stands for one that each module has of its own: behind its docstring it raises."""
    return len(node.body) == 2 and isinstance(node.body[1], ast.Raise)


def edited(changes: Iterable[Edit], sources: tuple[str, ...] = SOURCES) -> dict[str, str]:
    """The functions with changes in their text.

    Raises:
        ValueError: a piece that is to be changed does not stand where it should, once; an internal error.
    """
    known = dict(functions(sources))
    for name, old, new in changes:
        if known[name].count(old) != 1:
            raise ValueError(f"{old!r} stands {known[name].count(old)} times in {name}")
        known[name] = known[name].replace(old, new)
    return known


def carried(code: str, changes: Iterable[Edit] = (), sources: tuple[str, ...] = SOURCES) -> list[str]:
    """The sources of the functions that the code needs, with changes in their text, in the order of the runtime."""
    known, needed = edited(changes, sources), set[str]()
    waiting = _called(code, known)
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting |= _called(known[name], known) - needed
    return [source for name, source in known.items() if name in needed]


def _called(code: str, known: dict[str, str]) -> set[str]:
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return names & known.keys()
