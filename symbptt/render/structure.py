"""The structure of formulas, shared by all notations: which row prints which node, where parentheses and signs go.

A row of ROWS makes a `Piece` from a node: its text, how tightly it binds, and whether a minus stands before it. What a
fraction, a transpose or a bold letter looks like is the business of a `Symbols` table, one for each notation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from sympy import Expr, MatrixSymbol, Symbol
from sympy.core.basic import Basic

from symbptt.expr.index import Index
from symbptt.expr.nodes import (
    ONE,
    Adjoint,
    At,
    Binder,
    Block,
    Chain,
    Derivative,
    Direct,
    Identity,
    Loss,
    LossGradient,
    Matrix,
    Multiple,
    Node,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.text import index_text
from symbptt.model.notation import Name, split
from symbptt.render.symbols import Level, Piece, Symbols


class Printer:
    """Writes formulas in the notation of a `Symbols` table."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.piece = cache(self._piece)

    def __call__(self, e: Matrix) -> str:
        """The formula."""
        return self.signed(self.piece(e))

    def _piece(self, e: Matrix) -> Piece:
        if isinstance(e, MatrixSymbol):
            return Piece(self.symbols.letter(split(str(e.name)), e.shape != (ONE, ONE), None))
        return ROWS[type(e)](self, e)

    def signed(self, piece: Piece) -> str:
        """The text of a piece with its sign."""
        return self.symbols.minus + piece.text if piece.minus else piece.text

    def inside(self, piece: Piece, tighter_than: Level) -> str:
        """The piece, in parentheses unless it binds tighter than that and has no sign."""
        text = self.signed(piece)
        return self.symbols.parenthesised(text) if piece.minus or piece.level <= tighter_than else text

    def added(self, pieces: list[Piece]) -> str:
        """Pieces with their signs between them."""
        between = f" {self.symbols.minus} "
        head = self.signed(pieces[0])
        return head + "".join((between if p.minus else self.symbols.plus) + p.text for p in pieces[1:])

    def index(self, form: Index) -> str:
        """An index form, without spaces: T+t-i."""
        tight = index_text(form).replace(" ", "").replace("*", "")
        named = re.sub(r"[A-Za-z_]\w*'*", lambda found: self.symbols.variable(found.group()), tight)
        return named.replace("-", self.symbols.minus)

    def scalar(self, c: Expr) -> Piece:
        """A SymPy scalar: numbers, constants, sizes and indices combined by +, · and integer powers.

        Raises:
            TypeError: it is something else.
        """
        if c.is_Add:
            ordered = sorted(c.args, key=lambda a: (a.could_extract_minus_sign(), a.is_Number, str(a)))
            return Piece(self.added([self.scalar(a) for a in ordered]), Level.SUM)
        if c.could_extract_minus_sign():
            positive = self.scalar(-c)
            return Piece(positive.text, positive.level, True)
        above, below = c.as_numer_denom()
        if below != 1:
            return Piece(self.symbols.fraction(self.signed(self.scalar(above)), self.signed(self.scalar(below))))
        if c.is_Mul:
            factors = [self.inside(self.scalar(a), Level.SUM) for a in c.as_ordered_factors()]
            return Piece(self.symbols.space.join(factors), Level.PRODUCT)
        if c.is_Pow and c.exp.is_Integer:
            base = self.inside(self.scalar(c.base), Level.SCRIPTED)
            return Piece(self.symbols.power(base, str(c.exp)), Level.SCRIPTED)
        if isinstance(c, Symbol):
            return Piece(self.symbols.variable(str(c.name)))
        if c.is_Number and c.is_finite:
            return Piece(str(c))
        raise TypeError(f"{c} is a {type(c).__name__}, which no notation writes")

    def size(self, c: Expr) -> str:
        """A size, as it stands in a shape."""
        return self.signed(self.scalar(c))


def flattened(e: Matrix, kind: type[Node]) -> Iterator[Matrix]:
    """The operands of nested sums, or of nested products, in order: their inner parentheses say nothing."""
    for a in e.args:
        if type(a) is kind:
            yield from flattened(a, kind)
        else:
            yield a


def _plus(p: Printer, e: Node) -> Piece:
    return Piece(p.added([p.piece(a) for a in flattened(e, Plus)]), Level.SUM)


