"""Derivation -> the fast array program: loops for what recurs, one product over all steps for all else."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, MatrixSymbol, S

from symbptt.derivation import Derivation
from symbptt.expr.nodes import Matrix
from symbptt.model.spec import initial_name
from symbptt.program.array import Array, Dimension, Entry, Name, Scalar, call
from symbptt.program.emit import Located
from symbptt.program.interface import Interface
from symbptt.program.objective import GIVEN
from symbptt.program.options import PLAIN, Options
from symbptt.program.plan import Plan
from symbptt.program.segments import computed, with_gradient
from symbptt.program.sizes import axes
from symbptt.program.stacks import Arrays, ends, together
from symbptt.program.stages import Stage
from symbptt.program.statements import Assign, Change, Output, Statement, names_in
from symbptt.program.sums import Sums
from symbptt.program.work import ARRAYS, Work


@dataclass(frozen=True)
class Part:
    """A function of the fast program: what it begins with, its statements, what it returns by name."""

    body: tuple[Statement, ...]
    results: tuple[Output, ...] = ()
    extra: tuple[Statement, ...] = ()
    extra_results: tuple[Output, ...] = ()


@dataclass(frozen=True)
class FastProgram:
    """The functions: arrays with what is known at first, forward, backward, states out of arrays and back.

    `rows` names the number of rows of a stack, T times the batch.
    """

    empty: Part
    forward: Part
    states: tuple[Output, ...]
    stored: Part
    backward: Part
    rows: str


def fast_program(derivation: Derivation, options: Options = PLAIN) -> FastProgram:
    """The fast program of a derivation, as the options ask.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    return _Functions(Plan(derivation, options)).program()


class _Functions:
    """The functions of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.model, self.names = plan, plan.model, plan.names
        self.arrays, self.interface = Arrays(plan), Interface(plan.names)

    def program(self) -> FastProgram:
        """All of them."""
        return FastProgram(self.empty(), self.forward(), self.states(), self.stored(), self.backward(),
                           self.plan.count)

    def empty(self) -> Part:
        """The arrays with the values before the first step and, of data, with those of all steps."""
        arrays = Arrays(self.plan)
        body: list[Statement] = []
        for base in self.plan.kept():
            body += arrays.fresh(base)
        lower = Located(self.names, arrays.step, self.plan.batch)
        for member in self.model.initial:
            if self.plan.lead.get(self.plan.layout.place(member.family).base):
                own = arrays.step(member)
                if member in self.model.given:
                    body.append(Change(own, "", Entry(GIVEN, initial_name(member))))
        for e in self.model.computed:
            label = self.plan.derivation.label("model", initial_name(e.left))
            value = computed(initial_name(e.left), lower.rows(e.right), self.names.options)
            body.append(Change(arrays.step(e.left), "", value, (label,)))
        for v in (*self.model.inputs, *self.model.targets):
            if v in self.plan.kept():
                start = self.plan.lead.get(v, 0)
                body.append(Change(call("steps", Name(arrays.name(v)), *ends(start)), "", Entry(GIVEN, v.name)))
        views = list(arrays.definitions(self.plan.count))
        first = next((k for k, s in enumerate(body) if isinstance(s, Change) and not _is_zero(s)), len(body))
        body[first:first] = views
        results = tuple(Output(arrays.name(b), Name(arrays.name(b)), ()) for b in self.plan.kept())
        return Part(tuple(together("states", body)), results)

    def states(self) -> tuple[Output, ...]:
        """The families of the model out of the arrays."""
        found = ((name, self.model.families[name], Entry(ARRAYS, self._base_name(name))) for name in self.model.defined)
        return self.interface.returned(Output(name, self.arrays.stack(family, body), _stack(family))
                                       for name, family, body in found)

    def _base_name(self, name: str) -> str:
        return self.arrays.name(self.plan.layout.place(self.model.families[name]).base)

    def stored(self) -> Part:
        """The arrays from states that are given, and what was saved made from these."""
        body = [Change(self.arrays.stack(self.model.families[name], Entry(ARRAYS, self._base_name(name))), "",
                       Entry("states", name)) for name in self.model.defined]
        work = Work(self.plan, self.plan.hoisted)
        again = work.stage(Stage(tuple(self.plan.saved.values()), False), down=False)
        return Part((*body, *work.heads(again, set())))

    def forward(self) -> Part:
        """The states, into the arrays."""
        work = Work(self.plan, self.plan.hoisted)
        body = work.stages(self.plan.ahead, down=False)
        return Part(tuple(together("forward", work.heads(body, self._made(self.plan.ahead)))))

    def backward(self) -> Part:
        """Gradients, and behind them the adjoints that they do not need."""
        work = Work(self.plan, self.plan.returned)
        early = [stage for stage in self.plan.back if self._counts(stage)]
        late = [stage for stage in self.plan.back if not self._counts(stage)]
        body = work.stages(early, down=True)
        body += [s for m, i in self.plan.initial.items() for s in work.initial(m, i)]
        body += Sums(work).statements(self.plan.terms)
        extra = work.stages(late, down=True)
        reached = {r.family for stage in self.plan.back for r in stage.rows} | set(self.plan.layout.places)
        grads = self._grads(work, reached)
        adjoints = self.interface.returned(Output(name, self._adjoint(name, work, reached), _stack(e.left))
                                           for name, e in self.model.defined.items())
        own = self._made(self.plan.back)
        first = work.heads(body, own, grads)
        known = {s.target.text for s in first if isinstance(s, Assign) and isinstance(s.target, Name)}
        second = work.heads(extra, own, adjoints, known)
        return Part(tuple(together("backward", first, names_in(grads))), grads, tuple(second), adjoints)

    def _made(self, found: list[Stage]) -> set[MatrixSymbol]:
        """The arrays that a function makes for itself."""
        return {self.plan.layout.place(r.family).base for stage in found for r in stage.rows} - set(self.plan.kept())

    def _counts(self, stage: Stage) -> bool:
        """Whether gradients rest on a stage."""
        places, core = self.plan.layout.places, self.plan.core
        bases = {places[f].base for f in core if f in places}
        return any(r.family in core or (r.family in places and places[r.family].base in bases) for r in stage.rows)

    def _adjoint(self, name: str, work: Work, reached: set[MatrixSymbol]) -> Array:
        symbol = self.plan.systems.adjoints[name]
        if symbol not in reached:
            return call("zeros", Dimension("T"), Dimension(self.plan.batch), Dimension(symbol.shape[0]))
        return self.arrays.stack(symbol, Name(work.arrays.name(self.plan.layout.place(symbol).base)))

    def _grads(self, work: Work, reached: set[MatrixSymbol]) -> tuple[Output, ...]:
        found = [Output(p.name, Name(self.names.gradient(p.name)), axes(p, self.names)) for p in self.model.parameters]
        found += [Output(v.name, self._adjoint(v.name, work, reached), _stack(v)) for v in self.model.inputs]
        found += [Output(v.name, Name(self.names.gradient(v.name)), ()) for v in self.model.static]
        found += [Output(initial_name(m), Name(self.names.gradient(initial_name(m))), ())
                  for m in with_gradient(self.model, self.names.options)]
        return self.interface.returned(found)


def _stack(symbol: Matrix) -> tuple[str | Expr, ...]:
    """The axes of a family's stack."""
    return "T", "B", symbol.shape[0]


def _is_zero(s: Change) -> bool:
    return s.value == Scalar(S.Zero)
