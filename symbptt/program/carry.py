"""The functions of a runtime as text: those that a module calls, and those that these call."""

from __future__ import annotations

import ast
from functools import cache
from importlib import resources


@cache
def functions(runtime: str = "runtime") -> dict[str, str]:
    """The source of every function of a runtime that has a body, by name, in order."""
    source = (resources.files("symbptt.program") / f"{runtime}.py").read_text(encoding="utf-8")
    return {node.name: ast.get_source_segment(source, node) or "" for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef) and not isinstance(node.body[-1], ast.Raise)}


def carried(code: str, runtime: str = "runtime") -> list[str]:
    """The sources of the functions that the code needs, in the order of the runtime."""
    known, needed = functions(runtime), set[str]()
    waiting = _called(code, known)
    while waiting:
        name = waiting.pop()
        needed.add(name)
        waiting |= _called(known[name], known) - needed
    return [source for name, source in known.items() if name in needed]


def _called(code: str, known: dict[str, str]) -> set[str]:
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return names & known.keys()
