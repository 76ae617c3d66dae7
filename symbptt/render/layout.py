"""Where long formulas break: a sum between its summands, a Σ inside the parentheses of its body."""

from __future__ import annotations

from dataclasses import dataclass

from symbptt.expr.nodes import Matrix, Plus, Scale, Sum, Times
from symbptt.render.structure import Printer, flattened, head
from symbptt.render.symbols import Level, Piece


@dataclass(frozen=True)
class Layout:
    """Breaks what `printer` writes into lines; `ruler` writes the same formula as a text as long as that is wide."""

    printer: Printer
    ruler: Printer

    def measure(self, e: Matrix) -> int:
        """How wide the formula is on one line."""
        return len(self.ruler(e))

    def lines(self, e: Matrix, width: int) -> list[str]:
        """The formula on lines of at most `width`, as far as there are places to break it."""
        minus, lines = self._unsigned(e, width)
        return [self.printer.signed(Piece(lines[0], Level.ATOM, minus)), *lines[1:]]

    def widest(self, e: Matrix, width: int) -> int:
        """How wide the widest of these lines is."""
        if self.measure(e) <= width:
            return self.measure(e)
        if type(e) is Plus:
            return max(self.widest(a, width) for a in flattened(e, Plus)) + len(self.ruler.symbols.plus)
        if type(e) in (Sum, Scale):
            body = e.body if type(e) is Sum else e.args[1]
            return max(self.measure(e) - self.measure(body), 0) + self.widest(body, width)
        return self.measure(e)

    def _unsigned(self, e: Matrix, width: int) -> tuple[bool, list[str]]:
        """Whether a minus stands before the formula, and its lines without it."""
        piece = self.printer.piece(e)
        if self.measure(e) <= width:
            return piece.minus, [piece.text]
        if type(e) is Plus:
            return False, self._sum(e, width)
        if type(e) is Sum:
            return False, self._prefixed(head(self.printer, e), e.body, width)
        if type(e) is Scale:
            factor = self.printer.scalar(e.args[0])
            return factor.minus, self._prefixed("" if e.args[0] == -1 else factor.text, e.args[1], width)
        if type(e) is Times:
            *front, last = flattened(e, Times)
            if type(last) is Sum and len(front) == 1 and not self.printer.piece(front[0]).minus:
                return False, self._prefixed(self.printer.inside(self.printer.piece(front[0]), Level.BIG), last, width)
        return piece.minus, [piece.text]

    def _prefixed(self, prefix: str, body: Matrix, width: int) -> list[str]:
        """A factor or a Σ before a body that is broken; parentheses are of the kind that may close on a later line."""
        symbols = self.printer.symbols
        start = prefix + symbols.space if prefix else ""
        inner = self.lines(body, max(width - 6, 20))
        piece = self.printer.piece(body)
        if piece.minus or piece.level == Level.SUM or (piece.level == Level.SCALED and prefix):
            inner[0], inner[-1] = symbols.opening + inner[0], inner[-1] + symbols.closing
        return [start + inner[0], *inner[1:]]

    def _sum(self, e: Matrix, width: int) -> list[str]:
        """Summands, as many on a line as fit."""
        done: list[str] = []
        room = 0
        for k, summand in enumerate(flattened(e, Plus)):
            size = self.measure(summand) + len(self.ruler.symbols.plus)
            minus, lines = self._unsigned(summand, width)
            joint = self.printer.symbols.minus if minus else self.printer.symbols.plus.strip()
            if k == 0:
                done = [self.printer.signed(Piece(lines[0], Level.ATOM, minus)), *lines[1:]]
            elif len(lines) == 1 and size <= room:
                done[-1] += f" {joint} {lines[0]}"
            else:
                done += [f"{joint} {lines[0]}", *lines[1:]]
                room = width
            room = (width if k == 0 else room) - size if len(lines) == 1 else 0
        return done
