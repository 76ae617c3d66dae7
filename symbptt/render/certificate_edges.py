"""What the proof of a certificate rests on: one scalar for each way in which an equation reads a variable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sympy import MatrixSymbol

from symbptt.bptt.backward import NEVER, Template, contributions, loss_edges, template, weight_of
from symbptt.expr.build import times
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import Adjoint, At, Delta, Matrix
from symbptt.expr.walk import substitute, visit
from symbptt.model.spec import Equation, LossTerm, initial_name
from symbptt.render.certificate_math import Printer, Vocabulary
from symbptt.render.certificate_model import Statement
from symbptt.render.certificate_names import offset_tangent, past_tangent, tangent


@dataclass(frozen=True)
class Read:
    """The equation of `through` reads `leaf`: what it sends is `value`, with ∂L/∂(left side) in it."""

    name: str
    through: At
    leaf: Matrix
    value: Matrix

    @property
    def lag(self) -> int:
        """How many steps back a family member is read."""
        return (self.through.time - self.leaf.time).const if isinstance(self.leaf, At) else 0


@dataclass(frozen=True)
class Sent:
    """What one loss sends to one variable: at every step, with δ_{tT} at the last alone, or once."""

    name: str
    leaf: Matrix
    value: Matrix
    term: LossTerm


class Directions(Printer):
    """Tangents: the direction of what has a gradient, and what it changes in each family."""

    def variable(self, name: str) -> str:
        return tangent(self.names.names, name)

    def past(self, name: str) -> str:
        return past_tangent(self.names.names, name)


class Edges:
    """The reads of all equations that reach the objective, and what the losses send."""

    def __init__(self, made: Statement) -> None:
        self.made, self.model, self.names = made, made.model, made.names
        self.form: Template = template(made.model)
        self.print = Printer(made.names)
        self.direct = Directions(made.names)
        self.targets = frozenset(v.name for v in self.model.targets)

    def own(self, kind: str, number: int) -> str:
        """The name of one of our scalars."""
        return self.names.names(kind, str(number), wanted=f"{kind}_{number}")

    @cached_property
    def live(self) -> list[Equation]:
        """The equations that reach the objective, in the order of one step."""
        return [e for e in self.model.order if self.form.delay[e.name] < NEVER]

    @cached_property
    def reads(self) -> list[Read]:
        """Every read of the live equations."""
        found: list[Read] = []
        for equation in self.live:
            for leaf, edge in contributions(equation, self.targets):
                found.append(Read(self.own("edge", len(found) + 1), equation.left, leaf, edge.value))
        return found

    def of(self, equation: Equation) -> list[Read]:
        """The reads of one equation."""
        return [r for r in self.reads if r.through == equation.left]

    def into(self, leaf: Matrix | str) -> list[Read]:
        """The reads of a parameter, or of a family."""
        return [r for r in self.reads if r.leaf == leaf
                or (isinstance(r.leaf, At) and r.leaf.family.name == leaf)]

    @cached_property
    def starts(self) -> list[tuple[Equation, list[Read]]]:
        """The equations of values before the first step that reach the objective, and their reads."""
        found = []
        for equation in self.model.computed:
            if self.form.before(equation.left):
                reads = [Read(f"start_{initial_name(equation.left)}", equation.left, leaf, edge.value)
                         for leaf, edge in contributions(equation, self.targets)]
                found.append((equation, reads))
        return found

    @cached_property
    def sent(self) -> list[Sent]:
        """What the losses send, term by term."""
        found: list[Sent] = []
        for term in self.model.losses:
            for leaf, edge in loss_edges(term, weight_of(term, T, self.model.counts), self.targets):
                value = times(edge.value, Delta(t, T)) if edge.last else edge.value
                found.append(Sent(self.own("sent", len(found) + 1), leaf, value, term))
        return found

    def before(self, member: At) -> list[tuple[Read, int]]:
        """The reads of a value before the first step, and the time at which each is made."""
        return [(r, r.lag + member.time.const) for r in self.into(member.family.name)
                if r.lag + member.time.const >= 1]

    # Texts.

    def gradient(self, r: Read, at: Index | None = None) -> str:
        """What is sent, at the time t of the equation, or as the variable at time `at` sees it."""
        if at is None:
            return self.print(r.value)
        # of a lag that is longer than the shift the rest is left, which is a lag also where it is one step
        printer = Printer(self.names, since=0) if r.lag and at.terms else self.print
        return printer(substitute(r.value, {t: at + r.lag}))

    def cotangent(self, r: Read, since: int = 1) -> str:
        """What is sent for any cotangent cot of the left side, at time t, or for `since` = 0 at t + 1."""
        rule = {t: index(t) + 1 - since} if r.through.time.terms else {}
        printer = Printer(self.names, since=since, letter=(substitute(Adjoint(r.through), rule), "cot"))
        return printer(substitute(r.value, rule))

    def direction(self, leaf: Matrix, since: int = 1) -> str:
        """The tangent of what is read, at time t, or for `since` = 0 at t + 1."""
        if isinstance(leaf, MatrixSymbol):
            return tangent(self.names.names, leaf.name)
        rule = {t: index(t) + 1 - since}
        return Directions(self.names, since=since)(substitute(leaf, rule))

    def pairing(self, value: str, direction: str) -> str:
        """<value, direction>."""
        return f"<< {value}, {direction} >>"

    def pairings(self) -> list[str]:
        """<gradient, direction> for every gradient, that of what is added to a family among them."""
        found, names = [], self.names.names
        for d in self.made.sums:
            of, name = d.left.of, self.made.gradient_name(d)
            if isinstance(of, MatrixSymbol):
                found.append(self.pairing(name, tangent(names, of.name)))
            elif of.time.terms:
                found.append(over_time(self.pairing(f"{name} t", f"{tangent(names, of.family.name)} t")))
            elif of not in {e.left for e in self.model.computed}:
                found.append(self.pairing(name, self.made.given_tangent(of)))
        return found + [self.pushed(d.left.of.family.name) for d in self.made.unknowns if type(d.left) is Adjoint]

    def pushed(self, name: str) -> str:
        """Σ_t <∂L/∂v_t, what the direction adds to v_t>."""
        added = offset_tangent(self.names.names, name)
        return over_time(self.pairing(f"{self.names.adjoint(name)} t", f"{added} t"))

    def rule(self, reads: list[Read], since: int = 1) -> str:
        """The rule of an equation: cot ↦ Σ <what is sent, tangent>."""
        parts = [self.pairing(self.cotangent(r, since), self.direction(r.leaf, since)) for r in reads]
        return " + ".join(parts) or "0"

    def pushed_rule(self, e: Equation, since: int = 1) -> str:
        """The rule of an equation to whose left side the direction adds something."""
        added = f"{offset_tangent(self.names.names, e.name)} t{'' if since else '.+1'}"
        return f"{self.rule(self.of(e), since)} + {self.pairing('cot', added)}"

    def shifted(self, r: Read) -> str:
        """The scalar of a read of a family, as the variable at time t sees it."""
        return self.pairing(self.gradient(r, index(t)), f"{tangent(self.names.names, r.leaf.family.name)} t")

    def step_left(self, r: Read) -> bool:
        """Whether this scalar is made of a value one step before the variable, which is written as a lag."""
        return r.lag > 0 and any(type(n) is At and (r.through.time - n.time).terms == () and
                                 (r.through.time - n.time).const == r.lag + 1 for n in visit(r.value))

    def initial(self, r: Read, member: At) -> str:
        """The scalar of a read of a value before the first step."""
        name, back = member.family.name, -member.time.const
        names = self.names.names
        base = f"{tangent(names, name)} 0" if back == 0 else f"{past_tangent(names, name)} {back}"
        return self.pairing(self.gradient(r, member.time), base)


def total(parts: list[str]) -> str:
    """A sum of scalars."""
    return " + ".join(parts) or "0"


def over_time(body: str) -> str:
    """Σ_{t=1}^{T}."""
    return f"\\sum_(1 <= t < T.+1) {body}"


def scalar_facts(names: Vocabulary) -> Iterator[tuple[str, str]]:
    """What is known of scalars that stand for inverses: names, and what they say."""
    if (q := names.common) > 1:
        yield "reciprocal", f"{q}%:R * {names.reciprocal(q)} = 1"
    for c in names.model.constants:
        if ("inverse", c.name) in names.names:
            name = names.names("inverse_of", c.name, wanted=f"inverse_of_{c.name}")
            yield name, f"{names.scalar(c.name)} * {names.inverse(c.name)} = 1"
