"""How expressions behave inside SymPy: printing, precedence, rebuilding, subs and xreplace.

The classes of the vocabulary hold none of this; `install` gives it to them when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sympy.core.basic import Basic
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pretty.stringpict import prettyForm

from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import Adjoint, At, Binder, Direct, Immediate, Node, Plus, Tangent
from symbptt.expr.text import text
from symbptt.expr.walk import free_indices, substitute


def _written(e: Basic, _printer: object) -> str:
    return text(e)


def _pretty(e: Basic, _printer: object) -> prettyForm:
    return prettyForm(text(e))


def _mathml(e: Basic, printer: Any) -> Any:
    element = printer.dom.createElement("ci")
    element.appendChild(printer.dom.createTextNode(text(e)))
    return element


def _itself(e: Index, **_hints: object) -> Index:
    """A form has no arguments to rebuild it from; SymPy's operators would make it 0."""
    return e


def _index_xreplace(e: Index, rule: Mapping[Basic, Basic]) -> tuple[Basic, bool]:
    forms = {v: index(rule[v]) for v in free_indices(e) if v in rule}
    return (e.substitute(forms), True) if forms else (e, False)


def _index_subs(e: Index, old: Basic, new: Basic) -> Basic:
    return e.substitute({old: index(new)}) if isinstance(old, IndexVar) else e


def _binder_xreplace(e: Binder, rule: Mapping[Basic, Basic]) -> tuple[Basic, bool]:
    """Index variables by substitution that never captures, the rest below the binder."""
    if e in rule:
        return rule[e], True
    forms = {v: index(rule[v]) for v in free_indices(e) if v in rule}
    moved: Binder = substitute(e, forms)
    others = {old: new for old, new in rule.items() if not isinstance(old, IndexVar)}
    body = moved.body.xreplace(others) if others else moved.body
    made = type(moved)(body, moved.var, moved.lo, moved.hi)
    return made, made != e


def _binder_subs(e: Binder, old: Basic, new: Basic) -> Basic | None:
    return substitute(e, {old: index(new)}) if isinstance(old, IndexVar) else None


PROTOCOL: dict[type[Basic], dict[str, object]] = {
    Index: {"_sympystr": _written, "func": property(lambda e: lambda *_args: e), "doit": _itself,
            "_xreplace": _index_xreplace, "_eval_subs": _index_subs},
    Node: {"_sympystr": _written, "_latex": _written, "_pretty": _pretty, "_mathml_content": _mathml,
           "_mathml_presentation": _mathml, "precedence": PRECEDENCE["Mul"]},
    Plus: {"precedence": PRECEDENCE["Add"]},
    At: {"precedence": PRECEDENCE["Atom"]},
    Adjoint: {"precedence": PRECEDENCE["Atom"]},
    Direct: {"precedence": PRECEDENCE["Atom"]},
    Tangent: {"precedence": PRECEDENCE["Atom"]},
    Immediate: {"precedence": PRECEDENCE["Atom"]},
    Binder: {"_xreplace": _binder_xreplace, "_eval_subs": _binder_subs},
}
"""What each class is given."""


def install() -> None:
    """Give the classes of the vocabulary what SymPy asks of them."""
    for kind, methods in PROTOCOL.items():
        for name, method in methods.items():
            setattr(kind, name, method)


def print_latex(latex: Callable[[Basic], str]) -> None:
    """Let sympy.latex print our nodes by a printer that lies above this layer."""
    kind: Any = Node
    kind._latex = lambda e, _printer: latex(e)
