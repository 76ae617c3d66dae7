"""Names: what may stand as one, what is close to a misspelt one, and the symbols behind them."""

from __future__ import annotations

import difflib
import keyword
import re
import unicodedata
from collections.abc import Collection

from sympy import Symbol

from symbptt.model.functions import ENTRYWISE, LOSSES, VECTOR_FUNCTIONS
from symbptt.model.notation import split
from symbptt.model.parts import ModelError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
MODEL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")

RESERVED = {"t": "the time", "T": "the number of steps", "L": "the objective"}

NOT_OPAQUE = frozenset({*ENTRYWISE, *VECTOR_FUNCTIONS, *LOSSES, "identity", "concat", "dot", "log", "sqrt", "sum"})
"""Functions with a meaning of their own: none of them may name an opaque loss."""


def did_you_mean(word: str, known: Collection[str]) -> str:
    """The end of a message: the closest of the known words, else all of them if they are few."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known: {', '.join(known)}" if 0 < len(known) <= 20 else ""


def check_name(name: str) -> str:
    """The name, if it can stand in a model file.

    Raises:
        ModelError: it is no ASCII identifier, a Python keyword, reserved, or longer than 60 characters.
    """
    _text(name)
    if not NAME.fullmatch(name):
        raise ModelError(f"{name!r} is not a name: a name is an ASCII letter, then ASCII letters, digits and _")
    if len(name) > 60:
        raise ModelError(f"the name {name[:20]}… has {len(name)} characters; at most 60 are allowed")
    if keyword.iskeyword(name):
        raise ModelError(f"{name} is a Python keyword; write {name}_")
    if name in RESERVED:
        raise ModelError(f"{name} is reserved for {RESERVED[name]}; take another name")
    return name


def check_variable_name(name: str) -> str:
    """The name, if it can stand for a matrix or a column.

    Raises:
        ModelError: as `check_name`; also when it prints like a value at the time t.
    """
    *_, last = split(check_name(name)).subscripts or ("",)
    if last == "t":
        raise ModelError(f"{name} prints like {name.rstrip('_')[:-1].rstrip('_')} at time t; take another name")
    return name


def _text(name: str) -> str:
    if not isinstance(name, str):
        raise ModelError(f"a text in quotes belongs here, not {name!r}")
    return name


def check_model_name(name: str) -> str:
    """The name, if it can name a model; files and folders are called after it.

    Raises:
        ModelError: it is not an ASCII letter, then ASCII letters, digits, _ and -, or longer than 60 characters.
    """
    _text(name)
    if not MODEL_NAME.fullmatch(name):
        raise ModelError(f"{name[:60]!r} does not name a model: a letter, then ASCII letters, digits, _ and -; "
                         "at most 60")
    return name


def check_loss_name(name: str) -> str:
    """The name, if it can name an opaque loss.

    Raises:
        ModelError: it is no name, or a function with a meaning of its own.
    """
    if name in NOT_OPAQUE:
        raise ModelError(f"{name} has a meaning of its own and cannot name an opaque loss; write l(o, y) or take "
                         f"one of {', '.join(LOSSES)}")
    return check_name(name)


TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""What characters do that turn the direction of the text after them, so that a document would show other formulas."""


def check_line(text: str) -> str:
    """The text, if it is one line for people to read.

    Raises:
        ModelError: it holds a line break or another control character.
    """
    for offset, character in enumerate(_text(text)):
        if unicodedata.category(character) in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(character) in TURNING:
            raise ModelError("one line of text without control characters belongs here", offset=offset)
    return text


def size_symbol(name: str) -> Symbol:
    """The symbol of a size."""
    return Symbol(check_name(name), integer=True, positive=True)


def constant_symbol(name: str) -> Symbol:
    """The symbol of a scalar constant."""
    return Symbol(check_name(name), real=True)
