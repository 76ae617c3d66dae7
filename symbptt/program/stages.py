"""Which families carry a recurrence in time, and what of their equations does not depend on it.

Families that depend on one another across time form a loop; all others are computed for every step at once. Of the
equations of a loop, what reads no family of the loop is moved out of it: input projections, slopes of activations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

from sympy import MatrixSymbol
from sympy.utilities.iterables import strongly_connected_components

from symbptt.expr.build import children, rebuild
from symbptt.expr.nodes import ONE, Apply, At, Hadamard, Matrix, Plus, Scale, Times
from symbptt.expr.walk import visit
from symbptt.program.normal import NOW, Normal, Row, by_table, flat, latest, members, offset, shifted, swapped, timed
from symbptt.program.words import constant, diagonal, picked, placed, plain


@dataclass(frozen=True)
class Stage:
    """Rows that are computed together: step by step in the order given, or for all steps at once."""

    rows: tuple[Row, ...]
    loop: bool

    @property
    def families(self) -> frozenset[MatrixSymbol]:
        """What it defines."""
        return frozenset(r.family for r in self.rows)


Owners = Mapping[MatrixSymbol, Iterable[MatrixSymbol]]


def stages(rows: Mapping[MatrixSymbol, Row], owners: Owners | None = None) -> list[Stage]:
    """The rows as stages, each after those that it reads; of an array that several families share, after these."""
    reads = {f: {g for m in members(row.right) for g in _behind(m.family, owners)} & rows.keys()
             for f, row in rows.items()}
    edges = [(f, g) for f, found in reads.items() for g in rows if g in found]
    found = []
    for component in strongly_connected_components((list(rows), edges)):
        loop = len(component) > 1 or component[0] in reads[component[0]]
        found.append(Stage(tuple(rows[f] for f in in_step(rows, component, owners)), loop))
    return found


def _behind(family: MatrixSymbol, owners: Owners | None) -> Iterable[MatrixSymbol]:
    return owners.get(family, (family,)) if owners is not None else (family,)


def in_step(rows: Mapping[MatrixSymbol, Row], component: Iterable[MatrixSymbol],
            owners: Owners | None = None) -> list[MatrixSymbol]:
    """The families of a component in the order of one step."""
    inside = sorted(component, key=list(rows).index)
    now = {f: [g for m in members(rows[f].right) if offset(m) == 0 for g in _behind(m.family, owners) if g in inside]
           for f in inside}
    return list(TopologicalSorter(now).static_order())


def needed(rows: Mapping[MatrixSymbol, Row], wanted: Iterable[MatrixSymbol]) -> dict[MatrixSymbol, Row]:
    """The rows that the wanted families rest on."""
    waiting, found = [f for f in wanted if f in rows], set[MatrixSymbol]()
    while waiting:
        f = waiting.pop()
        if f not in found:
            found.add(f)
            waiting += [m.family for m in members(rows[f].right) if m.family in rows]
    return {f: row for f, row in rows.items() if f in found}


def product(e: Matrix, static: frozenset[str]) -> bool:
    """Whether it is a matrix of parameters in front of a letter with a time."""
    return type(e) is Times and len(e.args) == 2 and isinstance(e.args[1], At) and front(e.args[0], static)


def front(e: Matrix, static: frozenset[str]) -> bool:
    """Whether it is a matrix of parameters, and neither a diagonal nor one that picks or places rows."""
    return plain(e, static) and not diagonal(e) and picked(e) is None and placed(e) is None


def _key(e: Matrix) -> Matrix:
    """A product at t, where it stands later."""
    return shifted(e, -max(offset(e.args[1]), 0))


class Named:
    """Products that are used twice, or inside something else than a sum, get names."""

    def __init__(self, normal: Normal) -> None:
        self.normal = normal

    def apply(self, rows: Mapping[MatrixSymbol, Row], others: Iterable[Matrix] = ()) -> dict[MatrixSymbol, Row]:
        """The rows with names for such products, each before its first use."""
        count: dict[Matrix, int] = {}
        for e in (*(r.right for r in rows.values()), *others):
            for p in set(self._products(e)):
                count[p] = count.get(p, 0) + 1
        self.often = {p for p, n in count.items() if n > 1}
        found: dict[MatrixSymbol, Row] = {}
        for f, row in rows.items():
            before = set(self.normal.rows)
            self.normal.hint = "part"
            right = row.right if product(row.right, self.normal.static) else self.top(row.right)
            found |= {made: r for made, r in self.normal.rows.items() if made not in before}
            found[f] = Row(f, right, row.labels)
        return found

    def _products(self, e: Matrix) -> Iterator[Matrix]:
        if product(e, self.normal.static):
            yield _key(e)
            return
        for a in children(e):
            yield from self._products(a)

    def top(self, e: Matrix) -> Matrix:
        """A right side: products may stand in it, in its sum, or in the sum that its function is applied to."""
        if type(e) is Apply:
            return Apply(e.args[0], self._sum(e.args[1]))
        return self._sum(e)

    def _sum(self, e: Matrix) -> Matrix:
        if type(e) is Plus:
            return Plus(*[self._summand(a) for a in e.args])
        return self._summand(e)

    def _summand(self, e: Matrix) -> Matrix:
        if product(e, self.normal.static):
            return self.normal.letter(e) if _key(e) in self.often else e
        return self.inside(e)

    def inside(self, e: Matrix) -> Matrix:
        """Something in which no product may stand."""
        if product(e, self.normal.static):
            return self.normal.letter(e)
        if type(e) is Plus and any(product(a, self.normal.static) for a in e.args):
            later = max(latest(e), 0)
            return shifted(self.normal.letter(self._sum(shifted(e, -later))), later)
        operands = children(e)
        return rebuild(e, tuple(map(self.inside, operands))) if operands else e


def inlined(rows: Mapping[MatrixSymbol, Row], operands: frozenset[MatrixSymbol]) -> dict[MatrixSymbol, Row]:
    """The rows of loops without those that are another family at the same time, scaled by what the loop leaves alone.

    They are written out where they are read, and are no part of the loop any more; `operands` stand behind matrices and
    stay.
    """
    found = dict(rows)
    for stage in stages(rows):
        for row in stage.rows if stage.loop else ():
            right = found[row.family].right
            *factors, last = right.args if type(right) is Hadamard else (right,)
            inner = [m for a in factors for m in members(a)]
            if any(m.family == row.family and offset(m) < 0 for r in found.values() for m in members(r.right)):
                continue
            if row.family in operands or not isinstance(last, At) or offset(last) != 0 or last.family == row.family \
                    or any(m.family in stage.families or offset(m) > 0 for m in inner):
                continue
            table = by_table({At(row.family, NOW): right})
            found |= {f: Row(f, flattened(swapped(found[f].right, table)), found[f].labels)
                      for f in stage.families - {row.family}}
    return found


def flattened(e: Matrix) -> Matrix:
    """The expression with nested elementwise products of columns in one."""
    operands = children(e)
    whole = rebuild(e, tuple(map(flattened, operands))) if operands else e
    return flat(*whole.args) if type(whole) is Hadamard and whole.shape[1] == ONE else whole


class Shared:
    """Functions and sums of columns that occur several times in rows outside all loops get names."""

    def __init__(self, normal: Normal) -> None:
        self.normal = normal

    def apply(self, rows: Mapping[MatrixSymbol, Row]) -> dict[MatrixSymbol, Row]:
        """The rows, each such function in a row of its own before its first use."""
        apart = {r.family for stage in stages(rows) if not stage.loop for r in stage.rows}
        count: dict[Matrix, int] = {}
        for f in apart:
            for e in visit(rows[f].right):
                if e is not rows[f].right and type(e) in (Apply, Plus) and e.shape[1] == ONE and timed(e):
                    count[e] = count.get(e, 0) + 1
        often = {e for e, n in count.items() if n > 1}
        found: dict[MatrixSymbol, Row] = {}
        for f, row in rows.items():
            before = set(self.normal.rows)
            if f in apart and often:
                self.normal.hint = "shared"
                row = Row(f, self._named(row.right, often), row.labels)
            found |= {made: r for made, r in self.normal.rows.items() if made not in before}
            found[f] = row
        return found

    def _named(self, e: Matrix, often: set[Matrix]) -> Matrix:
        """A right side with names for what stands inside it."""
        def look(part: Matrix) -> Matrix | None:
            return self.normal.letter(part, moved=False) if part in often else None

        operands = children(e)
        return rebuild(e, tuple(swapped(a, look) for a in operands)) if operands else e


class Hoist:
    """What does not depend on a loop, out of it; unless `entrywise`, only what takes a product."""

    def __init__(self, normal: Normal, entrywise: bool = True) -> None:
        self.normal, self.entrywise = normal, entrywise
        self.constants: dict[Matrix, MatrixSymbol] = {}

    def apply(self, rows: Mapping[MatrixSymbol, Row]) -> dict[MatrixSymbol, Row]:
        """The rows, those of loops without what does not depend on them; that stands in rows of its own in front."""
        found = dict(rows)
        for stage in stages(rows):
            if not stage.loop:
                continue
            self.inside = stage.families
            before = set(self.normal.rows)
            for row in stage.rows:
                self.normal.hint = f"{row.family.name}_rest"
                found[row.family] = Row(row.family, self._within(row.right), row.labels)
            made = {f: r for f, r in self.normal.rows.items() if f not in before}
            found = {**{f: r for f, r in found.items() if f not in stage.families}, **made,
                     **{r.family: found[r.family] for r in stage.rows}}
        return found

    def _stays(self, e: Matrix) -> bool:
        if any(m.family in self.inside for m in members(e)):
            return True
        return not self.entrywise and not any(product(node, self.normal.static) for node in visit(e))

    def _within(self, e: Matrix) -> Matrix:
        if isinstance(e, At | MatrixSymbol):
            return e
        if not self._stays(e):
            return self._out(e)
        kind = type(e)
        if kind is Plus or (kind is Hadamard and e.shape[1] == ONE):
            apart = [a for a in e.args if not self._stays(a)]
            kept = [self._within(a) for a in e.args if self._stays(a)]
            whole = [self._out(apart[0] if len(apart) == 1 else kind(*apart), kind is Hadamard)] if apart else []
            return kind(*whole, *kept) if len(whole) + len(kept) > 1 else kept[0]
        operands = children(e)
        return rebuild(e, tuple(map(self._within, operands))) if operands else e

    def _out(self, e: Matrix, moved: bool = True) -> Matrix:
        if isinstance(e, At | MatrixSymbol) or constant(e) is not None or e.shape[1] != ONE:
            return e
        if timed(e):
            return self.normal.letter(e, moved)
        if type(e) is Scale and isinstance(e.args[1], MatrixSymbol):
            return e
        if e not in self.constants:
            self.constants[e] = self.normal.fresh(self.normal.hint, e)
        return self.constants[e]
