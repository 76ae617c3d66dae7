"""Expressions: the closed vocabulary, index arithmetic, shapes, substitution and the normal form."""

from symbptt.expr.nodes import Node
from symbptt.expr.text import text

Node.writer = staticmethod(text)
