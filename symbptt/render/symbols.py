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
    SCALED = 2
    PRODUCT = 3
    QUOTIENT = 4
    SCRIPTED = 5
    ATOM = 6


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
    partial: str
    direct: str
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
