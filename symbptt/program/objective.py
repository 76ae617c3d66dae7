"""The function that evaluates the losses: what each step and sample adds to L, and what the losses send.

Families stand as whole stacks there, so that an expression of one step is an expression of all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Expr, Integer

from symbptt.bptt.backward import weight_of
from symbptt.derivation import Derivation, Kind
from symbptt.expr.build import children, rebuild, times
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import At, Delta, Direct, Loss, LossGradient, Matrix, Plus, Times
from symbptt.model.functions import LOSSES
from symbptt.model.spec import LossTerm, initial_name
from symbptt.program.array import Array, Entry, Name, Text, Time, add, call, multiply, scaled
from symbptt.program.lower import Lowering
from symbptt.program.names import Names
from symbptt.program.segments import ONCE, STEPS
from symbptt.program.statements import Assign, Function, LossCall, OpaqueLoss, Output, Require, Statement

GIVEN, STATES, DIRECT, COUNTS = "given", "states", "direct", "counts"
NOW = index(t)


class Sent:
    """What the losses send to each family that they read, by name: labels, then (value, whether at t = T alone)."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation
        self.by_family: dict[str, tuple[tuple[str, ...], list[tuple[Matrix, bool]]]] = {}
        for line in derivation.of_kind("direct", "boundary", "adjoint"):
            values = [(e.value, e.last) for e in line.edges if e.through is None and type(e.value) is not Direct]
            if values and line.name not in self.by_family:
                self.by_family[line.name] = self._assumed(line.name) or (self._labels(line.name, line.kind), values)

    def _labels(self, name: str, kind: Kind) -> tuple[str, ...]:
        kinds: tuple[Kind, ...] = ("direct",) if kind == "direct" else ("boundary", "adjoint")
        return tuple(line.label for line in self.derivation.of_kind(*kinds) if line.name == name)

    def _assumed(self, name: str) -> tuple[tuple[str, ...], list[tuple[Matrix, bool]]] | None:
        """The same under an assumption about a target, if the model makes one."""
        lines = [line for line in self.derivation.of_kind("assumed") if line.name == name]
        if not lines:
            return None
        whole = lines[0].forms[-1]
        return (lines[0].label,), [_at_end(a) for a in (whole.args if type(whole) is Plus else (whole,))]


def _at_end(e: Matrix) -> tuple[Matrix, bool]:
    """The expression without a factor [t = T], and whether there was one."""
    if type(e) is Times and any(type(a) is Delta for a in e.args):
        return times(*(a for a in e.args if type(a) is not Delta)), True
    found = [_at_end(a) for a in children(e)]
    if not any(last for _, last in found) or type(e) is Plus:
        return e, False
    return rebuild(e, tuple(a for a, _ in found)), True


class _OfSegment(Lowering):
    """The lowering of a segment, in which T is the number of steps of the whole sequence."""

    def number(self, c: Expr) -> Expr:
        """A scalar with the constants under their local names."""
        return super().number(c.xreplace({T: STEPS}))


