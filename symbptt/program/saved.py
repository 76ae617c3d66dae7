"""Products of the forward pass that the backward pass reads: kept, as making them again takes another product."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sympy import MatrixSymbol

from symbptt.expr.nodes import At, Hadamard, Matrix, Plus
from symbptt.expr.walk import visit
from symbptt.program.normal import NOW, Normal, Row, by_table, members, offset, swapped
from symbptt.program.stages import product

Rows = dict[MatrixSymbol, Row]


def saved(ahead: Mapping[MatrixSymbol, Row], back: Mapping[MatrixSymbol, Row], outside: Iterable[Matrix],
          model: Collection[MatrixSymbol], normal: Normal) -> tuple[Rows, Rows]:
    """The rows of forward to keep, in terms of the model's own families; and those of backward, which read them."""
    plain = {f for rows in (ahead, back) for f, r in rows.items() if {m.family for m in members(r.right)} <= {*model}}
    kept = {_summands(r.right): r for f, r in ahead.items() if f in plain and f not in model
            and any(product(e, normal.static) for e in visit(r.right))}
    barred = {m.family for e in outside for m in members(e)}
    barred |= {m.family for r in back.values() for m in members(r.right) if offset(m)}
    light = {At(f, NOW): r.right for f, r in back.items() if f in normal.rows and f in plain}
    table: dict[Matrix, Matrix] = {}
    for f, r in back.items():
        found = kept.get(_summands(swapped(r.right, by_table(light))))
        if found is not None and f not in barred:
            table[At(f, NOW)] = At(found.family, NOW)
    used = {a.family for a in table.values() if isinstance(a, At)}
    rows = {f: Row(f, swapped(r.right, by_table(table)), r.labels) for f, r in back.items() if At(f, NOW) not in table}
    return {f: r for f, r in ahead.items() if f in used}, _read(rows, {*back} - {*normal.rows}, barred)


def factors(ahead: Mapping[MatrixSymbol, Row], terms: Iterable[Matrix], model: Collection[MatrixSymbol],
            ) -> tuple[Rows, dict[Matrix, Matrix]]:
    """The rows of forward that are elementwise products and stand as such in sums over all steps, where a stack of them
    would be made again; and what takes their place there.
    """
    table: dict[Matrix, Matrix] = {r.right: At(f, NOW) for f, r in ahead.items() if f not in model
                                   and type(r.right) is Hadamard and {m.family for m in members(r.right)} <= {*model}}
    found = {node for e in terms for node in visit(e) if node in table}
    return {f: r for f, r in ahead.items() if r.right in found}, {node: table[node] for node in found}


def _read(rows: Rows, wanted: set[MatrixSymbol], outside: set[MatrixSymbol]) -> Rows:
    """The rows without those that nobody reads any more; the wanted ones stay."""
    read = {m.family for r in rows.values() for m in members(r.right)} | wanted | outside
    left = {f: r for f, r in rows.items() if f in read}
    return left if len(left) == len(rows) else _read(left, wanted, outside)


def _summands(e: Matrix) -> frozenset[Matrix]:
    """The summands, whatever their order."""
    return frozenset(b for a in e.args for b in _summands(a)) if type(e) is Plus else frozenset((e,))
