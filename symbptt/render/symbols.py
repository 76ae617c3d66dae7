"""The symbols of a notation, and what a printed formula is: a text that binds more or less tightly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

from symbptt.model.notation import Name

Sign: TypeAlias = Literal["sum", "product"]


class Level(IntEnum):
    """How tightly a formula binds; looser ones stand in parentheses inside tighter ones."""

    SUM = 0
    BIG = 1
    ELEMENTWISE = 2
    SCALED = 3
    PRODUCT = 4
    QUOTIENT = 5
    SCRIPTED = 6
    ATOM = 7


@dataclass(frozen=True)
class Piece:
    """A printed formula without its leading minus; `minus` says that there is one."""

    text: str
    level: Level = Level.ATOM
    minus: bool = False


class Symbols(ABC):
    """How one notation writes each construction. Arguments that are texts have been written by the same notation."""

    plus: str = " + "
    minus: str = "-"
    comma: str = ", "
    equal: str = "="
    at_most: str
    at_least: str
    element: str
    dots: str
    cross: str
    reals: str
    quad: str
    """The indentation of a line that continues the one above."""
    space: str = " "
    hadamard: str
    """The sign of the elementwise product."""
    dot: str
    """The sign of a product that goes on on the next line."""
    partial: str
    direct: str
    differential: str
    objective: str = "L"
    opening: str = "("
    closing: str = ")"
    """Parentheses that open on one line and close on another."""

    @abstractmethod
    def letter(self, name: Name, bold: bool, time: str | None) -> str:
        """A letter with its subscripts, the time index last."""

    @abstractmethod
    def variable(self, name: str) -> str:
        """A scalar: a size, a constant, an index variable."""

    @abstractmethod
    def function(self, name: str) -> str:
        """The name of a loss."""

    @abstractmethod
    def called(self, name: str) -> str:
        """The name of a function."""

    @abstractmethod
    def applied(self, name: str, argument: str) -> str:
        """A function of an argument."""

    @abstractmethod
    def joined(self, factors: list[str]) -> str:
        """Factors beside one another."""

    @abstractmethod
    def indicator(self, argument: str) -> str:
        """Ones where the entries are positive, zeros elsewhere."""

    @abstractmethod
    def absolute(self, argument: str) -> str:
        """An absolute value."""

    @abstractmethod
    def expected(self, argument: str) -> str:
        """The mean of something random."""

    @abstractmethod
    def squared(self, base: str) -> str:
        """An elementwise square."""

    @abstractmethod
    def norm(self, argument: str) -> str:
        """The squared norm."""

    @abstractmethod
    def length(self, argument: str) -> str:
        """A norm."""

    @abstractmethod
    def delta(self, a: str, b: str) -> str:
        """Kronecker's delta."""

    @abstractmethod
    def slice(self, base: str, start: str, stop: str) -> str:
        """The rows of a matrix from one to another."""

    @abstractmethod
    def part(self, base: str, row: int, column: int) -> str:
        """A block of a block matrix by its place."""

    @abstractmethod
    def fraction(self, above: str, below: str) -> str:
        """A fraction of scalars."""

    @abstractmethod
    def quotient(self, above: str, below: str) -> str:
        """A derivative."""

    @abstractmethod
    def parenthesised(self, text: str) -> str:
        """The text in parentheses that grow with it."""

    @abstractmethod
    def power(self, base: str, exponent: str) -> str:
        """A power."""

    @abstractmethod
    def transposed(self, base: str) -> str:
        """A transpose."""

    @abstractmethod
    def big(self, sign: Sign, lower: str, upper: str) -> str:
        """A Σ or Π with its bounds."""

    @abstractmethod
    def prod(self, outer: str, inner: str) -> str:
        """The operator prod, the chain rule before it is evaluated."""

    @abstractmethod
    def block(self, rows: list[list[str]]) -> str:
        """A matrix of blocks."""
