"""Formulas as people publish them, right and wrong: what the engine derives decides, and two means judge.

Each row is one reading of one formula about a model of tests/data/cases; notes in row vectors are restated with columns
and the same weights. Claims about ∂L/∂v_t stand in denominator layout. A Jacobian matrix ∂u/∂v stands as the product
that it makes with ∂L/∂u, which is a random column, and a derivative with respect to the parameters along a direction
that is random too. The first means is the oracle, which shares no rule with the engine and tells at which times both
sides agree, for T = 1 … 4. The second is the normal form: does the claim follow from the equations of the derivation?

None is left out. In case-03 and case-05, where f, g are letters, they are tanh and sin; elsewhere a letter for a
function is tanh or sigmoid. What is right about case-01 and case-02 stands with the tests of the linear network.
Not shown by the normal form, since no single equation of the derivation gives them, are case-02, case-03 and case-05,
where two derivatives are paired, and case-29, which takes the induction of case-28 inside a sum.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sympy import Expr, Integer, MatrixSymbol

from symbptt.derivation import Derivation
from symbptt.derive import derive
from symbptt.expr import build
from symbptt.expr.index import Index, IndexLike, IndexVar, T, index, t
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Chain,
    Delta,
    Derivative,
    Diagonal,
    Direct,
    Hadamard,
    Immediate,
    Matrix,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Tangent,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.shape import ShapeError
from symbptt.expr.sums import SideCondition, equal
from symbptt.expr.walk import substitute, visit
from symbptt.model.read import loads
from symbptt.model.spec import Model
from symbptt.proof.oracle import Oracle
from symbptt.render.targets import render

CASES = Path(__file__).parent / "data" / "cases"
LIBRARY = Path(__file__).parents[1] / "symbptt" / "model" / "library"
STEPS = (1, 2, 3, 4)
i, k, r, u = (IndexVar(name) for name in "ikru")


# How formulas are written ----------------------------------------------------------------

class Term:
    """An expression with operators: @ is the matrix product, * entry by entry. A shape that does not fit is refused."""

    def __init__(self, node: Matrix) -> None:
        self.node = node
        self.shape = node.shape

    def _number(self, c: object) -> Term:
        return c if isinstance(c, Term) else Term(build.scale(Integer(c), Ones(*self.shape)))

    def __add__(self, other: Term) -> Term:
        return Term(Plus(self.node, other.node))

    def __rsub__(self, c: int) -> Term:
        return self._number(c) - self

    def __sub__(self, other: Term) -> Term:
        return self + -other

    def __neg__(self) -> Term:
        return self * -1

    def __mul__(self, other: Term | Expr | int) -> Term:
        """The elementwise product; a number or a scalar times anything."""
        if isinstance(other, Term):
            return Term(Hadamard(self.node, other.node))
        return Term(Scale(Integer(1) * other, self.node))

    def __matmul__(self, other: Term) -> Term:
        return Term(Times(self.node, other.node))

    def __pow__(self, n: int) -> Term:
        return Term(Hadamard(*[self.node] * n))

    @property
    def T(self) -> Term:
        return Term(Transpose(self.node))


class Letters:
    """The letters of a model: m.W is a parameter, m.h(t) a family member."""

    def __init__(self, model: Model) -> None:
        self._parameters = {p.name: p for p in model.parameters}
        self._families = model.families

    def __getattr__(self, name: str) -> Any:
        if name in self._parameters:
            return Term(self._parameters[name])
        return lambda time: Term(At(self._families[name], time))


def on(kind: Callable[..., Matrix]) -> Callable[..., Term]:
    return lambda *parts: Term(kind(*(part.node for part in parts)))


d, direct, chain, tangent, immediate, diag = map(on, (Adjoint, Direct, Chain, Tangent, Immediate, Diagonal))
tanh, sigmoid, softmax, sin, cos = (
    on(lambda e, name=name: build.apply(name, e)) for name in ("tanh", "sigmoid", "softmax", "sin", "cos"))


def total(var: IndexVar, lo: IndexLike, hi: IndexLike, body: Term) -> Term:
    return Term(Sum(body.node, var, lo, hi))


def product(var: IndexVar, lo: IndexLike, hi: IndexLike, body: Term) -> Term:
    """Π with the factor of lo on the left."""
    return Term(Product(body.node, var, lo, hi))


def backwards(var: IndexVar, lo: IndexLike, hi: IndexLike, body: Term) -> Term:
    """Π with the factor of hi on the left."""
    return product(var, lo, hi, Term(substitute(body.node, {var: index(lo) + hi - var})))


def power(base: Term, n: IndexLike) -> Term:
    return Term(Power(base.node, n))


def first_columns(W: Term, count: Expr, start: Expr | int = 0) -> Term:
    """W[:, start:start + count]."""
    return W @ Term(build.selection(Integer(0) + start, count, W.shape[1])).T


def first_rows(W: Term, count: Expr) -> Term:
    """W[:count, :]."""
    return Term(build.selection(Integer(0), count, W.shape[0])) @ W


def times(*cut: tuple[IndexLike, IndexLike]) -> tuple[Index, ...]:
    """The forms that must be ≥ 0 for a ≤ b of each pair."""
    return tuple(index(b) - a for a, b in cut)


INSIDE = times((1, t), (t, T))
BEFORE = times((1, t), (t + 1, T))
AFTER = times((2, t), (t, T))

Formula = Callable[[Letters], Term]
Held = Callable[[Mapping[str, int]], bool]


def always(_at: Mapping[str, int]) -> bool:
    return True


def never(_at: Mapping[str, int]) -> bool:
    return False


def at_one_step(at: Mapping[str, int]) -> bool:
    return at["T"] == 1


def at_the_end(at: Mapping[str, int]) -> bool:
    return at["t"] == at["T"]


def one_before_the_end(at: Mapping[str, int]) -> bool:
    return at["t"] == at["T"] - 1


@dataclass(frozen=True)
class Row:
    """One reading of a case: left is said to be claim, which holds at the times that `held` says, all, some or none.

    right is what left is, where the claim is not, or as the engine writes it; lies are neighbours of it that must be
    refused. With end, ∂L/∂v_end is given and the formula is proved by induction downwards from there. shown says
    whether the normal form decides it beside the oracle; changed are replacements in the text of the model.
    """

    case: str
    model: str
    left: Formula
    claim: Formula
    scope: tuple[Index, ...] = ()
    held: Held = always
    right: Formula | None = None
    lies: tuple[Formula, ...] = ()
    end: IndexVar | None = None
    shown: bool = True
    changed: tuple[tuple[str, str], ...] = ()

    @property
    def truth(self) -> Formula:
        return self.right or self.claim


# The formulas ----------------------------------------------------------------

def slope(h: Term) -> Term:
    """tanh' in output form."""
    return 1 - h**2


