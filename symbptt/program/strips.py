"""What is made ready for a loop: an array of one block of steps, which stays in a cache, is enough for most of it."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import MatrixSymbol

from symbptt.expr.nodes import At, Matrix
from symbptt.expr.walk import visit
from symbptt.program.normal import NOW, Row, by_table, members, offset, swapped
from symbptt.program.plan import Plan
from symbptt.program.stages import Stage, flattened, product

Table = dict[Matrix, Matrix]
"""For families that stand in strips, at t, what they are in terms of others: who reads them later makes them again."""


def strips(plan: Plan, ready: Iterable[Stage], loop: Stage) -> tuple[set[MatrixSymbol], Table]:
    """The families of `ready` that need no more than a block of steps; and what those are that others read as well."""
    listed = [*ready, loop]
    inside = {r.family for stage in listed for r in stage.rows}
    rows = [r for stage in (*plan.ahead, *plan.back) for r in stage.rows]
    read = {m.family for r in rows if r.family not in inside for m in members(r.right)}
    barred = {m.family for e in plan.outside() for m in members(e)} | set(plan.layout.places)
    barred |= {place.base for place in plan.layout.places.values()}
    barred |= {m.family for r in rows for m in members(r.right) if offset(m)}
    barred |= {*plan.model.families.values(), *plan.systems.adjoints.values()}
    chosen: set[MatrixSymbol] = set()
    table: Table = {}
    for stage in listed[:-1]:
        for row in stage.rows:
            right = opened(row, table).right
            again = not any(product(node, plan.static) or (isinstance(node, At) and node.family in chosen)
                            for node in visit(right))
            if row.family not in barred and (again or row.family not in read):
                chosen.add(row.family)
                if again:
                    table[At(row.family, NOW)] = right
    return chosen, table


def opened(row: Row, table: Table) -> Row:
    """The row without families that stand in strips."""
    if not any(At(m.family, NOW) in table for m in members(row.right)):
        return row
    return Row(row.family, flattened(swapped(row.right, by_table(table))), row.labels)
