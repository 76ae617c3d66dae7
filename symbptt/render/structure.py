"""The structure of formulas, shared by all notations: which row prints which node, where parentheses and signs go.

A row of ROWS makes a `Piece` from a node: its text, how tightly it binds, and whether a minus stands before it. What a
fraction, a transpose or a bold letter looks like is the business of a `Symbols` table, one for each notation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from sympy import Expr, MatrixSymbol, Symbol
from sympy.core.basic import Basic

from symbptt.expr.build import selected
from symbptt.expr.index import Index
from symbptt.expr.nodes import (
    ONE,
    Adjoint,
    Apply,
    At,
    Binder,
    Block,
    Chain,
    Delta,
    Derivative,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    Immediate,
    Loss,
    LossGradient,
    Matrix,
    Maximum,
    Multiple,
    Node,
    Norm,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Tangent,
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

    def factors(self, e: Matrix) -> tuple[bool, list[Factor]]:
        """Whether a minus stands before a product, and its factors as they stand in it."""
        parts = list(_sliced(self, _shown(e)))
        made = []
        for k, (node, piece) in enumerate(parts):
            first, last = k == 0, k == len(parts) - 1
            loose = (Level.SUM, Level.ELEMENTWISE, *(() if last else (Level.BIG,)))
            if first and len(parts) > 1:
                text = self.symbols.parenthesised(piece.text) if piece.level in loose else piece.text
            else:
                open_end = last and piece.level == Level.BIG and not piece.minus
                text = piece.text if open_end or len(parts) == 1 else self.inside(piece, Level.SCALED)
            made.append(Factor(node, piece, text))
        return parts[0][1].minus, made

    def size(self, c: Expr) -> str:
        """A size, as it stands in a shape."""
        return self.signed(self.scalar(c))


class Factor(NamedTuple):
    """A factor of a product: the node if it is one, its piece, and its text as it stands in the product."""

    node: Matrix | None
    piece: Piece
    text: str


def _shown(e: Matrix) -> list[Matrix]:
    """The factors of a product that are worth writing: not the number one."""
    found = [a for a in flattened(e, Times) if type(a) not in (Ones, Identity) or a.shape != (ONE, ONE)]
    return found or [e.args[0]]


def _sliced(p: Printer, factors: list[Matrix]) -> Iterator[tuple[Matrix | None, Piece]]:
    """The factors with their pieces; a matrix [0 I 0] before a letter, or turned behind one, as rows of that letter."""
    rest = list(factors)
    while rest:
        first = rest.pop(0)
        rows, turned = selected(first), selected(first.args[0]) if type(first) is Transpose else None
        ahead = selected(rest[0].args[0]) if rest and type(rest[0]) is Transpose else None
        if rows is not None and not (rest and type(rest[0]) is Block):
            base = p(rest.pop(0)) if rest and _letter(rest[0]) else p(Identity(first.shape[1]))
            yield None, _rows(p, base, rows)
        elif turned is not None:
            yield None, _turned(p, p(Identity(first.shape[0])), turned)
        elif ahead is not None and type(first) is Transpose and _letter(first.args[0]):
            rest.pop(0)
            yield None, _turned(p, p(first.args[0]), ahead)
        elif ahead is not None and _letter(first):
            rest.pop(0)
            yield None, _turned(p, p(Transpose(first)), ahead)
        elif type(first) is Plus and first.shape[0] == ONE and all(map(_is_turned, flattened(first, Plus))):
            text = p.symbols.parenthesised(p(Plus(*map(_back, flattened(first, Plus)))))
            yield None, Piece(p.symbols.transposed(text), Level.SCRIPTED)
        else:
            yield first, p.piece(first)


def _letter(e: Matrix) -> bool:
    inner = e.args[0] if type(e) is Transpose else e
    return isinstance(inner, MatrixSymbol | At)


def _is_turned(e: Matrix) -> bool:
    return type(e.args[1] if type(e) is Scale else e) is Transpose


def _back(e: Matrix) -> Matrix:
    """The transpose of a transpose with its scalar."""
    return Scale(e.args[0], e.args[1].args[0]) if type(e) is Scale else e.args[0]


def _rows(p: Printer, base: str, rows: tuple[Expr, Expr]) -> Piece:
    return Piece(p.symbols.slice(base, *map(p.size, rows)))


def _turned(p: Printer, base: str, rows: tuple[Expr, Expr]) -> Piece:
    return Piece(p.symbols.transposed(_rows(p, base, rows).text), Level.SCRIPTED)


def flattened(e: Matrix, kind: type[Node]) -> Iterator[Matrix]:
    """The operands of nested sums, or of nested products, in order: their inner parentheses say nothing."""
    for a in e.args:
        if type(a) is kind:
            yield from flattened(a, kind)
        else:
            yield a


def _plus(p: Printer, e: Node) -> Piece:
    return Piece(p.added(summands(p, e)), Level.SUM)


def summands(p: Printer, e: Matrix) -> list[Piece]:
    """The pieces of a sum; a multiple of ones beside something else is a number, which goes before a minus."""
    parts = list(flattened(e, Plus))
    clear = not all(map(_number, parts))
    made = [p.scalar(a.args[0]) if clear and type(a) is Scale and _number(a) else p.piece(a) for a in parts]
    ahead = next((k for k, a in enumerate(parts) if made[0].minus and _number(a) and not made[k].minus), 0)
    return [made[ahead], *made[:ahead], *made[ahead + 1:]]


def _number(e: Matrix) -> bool:
    return type(e.args[1] if type(e) is Scale else e) is Ones


def _times(p: Printer, e: Node) -> Piece:
    minus, factors = p.factors(e)
    first, last = factors[0].piece, factors[-1].piece
    if len(factors) == 1:
        return first
    open_end = last.level == Level.BIG and not last.minus
    level = Level.BIG if open_end else Level.SCALED if first.level == Level.SCALED else Level.PRODUCT
    return Piece(p.symbols.joined([f.text for f in factors]), level, minus)


def _hadamard(p: Printer, e: Node) -> Piece:
    """The elementwise product; a plain one of 1 × 1 values."""
    if e.shape == (ONE, ONE):
        return Piece(p.symbols.joined([p.inside(p.piece(a), Level.SCALED) for a in flattened(e, Hadamard)]),
                     Level.PRODUCT)
    return Piece(p.symbols.hadamard.join(p.inside(p.piece(a), Level.PRODUCT) for a in flattened(e, Hadamard)),
                 Level.ELEMENTWISE)


def _apply(p: Printer, e: Node) -> Piece:
    name, body = str(e.args[0]), e.args[1]
    if name in SIGNS:
        return SIGNS[name](p, body)
    return Piece(p.symbols.applied(p.symbols.called(name), p(body)))


SIGNS: dict[str, Callable[[Printer, Matrix], Piece]] = {
    "abs": lambda p, body: Piece(p.symbols.absolute(p(body))),
    "step": lambda p, body: Piece(p.symbols.indicator(p(body))),
    "square": lambda p, body: Piece(p.symbols.squared(p.inside(p.piece(body), Level.SCRIPTED)), Level.SCRIPTED),
}
"""The functions that have a sign instead of a name."""


def prefix(p: Printer, e: Matrix) -> str | None:
    """The name that stands before the parentheses of a function or a diagonal; None where nothing stands there."""
    if type(e) is Diagonal:
        return p.symbols.called("diag") if e.shape != (ONE, ONE) else None
    return p.symbols.called(str(e.args[0])) if type(e) is Apply and str(e.args[0]) not in SIGNS else None


def _diagonal(p: Printer, e: Node) -> Piece:
    """Diag(v); a 1 × 1 value is its own diagonal."""
    if e.shape == (ONE, ONE):
        return p.piece(e.args[0])
    return Piece(p.symbols.applied(p.symbols.called("diag"), p(e.args[0])))


def _scale(p: Printer, e: Node) -> Piece:
    if e.args[0] == 1 and type(e.args[1]) is not Ones:
        return p.piece(e.args[1])
    c, body = p.scalar(e.args[0]), p.piece(e.args[1])
    if type(e.args[1]) is Ones and e.shape == (ONE, ONE):
        return c
    closed = body.minus or body.level in (Level.SUM, Level.SCALED)
    text = p.symbols.parenthesised(p.signed(body)) if closed else body.text
    level = body.level if body.level in (Level.BIG, Level.ELEMENTWISE) and not closed else Level.SCALED
    if e.args[0] == -1:
        return Piece(text, Level.PRODUCT if closed else body.level, True)
    return Piece(p.symbols.joined([p.inside(Piece(c.text, c.level), Level.SUM), text]), level, c.minus)


def _multiple(p: Printer, e: Node) -> Piece:
    if type(e.args[1]) is Scale:
        return _scale(p, Scale(e.args[1].args[0], Multiple(e.args[0], e.args[1].args[1])))
    factor, body = p.inside(p.piece(e.args[0]), Level.PRODUCT), p.inside(p.piece(e.args[1]), Level.SCALED)
    return Piece(p.symbols.joined([factor, body]), Level.PRODUCT)


def _binder(p: Printer, e: Binder) -> Piece:
    return Piece(p.symbols.space.join([head(p, e), p.inside(p.piece(e.body), Level.SUM)]), Level.BIG)


def head(p: Printer, e: Binder) -> str:
    """The Σ or Π of a binder with its bounds."""
    lower = f"{p.symbols.variable(str(e.var.name))}={p.index(e.lo)}"
    return p.symbols.big("sum" if isinstance(e, Sum) else "product", lower, p.index(e.hi))


def _at(p: Printer, e: At) -> Piece:
    return Piece(p.symbols.letter(split(str(e.family.name)), e.shape != (ONE, ONE), p.index(e.time)))


def _loss(p: Printer, e: Loss) -> Piece:
    if e.name == "squared_norm":
        return Piece(p.symbols.norm(p(e.args[1])))
    return Piece(f"{p.symbols.function(e.name)}({p.symbols.comma.join(map(p, e.args[1:]))})")


def _loss_gradient(p: Printer, e: LossGradient) -> Piece:
    d = p.symbols.partial
    return Piece(p.symbols.quotient(d + p(e.loss), d + p(e.wrt)), Level.QUOTIENT)


def _derivative(p: Printer, e: Derivative) -> Piece:
    above = (p.symbols.direct if type(e) is Direct else p.symbols.partial) + p.symbols.objective
    return Piece(p.symbols.quotient(above, p.symbols.partial + p(e.of)), Level.QUOTIENT)


def _tangent(p: Printer, e: Node) -> Piece:
    return Piece((p.symbols.direct if type(e) is Immediate else p.symbols.differential) + p(e.args[0]), Level.QUOTIENT)


def _chain(p: Printer, e: Chain) -> Piece:
    d, through = p.symbols.partial, p(e.through)
    outer = p.symbols.quotient(d + p.symbols.objective, d + through)
    return Piece(p.symbols.prod(outer, p.symbols.quotient(d + through, d + p(e.of))))


def _transpose(p: Printer, e: Node) -> Piece:
    """Aᵀ; a 1 × 1 value is its own transpose."""
    if e.shape == (ONE, ONE):
        return p.piece(e.args[0])
    rows = selected(e.args[0])
    if rows is not None:
        return _turned(p, p(Identity(e.shape[0])), rows)
    return Piece(p.symbols.transposed(p.inside(p.piece(e.args[0]), Level.SCRIPTED)), Level.SCRIPTED)


def _power(p: Printer, e: Node) -> Piece:
    return Piece(p.symbols.power(p.inside(p.piece(e.args[0]), Level.SCRIPTED), p.index(e.args[1])), Level.SCRIPTED)


def _constant(letter: str) -> Callable[[Printer, Node], Piece]:
    def row(p: Printer, e: Node) -> Piece:
        return Piece(p.symbols.letter(Name(letter), e.shape != (ONE, ONE), None))
    return row


def _identity(p: Printer, e: Node) -> Piece:
    return Piece(p.symbols.letter(Name("1" if e.shape == (ONE, ONE) else "I"), e.shape != (ONE, ONE), None))


def _delta(p: Printer, e: Node) -> Piece:
    return Piece(p.symbols.delta(*map(p.index, e.args)))


def _norm(p: Printer, e: Node) -> Piece:
    return Piece(p.symbols.length(p(e.args[0])))


def _maximum(p: Printer, e: Node) -> Piece:
    return Piece(p.symbols.applied(p.symbols.called("max"), p.symbols.comma.join(map(p, e.args))))


def _block(p: Printer, e: Block) -> Piece:
    return Piece(p.symbols.block([[p(cell) for cell in row] for row in e.rows]))


ROWS: dict[type[Basic], Callable[[Printer, Any], Piece]] = {
    At: _at,
    Loss: _loss,
    LossGradient: _loss_gradient,
    Adjoint: _derivative,
    Direct: _derivative,
    Tangent: _tangent,
    Immediate: _tangent,
    Chain: _chain,
    Plus: _plus,
    Times: _times,
    Hadamard: _hadamard,
    Apply: _apply,
    Diagonal: _diagonal,
    Scale: _scale,
    Multiple: _multiple,
    Transpose: _transpose,
    Zero: _constant("0"),
    Ones: _constant("1"),
    Identity: _identity,
    Delta: _delta,
    Norm: _norm,
    Maximum: _maximum,
    Power: _power,
    Sum: _binder,
    Product: _binder,
    Block: _block,
}
"""A row for every class of the vocabulary; a class without one raises KeyError."""
