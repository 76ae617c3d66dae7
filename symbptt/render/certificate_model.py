"""The statement of a certificate: the model over any commutative ring, the recursion and the gradients, as Coq text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sympy import Expr, MatrixSymbol

from symbptt.derivation import Derivation
from symbptt.expr.index import index, t
from symbptt.expr.nodes import ONE, Adjoint, Apply, At, Direct, Loss, Matrix
from symbptt.expr.walk import substitute, visit
from symbptt.model.functions import LOSSES, VECTOR_FUNCTIONS
from symbptt.model.spec import Equation, initial_name
from symbptt.proof.statement import Definition
from symbptt.render.certificate_math import Level, Piece, Printer, Vocabulary, moves, signature
from symbptt.render.certificate_names import EXTENSIONS, offset_tangent, past_tangent, tangent


@dataclass(frozen=True)
class Field:
    """One field of the record of what is given, or of the record of what has gradients."""

    key: str
    """What it is: function, loss, scalar, inverse, family, past, matrix, offset."""
    name: str
    """What it is called in the model."""
    local: str
    """What formulas call it."""
    raw: str
    """The projection of the record."""
    type: str


class Statement:
    """The names and the texts of one derivation."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation, self.model = derivation, derivation.model
        self.names = Vocabulary(self.model)
        self.names.names("loss term", "" if len(self.model.losses) > 1 else "1", wanted="loss")
        for symbol in (*self.model.parameters, *self.model.static, *self.model.families.values()):
            self.names.variable(symbol.name)
        for name in self.model.lags:
            self.names.past(name)
        self.names.used.clear()
        self.print = Printer(self.names)
        self.step_texts = {e.name: Printer(self.names, member=self._in_step)(e.right) for e in self.model.order}
        self.step_uses = self._uses()
        self.start_texts, self.start_uses = {}, dict[str, set[str]]()
        for e in self.model.computed:
            self.start_texts[initial_name(e.left)] = self.print(e.right)
            self.start_uses[e.name] = self.start_uses.get(e.name, set()) | self._uses()
        self.terms = self._terms()
        self.loss_texts, self.term_uses = [], list[set[str]]()
        for term in self.terms:
            self.loss_texts.append(self.print(term))
            self.term_uses.append(self._uses())
        self.loss_uses = set().union(*self.term_uses)
        self.rules = {str(d.left): self._rule(d) for d in derivation.definitions}
        for function, size in self.functions:
            for other in EXTENSIONS[function]:
                self.names.function(other, size)
            if function == "leaky_relu":
                self.names.reciprocal(100)
        for c in self.model.constants:
            if ("inverse", c.name) in self.names.names:
                self.names.scalar(c.name)
        self.names.used |= self.step_uses.union(self.loss_uses, *self.start_uses.values())

    def _uses(self) -> set[str]:
        used = set(self.names.used)
        self.names.used.clear()
        return used

    def _terms(self) -> list[Matrix]:
        """The summands of L, one for each loss."""
        whole = self.derivation.line("objective", "L").forms[-1]
        return list(whole.args) if len(self.model.losses) > 1 else [whole]

    def loss_name(self, number: int) -> str:
        """The name of one summand of L."""
        return self.names.names("loss term", str(number), wanted=f"loss_{number}" if len(self.terms) > 1 else "loss")

    def objective(self) -> list[str]:
        """The definition of L."""
        lines = [f"Definition {self.loss_name(k)} : 'M[R]_1 := {text}." for k, text in enumerate(self.loss_texts, 1)]
        if len(lines) > 1:
            names = " + ".join(self.loss_name(k) for k in range(1, len(lines) + 1))
            lines.append(f"Definition loss : 'M[R]_1 := {names}.")
        return lines

    def _rule(self, d: Definition) -> tuple[str, set[str]]:
        before = set(self.names.used)
        self.names.used.clear()
        text = self.print(d.right)
        used = self._uses()
        self.names.used |= before | used
        return text, used

    # The model.

    def lagged(self, name: str) -> bool:
        """Whether the family is read at a lag, so that its past is kept."""
        return bool(self.model.lags.get(name))

    def _in_step(self, e: At) -> Piece | None:
        name, back = e.family.name, (t - e.time).const
        if name not in self.model.defined:
            return None
        if back == 0:
            return Piece(self.names.variable(name))
        return Piece(f"{self.projection(name)} past {back - 1}", Level.APPLICATION)

    def projection(self, name: str) -> str:
        """The field of the state for a family."""
        return self.names.names("state", name, wanted=f"st_{name}")

    def run(self, name: str) -> str:
        """A family as a function of what is given, the point and the time."""
        return self.names.names("run", name, wanted=f"run_{name}")

    def lag_lemma(self, name: str) -> str:
        """What the state keeps of a family."""
        return self.names.names("lag lemma", name, wanted=f"run_{name}_lag")

    def run_lemma(self, name: str) -> str:
        """The equation of a family."""
        return self.names.names("run lemma", name, wanted=f"run_{name}_eq")

    @cached_property
    def functions(self) -> tuple[tuple[str, Expr | None], ...]:
        """The functions that equations call; those of columns with their size."""
        trees = [*(e.right for e in (*self.model.equations, *self.model.computed)), *self._losses()]
        found = [n for tree in trees for n in visit(tree) if type(n) is Apply]
        return tuple(dict.fromkeys((str(n.args[0]), n.args[1].shape[0] if str(n.args[0]) in VECTOR_FUNCTIONS else None)
                                   for n in found))

    def _losses(self) -> Iterator[Matrix]:
        for term in self.model.losses:
            yield LOSSES[term.loss.name].definition(*term.loss.args[1:]) if not term.opaque else term.loss

    @cached_property
    def called(self) -> list[tuple[str, Expr | None]]:
        """All functions that the certificate names, those of slopes too; those of columns with their size."""
        wanted = [*self.functions, *((other, size) for name, size in self.functions for other in EXTENSIONS[name])]
        for line in self.derivation.definitions:
            for n in visit(line.right):
                if type(n) is Apply:
                    name = str(n.args[0])
                    wanted.append((name, n.args[1].shape[0] if name in VECTOR_FUNCTIONS else None))
        return list(dict.fromkeys(wanted))

    @cached_property
    def opaque(self) -> tuple[Loss, ...]:
        """One loss node for each opaque loss."""
        return tuple({signature(term.loss): term.loss for term in self.model.losses if term.opaque}.values())

    def _field(self, key: str, name: str, local: str, prefix: str, type_: str) -> Field:
        return Field(key, name, local, self.names.names("field", key, name, local, wanted=f"{prefix}_{name}"), type_)

    @cached_property
    def given(self) -> tuple[Field, ...]:
        """What has no gradient: functions, losses, constants, targets."""
        names, found = self.names, list[Field]()
        for name, size in self.functions:
            type_ = "R -> R" if size is None else f"{names.matrix(size, ONE)} -> {names.matrix(size, ONE)}"
            found.append(self._field("function", name, names.function(name, size), "fn", type_))
        for loss in self.opaque:
            arguments = " -> ".join(names.matrix(*a.shape) for a in loss.args[1:])
            found.append(self._field("loss", loss.name, names.loss(loss), "fn", f"{arguments} -> R"))
        scalars = {c.name for c in self.model.constants}
        for name in sorted(scalars, key=[c.name for c in self.model.constants].index):
            if ("scalar", name) in names.names:
                found.append(self._field("scalar", name, names.scalar(name), "num", "R"))
        for name in ("T", *(str(c.name) for c in self.model.counts.values()), *(c.name for c in self.model.constants)):
            if ("inverse", name) in names.names:
                local = names.inverse(name)
                found.append(self._field("inverse", name, local, "over", "R"))
        if names.common > 1:
            local = names.reciprocal(names.common)
            found.append(self._field("reciprocal", str(names.common), local, "over", "R"))
        for v in self.model.targets:
            kind = f"nat -> {names.matrix(*v.shape)}"
            found.append(self._field("family", v.name, names.variable(v.name), "tg", kind))
            if self.model.lags.get(v.name, 0) > 1:
                found.append(self._field("past", v.name, names.past(v.name), "tgpast", kind))
        return tuple(found)

    @cached_property
    def point(self) -> tuple[Field, ...]:
        """What has gradients: parameters, static data, inputs, values before the first step."""
        names, found = self.names, list[Field]()
        for v in (*self.model.parameters, *self.model.static):
            found.append(self._field("matrix", v.name, names.variable(v.name), "pt", names.matrix(*v.shape)))
        for v in self.model.inputs:
            kind = f"nat -> {names.matrix(*v.shape)}"
            found.append(self._field("family", v.name, names.variable(v.name), "pt", kind))
        for name, lag in self.model.lags.items():
            v = self.model.families[name]
            free = any(m.family == v for m in self.model.given)
            if v not in self.model.targets and (lag > 1 if v in self.model.inputs else free):
                found.append(self._field("past", name, names.past(name), "ptpast", f"nat -> {names.matrix(*v.shape)}"))
        for name, equation in self.model.defined.items():
            kind = f"nat -> {names.matrix(*equation.left.shape)}"
            found.append(self._field("offset", name, self.offset(name), "of", kind))
        return tuple(found)

    def offset(self, name: str) -> str:
        """What formulas call that which is added to a family at each step."""
        return self.names.names("offset", name, wanted=f"off_{name}")

    def computed(self, name: str) -> list[Equation]:
        """The equations of the values of a family before the first step."""
        return sorted((e for e in self.model.computed if e.name == name), key=lambda e: -e.left.time.const)

    # What definitions depend on.

    def arguments(self, used: Iterable[str]) -> list[str]:
        """The variables among env and pt that a text with these names depends on."""
        names = set(used)
        families = {self.names.variable(n) for n in self.model.defined}
        if names & families:
            names |= self.step_uses | {self.names.past(n) for n in self.model.defined if self.lagged(n)}
            names |= {self.offset(n) for n in self.model.defined}
        names = names.union(*(used for n, used in self.start_uses.items() if self.names.past(n) in names))
        reciprocals = {self.names.names("reciprocal", str(q), wanted="") for q in self.names.denominators}
        env = {f.local for f in self.given} | reciprocals
        return ["env"] * bool(names & env) + ["pt"] * bool(names & {f.local for f in self.point})

    @cached_property
    def run_arguments(self) -> str:
        """What every family depends on."""
        return " ".join(self.arguments([self.names.variable(n) for n in self.model.defined]))

    @cached_property
    def start_arguments(self) -> dict[str, str]:
        """What the past of a family with computed values depends on."""
        return {n: " ".join(self.arguments([self.names.past(n)])) for n in self.model.defined if self.computed(n)}

    @cached_property
    def loss_arguments(self) -> list[str]:
        """What each summand of L depends on."""
        return [" ".join(self.arguments(used)) for used in self.term_uses]

    @cached_property
    def objective_arguments(self) -> str:
        """What L depends on."""
        return " ".join(self.arguments(self.loss_uses))

    # Blocks of text.

    def notations(self, families: bool = True, functions: bool = True) -> list[str]:
        """Local notations by which formulas read as in the model, with or without families and functions."""
        lines = [f"Local Notation {f.local} := ({f.raw} {record})."
                 for record, fields in (("env", self.given), ("pt", self.point)) for f in fields
                 if not (f.key == "past" and self.computed(f.name)) and (functions or f.key != "function")]
        common = self.names.common
        inverse = {f.local for f in self.given}
        for q in sorted(self.names.denominators - {common}):
            local = self.names.reciprocal(q)
            if local not in inverse:
                lines.append(f"Local Notation {local} := ({common // q}%:R * {self.names.reciprocal(common)}).")
        if families:
            lines += self.start_notations() + self.family_notations()
        return lines

    def start_name(self, name: str) -> str:
        """The past of a family with computed values."""
        return self.names.names("start", name, wanted=f"past_{name}")

    def start_notations(self) -> list[str]:
        """Notations for the pasts that have equations."""
        return [f"Local Notation {self.names.past(n)} := ({self.start_name(n)} {a})."
                for n, a in self.start_arguments.items()]

    def family_notations(self) -> list[str]:
        """Notations for the families."""
        return [f"Local Notation {self.names.variable(n)} := ({self.run(n)} {self.run_arguments})."
                for n in self.model.defined]

    def records(self) -> list[tuple[str, str, list[str]]]:
        """(name, constructor, fields) of the records."""
        state = [f"{self.projection(n)} : {'nat -> ' * self.lagged(n)}{self.names.matrix(*v.left.shape)}"
                 for n, v in self.model.defined.items()]
        return [("given", "Given", [f"{f.raw} : {f.type}" for f in self.given]),
                ("point", "Point", [f"{f.raw} : {f.type}" for f in self.point]), ("state", "State", state)]

    def starts(self) -> list[str]:
        """Definitions of the pasts that have equations."""
        lines = []
        for name in self.start_arguments:
            v = self.model.families[name]
            free = next((f.raw for f in self.point if f.key == "past" and f.name == name), None)
            cases = [f"  | {-e.left.time.const} => {self.start_texts[initial_name(e.left)]}"
                     for e in self.computed(name)]
            rest = "0" if free is None else f"{free} pt k"
            lines.append("\n".join([f"Definition {self.start_name(name)} (k : nat) : {self.names.matrix(*v.shape)} :=",
                                    "  match k with", *cases, f"  | _ => {rest}", "  end."]))
        return lines

    def step(self) -> list[str]:
        """The step as a chain of equations, in an order in which each uses earlier ones."""
        lines = [f"  let {self.names.variable(e.name)} := {self.step_texts[e.name]} + {self.offset(e.name)} t in"
                 for e in self.model.order]
        values = [f"(push {self.names.variable(n)} ({self.projection(n)} past))" if self.lagged(n)
                  else self.names.variable(n) for n in self.model.defined]
        return [*lines, f"  State {' '.join(values)}."]

    def start(self) -> str:
        """The state before the first step."""
        return " ".join(self.names.past(n) if self.lagged(n) else "0" for n in self.model.defined)

    def successor(self, e: Matrix) -> str:
        """The text at time t + 1, for every t ≥ 0."""
        return Printer(self.names, since=0)(substitute(e, {t: index(t) + 1}))

    def equations(self) -> list[tuple[str, str, str]]:
        """(lemma, left, right) of every equation, at time t + 1."""
        return [(self.run_lemma(e.name), f"{self.names.variable(e.name)} t.+1",
                 f"{self.successor(e.right)} + {self.offset(e.name)} t.+1") for e in self.model.order]

    # The backward side.

    @cached_property
    def slopes(self) -> list[tuple[str, str]]:
        """(name, type) of what the backward side has beside the given: slopes and gradients of opaque losses."""
        names, found = self.names, list[tuple[str, str]]()
        known = {f.local for f in self.given}
        for name, size in self.called:
            local = names.function(name, size)
            if local not in known:
                column = "R" if size is None else names.matrix(size, ONE)
                found.append((local, f"{column} -> {column}"))
        for loss in self.opaque:
            arguments = [names.matrix(*a.shape) for a in loss.args[1:]]
            for place, a in enumerate(loss.args[1:]):
                if moves(self.model, a):
                    local = names.loss_gradient(loss, place)
                    found.append((local, " -> ".join([*arguments, arguments[place]])))
        return found

    def defined(self, kind: type[Matrix], members: bool) -> list[Definition]:
        """The definitions whose left side is of a class, of members of families with an equation or not."""
        return [d for d in self.derivation.definitions if type(d.left) is kind and (d.lo is not None) == members]

    @cached_property
    def unknowns(self) -> list[Definition]:
        """The recursions: ∂⁺L/∂v_t and ∂L/∂v_t of every family with an equation."""
        found = [*self.defined(Direct, True), *self.defined(Adjoint, True)]
        return [d for d in found if d.left.of.family.name in self.model.defined]

    def unknown(self, d: Definition) -> str:
        """The name of the unknown family."""
        family = self.names.direct if type(d.left) is Direct else self.names.adjoint
        return family(d.left.of.family.name)

    @cached_property
    def sums(self) -> list[Definition]:
        """The gradients of initial states, inputs, parameters and static data, in an order in which each is known."""
        inputs = {v.name for v in self.model.inputs}
        return [*self.defined(Adjoint, False),
                *(d for d in self.defined(Adjoint, True) if d.left.of.family.name in inputs)]

    def gradient_name(self, d: Definition) -> str:
        """What the gradient is called."""
        of = d.left.of
        if isinstance(of, MatrixSymbol):
            return self.names.gradient(of.name)
        return self.names.gradient(of.family.name if of.time.terms else initial_name(of))

    def depends(self, used: set[str]) -> list[str]:
        """The variables of the backward side on which a text with these names depends, in the order of declaration."""
        names = set(used)
        for d in self.sums:
            if self.gradient_name(d) in names:
                names |= self.rules[str(d.left)][1]
        later = [*(name for name, _ in self.slopes), *map(self.unknown, self.unknowns)]
        return [*self.arguments(names), *(name for name in later if name in names)]

    @cached_property
    def applied_recursion(self) -> str:
        """The recursion outside its section."""
        used = {name for d in self.unknowns for name in (self.unknown(d), *self.rules[str(d.left)][1])}
        return f"(recursion {' '.join(self.depends(used))})"

    def applied_gradient(self, d: Definition) -> str:
        """A gradient outside its section."""
        return f"({' '.join([self.gradient_name(d), *self.depends(self.rules[str(d.left)][1])])})"

    def gradients(self) -> list[tuple[str, str, str, str]]:
        """(name, arguments, type, formula) of every gradient."""
        return [(self.gradient_name(d), " (t : nat)" * (d.lo is not None), self.names.matrix(*d.left.shape),
                 self.rules[str(d.left)][0]) for d in self.sums]

    def given_tangent(self, member: At) -> str:
        """The direction of a given value before the first step."""
        name, back = member.family.name, -member.time.const
        if member.family in self.model.inputs and not back:
            return f"{tangent(self.names.names, name)} 0"
        raw = next(f.raw for f in self.point if f.key == "past" and f.name == name)
        return f"{raw} dir {back}" if self.computed(name) else f"{past_tangent(self.names.names, name)} {back}"

    def direction_notations(self) -> list[str]:
        """The direction, by the names of what it changes."""
        names, called = self.names.names, {"past": past_tangent, "offset": offset_tangent}
        return [f"Local Notation {called.get(f.key, tangent)(names, f.name)} := ({f.raw} dir)."
                for f in self.point if not (f.key == "past" and self.computed(f.name))]