def steep(h: Term) -> Term:
    """The derivative of the logistic sigmoid in output form."""
    return h * (1 - h)


def tanh_step(W: Term, h: Callable[..., Term], time: IndexLike) -> Term:
    """(∂h_time/∂h_{time-1})ᵀ of tanh units."""
    return W.T @ diag(slope(h(time)))


def squared_sum(m: Letters, row: Term, then: Callable[[IndexLike], Term]) -> Term:
    """Σ_t Σ_{r≤t} of what a note builds of the error of step t, the matrices between, and step r."""
    return total(t, 1, T, total(r, 1, t, diag(slope(m.h(r)))
                                @ product(k, r + 1, t, tanh_step(m.W_h, m.h, k)) @ row @ then(r).T))


def between(m: Letters) -> Callable[[IndexLike], Term]:
    """W diag(f'(z_i)), with f' of what goes in."""
    return lambda time: m.W @ diag(1 - tanh(m.z(time))**2)


def late(m: Letters, since: IndexLike, until: IndexLike) -> Term:
    """Π (∂h_k/∂h_{k-1})ᵀ."""
    return product(k, since, until, tanh_step(m.W_hh, m.h, k))


def step_of_forget_gate(m: Letters, wrong: bool) -> Term:
    """The delta of the forget gate, the sum in or out of the bracket."""
    da, dc, o = direct(m.a(T)), direct(m.c(T)), m.gamma_o(T)
    through = o * (1 - tanh(m.c(T))**2)
    rest = m.c(T - 1) * steep(m.gamma_f(T))
    if wrong:
        return dc * Term(MatrixSymbol("ctilde_prev", *dc.shape)) + through * m.c(T - 1) * da * steep(m.gamma_f(T))
    return (dc + through * da) * rest


def four(m: Letters, gates: str, weight: str, delta: str, time: IndexLike, transposed: bool = True) -> Term:
    """Σ Wᵀ ∂L/∂(what enters the gate) over four gates; weight and delta are names with a place for the gate."""
    def one(g: str) -> Term:
        W = getattr(m, weight.format(g))
        return (W.T if transposed else W) @ d(getattr(m, delta.format(g))(time))

    a, b, c, e = map(one, gates)
    return a + b + c + e


def before_a(m: Letters, cut: Callable[[Term], Term]) -> Term:
    """Σ Wᵀ δ over the gates, with a part of each weight."""
    a, b, c, e = (cut(getattr(m, f"W_{g}")).T @ d(getattr(m, f"z_{g}")(T)) for g in "fuco")
    return a + b + c + e


def before(m: Letters, time: IndexLike) -> Term:
    """∂x_{time+1}/∂x_time of units that apply their function before the product."""
    return m.W_rec @ diag(steep(sigmoid(m.x(time))))


def before_h(m: Letters, time: IndexLike) -> Term:
    """What a gated unit sends back to h_{time-1}."""
    kept, reset = d(m.h(time)) * (1 - m.z(time)), (m.W_h @ d(m.z_h(time))) * m.r(time)
    return kept + reset + m.W_r @ d(m.z_r(time)) + m.W_z @ d(m.z_z(time))


def forget_weight(m: Letters, time: IndexLike) -> Term:
    """δ_C ∘ C_{t-1} ∘ f (1 - f) h_{t-1}ᵀ."""
    return (d(m.C(time)) * m.C(time - 1) * steep(m.f(time))) @ m.h(time - 1).T


def gate_weight(m: Letters, jacobian: Callable[[IndexLike], Term]) -> Term:
    """∂E/∂c_T through the chain of ∂c_k/∂c_{k-1} to the first step, and from there to W_f."""
    sent = diag(m.o(T) * (1 - tanh(m.C(T))**2)) @ m.V.T @ d(m.z(T))
    return diag(m.C(0) * steep(m.f(1))) @ product(k, 2, T, jacobian(k).T) @ sent @ m.h(0).T


def through_h(m: Letters, time: IndexLike) -> Term:
    """∂c_k/∂c_{k-1}, with the way through h_{k-1}."""
    f, g, a = m.f(time), m.i(time), m.a(time)
    gates = diag(m.C(time - 1) * steep(f)) @ m.W_f + diag(a * steep(g)) @ m.W_i + diag(g * slope(a)) @ m.W_a
    return diag(f) + gates @ diag(m.o(time - 1) * (1 - tanh(m.C(time - 1))**2))


