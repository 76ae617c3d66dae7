"""Products that share an operand or a sum become one, and families that stand side by side share one array.

Gates that read the same column, σ(W_i x_t + U_i h_{t-1} + b_i), … take one product with stacked matrices; the δ of a
sum Σ_j U_jᵀ δ_j are the columns of one array. What a loop overwrites is computed where its result will stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, pairwise

from sympy import Expr, MatrixSymbol, S

from symbptt.expr.build import children, rebuild, transpose
from symbptt.expr.nodes import ONE, Apply, At, Hadamard, Matrix, Plus, Times, Transpose, Zero
from symbptt.program.normal import NOW, Normal, Row, members, offset
from symbptt.program.stages import Stage, product


@dataclass(frozen=True)
class Place:
    """Columns lo … hi of the array that is called base."""

    base: MatrixSymbol
    lo: Expr
    hi: Expr

    @property
    def whole(self) -> bool:
        """Whether it is all of the array."""
        return (self.lo, self.hi) == (S.Zero, self.base.shape[0])


@dataclass
class Layout:
    """Where families stand, and the stacked parameters: symbol -> the parts, from the top.

    Arrays that are scratch hold one step alone. The marks of an array are where its families begin and end, in order.
    """

    places: dict[MatrixSymbol, Place] = field(default_factory=dict)
    stacked: dict[MatrixSymbol, tuple[Matrix, ...]] = field(default_factory=dict)
    titles: dict[Place, MatrixSymbol] = field(default_factory=dict)
    scratch: set[MatrixSymbol] = field(default_factory=set)
    marks: dict[MatrixSymbol, list[Expr]] = field(default_factory=dict)

    def title(self, place: Place) -> MatrixSymbol:
        """The family after which a place is called."""
        return self.titles.get(place) or place.base

    def span(self, place: Place) -> tuple[int, int]:
        """From which to which of the marks of its array a place reaches, whatever the sizes are."""
        marks = self.marks.get(place.base, [S.Zero, place.base.shape[0]])
        return marks.index(place.lo), marks.index(place.hi)

    def overlap(self, a: Place, b: Place) -> bool:
        """Whether two places have a column in common."""
        if a.base != b.base:
            return False
        (lo, hi), (start, end) = self.span(a), self.span(b)
        return lo < end and start < hi

    def number(self, family: MatrixSymbol) -> int:
        """Where a family's columns begin among those of its array, counted in marks."""
        return self.span(self.place(family))[0]

    def place(self, family: MatrixSymbol) -> Place:
        """Its place; an array of its own if nothing else was said."""
        return self.places.get(family) or Place(family, S.Zero, family.shape[0])


@dataclass(frozen=True)
class Affine:
    """A sum of products and more: the operands, the matrices in front of them, what else is added."""

    operands: tuple[At, ...]
    matrices: tuple[Matrix, ...]
    rest: tuple[Matrix, ...]


@dataclass(frozen=True)
class Gate:
    """A row of a loop with a product: its function, its sum, what of that is outside the loop and what inside.

    It is late if what it adds is of the loop and of the same step.
    """

    row: Row
    name: str
    affine: Affine
    rest: tuple[Matrix, ...]
    inner: tuple[Matrix, ...]
    late: bool


