"""From the recursion to the closed form, by solving a linear recurrence.

Carried families are those that some equation reads at a lag. Eliminating every other adjoint gives, for the stacked
adjoints G_t of the carried families (a family whose adjoint is read k steps ahead has k rows),

    G_t = N_t (K_{t+1} G_{t+1} + b_t)        G_t = Σ_{i=t}^{T} [Π_{k=t+1}^{i} N_{k-1} K_k] N_i b_i

where K holds the step Jacobians, N = (I - S)⁻¹ = I + S + S² + … the contributions S between carried families at the
same time (strictly triangular), and b what the losses send. With one carried family, a lag of one and one path, K is
that path itself, and a constant product is a power. The recursion is that of Werbos 1990, Backpropagation
through time: what it does and how to do it; the solution is that of any linear recurrence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from string import ascii_lowercase, ascii_uppercase
from typing import TypeAlias

from sympy import MatrixSymbol

from symbptt.bptt.backward import NEVER, Gradient, Template
from symbptt.expr.build import children, plus, scale, times, transpose
from symbptt.expr.index import Index, IndexVar, index, t
from symbptt.expr.nodes import (
    ONE,
    Adjoint,
    At,
    Diagonal,
    Identity,
    Matrix,
    Multiple,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.expr.walk import free_indices, substitute
from symbptt.model.notation import Name, split
from symbptt.model.spec import Model
from symbptt.proof.kernel import words
from symbptt.proof.statement import Definition

Linear: TypeAlias = dict[Gradient, Matrix]
"""Σ J · gradient, as a map from the gradient to its Jacobian transpose J, at symbolic t."""


class NotLinear(ValueError):
    """A contribution is not linear in the adjoint that it should be linear in; an internal error."""


def jacobian(value: Matrix, gradient: Matrix) -> Matrix:
    """The J with value = J · gradient.

    value is a contribution of a sweep: in each of its words the gradient, a column, or its transpose stands once. A
    scalar behind the gradient is pulled in front of it, g s = (s I) g, word by word.
    """
    found = _in_place(value, gradient)
    if found is not None:
        return found
    size = gradient.shape[0]
    parts = []
    for word, c in words(value).items():
        k = next((k for k, a in enumerate(word) if a in (gradient, Transpose(gradient))), None)
        if k is None:
            raise NotLinear(f"{value} is not linear in {gradient}")
        before, after = word[:k], word[k + 1:]
        if word[k] == gradient:
            spread = [Multiple(times(*after), Identity(size))] if after else [Identity(size)]
        else:
            spread = [transpose(times(*after)) if after else Identity(ONE)]
        parts.append(scale(c.expand(), times(*before, *spread)))
    return plus(parts, like=Zero(value.shape[0], size))


def has_sum(e: Matrix) -> bool:
    """Whether a sum of matrices stands in it, which a product of such would distribute; not one that is a letter."""
    return type(e) is Plus or any(has_sum(a) for a in children(e) if not isinstance(e, Diagonal | Multiple))


def _in_place(value: Matrix, gradient: Matrix) -> Matrix | None:
    """J in the form in which value is written, where the gradient is the last factor of every product."""
    kind = type(value)
    if value == gradient:
        return Identity(gradient.shape[0])
    if kind is Scale:
        inner = _in_place(value.args[1], gradient)
        return None if inner is None else scale(value.args[0], inner)
    if kind is Times:
        inner = _in_place(value.args[-1], gradient)
        return None if inner is None else times(*value.args[:-1], inner)
    if kind is Plus:
        parts = [_in_place(a, gradient) for a in value.args]
        return None if None in parts else plus([a for a in parts if a is not None])
    return None


@dataclass(frozen=True)
class ClosedForm:
    """The solved recurrence. `stacked` is G_t; `letters` are the abbreviations that are printed once.

    transition is N_{t-1} K_t and drive N_t b_t, both at symbolic t. `select` holds, for each carried family, the block
    row P with ∂L/∂v_t = P G_t, or None where G_t is ∂L/∂v_t itself.
    """

    carried: tuple[MatrixSymbol, ...]
    stacked: Matrix
    transition: Matrix
    drive: Matrix
    select: dict[str, Matrix | None]
    letters: tuple[Definition, ...] = ()
    bound: tuple[IndexVar, IndexVar] = field(default=(IndexVar("i"), IndexVar("k")))

    @property
    def constant(self) -> bool:
        """Whether the transition does not depend on time."""
        return t not in free_indices(self.transition)

    def run(self, lo: Index, hi: Index) -> Matrix:
        """Π_{k=lo}^{hi} of the transition, a power when it is constant."""
        if self.constant:
            return Power(self.transition, hi - lo + 1)
        k = self.bound[1]
        return Product(substitute(self.transition, {t: index(k)}), k, lo, hi)

    @property
    def trivial(self) -> bool:
        """Whether the transition is the identity, so that a run of it is not worth writing."""
        return type(self.transition) is Identity

    def word(self, start: Index, end: Index) -> Matrix:
        """What the drive at time `end` sends to G at time `start`."""
        drive = substitute(self.drive, {t: end})
        return drive if self.trivial else Times(self.run(start + 1, end), drive)

    def solution(self, start: Index, last: Index) -> Sum:
        """Σ_{i=start}^{last} word(start, i)."""
        i = self.bound[0]
        return Sum(self.word(start, index(i)), i, start, last)

    def step(self, start: Index) -> Matrix:
        """One step of the recurrence at time `start`: transition · G_{start+1} + drive."""
        ahead = {t: start + 1}
        return Plus(Times(substitute(self.transition, ahead), substitute(self.stacked, ahead)),
                    substitute(self.drive, {t: start}))


def terminal(template: Template, name: str) -> bool:
    """Whether the paths end at this family: only losses read it."""
    return all(e.through is None for e in template.families[name])


def eliminate(template: Template, name: str) -> Linear:
    """∂L/∂v_t as Σ J · gradient over carried adjoints and what the losses send, at times t, t + 1 and so on."""
    carried = {v.name for v in template.model.carried}
    total: dict[Gradient, list[Matrix]] = {}
    for edge in template.families[name]:
        if edge.through is None:
            total.setdefault(edge.value, []).append(Identity(edge.value.shape[0]))
            continue
        consumer = edge.through.family.name
        if template.delay[consumer] == NEVER:
            continue
        j = jacobian(edge.value, Adjoint(edge.through))
        if consumer in carried or terminal(template, consumer):
            total.setdefault(Adjoint(edge.through), []).append(j)
            continue
        lag = template.lag(edge)
        ahead = {t: index(t) + lag} if lag else {}
        for gradient, further in eliminate(template, consumer).items():
            total.setdefault(substitute(gradient, ahead), []).append(times(j, substitute(further, ahead)))
    return {gradient: plus(parts) for gradient, parts in total.items()}


def solve(template: Template) -> ClosedForm | None:
    """The closed form of a model's recurrence; None when no adjoint is read at a later time, so that none recurs."""
    model = template.model
    carried = tuple(v for v in model.carried if template.delay[v.name] < NEVER)
    arrivals = {v.name: eliminate(template, v.name) for v in carried}
    rows = _rows(carried, arrivals)
    if rows is None:
        return None
    names = LetterNames(model)
    bound = (names.index("i", "j", "m", "n"), names.index("k", "l", "r", "p"))
    if len(rows) == 1:
        return _single(rows[0][0], arrivals, names, bound)
    return _stacked(carried, rows, arrivals, names, bound)


