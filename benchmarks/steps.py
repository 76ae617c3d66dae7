"""What a step of a generated NumPy program calls: at one sample its calls, not its numbers, take the time."""

from __future__ import annotations

import ast

LOOPS = ("_forward", "_backward")
"""The functions that go through the steps."""


class Count(ast.NodeVisitor):
    """How many functions and operators of NumPy statements call, and how many views of arrays they take."""

    def __init__(self) -> None:
        self.calls = self.views = 0

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """A view; what stands in the brackets are whole numbers."""
        self.views += 1
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        """A function."""
        self.calls += 1
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """An operator in place."""
        self.calls += 1
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """An operator."""
        self.calls += 1
        self.generic_visit(node)


def counted(code: str) -> tuple[int, int] | None:
    """Calls and views of one step, forward and backward together; None where no loop goes step by step."""
    count = Count()
    functions = [f for f in ast.parse(code).body if isinstance(f, ast.FunctionDef) and f.name in LOOPS]
    loops = [n for f in functions for n in ast.walk(f)
             if isinstance(n, ast.For) and isinstance(n.target, ast.Name) and n.target.id == "t"]
    for statement in (s for loop in loops for s in loop.body):
        count.visit(statement)
    return (count.calls, count.views) if loops else None
