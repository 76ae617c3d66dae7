"""How str() writes expressions: in the language of model files, h[t-1], W_hh @ h[t-1], W_hh.T."""

from __future__ import annotations

from collections.abc import Callable

from sympy import MatrixSymbol
from sympy.core.basic import Basic

from symbptt.expr.build import selected
from symbptt.expr.index import Index
from symbptt.expr.nodes import (
    Adjoint,
    Apply,
    At,
    Binder,
    Block,
    Chain,
    Delta,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    Immediate,
    Loss,
    LossGradient,
    Matrix,
    Maximum,
    Multiple,
    Node,
    Norm,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Tangent,
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
    return f"({text(e)})" if isinstance(e, Plus | Times | Scale | Hadamard | Multiple) else text(e)


def _plus(e: Node) -> str:
    first, *rest = map(text, e.args)
    return first + "".join(f" - {s[1:]}" if s.startswith("-") else f" + {s}" for s in rest)


def _times(e: Node) -> str:
    """A product; rows that [0 I 0] picks of a name as a slice of it."""
    pieces: list[str] = []
    factors = list(e.args)
    while factors:
        first, second = factors[0], factors[1] if len(factors) > 1 else None
        turned = isinstance(first, Transpose) and isinstance(second, Transpose)
        whole, rows = (first.args[0], second.args[0]) if turned and second is not None else (second, first)
        bounds = selected(rows) if isinstance(whole, MatrixSymbol | At) else None
        if bounds is None or whole is None:
            pieces.append(_factor(factors.pop(0)))
            continue
        start, stop = bounds
        pieces.append(f"{text(whole)}[{'' if start == 0 else start}:{'' if stop == whole.shape[0] else stop}]"
                      + (".T" if turned else ""))
        del factors[:2]
    return " @ ".join(pieces)


def _factor(e: Matrix) -> str:
    return f"({text(e)})" if isinstance(e, Plus | Times | Hadamard | Multiple) else text(e)


def _scale(e: Node) -> str:
    c, body = e.args
    if isinstance(body, Ones):
        return str(c)
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
    if len(e.rows[0]) == 1 and all(a.shape[1] == 1 for a in e.args[1:]):
        return f"concat({', '.join(map(text, e.args[1:]))})"
    return "[" + "; ".join(", ".join(map(text, row)) for row in e.rows) + "]"


WRITERS: dict[type[Node], Callable[..., str]] = {
    At: lambda e: f"{e.family}[{index_text(e.time).replace(' ', '')}]",
    Loss: lambda e: f"{e.name}({', '.join(map(text, e.args[1:]))})",
    LossGradient: lambda e: f"d{text(e.loss)}/d{text(e.wrt)}",
    Adjoint: lambda e: f"dL/d{text(e.of)}",
    Direct: lambda e: f"d+L/d{text(e.of)}",
    Tangent: lambda e: f"d{text(e.of)}",
    Immediate: lambda e: f"d+{text(e.of)}",
    Chain: lambda e: f"prod(dL/d{text(e.through)}, d{text(e.through)}/d{text(e.of)})",
    Plus: _plus,
    Times: _times,
    Hadamard: lambda e: " * ".join(f"({text(a)})" if isinstance(a, Plus | Times | Scale | Multiple) else text(a)
                                   for a in e.args),
    Apply: lambda e: f"{e.args[0]}({text(e.args[1])})",
    Diagonal: lambda e: f"diag({text(e.args[0])})",
    Scale: _scale,
    Multiple: lambda e: f"{_tight(e.args[0])}*{_tight(e.args[1])}",
    Transpose: _transpose,
    Zero: lambda e: "0",
    Ones: lambda e: "1",
    Delta: lambda e: f"[{index_text(e.args[0])} = {index_text(e.args[1])}]",
    Norm: lambda e: f"||{text(e.args[0])}||",
    Maximum: lambda e: f"max({text(e.args[0])}, {text(e.args[1])})",
    Identity: lambda e: "I",
    Power: _power,
    Sum: _binder,
    Product: _binder,
    Block: _block,
}
"""A writer for every class of the vocabulary."""
