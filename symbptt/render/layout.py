"""Where long formulas break: a sum between its summands, a product between its factors or inside one of them."""

from __future__ import annotations

from dataclasses import dataclass

from symbptt.expr.nodes import Apply, Diagonal, Hadamard, Matrix, Multiple, Plus, Product, Scale, Sum, Times
from symbptt.render.structure import Factor, Printer, flattened, head, prefix
from symbptt.render.symbols import Level, Piece

NARROW = 20
"""Nothing is broken into lines that are narrower."""
LONE = 3
"""A last factor that is narrower than this part of a line does not stand on a line alone."""
PAIR = 2
"""How wide a pair of parentheses is."""
STEP = 6
"""How much narrower the lines inside parentheses are."""


@dataclass(frozen=True)
class Layout:
    """Breaks what `printer` writes into lines; `ruler` writes the same formula as a text as long as that is wide."""

    printer: Printer
    ruler: Printer

    def measure(self, e: Matrix) -> int:
        """How wide the formula is on one line."""
        return len(self.ruler(e))

    def lines(self, e: Matrix, width: int, taken: int = 0) -> list[str]:
        """The formula on lines of at most `width`, as far as there are places to break it.

        So much of the first line is `taken` by what stands before the formula.
        """
        minus, lines = self._unsigned(e, width, taken)
        return [self.printer.signed(Piece(lines[0], Level.ATOM, minus)), *lines[1:]]

    def widest(self, e: Matrix, width: int) -> int:
        """How wide the widest of these lines is."""
        return max(map(len, Layout(self.ruler, self.ruler).lines(e, width)))

    def _unsigned(self, e: Matrix, width: int, taken: int = 0) -> tuple[bool, list[str]]:
        """Whether a minus stands before the formula, and its lines without it."""
        piece = self.printer.piece(e)
        if self.measure(e) <= width - taken:
            return piece.minus, [piece.text]
        if type(e) is Plus:
            return False, self._sum(e, width, taken)
        if type(e) in (Sum, Product):
            return False, self._prefixed(e, head(self.printer, e), e.body, width, taken)
        if type(e) is Scale and e.args[0] == 1:
            return self._unsigned(e.args[1], width, taken)
        if type(e) is Scale:
            factor = self.printer.scalar(e.args[0])
            start = "" if e.args[0] == -1 else self.printer.inside(Piece(factor.text, factor.level), Level.SUM)
            return factor.minus, self._prefixed(e, start, e.args[1], width, taken)
        if type(e) is Multiple:
            start = self.printer.inside(self.printer.piece(e.args[0]), Level.PRODUCT)
            return False, self._prefixed(e, start, e.args[1], width, taken, Level.ELEMENTWISE)
        if type(e) in (Times, Hadamard):
            return self._product(e, width, taken)
        return piece.minus, self._called(e, width, taken) or [piece.text]

    def _called(self, e: Matrix | None, width: int, taken: int) -> list[str]:
        """A function of something long."""
        name = prefix(self.printer, e) if type(e) in (Apply, Diagonal) else None
        if e is None or name is None:
            return []
        before = self.measure(e) - self.measure(e.args[-1])
        return self._enclosed(e.args[-1], width, taken + before, name)

    def _enclosed(self, e: Matrix, width: int, taken: int, start: str = "") -> list[str]:
        """The formula in parentheses that may close on a later line."""
        inner_width = max(width - STEP, NARROW)
        inner = self.lines(e, inner_width, max(0, min(taken + PAIR - STEP, inner_width - NARROW)))
        inner[0] = start + self.printer.symbols.opening + inner[0]
        inner[-1] += self.printer.symbols.closing
        return inner

    def _prefixed(self, e: Matrix, prefix: str, body: Matrix, width: int, taken: int,
                  loose: Level = Level.SUM) -> list[str]:
        """A factor or a Σ before the body of e, which is broken."""
        piece = self.printer.piece(body)
        before = self.measure(e) - self.measure(body)
        if piece.minus or piece.level <= loose or (piece.level == Level.SCALED and prefix):
            inner = self._enclosed(body, width, taken + before)
        else:
            inner = self.lines(body, width, max(0, min(taken + before, width - NARROW)))
        return [self.printer.symbols.space.join([prefix, inner[0]]) if prefix else inner[0], *inner[1:]]

    def _sum(self, e: Matrix, width: int, taken: int) -> list[str]:
        """Summands, as many on a line as fit."""
        done: list[str] = []
        room = 0
        for k, summand in enumerate(flattened(e, Plus)):
            size = self.measure(summand) + len(self.ruler.symbols.plus)
            minus, lines = self._unsigned(summand, width - len(self.ruler.symbols.plus)) if k else \
                self._unsigned(summand, width, taken)
            joint = self.printer.symbols.minus if minus else self.printer.symbols.plus.strip()
            if k == 0:
                done = [self.printer.signed(Piece(lines[0], Level.ATOM, minus)), *lines[1:]]
            elif len(lines) == 1 and size <= room:
                done[-1] += f" {joint} {lines[0]}"
            else:
                done += [f"{joint} {lines[0]}", *lines[1:]]
                room = width
            room = (room if k else width - taken) - size if len(lines) == 1 else 0
        return done

    def _product(self, e: Matrix, width: int, taken: int) -> tuple[bool, list[str]]:
        """Factors, as many on a line as fit; one that is too long for a line is broken itself."""
        elementwise = type(e) is Hadamard
        minus, factors = _elementwise(self.printer, e) if elementwise else self.printer.factors(e)
        _, measured = _elementwise(self.ruler, e) if elementwise else self.ruler.factors(e)
        symbols = self.printer.symbols
        sign = symbols.hadamard.strip() + " " if elementwise else symbols.dot
        gap = len(self.ruler.symbols.hadamard) if elementwise else len(self.ruler.symbols.joined(["", ""]))
        done: list[str] = []
        room = width - taken
        end = len(measured[-1].text) + gap
        for k, (factor, ruled) in enumerate(zip(factors, measured, strict=True)):
            size = len(ruled.text) + (gap if done else 0)
            alone = k == len(factors) - 2 and room - size < end <= width // LONE
            moved = alone and size + end <= width and bool(done)
            before = 0 if done else taken
            most = min(width, before + len(ruled.text) - 1) if alone and not moved else width
            lines = self._factor(factor, most, before) if size > most - before else [factor.text]
            first, left = (size, 0) if len(lines) == 1 else self._ends(factor, most, before, width)
            if not done:
                done = lines
                room = left or room - size
            elif room >= first and not moved:
                done[-1] = symbols.hadamard.join([done[-1], lines[0]]) if elementwise else \
                    symbols.joined([done[-1], lines[0]])
                done += lines[1:]
                room = left or room - size
            else:
                done += [sign + lines[0], *lines[1:]]
                room = left or width - size - len(self.ruler.symbols.dot)
        return minus, done

    def _ends(self, factor: Factor, most: int, taken: int, width: int) -> tuple[int, int]:
        """How wide the first line of a broken factor is, and the room beside its last line, at least 1."""
        lines = Layout(self.ruler, self.ruler)._factor(factor, most, taken)
        return len(lines[0]) + 1, max(1, width - len(lines[-1]))

    def _factor(self, factor: Factor, width: int, taken: int) -> list[str]:
        """A factor that is too long for one line."""
        node = factor.node
        if node is None:
            return [factor.text]
        called = self._called(node, width, taken)
        if called:
            return called
        if factor.text == factor.piece.text and type(node) is not Plus:
            return self.lines(node, width, taken)
        return self._enclosed(node, width, taken)


def _elementwise(p: Printer, e: Matrix) -> tuple[bool, list[Factor]]:
    """The factors of an elementwise product, as those of a product."""
    pieces = ((a, p.piece(a)) for a in flattened(e, Hadamard))
    return False, [Factor(a, piece, p.inside(piece, Level.PRODUCT)) for a, piece in pieces]