def _times(p: Printer, e: Node) -> Piece:
    first, *rest = (p.piece(a) for a in flattened(e, Times))
    closed = first.level == Level.SUM or (first.level == Level.BIG and rest)
    head = p.symbols.parenthesised(first.text) if closed else first.text
    middle = [p.inside(a, Level.SCALED) for a in rest[:-1]]
    last = rest[-1]
    open_end = last.level == Level.BIG and not last.minus
    tail = last.text if open_end else p.inside(last, Level.SCALED)
    level = Level.BIG if open_end else Level.SCALED if first.level == Level.SCALED else Level.PRODUCT
    return Piece(p.symbols.space.join([head, *middle, tail]), level, first.minus)


def _scale(p: Printer, e: Node) -> Piece:
    c, body = p.scalar(e.args[0]), p.piece(e.args[1])
    closed = body.minus or body.level in (Level.SUM, Level.SCALED)
    text = p.symbols.parenthesised(p.signed(body)) if closed else body.text
    level = Level.BIG if body.level == Level.BIG and not closed else Level.SCALED
    if e.args[0] == -1:
        return Piece(text, Level.PRODUCT if closed else body.level, True)
    return Piece(p.symbols.space.join([p.inside(Piece(c.text, c.level), Level.SUM), text]), level, c.minus)


def _multiple(p: Printer, e: Node) -> Piece:
    factor, body = p.inside(p.piece(e.args[0]), Level.PRODUCT), p.inside(p.piece(e.args[1]), Level.SCALED)
    return Piece(p.symbols.space.join([factor, body]), Level.PRODUCT)


def _binder(p: Printer, e: Binder) -> Piece:
    return Piece(p.symbols.space.join([head(p, e), p.inside(p.piece(e.body), Level.SUM)]), Level.BIG)


def head(p: Printer, e: Binder) -> str:
    """The Σ or Π of a binder with its bounds."""
    lower = f"{p.symbols.variable(str(e.var.name))}={p.index(e.lo)}"
    return p.symbols.big("sum" if isinstance(e, Sum) else "product", lower, p.index(e.hi))


def _at(p: Printer, e: At) -> Piece:
    return Piece(p.symbols.letter(split(str(e.family.name)), e.shape != (ONE, ONE), p.index(e.time)))


def _loss(p: Printer, e: Loss) -> Piece:
    return Piece(f"{p.symbols.function(e.name)}({p.symbols.comma.join(map(p, e.args[1:]))})")


def _loss_gradient(p: Printer, e: LossGradient) -> Piece:
    d = p.symbols.partial
    return Piece(p.symbols.quotient(d + p(e.loss), d + p(e.wrt)), Level.QUOTIENT)


def _derivative(p: Printer, e: Derivative) -> Piece:
    above = (p.symbols.direct if type(e) is Direct else p.symbols.partial) + p.symbols.objective
    return Piece(p.symbols.quotient(above, p.symbols.partial + p(e.of)), Level.QUOTIENT)


def _chain(p: Printer, e: Chain) -> Piece:
    d, through = p.symbols.partial, p(e.through)
    outer = p.symbols.quotient(d + p.symbols.objective, d + through)
    return Piece(p.symbols.prod(outer, p.symbols.quotient(d + through, d + p(e.of))))


def _transpose(p: Printer, e: Node) -> Piece:
    return Piece(p.symbols.transposed(p.inside(p.piece(e.args[0]), Level.SCRIPTED)), Level.SCRIPTED)


def _power(p: Printer, e: Node) -> Piece:
    return Piece(p.symbols.power(p.inside(p.piece(e.args[0]), Level.SCRIPTED), p.index(e.args[1])), Level.SCRIPTED)


def _constant(letter: str) -> Callable[[Printer, Node], Piece]:
    def row(p: Printer, e: Node) -> Piece:
        return Piece(p.symbols.letter(Name(letter), e.shape != (ONE, ONE), None))
    return row


def _block(p: Printer, e: Block) -> Piece:
    return Piece(p.symbols.block([[p(cell) for cell in row] for row in e.rows]))


ROWS: dict[type[Basic], Callable[[Printer, Any], Piece]] = {
    At: _at,
    Loss: _loss,
    LossGradient: _loss_gradient,
    Adjoint: _derivative,
    Direct: _derivative,
    Chain: _chain,
    Plus: _plus,
    Times: _times,
    Scale: _scale,
    Multiple: _multiple,
    Transpose: _transpose,
    Zero: _constant("0"),
    Identity: _constant("I"),
    Power: _power,
    Sum: _binder,
    Product: _binder,
    Block: _block,
}
"""A row for every class of the vocabulary; a class without one raises KeyError."""
