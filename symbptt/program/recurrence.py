"""The functions forward and backward of a program, from the lines of the derivation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from sympy import MatrixSymbol

from symbptt.bptt.backward import Edge
from symbptt.derivation import Derivation, Line
from symbptt.expr.build import plus
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import Adjoint, At, Direct, Matrix
from symbptt.expr.walk import substitute
from symbptt.model.spec import initial_name
from symbptt.program.array import Array, Call, Dimension, Entry, Member, Name, add, call, parts
from symbptt.program.interface import Interface
from symbptt.program.lower import Lowering
from symbptt.program.names import Names
from symbptt.program.objective import DIRECT, GIVEN, NOW, STATES, Sent
from symbptt.program.segments import computed, in_first, sent_later, with_gradient
from symbptt.program.sizes import axes
from symbptt.program.statements import (
    Assign,
    Branch,
    Condition,
    Function,
    Loop,
    Output,
    Read,
    Statement,
    Steps,
    names_in,
)


class _Gathered(NamedTuple):
    """The statements of one gradient: before the loop, in it, behind it."""

    start: Assign | None
    timed: tuple[Statement, ...]
    once: tuple[Statement, ...]


class Bodies:
    """What the three functions share: the derivation, the names and which families losses read."""

    def __init__(self, derivation: Derivation, names: Names) -> None:
        self.derivation, self.names = derivation, names
        self.model = derivation.model
        self.lower, self.interface = Lowering(names), Interface(names)
        self.sent = Sent(derivation)
        self.later = sent_later(derivation, names.options)

    def forward(self) -> Function:
        """The equations, in the order of one step."""
        model, own = self.model, self.names.own
        body = tuple(Assign(Member(own(e.name), NOW), self.lower.stored(e.right),
                            (self.derivation.label("model", e.name),)) for e in model.order)
        fresh = [v for v in model.defined if v not in {m.family.name for m in model.initial}]
        used, back = names_in(body), _read_before(body)
        heads: list[Statement] = [self._read(v.name, own(v.name) in back) for v in (*model.inputs, *model.targets)
                                  if own(v.name) in used]
        heads += self._computed([own(v) for v in model.defined])
        for e in model.equations:
            heads.append(Steps(Name(own(e.name))) if e.name in fresh else
                         Assign(Name(own(e.name)), call("steps from", *self._earlier(e.name))))
        results = (Output(e.name, call("stack", Name(own(e.name))), ("T", "B", e.left.shape[0]))
                   for e in model.equations)
        return Function((*heads, Loop("t", Index(1), index(T), body)), (self.interface.returned(results),))

    def _computed(self, used: Iterable[str]) -> list[Statement]:
        """The values before the first step that equations define, of the families among the used names."""
        return [Assign(Name(self.names.own(key)), computed(key, self.lower.stored(e.right), self.names.options),
                       (self.derivation.label("model", key),))
                for e in self.model.computed for key in (initial_name(e.left),) if self.names.own(e.name) in used]

    def starts(self) -> Function:
        """The values before the first step that equations define, by their keys."""
        keys = [initial_name(e.left) for e in self.model.computed]
        results = tuple(Output(key, Name(self.names.own(key)), ()) for key in keys)
        return Function(tuple(self._computed([*map(self.names.own, self.model.defined)])), (results,))

    def _earlier(self, name: str) -> tuple[Array, ...]:
        return tuple(Entry(GIVEN, initial_name(m)) if m in self.model.given else Name(self.names.own(initial_name(m)))
                     for m in self.model.initial if m.family.name == name)

    def _read(self, name: str, back: bool, later: int = 0) -> Read:
        stack: Array = Entry(STATES if name in self.model.defined else GIVEN, name)
        earlier = self._earlier(name) if back else ()
        if name in {v.name for v in self.model.targets}:
            # Those before the first step too: whole numbers of few bits would overflow in what equations make of them.
            stack, earlier = call("in one dtype", stack), tuple(call("in one dtype", value) for value in earlier)
        return Read(Name(self.names.own(name)), stack, earlier, later)

    def read_used(self, body: object, later: dict[str, int] | None = None) -> list[Statement]:
        """The families that a body reads, from what is given and from the states."""
        used, back, ahead = names_in(body), _read_before(body), later or {}
        return [*self._computed(back), *(self._read(name, self.names.own(name) in back, ahead.get(name, 0))
                                         for name in self.model.families if self.names.own(name) in used)]

    def read_direct(self, used: Iterable[str], later: dict[str, int] | None = None) -> list[Statement]:
        """The direct gradients among the used names."""
        wanted, ahead = frozenset(used), later or {}
        return [Read(Name(self.names.direct(name)), Entry(DIRECT, name), (), ahead.get(name, 0))
                for name in dict.fromkeys((*self.sent.by_family, *self.later)) if self.names.direct(name) in wanted]

    def backward(self) -> Function:
        """The recursion: every adjoint once, downward in time; gradients of parameters summed on the way."""
        model = self.model
        families = [*(e.name for e in reversed(model.order)), *(v.name for v in model.inputs)]
        reached = [name for name in families if any(a.name == name for a in self.derivation.of_kind("adjoint"))]
        gathered = [self._gathered(p) for p in (*model.parameters, *model.static)]
        body = [*map(self._adjoint, reached), *(s for g in gathered for s in g.timed)]
        once = [s for g in gathered for s in g.once]
        needed = names_in(tuple(once))
        initial = [s for m in model.initial if self._wanted(m, needed) for s in self._initial(m)]
        results = tuple(map(self.interface.returned, (self._grads(set(reached)), self._adjoints(set(reached)))))
        whole = (tuple(body), tuple(initial), tuple(once))
        head: list[Statement] = [*self.read_used(whole), *self.read_direct(names_in(whole))]
        head += [Steps(Name(self.names.adjoint(name))) for name in reached]
        head += [g.start for g in gathered if g.start is not None]
        return Function((*head, Loop("t", index(T), Index(1), tuple(body), down=True), *initial, *once), results)

    def _wanted(self, member: At, needed: Iterable[str]) -> bool:
        return (member in with_gradient(self.model, self.names.options)
                or self.names.gradient(initial_name(member)) in needed)

    def _adjoint(self, name: str) -> Statement:
        if self.names.options.checkpoint is not None:
            return self._adjoint_of_segment(name)
        lines = [a for a in self.derivation.of_kind("boundary", "adjoint") if a.name == name]
        steps = [(self._case(line), (self._adjoint_step(name, line),)) for line in lines]
        return steps[0][1][0] if len(steps) == 1 else Branch(tuple(steps))

    def _adjoint_of_segment(self, name: str) -> Statement:
        """The same where later segments may send something: at every step all that comes from steps up to the last."""
        lines = [a for a in self.derivation.of_kind("adjoint", "boundary") if a.name == name]
        whole = next(line for line in lines if line.kind == "adjoint")
        edges = list(dict.fromkeys(e for line in (whole, *lines) for e in line.edges))
        ahead = {e: 0 if e.through is None else (e.through.time - t).const for e in edges}
        cases: list[tuple[Condition | None, tuple[Statement, ...]]] = []
        for left in sorted({0, *ahead.values()}):
            kept = replace(whole, edges=tuple(e for e in edges if ahead[e] <= left))
            upper = min((k for k in ahead.values() if k > left), default=None)
            condition = None if upper is None else Condition(NOW, ">", index(T) - upper)
            cases.append((condition, (self._adjoint_step(name, kept),)))
        return cases[0][1][0] if len(cases) == 1 else Branch(tuple(cases))

    def _case(self, line: Line) -> Condition | None:
        """The times of a line, given that those of the lines before it, which are later, are excluded."""
        if line.kind == "adjoint" or line.lo is None:
            return None
        return Condition(NOW, "==" if line.lo == line.hi else ">=", line.lo)

    def _adjoint_step(self, name: str, line: Line) -> Statement:
        member = At(self.model.families[name], t)
        value = plus(self._values(line.edges, member), like=member)
        return Assign(Member(self.names.adjoint(name), NOW), self.lower.stored(value), (line.label,))

    def _values(self, edges: Iterable[Edge], member: At) -> list[Matrix]:
        """The contributions; what the losses send stands once, as the direct derivative."""
        found: list[Matrix] = []
        for edge in edges:
            value = edge.value if edge.through is not None else Direct(member)
            if edge.through is not None or value not in found:
                found.append(value)
        if member.family.name in self.later and Direct(member) not in found:
            found.append(Direct(member))
        return found

    def _gathered(self, symbol: MatrixSymbol) -> _Gathered:
        """The gradient of a parameter, summed over the samples, or of a static column, a sample a row."""
        line = self.derivation.line("gradient", symbol.name)
        target = Name(self.names.gradient(symbol.name))
        start = Assign(target, call("zeros like", Name(self.names.own(symbol.name))),
                       () if line.edges else (line.label,))
        every_step = [e.through is not None and bool(e.through.time.terms) for e in line.edges]
        timed = [e.value for e, each in zip(line.edges, every_step, strict=True) if each]
        once = [in_first(e.value, self.names.options) for e, each in zip(line.edges, every_step, strict=True)
                if not each]
        added = [list(self._added(target, plus(values), symbol, line.label)) if values else []
                 for values in (timed, once)]
        if not added[0] and len(added[1]) == 1 and added[1][0].target == target:
            value = added[1][0].value
            fresh = call("copy", value) if isinstance(value, Name | Member) else value
            return _Gathered(None, (), (Assign(target, fresh, (line.label,)),))
        return _Gathered(start, *map(tuple, added))

    def _added(self, target: Name, value: Matrix, symbol: MatrixSymbol, label: str) -> Iterator[Assign]:
        if symbol.name in self.names.static:
            yield Assign(target, self.lower.stored(value), (label,), augmented=True)
            return
        for place, part in self.lower.placed_gradient(target, symbol, value):
            yield Assign(place, part, (label,), augmented=True)

    def _initial(self, member: At) -> list[Statement]:
        """∂L/∂v at a time before the first; a consumer after T sends nothing."""
        key = initial_name(member)
        target = Name(self.names.gradient(key))
        line = next((a for a in self.derivation.of_kind("initial") if a.left == Adjoint(member)), None)
        now = {t: member.time}
        groups: dict[int, list[Matrix]] = {}
        for edge in line.edges if line is not None else ():
            if edge.through is not None:
                time, value = substitute(edge.through, now).time.const, substitute(edge.value, now)
                groups.setdefault(time, []).append(value if time > 0 else in_first(value, self.names.options))
        labels = (line.label,) if line is not None else ()
        first = self.lower.stored(plus(groups.pop(1, []), like=member))
        found: list[Statement] = [Assign(target, call("copy", first) if isinstance(first, Member) else first, labels)]
        for time, values in sorted(groups.items()):
            further = Assign(target, add([Name(target.text), self.lower.stored(plus(values))]), labels)
            found.append(Branch(((Condition(index(T), ">=", Index(time)), (further,)),)))
        return found

    def _grads(self, reached: set[str]) -> tuple[Output, ...]:
        found = [Output(p.name, Name(self.names.gradient(p.name)), axes(p, self.names)) for p in self.model.parameters]
        found += [Output(v.name, self._stacked(v.name, v, reached), ("T", "B", v.shape[0]))
                  for v in self.model.inputs]
        found += [Output(v.name, Name(self.names.gradient(v.name)), ("B", v.shape[0])) for v in self.model.static]
        return (*found, *(Output(initial_name(m), Name(self.names.gradient(initial_name(m))),
                                 ("B", m.family.shape[0])) for m in with_gradient(self.model, self.names.options)))

    def _adjoints(self, reached: set[str]) -> tuple[Output, ...]:
        return tuple(Output(name, self._stacked(name, e.left.family, reached), ("T", "B", e.left.shape[0]))
                     for name, e in self.model.defined.items())

    def _stacked(self, name: str, symbol: MatrixSymbol, reached: set[str]) -> Call:
        if name in reached:
            return call("stack", Name(self.names.adjoint(name)))
        return call("zeros", Dimension("T"), Dimension(self.names.batch), Dimension(symbol.shape[0]))


def _read_before(body: object) -> frozenset[str]:
    """The variables of which a body reads a value before the first step; loops start at 1."""
    return frozenset(p.name for p in parts(body) if isinstance(p, Member) and p.time.const < (0 if p.time.terms else 1))
