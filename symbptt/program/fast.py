"""Derivation -> the fast array program: loops for what recurs, one product over all steps for all else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sympy import Expr, MatrixSymbol, S

from symbptt.derivation import Derivation
from symbptt.expr.build import plus
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import ONE, At, Matrix, Times
from symbptt.expr.walk import substitute, visit
from symbptt.model.spec import initial_name
from symbptt.program.array import Array, Dimension, Entry, Member, Name, Rows, Scalar, Turned, call, parts, sliced
from symbptt.program.emit import Emit, Located
from symbptt.program.fuse import Fusion, Layout, Place, counted, place_key
from symbptt.program.lower import Lowering
from symbptt.program.names import Names
from symbptt.program.normal import NOW, Normal, Row, members, offset
from symbptt.program.objective import GIVEN, Objective, Sent
from symbptt.program.sizes import axes
from symbptt.program.stages import Hoist, Named, Shared, Stage, inlined, needed, product, stages
from symbptt.program.statements import Assign, Change, Loop, Output, Return, Statement, names_in
from symbptt.program.system import Initial, Systems, Term
from symbptt.program.words import batched

ARRAYS, DIRECT = "arrays", "direct"
WHEN = {-1: "before", 0: "t", 1: "after"}
"""What the steps at t - 1, t and t + 1 are called inside a loop."""


@dataclass(frozen=True)
class Part:
    """A function of the fast program: what it begins with, its statements, what it returns by name."""

    body: tuple[Statement, ...]
    results: tuple[Output, ...] = ()
    extra: tuple[Statement, ...] = ()
    extra_results: tuple[Output, ...] = ()


@dataclass(frozen=True)
class FastProgram:
    """The functions: arrays with what is known at first, forward, backward, states out of arrays and back."""

    empty: Part
    forward: Part
    states: tuple[Output, ...]
    stored: Part
    backward: Part


class Arrays:
    """The arrays of one function: which rows they have in front of t = 1 and behind t = T, and the views of them."""

    def __init__(self, names: Names, layout: Layout, local: dict[str, str], lead: dict[MatrixSymbol, int],
                 trail: dict[MatrixSymbol, int]) -> None:
        self.names, self.layout, self.local = names, layout, local
        self.lead, self.trail = lead, trail
        self.views: dict[Place, str] = {}
        self.windows: dict[tuple[Place, int], str] = {}
        self.leads: dict[str, int] = {}

    def name(self, family: MatrixSymbol) -> str:
        """The local name of a family."""
        return self.local.get(family.name) or self.names.own(family.name)

    def view(self, family: MatrixSymbol) -> str:
        """The array (rows, B, size) in which a family stands."""
        place = self.layout.place(family)
        if place.whole:
            return self.name(place.base)
        return self.views.setdefault(place, self.name(self.layout.title(place)))

    def step(self, member: At) -> Array:
        """One step of a family."""
        view, lead = self.view(member.family), self.lead.get(self.layout.place(member.family).base, 0)
        self.leads[view] = lead
        return Member(view, member.time - 1 + lead)

    def window(self, member: At) -> Array:
        """All steps of a family, so many steps later or earlier, as rows."""
        place, later = self.layout.place(member.family), offset(member)
        if (place, later) not in self.windows:
            tail = f"_{'next' if later > 0 else 'back'}_{abs(later)}" if later else ""
            name = f"{self.name(self.layout.title(place))}_rows{tail}"
            self.windows[place, later] = self.names.add("window", name, name)
        return Name(self.windows[place, later])

    def definitions(self, count: str) -> Iterator[Assign]:
        """The views."""
        for place, name in self.views.items():
            yield Assign(Name(name), self._cut(Name(self.name(place.base)), place))
        for (place, later), name in self.windows.items():
            body: Array = Name(self.name(place.base))
            lead, trail = self.lead.get(place.base, 0), self.trail.get(place.base, 0)
            if lead or trail:
                body = call("steps", body, *_ends(lead + later))
            yield Assign(Name(name), self._cut(call("as rows", body, Dimension(count), Dimension(place.base.shape[0])),
                                               place))

    def _cut(self, body: Array, place: Place) -> Array:
        return body if place.whole else sliced(body, "last", (place.lo, place.hi), place.base.shape[0])


class Builder:
    """The program of one derivation."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation, self.model = derivation, derivation.model
        self.names = Names(derivation)
        self.systems = Systems(derivation, self.names)
        self.batch, self.count = self.names.batch, self.names.add("local", "rows", "N", "rows")
        self.layout = Layout()
        self.static = self.names.static
        self.objective = Objective(derivation, self.names, _sent(derivation))
        self._forward_stages()
        self._backward_stages()
        self._margins()

    # The two systems as stages.

    def _forward_stages(self) -> None:
        system, normal = self.systems.forward(), self.systems.fresh_normal()
        self.hoisted = Hoist(normal)
        rows = self.hoisted.apply(inlined(Named(normal).apply(system.rows), self._operands([])))
        self.ahead, _, _ = self._fused(rows, normal, [], list(self.model.defined))

    def _backward_stages(self) -> None:
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
        outside = [*(e for i in initial.values() for e in i.messages), *(x.value for found, _ in terms.values() for x in found)]
        rows = inlined(rows, self._operands([*(r.right for r in rows.values()), *outside]))
        self.returned = Hoist(normal)
        rows = Shared(normal).apply(self.returned.apply(rows))
        self.terms = terms
        core = [m.family for e in outside for m in members(e)]
        core += [systems.adjoints[v.name] for v in self.model.inputs]
        self.core = needed(rows, core)
        self.back, done, changed = self._fused(rows, normal, [plus(i.messages, like=m) for m, i in initial.items()],
                                               [], outside)
        self.initial = {m: Initial(m, (e,), i.once, i.labels) if i.messages else i
                        for (m, i), e in zip(initial.items(), changed, strict=True)}

    def _with_gradient(self, member: At, terms: dict[str, tuple[list[Term], tuple[str, ...]]]) -> bool:
        targets = {v.name for v in self.model.targets}
        if member in self.model.given and member.family.name not in targets:
            return True
        key = self.names.gradient(initial_name(member))
        once = [x.value for found, _ in terms.values() for x in found if not x.every_step]
        return any(str(key) in names_in(Lowering(self.names).rows(e) if e.shape[1] == ONE else tuple(
            Lowering(self.names).gradient(e))) for e in once)

    def _operands(self, trees: list[Matrix]) -> frozenset[MatrixSymbol]:
        return frozenset(node.args[1].family for e in trees for node in visit(e) if product(node, self.static))

    def _fused(self, rows: dict[MatrixSymbol, Row], normal: Normal, others: list[Matrix], keep: list[str],
               outside: Iterable[Matrix] = ()) -> tuple[list[Stage], dict[MatrixSymbol, Row], list[Matrix]]:
        fusion = Fusion(normal, self.layout)
        fusion.sums([*(r.right for r in rows.values()), *others], frozenset(rows))
        rows = {f: Row(f, fusion.joined(r.right), r.labels) for f, r in rows.items()}
        changed = [fusion.joined(e) for e in others]
        uses = counted([*(r.right for r in rows.values()), *changed, *outside])
        for name in keep:
            uses[self.model.families[name]] = uses.get(self.model.families[name], 0) + 2
        found = stages(rows, self._owners(rows))
        found = fusion.gates(found, uses)
        fusion.in_place(found, uses)
        return fusion.projections(found), rows, changed

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
                within[symbol] = [f for f in inside if _overlap(places[f], place)]
        return within

    def _margins(self) -> None:
        """How many steps each array has in front of the first and behind the last."""
        self.lead: dict[MatrixSymbol, int] = {}
        self.trail: dict[MatrixSymbol, int] = {}
        back = [*(r.right for stage in self.back for r in stage.rows), *(e for i in self.initial.values() for e in i.messages),
                *(x.value for found, _ in self.terms.values() for x in found if x.every_step)]
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

    # Functions.

    def program(self) -> FastProgram:
        """All of them."""
        return FastProgram(self.empty(), self.forward(), self.states(), self.stored(), self.backward())

    def _kept(self) -> list[MatrixSymbol]:
        """The arrays that hold the families of the model, and data that need steps before the first."""
        found = [self.layout.place(self.model.families[name]).base for name in self.model.defined]
        data = [v for v in (*self.model.inputs, *self.model.targets) if self.lead.get(v) or self.trail.get(v)]
        return list(dict.fromkeys([*data, *found]))

    def _arrays(self) -> Arrays:
        return Arrays(self.names, self.layout, self.systems.local, self.lead, self.trail)

    def _length(self, base: MatrixSymbol) -> str:
        more = self.lead.get(base, 0) + self.trail.get(base, 0)
        return f"T + {more}" if more else "T"

    def _fresh(self, base: MatrixSymbol, arrays: Arrays) -> list[Statement]:
        """An array with zeros behind the last step."""
        name = arrays.name(base)
        found: list[Statement] = [Assign(Name(name), call("empty", Dimension(self._length(base)), Dimension(self.batch),
                                                          Dimension(base.shape[0])))]
        if self.trail.get(base):
            found.append(Change(call("from step", Name(name), Dimension(_after(self.lead.get(base, 0)))), "",
                                Scalar(S.Zero)))
        return found

    def empty(self) -> Part:
        """The arrays with the values before the first step and, of data, with those of all steps."""
        arrays = self._arrays()
        body: list[Statement] = []
        for base in self._kept():
            body += self._fresh(base, arrays)
        lower = Located(self.names, arrays.step, self.batch)
        for member in self.model.initial:
            if self.lead.get(self.layout.place(member.family).base):
                own = arrays.step(member)
                if member in self.model.given:
                    body.append(Change(own, "", Entry(GIVEN, initial_name(member))))
        for e in self.model.computed:
            label = self.derivation.label("model", initial_name(e.left))
            body.append(Change(arrays.step(e.left), "", lower.rows(e.right), (label,)))
        for v in (*self.model.inputs, *self.model.targets):
            if v in self._kept():
                start = self.lead.get(v, 0)
                body.append(Change(call("steps", Name(arrays.name(v)), *_ends(start)), "", Entry(GIVEN, v.name)))
        views = [s for s in arrays.definitions(self.count)]
        first = next((k for k, s in enumerate(body) if isinstance(s, Change) and not _is_zero(s)), len(body))
        body[first:first] = views
        results = tuple(Output(arrays.name(b), Name(arrays.name(b)), ()) for b in self._kept())
        return Part(tuple(body), results)

    def states(self) -> tuple[Output, ...]:
        """The families of the model out of the arrays."""
        return tuple(Output(name, self._stack(self.model.families[name], Entry(ARRAYS, self._base_name(name))), ())
                     for name in self.model.defined)

    def _base_name(self, name: str) -> str:
        return self._arrays().name(self.layout.place(self.model.families[name]).base)

    def _stack(self, family: MatrixSymbol, body: Array) -> Array:
        place = self.layout.place(family)
        lead, trail = self.lead.get(place.base, 0), self.trail.get(place.base, 0)
        whole = call("steps", body, *_ends(lead)) if lead or trail else body
        return whole if place.whole else sliced(
            whole, "last", (place.lo, place.hi), place.base.shape[0])

    def stored(self) -> Part:
        """The arrays from states that are given."""
        body = tuple(Change(self._stack(self.model.families[name], Entry(ARRAYS, self._base_name(name))), "",
                            Entry("states", name)) for name in self.model.defined)
        return Part(body)

    def forward(self) -> Part:
        """The states, into the arrays."""
        work = _Work(self, self._arrays(), self.hoisted)
        body = [s for stage in self.ahead for s in work.stage(stage, down=False)]
        own = {self.layout.place(r.family).base for stage in self.ahead for r in stage.rows} - set(self._kept())
        return Part(tuple(work.heads(body, own)))

    def backward(self) -> Part:
        """Gradients, and behind them the adjoints that they do not need."""
        work = _Work(self, self._arrays(), self.returned)
        core = {f for f in self.core}
        early, late = [], []
        for stage in self.back:
            (early if self._counts(stage, core) else late).append(stage)
        body = [s for stage in early for s in work.stage(stage, down=True)]
        body += [s for m, i in self.initial.items() for s in work.initial(m, i)]
        body += work.gradients(self.terms)
        extra = [s for stage in late for s in work.stage(stage, down=True)]
        reached = {r.family for stage in self.back for r in stage.rows} | set(self.layout.places)
        grads = self._grads(work, reached)
        adjoints = tuple(Output(name, self._adjoint(name, work, reached), ()) for name in self.model.defined)
        own = {self.layout.place(r.family).base for stage in self.back for r in stage.rows}
        first = work.heads(body, own - set(self._kept()), grads)
        known = {s.target.text for s in first if isinstance(s, Assign) and isinstance(s.target, Name)}
        return Part(tuple(first), grads, tuple(work.heads(extra, own - set(self._kept()), adjoints, known)), adjoints)

    def _counts(self, stage: Stage, core: set[MatrixSymbol]) -> bool:
        bases = {self.layout.place(f).base for f in core if f in self.layout.places}
        return any(r.family in core or (r.family in self.layout.places and self.layout.place(r.family).base in bases)
                   for r in stage.rows)

    def _adjoint(self, name: str, work: _Work, reached: set[MatrixSymbol]) -> Array:
        symbol = self.systems.adjoints[name]
        if symbol not in reached:
            return call("zeros", Dimension("T"), Dimension(self.batch), Dimension(symbol.shape[0]))
        return self._stack(symbol, Name(work.arrays.name(self.layout.place(symbol).base)))

    def _grads(self, work: _Work, reached: set[MatrixSymbol]) -> tuple[Output, ...]:
        targets = {v.name for v in self.model.targets}
        found = [Output(p.name, Name(self.names.gradient(p.name)), axes(p)) for p in self.model.parameters]
        found += [Output(v.name, self._adjoint(v.name, work, reached), ()) for v in self.model.inputs]
        found += [Output(v.name, Name(self.names.gradient(v.name)), ()) for v in self.model.static]
        return (*found, *(Output(initial_name(m), Name(self.names.gradient(initial_name(m))), ())
                          for m in self.model.given if m.family.name not in targets))