def _ahead(gradient: Gradient) -> int:
    return (gradient.of.time - t).const


def _rows(carried: tuple[MatrixSymbol, ...], arrivals: dict[str, Linear]) -> list[tuple[MatrixSymbol, int]] | None:
    """(family, j) for every row ∂L/∂v_{t+j} of the stacked adjoints."""
    deepest = dict.fromkeys((v.name for v in carried), 0)
    for linear in arrivals.values():
        for gradient in linear:
            name = gradient.of.family.name
            if isinstance(gradient, Adjoint) and name in deepest:
                deepest[name] = max(deepest[name], _ahead(gradient))
    if not any(deepest.values()):
        return None
    return [(v, j) for v in carried for j in range(max(1, deepest[v.name]))]


def _single(family: MatrixSymbol, arrivals: dict[str, Linear], names: LetterNames,
            bound: tuple[IndexVar, IndexVar]) -> ClosedForm:
    stacked = Adjoint(At(family, t))
    linear = arrivals[family.name]
    ahead = Adjoint(At(family, index(t) + 1))
    transition = substitute(linear[ahead], {t: index(t) - 1})
    drive = _drive(linear, {family.name}, family)
    letters: list[Definition] = []
    if has_sum(transition):
        transition = lettered(names("K", "J", "M"), transition, letters)
    return ClosedForm((family,), stacked, transition, drive, {family.name: None}, tuple(letters), bound)


def _drive(linear: Linear, carried: set[str], family: MatrixSymbol) -> Matrix:
    sent = [times(j, g) for g, j in linear.items() if not _is_carried(g, carried)]
    return plus(sent, like=family)


def _is_carried(gradient: Gradient, carried: set[str]) -> bool:
    return isinstance(gradient, Adjoint) and gradient.of.family.name in carried