ROWS = [
    Row("case-02-total", "linear", lambda m: total(t, 1, T, d(m.h(t)).T @ immediate(m.h(t))),
        lambda m: total(t, 1, T, d(m.h(t)).T @ tangent(m.h(t))), held=at_one_step, shown=False,
        right=lambda m: total(t, 1, T, d(m.o(t)).T @ (tangent(m.o(t)) - immediate(m.o(t))))),

    Row("case-03", "scalars_one_weight", lambda m: d(m.w) * tangent(m.w)**2,
        lambda m: total(t, 1, T, d(m.o(t)) * immediate(m.o(t)) * tangent(m.h(t))), held=never, shown=False,
        right=lambda m: tangent(m.w) * total(t, 1, T, d(m.o(t)) * (
            immediate(m.o(t)) + m.w * cos(m.w * m.h(t)) * tangent(m.h(t))))),

    Row("case-04", "linear_end", lambda m: d(m.h(t)), lambda m: power(m.W_hh.T, T - t) @ d(m.h(T)), INSIDE, end=T,
        lies=(lambda m: power(m.W_hh.T, T - t + 1) @ d(m.h(T)),)),
    Row("case-04-numerator", "linear_end", lambda m: d(m.h(t)), lambda m: power(m.W_hh, T - t) @ d(m.h(T)), BEFORE,
        held=never, end=T, right=lambda m: power(m.W_hh.T, T - t) @ d(m.h(T))),

    Row("case-05", "scalars_two_weights", lambda m: d(m.w_h) * tangent(m.w_h),
        lambda m: total(t, 1, T, d(m.o(t)) * m.w_h * cos(m.w_h * m.h(t)) * tangent(m.h(t))), held=never, shown=False,
        right=lambda m: total(t, 1, T, d(m.o(t)) * m.w_o * cos(m.w_o * m.h(t)) * tangent(m.h(t)))),

    Row("case-09-right", "textbook", lambda m: d(m.h(t)),
        lambda m: m.W.T @ diag(slope(m.h(t + 1))) @ d(m.h(t + 1)) + m.V.T @ d(m.o(t)), BEFORE,
        lies=(lambda m: diag(slope(m.h(t + 1))) @ m.W.T @ d(m.h(t + 1)) + m.V.T @ d(m.o(t)),)),
    Row("case-11-c", "textbook", lambda m: d(m.c), lambda m: total(t, 1, T, softmax(m.o(t)) - m.y(t)),
        lies=(lambda m: total(t, 1, T, m.y(t) - softmax(m.o(t))), lambda m: softmax(m.o(T)) - m.y(T))),
    Row("case-11-V", "textbook", lambda m: d(m.V),
        lambda m: total(t, 1, T, (softmax(m.o(t)) - m.y(t)) @ m.h(t).T),
        lies=(lambda m: total(t, 1, T, (softmax(m.o(t)) - m.y(t)) @ m.h(t - 1).T),)),

    Row("case-11-any-target", "textbook", lambda m: d(m.c), lambda m: total(t, 1, T, softmax(m.o(t)) - m.y(t)),
        held=never, right=lambda m: total(t, 1, T, d(m.o(t))), changed=(('assume = "sum(y) == 1"', ""),)),

    Row("case-12", "tanh_end", lambda m: d(m.h(t)),
        lambda m: product(k, t + 1, T, m.W_s.T @ diag(1 - tanh(m.z(k))**2)) @ d(m.h(T)), INSIDE, end=T,
        lies=(lambda m: product(k, t + 1, T, m.W_s @ diag(1 - tanh(m.z(k))**2)) @ d(m.h(T)),
              lambda m: product(k, t + 1, T, diag(1 - tanh(m.z(k))**2) @ m.W_s.T) @ d(m.h(T)),
              lambda m: product(k, t + 1, T, m.W_s.T @ diag(1 - tanh(m.z(k - 1))**2)) @ d(m.h(T)))),
    Row("case-12-order", "tanh_end", lambda m: d(m.h(t)),
        lambda m: backwards(k, t + 1, T, m.W_s.T @ diag(1 - tanh(m.z(k))**2)) @ d(m.h(T)), BEFORE,
        held=one_before_the_end, end=T, right=lambda m: product(k, t + 1, T, tanh_step(m.W_s, m.h, k)) @ d(m.h(T))),

    Row("case-14", "tutorial", lambda m: tangent(m.s(t)),
        lambda m: total(r, 0, t, product(k, r + 1, t, tanh_step(m.W, m.s, k)).T @ immediate(m.s(r))), INSIDE,
        right=lambda m: total(r, 1, t, product(k, r + 1, t, tanh_step(m.W, m.s, k)).T @ immediate(m.s(r))),
        lies=(lambda m: total(r, 2, t, product(k, r + 1, t, tanh_step(m.W, m.s, k)).T @ immediate(m.s(r))),
              lambda m: total(r, 1, t, product(k, r + 1, t, tanh_step(m.W, m.s, k)) @ immediate(m.s(r))))),
    Row("case-14-total", "tutorial", lambda m: tangent(m.s(t)),
        lambda m: total(r, 0, t, product(k, r + 1, t, tanh_step(m.W, m.s, k)).T @ tangent(m.s(r))), INSIDE,
        held=lambda at: at["t"] <= 1,
        right=lambda m: total(r, 1, t, product(k, r + 1, t, tanh_step(m.W, m.s, k)).T @ immediate(m.s(r)))),

    Row("case-19-row", "squared", lambda m: d(m.W_h),
        lambda m: squared_sum(m, m.W_p.T @ (m.z(t) - m.y(t)), m.h), held=never,
        right=lambda m: squared_sum(m, m.W_p.T @ (m.z(t) - m.y(t)), lambda s: m.h(s - 1))),

    Row("case-20", "two_functions", lambda m: d(m.h(T)),
        lambda m: m.C.T @ ((m.yhat(t) - m.y(t)) * steep(sigmoid(m.C @ m.h(T)))), INSIDE, held=at_the_end,
        right=lambda m: m.C.T @ (steep(sigmoid(m.C @ m.h(T))) * (m.yhat(T) - m.y(T)))),
    Row("case-21", "two_functions", lambda m: d(m.A),
        lambda m: total(t, 1, T, (d(m.h(t)) * (1 - tanh(m.A @ m.h(t - 1) + m.B @ m.x(t))**2)) @ m.h(t - 1).T),
        lies=(lambda m: total(t, 1, T, (d(m.h(t)) * (1 - tanh(m.A @ m.h(t - 1) + m.B @ m.x(t))**2)) @ m.h(t).T),
              lambda m: total(t, 1, T, d(m.h(t)) @ m.h(t - 1).T))),

    Row("case-22-dh", "rows", lambda m: d(m.s(t)),
        lambda m: (m.V @ d(m.z(t)) + m.W @ d(m.s(t + 1))) * steep(sigmoid(m.s(t))), BEFORE,
        lies=(lambda m: (m.V @ d(m.z(t)) + m.W.T @ d(m.s(t + 1))) * steep(sigmoid(m.s(t))),
              lambda m: (m.V @ d(m.z(t)) + m.W @ d(m.s(t + 1))) * steep(sigmoid(m.s(t + 1))))),
    Row("case-22-dz", "rows", lambda m: d(m.z(t)), lambda m: softmax(m.z(t)) - m.y(t), INSIDE, held=at_one_step,
        right=lambda m: (softmax(m.z(t)) - m.y(t)) * (1 / T)),
    Row("case-22-dz-sum", "rows", lambda m: d(m.z(t)), lambda m: softmax(m.z(t)) - m.y(t), INSIDE,
        changed=(('"mean"', '"sum"'),), lies=(lambda m: (softmax(m.z(t)) - m.y(t)) * (1 / T),)),

    Row("case-23", "rows", lambda m: d(m.s(t)),
        lambda m: product(k, t, T - 1, diag(steep(m.h(k))) @ m.W) @ d(m.s(T)), BEFORE, end=T,
        changed=(('"mean"', '"last"'),),
        lies=(lambda m: product(k, t, T - 1, m.W @ diag(steep(m.h(k)))) @ d(m.s(T)),
              lambda m: product(k, t, T - 1, diag(steep(m.h(k))) @ m.W.T) @ d(m.s(T)))),
    Row("case-23-order", "rows", lambda m: d(m.s(t)),
        lambda m: backwards(k, t, T - 1, diag(steep(m.h(k))) @ m.W) @ d(m.s(T)), BEFORE, held=one_before_the_end,
        end=T, changed=(('"mean"', '"last"'),),
        right=lambda m: product(k, t, T - 1, diag(steep(m.h(k))) @ m.W) @ d(m.s(T))),

    Row("case-24-jacobian", "opaque", lambda m: chain(m.h(t + 1), m.h(t)),
        lambda m: m.W.T @ diag(1 - m.h(t + 1)**2) @ d(m.h(t + 1)), BEFORE,
        lies=(lambda m: m.W.T @ diag(1 - m.h(t)**2) @ d(m.h(t + 1)),
              lambda m: m.W.T @ diag(1 - m.h(t + 1)) @ d(m.h(t + 1)))),
    Row("case-24-gradient", "opaque", lambda m: d(m.h(t)),
        lambda m: m.W.T @ diag(1 - m.h(t + 1)**2) @ d(m.h(t + 1)) + m.V.T @ d(m.o(t)), BEFORE,
        lies=(lambda m: m.W @ diag(1 - m.h(t + 1)**2) @ d(m.h(t + 1)) + m.V.T @ d(m.o(t)),
              lambda m: m.W.T @ diag(1 - m.h(t + 1)**2) @ d(m.h(t + 1)) - m.V.T @ d(m.o(t)),
              lambda m: m.W.T @ diag(1 - m.h(t + 1)**2) @ d(m.h(t + 1)) + m.V.T @ d(m.o(T)))),
    Row("case-24-numerator", "opaque", lambda m: chain(m.h(t + 1), m.h(t)),
        lambda m: diag(1 - m.h(t + 1)**2) @ m.W @ d(m.h(t + 1)), BEFORE, held=never,
        right=lambda m: m.W.T @ diag(1 - m.h(t + 1)**2) @ d(m.h(t + 1))),
    Row("case-25", "opaque", lambda m: d(m.h(T)), lambda m: m.V.T @ d(m.o(T)),
        lies=(lambda m: m.V.T @ d(m.o(T - 1)), lambda m: -m.V.T @ d(m.o(T)))),

    Row("case-26-right", "end", lambda m: d(m.z(t)),
        lambda m: (d(m.z(u)).T @ backwards(k, t, u - 1, between(m)(k))).T, times((1, t), (t, u), (u, T)), end=u,
        lies=(lambda m: (d(m.z(u)).T @ product(k, t, u - 1, between(m)(k))).T,
              lambda m: (d(m.z(u)).T @ backwards(k, t, u - 1, between(m)(k + 1))).T)),
    Row("case-27", "end", lambda m: chain(m.z(t + 1), m.h(t)).T @ diag(1 - m.h(t)**2),
        lambda m: d(m.z(t + 1)).T @ m.W @ diag(tanh(m.z(t))), BEFORE, held=never,
        right=lambda m: d(m.z(t + 1)).T @ m.W @ diag(1 - tanh(m.z(t))**2)),
    Row("case-28", "end", lambda m: d(m.z(t)),
        lambda m: (d(m.z(u)).T @ backwards(k, t, u - 1, diag(1 - tanh(m.z(k))**2) @ m.W)).T,
        times((1, t), (t + 1, u), (u, T)), held=never, end=u,
        right=lambda m: (d(m.z(u)).T @ backwards(k, t, u - 1, between(m)(k))).T),
    Row("case-28-order", "end", lambda m: d(m.z(t)),
        lambda m: (d(m.z(u)).T @ product(k, t, u - 1, diag(1 - tanh(m.z(k))**2) @ m.W)).T,
        times((1, t), (t + 1, u), (u, T)), held=never, end=u,
        right=lambda m: (d(m.z(u)).T @ backwards(k, t, u - 1, between(m)(k))).T),
    Row("case-29-vector", "end", lambda m: d(m.h(0)),
        lambda m: product(k, 1, T, tanh_step(m.W, m.h, k)) @ d(m.h(T)), shown=False,
        lies=(lambda m: product(k, 2, T, tanh_step(m.W, m.h, k)) @ d(m.h(T)),)),
    Row("case-29-right", "end", lambda m: d(m.W),
        lambda m: total(r, 1, T, diag(slope(m.h(r))) @ product(k, r + 1, T, tanh_step(m.W, m.h, k)) @ d(m.h(T))
                        @ m.h(r - 1).T), shown=False,
        lies=(lambda m: total(r, 1, T, diag(slope(m.h(r))) @ product(k, r + 1, T, tanh_step(m.W, m.h, k)) @ d(m.h(T))
                              @ m.h(r).T),)),

    Row("case-30-row", "no_biases", lambda m: d(m.h(t)), lambda m: late(m, t + 1, T) @ d(m.h(T)), INSIDE,
        held=at_the_end, right=lambda m: late(m, t + 1, T) @ d(m.h(T)) + total(
            r, t, T - 1, late(m, t + 1, r) @ m.W_hy.T @ d(m.o(r)))),
    Row("case-30-last", "no_biases", lambda m: d(m.h(t)), lambda m: late(m, t + 1, T) @ d(m.h(T)), INSIDE, end=T,
        changed=(('"sum"', '"last"'),), lies=(lambda m: late(m, t, T) @ d(m.h(T)),)),

    Row("case-33", "lstm", lambda m: d(m.C(t)),
        lambda m: d(m.C(t + 1)) * m.f(t + 1) + d(m.h(t)) * m.o(t) * (1 - tanh(m.C(t))**2), BEFORE,
        lies=(lambda m: d(m.C(t + 1)) * m.f(t) + d(m.h(t)) * m.o(t) * (1 - tanh(m.C(t))**2),
              lambda m: d(m.h(t)) * m.o(t) * (1 - tanh(m.C(t))**2),
              lambda m: d(m.C(t + 1)) * m.f(t + 1) + d(m.h(t)) * m.o(t) * (1 - m.C(t)**2))),
    Row("case-34-entries", "lstm", lambda m: d(m.W_f), lambda m: forget_weight(m, T), held=at_one_step,
        right=lambda m: total(t, 1, T, forget_weight(m, t))),

    Row("case-35", "lstm_step", lambda m: d(m.z_f(T)), lambda m: step_of_forget_gate(m, wrong=True), held=never,
        right=lambda m: step_of_forget_gate(m, wrong=False)),
    Row("case-35-no-dc", "lstm_step", lambda m: d(m.z_f(T)), lambda m: step_of_forget_gate(m, wrong=True),
        changed=(("l(a, c)", "l(a)"),), lies=(
            lambda m: direct(m.a(T)) * m.gamma_o(T) * (1 - m.c(T)**2) * m.c(T - 1) * steep(m.gamma_f(T)),)),
    Row("case-36-columns", "lstm_step", lambda m: d(m.a(T - 1)),
        lambda m: before_a(m, lambda W: first_columns(W, m.a(T).shape[0])), times((2, T)),
        lies=(lambda m: before_a(m, lambda W: first_columns(W, m.a(T).shape[0], m.x(T).shape[0])),)),
    Row("case-36-dx", "lstm_step", lambda m: d(m.x(T)),
        lambda m: before_a(m, lambda W: first_columns(W, m.x(T).shape[0], m.a(T).shape[0])),
        lies=(lambda m: before_a(m, lambda W: first_columns(W, m.x(T).shape[0])),)),
    Row("case-37", "lstm_end", lambda m: d(m.W_fx), lambda m: d(m.net_f(T)) @ m.x(T).T, held=at_one_step,
        right=lambda m: total(t, 1, T, d(m.net_f(t)) @ m.x(t).T)),

    Row("case-38-delta", "lstm_rows", lambda m: d(m.h(t - 1)) - chain(m.p(t - 1), m.h(t - 1)),
        lambda m: four(m, "fico", "W_{}", "z_{}", t, transposed=False), AFTER,
        lies=(lambda m: four(m, "fico", "W_{}", "z_{}", t),
              lambda m: four(m, "fico", "W_{}", "z_{}", t - 1, transposed=False))),
    Row("case-38-first", "lstm_rows", lambda m: d(m.h(0)),
        lambda m: four(m, "fico", "W_{}", "z_{}", 1, transposed=False),
        lies=(lambda m: four(m, "fico", "W_{}", "z_{}", 1),)),
    Row("case-38-weight", "lstm_rows", lambda m: d(m.W_o), lambda m: total(t, 1, T, m.h(t - 1) @ d(m.z_o(t)).T),
        lies=(lambda m: total(t, 1, T, d(m.z_o(t)) @ m.h(t - 1).T), lambda m: total(t, 1, T, m.h(t) @ d(m.z_o(t)).T))),
    Row("case-41", "peephole", lambda m: d(m.y(t)),
        lambda m: direct(m.y(t)) + four(m, "zifo", "R_{}", "{}bar", t + 1), BEFORE,
        lies=(lambda m: four(m, "zifo", "R_{}", "{}bar", t + 1),
              lambda m: direct(m.y(t)) + four(m, "zifo", "R_{}", "{}bar", t + 1, transposed=False))),
    Row("case-41-post", "peephole", lambda m: d(m.y(t)),
        lambda m: direct(m.y(t)) + four(m, "zifo", "R_{}", "{}", t + 1), BEFORE, held=never,
        right=lambda m: direct(m.y(t)) + four(m, "zifo", "R_{}", "{}bar", t + 1)),
    Row("case-43-row", "lstm", lambda m: d(m.W_f), lambda m: gate_weight(m, lambda s: diag(m.f(s))), held=at_one_step,
        right=lambda m: total(t, 1, T, forget_weight(m, t)), changed=(('"sum"', '"last"'),)),
    Row("case-43-through-h", "lstm", lambda m: d(m.W_f), lambda m: gate_weight(m, lambda s: through_h(m, s)),
        held=at_one_step, right=lambda m: total(t, 1, T, forget_weight(m, t)), changed=(('"sum"', '"last"'),)),

    Row("case-45-reset", "gru_rows", lambda m: d(m.z_r(t)),
        lambda m: (m.W_h @ d(m.z_h(t))) * m.h(t - 1) * m.r(t) * (1 - m.r(t)), INSIDE,
        lies=(lambda m: (m.W_h.T @ d(m.z_h(t))) * m.h(t - 1) * m.r(t) * (1 - m.r(t)),
              lambda m: (m.W_h @ d(m.z_h(t))) * m.h(t) * m.r(t) * (1 - m.r(t)))),
    Row("case-45-state", "gru_rows", lambda m: d(m.h(t - 1)) - direct(m.h(t - 1)),
        lambda m: before_h(m, t), AFTER, lies=(
            lambda m: d(m.h(t)) * m.z(t) + (m.W_h @ d(m.z_h(t))) * m.r(t) + m.W_r @ d(m.z_r(t)) + m.W_z @ d(m.z_z(t)),
            lambda m: d(m.h(t)) * (1 - m.z(t)) + m.W_h @ d(m.z_h(t)) + m.W_r @ d(m.z_r(t)) + m.W_z @ d(m.z_z(t)))),
    Row("case-45-first", "gru_rows", lambda m: d(m.h(0)), lambda m: before_h(m, 1), lies=(lambda m: before_h(m, 2),)),
    Row("case-49", "sigmoid", lambda m: chain(m.z(t), m.h(t - 1)),
        lambda m: m.W.T @ diag(steep(sigmoid(m.h(t - 1)))) @ d(m.h(t)), AFTER, held=never,
        right=lambda m: m.W.T @ diag(steep(sigmoid(m.z(t)))) @ d(m.h(t))),
    Row("case-49-numerator", "sigmoid", lambda m: chain(m.z(t), m.h(t - 1)),
        lambda m: (m.W.T @ diag(steep(sigmoid(m.h(t - 1))))).T @ d(m.h(t)), AFTER, held=never,
        right=lambda m: (diag(steep(sigmoid(m.z(t)))) @ m.W).T @ d(m.h(t))),

    Row("case-50-jacobian", "before_function", lambda m: d(m.x(t)),
        lambda m: product(k, t, T - 1, before(m, k).T) @ d(m.x(T)), INSIDE, end=T,
        lies=(lambda m: product(k, t, T - 1, before(m, k + 1).T) @ d(m.x(T)),
              lambda m: product(k, t, T - 1, before(m, k)) @ d(m.x(T)))),
]

