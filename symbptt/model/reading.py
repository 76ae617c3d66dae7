"""A text on its way to an expression: its syntax tree, the names it may use, and the errors that name a place in it."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sympy import Expr, MatrixSymbol, Symbol

from symbptt.expr.nodes import Matrix
from symbptt.model.parts import ModelError

LONGEST, DEEPEST, OLDEST = 4000, 100, 1000
"""The most characters of a text, levels of nesting, and steps that a lag reaches back."""

DIGITS, EXPONENT, BITS = 40, 100, 512
"""The most digits of a number, its largest exponent, and the most bits of a coefficient that numbers combine to."""

STRAY = re.compile(r"[^A-Za-z0-9_+\-*/@.()\[\],: \t\r\n]")
LONG_NUMBER = re.compile(rf"(?<![A-Za-z0-9_.])[0-9.]{{{DIGITS + 1},}}")
GLUED = re.compile(r"(?<![A-Za-z0-9_.])\d[\d.]*(?:[eE][+-]?\d+)?+(?=[A-Za-z_])")
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE](?P<exponent>[+-]?\d{1,4}))?")
SIDE_BY_SIDE = re.compile(rf"(?<![\w.])(?!(?:{'|'.join(keyword.kwlist)})\b)([A-Za-z_]\w*) +"
                          rf"(?!(?:{'|'.join(keyword.kwlist)})\b)([A-Za-z_]\w*)")
"""Two names with nothing but a blank between them, such as tanh h."""

BETWEEN = "{0}({1}) for a function, {0} @ {1} for a matrix product, {0} * {1} entry by entry"

INSTEAD = {
    **dict.fromkeys("σϕφ", "functions have names: write sigmoid(z), tanh(z)"),
    **dict.fromkeys("⊙∘○", "the elementwise product is written *"), **dict.fromkeys("·×⋅", "write @ or *"),
    **dict.fromkeys("⊤ᵀ'′", "the transpose is written .T"), **dict.fromkeys("−–—", "minus is written -"),
    "^": "a constant is raised to a power by **, and a transpose is written .T",
    "=": "an equation is its right-hand side alone, and arguments have no names",
    "₀": "subscripts are written _0", "{": "write h[t-1]", "}": "write h[t-1]", "\\": "LaTeX is not read here",
    "%": "numbers are decimal fractions", "½": "write 1/2",
}
"""What to write instead of characters that people use elsewhere."""
SPACES = str.maketrans("\t\r\n", "   ")


Value: TypeAlias = Expr | Matrix
Handler: TypeAlias = Callable[["Reading", Any], Value]
Operator: TypeAlias = Callable[[Any, Any], Value]


def is_size(e: Expr) -> bool:
    """Whether it is a whole number from 1 to a million, or a sum of multiples of sizes."""
    terms = e.as_coefficients_dict()
    return all(a.is_Integer and 0 < a <= 10**6 and (factor == 1 or factor.is_Symbol) for factor, a in terms.items())


@dataclass(frozen=True)
class Text:
    """A text that was parsed; `start` is where its first word stands."""

    body: str
    tree: ast.expr
    start: int


def parse(text: str, longest: int = LONGEST, between: str = BETWEEN) -> Text:
    """The syntax tree of a text; `between` says what to write when two names stand side by side.

    Raises:
        ModelError: it is empty, too long, not an expression, or uses characters beyond those of the language.
    """
    if len(text) > longest:
        raise ModelError(f"this has {len(text)} characters; at most {longest} are read")
    if stray := STRAY.search(text):
        hint = f"; {INSTEAD[stray[0]]}" if stray[0] in INSTEAD else ""
        raise ModelError(f"the character {stray[0]!r} cannot stand here{hint}", offset=stray.start())
    if number := LONG_NUMBER.search(text):
        raise ModelError(f"a number of more than {DIGITS} digits", offset=number.start())
    if glued := GLUED.search(text):
        raise ModelError("a number and a name without * between them", offset=glued.end())
    body = text.translate(SPACES)
    start = len(body) - len(body.lstrip())
    body = body.strip()
    if not body:
        raise ModelError("nothing is written here")
    try:
        return Text(body, ast.parse(body, mode="eval").body, start)
    except SyntaxError as error:
        if side := SIDE_BY_SIDE.search(body):
            raise ModelError(f"nothing stands between {side[1]} and {side[2]}; write {between.format(*side.groups())}",
                             offset=start + side.start(1)) from None
        place = error.offset - 1 if error.offset else len(body)
        said = error.msg.partition(".")[0] if error.offset else "it breaks off"
        raise ModelError(f"not an expression: {said}", offset=start + place) from None
    except (RecursionError, MemoryError, ValueError):
        raise ModelError("nested too deeply", offset=start) from None


@dataclass
class Scope:
    """The names that a text may use. `families` grows as their shapes become known.

    `elsewhere` says of names that exist but cannot be used why they cannot.
    """

    parameters: Mapping[str, MatrixSymbol] = field(default_factory=dict)
    constants: Mapping[str, Symbol] = field(default_factory=dict)
    families: dict[str, MatrixSymbol] = field(default_factory=dict)
    reaching: Collection[str] = ()
    defined: Collection[str] = ()
    sizes: Mapping[str, Symbol] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """All of them."""
        return list(dict.fromkeys([*self.parameters, *self.families, *self.defined, *self.constants]))


@dataclass(frozen=True)
class Language:
    """What may be written: a handler for each kind of syntax node, its sign and meaning for each operator."""

    nodes: Mapping[type[ast.expr], Handler]
    operators: Mapping[type[ast.operator], tuple[str, Operator]]
    missing: str
    help: str


@dataclass
class Reading:
    """One text on its way to an expression."""

    text: Text
    scope: Scope
    language: Language
    depth: int = 0

    def read(self, node: ast.expr) -> Value:
        """The value of a syntax node, by the table."""
        handler = self.language.nodes.get(type(node))
        if handler is None:
            raise self.error(node, f"{self.excerpt(node)} is not known here; {self.language.help}")
        if self.depth >= DEEPEST:
            raise self.error(node, "nested too deeply")
        self.depth += 1
        value = handler(self, node)
        self.depth -= 1
        return value

    def error(self, place: ast.expr | int, message: str) -> ModelError:
        """The error at a syntax node or an offset of the body."""
        return ModelError(message, offset=self.text.start + (place if isinstance(place, int) else place.col_offset))

    def excerpt(self, node: ast.expr) -> str:
        """What the person wrote there, shortened."""
        written = self.text.body[node.col_offset:node.end_col_offset]
        return written if len(written) <= 40 else f"{written[:37]}..."