def lettered(name: str, right: Matrix, letters: list[Definition]) -> Matrix:
    """A letter for `right`, a family when it depends on t, defined in `letters`."""
    symbol = MatrixSymbol(name, *right.shape)
    left: Matrix = At(symbol, t) if t in free_indices(right) else symbol
    letters.append(Definition(name, left, right))
    return left


def _stacked(carried: tuple[MatrixSymbol, ...], rows: list[tuple[MatrixSymbol, int]], arrivals: dict[str, Linear],
             names: LetterNames, bound: tuple[IndexVar, IndexVar]) -> ClosedForm:
    inside = {v.name for v in carried}
    letters: list[Definition] = []
    stacked = lettered(names("Gamma", "G", "Lambda"), block([[Adjoint(At(v, index(t) + j))] for v, j in rows]), letters)

    def cell(v: MatrixSymbol, j: int, u: MatrixSymbol, m: int) -> Matrix:
        if j == 0:
            found = arrivals[v.name].get(Adjoint(At(u, index(t) + m + 1)))
            return substitute(found, {t: index(t) - 1}) if found is not None else Zero(v.shape[0], u.shape[0])
        return Identity(v.shape[0]) if (v, j) == (u, m + 1) else Zero(v.shape[0], u.shape[0])

    k = lettered(names("K", "J", "M"), block([[cell(v, j, u, m) for u, m in rows] for v, j in rows]), letters)
    drive: Matrix = lettered(names("b", "c", "r"), block(
        [[_drive(arrivals[v.name], inside, v) if j == 0 else Zero(*v.shape)] for v, j in rows]), letters)
    same_time = _same_time(carried, arrivals)
    transition: Matrix = k
    if any(u is not v and u != v for v in carried for u in same_time[v.name]):
        cells = [[same_time[v.name].get(u, Zero(v.shape[0], u.shape[0])) if j == m == 0
                  else Identity(v.shape[0]) if (v, j) == (u, m) else Zero(v.shape[0], u.shape[0])
                  for u, m in rows] for v, j in rows]
        n = lettered(names("N", "Q", "R"), block(cells), letters)
        transition, drive = Times(substitute(n, {t: index(t) - 1}), k), Times(n, drive)
    select: dict[str, Matrix | None] = {v.name: lettered(names(f"P_{v.name}", f"E_{v.name}"), block(
        [[Identity(v.shape[0]) if (u, m) == (v, 0) else Zero(v.shape[0], u.shape[0]) for u, m in rows]]), letters)
        for v in carried}
    return ClosedForm(carried, stacked, transition, drive, select, tuple(letters), bound)


def _same_time(carried: tuple[MatrixSymbol, ...], arrivals: dict[str, Linear]) -> dict[str, dict[MatrixSymbol, Matrix]]:
    """The rows of N = I + S + S² + …, by back substitution along the order of one step."""
    done: dict[str, dict[MatrixSymbol, Matrix]] = {}

    def row(v: MatrixSymbol) -> dict[MatrixSymbol, Matrix]:
        if v.name not in done:
            parts: dict[MatrixSymbol, list[Matrix]] = {v: [Identity(v.shape[0])]}
            for u in carried:
                j = arrivals[v.name].get(Adjoint(At(u, t)))
                for w, further in (row(u).items() if j is not None else ()):
                    parts.setdefault(w, []).append(times(j, further))
            done[v.name] = {w: plus(terms) for w, terms in parts.items()}
        return done[v.name]

    return {v.name: row(v) for v in carried}


class LetterNames:
    """Letters that a model does not use itself, with or without subscripts, nor others that are given.

    Beside a parameter b_i or w1 no letter is called b or w: at time 1 it would print like them. Beside a parameter h_k
    and a state h no index is called k.
    """

    def __init__(self, model: Model, others: Iterable[str] = ()) -> None:
        symbols = (*model.parameters, *model.static, *model.families.values(), *model.constants, *model.counts.values())
        self.taken = {s.name for s in symbols} | {s.name for s in model.sizes} | {"t", "T", "L", "I", *others}
        self.stems = {split(s.name).base for s in symbols}
        families = {split(name) for name in model.families}
        for shown in (split(s.name) for s in symbols):
            if shown.subscripts and Name(shown.base, shown.subscripts[:-1]) in families:
                self.taken.add(shown.subscripts[-1])

    def __call__(self, *wanted: str) -> str:
        more = ascii_lowercase if wanted[0].islower() else ascii_uppercase
        numbered = (f"{wanted[0]}_{n}" for n in range(1, len(self.taken) + 2))
        free = (n for n in (*wanted, *more) if n not in self.taken and split(n).base not in self.stems)
        name = next(free, None) or next(n for n in numbered if n not in self.taken)
        self.taken.add(name)
        return name

    def index(self, *wanted: str) -> IndexVar:
        """A bound index under such a name."""
        return IndexVar(self(*wanted))
