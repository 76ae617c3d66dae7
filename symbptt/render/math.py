"""LaTeX of formulas, as textbooks on recurrent networks write them: bold vectors and matrices, ⊤ for transposes."""

from __future__ import annotations

from symbptt.expr.nodes import Matrix
from symbptt.model.notation import GREEK, Name, split
from symbptt.render.structure import Printer
from symbptt.render.symbols import Sign, Symbols

MACROS = frozenset({
    "boldsymbol", "mathbf", "mathrm", "mathbb", "text", "frac", "dfrac", "partial", "ell", "top", "left", "right",
    "biggl", "biggr", "sum", "prod", "begin", "end", "times", "le", "ge", "in", "dots", "quad", "qquad", "tag", "label",
    "circ", "cdot", "tanh", "exp", "sin", "cos", "log", "lVert", "rVert",
    *(macro[1:] for macro, _ in GREEK.values()),
})
"""Every macro that a formula may use: what KaTeX in strict mode, MathJax and amsmath all know."""

SIGNS: dict[Sign, str] = {"sum": "sum", "product": "prod"}


FUNCTIONS = {
    "tanh": r"\tanh", "exp": r"\exp", "sin": r"\sin", "cos": r"\cos", "sigmoid": r"\sigma",
    "log_softmax": r"\log \mathrm{softmax}", "relu": r"\mathrm{ReLU}", "leaky_relu": r"\mathrm{LeakyReLU}",
    "elu": r"\mathrm{ELU}", "silu": r"\mathrm{SiLU}", "sign": r"\mathrm{sign}", "hard_tanh": r"\mathrm{hardtanh}",
}
"""How functions are called; others by their own name in upright letters."""
LOSSES = {"softmax_cross_entropy": "CE", "squared_error": "SE"}
"""Short names of losses."""


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
    differential = r"\mathrm{d} "
    opening = r"\biggl("
    closing = r"\biggr)"
    hadamard = r" \circ "
    dot = r"\cdot "

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
        return r"\ell" if name == "l" else self.letter(split(LOSSES.get(name, name)), False, None)

    def called(self, name: str) -> str:
        return FUNCTIONS.get(name, rf"\mathrm{{{name.replace('_', '')}}}")

    def applied(self, name: str, argument: str) -> str:
        tall = r"\frac" in argument or r"\begin" in argument
        return rf"{name}\!\left({argument}\right)" if tall else f"{name}({argument})"

    def joined(self, factors: list[str]) -> str:
        return factors[0] + "".join((r" \, " if f.startswith(r"\mathrm{") else " ") + f for f in factors[1:])

    def indicator(self, argument: str) -> str:
        return rf"\boldsymbol{{1}}[{argument} > 0]"

    def absolute(self, argument: str) -> str:
        return rf"\left|{argument}\right|"

    def expected(self, argument: str) -> str:
        return rf"\mathbb{{E}}[{argument}]"

    def squared(self, base: str) -> str:
        return self.power(base, r"\circ 2")

    def norm(self, argument: str) -> str:
        return self.length(argument) + "^2"

    def length(self, argument: str) -> str:
        return rf"\lVert {argument} \rVert"

    def delta(self, a: str, b: str) -> str:
        return rf"\delta_{{{a},{b}}}"

    def slice(self, base: str, start: str, stop: str) -> str:
        return rf"\left[{base}\right]_{{{start}:{stop}}}"

    def part(self, base: str, row: int, column: int) -> str:
        return self.power(base, f"({row},{column})")

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

    def block(self, rows: list[list[str]]) -> str:
        return rf"\left[{'; '.join(', '.join(row) for row in rows)}\right]"


class Ruler(Symbols):
    """The table that measures: its texts are as long as the LaTeX is wide, in units of half an em, roughly."""

    plus = "xxx"
    minus = "x"
    space = ""
    comma = "xx"
    partial = "x"
    direct = "xx"
    differential = "x"
    opening = "xx"
    closing = "xx"
    hadamard = "xxx"
    dot = "x"

    def letter(self, name: Name, _bold: bool, time: str | None) -> str:
        scripts = ",".join([*name.subscripts, *([time] if time is not None else [])])
        base = "x" if name.base in GREEK else name.base
        return "x" * (len(base) + sum(c.isupper() for c in base) + round(0.75 * len(scripts)))

    def variable(self, name: str) -> str:
        return self.letter(split(name), False, None)

    def function(self, name: str) -> str:
        return self.variable(LOSSES.get(name, name))

    def called(self, name: str) -> str:
        return "x" if name == "sigmoid" else name

    def applied(self, name: str, argument: str) -> str:
        return f"{name}x{argument}x"

    def joined(self, factors: list[str]) -> str:
        return "".join(factors)

    def indicator(self, argument: str) -> str:
        return f"xx{argument}xxxxx"

    def parenthesised(self, text: str) -> str:
        return f"x{text}x"

    def absolute(self, argument: str) -> str:
        return self.parenthesised(argument)

    def expected(self, argument: str) -> str:
        return f"xx{argument}x"

    def norm(self, argument: str) -> str:
        return f"xx{argument}xxx"

    def length(self, argument: str) -> str:
        return f"xx{argument}xx"

    def squared(self, base: str) -> str:
        return f"{base}xx"

    def delta(self, a: str, b: str) -> str:
        return "x" * (1 + round(0.75 * len(a + b)))

    def slice(self, base: str, start: str, stop: str) -> str:
        return f"xx{base}" + "x" * round(0.75 * len(start + stop) + 1)

    def part(self, base: str, _row: int, _column: int) -> str:
        return f"{base}xxxx"

    def fraction(self, above: str, below: str) -> str:
        return max(above, below, key=len) + "x"

    quotient = fraction

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
