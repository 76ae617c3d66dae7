"""Products that share an operand or a sum become one, and families that stand side by side share one array.

Gates that read the same column, σ(W_i x_t + U_i h_{t-1} + b_i), … take one product with stacked matrices; the δ of a
sum Σ_j U_jᵀ δ_j are the columns of one array. What a loop overwrites is computed where its result will stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
    """Where families stand, and the stacked parameters: symbol -> the parts, from the top."""

    places: dict[MatrixSymbol, Place] = field(default_factory=dict)
    stacked: dict[MatrixSymbol, tuple[Matrix, ...]] = field(default_factory=dict)
    titles: dict[Place, MatrixSymbol] = field(default_factory=dict)

    def title(self, place: Place) -> MatrixSymbol:
        """The family after which a place is called."""
        return self.titles.get(place) or place.base

    def place(self, family: MatrixSymbol) -> Place:
        """Its place; an array of its own if nothing else was said."""
        return self.places.get(family) or Place(family, S.Zero, family.shape[0])


@dataclass(frozen=True)
class Affine:
    """A sum of products and of letters: the operands, the matrices in front of them, what else is added."""

    operands: tuple[At, ...]
    matrices: tuple[Matrix, ...]
    rest: tuple[Matrix, ...]


class Fusion:
    """The fusing of one system; `order` is the order of stacked matrices that was found before, by their parts."""

    def __init__(self, normal: Normal, layout: Layout) -> None:
        self.normal, self.layout = normal, layout

    def affine(self, e: Matrix) -> Affine | None:
        """The parts of a sum of products and letters, the products in a fixed order; None for all else."""
        summands = e.args if type(e) is Plus else (e,)
        products = sorted((a for a in summands if product(a, self.normal.static)), key=lambda a: str(a.args[1]))
        rest = tuple(a for a in summands if not product(a, self.normal.static))
        if not products or not all(isinstance(a, At | MatrixSymbol) for a in rest):
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
        groups: dict[tuple[At, ...], list[tuple[Row, str, Affine]]] = {}
        for row in stage.rows:
            name, body = (str(row.right.args[0]), row.right.args[1]) if type(row.right) is Apply else ("", row.right)
            affine = self.affine(body)
            if affine is not None and row.family not in self.layout.places \
                    and not any(m.family in stage.families for a in affine.rest for m in members(a)):
                groups.setdefault(affine.operands, []).append((row, name, affine))
        replaced: dict[MatrixSymbol, list[Row]] = {}
        for group in groups.values():
            if len(group) > 1 and all(row.family.shape[0] != ONE for row, _, _ in group):
                self._fused(group, replaced, uses, extra)
        return Stage(tuple(r for row in stage.rows for r in replaced.get(row.family, [row])), True)

    def _fused(self, group: list[tuple[Row, str, Affine]], replaced: dict[MatrixSymbol, list[Row]],
               uses: Mapping[MatrixSymbol, int], extra: list[Row]) -> None:
        first = group[0][0].family
        names = list(dict.fromkeys(name for _, name, _ in group))
        group = sorted(group, key=lambda entry: names.index(entry[1]))
        families = [row.family for row, _, _ in group]
        base = self.beside(families, "_".join(str(f.name) for f in families))
        whole = self.normal.fresh(f"{base.name}_sum", base)
        self.layout.places[whole] = Place(base, S.Zero, base.shape[0])
        products = [Times(self.stack(tuple(a.matrices[k] for _, _, a in group)), u)
                    for k, u in enumerate(group[0][2].operands)]
        rest = self._rest(group, uses, base, extra)
        summands = [*rest, *products]
        rows = [Row(whole, summands[0] if len(summands) == 1 else Plus(*summands))]
        for name in names:
            own = [(row, a) for row, n, a in group if n == name]
            labels = tuple(label for row, _ in own for label in row.labels)
            lo = self.layout.places[own[0][0].family].lo
            hi = self.layout.places[own[-1][0].family].hi
            place = Place(base, lo, hi)
            title = own[0][0].family if len(own) == 1 else base if len(own) == len(group) else None
            joined = title or self.normal.fresh("_".join(str(row.family.name) for row, _ in own), Zero(hi - lo, ONE))
            before = self.normal.fresh(f"{joined.name}_in", joined)
            self.layout.places[before] = place
            if joined != base:
                self.layout.places[joined] = place
                self.layout.titles[place] = joined
            if name:
                rows.append(Row(joined, Apply(own[0][0].right.args[0], At(before, NOW)), labels))
        for row, _, _ in group:
            replaced[row.family] = []
        replaced[first] = rows

    def _rest(self, group: list[tuple[Row, str, Affine]], uses: Mapping[MatrixSymbol, int], base: MatrixSymbol,
              extra: list[Row]) -> list[Matrix]:
        """What is added to the products, as one column: made where the sum will stand, or stacked parameters."""
        rests = [a.rest for _, _, a in group]
        if not any(rests):
            return []
        if all(len(r) == 1 and isinstance(r[0], MatrixSymbol) for r in rests):
            return [self.stack(tuple(r[0] for r in rests))]
        for (row, _, _), rest in zip(group, rests, strict=True):
            place = self.layout.places[row.family]
            alone = len(rest) == 1 and isinstance(rest[0], At) and rest[0].time == NOW \
                and uses.get(rest[0].family, 0) == 1 and rest[0].family not in self.layout.places
            if alone:
                self.layout.places[rest[0].family] = place
                continue
            made = self.normal.fresh(f"{row.family.name}_rest", row.family)
            self.layout.places[made] = place
            extra.append(Row(made, Zero(*row.family.shape) if not rest else
                             rest[0] if len(rest) == 1 else Plus(*rest)))
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
                ordered = sorted(group, key=lambda a: place_key(self.layout, a.args[1].family))
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
                if affine is not None and len(affine.rest) < 2 and not any(isinstance(r, At) for r in affine.rest):
                    place = self.layout.places.get(row.family)
                    key = (affine.operands, len(affine.rest), place.base if place is not None else None)
                    groups.setdefault(key, []).append(row)
        replaced: dict[MatrixSymbol, Row | None] = {}
        for rows in groups.values():
            if self.layout.places.get(rows[0].family) is None:
                continue
            ordered = sorted(rows, key=lambda r: place_key(self.layout, r.family))
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
                if type(right) not in (Plus, Hadamard):
                    continue
                for a in right.args:
                    if isinstance(a, At) and a.time == NOW and a.family in made and uses.get(a.family, 0) == 1 \
                            and a.family not in self.layout.places and a.shape == row.family.shape:
                        self.layout.places[a.family] = self.layout.place(row.family)
                        break


def adjoining(spans: Sequence[Place]) -> bool:
    """Whether these are two places or more, each behind the other without a gap."""
    return len(spans) > 1 and all(p.hi == q.lo for p, q in pairwise(spans))


def place_key(layout: Layout, family: MatrixSymbol) -> int:
    """The number of a family's columns among those of its array, from the left."""
    base = layout.places[family].base
    starts = list(dict.fromkeys(p.lo for p in layout.places.values() if p.base == base))
    return sorted(starts, key=lambda s: s.subs(dict.fromkeys(s.free_symbols, 1))).index(layout.places[family].lo)


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