class Objective:
    """The losses of a model on their way to statements."""

    def __init__(self, derivation: Derivation, names: Names, sent: Sent) -> None:
        self.derivation, self.model, self.names, self.sent = derivation, derivation.model, names, sent
        self.targets = {v.name for v in self.model.targets}
        self.parted = names.options.checkpoint is not None
        self.lower = _OfSegment(names) if self.parted else Lowering(names)
        self.values: dict[Loss, Array] = {}

    def opaque(self) -> tuple[OpaqueLoss, ...]:
        """The opaque losses, each once."""
        found: dict[str, OpaqueLoss] = {}
        for term in self.model.losses:
            if term.opaque:
                arguments = tuple(str(a.family.name) for a in term.loss.args[1:])
                found.setdefault(term.loss.name, OpaqueLoss(term.loss.name, arguments, self._carrying(term.loss)))
        return tuple(found.values())

    def function(self) -> Function:
        """Stacks, counts of masks, values of the losses, L, and the direct gradients."""
        body = [*self._stacks(), *self._counts(), *self._required()]
        for loss in dict.fromkeys(term.loss for term in self.model.losses):
            opaque = loss.name not in LOSSES
            body.append(self._called(loss) if opaque else self._defined(loss))
        body += self._total()
        body += [Assign(Entry(DIRECT, name), self._direct(values), labels)
                 for name, (labels, values) in self.sent.by_family.items()]
        return Function(tuple(body), ())

    def _direct(self, values: list[tuple[Matrix, bool]]) -> Array:
        return add([self._at_last(self.lower.rows(e)) if last else self.lower.rows(e) for e, last in values])

    def _at_last(self, value: Array) -> Array:
        return call("at end", value, Name("ends")) if self.parted else call("at last", value)

    def _carrying(self, loss: Loss) -> tuple[int, ...]:
        return tuple(k for k, a in enumerate(loss.args[1:]) if a.family.name not in self.targets)

    def _stacks(self) -> Iterator[Statement]:
        """The families that the module's own formulas read, as stacks in one dtype."""
        read = [At(term.mask, t) for term in self.model.losses if term.mask is not None]
        read += [a for term in self.model.losses if not term.opaque for a in term.loss.args[1:] if type(a) is At]
        read += [a for _, values in self.sent.by_family.values() for e, _ in values for a in _members(e)]
        for member in dict.fromkeys(read):
            name, back = member.family.name, (NOW - member.time).const
            own = self.names.own(name)
            local = self.names.add("stack", f"{name} {back}", f"{own}_{back}_back") if back else own
            self.lower.known[member] = local
            stack = self._stack(member)
            yield Assign(Name(local), call("in one dtype", stack) if name in self.targets else stack)

    def _stack(self, member: At) -> Array:
        """A family at t, or some steps earlier, for all t at once."""
        name, back = member.family.name, (NOW - member.time).const
        stack = Entry(STATES if name in self.model.defined else GIVEN, name)
        if not back:
            return stack
        earlier = [Entry(GIVEN, initial_name(m)) for m in self.model.given if m.family.name == name]
        return call("stack back", Time(Index(back)), stack, *earlier)

    def _counts(self) -> Iterator[Statement]:
        """Σ_t m_t of each sample."""
        for name, count in self.model.counts.items():
            local = Name(self.names.own(str(count.name)))
            mask = Name(self.lower.known[At(self.model.families[name], t)])
            counted = Entry(COUNTS, name) if self.parted else call("count", Text(str(name)), mask)
            yield Assign(local, counted, (self.derivation.label("count", name),))

    def counts(self) -> Function:
        """Σ_t m_t of each sample, by the name of the mask, over all steps."""
        results = tuple(Output(name, call("count", Text(name), call("in one dtype", Entry(GIVEN, name))), ("B", "1"))
                        for name in map(str, self.model.counts))
        return Function((), (results,))

    def _required(self) -> Iterator[Statement]:
        """What the model assumes of its targets, where they count."""
        for term in self.model.losses:
            for target in term.assume:
                for a in term.loss.args[1:]:
                    if a.family == target:
                        mask = None if term.mask is None else Name(self.lower.known[At(term.mask, t)])
                        yield Require(str(target.name), Name(self.lower.known[a]), mask, term.reduce == "last",
                                      self.parted)

    def _called(self, loss: Loss) -> LossCall:
        values, count, tail = self._named(loss)
        listed = []
        for k in self._carrying(loss):
            label = f"d{loss.name}_d{loss.args[1 + k].family.name}{tail}"
            local = self.names.add("loss gradient", f"{loss.name} {count} {k}", label)
            self.lower.known[LossGradient(loss, Integer(k))] = local
            listed.append(Name(local))
        arguments = tuple(self._stack(a) for a in loss.args[1:])
        mask = self.names.options.mask
        kept = None if mask is None else Name(self.lower.known[At(self.model.families[mask], t)])
        return LossCall(values, tuple(listed), loss.name, arguments, self._carrying(loss), kept)

    def _named(self, loss: Loss) -> tuple[Name, int, str]:
        count = sum(other.name == loss.name for other in self.values)
        tail = f"_{count + 1}" if count else ""
        values = Name(self.names.add("values", f"{loss.name} {count}", f"{loss.name}_values{tail}"))
        self.values[loss] = values
        return values, count, tail

    def _defined(self, loss: Loss) -> Assign:
        """A loss with a name, by its definition."""
        line = next(a for a in self.derivation.of_kind("loss") if a.left == loss)
        values, _, _ = self._named(loss)
        return Assign(values, self.lower.rows(line.forms[-1]), (line.label,))

    def _total(self) -> Iterator[Statement]:
        """What adds up to L: the steps of every sample, and behind them the regularisers, each once."""
        label, total = self.derivation.label("objective", "L"), Name("values")
        timed = [self._weighted(term) for term in self.model.losses if term.reduce != "once"]
        yield Assign(total, add(timed), (label,))
        for term in self.model.losses:
            if term.reduce == "once":
                value = self._weighted(term)
                if self.parted:
                    value = scaled(self.lower.number(ONCE), value)
                yield Assign(total, call("and", total, value), (label,))

    def _weighted(self, term: LossTerm) -> Array:
        value = self.values[term.loss]
        if term.mask is not None:
            value = multiply([Name(self.lower.known[At(term.mask, t)]), value])
        if term.reduce == "last":
            value = self._at_last(value)
        return scaled(self.lower.number(weight_of(term, T, self.model.counts)), value)


def _members(e: Matrix) -> list[At]:
    """The family members that stand in a value by themselves, and not as what a loss is differentiated by."""
    if type(e) is LossGradient:
        return []
    if type(e) is At:
        return [e]
    return [a for part in children(e) for a in _members(part)]