SHAPES: dict[str, tuple[str, Formula, Formula, Formula]] = {
    "case-09": ("textbook", lambda m: d(m.h(t)),
                lambda m: m.W.T @ d(m.h(t + 1)) @ diag(slope(m.h(t + 1))) + m.V.T @ d(m.o(t)),
                lambda m: m.W.T @ diag(slope(m.h(t + 1))) @ d(m.h(t + 1)) + m.V.T @ d(m.o(t))),
    "case-19-literal": ("squared", lambda m: d(m.W_h), lambda m: (m.z(t) - m.y(t)) @ m.W_p,
                        lambda m: squared_sum(m, m.W_p.T @ (m.z(t) - m.y(t)), m.h)),
    "case-26": ("end", lambda m: d(m.z(t)).T, lambda m: backwards(k, t, T - 1, between(m)(k)) @ d(m.z(T)),
                lambda m: d(m.z(T)).T @ backwards(k, t, T - 1, between(m)(k))),
    "case-29": ("end", lambda m: d(m.W), lambda m: d(m.h(T)).T @ backwards(k, 1, T, tanh_step(m.W, m.h, k).T),
                lambda m: total(r, 1, T, d(m.z(r)) @ m.h(r - 1).T)),
    "case-30-literal": ("no_biases", lambda m: d(m.h(t)), lambda m: d(m.h(T)) @ late(m, t + 1, T).T,
                        lambda m: (d(m.h(T)).T @ late(m, t + 1, T).T).T),
    "case-34-literal": ("lstm", lambda m: d(m.W_f),
                        lambda m: d(m.C(t)) * m.C(t - 1) * m.f(t) @ (1 - m.f(t)) @ m.h(t - 1).T,
                        lambda m: forget_weight(m, t)),
    "case-36": ("lstm_step", lambda m: d(m.a(T - 1)), lambda m: before_a(m, lambda W: first_rows(W, W.shape[0])),
                lambda m: before_a(m, lambda W: first_columns(W, W.shape[0]))),
    "case-43-literal": ("lstm", lambda m: d(m.W_f), lambda m: d(m.h(T)) @ diag(m.o(T) * (1 - tanh(m.C(T))**2)),
                        lambda m: gate_weight(m, lambda s: diag(m.f(s)))),
    "case-51": ("before_function", lambda m: d(m.x(T)).T @ backwards(k, t, T - 1, before(m, k)),
                lambda m: backwards(k, t, T - 1, before(m, k)), lambda m: d(m.x(T)).T),
}
"""What cannot be built or has another shape than what it is said to be, and a neighbour that fits."""