class _Work:
    """The statements of one function."""

    def __init__(self, builder: Builder, arrays: Arrays, hoist: Hoist) -> None:
        self.builder, self.arrays, self.hoist = builder, arrays, hoist
        names = builder.names
        self.matrices: dict[str, tuple[str, Array]] = {}
        self.scratches: dict[str, tuple[str, Expr]] = {}
        step = Located(names, arrays.step, builder.batch)
        whole = Located(names, arrays.window, builder.count)
        self.tiled = {str(s): names.add("tiled", str(s), f"{s}_rows") for s in builder.static}
        whole.symbols |= self.tiled
        self.constants: list[Assign] = []
        for e, symbol in hoist.constants.items():
            local = builder.systems.local[symbol.name]
            self.constants.append(Assign(Name(local), step.rows(e)))
            for lower in (step, whole):
                lower.letters[symbol.name] = local
            if batched(e, builder.static):
                self.tiled[local] = names.add("tiled", local, f"{local}_rows")
                whole.symbols[symbol.name] = self.tiled[local]
                for lower in (step, whole):
                    lower.static.add(symbol.name)
        for symbol in builder.layout.stacked:
            for lower in (step, whole):
                lower.letters[symbol.name] = builder.systems.local[symbol.name]
        self.step, self.whole = step, whole
        fixed = frozenset({*step.static})
        self.emit_step = Emit(step, fixed, self._alone, lambda w, k: self._scratch("work", builder.batch, w, k),
                              self._matrix, "dot")
        self.emit_whole = Emit(whole, fixed, self._alone, lambda w, k: self._scratch("works", builder.count, w, k),
                               self._matrix, "matmul")

    def _alone(self, family: MatrixSymbol) -> bool:
        return self.builder.layout.place(family).whole

    def _scratch(self, kind: str, rows: str, width: Expr, number: int) -> str:
        key = f"{kind} {width} {number}"
        if key not in self.scratches:
            wanted = kind if not any(k.startswith(f"{kind} ") for k in self.scratches) else f"{kind}_{len(self.scratches) + 1}"
            self.scratches[key] = (self.builder.names.add("scratch", f"{key} {id(self)}", wanted), width)
        return self.scratches[key][0]

    def _matrix(self, e: Array) -> Array:
        """A matrix by a name, so that it is made once."""
        if isinstance(e, Name):
            return e
        key = repr(e)
        if key not in self.matrices:
            wanted = f"{e.body.text}_T" if isinstance(e, Turned) and isinstance(e.body, Name) else "matrix"
            self.matrices[key] = (self.builder.names.add("matrix", f"{key} {id(self)}", wanted), e)
        return Name(self.matrices[key][0])

    def stage(self, stage: Stage, down: bool) -> list[Statement]:
        """A loop, or rows for all steps at once."""
        if not stage.loop:
            return [s for row in stage.rows for s in self.emit_whole.row(row, At(row.family, NOW))]
        body = self._bound([s for row in stage.rows for s in self.emit_step.row(row, At(row.family, NOW))])
        ends = (index(T), Index(1)) if down else (Index(1), index(T))
        return [Loop("t", *ends, tuple(body), down=down)]

    def _bound(self, body: list[Statement]) -> list[Statement]:
        """The body with names for the steps that it reads or writes more than once: a view costs as much as a sum."""
        found: dict[Member, int] = {}
        for s in body:
            for p in parts(s):
                if isinstance(p, Member):
                    found[p] = found.get(p, 0) + (2 if isinstance(s, Change) and s.target == p else 1)
        table: dict[Member, Name] = {}
        for member, times in found.items():
            if times > 1:
                later = (member.time - NOW).const + 1 - self.arrays.leads[member.name]
                name = f"{member.name}_{WHEN.get(later, f'at_{later}'.replace('-', 'm'))}"
                table[member] = Name(self.builder.names.add("step", name, name))
        heads: list[Statement] = [Assign(name, member) for member, name in table.items()]
        return [*heads, *(_replaced(s, table) for s in body)]

    def initial(self, member: At, found: Initial) -> list[Statement]:
        """The gradient of a value before the first step."""
        target = Name(self.builder.names.gradient(initial_name(member)))
        values = [substitute(e, {t: member.time}) for e in found.messages]
        value = self.step.stored(plus([*values, *found.once], like=member))
        return [Assign(target, call("copy", value) if isinstance(value, Member) else value, found.labels)]

    def gradients(self, terms: dict[str, tuple[list[Term], tuple[str, ...]]]) -> list[Statement]:
        """The gradients of parameters and of static columns."""
        builder, names = self.builder, self.builder.names
        joined = self._joined(terms)
        found: list[Statement] = [*joined.values()]
        shared = {name for group in joined for name in group}
        for name, (listed, labels) in terms.items():
            target = Name(names.gradient(name))
            symbol = next(p for p in (*builder.model.parameters, *builder.model.static) if p.name == name)
            if name in shared:
                group = next(g for g in joined if name in g)
                place = self._places(group)[name]
                start = self._places(group)[group[0]].lo
                whole = self._places(group)[group[-1]].hi - start
                found.append(Assign(target, sliced(joined[group].target, "rows", (place.lo - start, place.hi - start), whole), labels))
            elif name in builder.static:
                found += self._static(target, listed, symbol, labels)
            else:
                found += self._parameter(target, listed, symbol, labels)
        return found

    def _static(self, target: Name, listed: list[Term], symbol: MatrixSymbol, labels: tuple[str, ...]) -> Iterator[Statement]:
        timed = [x.value for x in listed if x.every_step]
        once = [x.value for x in listed if not x.every_step]
        start = call("zeros like", Name(self.builder.names.own(symbol.name)))
        yield Assign(target, start if listed else start, () if listed else labels)
        if timed:
            rows = self.whole.stored(plus(timed))
            yield Assign(target, call("sum over steps", rows, Dimension(self.builder.batch), Dimension(symbol.shape[0])),
                         labels, augmented=True)
        if once:
            yield Assign(target, self.step.stored(plus(once)), labels, augmented=True)

    def _parameter(self, target: Name, listed: list[Term], symbol: MatrixSymbol, labels: tuple[str, ...]) -> Iterator[Statement]:
        groups = [([x.value for x in listed if x.every_step], self.whole), ([x.value for x in listed if not x.every_step], self.step)]
        parts = [(span, value) for values, lower in groups if values for span, value in lower.gradient(plus(values))]
        if len(parts) == 1 and parts[0][0] is None:
            value = parts[0][1]
            yield Assign(target, call("copy", value) if isinstance(value, Name | Member) else value, labels)
            return
        yield Assign(target, call("zeros like", Name(self.builder.names.own(symbol.name))), () if listed else labels)
        for span, value in parts:
            place = target if span is None else sliced(target, "rows", span, symbol.shape[0])
            yield Assign(place, value, labels, augmented=True)

    def _joined(self, terms: dict[str, tuple[list[Term], tuple[str, ...]]]) -> dict[tuple[str, ...], Assign]:
        """One product for the gradients whose δ stand side by side and which have the same factor behind."""
        layout = self.builder.layout
        groups: dict[object, list[str]] = {}
        self._left: dict[str, MatrixSymbol] = {}
        for name, (listed, _) in terms.items():
            if len(listed) != 1 or not listed[0].every_step or name in self.builder.static:
                continue
            value = listed[0].value
            letter, right = (value, None) if isinstance(value, At) else (value.args[0], value.args[1:]) \
                if type(value) is Times and isinstance(value.args[0], At) else (None, None)
            if isinstance(letter, At) and letter.time == NOW and letter.family in layout.places and letter.shape[0] != ONE:
                self._left[name] = letter.family
                groups.setdefault((layout.places[letter.family].base, right), []).append(name)
        found = {}
        for (base, right), group in groups.items():  # type: ignore[misc]
            ordered = sorted(group, key=lambda n: place_key(layout, self._left[n]))
            spans = [layout.places[self._left[n]] for n in ordered]
            if len(ordered) < 2 or any(p.hi != q.lo for p, q in zip(spans, spans[1:], strict=False)):
                continue
            part = Fusion(self.builder.systems.normal, layout)._part(base, spans[0].lo, spans[-1].hi)
            letter = At(part, NOW)
            whole = letter if right is None else Times(letter, *right)
            (_, value), = self.whole.gradient(whole)
            stacked = "_".join(ordered) if len("_".join(ordered)) < 24 else f"{ordered[0]}_to_{ordered[-1]}"
            local = self.builder.names.add("joined", f"{stacked} {id(self)}", f"d{stacked}")
            found[tuple(ordered)] = Assign(Name(local), value)
        return found

    def _places(self, group: tuple[str, ...]) -> dict[str, Place]:
        return {n: self.builder.layout.places[self._left[n]] for n in group}

    def heads(self, body: list[Statement], own: set[MatrixSymbol], results: object = (),
              known: Iterable[str] = ()) -> list[Statement]:
        """The body behind everything that it reads: arrays, views, matrices, scratch."""
        builder, arrays = self.builder, self.arrays
        fresh = [s for base in sorted(own, key=str) for s in builder._fresh(base, arrays)]
        kept = [Assign(Name(arrays.name(b)), Entry(ARRAYS, arrays.name(b))) for b in builder._kept()]
        data = [Assign(Name(arrays.name(v)), Entry(GIVEN, v.name)) for v in (*builder.model.inputs, *builder.model.targets)
                if v not in builder._kept()]
        direct = [s for name, symbol in builder.systems.directs.items() for s in self._direct(name, symbol)]
        views = list(arrays.definitions(builder.count))
        stacked = [Assign(Name(builder.systems.local[symbol.name]), call("stacked parameters", Rows((tuple(
            self.step.matrix(p) if p.shape[1] != 1 else self.step.rows(p) for p in parts),))))
            for symbol, parts in builder.layout.stacked.items()]
        matrices = [Assign(Name(name), e) for name, e in self.matrices.values()]
        tiles = [Assign(Name(rows), call("tiled", Name(builder.names.own(s) if s in builder.static else s)))
                 for s, rows in self.tiled.items()]
        scratch = [Assign(Name(name), call("empty", Dimension(builder.count if key.startswith("works") else builder.batch),
                                           Dimension(width))) for key, (name, width) in self.scratches.items()]
        head = [*data, *kept, *direct, *fresh, *stacked, *self.constants, *matrices, *views, *tiles, *scratch]
        used, chosen = set(names_in((tuple(body), results))), []
        for s in reversed(head):
            target = s.target if isinstance(s, Assign) else s.target.args[0]  # type: ignore[union-attr]
            if isinstance(target, Name) and target.text in used and target.text not in known:
                chosen.append(s)
                used |= names_in((s,))
        return [*reversed(chosen), *body]

    def _direct(self, name: str, symbol: MatrixSymbol) -> list[Statement]:
        builder, local = self.builder, self.arrays.name(symbol)
        if not builder.lead.get(symbol) and not builder.trail.get(symbol):
            return [Assign(Name(local), Entry(DIRECT, name))]
        start = builder.lead.get(symbol, 0)
        return [*builder._fresh(symbol, self.arrays),
                Change(call("steps", Name(local), *_ends(start)), "", Entry(DIRECT, name))]


def _replaced(e: Any, table: Mapping[Member, Name]) -> Any:
    """A statement, or a part of one, with names for members."""
    if isinstance(e, Member):
        return table.get(e, e)
    if isinstance(e, tuple):
        return tuple(_replaced(a, table) for a in e)
    if hasattr(e, "__dataclass_fields__"):
        return replace(e, **{f.name: _replaced(getattr(e, f.name), table) for f in fields(e)})
    return e


def _ends(start: int) -> tuple[Array, Array]:
    return Dimension(str(start) if start else ""), Dimension(f"T + {start}" if start else "T")


def _after(lead: int) -> str:
    return f"T + {lead}" if lead else "T"


def _is_zero(s: Change) -> bool:
    return s.value == Scalar(S.Zero)


def _sent(derivation: Derivation) -> Sent:
    return Sent(derivation)


def _overlap(a: Place, b: Place) -> bool:
    """Whether two spans of one array have a column in common, for sizes of one."""
    def at(e: Expr) -> int:
        return int(e.subs(dict.fromkeys(e.free_symbols, 1)))

    return at(a.lo) < at(b.hi) and at(b.lo) < at(a.hi)
