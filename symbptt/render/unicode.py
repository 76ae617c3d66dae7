"""Formulas as plain text for the terminal: ∂L/∂hₜ = W_hh⊤ ∂L/∂hₜ₊₁ + W_qh⊤ ∂L/∂oₜ."""

from __future__ import annotations

from symbptt.expr.nodes import Matrix
from symbptt.model.notation import GREEK, Name, split
from symbptt.render.math import LOSSES
from symbptt.render.structure import Printer
from symbptt.render.symbols import Sign, Symbols

LOW = dict(zip("0123456789+−aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))
"""The characters that Unicode has as subscripts."""

FUNCTIONS = {"sigmoid": "σ", "log_softmax": "log softmax", "relu": "ReLU", "leaky_relu": "LeakyReLU", "elu": "ELU",
             "silu": "SiLU", "hard_tanh": "hardtanh"}
"""How functions are called that do not go by their own name."""

SIGNS: dict[Sign, str] = {"sum": "Σ", "product": "Π"}


def lowered(text: str) -> str:
    """The text as a subscript: lowered where Unicode has all its characters, else behind an underscore."""
    if all(c in LOW for c in text):
        return "".join(LOW[c] for c in text)
    return f"_{text}" if text.isalnum() else f"_{{{text}}}"


class Unicode(Symbols):
    """The table of plain text."""

    minus = "−"
    at_most, at_least, element, dots, cross, reals = "≤", "≥", "∈", "…", "×", "ℝ"
    quad = "  "
    partial = "∂"
    direct = "∂⁺"
    differential = "d"
    hadamard = "∘"
    dot = "· "

    def letter(self, name: Name, _bold: bool, time: str | None) -> str:
        scripts = [GREEK[s][1] if s in GREEK else s for s in name.subscripts]
        base = GREEK[name.base][1] if name.base in GREEK else name.base
        if time is not None:
            return base + lowered(",".join([*scripts, time]))
        text = "_".join(scripts)
        return base + (lowered(text) if text.isdigit() else f"_{text}" if text else "")

    def variable(self, name: str) -> str:
        return self.letter(split(name), False, None)

    def function(self, name: str) -> str:
        return "ℓ" if name == "l" else self.letter(split(LOSSES.get(name, name)), False, None)

    def called(self, name: str) -> str:
        return FUNCTIONS.get(name, name.replace("_", ""))

    def applied(self, name: str, argument: str) -> str:
        return f"{name}({argument})"

    def joined(self, factors: list[str]) -> str:
        return " ".join(factors)

    def indicator(self, argument: str) -> str:
        return f"1[{argument} > 0]"

    def absolute(self, argument: str) -> str:
        return f"|{argument}|"

    def expected(self, argument: str) -> str:
        return f"E[{argument}]"

    def squared(self, base: str) -> str:
        return self.power(base, "∘2")

    def norm(self, argument: str) -> str:
        return f"{self.length(argument)}²"

    def length(self, argument: str) -> str:
        return f"‖{argument}‖"

    def delta(self, a: str, b: str) -> str:
        return f"δ_{{{a},{b}}}"

    def slice(self, base: str, start: str, stop: str) -> str:
        return f"{base}[{start}:{stop}]".replace(" ", "")

    def part(self, base: str, row: int, column: int) -> str:
        return f"{base}[{row},{column}]"

    def fraction(self, above: str, below: str) -> str:
        return f"({_whole(above)}/{_whole(below)})"

    def quotient(self, above: str, below: str) -> str:
        return f"{above}/{below}"

    def parenthesised(self, text: str) -> str:
        return f"({text})"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}^{exponent if exponent.isalnum() else f'({exponent})'}"

    def transposed(self, base: str) -> str:
        return f"{base}⊤"

    def big(self, sign: Sign, lower: str, upper: str) -> str:
        return f"{SIGNS[sign]}_{{{lower}}}^{{{upper}}}"

    def prod(self, outer: str, inner: str) -> str:
        return f"prod({outer}, {inner})"

    def block(self, rows: list[list[str]]) -> str:
        return "[" + "; ".join(", ".join(row) for row in rows) + "]"


def _whole(text: str) -> str:
    return f"({text})" if " " in text else text


def text(e: Matrix) -> str:
    """One line of plain text for an expression.

    Raises:
        KeyError: it holds a node that is not in the vocabulary.
    """
    return Printer(Unicode())(e)
