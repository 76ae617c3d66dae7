"""Places in a TOML text: tomllib gives the values, this the line and column of each key and character."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

PARTS, LEVELS, DIGITS = 8, 16, 100
"""The most parts of a dotted key, levels of nested values, and characters of a number that are read."""

BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
KEY = re.compile(r"""[ \t]*(?:(?P<bare>[A-Za-z0-9_-]+)|(?P<basic>"(?:[^"\\\n]|\\.)*")|'(?P<literal>[^'\n]*)')"""
                 r"[ \t]*")
STRING = re.compile(r"""[\"]{3}(?:\\.|[^\\])*?[\"]{3,5}|'{3}.*?'{3,5}"""
                    r"""|"(?:\\.|[^"\\\n])+"|'[^'\n]+'|""(?!")|''(?!')""", re.DOTALL)
BARE = re.compile(r'''[^\s"',\]}#][^\n,\]}#]*''')
QUOTE = re.compile(r'''(?:"{3}|'{3})\n?|["']''')
CHARACTER = re.compile(r"(?P<folded>\\[ \t]*\n\s*)|\\(?:u.{4}|U.{8}|x..|.)|.", re.DOTALL)
TOML_PLACE = re.compile(r"(?P<message>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)"
                        r"\)", re.DOTALL)


PLAIN = (
    ("Invalid value", re.compile(r"[A-Za-z]"), "put quotes around the whole value"),
    ("Expected newline", re.compile(r"[-+*/@,(][^\"']*$"), "put quotes around the whole value"),
    (r"Illegal character '\n'", re.compile(""), "a quote is not closed on this line"),
    ('Expected "\'"', re.compile(""), "a quote is not closed"),
    ("Unterminated string", re.compile(""), "a quote is not closed"),
    ("Expected ", re.compile(r"[^\x00-\x7f]"), "a name is made of ASCII letters, digits and _"),
    ("Invalid initial character", re.compile(r"[^\x00-\x7f]"), "a name is made of ASCII letters, digits and _"),
    ("Invalid statement", re.compile(r"[^\x00-\x7f]"), "a name is made of ASCII letters, digits and _"),
)
"""What tomllib says, what stands at the place, and what to say instead."""


class InputError(ValueError):
    """What a person wrote is wrong. Its text is file:line:column: message; line and column count from 1.

    Both are 0, and left out of the text, where what is wrong is at no place in a file.
    """

    def __init__(self, message: str, file: str, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{file}:{line}:{column}: {message}" if line else f"{file}: {message}")
        self.message, self.file, self.line, self.column = message, file, line, column

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, int, int]]:
        return InputError, (self.message, self.file, self.line, self.column)


@dataclass(frozen=True)
class Entry:
    """Where a key stands and, unless it is a table, its value; positions in the text, from 0."""

    key: int
    value: int


@dataclass(frozen=True)
class Document:
    """A TOML text with its values and their places."""

    text: str
    file: str
    data: dict[str, Any] = field(default_factory=dict)
    entries: dict[Path, Entry] = field(default_factory=dict)

    def at(self, position: int, message: str) -> InputError:
        """The error at a position of the text."""
        before = self.text[:position]
        return InputError(message, self.file, before.count("\n") + 1, position - before.rfind("\n"))

    def at_key(self, path: Path, message: str) -> InputError:
        """The error at a key or table."""
        return self.at(self.entries[path].key if path in self.entries else 0, message)

    def at_value(self, path: Path, message: str, offset: int = 0) -> InputError:
        """The error at a value; in a string, at its character number `offset`."""
        if path not in self.entries:
            return self.at(0, message)
        return self.at(_character(self.text, self.entries[path].value, offset), message)