# The judges ----------------------------------------------------------------

@cache
def model_of(name: str, changed: tuple[tuple[str, str], ...] = ()) -> Model:
    path = CASES / f"{name}.toml"
    text = (path if path.exists() else LIBRARY / path.name).read_text(encoding="utf-8")
    for old, new in changed:
        assert old in text
        text = text.replace(old, new)
    return loads(text, path.name)


derived = cache(derive)


@cache
def oracle_of(model: Model, steps: int) -> Oracle:
    return Oracle(model, steps, seed=steps, assumed=True)


def agreement(row: Row, formula: Formula) -> list[tuple[dict[str, int], bool]]:
    """At which T and times of the scope both sides have the same value."""
    model = model_of(row.model, row.changed)
    left, right = row.left(Letters(model)).node, formula(Letters(model)).node
    assert left.shape == right.shape
    found = []
    for steps in STEPS:
        oracle = oracle_of(model, steps)
        for at in oracle.valuations((left, right), row.scope):
            agree = oracle.value(left, at) == oracle.value(right, at)
            found.append(({"T": steps, **{str(v): n for v, n in at.items()}}, agree))
    assert found
    return found


def replaced(e: Matrix, rule: Callable[[Matrix], Matrix | None]) -> Matrix:
    """The expression with every part that the rule knows replaced, the outermost first."""
    found = rule(e)
    return found if found is not None else build.rebuild(e, tuple(replaced(a, rule) for a in build.children(e)))


