"""LaTeX of formulas, as textbooks on recurrent networks write them: bold vectors and matrices, ⊤ for transposes."""

from __future__ import annotations

from symbptt.expr.nodes import Matrix
from symbptt.model.notation import GREEK, Name, split
from symbptt.render.structure import Printer
from symbptt.render.symbols import Sign, Symbols

MACROS = frozenset({
    "boldsymbol", "mathbf", "mathrm", "mathbb", "text", "frac", "dfrac", "partial", "ell", "top", "left", "right",
    "biggl", "biggr", "sum", "prod", "begin", "end", "times", "le", "ge", "in", "dots", "quad", "qquad", "tag", "label",
    *(macro[1:] for macro, _ in GREEK.values()),
})
"""Every macro that a formula may use: what KaTeX in strict mode, MathJax and amsmath all know."""

SIGNS: dict[Sign, str] = {"sum": "sum", "product": "prod"}


def subscript(text: str) -> str:
    """The text as a subscript; braces where it is longer than one character."""
    return f"_{text}" if len(text) == 1 else f"_{{{text}}}"


def word(text: str) -> str:
    """A part of a name: Greek letters by macro, a few letters in italics, words upright."""
    if text in GREEK:
        return GREEK[text][0]
    letters = sum(c.isalpha() for c in text)
    return text if letters <= 2 else rf"\mathrm{{{text}}}"


class Latex(Symbols):
    """The table of LaTeX."""

    at_most, at_least, element, dots, cross, reals = r"\le", r"\ge", r"\in", r"\dots", r"\times", r"\mathbb{R}"
    quad = r"\quad "
    partial = r"\partial "
    direct = r"\partial^{+} "
    opening = r"\biggl("
    closing = r"\biggr)"

    def letter(self, name: Name, bold: bool, time: str | None) -> str:
        scripts = [word(s) for s in name.subscripts] + ([time] if time is not None else [])
        return self._base(name.base, bold) + (subscript(",".join(scripts)) if scripts else "")

    def _base(self, base: str, bold: bool) -> str:
        if base in GREEK or len(base) == 1:
            letter = GREEK[base][0] if base in GREEK else base
            return rf"\boldsymbol{{{letter}}}" if bold else letter
        return rf"\mathbf{{{base}}}" if bold else rf"\mathrm{{{base}}}"

    def variable(self, name: str) -> str:
        letters = name.rstrip("'")
        return self.letter(split(letters), False, None) + name[len(letters):]

    def function(self, name: str) -> str:
        return r"\ell" if name == "l" else self.letter(split(name), False, None)

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    quotient = fraction

    def parenthesised(self, text: str) -> str:
        return rf"\left({text}\right)"

    def power(self, base: str, exponent: str) -> str:
        return rf"{base}^{{{exponent}}}"

    def transposed(self, base: str) -> str:
        return rf"{base}^\top"

    def big(self, sign: Sign, lower: str, upper: str) -> str:
        return rf"\{SIGNS[sign]}_{{{lower}}}^{{{upper}}}"

    def prod(self, outer: str, inner: str) -> str:
        return rf"\text{{prod}}\left({outer}, {inner}\right)"

    def block(self, rows: list[list[str]]) -> str:
        lines = [" & ".join(row) for row in rows]
        gap = r" \\[1.2em] " if any(r"\frac" in line for line in lines) else r" \\ "
        return rf"\begin{{bmatrix}} {gap.join(lines)} \end{{bmatrix}}".replace(r"\frac", r"\dfrac")


class Running(Latex):
    """The table of LaTeX within sentences: derivatives stand on the line."""

    def quotient(self, above: str, below: str) -> str:
        return f"{above}/{below}"


class Ruler(Symbols):
    """The table that measures: its texts are as long as the LaTeX is wide, in units of half an em, roughly."""

    plus = "xxx"
    minus = "x"
    space = ""
    comma = "xx"
    partial = "x"
    direct = "xx"
    opening = "xx"
    closing = "xx"

    def letter(self, name: Name, _bold: bool, time: str | None) -> str:
        scripts = ",".join([*name.subscripts, *([time] if time is not None else [])])
        base = "x" if name.base in GREEK else name.base
        return "x" * (len(base) + sum(c.isupper() for c in base) + round(0.75 * len(scripts)))

    def variable(self, name: str) -> str:
        return self.letter(split(name), False, None)

    function = variable

    def fraction(self, above: str, below: str) -> str:
        return max(above, below, key=len) + "x"

    quotient = fraction

    def parenthesised(self, text: str) -> str:
        return f"x{text}x"

    def power(self, base: str, exponent: str) -> str:
        return base + "x" * round(0.75 * len(exponent))

    def transposed(self, base: str) -> str:
        return base + "x"

    def big(self, _sign: Sign, lower: str, upper: str) -> str:
        return "x" * max(4, round(0.75 * max(len(lower), len(upper)) + 1))

    def prod(self, outer: str, inner: str) -> str:
        return f"prod{self.parenthesised(outer + self.comma + inner)}"

    def block(self, rows: list[list[str]]) -> str:
        columns = [max(column, key=len) for column in zip(*rows, strict=True)]
        return "xx" + "xxx".join(columns) + "xx"


def latex(e: Matrix) -> str:
    """LaTeX of one expression.

    Raises:
        KeyError: it holds a node that is not in the vocabulary.
    """
    return Printer(Latex())(e)
