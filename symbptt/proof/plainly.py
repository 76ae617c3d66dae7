"""What Python says of arguments that do not fit, in words about the file that holds them."""

from __future__ import annotations

import re

PYTHON = re.compile(r"(?:[\w.<>]+\(\) |zip\(\) argument)|has no attribute|object (?:is not|cannot)|to unpack|"
                    r"index out of range|indices must be|not supported between|can only concat|^bad operand|"
                    r"^unsupported operand|^unhashable|recursion depth|^pop from")
"""Messages of Python itself, which speak of its own functions and classes."""


def plainly(error: BaseException | None, instead: str) -> str:
    """The message of an error; where it is Python's own, what stands in its place."""
    said = str(error)
    return instead if PYTHON.search(said) or isinstance(error, KeyError | IndexError | AttributeError) else said


def about(refusal: Exception, instead: str) -> str:
    """The message of a refusal, which ends with the message of its cause, if that is in words."""
    cause = refusal.__cause__
    said = str(refusal)
    return said if cause is None else said.removesuffix(str(cause)) + plainly(cause, instead)
