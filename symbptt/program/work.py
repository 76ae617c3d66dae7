"""The statements of one function of a fast program, from the stages of its system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from sympy import Expr, MatrixSymbol, S

from symbptt.expr.build import plus
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import At, Matrix, Plus
from symbptt.expr.walk import substitute
from symbptt.model.spec import initial_name
from symbptt.program.array import (
    Array,
    Dimension,
    Entry,
    Member,
    Name,
    Rows,
    Scalar,
    Time,
    Turned,
    call,
    multiply,
    parts,
    turn,
)
from symbptt.program.emit import Emit, Located
from symbptt.program.normal import NOW, members, offset, swapped
from symbptt.program.objective import DIRECT, GIVEN
from symbptt.program.plan import Plan
from symbptt.program.stacks import Arrays, ends
from symbptt.program.stages import Hoist, Stage, product
from symbptt.program.statements import Assign, Blocks, Change, Loop, Recur, Statement, names_in
from symbptt.program.strips import Table, opened, strips
from symbptt.program.system import Initial
from symbptt.program.words import batched, turned

ARRAYS = "arrays"
WHEN = {-1: "before", 0: "t", 1: "after"}
"""What the steps at t - 1, t and t + 1 are called inside a loop."""


class Work:
    """The statements of one function."""

    def __init__(self, plan: Plan, hoist: Hoist) -> None:
        self.plan, self.arrays = plan, Arrays(plan)
        arrays = self.arrays
        names = plan.names
        self.matrices: dict[str, tuple[str, Array]] = {}
        self.often: set[str] = set()
        self.scratches: dict[str, tuple[str, Expr]] = {}
        step = Located(names, arrays.step, plan.batch)
        whole = Located(names, arrays.window, plan.count)
        self.tiled = {str(s): names.add("tiled", str(s), f"{s}_rows") for s in plan.static}
        whole.symbols |= self.tiled
        self.constants: list[Assign] = []
        for e, symbol in hoist.constants.items():
            local = plan.systems.local[symbol.name]
            self.constants.append(Assign(Name(local), step.rows(e)))
            for lower in (step, whole):
                lower.letters[symbol.name] = local
            if batched(e, plan.static):
                self.tiled[local] = names.add("tiled", local, f"{local}_rows")
                whole.symbols[symbol.name] = self.tiled[local]
                for lower in (step, whole):
                    lower.static.add(symbol.name)
        for symbol in plan.layout.stacked:
            for lower in (step, whole):
                lower.letters[symbol.name] = plan.systems.local[symbol.name]
                lower.turned |= {symbol.name} if plan.names.turned and symbol.shape[1] != 1 else set()
        self.step, self.whole = step, whole
        fixed = frozenset({*step.static})
        self.emit_step = Emit(step, fixed, self._alone, lambda w, k: self._scratch("work", w, k),
                              self._ordered, "dot")
        self.lengths: dict[str, Expr] = {}
        self.strip = ""
        self.again: Table = {}
        self.emit_block = Emit(whole, fixed, self._alone, lambda w, k: self._scratch(f"strip_{self.strip}", w, k),
                               self._ordered, "matmul")
        self.emit_whole = Emit(whole, fixed, self._alone, lambda w, k: self._scratch("works", w, k),
                               self._matrix, "matmul")

    def _alone(self, family: MatrixSymbol) -> bool:
        return self.plan.layout.place(family).whole

    def _scratch(self, kind: str, width: Expr, number: int) -> str:
        key = f"{kind} {width} {number}"
        if key not in self.scratches:
            before = sum(k.startswith(f"{kind} ") for k in self.scratches)
            wanted = f"{kind}_{before + 1}" if before else kind
            self.scratches[key] = (self.plan.names.add("scratch", wanted, wanted), width)
        return self.scratches[key][0]

    def _ordered(self, e: Array) -> Array:
        """A matrix that many products of few rows read: a transpose in its own order, as BLAS takes a view slowly."""
        self.often.add(repr(e))
        return self._matrix(e)

    def _matrix(self, e: Array) -> Array:
        """A matrix by a name, so that it is made once."""
        if isinstance(e, Name):
            return e
        key = repr(e)
        if key not in self.matrices:
            wanted = f"{e.body.text}_T" if isinstance(e, Turned) and isinstance(e.body, Name) else "matrix"
            self.matrices[key] = (self.plan.names.add("matrix", key, wanted), e)
        return Name(self.matrices[key][0])

    def stages(self, found: Iterable[Stage], down: bool) -> list[Statement]:
        """All stages; what is made ready for a loop comes in blocks with it, and is taken while it is at hand."""
        done: list[Statement] = []
        waiting: list[Stage] = []
        for stage in found:
            stage = Stage(tuple(opened(r, self.again) for r in stage.rows), stage.loop)
            if not stage.loop:
                waiting.append(stage)
                continue
            recurs = self._recurs(stage, down)
            ready = [] if recurs else self._ready(stage, waiting, -1 if down else 1)
            before: list[Stage] = []
            for other in reversed(waiting):
                if other not in ready and any(self._reads(reader, other) for reader in (stage, *ready, *before)):
                    before.insert(0, other)
            done += [s for a in before for s in self.stage(a, down)]
            waiting = [a for a in waiting if a not in ready and a not in before]
            done += self._block(ready, stage, down) if ready else recurs or self.stage(stage, down)
        return [*done, *(s for a in waiting for s in self.stage(a, down))]

    def _reads(self, stage: Stage, other: Stage, ahead: int = 0) -> bool:
        """Whether a stage reads what another one writes; with `ahead`, 1 or -1, whether at a time on that side."""
        layout = self.plan.layout
        written = [layout.place(r.family) for r in other.rows]
        return any(layout.overlap(p, q) for r in stage.rows for m in members(r.right)
                   if offset(m) * ahead > 0 or not ahead for p in (layout.place(m.family),) for q in written)

    def _ready(self, loop: Stage, waiting: list[Stage], ahead: int) -> list[Stage]:
        """What is made ready for a loop, and is not read at times that the loop has yet to reach."""
        ready: list[Stage] = []
        for stage in reversed(waiting):
            if any(self._reads(reader, stage) for reader in (loop, *ready)):
                ready.insert(0, stage)
        while wrong := [s for s in ready if any(self._reads(r, s, ahead) for r in (*ready, loop))
                        or any(self._reads(r, s) for r in waiting if r not in ready and any(
                            self._reads(q, r) for q in ready))]:
            ready = [s for s in ready if s not in wrong]
        return ready

    def _block(self, ready: list[Stage], loop: Stage, down: bool) -> list[Statement]:
        """A loop in blocks of times, each behind what is made ready for it."""
        names, plan = self.plan.names, self.plan
        number = len(self.lengths) + 1
        length = names.add("block", f"block {number}", "block" if number == 1 else f"block_{number}")
        first, last, part, step = (names.add("block", what, what) for what in ("first", "last", "part", "step"))
        short, table = strips(plan, ready, loop)
        self.arrays.strips |= dict.fromkeys(short, (length, step))
        bases = {plan.layout.place(r.family).base for stage in (*ready, loop) for r in stage.rows}
        self.lengths[length] = sum((b.shape[0] for b in bases - plan.layout.scratch), S.Zero)
        self.strip = length
        body = [s for stage in ready for row in stage.rows for s in self.emit_block.row(row, At(row.family, NOW))]
        shorter: dict[object, object] = {Dimension(plan.count): Dimension(f"({last} - {first}) * {plan.batch}")}
        heads: list[Statement] = []
        scratch = {name for name, _ in self.scratches.values()}
        scratch |= {name for (place, _), name in self.arrays.windows.items() if place.base in self.arrays.strips}
        for name in sorted(names_in(tuple(body)) & {*self.arrays.windows.values(), *self.tiled.values(), *scratch}):
            local = names.add("block", name, f"{name.replace('_rows', '')}_part")
            count = Dimension(f"({last} - {first}) * {plan.batch}")
            shorter[Name(name)] = Name(local)
            heads.append(Assign(Name(local), call("first rows", Name(name), count) if name in scratch else
                                call("rows of a block", Name(name), Dimension(part))))
        steps = self.stage(loop, down)
        (inner,) = steps
        assert isinstance(inner, Loop)
        self.again |= table
        place = Assign(Name(step), Time(index(IndexVar(inner.var)) - index(IndexVar(first)) - 1))
        counted = any(isinstance(p, Member) and p.time.coefficient(IndexVar(step)) for p in parts(inner.body))
        inside = (place, *inner.body) if counted else inner.body
        start, end = index(IndexVar(first)) + 1, index(IndexVar(last))
        span = (end, start) if down else (start, end)
        whole = [*heads, *(_replaced(s, shorter) for s in body), Loop(inner.var, *span, inside, down)]
        return [Blocks(Name(length), Name(first), Name(last), Name(part), Name(plan.batch), tuple(whole), down)]

    def stage(self, stage: Stage, down: bool) -> list[Statement]:
        """A loop, or rows for all steps at once."""
        if not stage.loop:
            rows = [opened(r, self.again) for r in stage.rows]
            return [s for row in rows for s in self.emit_whole.row(row, At(row.family, NOW))]
        body = self._bound([s for row in stage.rows for s in self.emit_step.row(row, At(row.family, NOW))])
        ends = (index(T), Index(1)) if down else (Index(1), index(T))
        return [Loop("t", *ends, tuple(body), down=down)]

    def _recurs(self, stage: Stage, down: bool) -> list[Statement]:
        """A loop that is one linear recurrence of one family, begun in place; nothing for all else."""
        (row, *more) = stage.rows
        summands = row.right.args if type(row.right) is Plus else (row.right,)
        products = [a for a in summands if product(a, self.emit_step.fixed) and a.args[1].family == row.family]
        layout, place = self.plan.layout, self.plan.layout.place(row.family)
        rest = [a for a in summands if a not in products]
        if more or not place.whole or not products or len(rest) > 1 or not all(
                isinstance(a, At) and a.time == NOW for a in rest):
            return []
        begun = bool(rest) and layout.place(rest[0].family) == place
        own = self.arrays.window(At(row.family, NOW)) if not begun else None
        begin = [] if own is None else [Change(own, "", self.arrays.window(rest[0]) if rest else Scalar(S.Zero))]
        lags = {abs(offset(a.args[1])): self._ordered(self.step.matrix(turned(a.args[0]))) for a in products}
        count, lead = max(lags), self.plan.lead.get(place.base, 0)
        if len(lags) != len(products):
            return []
        start, stop = (lead, lead + count) if down else (lead - count, lead)
        ends_ = Dimension(str(start) if start else ""), Dimension(f"T + {stop}" if stop else "T")
        steps = call("steps down" if down else "steps", Name(self.arrays.name(place.base)), *ends_)
        return [*begin, Recur(steps, tuple(lags.get(k) for k in range(1, count + 1)), row.labels)]

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
                table[member] = Name(self.plan.names.add("step", name, name))
        heads: list[Statement] = [Assign(name, member) for member, name in table.items()]
        return [*heads, *(_replaced(s, table) for s in body)]

    def initial(self, member: At, found: Initial) -> list[Statement]:
        """The gradient of a value before the first step."""
        target = Name(self.plan.names.gradient(initial_name(member)))
        values = [substitute(e, {t: member.time}) for e in found.messages]
        whole = swapped(plus([*values, *found.once], like=member), self._before)
        value = self.step.stored(whole)
        return [Assign(target, call("copy", value) if isinstance(value, Member) else value, found.labels)]

    def _before(self, e: Matrix) -> Matrix | None:
        """What stands in a family that was made, at a time before the first, where it has no step."""
        row = self.plan.systems.normal.rows.get(e.family) if isinstance(e, At) else None
        if row is None or e.time.terms or e.time.const > 0:
            return None
        return swapped(substitute(row.right, {t: e.time}), self._before)

    def heads(self, body: list[Statement], own: set[MatrixSymbol], results: object = (),
              known: Iterable[str] = ()) -> list[Statement]:
        """The body behind everything that it reads: arrays, views, matrices, scratch."""
        plan, arrays = self.plan, self.arrays
        fresh = [s for base in sorted(own, key=str) for s in arrays.fresh(base)]
        kept = [Assign(Name(arrays.name(b)), Entry(ARRAYS, arrays.name(b))) for b in plan.kept()]
        data = [Assign(Name(arrays.name(v)), Entry(GIVEN, v.name)) for v in (*plan.model.inputs, *plan.model.targets)
                if v not in plan.kept()]
        direct = [s for name, symbol in plan.systems.directs.items() for s in self._direct(name, symbol)]
        views = list(arrays.definitions(plan.count))
        stacked = [Assign(Name(plan.systems.local[symbol.name]), self._stacked(parts))
                   for symbol, parts in plan.layout.stacked.items()]
        matrices = [Assign(Name(name), call("in order", e) if key in self.often and isinstance(e, Turned) else e)
                    for key, (name, e) in self.matrices.items()]
        tiles = [Assign(Name(rows), call("tiled", Name(plan.names.own(s) if s in plan.static else s)))
                 for s, rows in self.tiled.items()]
        lengths = [Assign(Name(name), call("block length", Name(plan.batch), Dimension(width)))
                   for name, width in self.lengths.items()]
        scratch = [Assign(Name(name), self._room(key, width)) for key, (name, width) in self.scratches.items()]
        head = [*lengths, *data, *kept, *direct, *fresh, *scratch, *stacked, *self.constants, *matrices, *views, *tiles]
        used, chosen = set(names_in((tuple(body), results))), []
        for s in reversed(head):
            target = s.target if isinstance(s, Assign) else s.target.args[0]  # type: ignore[union-attr]
            if isinstance(target, Name) and target.text in used and target.text not in known:
                chosen.append(s)
                used |= names_in((s,))
        return [*reversed(chosen), *body]

    def _stacked(self, parts: tuple[Matrix, ...]) -> Array:
        """Columns or matrices of parameters below one another, in an array that is turned where theirs are."""
        given = next((pack.name for pack in self.plan.names.packs if pack.parts == parts), None)
        if given is not None:
            return Entry(GIVEN, given)
        if parts[0].shape[1] == 1:
            return call("stacked parameters", Rows((tuple(map(self.step.rows, parts)),)))
        whole = tuple(map(self.step.matrix, parts))
        if self.plan.names.turned:
            return call("parameters side by side", Rows((tuple(map(turn, whole)),)))
        return call("stacked parameters", Rows((whole,)))

    def _room(self, key: str, width: Expr) -> Array:
        """Scratch of one step, of all, or of a block."""
        kind = key.partition(" ")[0]
        if kind.startswith("strip_"):
            return call("empty", multiply([Name(kind.removeprefix("strip_")), Name(self.plan.batch)]), Dimension(width))
        return call("empty", Dimension(self.plan.count if kind == "works" else self.plan.batch), Dimension(width))

    def _direct(self, name: str, symbol: MatrixSymbol) -> list[Statement]:
        plan, local = self.plan, self.arrays.name(symbol)
        if not plan.lead.get(symbol) and not plan.trail.get(symbol):
            return [Assign(Name(local), Entry(DIRECT, name))]
        start = plan.lead.get(symbol, 0)
        return [*self.arrays.fresh(symbol),
                Change(call("steps", Name(local), *ends(start)), "", Entry(DIRECT, name))]


def _replaced(e: Any, table: Mapping[Any, Any]) -> Any:
    """A statement, or a part of one, with names for members."""
    if isinstance(e, Member | Name | Dimension):
        return table.get(e, e)
    if isinstance(e, tuple):
        return tuple(_replaced(a, table) for a in e)
    if hasattr(e, "__dataclass_fields__"):
        return replace(e, **{f.name: _replaced(getattr(e, f.name), table) for f in fields(e)})
    return e