def diagonals_first(e: Matrix) -> Matrix:
    """a ∘ g as diag(a) g for columns, where g is the factor in which a derivative stands."""
    def moves(a: Matrix) -> bool:
        return any(isinstance(b, Derivative) for b in visit(a))

    if type(e) is Hadamard and e.shape[1] == 1 and moves(e):
        *others, g = sorted(e.args, key=moves)
        return Times(*map(Diagonal, others), diagonals_first(g))
    return build.rebuild(e, tuple(map(diagonals_first, build.children(e))))


class Engine:
    """What a derivation says, as rules that replace an adjoint by what it is equal to."""

    def __init__(self, record: Derivation, scope: tuple[Index, ...], kept: Iterable[str] = ()) -> None:
        self.record, self.scope, self.kept = record, scope, frozenset(kept)
        self.carried = {v.name for v in record.model.carried}

    def line(self, of: At) -> Matrix | None:
        """∂L/∂v_s by one equation of the derivation; None where it is not known which of them holds at s."""
        known = {q.kind: q for q in reversed(self.record.lines) if q.name in (of.family.name, f"{of.family.name}_0")}
        if of.time == Index(0):
            return known["initial"].forms[-1]
        general, at_end = known.get("assumed", known["adjoint"]).forms[-1], known.get("boundary")
        if self._before_the_end(of.time):
            return replaced(substitute(general, {t: of.time}), lambda e: Zero(1, 1) if type(e) is Delta else None)
        if at_end is None:
            return substitute(general, {t: of.time})
        if of.time == index(T):
            return at_end.forms[-1]
        alike = decides(self.record, substitute(general, {t: index(T)}), at_end.forms[-1], ())
        return substitute(general, {t: of.time}) if alike else None

    def _before_the_end(self, time: Index) -> bool:
        slack = [index(T) - 1 - time - form for form in (*self.scope, Index(0))]
        return any(not form.terms and form.const >= 0 for form in slack)

    def once(self, e: Matrix) -> Matrix:
        """The left side by the equation that the derivation has for it."""
        return replaced(e, self._first)

    def _first(self, e: Matrix) -> Matrix | None:
        if type(e) is Adjoint and type(e.of) is At:
            return self.line(e.of)
        if type(e) is Adjoint:
            return self.record.line("gradient", e.of.name).forms[-1]
        if type(e) is Tangent and type(e.of) is At:
            return substitute(self.record.line("forward").forms[-1], {t: e.of.time})
        if type(e) is Chain:
            edges = self.record.line("adjoint", e.of.family.name).edges
            moved = {t: e.of.time}
            return next(substitute(q.value, moved) for q in edges
                        if q.through is not None and substitute(q.through, moved) == e.through)
        return None

    def unfolded(self, e: Matrix) -> Matrix:
        """Everything by its equation, the kept families only at T."""
        def rule(a: Matrix) -> Matrix | None:
            if type(a) is not Adjoint or type(a.of) is not At or \
                    (a.of.family.name in self.kept and a.of.time != index(T)):
                return None
            found = self.line(a.of)
            return None if found is None else self.unfolded(found)

        return replaced(e, rule)

    def closed(self, e: Matrix) -> Matrix:
        """Carried families by the closed form."""
        def rule(a: Matrix) -> Matrix | None:
            if type(a) is Adjoint and type(a.of) is At and a.of.family.name in self.carried:
                return self.unfolded(substitute(self.record.line("closed").forms[-1], {t: a.of.time}))
            return None

        return replaced(e, rule)

    def prepared(self, e: Matrix) -> Matrix:
        """In output form, as a product of diagonal matrices and one column, without the losses that nothing reads."""
        read = {q.left.of.family for q in self.record.of_kind("direct")}
        heard = replaced(e, lambda a: Zero(*a.shape) if type(a) is Direct and a.of.family not in read else None)
        return diagonals_first(self.in_output_form(heard))

    def in_output_form(self, e: Matrix) -> Matrix:
        """What stands on the right of an equation of the model, by what stands on its left."""
        def rule(a: Matrix) -> Matrix | None:
            time = next((b.time for b in visit(a) if type(b) is At), None)
            for equation in self.record.model.equations if time is not None else ():
                first = next(b.time for b in visit(equation.right) if type(b) is At)
                moved = {t: index(t) + (time - first)}
                if substitute(equation.right, moved) == a:
                    return substitute(equation.left, moved)
            return None

        return replaced(e, rule)


