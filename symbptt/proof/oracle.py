"""The independent refuter: exact arithmetic modulo the prime 2⁶¹ - 1, at random sizes and random entries.

It shares no code with the rule table, the sweeps, the closed forms or the prover. Expressions are evaluated by their
meaning; gradients come from forward-mode dual numbers through the equations of the model. An opaque loss contributes
<∂ℓ/∂o_t, do_t> with random columns that stand for ∂ℓ/∂o_t, a loss with a name its own derivative.

What it refutes is false. What it does not refute may be false still, but hardly: two sides that differ as polynomials
of degree n in their entries agree at one random point with probability at most n / (2⁶¹ - 1), less than n · 5 · 10⁻¹⁹
(Schwartz 1980, Zippel 1979). Sizes and T are tried at a few values only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from random import Random

from sympy import Add, Expr, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol

from symbptt.expr.index import Index, IndexVar, T, t
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.walk import free_indices
from symbptt.model.spec import Equation, LossTerm, Model
from symbptt.proof.elementary import Elementary
from symbptt.proof.field import (
    PRIME,
    Array,
    Dual,
    MeaningError,
    Tangents,
    arranged,
    constant,
    directions,
    inverse,
    linear,
    paired,
    plus,
    scaled,
    zeros,
)
from symbptt.proof.meaning import Run, Valuation, Variable, value_of, variable
from symbptt.proof.statement import Definition

SIZES = range(3, 8)
BEFORE = -10**9
"""A time before all others."""


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


class Oracle:
    """A model at one random point, for one T: random sizes, parameters, data and loss gradients, all drawn from `seed`.

    Symbols that the model does not know have random values too, so that laws of algebra can be tried without a model.
    `letters` are abbreviations such as K_t, and recursions of letters such as R_t, which are zero beyond their range;
    where they stand, their right-hand side is evaluated. `count` is what T is worth as a number beside others, as in
    1/T; the number of steps, unless somebody says otherwise. With `assumed` the
    entries of those targets add up to one of which the model assumes it.
    """

    def __init__(self, model: Model | None = None, steps: int = 4, seed: int = 0,
                 letters: Iterable[Definition] = (), assumed: bool = False) -> None:
        self.model, self.steps, self.seed = model, steps, seed
        self.count = steps
        self.letters = {_head(d.left): d for d in letters if type(d.left) in (At, MatrixSymbol)}
        self.functions = Elementary(seed)
        self.sizes: dict[str, int] = {}
        drawn = list(SIZES)
        Random(f"{seed} sizes").shuffle(drawn)
        self._free_sizes = iter([*drawn, *range(SIZES.stop, 1000)])
        self._values: dict[Variable, Array] = {}
        self._gradients: dict[Variable, Array] = {}
        self._direct: dict[Variable, Array] = {}
        self._chains: dict[tuple[Variable, Variable], Array] = {}
        self._tangents: Run | None = None
        self._plain = Run(self, lambda v, e: constant(self._value_of(v, e)))
        losses = model.losses if model is not None else ()
        self._to_one = {y.name for term in losses for y in term.assume} if assumed else set()
        self._masks = {count: name for name, count in model.counts.items()} if model is not None else {}
        self._before = {(e.name, value_of(e.left.time, {})): e for e in model.computed} if model is not None else {}
        for size in model.sizes if model is not None else ():
            self.size(size.symbol)

    # What expressions are worth.

    def value(self, e: Matrix, times: Valuation | None = None) -> Array:
        """The value of an expression; `times` gives every free index variable but T, which is the number of steps.

        Raises:
            MeaningError: it has none.
        """
        return self._plain.dual(e, {T: self.steps, **(times or {})}).value

    def gradient(self, of: Matrix, times: Valuation | None = None) -> Array:
        """∂L/∂v of a parameter or a family member, by dual numbers, one direction for each entry."""
        return self.gradient_at(variable(of, {T: self.steps, **(times or {})}), of)

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
            if all(value_of(form, {T: self.steps, **times}) >= 0 for form in wanted):
                yield times

    # Where random numbers come from.

    def random(self, shape: tuple[int, int], *key: object) -> Array:
        """A matrix that depends on nothing but the seed and the key."""
        source = Random(f"{self.seed} {shape} {key!r}")
        return tuple(tuple(source.randrange(PRIME) for _ in range(shape[1])) for _ in range(shape[0]))

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
            return int(c.p) * inverse(int(c.q)) % PRIME
        if c == T:
            return self.count % PRIME
        if isinstance(c, IndexVar):
            return value_of(Index(0, [(c, 1)]), times) % PRIME
        if isinstance(c, Symbol):
            if c in self._masks:
                return self._count(c)
            return self.size(c) if c.is_integer else self.random((1, 1), "constant", c.name)[0][0]
        if isinstance(c, Add):
            return sum(self.number(a, times) for a in c.args) % PRIME
        if isinstance(c, Mul):
            return reduce(lambda a, b: a * b % PRIME, (self.number(a, times) for a in c.args))
        if isinstance(c, Pow) and isinstance(c.exp, Integer):
            base, exponent = self.number(c.base, times), int(c.exp)
            return pow(base if exponent >= 0 else inverse(base), abs(exponent), PRIME)
        raise MeaningError(f"{c} is no scalar")

    # Gradients.

    def gradient_at(self, of: Variable, e: Matrix) -> Array:
        """∂L/∂v in the shape of v; zero past T."""
        if of not in self._gradients:
            self._gradients[of] = self._arranged(e, self._objective(self._varied(of, e)).tangents)
        return self._gradients[of]

    def direct_at(self, of: Variable, e: Matrix) -> Array:
        """∂⁺L/∂v: only losses that read v itself count."""
        if of not in self._direct:
            self._direct[of] = self._arranged(e, self._objective(self._seeded(of, e)).tangents)
        return self._direct[of]

    def through_at(self, through: Variable, of: Variable, e: Matrix) -> Array:
        """What L owes to v through the equation of u: <∂L/∂u, ∂⁺u/∂v · direction>."""
        equation, time = self._equation(through), through[1]
        if equation is None or time is None or time > self.steps:
            return zeros(*self.shape(e))
        if (through, of) not in self._chains:
            sent = self.gradient_at(through, equation.left)
            step = self._seeded(of, e).dual(equation.right, {T: self.steps, t: time}).tangents
            self._chains[through, of] = self._arranged(
                e, None if step is None else tuple(((paired(sent, a),),) for a in step))
        return self._chains[through, of]

    def _arranged(self, e: Matrix, slopes: Tangents) -> Array:
        """The matrix of derivatives along the unit matrices."""
        shape = self.shape(e)
        return zeros(*shape) if slopes is None else arranged([slope[0][0] for slope in slopes], *shape)

    def tangent_at(self, of: Variable, e: Matrix) -> Array:
        """What a change of parameters and static data along a random direction changes in v; zero past T."""
        if self._tangents is None:
            self._tangents = self._varying(self._moves(), BEFORE)
        found = self._tangents.leaf(of, e).tangents
        return found[0] if found is not None else zeros(*self.shape(e))

    def immediate_at(self, of: Variable, e: Matrix) -> Array:
        """What the same change changes in v through the equation of v alone."""
        equation, time = self._equation(of), of[1]
        if equation is None or time is None or time > self.steps:
            return zeros(*self.shape(e))
        moves = self._moves()
        run = Run(self, lambda here, member: Dual(lambda: self._value_of(here, member), moves.get(here)))
        found = run.dual(equation.right, {T: self.steps, t: time}).tangents
        return found[0] if found is not None else zeros(*self.shape(e))

    def _moves(self) -> dict[Variable, Tangents]:
        moving = (*self.model.parameters, *self.model.static) if self.model is not None else ()
        return {(v.name, None): (self.random(self.shape(v), "direction", v.name),) for v in moving}

    def _varied(self, of: Variable, e: Matrix) -> Run:
        """A run in which one variable varies in every direction, and with it what comes after it."""
        return self._varying({of: directions(*self.shape(e))}, BEFORE if of[1] is None else of[1])

    def _varying(self, seeds: Mapping[Variable, Tangents], since: int) -> Run:
        """A run in which these vary, and with them every equation from `since` to T."""
        found: dict[Variable, Dual] = {}

        def leaf(here: Variable, e: Matrix) -> Dual:
            if here not in found:
                found[here] = Dual(lambda: self._value_of(here, e), seeds[here] if here in seeds else tangents(here))
            return found[here]

        def tangents(here: Variable) -> Tangents:
            time, equation = here[1], self._equation(here)
            if equation is None or time is None or not since <= time <= self.steps:
                return None
            return run.dual(equation.right, {T: self.steps, t: time}).tangents

        run = Run(self, leaf)
        return run

    def _seeded(self, of: Variable, e: Matrix) -> Run:
        """A run in which nothing but the variable itself varies."""
        units = directions(*self.shape(e))
        return Run(self, lambda here, member: Dual(lambda: self._value_of(here, member),
                                                   units if here == of else None))

    def _objective(self, run: Run) -> Dual:
        """L = Σ weight · reduce_t m_t ℓ(…)."""
        if self.model is None:
            raise MeaningError("there is no model, hence no objective")
        return plus(*[self._sent(run, term, time) for term in self.model.losses
                      for time in range(1, self.steps + 1) if _counts(term.reduce, time, self.steps)])

    def _sent(self, run: Run, term: LossTerm, time: int) -> Dual:
        weight = self.number(term.weight, {})
        if term.reduce == "mean":
            steps = self.count if term.mask is None else self._sum_of_mask(term.mask.name)
            weight = weight * inverse(steps) % PRIME
        if term.mask is not None:
            weight = weight * self._mask(term.mask.name, time) % PRIME
        return linear(lambda a: scaled(weight, a), run.dual(term.loss, {T: self.steps, t: time}))

    # Masks.

    def _mask(self, name: str, time: int) -> int:
        return self.random((1, 1), "variable", name, time)[0][0]

    def _sum_of_mask(self, name: str) -> int:
        """Σ_t m_t."""
        return sum(self._mask(name, time) for time in range(1, self.steps + 1)) % PRIME

    def _count(self, c: Symbol) -> int:
        return self._sum_of_mask(self._masks[c])

    # Values of variables.

    def _value_of(self, of: Variable, e: Matrix) -> Array:
        if of not in self._values:
            self._values[of] = self._new_value(of, e)
        return self._values[of]

    def _new_value(self, of: Variable, e: Matrix) -> Array:
        name, time = of
        equation = self._equation(of)
        if equation is not None:
            return self.value(equation.right, {t: time or 0})
        letter = self.letters.get((name, time is not None))
        if letter is not None and letter.hi is not None and value_of(letter.hi, {T: self.steps}) < (time or 0):
            return zeros(*self.shape(e))
        if letter is not None and (letter.lo is None or (time or 0) >= letter.lo.const):
            return self.value(letter.right, {} if time is None else {t: time})
        count = next((c for c in self._masks if c.name == name), None) if time is None else None
        if count is not None:
            return ((self._count(count),),)
        if self.model is not None and of == ("L", None):
            return self._objective(self._plain).value
        found = self.random(self.shape(e), "variable", *of)
        if name not in self._to_one:
            return found
        return (*found[:-1], ((1 - sum(row[0] for row in found[:-1])) % PRIME,))

    def _equation(self, of: Variable) -> Equation | None:
        """The equation that defines a variable; none for parameters and for data, given initial values among them."""
        name, time = of
        if self.model is None or time is None:
            return None
        return self.model.defined.get(name) if time >= 1 else self._before.get((name, time))

    def _counterexample(self, times: Valuation, entry: tuple[int, int] | None, left: object,
                        right: object) -> Counterexample:
        named = {str(v): k for v, k in times.items()}
        return Counterexample(self.steps, self.seed, dict(self.sizes), named, entry, left, right)


def _counts(reduce_t: str, time: int, steps: int) -> bool:
    """Whether a loss counts at a time, by its reduction."""
    return {"last": time == steps, "once": time == 1}.get(reduce_t, True)


def _head(left: Matrix) -> tuple[str, bool]:
    return (left.family.name, True) if type(left) is At else (left.name, False)