class Fusion:
    """The fusing of one system; `order` is the order of stacked matrices that was found before, by their parts."""

    def __init__(self, normal: Normal, layout: Layout) -> None:
        self.normal, self.layout = normal, layout

    def affine(self, e: Matrix) -> Affine | None:
        """The parts of a sum with products, these in a fixed order; None for all else."""
        summands = e.args if type(e) is Plus else (e,)
        products = sorted((a for a in summands if product(a, self.normal.static)), key=lambda a: str(a.args[1]))
        rest = tuple(a for a in summands if not product(a, self.normal.static))
        if not products:
            return None
        return Affine(tuple(p.args[1] for p in products), tuple(p.args[0] for p in products), rest)

    def stack(self, parts: tuple[Matrix, ...]) -> MatrixSymbol:
        """The matrices, or columns, of parameters below one another, as one parameter."""
        known = next((symbol for symbol, found in self.layout.stacked.items() if found == parts), None)
        if known is not None:
            return known
        rows = sum((a.shape[0] for a in parts), S.Zero)
        hint = "_".join(dict.fromkeys(str(getattr(a, "name", "part")) for a in parts))
        if len(hint) > 24:
            hint = f"{getattr(parts[0], 'name', 'part')!s}_to_{getattr(parts[-1], 'name', 'part')!s}"
        name = self.normal.fresh(hint, Zero(rows, parts[0].shape[1]))
        self.layout.stacked[name] = parts
        return name

    def beside(self, families: list[MatrixSymbol], hint: str) -> MatrixSymbol:
        """One array whose columns are these families, in order."""
        width = sum((f.shape[0] for f in families), S.Zero)
        base = self.normal.fresh(hint, Zero(width, ONE))
        self.layout.marks[base] = list(accumulate((f.shape[0] for f in families), initial=S.Zero))
        start: Expr = S.Zero
        for f in families:
            self.layout.places[f] = Place(base, start, start + f.shape[0])
            self.layout.titles[self.layout.places[f]] = f
            start = start + f.shape[0]
        return base

    def gates(self, found: list[Stage], uses: Mapping[MatrixSymbol, int]) -> list[Stage]:
        """Rows of loops that take the same operands, in one."""
        done: list[Stage] = []
        for stage in found:
            if stage.loop:
                extra: list[Row] = []
                fused = self._gates(stage, uses, extra)
                done += [*(Stage((row,), False) for row in extra), fused]
            else:
                done.append(stage)
        return done

    def _gates(self, stage: Stage, uses: Mapping[MatrixSymbol, int], extra: list[Row]) -> Stage:
        groups: dict[tuple[At, ...], list[Gate]] = {}
        for row in stage.rows:
            name, body = (str(row.right.args[0]), row.right.args[1]) if type(row.right) is Apply else ("", row.right)
            affine = self.affine(body)
            if affine is not None and row.family not in self.layout.places and row.family.shape[0] != ONE:
                inner = [a for a in affine.rest if any(m.family in stage.families for m in members(a))]
                late = any(m.family in stage.families and offset(m) == 0 for a in inner for m in members(a))
                rest = tuple(a for a in affine.rest if a not in inner)
                groups.setdefault(affine.operands, []).append(Gate(row, name, affine, rest, tuple(inner), late))
        replaced: dict[MatrixSymbol, list[Row]] = {}
        for group in groups.values():
            if len(group) > 1:
                self._fused(group, replaced, uses, extra)
        return Stage(tuple(r for row in stage.rows for r in replaced.get(row.family, [row])), True)

    def _fused(self, group: list[Gate], replaced: dict[MatrixSymbol, list[Row]], uses: Mapping[MatrixSymbol, int],
               extra: list[Row]) -> None:
        """One product for the group, in scratch; what is early and has a function in common takes that in one."""
        first = group[0].row.family
        names = list(dict.fromkeys(g.name for g in group))
        group = sorted(group, key=lambda g: (names.index(g.name), g.late))
        whole = self.normal.fresh("products", Zero(sum((g.row.family.shape[0] for g in group), S.Zero), ONE))
        self.layout.scratch.add(whole)
        self.layout.marks[whole] = list(accumulate((g.row.family.shape[0] for g in group), initial=S.Zero))
        products = [Times(self.stack(tuple(g.affine.matrices[k] for g in group)), u)
                    for k, u in enumerate(group[0].affine.operands)]
        rows = [Row(whole, products[0] if len(products) == 1 else Plus(*products))]
        start: Expr = S.Zero
        for together in _runs(group):
            end = start + sum((g.row.family.shape[0] for g in together), S.Zero)
            mine = At(self.part(whole, start, end), NOW)
            start = end
            row = together[0].row
            if len(together) > 1:
                found = self._joined(together, mine, uses, extra)
            else:
                body = Plus(*together[0].affine.rest, mine) if together[0].affine.rest else mine
                found = [Row(row.family, Apply(row.right.args[0], body) if together[0].name else body, row.labels)]
            if together[0].late:
                replaced[row.family] = found
            else:
                rows += found
                replaced |= {g.row.family: [] for g in together}
        replaced[first] = [*rows, *replaced.get(first, [])]

    def _joined(self, group: list[Gate], product_: At, uses: Mapping[MatrixSymbol, int], extra: list[Row]) -> list[Row]:
        """The rows of gates side by side: what one of them adds alone, then the function of all."""
        families = [g.row.family for g in group]
        base = self.beside(families, "_".join(str(f.name) for f in families))
        rest = self._rest(group, uses, base, extra)
        rows = []
        for g in group:
            if g.inner:
                own = self.normal.fresh(f"{g.row.family.name}_in", g.row.family)
                self.layout.places[own] = self.layout.places[g.row.family]
                rows.append(Row(own, Plus(At(own, NOW), *g.inner)))
        labels = tuple(label for g in group for label in g.row.labels)
        body = Plus(*rest, product_) if rest else product_
        return [*rows, Row(base, Apply(group[0].row.right.args[0], body), labels)]

    def _rest(self, group: list[Gate], uses: Mapping[MatrixSymbol, int], base: MatrixSymbol,
              extra: list[Row]) -> list[Matrix]:
        """What is added to the products, as one column: made where the sum will stand, or stacked parameters."""
        if not any(g.affine.rest for g in group):
            return []
        if all(len(g.rest) == 1 and isinstance(g.rest[0], MatrixSymbol) and not g.inner for g in group):
            return [self.stack(tuple(g.rest[0] for g in group))]
        for g in group:
            family, rest, place = g.row.family, g.rest, self.layout.places[g.row.family]
            alone = len(rest) == 1 and isinstance(rest[0], At) and rest[0].time == NOW \
                and uses.get(rest[0].family, 0) == 1 and rest[0].family not in self.layout.places
            if alone:
                self.layout.places[rest[0].family] = place
                continue
            made = self.normal.fresh(f"{family.name}_rest", family)
            self.layout.places[made] = place
            extra.append(Row(made, Zero(*family.shape) if not rest else rest[0] if len(rest) == 1 else Plus(*rest)))
        before = self.normal.fresh(f"{base.name}_rest", base)
        self.layout.places[before] = Place(base, S.Zero, base.shape[0])
        return [At(before, NOW)]

    def sums(self, trees: Iterable[Matrix], free: frozenset[MatrixSymbol]) -> None:
        """The operands of a sum of products side by side, where none of them has a place yet."""
        for e in trees:
            for group in self._groups(e):
                families = [a.args[1].family for a in group]
                if len(families) > 1 and len(set(families)) == len(families) and free.issuperset(families) \
                        and not any(f in self.layout.places for f in families):
                    order = self._known_order([a.args[0] for a in group])
                    self.beside([families[k] for k in order], _common([str(f.name) for f in families]))

    def _known_order(self, matrices: list[Matrix]) -> list[int]:
        """The order in which the same matrices have been stacked before."""
        turned = [transpose(m) for m in matrices]
        for parts in self.layout.stacked.values():
            if set(parts) == set(turned):
                return [turned.index(part) for part in parts]
        return list(range(len(matrices)))

    def _groups(self, e: Matrix) -> Iterator[list[Matrix]]:
        """The products of each sum whose operands stand at one time."""
        if type(e) is Plus:
            found: dict[int, list[Matrix]] = {}
            for a in e.args:
                if product(a, self.normal.static) and a.args[1].time.terms:
                    found.setdefault(offset(a.args[1]), []).append(a)
            yield from found.values()
        for a in children(e):
            yield from self._groups(a)

    def joined(self, e: Matrix) -> Matrix:
        """The expression with one product for those whose operands are the columns of one array."""
        operands = children(e)
        whole = rebuild(e, tuple(map(self.joined, operands))) if operands else e
        if type(whole) is not Plus:
            return whole
        left = list(whole.args)
        for base in dict.fromkeys(p.base for p in self.layout.places.values()):
            groups: dict[object, list[Matrix]] = {}
            for a in left:
                if product(a, self.normal.static):
                    place = self.layout.places.get(a.args[1].family)
                    if place is not None and place.base == base:
                        groups.setdefault(a.args[1].time, []).append(a)
            for time, group in groups.items():
                ordered = sorted(group, key=lambda a: self.layout.number(a.args[1].family))
                spans = [self.layout.places[a.args[1].family] for a in ordered]
                if not adjoining(spans):
                    continue
                part = self.part(base, spans[0].lo, spans[-1].hi)
                matrix = Transpose(self.stack(tuple(transpose(a.args[0]) for a in ordered)))
                where = left.index(group[0])
                left[where] = Times(matrix, At(part, time))
                left = [a for k, a in enumerate(left) if k <= where or a not in group]
        return left[0] if len(left) == 1 else Plus(*left)

    def part(self, base: MatrixSymbol, lo: Expr, hi: Expr) -> MatrixSymbol:
        """Columns of an array as a family."""
        if (lo, hi) == (S.Zero, base.shape[0]):
            return base
        known = next((f for f, p in self.layout.places.items() if p == Place(base, lo, hi)), None)
        if known is not None:
            return known
        part = self.normal.fresh(f"{base.name}_part", Zero(hi - lo, ONE))
        self.layout.places[part] = Place(base, lo, hi)
        self.layout.titles[self.layout.places[part]] = part
        return part

    def projections(self, found: list[Stage]) -> list[Stage]:
        """Products of one operand that are computed for all steps at once and stand side by side, in one."""
        groups: dict[object, list[Row]] = {}
        for stage in found:
            for row in () if stage.loop else stage.rows:
                affine = self.affine(row.right)
                rest = affine.rest if affine is not None else ()
                if affine is not None and len(rest) < 2 and all(isinstance(r, MatrixSymbol) for r in rest):
                    place = self.layout.places.get(row.family)
                    key = (affine.operands, len(rest), place.base if place is not None else None)
                    groups.setdefault(key, []).append(row)
        replaced: dict[MatrixSymbol, Row | None] = {}
        for rows in groups.values():
            if self.layout.places.get(rows[0].family) is None:
                continue
            ordered = sorted(rows, key=lambda r: self.layout.number(r.family))
            spans = [self.layout.places[r.family] for r in ordered]
            if not adjoining(spans):
                continue
            affines = [a for r in ordered if (a := self.affine(r.right)) is not None]
            products: list[Matrix] = [Times(self.stack(tuple(a.matrices[k] for a in affines)), u)
                                      for k, u in enumerate(affines[0].operands)]
            if affines[0].rest:
                products.append(self.stack(tuple(a.rest[0] for a in affines)))
            whole = self.normal.fresh(f"{spans[0].base.name}_given", Zero(spans[-1].hi - spans[0].lo, ONE))
            self.layout.places[whole] = Place(spans[0].base, spans[0].lo, spans[-1].hi)
            replaced |= dict.fromkeys(r.family for r in rows)
            replaced[rows[0].family] = Row(whole, products[0] if len(products) == 1 else Plus(*products))
        done = []
        for stage in found:
            rows_left = [replaced.get(r.family, r) for r in stage.rows]
            kept = tuple(r for r in rows_left if r is not None)
            if kept:
                done.append(Stage(kept, stage.loop))
        return done

    def in_place(self, found: list[Stage], uses: Mapping[MatrixSymbol, int]) -> None:
        """What a row of a loop adds to, or multiplies, is made where the row's result will stand."""
        made = {r.family: r for stage in found if not stage.loop for r in stage.rows}
        for stage in found:
            for row in stage.rows if stage.loop else ():
                right = row.right.args[1] if type(row.right) is Apply else row.right
                # Columns among others are slow to work on: what comes before the result is made in an array of its own.
                if type(right) not in (Plus, Hadamard) or not self.layout.place(row.family).whole:
                    continue
                for a in right.args:
                    if isinstance(a, At) and a.time == NOW and a.family in made and uses.get(a.family, 0) == 1 \
                            and a.family not in self.layout.places and a.shape == row.family.shape:
                        self.layout.places[a.family] = self.layout.place(row.family)
                        break


def adjoining(spans: Sequence[Place]) -> bool:
    """Whether these are two places or more, each behind the other without a gap."""
    return len(spans) > 1 and all(p.hi == q.lo for p, q in pairwise(spans))


def _runs(group: Iterable[Gate]) -> Iterator[list[Gate]]:
    """The gates as they are joined: those that have a function and are early by their function, others alone."""
    for _, found in groupby(group, lambda g: (g.name, "" if g.name and not g.late else str(g.row.family))):
        yield list(found)


def _common(names: list[str]) -> str:
    """One name for several: what they begin with, and the ends."""
    head = names[0]
    while not all(n.startswith(head) for n in names):
        head = head[:-1]
    return head + "_".join(n[len(head):] for n in names) if len(head) > 1 else "_".join(names)


def counted(trees: Iterable[Matrix]) -> dict[MatrixSymbol, int]:
    """How often each family is read."""
    found: dict[MatrixSymbol, int] = {}
    for e in trees:
        for m in members(e):
            found[m.family] = found.get(m.family, 0) + 1
    return found
