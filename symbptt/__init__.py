"""symbptt: a symbolic derivation engine for back-propagation through time.

    import symbptt
    d = symbptt.derive("linear", T=3)
    print(d.closed_form("h"))
    print(d.to_text())
"""

from symbptt.api import (
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
    replay,
    softmax,
    source_text,
    to_sympy,
)

__all__ = [
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
