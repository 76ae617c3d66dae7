"""The closed form of the hidden gradients as a function: the sum over later times, without the recursion."""

from __future__ import annotations

from collections.abc import Iterator

from symbptt.bptt.closed import ClosedForm
from symbptt.derivation import Line
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Derivative, Matrix, Times
from symbptt.expr.walk import free_indices, substitute, visit
from symbptt.program.array import Array, Dimension, Entry, Member, Name, add, call, matmul, multiply
from symbptt.program.lower import Lowering
from symbptt.program.objective import DIRECT, NOW
from symbptt.program.recurrence import Bodies
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
from symbptt.program.words import UNIT_SHAPE, batched, diagonal


def closed_form(bodies: Bodies) -> Function | None:
    """The function, or None where nothing recurs."""
    form = bodies.derivation.closed
    return _Closed(bodies, form).function() if form is not None else None


class _Closed:
    """One closed form on its way to statements."""

    def __init__(self, bodies: Bodies, form: ClosedForm) -> None:
        self.bodies, self.form, self.names = bodies, form, bodies.names
        self.lower = Lowering(self.names)
        self.letters = bodies.derivation.of_kind("letter")
        self.label = bodies.derivation.label("closed")
        for line in self.letters:
            self.lower.letters[line.name] = self.names.add("letter", line.name, line.name)
            if not isinstance(line.left, At) and batched(line.forms[-1], self.lower.static):
                self.lower.static.add(line.name)
        i = form.bound[0]
        self.i = self.names.add("index", i.name, i.name)
        self.run = self.names.add("local", "run", "run", "run_")
        self.lower.indices[i] = index(IndexVar(self.i))

    def function(self) -> Function:
        """Letters first, then the sum for every t, then the families out of the stacked adjoints."""
        body = (*self._constants(), *self._in_time(), Loop("t", Index(1), index(T), (*self._sum(), *self._selected())))
        carried = self.bodies.interface.returned(
            Output(v.name, call("stack", Name(self.names.adjoint(v.name))), ("T", "B", v.shape[0]))
            for v in self.form.carried)
        used, later = names_in(body), self._later()
        heads: list[Statement] = [*self.bodies.read_used(body, later), *self.bodies.read_direct(used, later)]
        heads += [Read(Name(self.names.adjoint(name)), Entry(DIRECT, name), (), later.get(name, 0))
                  for name in self._terminal()]
        heads += [Steps(Name(name)) for name in self._fresh()]
        return Function((*heads, *body), (carried,))

    def _lines(self) -> Iterator[Line]:
        """The letters that have to be computed: all but the stacked adjoints and what selects from them."""
        spared = {self.form.stacked, *(row for row in self.form.select.values() if row is not None)}
        return (line for line in self.letters if line.left not in spared)

    def _constants(self) -> Iterator[Statement]:
        return (Assign(Name(self.lower.letters[line.name]), self._value(line), (line.label,))
                for line in self._lines() if not isinstance(line.left, At))

    def _in_time(self) -> tuple[Statement, ...]:
        body = tuple(Assign(Member(self.lower.letters[line.name], NOW), self._value(line), (line.label,))
                     for line in self._lines() if isinstance(line.left, At))
        return (Loop("t", Index(1), index(T), body),) if body else ()

    def _value(self, line: Line) -> Array:
        right = line.forms[-1]
        return self.lower.stored(right) if right.shape[1] == 1 else self.lower.matrix(right)

    def _stacked(self) -> str:
        stacked = self.form.stacked
        return (self.names.adjoint(stacked.of.family.name) if isinstance(stacked, Adjoint)
                else self.lower.letters[stacked.family.name])

    def _sum(self) -> tuple[Statement, ...]:
        """G_t = Σ_{i=t}^{T} [Π_{k=t+1}^{i} of the transition] · drive at i."""
        total, i = Member(self._stacked(), NOW), self.form.bound[0]
        start = Assign(total, self.lower.zeros(self.form.stacked.shape[0]))
        var, most = self.lower.time(index(i)), "TRUNCATE" if self.names.options.truncate is not None else ""
        if self.form.constant:
            word = self.lower.rows(self.form.word(NOW, index(i)))
            return start, Loop(self.i, NOW, index(T), (Assign(total, word, (self.label,), augmented=True),), most=most)
        drive = self.lower.rows(substitute(self.form.drive, {t: index(i)}))
        apart = self.form.transition.shape == UNIT_SHAPE or diagonal(self.form.transition)
        step = Branch(((Condition(var, ">", NOW), (Assign(Name(self.run), self._further(apart), (self.label,)),)),))
        word = multiply([Name(self.run), drive]) if apart else call("apply", Name(self.run), drive)
        width = Dimension(self.form.transition.shape[0])
        unit = call("ones", Dimension(self.names.batch), width) if apart else call("identity", width)
        term = Assign(total, add([total, word]), (self.label,))
        return start, Assign(Name(self.run), unit), Loop(self.i, NOW, index(T), (step, term), most=most)

    def _further(self, apart: bool) -> Array:
        """The product with one more transition; entry by entry where it is a number or a diagonal."""
        transition = substitute(self.form.transition, {t: index(self.form.bound[0])})
        if apart:
            return multiply([Name(self.run), self.lower.rows(transition) if transition.shape == UNIT_SHAPE
                             else self.lower.on_diagonal(transition)])
        return matmul(Name(self.run), self.lower.matrix(transition))

    def _selected(self) -> Iterator[Statement]:
        for v in self.form.carried:
            row = self.form.select[v.name]
            if row is not None:
                line = next(a for a in self.letters if a.left == row)
                picked = self.lower.rows(Times(line.forms[-1], self.form.stacked))
                yield Assign(Member(self.names.adjoint(v.name), NOW), picked, (self.label, line.label))

    def _fresh(self) -> Iterator[str]:
        """Every family that the function makes step by step."""
        yield from (self.lower.letters[line.name] for line in self._lines() if isinstance(line.left, At))
        yield self._stacked()
        yield from (self.names.adjoint(v.name) for v in self.form.carried if self.form.select[v.name] is not None)

    def _expressions(self) -> list[Matrix]:
        return [self.form.transition, self.form.drive, *(line.forms[-1] for line in self._lines())]

    def _terminal(self) -> list[str]:
        """The families that only losses read: their direct gradient is all of ∂L/∂v_t."""
        carried = {v.name for v in self.form.carried}
        found = [node.of.family.name for e in self._expressions() for node in visit(e) if isinstance(node, Adjoint)]
        return [name for name in dict.fromkeys(found) if name not in carried]

    def _later(self) -> dict[str, int]:
        """How many steps after T are read of each family; what stands there meets a gradient that is zero."""
        found: dict[str, int] = {}
        for e in self._expressions():
            for node in visit(e):
                member = node.of if isinstance(node, Derivative) else node
                if isinstance(member, At) and t in free_indices(member):
                    name = member.family.name
                    found[name] = max(found.get(name, 0), (member.time - t).const)
        return found


