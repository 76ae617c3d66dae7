"""Which numbers of the first steps an array does not have, because they would come from steps before the first.

A row that reads another one k steps earlier has no number at the first k steps, unless the model gives what stands in
front of them. Backward that may be so as long as nobody reads those numbers: what a step sends to the one before it
is written at the first step too, and used at none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sympy import MatrixSymbol

from symbptt.expr.nodes import Matrix
from symbptt.program.fuse import Layout
from symbptt.program.normal import members, offset

MANY = 16
"""More steps than these are as bad as all."""


def unwritten(rows: Iterable[tuple[MatrixSymbol, Matrix]], given: Collection[tuple[MatrixSymbol, int]],
              layout: Layout) -> dict[MatrixSymbol, int]:
    """For each array the number of its first steps at which it has no number, as the rows that write it have none.

    `given` are the arrays with the times before the first step at which the model gives their values.
    """
    listed = [(layout.place(family).base, right) for family, right in rows]
    missing = {base: 0 for base, _ in listed}
    while True:
        found = dict.fromkeys(missing, 0)
        for base, right in listed:
            found[base] = max(found[base], lacking(right, missing, given, layout))
        if found == missing:
            return missing
        missing = found


def lacking(e: Matrix, missing: Mapping[MatrixSymbol, int], given: Collection[tuple[MatrixSymbol, int]],
            layout: Layout) -> int:
    """The number of first steps at which an expression reads what is not there."""
    worst = 0
    for m in members(e):
        if m.time.terms:
            base, later = layout.place(m.family).base, offset(m)
            gone = missing.get(base, 0)
            if gone or (later < 0 and (base, 1 + later) not in given):
                worst = max(worst, gone - later)
    return min(worst, MANY)
