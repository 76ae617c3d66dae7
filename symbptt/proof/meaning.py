"""What each class of the vocabulary means, as a dual number modulo a prime.

No rule of differentiation but those of dual numbers stands here: sums, products, quotients, and the slope of a function
of one number, which SymPy derives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Protocol, TypeAlias

from sympy import Expr, MatrixSymbol

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar
from symbptt.expr.nodes import At, Matrix
from symbptt.proof.elementary import Elementary
from symbptt.proof.field import (
    PRIME,
    Array,
    Dual,
    MeaningError,
    arranged,
    beside,
    bilinear,
    constant,
    diagonal,
    directions,
    entrywise,
    filled,
    inverse,
    linear,
    multiplied,
    paired,
    plus,
    quotient,
    scaled,
    total,
    turned,
    unit,
    weighed,
    zeros,
)

LARGEST = 1000
"""The longest sum or product that is evaluated."""

Valuation: TypeAlias = Mapping[IndexVar, int]
"""A value for every index variable."""

Variable: TypeAlias = tuple[str, int | None]
"""A parameter (its name, None) or the member of a family (its name, a time)."""


class World(Protocol):
    """Where sizes, numbers and gradients come from."""

    functions: Elementary

    def shape(self, e: Matrix) -> tuple[int, int]:
        """The shape of an expression as numbers."""

    def number(self, c: Expr, times: Valuation) -> int:
        """A scalar."""

    def random(self, shape: tuple[int, int], *key: object) -> Array:
        """A matrix that depends on nothing but the key."""

    def gradient_at(self, variable: Variable, e: Matrix) -> Array:
        """∂L/∂v."""

    def direct_at(self, variable: Variable, e: Matrix) -> Array:
        """∂⁺L/∂v."""

    def tangent_at(self, variable: Variable, e: Matrix) -> Array:
        """What a change of the parameters along one direction changes in v."""

    def immediate_at(self, variable: Variable, e: Matrix) -> Array:
        """What it changes in v through the equation of v alone, all else that it reads held fixed."""

    def through_at(self, through: Variable, variable: Variable, e: Matrix) -> Array:
        """What L owes to v through u."""


class Run:
    """Evaluates expressions as dual numbers; `leaf` gives the value and tangents of every variable."""

    def __init__(self, world: World, leaf: Callable[[Variable, Matrix], Dual]) -> None:
        self.world, self.leaf = world, leaf

    def dual(self, e: Matrix, times: Valuation) -> Dual:
        """The value of an expression.

        Raises:
            MeaningError: it has none.
        """
        evaluate = MEANING.get(type(e))
        if evaluate is None:
            raise MeaningError(f"{type(e).__name__} has no meaning: {e}")
        return evaluate(self, e, times)

    def plus(self, e: nodes.Plus, times: Valuation) -> Dual:
        return plus(*[self.dual(a, times) for a in e.args])

    def times(self, e: nodes.Times, times: Valuation) -> Dual:
        return reduce(_product, (self.dual(a, times) for a in e.args))

    def hadamard(self, e: nodes.Hadamard, times: Valuation) -> Dual:
        return reduce(lambda a, b: bilinear(weighed, a, b), (self.dual(a, times) for a in e.args))

    def apply(self, e: nodes.Apply, times: Valuation) -> Dual:
        name, a, functions = str(e.args[0]), self.dual(e.args[1], times), self.world.functions
        if name in MIXING:
            return MIXING[name](functions, a)
        return entrywise(lambda x: functions.value(name, x), lambda x: functions.slope(name, x), a)

    def diagonal(self, e: nodes.Diagonal, times: Valuation) -> Dual:
        return linear(diagonal, self.dual(e.args[0], times))

    def scale(self, e: nodes.Scale, times: Valuation) -> Dual:
        c = self.world.number(e.args[0], times)
        return linear(lambda a: scaled(c, a), self.dual(e.args[1], times))

    def multiple(self, e: nodes.Multiple, times: Valuation) -> Dual:
        s, a = (self.dual(b, times) for b in e.args)
        return bilinear(lambda x, y: scaled(x[0][0], y), s, a)

    def transpose(self, e: nodes.Transpose, times: Valuation) -> Dual:
        return linear(turned, self.dual(e.args[0], times))

    def zero(self, e: nodes.Zero, _times: Valuation) -> Dual:
        return constant(zeros(*self.world.shape(e)))

    def ones(self, e: nodes.Ones, _times: Valuation) -> Dual:
        return constant(filled(1, *self.world.shape(e)))

    def identity(self, e: nodes.Identity, _times: Valuation) -> Dual:
        return constant(unit(self.world.shape(e)[0]))

    def delta(self, e: nodes.Delta, times: Valuation) -> Dual:
        return constant(filled(int(value_of(e.args[0], times) == value_of(e.args[1], times)), 1, 1))

    def norm(self, e: nodes.Norm, times: Valuation) -> Dual:
        """The trivial norm, 0 for the zero matrix and 1 for any other: the laws of norms hold for it over any field."""
        return constant(filled(int(any(map(any, self.dual(e.args[0], times).value))), 1, 1))

    def maximum(self, e: nodes.Maximum, times: Valuation) -> Dual:
        """The larger of two residues, as whole numbers from 0 to p - 1."""
        return constant(max(self.dual(a, times).value for a in e.args))

    def power(self, e: nodes.Power, times: Valuation) -> Dual:
        count = value_of(e.args[1], times)
        return self._multiplied(e, [times] * count, count)

    def sum(self, e: nodes.Sum, times: Valuation) -> Dual:
        lo, hi = value_of(e.lo, times), value_of(e.hi, times)
        _limit(hi - lo)
        bodies = (self.dual(e.body, {**times, e.var: k}) for k in range(lo, hi + 1))
        return plus(constant(zeros(*self.world.shape(e))), *bodies)

    def product(self, e: nodes.Product, times: Valuation) -> Dual:
        lo, hi = value_of(e.lo, times), value_of(e.hi, times)
        return self._multiplied(e, [{**times, e.var: k} for k in range(lo, hi + 1)], hi - lo + 1)

    def _multiplied(self, e: nodes.Power | nodes.Product, places: list[Valuation], count: int) -> Dual:
        """What is multiplied up; an unknown matrix for a negative count, which tells nothing of the factors."""
        _limit(count)
        size = self.world.shape(e)[0]
        if count < 0:
            return constant(self.world.random((size, size), type(e).__name__, count))
        return reduce(_product, (self.dual(e.args[0], at) for at in places), constant(unit(size)))

    def block(self, e: nodes.Block, times: Valuation) -> Dual:
        return beside([[self.dual(a, times) for a in row] for row in e.rows])

    def loss(self, e: nodes.Loss, times: Valuation) -> Dual:
        return self._loss(e.name, [self.dual(a, times) for a in e.args[1:]])

    def _loss(self, name: str, arguments: list[Dual]) -> Dual:
        """A loss by its meaning; an opaque one has a random value and random gradients at every place."""
        if name in NAMED:
            return NAMED[name](self.world.functions, *arguments)
        moving = [(k, a) for k, a in enumerate(arguments) if a.tangents is not None]

        def value() -> Array:
            return self.world.random((1, 1), "loss", name, [a.value for a in arguments])

        if not moving:
            return Dual(value)
        sent = {k: self._opaque_gradient(name, k, arguments) for k, _ in moving}
        count = len(moving[0][1].tangents or ())
        return Dual(value, tuple(filled(sum(paired(sent[k], (a.tangents or ())[n]) for k, a in moving) % PRIME, 1, 1)
                                 for n in range(count)))

    def _opaque_gradient(self, name: str, place: int, arguments: list[Dual]) -> Array:
        """∂ℓ/∂(argument `place`) where the arguments have those values."""
        values = [a.value for a in arguments]
        return self.world.random((len(values[place]), len(values[place][0])), "loss gradient", name, place, values)

    def loss_gradient(self, e: nodes.LossGradient, times: Valuation) -> Dual:
        name, place = e.args[0].name, int(e.args[1])
        arguments = [constant(self.dual(a, times).value) for a in e.args[0].args[1:]]
        if name not in NAMED:
            return constant(self._opaque_gradient(name, place, arguments))
        here = arguments[place].value
        rows, columns = len(here), len(here[0])
        arguments[place] = Dual(lambda: here, directions(rows, columns))
        slopes = self._loss(name, arguments).tangents or ()
        return constant(arranged([slope[0][0] for slope in slopes], rows, columns))

    def at(self, e: At, times: Valuation) -> Dual:
        return self.leaf((e.family.name, value_of(e.time, times)), e)

    def symbol(self, e: MatrixSymbol, _times: Valuation) -> Dual:
        return self.leaf((e.name, None), e)

    def adjoint(self, e: nodes.Adjoint, times: Valuation) -> Dual:
        return constant(self.world.gradient_at(variable(e.of, times), e.of))

    def direct(self, e: nodes.Direct, times: Valuation) -> Dual:
        return constant(self.world.direct_at(variable(e.of, times), e.of))

    def tangent(self, e: nodes.Tangent, times: Valuation) -> Dual:
        return constant(self.world.tangent_at(variable(e.of, times), e.of))

    def immediate(self, e: nodes.Immediate, times: Valuation) -> Dual:
        return constant(self.world.immediate_at(variable(e.of, times), e.of))

    def chain(self, e: nodes.Chain, times: Valuation) -> Dual:
        return constant(self.world.through_at(variable(e.through, times), variable(e.of, times), e.of))


MEANING: dict[type, Callable[[Run, Any, Valuation], Dual]] = {
    nodes.Plus: Run.plus, nodes.Times: Run.times, nodes.Hadamard: Run.hadamard, nodes.Apply: Run.apply,
    nodes.Diagonal: Run.diagonal, nodes.Scale: Run.scale, nodes.Multiple: Run.multiple,
    nodes.Transpose: Run.transpose, nodes.Zero: Run.zero, nodes.Ones: Run.ones, nodes.Identity: Run.identity,
    nodes.Delta: Run.delta, nodes.Norm: Run.norm, nodes.Maximum: Run.maximum,
    nodes.Power: Run.power, nodes.Sum: Run.sum, nodes.Product: Run.product,
    nodes.Block: Run.block, nodes.Loss: Run.loss, nodes.LossGradient: Run.loss_gradient, At: Run.at,
    MatrixSymbol: Run.symbol, nodes.Adjoint: Run.adjoint, nodes.Direct: Run.direct,
    nodes.Tangent: Run.tangent, nodes.Immediate: Run.immediate, nodes.Chain: Run.chain,
}
"""What each class of the vocabulary means."""


# Functions and losses with a name ----------------------------------------------------------------

def _product(a: Dual, b: Dual) -> Dual:
    return bilinear(multiplied, a, b)


def _minus(a: Dual) -> Dual:
    return linear(lambda x: scaled(PRIME - 1, x), a)


def _exponentials(functions: Elementary, v: Dual) -> tuple[Dual, Dual]:
    """exp(v) and the sum of its entries."""
    powers = entrywise(lambda x: functions.value("exp", x), lambda x: functions.value("exp", x), v)
    return powers, linear(total, powers)


def _softmax(functions: Elementary, v: Dual) -> Dual:
    """exp(v) / Σ exp(v)."""
    return quotient(*_exponentials(functions, v))


def _log_softmax(functions: Elementary, v: Dual) -> Dual:
    """v - log Σ exp(v)."""
    s = _exponentials(functions, v)[1]
    log = entrywise(lambda x: functions.drawn("log", x), inverse, s)
    return plus(v, _minus(linear(lambda x: filled(x[0][0], len(v.value), 1), log)))


def _squared_error(_functions: Elementary, o: Dual, y: Dual) -> Dual:
    """½ Σ (o - y)²."""
    return linear(lambda x: scaled(inverse(2), x), _squared_norm(_functions, plus(o, _minus(y))))


def _cross_entropy(functions: Elementary, o: Dual, y: Dual) -> Dual:
    """-Σ_j y_j log softmax(o)_j."""
    return _minus(linear(total, bilinear(weighed, y, _log_softmax(functions, o))))


def _squared_norm(_functions: Elementary, w: Dual) -> Dual:
    """Σ w²."""
    return linear(total, bilinear(weighed, w, w))


MIXING: dict[str, Callable[[Elementary, Dual], Dual]] = {"softmax": _softmax, "log_softmax": _log_softmax}
"""The functions of a column that mix its entries."""

NAMED: dict[str, Callable[..., Dual]] = {
    "squared_error": _squared_error, "softmax_cross_entropy": _cross_entropy, "squared_norm": _squared_norm}
"""The losses that are not opaque."""


# Indices ----------------------------------------------------------------

def value_of(form: Index, times: Valuation) -> int:
    """An index form as a number.

    Raises:
        MeaningError: a variable in it has no value.
    """
    try:
        return form.const + sum(a * times[v] for v, a in form.terms)
    except KeyError as error:
        raise MeaningError(f"no value is known for the index {error.args[0]}") from None


def variable(e: Matrix, times: Valuation) -> Variable:
    """What a parameter or a family member is called.

    Raises:
        MeaningError: it is neither.
    """
    if type(e) is At:
        return e.family.name, value_of(e.time, times)
    if isinstance(e, MatrixSymbol):
        return e.name, None
    raise MeaningError(f"{e} is no variable")


def _limit(length: int) -> None:
    if length > LARGEST:
        raise MeaningError(f"a sum or product of {length} terms is too long")
