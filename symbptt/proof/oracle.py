"""The independent refuter: exact arithmetic modulo the prime 2⁶¹ - 1, at random sizes and random entries.

It shares no code with the rule table, the sweeps, the closed forms or the prover. Expressions are evaluated by their
meaning; gradients come from forward-mode dual numbers through the equations of the model. An opaque loss contributes
<∂ℓ/∂o_t, do_t> with random columns that stand for ∂ℓ/∂o_t.

What it refutes is false. What it does not refute may be false still, but hardly: two sides that differ as polynomials
of degree n in their entries agree at one random point with probability at most n / (2⁶¹ - 1), less than n · 5 · 10⁻¹⁹
(Schwartz 1980, Zippel 1979). Sizes and T are tried at a few values only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from operator import mul
from random import Random
from typing import Any, TypeAlias

from sympy import Add, Expr, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar, T, t
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.walk import free_indices
from symbptt.model.spec import Equation, LossTerm, Model
from symbptt.proof.statement import Definition

PRIME = 2**61 - 1
SIZES = range(3, 8)
LARGEST = 1000
"""The longest sum or product that is evaluated."""

Array: TypeAlias = tuple[tuple[int, ...], ...]
"""A matrix by rows, entries from 0 to PRIME - 1."""

Valuation: TypeAlias = Mapping[IndexVar, int]
"""A value for every index variable."""

Variable: TypeAlias = tuple[str, int | None]
"""A parameter (its name, None) or the member of a family (its name, a time)."""


class MeaningError(TypeError):
    """The expression holds something that has no meaning here."""


@dataclass(frozen=True)
class Dual:
    """value + ε · tangent with ε² = 0; a tangent that is zero is None, a value is computed when it is asked for."""

    compute: Callable[[], Array]
    tangent: Array | None = None

    @cached_property
    def value(self) -> Array:
        """The value."""
        return self.compute()


@dataclass(frozen=True)
class Counterexample:
    """Where two sides differ: the values of the index variables, the entry, and what stands there on either side.

    Without an entry the shapes differ, and left and right are these.
    """

    steps: int
    seed: int
    sizes: Mapping[str, int]
    times: Mapping[str, int]
    entry: tuple[int, int] | None
    left: object
    right: object

    def __str__(self) -> str:
        said = [f"{name} = {value}" for name, value in {"T": self.steps, **self.times, **self.sizes}.items()]
        what = "the shape" if self.entry is None else f"entry {self.entry}"
        return f"for {', '.join(said)} {what} is {self.left} on the left and {self.right} on the right"


# Arithmetic on arrays and dual numbers ----------------------------------------------------------------

def added(a: Array, b: Array) -> Array:
    """The sum a + b."""
    return tuple(tuple((x + y) % PRIME for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True))


def multiplied(a: Array, b: Array) -> Array:
    """The matrix product a b."""
    columns = list(zip(*b, strict=True))
    if len(a[0]) != len(b):
        raise MeaningError(f"a matrix of {len(a[0])} columns times one of {len(b)} rows")
    return tuple(tuple(sum(map(mul, row, column)) % PRIME for column in columns) for row in a)


def scaled(c: int, a: Array) -> Array:
    """The multiple c a."""
    return tuple(tuple(c * x % PRIME for x in row) for row in a)


def turned(a: Array) -> Array:
    """The transpose of a."""
    return tuple(zip(*a, strict=True))


def zeros(rows: int, columns: int) -> Array:
    """The zero matrix."""
    return ((0,) * columns,) * rows


def unit(size: int) -> Array:
    """The identity matrix."""
    return tuple(tuple(int(a == b) for b in range(size)) for a in range(size))


def paired(a: Array, b: Array) -> int:
    """<a, b> = tr(aᵀ b)."""
    return sum(x * y for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)) % PRIME


def _both(a: Array | None, b: Array | None) -> Array | None:
    return added(a, b) if a is not None and b is not None else a if b is None else b


def _plus(a: Dual, b: Dual) -> Dual:
    return Dual(lambda: added(a.value, b.value), _both(a.tangent, b.tangent))


def _times(a: Dual, b: Dual) -> Dual:
    """(a + ε a')(b + ε b') = a b + ε (a' b + a b')."""
    first = None if a.tangent is None else multiplied(a.tangent, b.value)
    second = None if b.tangent is None else multiplied(a.value, b.tangent)
    return Dual(lambda: multiplied(a.value, b.value), _both(first, second))


def _linear(f: Callable[[Array], Array], a: Dual) -> Dual:
    return Dual(lambda: f(a.value), None if a.tangent is None else f(a.tangent))


def _constant(a: Array) -> Dual:
    return Dual(lambda: a)


# Evaluation ----------------------------------------------------------------

class _Run:
    """Evaluates expressions as dual numbers; `leaf` gives the value and tangent of every variable."""

    def __init__(self, oracle: Oracle, leaf: Callable[[Variable, Matrix], Dual]) -> None:
        self.oracle, self.leaf = oracle, leaf

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
        return reduce(_plus, (self.dual(a, times) for a in e.args))

    def times(self, e: nodes.Times, times: Valuation) -> Dual:
        return reduce(_times, (self.dual(a, times) for a in e.args))

    def scale(self, e: nodes.Scale, times: Valuation) -> Dual:
        c = self.oracle.number(e.args[0], times)
        return _linear(lambda a: scaled(c, a), self.dual(e.args[1], times))

    def multiple(self, e: nodes.Multiple, times: Valuation) -> Dual:
        s, a = (self.dual(b, times) for b in e.args)
        return _times(_linear(lambda b: scaled(b[0][0], unit(len(a.value))), s), a)

    def transpose(self, e: nodes.Transpose, times: Valuation) -> Dual:
        return _linear(turned, self.dual(e.args[0], times))

    def zero(self, e: nodes.Zero, _times: Valuation) -> Dual:
        return _constant(zeros(*self.oracle.shape(e)))

    def identity(self, e: nodes.Identity, _times: Valuation) -> Dual:
        return _constant(unit(self.oracle.shape(e)[0]))

    def power(self, e: nodes.Power, times: Valuation) -> Dual:
        count = _number(e.args[1], times)
        return self._multiplied(e, [times] * count, count)

    def sum(self, e: nodes.Sum, times: Valuation) -> Dual:
        lo, hi = _number(e.lo, times), _number(e.hi, times)
        _limit(hi - lo)
        bodies = (self.dual(e.body, {**times, e.var: k}) for k in range(lo, hi + 1))
        return reduce(_plus, bodies, _constant(zeros(*self.oracle.shape(e))))

    def product(self, e: nodes.Product, times: Valuation) -> Dual:
        lo, hi = _number(e.lo, times), _number(e.hi, times)
        return self._multiplied(e, [{**times, e.var: k} for k in range(lo, hi + 1)], hi - lo + 1)

    def _multiplied(self, e: nodes.Power | nodes.Product, places: list[Valuation], count: int) -> Dual:
        """What is multiplied up; an unknown matrix for a negative count, which tells nothing of the factors."""
        _limit(count)
        size = self.oracle.shape(e)[0]
        if count < 0:
            return _constant(self.oracle.random((size, size), type(e).__name__, count))
        return reduce(_times, (self.dual(e.args[0], at) for at in places), _constant(unit(size)))

    def block(self, e: nodes.Block, times: Valuation) -> Dual:
        rows = [[self.dual(a, times) for a in row] for row in e.rows]
        still = all(a.tangent is None for row in rows for a in row)
        return Dual(lambda: _joined([[a.value for a in row] for row in rows]),
                    None if still else _joined([[_tangent(a) for a in row] for row in rows]))

    def loss(self, e: nodes.Loss, times: Valuation) -> Dual:
        values = [self.dual(a, times).value for a in e.args[1:]]
        return _constant(self.oracle.random((1, 1), "loss", e.name, values))

    def loss_gradient(self, e: nodes.LossGradient, times: Valuation) -> Dual:
        loss, place = e.args
        values = [self.dual(a, times).value for a in loss.args[1:]]
        return _constant(self.oracle.loss_gradient(loss.name, int(place), values))

    def at(self, e: At, times: Valuation) -> Dual:
        return self.leaf((e.family.name, _number(e.time, times)), e)

    def symbol(self, e: MatrixSymbol, _times: Valuation) -> Dual:
        return self.leaf((e.name, None), e)

    def adjoint(self, e: nodes.Adjoint, times: Valuation) -> Dual:
        return _constant(self.oracle.gradient_at(_variable(e.of, times), e.of))

    def direct(self, e: nodes.Direct, times: Valuation) -> Dual:
        return _constant(self.oracle.direct_at(_variable(e.of, times), e.of))

    def chain(self, e: nodes.Chain, times: Valuation) -> Dual:
        through, time = e.through.family.name, _number(e.through.time, times)
        return _constant(self.oracle.through_at(through, time, _variable(e.of, times), e.of))


MEANING: dict[type, Callable[[_Run, Any, Valuation], Dual]] = {
    nodes.Plus: _Run.plus, nodes.Times: _Run.times, nodes.Scale: _Run.scale, nodes.Multiple: _Run.multiple,
    nodes.Transpose: _Run.transpose, nodes.Zero: _Run.zero, nodes.Identity: _Run.identity, nodes.Power: _Run.power,
    nodes.Sum: _Run.sum, nodes.Product: _Run.product, nodes.Block: _Run.block, nodes.Loss: _Run.loss,
    nodes.LossGradient: _Run.loss_gradient, At: _Run.at, MatrixSymbol: _Run.symbol, nodes.Adjoint: _Run.adjoint,
    nodes.Direct: _Run.direct, nodes.Chain: _Run.chain,
}
"""What each class of the vocabulary means."""


def _number(form: Index, times: Valuation) -> int:
    try:
        return form.const + sum(a * times[v] for v, a in form.terms)
    except KeyError as error:
        raise MeaningError(f"no value is known for the index {error.args[0]}") from None


def _variable(e: Matrix, times: Valuation) -> Variable:
    if type(e) is At:
        return e.family.name, _number(e.time, times)
    if isinstance(e, MatrixSymbol):
        return e.name, None
    raise MeaningError(f"{e} is no variable")


def _limit(length: int) -> None:
    if length > LARGEST:
        raise MeaningError(f"a sum or product of {length} terms is too long")


def _tangent(a: Dual) -> Array:
    return a.tangent if a.tangent is not None else zeros(len(a.value), len(a.value[0]))


def _joined(rows: list[list[Array]]) -> Array:
    """A block matrix, row by row."""
    return tuple(tuple(x for part in parts for x in part) for row in rows for parts in zip(*row, strict=True))


# The truth about a model ----------------------------------------------------------------

class Oracle:
    """A model at one random point, for one T: random sizes, parameters, data and loss gradients, all drawn from `seed`.

    Symbols that the model does not know have random values too, so that laws of algebra can be tried without a model.
    `letters` are abbreviations such as K_t; where they stand, their right-hand side is evaluated.
    """

    def __init__(self, model: Model | None = None, steps: int = 4, seed: int = 0,
                 letters: Iterable[Definition] = ()) -> None:
        self.model, self.steps, self.seed = model, steps, seed
        self.letters = {_head(d.left): d.right for d in letters if d.lo is None and type(d.left) in (At, MatrixSymbol)}
        self.sizes: dict[str, int] = {}
        drawn = list(SIZES)
        Random(f"{seed} sizes").shuffle(drawn)
        self._free_sizes = iter([*drawn, *range(SIZES.stop, 1000)])
        self._values: dict[Variable, Array] = {}
        self._gradients: dict[Variable, Array] = {}
        self._plain = _Run(self, lambda variable, e: _constant(self._value_of(variable, e)))
        for size in model.sizes if model is not None else ():
            self.size(size.symbol)

    # What expressions are worth.

    def value(self, e: Matrix, times: Valuation | None = None) -> Array:
        """The value of an expression; `times` gives every free index variable but T, which is the number of steps.

        Raises:
            MeaningError: it has none.
        """
        return self._plain.dual(e, {T: self.steps, **(times or {})}).value

    def gradient(self, variable: Matrix, times: Valuation | None = None) -> Array:
        """∂L/∂v of a parameter or a family member, by dual numbers, one direction for each entry."""
        return self.gradient_at(_variable(variable, {T: self.steps, **(times or {})}), variable)

    def refutes(self, left: Matrix, right: Matrix, hypotheses: Iterable[Index] = ()) -> Counterexample | None:
        """A valuation of the index variables, from -1 to T + 3 each, under which the two sides differ.

        `hypotheses` are forms that must be ≥ 0; T is the number of steps. None means that no valuation was found.
        """
        if self.shape(left) != self.shape(right):
            return self._counterexample({}, None, self.shape(left), self.shape(right))
        for times in self.valuations((left, right), hypotheses):
            a, b = self.value(left, times), self.value(right, times)
            if a != b:
                p, q = next((p, q) for p, row in enumerate(a) for q, x in enumerate(row) if x != b[p][q])
                return self._counterexample(times, (p, q), a[p][q], b[p][q])
        return None

    def valuations(self, sides: Iterable[Matrix], hypotheses: Iterable[Index] = ()) -> Iterator[Valuation]:
        """Every choice of the free index variables that satisfies the hypotheses."""
        wanted = tuple(hypotheses)
        names = sorted({v for e in (*sides, *wanted) for v in free_indices(e)} - {T}, key=str)
        for numbers in product(range(-1, self.steps + 4), repeat=len(names)):
            times = dict(zip(names, numbers, strict=True))
            if all(_number(form, {T: self.steps, **times}) >= 0 for form in wanted):
                yield times

    # Where random numbers come from.

    def random(self, shape: tuple[int, int], *key: object) -> Array:
        """A matrix that depends on nothing but the seed and the key."""
        source = Random(f"{self.seed} {shape} {key!r}")
        return tuple(tuple(source.randrange(PRIME) for _ in range(shape[1])) for _ in range(shape[0]))

    def loss_gradient(self, name: str, place: int, values: list[Array]) -> Array:
        """∂ℓ/∂(argument `place`) where the arguments have those values."""
        return self.random((len(values[place]), len(values[place][0])), "loss gradient", name, place, values)

    def size(self, e: Expr) -> int:
        """A size as a number: all different, from 3 to 7 while these last."""
        if isinstance(e, Symbol):
            if e.name not in self.sizes:
                self.sizes[e.name] = next(self._free_sizes)
            return self.sizes[e.name]
        if isinstance(e, Add | Mul):
            return reduce(int.__add__ if isinstance(e, Add) else int.__mul__, map(self.size, e.args))
        if isinstance(e, Integer | int):
            return int(e)
        raise MeaningError(f"{e} is no size")

    def shape(self, e: Matrix) -> tuple[int, int]:
        """The shape of an expression as numbers."""
        rows, columns = e.shape
        return self.size(rows), self.size(columns)

    def number(self, c: Expr, times: Valuation) -> int:
        """A scalar modulo the prime; constants of the model have random values, whole numbers are sizes.

        Raises:
            MeaningError: it is no quotient of polynomials, or a denominator is zero.
        """
        if isinstance(c, Rational):
            return int(c.p) * _inverse(int(c.q)) % PRIME
        if isinstance(c, IndexVar):
            return _number(Index(0, [(c, 1)]), times) % PRIME
        if isinstance(c, Symbol):
            return self.size(c) if c.is_integer else self.random((1, 1), "constant", c.name)[0][0]
        if isinstance(c, Add):
            return sum(self.number(a, times) for a in c.args) % PRIME
        if isinstance(c, Mul):
            return reduce(lambda a, b: a * b % PRIME, (self.number(a, times) for a in c.args))
        if isinstance(c, Pow) and isinstance(c.exp, Integer):
            base, exponent = self.number(c.base, times), int(c.exp)
            return pow(base if exponent >= 0 else _inverse(base), abs(exponent), PRIME)
        raise MeaningError(f"{c} is no scalar")

    # Gradients.

    def gradient_at(self, variable: Variable, e: Matrix) -> Array:
        """∂L/∂v in the shape of v; zero past T."""
        if variable not in self._gradients:
            self._gradients[variable] = self._entries(e, lambda d: self._derivative(variable, d))
        return self._gradients[variable]

    def direct_at(self, variable: Variable, e: Matrix) -> Array:
        """∂⁺L/∂v: only losses that read v itself count."""
        return self._entries(e, lambda direction: self._objective(self._seeded(variable, direction)))

    def through_at(self, name: str, time: int, variable: Variable, e: Matrix) -> Array:
        """What L owes to v through the equation of u at `time`: <∂L/∂u, ∂⁺u/∂v · direction>."""
        equation = self._equation((name, time))
        if equation is None or time > self.steps:
            return zeros(*self.shape(e))
        sent = self.gradient_at((name, time), equation.left)

        def owed(direction: Array) -> int:
            step = self._seeded(variable, direction).dual(equation.right, {T: self.steps, t: time})
            return paired(sent, _tangent(step))

        return self._entries(e, owed)

    def _entries(self, e: Matrix, along: Callable[[Array], int]) -> Array:
        """The matrix whose entries are the derivatives along the unit matrices."""
        rows, columns = self.shape(e)

        def direction(p: int, q: int) -> Array:
            return tuple(tuple(int((a, b) == (p, q)) for b in range(columns)) for a in range(rows))

        return tuple(tuple(along(direction(p, q)) for q in range(columns)) for p in range(rows))

    def _derivative(self, variable: Variable, direction: Array) -> int:
        """DL along a direction of one variable: dual numbers through every equation that comes after it."""
        found: dict[Variable, Dual] = {}

        def leaf(here: Variable, e: Matrix) -> Dual:
            if here not in found:
                found[here] = Dual(lambda: self._value_of(here, e), self._tangent_of(here, variable, direction, run))
            return found[here]

        run = _Run(self, leaf)
        return self._objective(run)

    def _tangent_of(self, here: Variable, variable: Variable, direction: Array, run: _Run) -> Array | None:
        time, equation = here[1], self._equation(here)
        if here == variable:
            return direction
        if equation is None or time is None or not (variable[1] or 1) <= time <= self.steps:
            return None
        return run.dual(equation.right, {T: self.steps, t: time}).tangent

    def _seeded(self, variable: Variable, direction: Array) -> _Run:
        """A run in which nothing but the variable itself varies."""
        return _Run(self, lambda here, e: Dual(lambda: self._value_of(here, e),
                                               direction if here == variable else None))

    def _objective(self, run: _Run) -> int:
        """The tangent of L = Σ weight Σ_t ℓ(…), targets held fixed."""
        if self.model is None:
            raise MeaningError("there is no model, hence no objective")
        return sum(self._sent(run, term, time) for term in self.model.losses
                   for time in range(1, self.steps + 1)) % PRIME

    def _sent(self, run: _Run, term: LossTerm, time: int) -> int:
        weight = self.number(term.weight, {}) * (_inverse(self.steps) if term.reduce == "mean" else 1)
        arguments = [run.dual(a, {T: self.steps, t: time}) for a in term.loss.args[1:]]
        if all(a.tangent is None for a in arguments):
            return 0
        values = [a.value for a in arguments]
        return weight * sum(paired(self.loss_gradient(term.loss.name, k, values), a.tangent)
                            for k, a in enumerate(arguments) if a.tangent is not None)

    # Values of variables.

    def _value_of(self, variable: Variable, e: Matrix) -> Array:
        if variable not in self._values:
            name, time = variable
            equation = self._equation(variable)
            right = equation.right if equation is not None else self.letters.get((name, time is not None))
            self._values[variable] = self.random(self.shape(e), "variable", *variable) if right is None \
                else self.value(right, {} if time is None else {t: time})
        return self._values[variable]

    def _equation(self, variable: Variable) -> Equation | None:
        """The equation that defines a variable; none for parameters, for data and before the first step."""
        name, time = variable
        return self.model.defined.get(name) if self.model is not None and time is not None and time >= 1 else None

    def _counterexample(self, times: Valuation, entry: tuple[int, int] | None, left: object,
                        right: object) -> Counterexample:
        named = {str(v): k for v, k in times.items()}
        return Counterexample(self.steps, self.seed, dict(self.sizes), named, entry, left, right)


def _head(left: Matrix) -> tuple[str, bool]:
    return (left.family.name, True) if type(left) is At else (left.name, False)


def _inverse(a: int) -> int:
    if a % PRIME == 0:
        raise MeaningError("division by zero")
    return pow(a, -1, PRIME)