def decides(record: Derivation, left: Matrix, right: Matrix, scope: Iterable[Index]) -> bool:
    """Whether the normal form proves left = right, where no adjoint reaches beyond T."""
    ends = {Adjoint(At(v, t)): T for v in record.model.families.values()}
    try:
        return equal(left, right, (*scope, *times((1, T))), ends)
    except SideCondition:
        return False


def proved(row: Row, formula: Formula) -> bool:
    """Whether the claim follows from the derivation: by one equation, by the closed form, or by induction."""
    record = derived(model_of(row.model, row.changed))
    engine = Engine(record, row.scope)
    left, claim = (engine.prepared(f(Letters(record.model)).node) for f in (row.left, formula))
    about = {left.of.family.name} if type(left) is Adjoint and type(left.of) is At else set()
    step = Engine(record, row.scope, engine.carried | about)
    if decides(record, step.unfolded(step.once(left)), step.unfolded(claim), row.scope):
        return True
    if row.end is not None and type(left) is Adjoint:
        return by_induction(row, record, about, left, claim)
    if record.closed is None or len(record.closed.select) > 1:
        return False
    whole = Engine(record, row.scope, engine.carried)
    return decides(record, whole.closed(whole.unfolded(step.once(left) if not about else left)),
                   whole.closed(whole.unfolded(claim)), row.scope)


def by_induction(row: Row, record: Derivation, about: set[str], left: Adjoint, claim: Matrix) -> bool:
    """Whether it holds at the end, and at t when it holds at t + 1."""
    assert row.end is not None
    here, later = {t: index(row.end)}, {t: index(t) + 1}
    inside = (*row.scope, *times((t + 1, row.end)), *times((t + 1, T)))
    known = {substitute(left, later): substitute(claim, later)}
    engine = Engine(record, inside, about)
    above = engine.unfolded(engine.once(left))
    return decides(record, substitute(left, here), substitute(claim, here), row.scope) and \
        decides(record, replaced(above, known.get), claim, inside)


# The tests ----------------------------------------------------------------

def marked(rows: Iterable[Row]) -> list[Any]:
    return [pytest.param(row, id=row.case) for row in rows]


PROVED = [row for row in ROWS if row.held is always]
WRONG = [row for row in ROWS if row.held is never]
ONLY_FOR = [row for row in ROWS if row.held not in (always, never)]


def check_truth(row: Row) -> None:
    """What is right agrees everywhere, and the derivation proves it."""
    assert all(agree for _, agree in agreement(row, row.truth))
    assert proved(row, row.truth) or not row.shown


def check_claim(row: Row) -> None:
    """The claim agrees where it is said to, and nowhere else; the derivation does not prove it."""
    found = agreement(row, row.claim)
    assert [at for at, agree in found if agree != row.held(at)] == []
    assert not proved(row, row.claim)


@pytest.mark.parametrize("row", marked(PROVED))
def test_what_is_right_is_proved(row: Row) -> None:
    check_truth(row)
    assert all(agree for _, agree in agreement(row, row.claim))


@pytest.mark.parametrize("row", marked(WRONG))
def test_what_is_wrong_differs_everywhere(row: Row) -> None:
    check_truth(row)
    check_claim(row)


@pytest.mark.parametrize("row", marked(ONLY_FOR))
def test_what_holds_in_a_case_holds_in_no_other(row: Row) -> None:
    check_truth(row)
    check_claim(row)
    assert {agree for _, agree in agreement(row, row.claim)} == {True, False}


@pytest.mark.parametrize(("row", "lie"), [
    pytest.param(row, lie, id=f"{row.case}-{n}") for row in ROWS for n, lie in enumerate(row.lies)])
def test_a_neighbour_of_what_is_right_is_refused(row: Row, lie: Formula) -> None:
    assert not all(agree for _, agree in agreement(row, lie))
    assert not proved(row, lie)


