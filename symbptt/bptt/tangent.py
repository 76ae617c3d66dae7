"""The forward sweep: what a change of the parameters changes in every variable, and its closed form.

For directions dθ of all parameters, dv_t is the total differential of v_t and ∂⁺v_t its direct part, which comes of the
use of the parameters at step t alone:

    dv_t = ∂⁺v_t + Σ (∂v_t/∂u_s) du_s            over the variables u_s that the equation of v_t reads.

With one parameter moving and the others fixed this is real-time recurrent learning (Williams and Zipser 1989, A
learning algorithm for continually running fully recurrent neural networks); stated for a direction it needs no
third-order tensor. For the stacked changes V_t of the carried families,

    V_t = F_tᵀ V_{t-1} + u_t        V_t = Σ_{i=1}^{t} [Π_{k=i+1}^{t} F_k]ᵀ u_i + [Π_{k=1}^{t} F_k]ᵀ V_0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sympy import MatrixSymbol

from symbptt.bptt.closed import LetterNames, has_sum, jacobian, lettered
from symbptt.bptt.rules import differential, in_output_form
from symbptt.expr.build import plus, times, transpose
from symbptt.expr.index import Index, IndexVar, index, t
from symbptt.expr.nodes import (
    At,
    Identity,
    Immediate,
    Matrix,
    Plus,
    Power,
    Product,
    Sum,
    Tangent,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.expr.walk import free_indices, substitute, visit
from symbptt.model.spec import Equation, Model
from symbptt.proof.statement import Definition

Path: TypeAlias = tuple[At, Matrix]
"""(u_s, (∂v_t/∂u_s) du_s), one way in which a change reaches v_t."""


@dataclass(frozen=True)
class Flow:
    """dv_t = ∂⁺v_t + Σ paths, for one family v; direct is the evaluated ∂⁺v_t, zero when no parameter is used."""

    left: At
    direct: Matrix
    paths: tuple[Path, ...]

    @property
    def total(self) -> Matrix:
        """The evaluated sum, the direct part under its name."""
        own = [] if type(self.direct) is Zero else [Immediate(self.left)]
        return plus([*own, *(value for _, value in self.paths)], like=self.left)


@dataclass(frozen=True)
class Flows:
    """The forward sweep of a model at symbolic t; `initial` holds dv_s for every value before the first step."""

    model: Model
    families: dict[str, Flow]
    initial: dict[At, Matrix]


def flows(model: Model) -> Flows:
    """The one-step form of every total and direct differential, by the differentials of the rule table."""
    initial: dict[At, Matrix] = {member: Zero(*member.shape) for member in model.initial}
    for equation in model.computed:
        initial[equation.left] = _flow(model, equation).direct
    return Flows(model, {e.name: _flow(model, e) for e in model.equations}, initial)


def _flow(model: Model, equation: Equation) -> Flow:
    leaves = list(dict.fromkeys(a for a in visit(equation.right) if isinstance(a, At | MatrixSymbol)))

    def along(*moving: Matrix) -> Matrix:
        """The differential when nothing but these variables changes."""
        value = differential(equation.right, lambda a: Tangent(a) if a in moving else Zero(*a.shape))
        return in_output_form(value, equation.right, equation.left)

    direct = along(*(leaf for leaf in leaves if isinstance(leaf, MatrixSymbol)))
    paths = [(leaf, along(leaf)) for leaf in leaves if isinstance(leaf, At) and leaf.family.name in model.defined]
    return Flow(equation.left, direct, tuple((u, value) for u, value in paths if type(value) is not Zero))


Linear: TypeAlias = dict[Matrix, Matrix]
"""Σ J · change, as a map from a change to its Jacobian matrix J, at symbolic t."""


def eliminate(form: Flows, name: str) -> Linear:
    """dv_t as Σ J · change over changes of carried families at earlier times and direct parts at t."""
    flow = form.families[name]
    total: dict[Matrix, list[Matrix]] = {}
    if type(flow.direct) is not Zero:
        total[Immediate(flow.left)] = [Identity(flow.left.shape[0])]
    for u, value in flow.paths:
        j = jacobian(value, Tangent(u))
        found = eliminate(form, u.family.name).items() if u.time == index(t) else [(Tangent(u), Identity(u.shape[0]))]
        for change, further in found:
            total.setdefault(change, []).append(times(j, further))
    return {change: plus(parts) for change, parts in total.items()}


@dataclass(frozen=True)
class ForwardForm:
    """The solved forward recurrence: stacked is V_t, transition is F_t, drive is u_t, at symbolic t.

    `starts` says whether some V_0 is not zero; `bound` are the indices of the sum and the product.
    """

    carried: tuple[MatrixSymbol, ...]
    stacked: Matrix
    transition: Matrix
    drive: Matrix
    starts: bool
    letters: tuple[Definition, ...]
    bound: tuple[IndexVar, IndexVar]

    @property
    def constant(self) -> bool:
        """Whether the transition does not depend on time."""
        return t not in free_indices(self.transition)

    def run(self, lo: Index, hi: Index) -> Matrix:
        """[Π_{k=lo}^{hi} F_k]ᵀ, a power of the Jacobian matrix when it is constant."""
        if self.constant:
            return Power(transpose(self.transition), hi - lo + 1)
        k = self.bound[1]
        return Transpose(Product(substitute(self.transition, {t: index(k)}), k, lo, hi))

    def word(self, start: Index, end: Index) -> Matrix:
        """What the direct change at time `start` does to V at time `end`."""
        return Times(self.run(start + 1, end), substitute(self.drive, {t: start}))

    def total(self, end: Index) -> Sum:
        """Σ_{i=1}^{end} word(i, end)."""
        i = self.bound[0]
        return Sum(self.word(index(i), end), i, 1, end)

    def solution(self, end: Index) -> Matrix:
        """V at time `end`."""
        first = substitute(self.stacked, {t: Index()})
        return Plus(self.total(end), Times(self.run(Index(1), end), first)) if self.starts else self.total(end)

    def step(self, end: Index) -> Matrix:
        """One step of the recurrence: F_tᵀ V_{t-1} + u_t at time `end`."""
        here, before = {t: end}, {t: end - 1}
        return Plus(Times(substitute(transpose(self.transition), here), substitute(self.stacked, before)),
                    substitute(self.drive, here))


def solve(form: Flows, taken: tuple[Definition, ...] = ()) -> ForwardForm | None:
    """The closed form of the forward recurrence; None when no change is carried to a later step.

    taken are the letters that the closed form of the adjoints uses.
    """
    model = form.model
    linear = {v.name: eliminate(form, v.name) for v in model.carried}
    read = [change for found in linear.values() for change in found if type(change) is Tangent]
    depth = {v.name: max((-(c.of.time - t).const for c in read if c.of.family == v), default=0) for v in model.carried}
    rows = [(v, j) for v in model.carried for j in range(depth[v.name])]
    if not rows:
        return None
    names = LetterNames(model, (d.name for d in taken))
    bound = (names.index("i", "j", "m", "n"), names.index("k", "l", "r", "p"))
    starts = any(type(value) is not Zero for value in form.initial.values())
    letters: list[Definition] = []

    def drive(v: MatrixSymbol, j: int) -> Matrix:
        sent = [times(a, change) for change, a in linear[v.name].items() if isinstance(change, Immediate) and j == 0]
        return plus(sent, like=v)

    def cell(u: MatrixSymbol, m: int, v: MatrixSymbol, j: int) -> Matrix:
        """The block of F_t that leads from dv_{t-j} back to du_{t-1-m}."""
        if j == 0:
            found = linear[v.name].get(Tangent(At(u, index(t) - 1 - m)))
            return transpose(found) if found is not None else Zero(u.shape[0], v.shape[0])
        return Identity(v.shape[0]) if (u, m + 1) == (v, j) else Zero(u.shape[0], v.shape[0])

    carried = tuple(dict.fromkeys(v for v, _ in rows))
    if len(rows) == 1:
        v = carried[0]
        transition = cell(v, 0, v, 0)
        if has_sum(transition):
            transition = lettered(names("F", "A", "H"), transition, letters)
        return ForwardForm(carried, Tangent(At(v, t)), transition, drive(v, 0), starts, tuple(letters), bound)
    stacked = lettered(names("V", "Z", "Y"), block([[Tangent(At(v, index(t) - j))] for v, j in rows]), letters)
    transition = lettered(names("F", "A", "H"), block([[cell(u, m, v, j) for v, j in rows] for u, m in rows]), letters)
    pushed = lettered(names("u", "s", "w"), block([[drive(v, j)] for v, j in rows]), letters)
    return ForwardForm(carried, stacked, transition, pushed, starts, tuple(letters), bound)
