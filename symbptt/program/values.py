"""What the functions of a functional program compute, statement by statement, and what stands for each letter."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import MatrixSymbol

from symbptt.expr.build import plus
from symbptt.expr.index import Index, t
from symbptt.expr.nodes import ONE, At, Matrix
from symbptt.expr.walk import substitute, visit
from symbptt.model.spec import initial_name
from symbptt.program.array import Array, Call, Dimension, Entry, Name, Slice, Time, Turned, add, call, turn
from symbptt.program.emit import Located
from symbptt.program.joined import Joined
from symbptt.program.normal import offset, swapped
from symbptt.program.objective import DIRECT, GIVEN, STATES
from symbptt.program.plan import Plan
from symbptt.program.segments import computed
from symbptt.program.stages import Hoist, Stage
from symbptt.program.statements import Assign, Carried, Scan, Statement
from symbptt.program.system import Initial, Term
from symbptt.program.words import batched


class Values:
    """The statements of one function, and the names of what they have computed."""

    def __init__(self, plan: Plan, hoist: Hoist, known: frozenset[str]) -> None:
        self.plan, self.names, self.model = plan, plan.names, plan.model
        self.states, self.made = known, hoist.normal.rows
        self.body: list[Statement] = []
        self.found: dict[tuple[str, str, int], Name] = {}
        self.inside: frozenset[MatrixSymbol] = frozenset()
        self.carried: dict[tuple[MatrixSymbol, int], Name] = {}
        self.given: dict[tuple[MatrixSymbol, int], Name] = {}
        self.once = Located(self.names, self.at, plan.batch)
        self.step = Located(self.names, self._in_step, plan.batch)
        self.whole = Located(self.names, self._rows_of, plan.count)
        shapes = {self.names.own(p.name): p.shape for p in self.model.parameters if p.shape[1] != ONE}
        self.joined = Joined(shapes, plan.names.options.turned, lambda key, hint: self.names.add("joined", key, hint))
        self._constants(hoist)

    def _constants(self, hoist: Hoist) -> None:
        """What has no time: for all steps at once, what belongs to samples is repeated."""
        for s in self.plan.static:
            self._tiled(str(s), Name(self.names.own(str(s))))
        for e, symbol in hoist.constants.items():
            local = self.plan.systems.local[symbol.name]
            self._say(Name(local), self.once.rows(e))
            for lower in (self.once, self.step, self.whole):
                lower.symbols[symbol.name] = local
            if batched(e, self.plan.static):
                for lower in (self.once, self.step, self.whole):
                    lower.static.add(symbol.name)
                self._tiled(symbol.name, Name(local))

    def _tiled(self, name: str, value: Name) -> None:
        local = self.names.add("tiled", name, f"{name}_rows")
        self._say(Name(local), call("tiled", value))
        self.whole.symbols[name] = local

    def _say(self, target: Name, value: Array, labels: tuple[str, ...] = ()) -> Name:
        """A statement; what may be a result has memory of its own."""
        self.body.append(Assign(target, call("copy", value) if _looks_into(value) else value, labels))
        return target

    def _local(self, family: MatrixSymbol) -> str:
        return self.plan.systems.local.get(family.name) or self.names.own(family.name)

    def _read(self, family: MatrixSymbol) -> Array | None:
        """Where a family comes from that this function does not compute."""
        direct = {symbol: name for name, symbol in self.plan.systems.directs.items()}
        if family in direct:
            return Entry(DIRECT, direct[family])
        name = str(family.name)
        if name in self.states:
            return Entry(STATES, name)
        if name in {v.name for v in self.model.targets}:
            return call("in one dtype", Entry(GIVEN, name))
        return Entry(GIVEN, name) if name in {v.name for v in self.model.inputs} else None

    def stack(self, family: MatrixSymbol, later: int = 0) -> Name:
        """All steps of a family, or of what it is so many steps later, (T, B, size)."""
        key = ("stack", str(family.name), later)
        if key not in self.found:
            local = self._local(family)
            if later:
                name = self.names.add("shifted", f"{local} {later}", _shifted(local, later))
                value: Array = call("stack ahead", Time(Index(later)), self.stack(family)) if later > 0 else call(
                    "stack behind", Time(Index(-later)), self.stack(family),
                    *(self.at(At(family, Index(-k))) for k in range(-later)))
            elif ("rows", str(family.name), 0) in self.found:
                name, value = local, call("as steps", self.found["rows", str(family.name), 0], Dimension("T"),
                                          Dimension(self.plan.batch), Dimension(family.shape[0]))
            else:
                read = self._read(family)
                assert read is not None, f"{family} has not been computed"
                name, value = local, read
            self.body.append(Assign(Name(name), value))
            self.found[key] = Name(name)
        return self.found[key]

    def rows(self, family: MatrixSymbol, later: int = 0) -> Name:
        """The same as rows of T·B samples, (N, size)."""
        key = ("rows", str(family.name), later)
        if key not in self.found:
            stack = self.stack(family, later)
            name = self.names.add("rows", f"{family.name} {later}", _shifted(f"{self._local(family)}_rows", later))
            self.found[key] = self._say(Name(name), call("as rows", stack, Dimension(self.plan.count),
                                                         Dimension(family.shape[0])))
        return self.found[key]

    def _rows_of(self, member: At) -> Array:
        return self.rows(member.family, offset(member)) if member.time.terms else self.at(member)

    def at(self, member: At) -> Array:
        """The value at a time that is a number; behind the last step it is zero."""
        family, time = member.family, member.time.const
        assert not member.time.terms, f"{member} stands outside all steps"
        if time >= 1:
            return call("step or zeros", self.stack(family), Time(member.time))
        key = ("before", str(family.name), time)
        if key not in self.found:
            found = next((m for m in self.model.initial if m == member), None)
            if found is None:
                return self._made_before(member)
            local = self.names.add("before", initial_name(member), f"given_{initial_name(member)}")
            equation = next((e for e in self.model.computed if e.left == found), None)
            if equation is None:
                self.body.append(Assign(Name(local), Entry(GIVEN, initial_name(member))))
            else:
                local = self.names.own(initial_name(member))
                label = self.plan.derivation.label("model", initial_name(member))
                value = computed(initial_name(member), self.once.stored(equation.right), self.names.options)
                self._say(Name(local), value, (label,))
            self.found[key] = Name(local)
        return self.found[key]

    def _made_before(self, member: At) -> Array:
        """What was made, before the first step; where a value for it is missing nothing reads it, and it is zero."""
        value = swapped(member, self._before)
        given = set(self.model.initial)
        missing = [node for node in visit(value) if isinstance(node, At) and node.time.const < 1 and node not in given]
        if missing:
            assert member.family in self.made, f"{member} has no value"
            return call("zeros", Dimension(self.plan.batch), Dimension(member.family.shape[0]))
        return self.once.stored(value)

    def stage(self, stage: Stage, down: bool) -> None:
        """Rows that are computed together."""
        if stage.loop:
            self._scan(stage, down)
            return
        for row in stage.rows:
            name = self.names.add("rows", f"{row.family.name} 0", f"{self._local(row.family)}_rows")
            self.found["rows", str(row.family.name), 0] = self._say(Name(name), self.whole.stored(row.right),
                                                                    row.labels)

    def _scan(self, stage: Stage, down: bool) -> None:
        self.inside, self.carried, self.given = stage.families, {}, {}
        body: list[Assign] = []
        for row in stage.rows:
            value = self.step.stored(row.right)
            body.append(Assign(self._step_name(row.family, 0), value, row.labels))
        body = self.joined.body(body)
        handed: list[Carried] = []
        for family in dict.fromkeys(f for f, _ in self.carried):
            sign = 1 if down else -1
            most = max(abs(k) for f, k in self.carried if f == family)
            for k in range(1, most + 1):
                start = call("zeros", Dimension(self.plan.batch), Dimension(family.shape[0])) if down else self.at(
                    At(family, Index(1 - k)))
                handed.append(Carried(self._step_name(family, sign * k), start,
                                      self._step_name(family, sign * (k - 1))))
        given = tuple((name, self.stack(family, later)) for (family, later), name in self.given.items())
        made = tuple((Name(self._local(row.family)), self._step_name(row.family, 0)) for row in stage.rows)
        known = {s.target for s in self.body if isinstance(s, Assign)}
        self.body += [s for s in self.joined.stacked.values() if s.target not in known]
        self.body.append(Scan(tuple(handed), given, tuple(body), made, down))
        for row in stage.rows:
            self.found["stack", str(row.family.name), 0] = Name(self._local(row.family))

    def _step_name(self, family: MatrixSymbol, later: int) -> Name:
        local = self._local(family)
        tail = "t" if not later else ("after" if later > 0 else "before") + (f"_{abs(later)}" if abs(later) > 1 else "")
        return Name(self.names.add("step", f"{local} {later}", f"{local}_{tail}"))

    def _in_step(self, member: At) -> Array:
        if not member.time.terms:
            return self.at(member)
        family, later = member.family, offset(member)
        name = self._step_name(family, later)
        if family not in self.inside:
            self.given[family, later] = name
        elif later:
            self.carried[family, later] = name
        return name

    def initial(self, member: At, found: Initial) -> None:
        """The gradient of a value before the first step."""
        values = [substitute(e, {t: member.time}) for e in found.messages]
        whole = swapped(plus([*values, *found.once], like=member), self._before)
        target = Name(self.names.gradient(initial_name(member)))
        self._say(target, self.once.stored(whole), found.labels)

    def _before(self, e: Matrix) -> Matrix | None:
        """What stands in a family that was made, at a time before the first, where it has no step."""
        row = self.made.get(e.family) if isinstance(e, At) else None
        if row is None or e.time.terms or e.time.const > 0:
            return None
        return swapped(substitute(row.right, {t: e.time}), self._before)

    def gradient(self, name: str, listed: list[Term], labels: tuple[str, ...]) -> None:
        """The gradient of a parameter or a static column, summed over the steps."""
        symbol = next(p for p in (*self.model.parameters, *self.model.static) if p.name == name)
        groups: Mapping[Located, list[Matrix]] = {
            self.whole: [x.value for x in listed if x.every_step], self.once: [x.value for x in listed
                                                                             if not x.every_step]}
        parts: list[Array] = []
        for lower, found in groups.items():
            if not found:
                continue
            if name in self.plan.static:
                rows = lower.stored(plus(found))
                parts.append(rows if lower is self.once else call(
                    "sum over steps", rows, Dimension(self.plan.batch), Dimension(symbol.shape[0])))
                continue
            aside = name in self.names.turned
            for span, piece in lower.gradient(plus(found)):
                value = turn(piece) if aside else piece
                among = "put among" if aside or symbol.shape[1] == ONE else "put among rows"
                parts.append(value if span is None else call(among, value, Dimension(span[0]),
                                                             Dimension(symbol.shape[0])))
        nothing = call("zeros like", Name(self.names.own(name)))
        self._say(Name(self.names.gradient(name)), add(parts) if parts else nothing, labels)

    def adjoint(self, name: str) -> Array:
        """The stack of ∂L/∂v_t."""
        symbol = self.plan.systems.adjoints[name]
        key = str(symbol.name)
        if any((kind, key, 0) in self.found for kind in ("stack", "rows")):
            return self.stack(symbol)
        return call("zeros", Dimension("T"), Dimension(self.plan.batch), Dimension(symbol.shape[0]))


def _looks_into(value: Array) -> bool:
    """Whether a value is part of another array, or all of it."""
    return isinstance(value, Name | Slice | Turned) or (
        isinstance(value, Call) and value.function in ("spread", "step or zeros", "only row"))


def _shifted(name: str, later: int) -> str:
    return f"{name}_{'next' if later > 0 else 'back'}_{abs(later)}" if later else name