def read_toml(text: str, file: str) -> Document:
    """Read a TOML text.

    Raises:
        InputError: the text is not TOML, not Unicode, or nested beyond reason.
    """
    document = Document(text.removeprefix("\ufeff").replace("\r\n", "\n"), file)
    try:
        document.text.encode()
    except UnicodeEncodeError as error:
        raise document.at(error.start, "a lone surrogate is no character") from None
    _Scan(document).run()
    try:
        document.data.update(tomllib.loads(document.text))
    except tomllib.TOMLDecodeError as error:
        raise _placed(document, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise document.at(0, f"not readable as TOML: {error}") from None
    return document


def _placed(document: Document, said: str) -> InputError:
    found = TOML_PLACE.fullmatch(said)
    line, column = (int(found["line"]), int(found["column"])) if found and found["line"] else (0, 0)
    rest = document.text.split("\n")[line - 1][column - 1:] if line else ""
    message = found["message"] if found else said
    message = f"not TOML: {next((say for known, at, say in PLAIN if known in message and at.match(rest)), message)}"
    return InputError(message, document.file, line, column) if line else document.at(len(document.text), message)


def _character(text: str, start: int, offset: int) -> int:
    """The position of a string value's character number `offset`; of any other value, where it begins."""
    quote = QUOTE.match(text, start)
    if not quote:
        return start
    if text[start] == "'":
        return quote.end() + offset
    for found in CHARACTER.finditer(text, quote.end()):
        if found["folded"]:
            continue
        if offset == 0:
            return found.start()
        offset -= 1
    return len(text)


class _NotTomlError(Exception):
    """The text is not TOML from here on; tomllib says why."""


class _Scan:
    """One walk over the text. It takes more than TOML, so that all that tomllib gets to read is within limits."""

    def __init__(self, document: Document) -> None:
        self.document, self.text, self.position = document, document.text, 0
        self.counts: dict[Path, int] = {}

    def run(self) -> None:
        prefix: Path = ()
        try:
            while not self.blank():
                if self.text[self.position] == "[":
                    prefix = self.header()
                else:
                    self.pair(prefix, 0)
        except _NotTomlError:
            return

    def blank(self) -> bool:
        """Skip blanks and comments; whether that is the end."""
        if found := BLANK.match(self.text, self.position):
            self.position = found.end()
        return self.position == len(self.text)

    def take(self, mark: str) -> bool:
        found = self.text.startswith(mark, self.position)
        self.position += len(mark) * found
        return found

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise _NotTomlError

    def header(self) -> Path:
        double = self.take("[[") or not self.take("[")
        parts, start = self.key()
        path: Path = ()
        for depth, part in enumerate(parts, 1):
            path = (*path, part)
            if double and depth == len(parts):
                self.counts[path] = self.counts.get(path, 0) + 1
            self.note(path, start)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
                self.note(path, start)
        self.need("]]" if double else "]")
        return path

    def key(self) -> tuple[list[str], int]:
        """A dotted key, and where it begins."""
        parts: list[str] = []
        start = self.position
        while not parts or self.take("."):
            found = KEY.match(self.text, self.position)
            if not found:
                raise _NotTomlError
            if not parts:
                start = found.start(found.lastgroup or 0) - (found.lastgroup == "literal")
            parts.append(_unquoted(found))
            self.position = found.end()
            if len(parts) > PARTS:
                raise self.document.at(start, f"a key of more than {PARTS} parts")
        return parts, start

    def note(self, path: Path, key: int, value: int | None = None) -> None:
        self.document.entries.setdefault(path, Entry(key, key if value is None else value))

    def pair(self, prefix: Path, level: int) -> None:
        parts, start = self.key()
        self.need("=")
        path = (*prefix, *parts)
        for depth in range(len(prefix) + 1, len(path)):
            self.note(path[:depth], start)
        if path in self.document.entries:
            raise self.document.at(start, f"{'.'.join(parts)} stands here twice")
        while self.take(" ") or self.take("\t"):
            pass
        self.note(path, start, self.position)
        self.value(path, level)

    def value(self, path: Path, level: int) -> None:
        if level > LEVELS:
            raise self.document.at(self.position, "nested too deeply")
        if self.take("["):
            self.items(path, level + 1)
        elif self.take("{"):
            while not self.blank() and not self.take("}"):
                self.pair(path, level + 1)
                self.blank()
                self.take(",")
        elif found := STRING.match(self.text, self.position) or BARE.match(self.text, self.position):
            if found.re is BARE and len(found[0]) > DIGITS:
                raise self.document.at(self.position, f"an unquoted value of more than {DIGITS} characters")
            self.position = found.end()
        else:
            raise _NotTomlError

    def items(self, path: Path, level: int) -> None:
        number = 0
        while not self.blank() and not self.take("]"):
            self.note((*path, number), self.position)
            self.value((*path, number), level)
            self.blank()
            self.take(",")
            number += 1


def _unquoted(found: re.Match[str]) -> str:
    if found["basic"] is None:
        return str(found["bare"] if found["literal"] is None else found["literal"])
    try:
        return str(tomllib.loads(f"key = {found['basic']}")["key"])
    except ValueError:
        raise _NotTomlError from None
