"""The functions forward, objective and backward of a program, from the lines of the derivation."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Integer, MatrixSymbol

from symbptt.bptt.backward import Edge, weight_of
from symbptt.derivation import Derivation, Line
from symbptt.expr.build import plus
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import Adjoint, At, Direct, Loss, LossGradient, Matrix
from symbptt.expr.walk import substitute
from symbptt.model.spec import initial_name
from symbptt.program.array import Array, Call, Dimension, Entry, Member, Name, Time, add, call, scaled
from symbptt.program.lower import Lowering
from symbptt.program.names import Names
from symbptt.program.sizes import axes
from symbptt.program.statements import (
    Assign,
    Branch,
    Condition,
    Function,
    Loop,
    LossCall,
    OpaqueLoss,
    Output,
    Read,
    Statement,
    Steps,
    names_in,
)

GIVEN, STATES, DIRECT = "given", "states", "direct"
NOW = index(t)


class Bodies:
    """What the three functions share: the derivation, the names and which families losses read."""

    def __init__(self, derivation: Derivation, names: Names) -> None:
        self.derivation, self.names = derivation, names
        self.model = derivation.model
        self.lower = Lowering(names)
        self.direct = self._sent()

    def _sent(self) -> dict[str, tuple[str, Matrix]]:
        """For every family that a loss reads, the label of a line and what the losses send to it at t."""
        found: dict[str, tuple[str, Matrix]] = {}
        for line in self.derivation.of_kind("direct", "boundary", "adjoint"):
            sent = [e.value for e in line.edges if e.through is None and type(e.value) is not Direct]
            if sent and line.name not in found:
                found[line.name] = (line.label, plus(sent))
        return found

    def forward(self) -> Function:
        """The equations, in the order of one step."""
        model, own = self.model, self.names.own
        body = tuple(Assign(Member(own(e.name), NOW), self.lower.stored(e.right),
                            (self.derivation.label("model", e.name),)) for e in model.order)
        fresh = [v for v in model.defined if v not in {m.family.name for m in model.initial}]
        used = names_in(body)
        heads: list[Statement] = [self._read(v.name) for v in (*model.inputs, *model.targets) if own(v.name) in used]
        for e in model.equations:
            heads.append(Steps(Name(own(e.name))) if e.name in fresh else
                         Assign(Name(own(e.name)), call("steps from", *self._earlier(e.name))))
        results = tuple(Output(e.name, call("stack", Name(own(e.name))), ("T", "B", e.left.shape[0]))
                        for e in model.equations)
        return Function((*heads, Loop("t", Index(1), index(T), body)), (results,))

    def _earlier(self, name: str) -> tuple[Array, ...]:
        return tuple(Entry(GIVEN, initial_name(m)) for m in self.model.initial if m.family.name == name)

    def _read(self, name: str, later: int = 0) -> Read:
        stack: Array = Entry(STATES if name in self.model.defined else GIVEN, name)
        if name in {v.name for v in self.model.targets}:
            stack = call("in one dtype", stack)
        return Read(Name(self.names.own(name)), stack, self._earlier(name), later)

    def read_used(self, used: Iterable[str], later: dict[str, int] | None = None) -> list[Statement]:
        """The families among the used names, from what is given and from the states."""
        wanted, ahead = frozenset(used), later or {}
        return [self._read(name, ahead.get(name, 0)) for name in self.model.families if self.names.own(name) in wanted]

    def read_direct(self, used: Iterable[str], later: dict[str, int] | None = None) -> list[Statement]:
        """The direct gradients among the used names."""
        wanted, ahead = frozenset(used), later or {}
        return [Read(Name(self.names.direct(name)), Entry(DIRECT, name), (), ahead.get(name, 0))
                for name in self.direct if self.names.direct(name) in wanted]

    def losses(self) -> tuple[OpaqueLoss, ...]:
        """The opaque losses, each once."""
        found: dict[str, OpaqueLoss] = {}
        for term in self.model.losses:
            arguments = tuple(str(a.family.name) for a in term.loss.args[1:])
            found.setdefault(term.loss.name, OpaqueLoss(term.loss.name, arguments, self._carrying(term.loss)))
        return tuple(found.values())

    def _carrying(self, loss: Loss) -> tuple[int, ...]:
        targets = {v.name for v in self.model.targets}
        return tuple(k for k, a in enumerate(loss.args[1:]) if a.family.name not in targets)

    def objective(self) -> Function:
        """The losses of every step and sample, and what they send to the families that they read."""
        called: dict[Loss, str] = {}
        gradients: dict[Matrix, str] = {}
        body: list[Statement] = []
        for loss in dict.fromkeys(term.loss for term in self.model.losses):
            call_, found = self._loss_call(loss, len(called))
            called[loss] = call_.values.text
            gradients |= found
            body.append(call_)
        lower = Lowering(self.names, gradients)
        label = self.derivation.label("objective", "L")
        terms = [scaled(lower.number(weight_of(term, T)), Name(called[term.loss])) for term in self.model.losses]
        delayed = self.read_used(names_in(tuple(body)))
        total = Assign(Name("values"), add(terms), (label,))
        sent = tuple(Assign(Entry(DIRECT, name), lower.rows(value), (line,))
                     for name, (line, value) in self.direct.items())
        return Function((*delayed, *body, total, *sent), ())

    def _loss_call(self, loss: Loss, count: int) -> tuple[LossCall, dict[Matrix, str]]:
        tail = f"_{count + 1}" if count else ""
        values = Name(self.names.add("values", str(count), f"{loss.name}_values{tail}"))
        gradients: dict[Matrix, str] = {}
        listed = []
        for k in self._carrying(loss):
            label = f"d{loss.name}_d{loss.args[1 + k].family.name}{tail}"
            local = self.names.add("loss gradient", f"{count} {k}", label)
            gradients[LossGradient(loss, Integer(k))] = local
            listed.append(Name(local))
        arguments = tuple(self._argument(a) for a in loss.args[1:])
        return LossCall(values, tuple(listed), loss.name, arguments, self._carrying(loss)), gradients

    def _argument(self, member: At) -> Array:
        name = member.family.name
        if member.time == NOW:
            return Entry(STATES if name in self.model.defined else GIVEN, name)
        return call("stack back", Name(self.names.own(name)), Time(NOW - member.time))

    def backward(self) -> Function:
        """The recursion: every adjoint once, downward in time; gradients of parameters summed on the way."""
        lines = self.derivation.lines
        families = [*(e.name for e in reversed(self.model.order)), *(v.name for v in self.model.inputs)]
        reached = [name for name in families if any(a.kind == "adjoint" and a.name == name for a in lines)]
        body: list[Statement] = [self._adjoint(name) for name in reached]
        parameters = [self._parameter(p) for p in self.model.parameters]
        body += [step for _, step in parameters if step is not None]
        initial = [s for m in self._with_gradient() for s in self._initial(m)]
        results = (self._grads(set(reached)), self._adjoints(set(reached)))
        used = names_in((tuple(body), tuple(initial)))
        head: list[Statement] = [*self.read_used(used), *self.read_direct(used)]
        head += [Steps(Name(self.names.adjoint(name))) for name in reached]
        head += [zero for zero, _ in parameters]
        return Function((*head, Loop("t", index(T), Index(1), tuple(body), down=True), *initial), results)

    def _with_gradient(self) -> list[At]:
        targets = {v.name for v in self.model.targets}
        return [m for m in self.model.initial if m.family.name not in targets]

    def _adjoint(self, name: str) -> Statement:
        lines = [a for a in self.derivation.of_kind("boundary", "adjoint") if a.name == name]
        steps = [(self._case(line), (self._adjoint_step(name, line),)) for line in lines]
        return steps[0][1][0] if len(steps) == 1 else Branch(tuple(steps))

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
        return found

    def _parameter(self, symbol: MatrixSymbol) -> tuple[Statement, Statement | None]:
        line = self.derivation.line("gradient", symbol.name)
        target = Name(self.names.gradient(symbol.name))
        labels = () if line.edges else (line.label,)
        start = Assign(target, call("zeros like", Name(self.names.own(symbol.name))), labels)
        if not line.edges:
            return start, None
        value = plus([e.value for e in line.edges])
        return start, Assign(target, self.lower.summed(value, symbol), (line.label,), augmented=True)

    def _initial(self, member: At) -> list[Statement]:
        """∂L/∂v at a time before the first; a consumer after T sends nothing."""
        key = initial_name(member)
        target = Name(self.names.gradient(key))
        line = next((a for a in self.derivation.of_kind("initial") if a.left == Adjoint(member)), None)
        now = {t: member.time}
        groups: dict[int, list[Matrix]] = {}
        for edge in line.edges if line is not None else ():
            if edge.through is not None:
                groups.setdefault(substitute(edge.through, now).time.const, []).append(substitute(edge.value, now))
        labels = (line.label,) if line is not None else ()
        first = self.lower.stored(plus(groups.pop(1, []), like=member))
        found: list[Statement] = [Assign(target, call("copy", first) if isinstance(first, Member) else first, labels)]
        for time, values in sorted(groups.items()):
            further = Assign(target, add([Name(target.text), self.lower.stored(plus(values))]), labels)
            found.append(Branch(((Condition(index(T), ">=", Index(time)), (further,)),)))
        return found

    def _grads(self, reached: set[str]) -> tuple[Output, ...]:
        found = [Output(p.name, Name(self.names.gradient(p.name)), axes(p)) for p in self.model.parameters]
        found += [Output(v.name, self._stacked(v.name, v, reached), ("T", "B", v.shape[0]))
                  for v in self.model.inputs]
        return (*found, *(Output(initial_name(m), Name(self.names.gradient(initial_name(m))),
                                 ("B", m.family.shape[0])) for m in self._with_gradient()))

    def _adjoints(self, reached: set[str]) -> tuple[Output, ...]:
        return tuple(Output(name, self._stacked(name, e.left.family, reached), ("T", "B", e.left.shape[0]))
                     for name, e in self.model.defined.items())

    def _stacked(self, name: str, symbol: MatrixSymbol, reached: set[str]) -> Call:
        if name in reached:
            return call("stack", Name(self.names.adjoint(name)))
        return call("zeros", Dimension("T"), Dimension(self.names.batch), Dimension(symbol.shape[0]))

