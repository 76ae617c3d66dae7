"""How str() writes expressions: in the language of model files, h[t-1], W_hh @ h[t-1], W_hh.T."""

from __future__ import annotations

from collections.abc import Callable

from sympy import MatrixSymbol
from sympy.core.basic import Basic

from symbptt.expr.index import Index
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Binder,
    Block,
    Chain,
    Direct,
    Identity,
    Loss,
    LossGradient,
    Multiple,
    Node,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
)


def index_text(form: Index) -> str:
    """Write a form as people do: T + t - i, t - 1, 2*i + 3; capitals first, what is subtracted last."""
    order = sorted(form.terms, key=lambda term: (term[1] < 0, not term[0].name[:1].isupper(), term[0].name != "t",
                                                 term[0].name))
    pieces = [(a, v.name if abs(a) == 1 else f"{abs(a)}*{v.name}") for v, a in order]
    if form.const or not pieces:
        pieces.append((form.const, str(abs(form.const))))
    if pieces[0][0] < 0 < pieces[-1][0]:
        pieces.insert(0, pieces.pop())
    head = ("-" if pieces[0][0] < 0 else "") + pieces[0][1]
    return head + "".join((" - " if a < 0 else " + ") + text for a, text in pieces[1:])


def text(e: Basic) -> str:
    """One line of text for a node, an index form or a SymPy leaf."""
    if isinstance(e, Index):
        return index_text(e)
    return WRITERS.get(type(e), _unknown)(e) if isinstance(e, Node) else str(e)


def _unknown(e: Node) -> str:
    """A class that is not of the vocabulary, so that a message about it can be written."""
    return f"{type(e).__name__}({', '.join(map(text, e.args))})"


def _tight(e: Basic) -> str:
    return f"({text(e)})" if isinstance(e, Plus | Times | Scale) else text(e)


def _plus(e: Node) -> str:
    first, *rest = map(text, e.args)
    return first + "".join(f" - {s[1:]}" if s.startswith("-") else f" + {s}" for s in rest)


def _scale(e: Node) -> str:
    c, body = e.args
    if c == -1:
        return f"-{f'({text(body)})' if isinstance(body, Plus) else text(body)}"
    return f"{f'({c})' if c.is_Add or c.as_numer_denom()[1] != 1 else c}*{_tight(body)}"


def _transpose(e: Node) -> str:
    body = e.args[0]
    return f"{text(body)}.T" if isinstance(body, MatrixSymbol | At) else f"({text(body)}).T"


def _power(e: Node) -> str:
    base = e.args[0]
    return f"{text(base) if isinstance(base, MatrixSymbol) else f'({text(base)})'}^({index_text(e.args[1])})"


def _binder(e: Binder) -> str:
    return f"{type(e).__name__}({e.var}={index_text(e.lo)}..{index_text(e.hi)}, {text(e.body)})"


def _block(e: Block) -> str:
    return "[" + "; ".join(", ".join(map(text, row)) for row in e.rows) + "]"


WRITERS: dict[type[Node], Callable[..., str]] = {
    At: lambda e: f"{e.family}[{index_text(e.time).replace(' ', '')}]",
    Loss: lambda e: f"{e.name}({', '.join(map(text, e.args[1:]))})",
    LossGradient: lambda e: f"d{text(e.loss)}/d{text(e.wrt)}",
    Adjoint: lambda e: f"dL/d{text(e.of)}",
    Direct: lambda e: f"d+L/d{text(e.of)}",
    Chain: lambda e: f"prod(dL/d{text(e.through)}, d{text(e.through)}/d{text(e.of)})",
    Plus: _plus,
    Times: lambda e: " @ ".join(f"({text(a)})" if isinstance(a, Plus | Times) else text(a) for a in e.args),
    Scale: _scale,
    Multiple: lambda e: f"{_tight(e.args[0])}*{_tight(e.args[1])}",
    Transpose: _transpose,
    Zero: lambda e: "0",
    Identity: lambda e: "I",
    Power: _power,
    Sum: _binder,
    Product: _binder,
    Block: _block,
}
"""A writer for every class of the vocabulary."""
