"""Linear forms and the conditions that bound them."""

import pickle
import random

import pytest
from sympy import Integer, Rational, Symbol

from symbptt.expr.index import Index, IndexVar, T, index, nonnegative, t

i, j = IndexVar("i"), IndexVar("j")
it, iT, ii, ij = map(index, (t, T, i, j))


def value(form, world):
    return form.const + sum(a * world[v] for v, a in form.terms)


def test_arithmetic_agrees_with_numbers() -> None:
    world = {t: 7, T: 11, i: -3, j: 5}
    assert value(it - 1 + iT - ii, world) == 7 - 1 + 11 + 3
    assert value(5 - ii, world) == 8
    assert value(-(ii - ij), world) == 8
    assert value((ii + it).substitute({i: ij - 2, t: Index(4)}), world) == 5 - 2 + 4
    assert value((ii - it).substitute({i: it, t: ii}), world) == 7 + 3


def test_equal_forms_are_one() -> None:
    assert it + 1 - it == Index(1)
    assert ii + ij == ij + ii
    assert hash(ii + ij - ii) == hash(ij)
    assert Index(0, [(t, 2), (t, -1)]) == it
    assert {it + 1: "a"}[index(t + 1)] == "a"


def test_an_index_called_like_a_size_is_another_thing() -> None:
    assert IndexVar("h") != Symbol("h", integer=True)
    assert Symbol("h", integer=True, positive=True) not in (index(IndexVar("h"))).free_symbols


@pytest.mark.parametrize("wrong", [t / 2, t * i, t**2, Rational(1, 2), Symbol("n"), Symbol("n", integer=True) + t, "t",
                                   0.5, None])
def test_what_is_no_linear_form_is_refused(wrong) -> None:
    with pytest.raises(TypeError):
        index(wrong)


def test_forms_are_read_from_sympy() -> None:
    assert index(T + t - i) == iT + it - ii
    assert index(2 * (t - 1) - t) == it - 2
    assert index(Integer(3)) == Index(3)
    assert (it - 3).to_expr() == t - 3


def test_coefficients_are_whole_numbers() -> None:
    for wrong in ((0.5, ()), (0, [(t, 0.5)]), (0, [(Symbol("n"), 1)])):
        with pytest.raises((TypeError, ValueError)):
            Index(*wrong)


@pytest.mark.parametrize("form", [it, it - 1, iT + it - ii, Index(5), Index(10**9), ii + ii + 3], ids=str)
def test_forms_travel(form) -> None:
    assert pickle.loads(pickle.dumps(form)) == form
    assert index(form.to_expr()) == form


def test_nonnegative_is_sound() -> None:
    """Whatever it affirms holds at every point at which the hypotheses hold."""
    pick = random.Random(1)

    def form():
        return Index(pick.randint(-3, 3), [(v, pick.randint(-2, 2)) for v in pick.sample([t, T, i, j], 2)])

    affirmed = 0
    for _ in range(3000):
        goal, hypotheses = form(), [form() for _ in range(pick.randint(0, 4))]
        if nonnegative(goal, hypotheses):
            affirmed += 1
            for _ in range(30):
                world = {v: pick.randint(-6, 6) for v in (t, T, i, j)}
                if all(value(x, world) >= 0 for x in hypotheses):
                    assert value(goal, world) >= 0
    assert affirmed > 100


@pytest.mark.parametrize(("goal", "hypotheses"), [
    (iT - it, [iT - ii, ii - it]), (ii, [it - 1, ii - it]), (Index(0), []), (ii + ij, [ii, ij]),
    (iT + it - ii - it, [iT - ii]), (ii + ii - 2, [ii - 1]),
], ids=str)
def test_nonnegative_finds(goal, hypotheses) -> None:
    assert nonnegative(goal, hypotheses)


@pytest.mark.parametrize(("goal", "hypotheses"), [
    (ii, []), (ii, [ij]), (ii - 1, [ii]), (-ii, [ii]), (Index(-1), [ii]), (iT - it, [iT - ii, it - ii]),
], ids=str)
def test_nonnegative_affirms_nothing_else(goal, hypotheses) -> None:
    assert not nonnegative(goal, hypotheses)
