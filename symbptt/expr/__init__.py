"""Expressions: the closed vocabulary, index arithmetic, shapes, substitution and the normal form."""

from symbptt.expr.protocol import install

install()
