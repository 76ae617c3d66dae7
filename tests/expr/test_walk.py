"""Substitution that captures nothing, judged by evaluation."""

import random

import pytest
import sympy
from sympy import MatrixSymbol, Symbol

from symbptt.expr.build import children, rebuild
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Identity, Plus, Power, Product, Scale, Sum, Times, Transpose, Zero
from symbptt.expr.walk import free_indices, fresh, substitute, visit
from symbptt.proof.oracle import Oracle

h = Symbol("h")
F, f = MatrixSymbol("F", h, h), MatrixSymbol("f", h, 1)
i, j, k, m = map(IndexVar, "ijkm")
VARIABLES = (t, i, j, k)


def form(pick: random.Random, without=()) -> Index:
    return Index(pick.randint(-1, 2), [(v, 1) for v in VARIABLES if v not in without and pick.random() < 0.35])


def column(pick: random.Random, depth: int = 3):
    """A random column with nested binders that reuse names."""
    kind = pick.choice(["at", "sum", "product", "plus", "power", "scale"] if depth else ["at"])
    if kind == "sum":
        var = pick.choice((i, j, k))
        return Sum(column(pick, depth - 1), var, form(pick, [var]), form(pick, [var]))
    if kind == "product":
        var = pick.choice((i, j, k))
        return Times(Product(At(F, form(pick)), var, form(pick, [var]), form(pick, [var])), column(pick, depth - 1))
    if kind == "plus":
        return Plus(column(pick, depth - 1), column(pick, depth - 1))
    if kind == "power":
        return Times(Power(At(F, form(pick)), form(pick)), column(pick, depth - 1))
    if kind == "scale":
        return Scale(form(pick).to_expr(), column(pick, depth - 1))
    return At(f, form(pick))


@pytest.mark.parametrize("seed", range(60))
def test_substituting_is_evaluating_elsewhere(seed) -> None:
    pick, world = random.Random(seed), Oracle(seed=seed)
    e = column(pick)
    rule = {v: form(pick) for v in pick.sample(VARIABLES, 2)}
    times = {v: pick.randint(-1, 2) for v in VARIABLES}
    moved = {**times, **{v: r.const + sum(a * times[w] for w, a in r.terms) for v, r in rule.items()}}
    assert world.value(substitute(e, rule), times) == world.value(e, moved)


@pytest.mark.parametrize("seed", range(60))
def test_free_indices_are_those_that_matter(seed) -> None:
    pick = random.Random(seed)
    e, world = column(pick), Oracle(seed=seed)
    times = dict.fromkeys(free_indices(e), 1)
    world.value(e, times)
    for v in free_indices(e):
        left = free_indices(substitute(e, {v: Index(2)}))
        assert v not in left
        assert left <= free_indices(e) - {v}


def test_a_bound_index_steps_aside() -> None:
    e = substitute(Sum(At(f, index(i) + index(k)), i, 1, T), {k: index(i)})
    assert e.var != i
    assert free_indices(e) == {i, T}


def test_a_bound_index_steps_aside_for_its_bounds() -> None:
    e = substitute(Sum(At(f, i), i, 1, k), {k: index(i)})
    assert e.var != i
    assert e.hi == index(i)
    assert e.shape == (h, 1)


def test_a_new_name_stays_clear_of_everything() -> None:
    prime = IndexVar("i'")
    e = substitute(Sum(At(f, index(i) + index(k)), i, index(prime), T), {k: index(i)})
    assert e.var not in {i, prime}
    assert fresh("i", frozenset({i, prime})) == IndexVar("i''")


def test_a_bound_index_is_not_replaced() -> None:
    e = Sum(At(f, i), i, 1, index(i + 1).substitute({i: index(j)}))
    assert substitute(e, {i: Index(5)}) == e


def test_sizes_are_not_indices() -> None:
    n = IndexVar("n")
    assert free_indices(Zero(n, n)) == free_indices(Identity(n)) == frozenset()
    assert substitute(Zero(n, n), {n: Index(2)}) == Zero(n, n)


@pytest.mark.parametrize("e", [sympy.MatMul(F, F), sympy.ZeroMatrix(h, h), Plus(F, sympy.Transpose(F)), F * F])
def test_a_foreign_class_is_refused(e) -> None:
    with pytest.raises(TypeError, match="vocabulary"):
        free_indices(e)


def test_visit_meets_the_whole_first_and_every_part() -> None:
    e = Plus(Times(F, f), Scale(Symbol("a"), Transpose(Transpose(f))))
    found = list(visit(e))
    assert found[:4] == [e, e.args[0], F, f]
    assert len(found) == 8
    assert list(visit(Adjoint(At(f, t)))) == [Adjoint(At(f, t)), At(f, t)]


def test_rebuild_and_children() -> None:
    e = Sum(Times(F, At(f, i)), i, 1, T)
    assert children(e) == (e.body,)
    assert rebuild(e, (f,)) == Sum(f, i, 1, T)
    assert rebuild(e, ()) == e
    assert children(At(f, t)) == children(f) == ()
