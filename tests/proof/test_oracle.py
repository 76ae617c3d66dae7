"""The refuter itself: its field, its functions, and what it says of losses, masks and initial values."""

import subprocess
import sys
from itertools import pairwise

import pytest
import sympy
from sympy import MatrixSymbol, Symbol

from symbptt.bptt.backward import sweep
from symbptt.bptt.unroll import unroll
from symbptt.expr.build import apply, loss, scale
from symbptt.expr.index import Index, t
from symbptt.expr.nodes import ONE, Adjoint, At, Hadamard, Immediate, LossGradient, Ones, Plus, Sum, Tangent, Times
from symbptt.model.functions import ENTRYWISE
from symbptt.proof.elementary import Elementary, Z, compiled, sign
from symbptt.proof.field import (
    PRIME,
    SIGNS,
    Dual,
    MeaningError,
    added,
    bilinear,
    directions,
    filled,
    inverse,
    linear,
    multiplied,
    paired,
    quotient,
    scaled,
    total,
)
from symbptt.proof.oracle import Oracle

h = Symbol("h")
v, o, y = (MatrixSymbol(name, h, 1) for name in "voy")
POINTS = [Oracle().random((1, 1), "point", k)[0][0] for k in range(60)]


# The field. ----------------------------------------------------------------------------------------------------

def test_a_quotient_times_its_divisor_is_the_dividend() -> None:
    world = Oracle(seed=2)
    a = Dual(lambda: world.random((3, 1), "a"), (world.random((3, 1), "a'"),))
    s = Dual(lambda: world.random((1, 1), "s"), (world.random((1, 1), "s'"),))
    back = bilinear(multiplied, quotient(a, s), s)
    assert (back.value, back.tangents) == (a.value, a.tangents)


def test_a_sign_keeps_products_and_turns_with_the_number() -> None:
    for a, b in pairwise(POINTS):
        assert sign(a * b % PRIME) == sign(a) * sign(b) % PRIME
        assert sign(-a % PRIME) == -sign(a) % PRIME
        assert sign(2 * a % PRIME) == sign(a)
    assert sign(0) == 0
    assert {sign(a) for a in POINTS} == {1, PRIME - 1}


def test_the_tables_are_consistent() -> None:
    table = Elementary(3)
    for a in POINTS:
        exp, tanh = table.value("exp", a), table.value("tanh", a)
        assert exp * table.value("exp", -a % PRIME) % PRIME == 1
        assert table.value("sigmoid", a) * (1 + inverse(exp)) % PRIME == 1
        assert table.slope("tanh", a) == (1 - tanh * tanh) % PRIME
        assert table.slope("sin", a) == table.value("cos", a)
        assert table.value("abs", a) * sign(a) % PRIME == a
        assert table.value("relu", a) in (0, a)
    assert table.value("exp", 0) == 1
    assert Elementary(3).value("tanh", 5) == table.value("tanh", 5) != Elementary(4).value("tanh", 5)


@pytest.mark.parametrize("name", ENTRYWISE)
def test_every_piece_of_a_function_is_met(name) -> None:
    table, kinks = Elementary(1), ENTRYWISE[name].kinks
    if name in ("relu", "leaky_relu", "abs", "hard_tanh"):
        assert len({(table.slope(name, a), a == table.value(name, a)) for a in POINTS}) == 2
    for kink in kinks:
        assert table.slope(name, kink % PRIME) == compiled(sympy.Rational(ENTRYWISE[name].convention))(table.drawn, 0)


def test_largest_and_least() -> None:
    w = sympy.Symbol("w", real=True)
    largest = compiled(sympy.Max(Z, -Z))
    least = compiled(sympy.Min(Z, 0))
    for a in POINTS:
        assert largest(Elementary(1).drawn, a) == a * sign(a) % PRIME
        assert least(Elementary(1).drawn, a) == (a if sign(a) == PRIME - 1 else 0)
    for strange in (w, sympy.gamma(Z), sympy.sqrt(Z), Z**Z, sympy.Float(0.5), sympy.pi * Z):
        with pytest.raises(MeaningError):
            compiled(strange)


def test_a_derivative_at_a_jump_has_no_meaning() -> None:
    with pytest.raises(MeaningError):
        compiled(sympy.DiracDelta(Z))(Elementary(1).drawn, 0)
    with pytest.raises(MeaningError):
        Oracle().value(apply("no such function", v))


