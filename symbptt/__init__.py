"""symbptt: a symbolic derivation engine for back-propagation through time.

    import symbptt
    d = symbptt.derive("linear", T=3)
    print(d.closed_form("h"))
    print(d.to_text())
"""

from typing import Any

from symbptt.api import (
    Accepted,
    CheckerError,
    Derivation,
    Family,
    InputError,
    LossTerm,
    Model,
    ModelError,
    Proof,
    ProvedStatement,
    RecordError,
    Refused,
    Statement,
    Theorem,
    TooLarge,
    check,
    derive,
    family,
    function,
    library,
    load,
    loads,
    loss,
    model,
    prove,
    release,
    replay,
    softmax,
    source_text,
    to_sympy,
)

__version__: str
"""The version of symbptt, as installed."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return release()  # read when it is asked for, since looking it up takes milliseconds
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Accepted",
    "CheckerError",
    "Derivation",
    "Family",
    "InputError",
    "LossTerm",
    "Model",
    "ModelError",
    "Proof",
    "ProvedStatement",
    "RecordError",
    "Refused",
    "Statement",
    "Theorem",
    "TooLarge",
    "check",
    "derive",
    "family",
    "function",
    "library",
    "load",
    "loads",
    "loss",
    "model",
    "prove",
    "replay",
    "softmax",
    "source_text",
    "to_sympy",
]
