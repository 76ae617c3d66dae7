"""The reverse sweep, twice: over the unrolled graph, and over the one-step template at symbolic t.

Both sum the pull-backs of the rule table over all consumers of a variable. The first instantiates equations and then
differentiates; the second differentiates once and shifts time. A test instantiates the second and finds the first.

Conventions: gradients have the shape of the variable (denominator layout); ∂L/∂v_s = 0 for s > T; a family that a loss
reads and an equation reads too has a direct derivative ∂⁺L/∂v_t beside the total one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from sympy import Expr, Integer, Symbol

from symbptt.bptt.graph import Graph
from symbptt.bptt.rules import in_output_form, pull_back
from symbptt.expr.build import plus, scale
from symbptt.expr.index import T, index, t
from symbptt.expr.nodes import Adjoint, At, Direct, Identity, LossGradient, Matrix, Multiple, Plus, Scale, Sum
from symbptt.expr.walk import substitute, visit
from symbptt.expr.words import expression, polynomial
from symbptt.model.spec import Equation, LossTerm, Model, initial_name

Gradient: TypeAlias = Adjoint | Direct
UNIT = Identity(Integer(1))
NEVER = 1 << 30
"""A distance that no time has from T: the family never reaches the objective."""


class Edge(NamedTuple):
    """One way in which L depends on a variable: through `through`, or through a loss directly when that is None.

    value is the evaluated form of prod(∂L/∂through, ∂through/∂variable); equation names the consumer; rules holds, for
    each place where the variable stands in it, the rows of the rule table that were applied. With `last` the edge is
    there at t = T alone. Where the derivative of the loss is known, named is the value as a multiple of ∂ℓ/∂v, and raw
    the value as the rules give it, before equal terms are collected.
    """

    through: At | None
    value: Matrix
    equation: str
    rules: tuple[tuple[str, ...], ...]
    last: bool = False
    named: Matrix | None = None
    raw: Matrix | None = None


class AdjointStep(NamedTuple):
    """left = ∂L/∂v (or ∂⁺L/∂v) as the sum over the edges of v, in the order of the equations, losses last."""

    left: Gradient
    edges: tuple[Edge, ...]

    @property
    def target(self) -> Matrix:
        """The variable v."""
        return self.left.of

    @property
    def right(self) -> Matrix:
        """The evaluated sum."""
        return plus([e.value for e in self.edges], like=self.target)


@dataclass(frozen=True)
class Template:
    """The one-step form. For a family, edges at symbolic t with consumers at t, t + 1, …; for a parameter, the edges
    of one step, to be summed over t = 1 … T, and those that are there once: through a regulariser or a value before the
    first step. `delay` says how far before T the adjoint of a family stops being zero. Static data are as parameters.
    """

    model: Model
    families: dict[str, tuple[Edge, ...]]
    direct: dict[str, tuple[Edge, ...]]
    parameters: dict[str, tuple[Edge, ...]]
    once: dict[str, tuple[Edge, ...]]
    delay: dict[str, int]

    def lag(self, edge: Edge) -> int:
        """The consumer's time minus the variable's; 0 for a loss."""
        return (edge.through.time - t).const if edge.through is not None else 0

    def wait(self, edge: Edge) -> int:
        """The edge carries something exactly at the times t ≤ T - wait."""
        return self.lag(edge) + (self.delay[edge.through.family.name] if edge.through is not None else 0)

    def uses(self, name: str) -> tuple[Edge, ...]:
        """The edges of a parameter that carry something, those of one step."""
        return tuple(e for e in self.parameters[name] if self.wait(e) < NEVER)

    def total(self, name: str) -> Matrix | None:
        """∂L/∂θ as the sum over the steps and what is there once; None where nothing is."""
        timed = [e.value for e in self.uses(name)]
        summed = [Sum(plus(timed), t, 1, T)] if timed else []
        found = [*summed, *(e.value for e in self.once[name])]
        return plus(found) if found else None

    def before(self, member: At) -> tuple[Edge, ...]:
        """The edges of a value before the first step that carry something: their consumers stand at time 1 or later."""
        return tuple(e for e in self.families[member.family.name]
                     if e.through is not None and self.lag(e) + member.time.const >= 1 and self.wait(e) < NEVER)

    def live(self, edges: tuple[Edge, ...], left_over: int, since: int = 1) -> tuple[Edge, ...]:
        """The edges of a family that carry something `left_over` steps before T, at time `since` or later."""
        return tuple(e for e in edges
                     if self.wait(e) <= left_over and self.lag(e) + since >= 1 and not (e.last and left_over))


def weight_of(term: LossTerm, steps: Expr, counts: Mapping[str, Symbol]) -> Expr:
    """The factor of one step's loss in L: the term's weight, for a mean over T or over the sum of its mask."""
    if term.reduce != "mean":
        return term.weight
    return term.weight / (steps if term.mask is None else counts[term.mask.name])


def mixed(model: Model) -> frozenset[str]:
    """The families that a loss reads and an equation reads too; their direct derivative has a name of its own."""
    def read(trees: Iterable[Matrix]) -> set[str]:
        return {n.family.name for e in trees for n in visit(e) if isinstance(n, At)}

    both = read(term.loss for term in model.losses if term.reduce != "once") & read(e.right for e in model.equations)
    return frozenset(both & model.defined.keys())


def contributions(equation: Equation, targets: frozenset[str]) -> list[tuple[Matrix, Edge]]:
    """What v = right sends to each of its variables from the seed ∂L/∂v: an edge each; targets get none."""
    left = equation.left
    early = not left.time.terms and left.time.const < 1
    return _edges(equation.right, Adjoint(left), left, initial_name(left) if early else equation.name, targets)


def loss_edges(term: LossTerm, weight: Expr, targets: frozenset[str]) -> list[tuple[Matrix, Edge]]:
    """What a loss at a time sends to each of its variables; a loss with a name by its definition, terms collected."""
    loss = term.loss
    found = _edges(loss, scale(weight, UNIT) if term.opaque else UNIT, None, loss.name, targets)
    if not term.opaque:
        def named(leaf: Matrix) -> Matrix:
            return scale(weight, LossGradient(loss, Integer(loss.args.index(leaf) - 1)))

        found = [(leaf, e._replace(value=scale(weight, _collected(e.value)), named=named(leaf),
                                   raw=scale(weight, e.value))) for leaf, e in found]
    if term.mask is not None:
        m = At(term.mask, found[0][0].time)
        found = [(leaf, e._replace(value=Multiple(m, e.value), named=e.named and Multiple(m, e.named),
                                   raw=e.raw and Multiple(m, e.raw))) for leaf, e in found]
    return [(leaf, e._replace(last=True)) for leaf, e in found] if term.reduce == "last" else found


def _edges(right: Matrix, seed: Matrix, through: At | None, name: str,
           targets: frozenset[str]) -> list[tuple[Matrix, Edge]]:
    found: dict[Matrix, Edge] = {}
    for leaf, value, trail in pull_back(right, seed):
        value = in_output_form(value, right, through)
        if type(leaf) is At and leaf.family.name in targets:
            continue
        before = found.get(leaf)
        found[leaf] = Edge(through, value, name, (trail,)) if before is None else \
            Edge(through, plus((before.value, value)), name, (*before.rules, trail))
    return list(found.items())


def _collected(value: Matrix) -> Matrix:
    """The sum with equal terms collected, what is added before what is subtracted."""
    whole = expression(polynomial(value))
    if type(whole) is not Plus:
        return whole
    return plus(sorted(whole.args, key=lambda a: type(a) is Scale and bool(a.args[0].could_extract_minus_sign())))


def sweep(graph: Graph) -> dict[Gradient, AdjointStep]:
    """Every gradient of the unrolled graph, expressed in the adjoints of later equations; T + 1 … are not there.

    A variable that does not reach the objective has no entry: its gradient is identically zero. Linear in T.
    """
    model, targets = graph.model, frozenset(v.name for v in graph.model.targets)
    place = {e.name: k for k, e in enumerate(model.equations)}
    place |= {initial_name(e.left): len(place) for e in model.computed}
    both = mixed(model)
    arrived: defaultdict[Matrix, list[Edge]] = defaultdict(list)
    direct: defaultdict[Matrix, list[Edge]] = defaultdict(list)
    steps: dict[Gradient, AdjointStep] = {}
    for term in graph.losses:
        for leaf, edge in loss_edges(term, weight_of(term, Integer(graph.steps), model.counts), targets):
            (direct if type(leaf) is At and leaf.family.name in both else arrived)[leaf].append(edge)

    def order(edge: Edge) -> tuple[int, int]:
        return (place[edge.equation], edge.through.time.const) if edge.through is not None else (len(place), 0)

    def settle(variable: Matrix, edges: list[Edge]) -> None:
        left = Adjoint(variable)
        steps[left] = AdjointStep(left, tuple(sorted(edges, key=order) if len(edges) > 1 else edges))

    for left, right in reversed(graph.equations):
        if left in direct:
            steps[Direct(left)] = AdjointStep(Direct(left), tuple(direct.pop(left)))
            arrived[left].append(_whole_direct(left, steps[Direct(left)].edges))
        if left in arrived:
            settle(left, arrived.pop(left))
            for leaf, edge in contributions(Equation(left, right), targets):
                arrived[leaf].append(edge)
    for leaf, edges in arrived.items():
        settle(leaf, edges)
    return steps


def _whole_direct(left: Matrix, edges: Iterable[Edge]) -> Edge:
    return Edge(None, Direct(left), "", (("direct derivative",),), all(e.last for e in edges))


def template(model: Model) -> Template:
    """The one-step form of every gradient, from the equations at symbolic t."""
    targets = frozenset(v.name for v in model.targets)
    both = mixed(model)
    families: dict[str, list[Edge]] = {name: [] for name in model.families}
    direct: dict[str, list[Edge]] = {}
    parameters: dict[str, list[Edge]] = {p.name: [] for p in (*model.parameters, *model.static)}
    once: dict[str, list[Edge]] = {name: [] for name in parameters}
    for equation in model.equations:
        edges = contributions(equation, targets)
        for leaf, edge in sorted(edges, key=lambda pair: -pair[0].time.const if type(pair[0]) is At else 0):
            if type(leaf) is At:
                families[leaf.family.name].append(_shifted(edge, leaf))
            else:
                parameters[leaf.name].append(edge)
    for term in model.losses:
        for leaf, edge in loss_edges(term, weight_of(term, T, model.counts), targets):
            if type(leaf) is not At:
                once[leaf.name].append(edge)
                continue
            name = leaf.family.name
            (direct.setdefault(name, []) if name in both else families[name]).append(edge)
    for name in direct:
        families[name].append(_whole_direct(At(model.families[name], t), direct[name]))
    frozen = {name: tuple(edges) for name, edges in families.items()}
    tables = [{k: tuple(v) for k, v in table.items()} for table in (direct, parameters, once)]
    made = Template(model, frozen, tables[0], tables[1], tables[2], _delays(frozen))
    for equation in (e for e in model.computed if made.before(e.left)):
        for leaf, edge in contributions(equation, targets):
            made.once[leaf.name] = (*made.once[leaf.name], edge)
    return made


def _shifted(edge: Edge, leaf: At) -> Edge:
    """The edge as the variable at time t sees it: the consumer moves from t to t + lag."""
    rule = {t: index(t) + (t - leaf.time)}
    through = substitute(edge.through, rule) if edge.through is not None else None
    return Edge(through, substitute(edge.value, rule), edge.equation, edge.rules)


def _delays(families: dict[str, tuple[Edge, ...]]) -> dict[str, int]:
    """The smallest total lag of a path from each family to a loss (Bellman and Ford's relaxation)."""
    delay = dict.fromkeys(families, NEVER)
    known: dict[str, int] = {}
    while known != delay:
        known = dict(delay)
        for name, edges in reversed(families.items()):
            for e in edges:
                here = 0 if e.through is None else (e.through.time - t).const + delay[e.through.family.name]
                delay[name] = min(delay[name], here)
    return delay