# Functions of a column and losses. ------------------------------------------------------------------------------------

def test_softmax_adds_up_to_one() -> None:
    ones = Times(Ones(ONE, h), apply("softmax", v))
    assert Oracle().value(ones) == ((1,),)
    assert Oracle().refutes(apply("softmax", v), apply("exp", v))


def test_gradients_of_losses_with_a_name() -> None:
    minus = Plus(o, scale(-1, y))
    entropy = loss("softmax_cross_entropy", o, y)
    assert Oracle().refutes(LossGradient(loss("squared_error", o, y), sympy.S.Zero), minus) is None
    assert Oracle().refutes(LossGradient(loss("squared_norm", o), sympy.S.Zero), Plus(o, o)) is None
    short = Plus(apply("softmax", o), scale(-1, y))
    assert Oracle().refutes(LossGradient(entropy, sympy.S.Zero), short)
    whole = Plus(Hadamard(Times(Ones(h, h), y), apply("softmax", o)), scale(-1, y))
    assert Oracle().refutes(LossGradient(entropy, sympy.S.Zero), whole) is None


# Models. ----------------------------------------------------------------------------------------------------

def test_the_sum_of_a_mask(named, oracle) -> None:
    model = named("masked_mean")
    mask, truth = At(model.families["m"], t), oracle(model, 4)
    (count,) = model.counts.values()
    letter = MatrixSymbol(count.name, 1, 1)
    assert truth.refutes(letter, Sum(mask, t, 1, 4)) is None
    assert truth.refutes(letter, Sum(mask, t, 1, 3))
    assert truth.number(count, {}) == truth.value(letter)[0][0]


def test_targets_add_up_to_one_only_where_it_is_assumed(named) -> None:
    model = named("last_cross_entropy")
    member = At(model.families["y"], Index(2))
    assert total(Oracle(model, 3, assumed=True).value(member)) == ((1,),)
    assert total(Oracle(model, 3).value(member)) != ((1,),)
    other = At(model.families["x"], Index(2))
    assert Oracle(model, 3, assumed=True).value(other) == Oracle(model, 3).value(other)


def test_a_computed_initial_value_follows_its_equation(named, oracle) -> None:
    model = named("computed_start")
    truth = oracle(model, 3)
    for equation in model.computed:
        assert truth.refutes(equation.left, equation.right) is None
        assert truth.refutes(equation.left, scale(-1, equation.right))


def test_a_gradient_is_what_the_objective_changes_by(model, oracle) -> None:
    """<∂L/∂θ, dθ> summed over the parameters is the change of L along dθ; the two sum in other orders."""
    truth = oracle(model, 2)
    moving = (*model.parameters, *model.static)
    sent = sum(paired(truth.gradient(p), truth.value(Tangent(p))) for p in moving) % PRIME
    last = {}
    for step in sweep(unroll(model, 2)).values():
        if type(step.left) is Adjoint and isinstance(step.target, At) and step.target.family.name in model.defined:
            last[step.target] = truth.gradient(step.target)
    direct = sum(paired(gradient, truth.value(Immediate(v))) for v, gradient in last.items()) % PRIME
    once = [q for q in model.losses if q.reduce == "once"]
    assert (direct == sent) is not bool(once)


def test_directions_are_told_apart() -> None:
    assert len(set(directions(2, 3))) == 6
    moved = linear(lambda a: scaled(3, a), Dual(lambda: filled(1, 2, 3), directions(2, 3)))
    assert added(*moved.tangents[:2]) == ((3, 3, 0), (0, 0, 0))


def test_each_process_has_a_prime_of_its_own() -> None:
    """A number that is 1 modulo the prime cannot be written into a text beforehand."""
    command = [sys.executable, "-c", "from symbptt.proof.field import PRIME; print(PRIME)"]
    drawn = {int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(2)}
    assert len(drawn | {PRIME}) == 3
    for p in drawn:
        assert sympy.isprime(p)
        assert 2**60 < p < 2**61
        assert {a: sympy.jacobi_symbol(a, p) for a in SIGNS} == SIGNS
        assert sympy.jacobi_symbol(-1, p) == -1
