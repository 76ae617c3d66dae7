"""A proof with new nodes: what nodes remember of themselves, their shapes and free indices, is found out once more.

The kernel computes both once for each node and believes itself afterwards. Nodes that somebody else made, in the same
process, could remember something else than they are; nodes read from a record cannot.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sympy import Basic, Tuple, preorder_traversal

from symbptt.expr.nodes import NODES, Node
from symbptt.proof.axioms import Refused
from symbptt.proof.statement import Definition, Proof, Step, Theorem

DATA = (Definition, Proof, Step, Theorem)


def afresh(proof: Proof) -> Proof:
    """The same proof, of which no node remembers anything.

    Raises:
        Refused: something else than tuples, sets, names, numbers and expressions stands in it.
        RecursionError: it is nested too deeply.
    """
    found: Proof = _afresh(proof, {})
    return found


def _afresh(e: Any, known: dict[int, Any]) -> Any:
    kind = type(e)
    if id(e) not in known:
        if kind in DATA:
            new = kind(*(_afresh(getattr(e, field.name), known) for field in fields(e)))
        elif kind in (tuple, frozenset):
            new = kind([_afresh(a, known) for a in e])
        elif isinstance(e, Node) and kind in NODES:
            new = Basic.__new__(kind, *[_afresh(a, known) for a in e.args])
        elif not _bare(e):
            raise Refused(f"a proof is made of tuples and expressions; this one holds a {kind.__name__}")
        else:
            new = e  # no node: the kernel takes it or refuses it
        known[id(e)] = new
    return known[id(e)]


def _bare(e: Any) -> bool:
    """Whether something is a name, a number or an expression in which no node stands, and not a container."""
    if isinstance(e, Basic):
        return not isinstance(e, Tuple) and not any(isinstance(a, Node | Tuple) for a in preorder_traversal(e))
    return e is None or type(e) in (str, int, bool)