@pytest.mark.parametrize("case", SHAPES)
def test_what_does_not_fit_has_no_shape(case: str) -> None:
    name, left, claim, mended = SHAPES[case]
    m = Letters(model_of(name))
    try:
        fits = claim(m).shape == left(m).shape
    except ShapeError:
        fits = False
    assert not fits
    assert mended(m).shape == left(m).shape


def verdicts(case: str) -> set[str]:
    """What is said of a case in the tables above; of what is wrong, only_for where a changed model makes it right."""
    rows = [row for row in ROWS if row.case[:7] == case]
    said = {"proved" if row in PROVED else "wrong" if row in WRONG else "only_for" for row in rows}
    said |= {"no_valid_shape" for name in SHAPES if name[:7] == case} | {"proved" for name in BOUNDS if name == case}
    return said | ({"only_for"} if any(row.changed for row in rows if row in PROVED) else set())


def test_every_formula_has_its_verdict() -> None:
    table = tomllib.loads((CASES / "verdicts.toml").read_text(encoding="utf-8"))
    for group in ("formula", "other"):
        for case, verdict in table[group].items():
            assert verdict in verdicts(case), case
    assert all(row.lies for row in PROVED)
    assert {row.case[:7] for row in ROWS} | {case[:7] for case in SHAPES} == {*table["formula"], *table["other"]}


# Bounds ----------------------------------------------------------------

UNITS, LENGTH, GAMMA = 4, 6, 0.25
"""GAMMA is the largest slope of the logistic sigmoid."""


@cache
def program() -> ModuleType:
    module = ModuleType("before_function")
    exec(render(derived(model_of("before_function")), "numpy"), module.__dict__)
    return module


def jacobians(W: np.ndarray, seed: int, scale: float = 1.0) -> list[np.ndarray]:
    """∂x_T/∂x_t for t = 1 … T, by the generated sweep, one sample for each row."""
    random = np.random.default_rng(seed)
    params = {"W_rec": W, "W_in": random.normal(size=(UNITS, 3)), "b": scale * random.normal(size=UNITS)}
    data = {"u": np.repeat(random.normal(size=(LENGTH, 1, 3)), UNITS, 1), "y": np.zeros((LENGTH, UNITS, UNITS)),
            "x_0": np.repeat(random.normal(size=(1, UNITS)), UNITS, 0)}
    direct = {"x": np.zeros((LENGTH, UNITS, UNITS))}
    direct["x"][-1] = np.eye(UNITS)
    states = program().forward(params, data)
    return list(program().backward(params, data, states, direct)[1]["x"])


def norm(A: np.ndarray) -> float:
    return float(np.linalg.norm(A, 2))


def with_norm(size: float, seed: int) -> np.ndarray:
    W = np.random.default_rng(seed).normal(size=(UNITS, UNITS))
    return W * size / norm(W)


def holds(found: list[np.ndarray], eta: float, row: np.ndarray | None = None) -> bool:
    """Whether ‖g ∂x_T/∂x_t‖ ≤ ‖g‖ η^{T-t} for every t; without a row g, of the matrices alone."""
    row = np.eye(UNITS) if row is None else row
    return all(norm(row @ J) <= norm(row) * eta**(LENGTH - 1 - n) * (1 + 1e-12) for n, J in enumerate(found))


def shrinks(seed: int) -> bool:
    """σ_1 < 1/γ, so η = γ σ_1 < 1 bounds every step."""
    W = with_norm(0.98 / GAMMA, seed)
    return holds(jacobians(W, seed), GAMMA * norm(W))


def shrinks_in_front_of_a_row(seed: int) -> bool:
    """‖∂ε/∂x_t Π‖ ≤ ‖∂ε/∂x_t‖ η^{t-k}."""
    W = with_norm(0.98 / GAMMA, seed)
    return holds(jacobians(W, seed), GAMMA * norm(W), np.random.default_rng(-seed % 97).normal(size=(1, UNITS)))


def shrinks_by_the_radius(seed: int) -> bool:
    """The spectral radius taken for the norm."""
    W = np.triu(with_norm(0.98 / GAMMA, seed), 1) + 0.1 * np.eye(UNITS)
    return holds(jacobians(W, seed), GAMMA * max(abs(np.linalg.eigvals(W))))


def shrinks_twice(seed: int) -> bool:
    """An exponent that is one too large."""
    W = with_norm(0.98 / GAMMA, seed)
    return holds([J / (GAMMA * norm(W)) for J in jacobians(W, seed)], GAMMA * norm(W))


def grows(seed: int) -> bool:
    """σ_1 > 1/γ taken for sufficient; units far from 0 are flat."""
    return norm(jacobians(with_norm(1.5 / GAMMA, seed), seed, scale=40.0)[0]) > 1


BOUNDS: dict[str, tuple[Callable[[int], bool], bool]] = {
    "case-50": (shrinks, True), "case-50-radius": (shrinks_by_the_radius, False),
    "case-50-one-more": (shrinks_twice, False), "case-50-sufficient": (grows, False),
    "case-51-norms": (shrinks_in_front_of_a_row, True),
}
"""Inequalities about norms, and whether they hold at every point that is tried."""


@pytest.mark.parametrize("case", BOUNDS)
def test_bounds(case: str) -> None:
    bound, right = BOUNDS[case]
    assert all(map(bound, range(1, 21))) == right


def test_the_sweep_behind_the_bounds_is_the_jacobian() -> None:
    """Complex steps through the forward pass find ∂x_1/∂x_0 and so on, the last of them ∂x_T/∂x_{T-1}."""
    W, random = with_norm(3.0, 1), np.random.default_rng(1)
    x = random.normal(size=UNITS)
    data = {"u": np.zeros((1, UNITS, 3)), "y": np.zeros((1, UNITS, UNITS)), "x_0": x + 1e-30j * np.eye(UNITS)}
    params = {"W_rec": W, "W_in": np.zeros((UNITS, 3)), "b": np.zeros(UNITS)}
    by_step = program().forward(params, data)["x"][0].imag.T / 1e-30
    direct = {"x": np.eye(UNITS)[None]}
    data["x_0"] = np.repeat(x[None], UNITS, 0)
    swept = program().backward(params, data, program().forward(params, data), direct)[0]["x_0"]
    assert np.allclose(swept, by_step, rtol=1e-13, atol=1e-15)
