"""Names as people read them: W_hx is a W with the subscript hx, lambda_ is the letter λ."""

from __future__ import annotations

import re
from dataclasses import dataclass

GREEK: dict[str, tuple[str, str]] = {
    "alpha": (r"\alpha", "α"), "beta": (r"\beta", "β"), "gamma": (r"\gamma", "γ"), "delta": (r"\delta", "δ"),
    "epsilon": (r"\epsilon", "ε"), "zeta": (r"\zeta", "ζ"), "eta": (r"\eta", "η"), "theta": (r"\theta", "θ"),
    "iota": (r"\iota", "ι"), "kappa": (r"\kappa", "κ"), "lambda": (r"\lambda", "λ"), "mu": (r"\mu", "μ"),
    "nu": (r"\nu", "ν"), "xi": (r"\xi", "ξ"), "pi": (r"\pi", "π"), "rho": (r"\rho", "ρ"), "sigma": (r"\sigma", "σ"),
    "tau": (r"\tau", "τ"), "upsilon": (r"\upsilon", "υ"), "phi": (r"\phi", "φ"), "chi": (r"\chi", "χ"),
    "psi": (r"\psi", "ψ"), "omega": (r"\omega", "ω"), "Gamma": (r"\Gamma", "Γ"), "Delta": (r"\Delta", "Δ"),
    "Theta": (r"\Theta", "Θ"), "Lambda": (r"\Lambda", "Λ"), "Xi": (r"\Xi", "Ξ"), "Pi": (r"\Pi", "Π"),
    "Sigma": (r"\Sigma", "Σ"), "Upsilon": (r"\Upsilon", "Υ"), "Phi": (r"\Phi", "Φ"), "Psi": (r"\Psi", "Ψ"),
    "Omega": (r"\Omega", "Ω"),
}
"""Greek letters by name: the LaTeX macro and the character."""


@dataclass(frozen=True)
class Name:
    """A name taken apart: what stands on the line, and its subscripts in order."""

    base: str
    subscripts: tuple[str, ...] = ()


def split(name: str) -> Name:
    """Take a name apart at its underscores; digits that follow one letter are a subscript too: W1 reads as W_1.

    A trailing underscore, which keeps a name apart from a keyword, is not read.
    """
    base, *subscripts = [part for part in name.split("_") if part] or [name]
    letter, digits = re.fullmatch(r"(.*?)(\d*)", base).groups()  # type: ignore[union-attr]
    if digits and (len(letter) == 1 or letter in GREEK):
        base, subscripts = letter, [digits, *subscripts]
    return Name(base, tuple(subscripts))


SIGNS = {Name("L"): "the objective L", Name("I"): "the identity matrix I", Name("t"): "the time t",
         Name("T"): "the number of steps T", Name("Sigma"): "the sign of a sum", Name("Pi"): "the sign of a product",
         Name("diag"): "diag, which makes a diagonal matrix", Name("prod"): "prod, the chain rule",
         Name("max"): "max, the larger of two numbers", Name("concat"): "concat"}
"""What documents print and no name may look like, nor a function or a loss."""

PRINTED = {"sigmoid": "sigma", "relu": "ReLU", "leaky_relu": "LeakyReLU", "elu": "ELU", "silu": "SiLU",
           "hard_tanh": "hardtanh", "log_softmax": "log", "softmax_cross_entropy": "CE", "squared_error": "SE",
           "l": "ell"}
"""Functions and losses that are printed by another name than their own, or begin with one."""


def called(function: str) -> Name:
    """How a function or a loss is called in print."""
    return split(PRINTED.get(function, function))


def in_one_word(function: str) -> str:
    """What two functions or losses must not share: how they are called in print, in one case and without a break."""
    shown = called(function)
    return "".join((shown.base, *shown.subscripts)).casefold()


RESERVED = {called(name): name for name in (
    "tanh", "sigmoid", "relu", "softplus", "exp", "sin", "cos", "leaky_relu", "elu", "silu", "softsign", "hard_tanh",
    "softmax", "log_softmax", "squared_error", "softmax_cross_entropy")}
"""Functions and losses by what documents print; nothing else may be printed so. The others have signs of their own."""


def change(name: str) -> Name:
    """How the change of a variable along a direction is called: d before its name."""
    of = split(name)
    return Name(f"d{of.base}", of.subscripts)
