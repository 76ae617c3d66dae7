"""What the fast program computes, in which order and where: the stages of both systems and the places of families."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sympy import MatrixSymbol, S

from symbptt.derivation import Derivation
from symbptt.expr.build import plus
from symbptt.expr.index import t
from symbptt.expr.nodes import ONE, At, Matrix
from symbptt.expr.walk import visit
from symbptt.model.spec import initial_name
from symbptt.program.fuse import Fusion, Layout, Place, counted
from symbptt.program.lower import Lowering
from symbptt.program.margins import lacking, unwritten
from symbptt.program.names import Names
from symbptt.program.normal import Normal, Row, members, offset, swapped
from symbptt.program.options import PLAIN, Options
from symbptt.program.saved import factors, saved
from symbptt.program.segments import with_gradient
from symbptt.program.stages import Hoist, Named, Shared, Stage, inlined, needed, product, stages
from symbptt.program.statements import names_in
from symbptt.program.system import Initial, Systems, Term

Terms = dict[str, tuple[list[Term], tuple[str, ...]]]
"""For each parameter and static column the summands of its gradient and the labels of its equation."""


class Plan:
    """The plan of one derivation.

    Where nothing is written in place, every family has an array of its own. Unless `entrywise`, only products are moved
    out of loops, and what a step can compute entry by entry is not stored.
    """

    def __init__(self, derivation: Derivation, options: Options = PLAIN, in_place: bool = True,
                 entrywise: bool = True, reserved: Iterable[str] = ()) -> None:
        self.derivation, self.model = derivation, derivation.model
        self.in_place, self.entrywise = in_place, entrywise
        self.names = Names(derivation, options, reserved)
        self.systems = Systems(derivation, self.names)
        self.batch, self.count = self.names.batch, self.names.add("local", "rows", "N", "rows")
        self.layout = Layout()
        self.static = self.names.static
        normal = self.systems.fresh_normal()
        ahead = Named(normal).apply(self.systems.forward().rows)
        back = self._backward_rows(ahead)
        self._forward_stages(ahead, normal)
        self._backward_stages(*back)
        self._margins()
        self._complete()

    def _forward_stages(self, ahead: dict[MatrixSymbol, Row], normal: Normal) -> None:
        self.hoisted = Hoist(normal, self.entrywise)
        rows = self.hoisted.apply(inlined(ahead, self._operands([]) | {*self.saved}))
        self.ahead, _ = self._fused(rows, normal, [], [*self.model.families.values(), *self.saved])

    def _backward_rows(self, ahead: dict[MatrixSymbol, Row]) -> tuple[
            dict[MatrixSymbol, Row], dict[At, Initial], Terms]:
        """The rows of backward, and what is read behind them, where products of forward are not made again."""
        systems = self.systems
        system, normal = systems.backward(), systems.normal
        terms = {p.name: systems.gradient(p) for p in (*self.model.parameters, *self.model.static)}
        wanted = [m for m in self.model.initial if self._with_gradient(m, terms)]
        initial = {m: systems.initial(m) for m in wanted}
        for made, row in normal.rows.items():
            system.rows.setdefault(made, row)
        named = Named(normal)
        rows = named.apply(system.rows)
        initial = {m: Initial(m, tuple(named.top(e) for e in i.messages), i.once, i.labels) for m, i in initial.items()}
        for made, row in normal.rows.items():
            rows.setdefault(made, row)
        outside = [e for i in initial.values() for e in i.messages]
        outside += [x.value for found, _ in terms.values() for x in found]
        # What is not written in place goes from forward to backward by the names of the model alone.
        self.saved: dict[MatrixSymbol, Row] = {}
        if self.in_place:
            self.saved, rows = saved(ahead, rows, outside, {*self.model.families.values()}, normal)
            every = [x.value for found, _ in terms.values() for x in found if x.every_step]
            more, table = factors(ahead, every, {*self.model.families.values()})
            self.saved |= more
            terms = {name: ([replace(x, value=swapped(x.value, table.get)) if x.every_step else x for x in found],
                            labels) for name, (found, labels) in terms.items()}
        return rows, initial, terms

    def _backward_stages(self, rows: dict[MatrixSymbol, Row], initial: dict[At, Initial], terms: Terms) -> None:
        systems, normal = self.systems, self.systems.normal
        outside = [e for i in initial.values() for e in i.messages]
        outside += [x.value for found, _ in terms.values() for x in found]
        rows = inlined(rows, self._operands([*(r.right for r in rows.values()), *outside]))
        self.returned = Hoist(normal, self.entrywise)
        rows = Shared(normal).apply(self.returned.apply(rows))
        self.terms = terms
        core = [m.family for e in outside for m in members(e)]
        core += [systems.adjoints[v.name] for v in self.model.inputs]
        self.core = needed(rows, core)
        sent = [plus(i.messages, like=m) for m, i in initial.items()]
        self.back, changed = self._fused(rows, normal, sent, [], outside)
        self.initial = {m: Initial(m, (e,), i.once, i.labels) if i.messages else i
                        for (m, i), e in zip(initial.items(), changed, strict=True)}

    def _with_gradient(self, member: At, terms: Terms) -> bool:
        if member in with_gradient(self.model, self.names.options):
            return True
        key = self.names.gradient(initial_name(member))
        once = [x.value for found, _ in terms.values() for x in found if not x.every_step]
        return any(str(key) in names_in(Lowering(self.names).rows(e) if e.shape[1] == ONE else tuple(
            Lowering(self.names).gradient(e))) for e in once)

    def _operands(self, trees: list[Matrix]) -> frozenset[MatrixSymbol]:
        return frozenset(node.args[1].family for e in trees for node in visit(e) if product(node, self.static))

    def _fused(self, rows: dict[MatrixSymbol, Row], normal: Normal, others: list[Matrix],
               keep: list[MatrixSymbol],
               outside: Iterable[Matrix] = ()) -> tuple[list[Stage], list[Matrix]]:
        if not self.in_place:
            return stages(rows), others
        fusion = Fusion(normal, self.layout)
        fusion.sums([*(r.right for r in rows.values()), *others], frozenset(rows))
        rows = {f: Row(f, fusion.joined(r.right), r.labels) for f, r in rows.items()}
        changed = [fusion.joined(e) for e in others]
        uses = counted([*(r.right for r in rows.values()), *changed, *outside])
        for family in keep:
            uses[family] = uses.get(family, 0) + 2
        found = stages(rows, self._owners(rows))
        found = fusion.gates(found, uses)
        fusion.in_place(found, uses)
        return fusion.projections(found), changed

    def _owners(self, rows: dict[MatrixSymbol, Row]) -> dict[MatrixSymbol, list[MatrixSymbol]]:
        """For every array, and every part of one, the families that write into it."""
        places = self.layout.places
        bases = {p.base for p in places.values()}
        within: dict[MatrixSymbol, list[MatrixSymbol]] = {}
        for symbol in (*bases, *places):
            place = self.layout.place(symbol) if symbol not in bases else Place(symbol, S.Zero, symbol.shape[0])
            inside = [f for f in rows if f in places and places[f].base == place.base]
            if symbol in bases:
                within[symbol] = inside
            elif symbol not in rows:
                within[symbol] = [f for f in inside if self.layout.overlap(places[f], place)]
        return within

    def _margins(self) -> None:
        """How many steps each array has in front of the first and behind the last."""
        self.lead: dict[MatrixSymbol, int] = {}
        self.trail: dict[MatrixSymbol, int] = {}
        back = [r.right for stage in self.back for r in stage.rows]
        back += [e for i in self.initial.values() for e in i.messages]
        back += [x.value for found, _ in self.terms.values() for x in found if x.every_step]
        ahead = [r.right for stage in self.ahead for r in stage.rows]
        for e in (*ahead, *back):
            for m in members(e):
                if m.time.terms:
                    base = self.layout.place(m.family).base
                    self.lead[base] = max(self.lead.get(base, 0), -offset(m))
                    self.trail[base] = max(self.trail.get(base, 0), offset(m))
        for member in self.model.initial:
            base = self.layout.place(member.family).base
            self.lead[base] = max(self.lead.get(base, 0), 1 - member.time.const)

    def _complete(self) -> None:
        """Make sure that nothing which is asked for is made of numbers that no one has written."""
        given = {(self.layout.place(member.family).base, member.time.const) for member in self.model.initial}
        ahead, back = ([(r.family, r.right) for stage in found for r in stage.rows]
                       for found in (self.ahead, self.back))
        missing = unwritten([*ahead, *back], given, self.layout)
        terms = [x.value for found, _ in self.terms.values() for x in found if x.every_step]
        asked = [*(At(f, t) for f in (*dict(ahead), *self.systems.adjoints.values())), *terms]
        lost = [e for e in asked if lacking(e, missing, given, self.layout)]
        # Before the first step the gradients of initial values write out what they read.
        lost += [m for member, i in self.initial.items() for e in i.messages for m in members(e) if m.time.terms
                 and 0 < member.time.const + offset(m) <= missing.get(self.layout.place(m.family).base, 0)]
        assert not lost, lost

    def outside(self) -> list[Matrix]:
        """What is read behind all stages: for the gradients of initial values, parameters and static columns."""
        messages = [e for i in self.initial.values() for e in (*i.messages, *i.once)]
        return [*messages, *(x.value for found, _ in self.terms.values() for x in found)]

    def kept(self) -> list[MatrixSymbol]:
        """The arrays of the families of the model, of what is saved, and of data that need steps before the first."""
        found = [self.layout.place(f).base for f in (*map(self.model.families.__getitem__, self.model.defined),
                                                     *self.saved)]
        data = [v for v in (*self.model.inputs, *self.model.targets) if self.lead.get(v) or self.trail.get(v)]
        return list(dict.fromkeys([*data, *found]))

    def length(self, base: MatrixSymbol) -> str:
        more = self.lead.get(base, 0) + self.trail.get(base, 0)
        return f"T + {more}" if more else "T"
