"""The formulas of a certificate, read back: a parser for the terms that a statement is written in.

It knows nothing of how they were printed. A term is a tuple whose first entry says what it is.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from symbptt.proof.grammar import RESERVED

Term: TypeAlias = tuple[Any, ...]
"""("number", n), ("name", x), ("apply", f, arguments), ("binary", sign, a, b), ("minus", a), ("postfix", sign, a),
("successor", k, a), ("sum" or "product", lo, variable, hi, body), ("function", variables, body), ("pair", a, b),
("let", name, value, body), ("case", scrutinee, variable, successor, zero) or ("match", scrutinee, cases)."""

TOKEN = re.compile(r"""\s*(?:
    (?P<big>\\sum_\(|\\big\[mulmx/1%:M\]_\() | (?P<number>\d+) | (?P<after>\.[+-]\d) |
    (?P<name>@?[A-Za-z_][\w']*(?:\.[A-Za-z][\w']*)*) | (?P<type>'(?:cV|M)\[R\]_) |
    (?P<sign>\^T|\^\+|\^-1|%:R|%:M|%N|\*m|\*:|<<|>>|:=|=>|->|<=|==|!=|\{|\}|[()+\-*<,:|=;])
)""", re.VERBOSE)

BINARY = {"=": 20, "!=": 20, "==": 20, "<": 20, "<=": 20, "+": 30, "-": 30, "*": 40, "*m": 40, "*:": 40, "^+": 60}
POSTFIX = {"^T", "%:R", "%:M", "^-1", "%N"}
APPLICATION = 70


class NotRead(ValueError):
    """The text is no term of the fragment in which statements are written."""


def tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text) of each token."""
    found, k = [], 0
    while text[k:].strip():
        match = TOKEN.match(text, k)
        if match is None or match.end() == k:
            raise NotRead(f"not understood: {text[k:k + 40]}")
        found.append((str(match.lastgroup), match[str(match.lastgroup)]))
        k = match.end()
    return found


class Reader:
    """A reader of one term after another."""

    def __init__(self, text: str) -> None:
        self.tokens, self.at = tokens(text), 0

    def peek(self, ahead: int = 0) -> str:
        """The text of a token ahead; "" behind the last."""
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else ""

    def kind(self) -> str:
        """The kind of the next token."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        """The next token, which must be `wanted` where that is given."""
        found = self.peek()
        if not found or (wanted is not None and found != wanted):
            raise NotRead(f"{wanted or 'more'} is expected, not {found or 'the end'}")
        self.at += 1
        return found

    def bound(self) -> str:
        """The name of a bound variable, which hides no name of the library."""
        kind, name = self.kind(), self.take()
        if kind != "name" or name in RESERVED:
            raise NotRead(f"{name} cannot be bound")
        return name

    def term(self, binds: int = 0) -> Term:
        """A term whose binary signs bind at least so tightly."""
        left = self.head()
        while True:
            sign = self.peek()
            if self.kind() == "sign" and sign in BINARY and BINARY[sign] >= binds:
                self.take()
                left = ("binary", sign, left, self.term(BINARY[sign] + 1))
            else:
                return left

    def head(self) -> Term:
        """What a binary sign may stand behind."""
        text = self.peek()
        if text == "-":
            self.take()
            # Looser than a power, as in Coq, where it binds at 35 and ^+ at 29.
            return ("minus", self.term(BINARY["^+"]))
        if self.kind() == "big":
            self.take()
            lo = self.term(25)
            self.take("<=")
            var = self.bound()
            self.take("<")
            hi = self.term(25)
            self.take(")")
            body = self.term(40) if text.startswith("\\sum") else self.term(APPLICATION)
            return ("sum" if text.startswith("\\sum") else "product", lo, var, hi, body)
        special = {"fun": self.function, "let": self.let, "if": self.case, "match": self.match}.get(text)
        return special() if special is not None else self.application()

    def function(self) -> Term:
        """fun x => body."""
        self.take("fun")
        names = []
        while self.peek() != "=>":
            names.append(self.bound())
        self.take("=>")
        return ("function", tuple(names), self.term())

    def let(self) -> Term:
        """let x := value in body."""
        self.take("let")
        name = self.bound()
        self.take(":=")
        value = self.term()
        self.take("in")
        return ("let", name, value, self.term())

    def case(self) -> Term:
        """if t is k.+1 then a else b."""
        self.take("if")
        scrutinee = self.term()
        self.take("is")
        name = self.bound()
        self.take(".+1")
        self.take("then")
        successor = self.term()
        self.take("else")
        return ("case", scrutinee, name, successor, self.term())

    def match(self) -> Term:
        """match k with | 0 => a | _ => b end."""
        self.take("match")
        scrutinee = self.term()
        self.take("with")
        cases = []
        while self.peek() == "|":
            self.take()
            key = self.take()
            self.take("=>")
            cases.append((None if key == "_" else int(key), self.term()))
        self.take("end")
        return ("match", scrutinee, tuple(cases))

    def application(self) -> Term:
        """A function of arguments."""
        first, arguments = self.atom(), []
        while (self.kind() in ("name", "number") and self.peek() not in ENDS) or self.peek() in ("(", "<<"):
            arguments.append(self.atom())
        return ("apply", first, tuple(arguments)) if arguments else first

    def atom(self) -> Term:
        """A name, a number or a term in parentheses, with what stands behind it."""
        kind, text = self.kind(), self.take()
        if kind == "number":
            left: Term = ("number", int(text))
        elif kind == "name":
            left = ("name", text)
        elif text == "<<":
            a = self.term()
            self.take(",")
            left = ("pair", a, self.term())
            self.take(">>")
        elif text == "(":
            left = self.term()
            if self.peek() == ":":
                self.take()
                left = ("typed", left, self.matrix_type())
            self.take(")")
        else:
            raise NotRead(f"a term is expected, not {text}")
        return self.behind(left)

    def behind(self, left: Term) -> Term:
        """Postfix signs."""
        while True:
            if self.kind() == "after":
                text = self.take()
                left = ("successor", int(text[1:]), left)
            elif self.peek() in POSTFIX:
                left = ("postfix", self.take(), left)
            else:
                return left

    def matrix_type(self) -> Term:
        """'cV[R]_n or 'M[R]_(m, n); or a name."""
        if self.kind() != "type":
            return self.atom()
        column = self.take().startswith("'cV")
        if column:
            return ("shape", self.atom(), ("number", 1))
        if self.peek() != "(":
            size = self.atom()
            return ("shape", size, size)
        self.take("(")
        rows = self.term()
        self.take(",")
        columns = self.term()
        self.take(")")
        return ("shape", rows, columns)


ENDS = frozenset({"in", "then", "else", "with", "end", "is"})
"""Words that end a term."""


def read(text: str) -> Term:
    """The term that a text is.

    Raises:
        NotRead: it is none, or text follows it.
    """
    reader = Reader(text)
    found = reader.term()
    if reader.peek():
        raise NotRead(f"more follows a term: {reader.peek()}")
    return found
