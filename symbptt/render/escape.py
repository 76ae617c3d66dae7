"""Words that a person wrote, made safe for each document format."""

from __future__ import annotations

import unicodedata

LATEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
         "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
         "|": r"\textbar{}", '"': "''", "–": "--", "—": "---", "…": r"\dots{}", "‘": "`", "’": "'", "“": "``",
         "”": "''", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "œ": r"\oe{}",
         "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}", "§": r"\S{}", "©": r"\copyright{}", "\u00a0": "~"}
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
           "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c"}
"""Combining marks that every LaTeX font can put on a letter."""

TYPEWRITER = {"\\": r"\char92{}", "{": r"\char123{}", "}": r"\char125{}", "'": r"\char13{}"}
"""What LaTeX's alltt does not print as it stands; the last is the straight quotation mark of the typewriter font."""

MARKDOWN = frozenset("\\`*_{}[]<>#|$~&!@")


def latex_words(text: str) -> str:
    """The words for LaTeX, in ASCII; a character that its fonts do not have is written by its code."""
    return "".join(map(_latex_character, unicodedata.normalize("NFC", text)))


def _latex_character(character: str) -> str:
    if character in LATEX:
        return LATEX[character]
    if character.isascii():
        return character
    apart = unicodedata.normalize("NFD", character)
    letter, mark = apart[0], apart[1:]
    if letter.isascii() and mark in ACCENTS:
        return rf"\{ACCENTS[mark]}{{{letter if letter not in 'ij' else f'{chr(92)}{letter}'}}}"
    return f"[U+{ord(character):04X}]"


def latex_code(line: str) -> str:
    """A line of code in ASCII for the alltt of LaTeX."""
    return "".join(TYPEWRITER.get(c, c) for c in line)


def markdown_words(text: str) -> str:
    """The words for Markdown."""
    return "".join("\\" + c if c in MARKDOWN else c for c in text)


def plain_words(text: str) -> str:
    """The words for a terminal, or a line of code between fences: as they are."""
    return text
