"""Expressions of the engine as Coq text over mathcomp's matrices: one row a class of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from math import lcm
from typing import Any, NamedTuple

from sympy import Add, Expr, Integer, MatrixSymbol, Mul, Pow, Rational, Symbol

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar, T, index
from symbptt.expr.nodes import ONE, Adjoint, At, Identity, Matrix, Ones, Plus, Scale, Zero
from symbptt.model.functions import LOSSES, VECTOR_FUNCTIONS
from symbptt.model.spec import Model, initial_name
from symbptt.proof.truncation import USES
from symbptt.render.certificate_names import Names


class NotCovered(ValueError):
    """The model or the expression is outside what a certificate states; the message says what."""


def not_covered(what: str) -> NotCovered:
    """The error for something outside."""
    return NotCovered(f"the certificate does not cover {what}")


class Level(IntEnum):
    """How tightly a text binds; looser ones stand in parentheses inside tighter ones."""

    SUM = 0
    BIG = 1
    PRODUCT = 2
    APPLICATION = 3
    ATOM = 4


class Piece(NamedTuple):
    """A text and how tightly it binds; a product of matrices can be the first factor of another."""

    text: str
    level: Level = Level.ATOM

    def at(self, level: Level) -> str:
        """The text, in parentheses unless it binds so tightly."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass
class Vocabulary:
    """What the variables of one model are called in Coq, and which of them have been used."""

    model: Model
    names: Names = field(default_factory=Names)
    denominators: set[int] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def note(self, name: str) -> str:
        """The name, remembered as used."""
        self.used.add(name)
        return name

    def variable(self, name: str) -> str:
        """A parameter, static data or a family."""
        return self.note(self.names("variable", name, wanted=name))

    def past(self, name: str) -> str:
        """The values of a family before the first step: k ↦ the value at time -k."""
        return self.note(self.names("past", name, wanted=f"{name}_past"))

    def adjoint(self, name: str) -> str:
        """The family ∂L/∂v_t."""
        return self.note(self.names("adjoint", name, wanted=f"g_{name}"))

    def direct(self, name: str) -> str:
        """The family ∂⁺L/∂v_t."""
        return self.note(self.names("direct", name, wanted=f"e_{name}"))

    def gradient(self, name: str) -> str:
        """∂L/∂v of a parameter, an input or an initial state."""
        return self.note(self.names("gradient", name, wanted=f"dL_d{name}"))

    def scalar(self, name: str) -> str:
        """A constant."""
        return self.note(self.names("scalar", name, wanted=name))

    def inverse(self, name: str) -> str:
        """1/T, 1/γ, 1/M."""
        return self.note(self.names("inverse", name, wanted=f"inv_{name}"))

    def reciprocal(self, q: int) -> str:
        """1/q."""
        self.denominators.add(q)
        return self.note(self.names("reciprocal", str(q), wanted=f"inv_{q}"))

    def function(self, name: str, size: Expr | None = None) -> str:
        """A function of one entry; of a column, one for each size."""
        if size is None:
            return self.note(self.names("function", name, wanted=name))
        return self.note(self.names("function", name, str(size), wanted=name))

    def loss(self, e: nodes.Loss) -> str:
        """An opaque loss of arguments of these shapes."""
        return self.note(self.names("loss", *signature(e), wanted=e.name))

    def loss_gradient(self, e: nodes.Loss, place: int) -> str:
        """The gradient of an opaque loss in one of its arguments, counted from 0."""
        wanted = f"d{e.name}_{place + 1}" if sum(moves(self.model, a) for a in e.args[1:]) > 1 else f"d{e.name}"
        return self.note(self.names("loss gradient", *signature(e), str(place), wanted=wanted))

    def size_name(self, name: str) -> str:
        """A size."""
        return self.names("size", name, wanted=f"n_{name}")

    def index(self, var: IndexVar) -> str:
        """An index variable."""
        return "T" if var == T else "t" if var.name == "t" else self.names("index", var.name, wanted=var.name)

    @property
    def common(self) -> int:
        """The least common multiple of all denominators."""
        return lcm(1, *self.denominators)

    # Types.

    def size(self, e: Expr) -> Piece:
        """A size as a natural number."""
        if isinstance(e, Symbol):
            return Piece(self.size_name(e.name))
        if isinstance(e, Integer | int):
            return Piece(str(int(e)))
        if isinstance(e, Add):
            return Piece(" + ".join(self.size(a).text for a in e.as_ordered_terms()), Level.SUM)
        if isinstance(e, Mul):
            return Piece(" * ".join(self.size(a).at(Level.ATOM) for a in e.as_ordered_factors()), Level.PRODUCT)
        raise not_covered(f"the size {e}")

    def matrix(self, rows: Expr, columns: Expr) -> str:
        """The type of the matrices of a shape."""
        if columns == ONE:
            size = self.size(rows)
            return f"'cV[R]_{size.at(Level.ATOM)}"
        return f"'M[R]_({self.size(rows).text}, {self.size(columns).text})"


def nat(vocabulary: Vocabulary, form: Index) -> Piece:
    """An index form as a natural number: variables are added, then subtracted, then comes the constant."""
    up = [(v, a) for v, a in form.terms if a > 0]
    down = [(v, -a) for v, a in form.terms if a < 0]

    def times(v: IndexVar, a: int) -> str:
        name = vocabulary.index(v)
        return name if a == 1 else f"{a} * {name}"

    if not up and not down:
        if form.const < 0:
            raise not_covered(f"the time {form}")
        return Piece(str(form.const))
    text = " + ".join(times(v, a) for v, a in up) or "0"
    simple = len(up) == 1 and up[0][1] == 1
    if down and not up:
        text, simple = str(max(form.const, 0)), False
    if down:
        text, simple = " - ".join([text, *(times(v, a) for v, a in down)]), False
    if form.const > 0 and up:
        text, simple = raised(text if simple else f"({text})", form.const), not down
    if form.const < 0:
        text, simple = lowered(text if simple else f"({text})", -form.const), True
    return Piece(text if simple else f"({text})%N")


def raised(text: str, count: int) -> str:
    """count successors."""
    while count:
        step = min(count, 4)
        text += f".+{step}"
        count -= step
    return text


def lowered(text: str, count: int) -> str:
    """count predecessors."""
    while count:
        step = min(count, 2)
        text += ".-1" if step == 1 else ".-2"
        count -= step
    return text


class Printer:
    """Expressions as Coq text.

    `lag` says how a family member before the time of an equation is written; `letter` stands for one adjoint. With
    `since` = 1 every time t that is printed is at least 1, so that t - 1 is the time before; with 0 a lag is written as
    such.
    """

    def __init__(self, vocabulary: Vocabulary, since: int = 1,
                 member: Callable[[At], Piece | None] = lambda _: None,
                 letter: tuple[Matrix, str] | None = None) -> None:
        self.names, self.since, self.member, self.letter = vocabulary, since, member, letter

    def __call__(self, e: Matrix) -> str:
        return self.piece(e).text

    def piece(self, e: Matrix) -> Piece:
        """The text of an expression, by the table of its class."""
        if self.letter is not None and e == self.letter[0]:
            return Piece(self.letter[1])
        if isinstance(e, MatrixSymbol):
            return Piece(self.variable(e.name))
        return PRINTERS[type(e)](self, e)

    def typed(self, text: str, e: Matrix) -> Piece:
        """A constant with its type."""
        return Piece(f"({text} : {self.names.matrix(*e.shape)})")

    # Leaves.

    def variable(self, name: str) -> str:
        """A parameter, static data or a family."""
        return self.names.variable(name)

    def past(self, name: str) -> str:
        """The values of a family before the first step."""
        return self.names.past(name)

    def at(self, e: At) -> Piece:
        """A member of a family."""
        own = self.member(e)
        if own is not None:
            return own
        name, form, lags = e.family.name, e.time, self.names.model.lags
        if not form.terms and form.const <= 0 and name in lags:
            state = name in self.names.model.defined
            if form.const == 0 and not state:
                return Piece(f"{self.variable(name)} 0", Level.APPLICATION)
            return Piece(f"{self.past(name)} {-form.const}", Level.APPLICATION)
        back = -form.const
        if lags.get(name) and back > self.since:
            base = nat(self.names, form + back).at(Level.ATOM)
            return Piece(f"at_lag {self.variable(name)} {self.past(name)} {back} {base}", Level.APPLICATION)
        return Piece(f"{self.variable(name)} {nat(self.names, form).at(Level.ATOM)}", Level.APPLICATION)

    def of_variable(self, family: Callable[[str], str], e: Matrix) -> Piece:
        """∂L/∂v or ∂⁺L/∂v."""
        v = e.of
        if isinstance(v, MatrixSymbol):
            return Piece(self.names.gradient(v.name))
        if not v.time.terms and v.time.const < 1:
            return Piece(self.names.gradient(initial_name(v)))
        name = family(v.family.name)
        return Piece(f"{name} {nat(self.names, v.time).at(Level.ATOM)}", Level.APPLICATION)

    def adjoint(self, e: Adjoint) -> Piece:
        """∂L/∂v_t, g_v t; the gradient of an input is no unknown of the recursion."""
        name = e.of.family.name if type(e.of) is At else ""
        data = any(v.name == name for v in self.names.model.inputs)
        return self.of_variable(self.names.gradient if data else self.names.adjoint, e)

    # Algebra.

    def plus(self, e: Plus) -> Piece:
        """A + B - C."""
        parts: list[str] = []
        for k, a in enumerate(e.args):
            minus = type(a) is Scale and bool(a.args[0].could_extract_minus_sign())
            piece = self.scaled(-a.args[0], a.args[1]) if minus else self.bare(a, e)
            text = piece.at(Level.BIG)
            parts.append(f"- {piece.at(Level.APPLICATION)}" if k == 0 and minus else f"{'- ' if minus else '+ '}{text}"
                         if k else text)
        return Piece(" ".join(parts), Level.SUM)

    def bare(self, a: Matrix, whole: Plus) -> Piece:
        """A summand; a constant needs no type beside one that has it."""
        if isinstance(a, Ones | Identity | Zero) and any(not isinstance(b, Ones | Identity | Zero) for b in whole.args):
            return CONSTANTS[type(a)]
        return self.piece(a)

    def scaled(self, c: Expr, body: Matrix) -> Piece:
        """The product of a scalar and a matrix."""
        if c == 1:
            return self.piece(body)
        inner = self.piece(body).at(Level.APPLICATION)
        if c.could_extract_minus_sign():
            rest = self.scaled(-c, body)
            return Piece(f"- {rest.at(Level.APPLICATION)}", Level.PRODUCT)
        return Piece(f"{scalar(self.names, c).at(Level.APPLICATION)} *: {inner}", Level.PRODUCT)

    def times(self, e: nodes.Times) -> Piece:
        """A B C."""
        first, *rest = map(self.piece, e.args)
        head = first.text if type(e.args[0]) is nodes.Times else first.at(Level.APPLICATION)
        return Piece(" *m ".join([head, *(a.at(Level.APPLICATION) for a in rest)]), Level.PRODUCT)

    def call(self, name: str, *operands: Matrix) -> Piece:
        """A function of the library."""
        return Piece(" ".join([name, *(self.piece(a).at(Level.ATOM) for a in operands)]), Level.APPLICATION)

    def hadamard(self, e: nodes.Hadamard) -> Piece:
        """The product entry by entry, from the left."""
        text = self.piece(e.args[0]).at(Level.ATOM)
        for k, a in enumerate(e.args[1:]):
            text = f"hadm {text if k == 0 else f'({text})'} {self.piece(a).at(Level.ATOM)}"
        return Piece(text, Level.APPLICATION)

    def apply(self, e: nodes.Apply) -> Piece:
        """A function."""
        name, body = str(e.args[0]), e.args[1]
        if name in VECTOR_FUNCTIONS:
            return self.call(self.names.function(name, body.shape[0]), body)
        return self.call(f"map_mx {self.names.function(name)}", body)

    def power(self, e: nodes.Power) -> Piece:
        """A power."""
        base = self.piece(e.args[0]).at(Level.ATOM)
        return Piece(f"mxpow {base} {nat(self.names, e.args[1]).at(Level.ATOM)}", Level.APPLICATION)

    def delta(self, e: nodes.Delta) -> Piece:
        """1 for equal indices, else 0."""
        a, b = (nat(self.names, x).at(Level.ATOM) for x in e.args)
        return Piece(f"((({a} == {b})%N)%:R)%:M")

    def loss(self, e: nodes.Loss) -> Piece:
        """An opaque loss as a 1 × 1 matrix; one with a name by its definition."""
        if e.name in LOSSES:
            return self.piece(LOSSES[e.name].definition(*e.args[1:]))
        return Piece(f"const_mx ({self.call(self.names.loss(e), *e.args[1:]).text})", Level.APPLICATION)

    def loss_gradient(self, e: nodes.LossGradient) -> Piece:
        """The gradient of an opaque loss."""
        if e.loss.name in LOSSES:
            raise not_covered(f"the unevaluated gradient of {e.loss.name}")
        return self.call(self.names.loss_gradient(e.loss, int(e.args[1])), *e.loss.args[1:])

    def sum(self, e: nodes.Sum) -> Piece:
        """A sum over a range."""
        return Piece(f"\\sum_({self.range(e)}) {self.piece(e.body).at(Level.PRODUCT)}", Level.BIG)

    def product(self, e: nodes.Product) -> Piece:
        """An ordered product over a range."""
        return Piece(f"\\big[mulmx/1%:M]_({self.range(e)}) {self.piece(e.body).at(Level.APPLICATION)}", Level.BIG)

    def range(self, e: nodes.Binder) -> str:
        """lo <= i < hi + 1; a window ends at T at the latest, beyond which the engine's words are zero."""
        lo, hi = nat(self.names, e.lo), nat(self.names, e.hi + 1)
        end = f"minn {hi.at(Level.ATOM)} {nat(self.names, index(T) + 1).text}" if e.hi.coefficient(USES) else hi.text
        return f"{lo.text} <= {self.names.index(e.var)} < {end}"

    def block(self, e: nodes.Block) -> Piece:
        """Blocks by selections of rows and columns: Σ E_p A E_qᵀ without zero blocks."""
        heights, widths = [row[0].shape[0] for row in e.rows], [a.shape[1] for a in e.rows[0]]
        terms = []
        for p, row in enumerate(e.rows):
            for q, a in enumerate(row):
                if type(a) is not Zero:
                    above = self.selection(e.shape[0], heights, p) if len(heights) > 1 else None
                    beside = self.selection(e.shape[1], widths, q) if len(widths) > 1 else None
                    terms.append(self.placed(a, above, beside))
        if not terms:
            return self.typed("0", e)
        return Piece(" + ".join(t.text for t in terms), Level.SUM) if len(terms) > 1 else terms[0]

    def placed(self, a: Matrix, above: Piece | None, beside: Piece | None) -> Piece:
        """E_p A E_qᵀ."""
        inner = None if type(a) is Identity and (above or beside) else self.piece(a).at(Level.APPLICATION)
        turned = None if beside is None else f"({beside.text})^T"
        factors = [x for x in (above.text if above else None, inner, turned) if x]
        return Piece(" *m ".join(factors), Level.PRODUCT) if len(factors) > 1 else Piece(
            factors[0], Level.ATOM if turned else Level.APPLICATION)

    def selection(self, total: Expr, sizes: list[Expr], place: int) -> Piece:
        """The rows of one block among all."""
        off = Add(*sizes[:place])
        texts = [s.text if s.level == Level.ATOM else f"({s.text})%N"
                 for s in map(self.names.size, (total, sizes[place], off))]
        return Piece(f"sel {' '.join(texts)}", Level.APPLICATION)

    def outside(self, e: Any) -> Piece:
        """What no certificate states."""
        raise not_covered(f"{type(e).__name__} nodes: {e}")


def scalar(names: Vocabulary, c: Expr) -> Piece:
    """A scalar over a commutative ring: 1/q is a variable inv_q, 1/T is inv_T."""
    if isinstance(c, Rational):
        above = Piece("1") if abs(c.p) == 1 else Piece(f"{abs(int(c.p))}%:R")
        if c.p < 0:
            return Piece(f"- {scalar(names, -c).at(Level.APPLICATION)}", Level.PRODUCT)
        if c.q == 1:
            return above if c.p else Piece("0")
        below = names.reciprocal(int(c.q))
        return Piece(below) if c.p == 1 else Piece(f"{above.text} * {below}", Level.PRODUCT)
    if isinstance(c, IndexVar):
        return Piece(f"{names.index(c)}%:R")
    if isinstance(c, Symbol):
        return Piece(names.scalar(c.name))
    if isinstance(c, Pow):
        return _power(names, c.base, int(c.exp))
    if c.could_extract_minus_sign():
        return Piece(f"- {scalar(names, -c).at(Level.APPLICATION)}", Level.PRODUCT)
    if isinstance(c, Mul):
        factors = [scalar(names, a) for a in c.as_ordered_factors()]
        return Piece(" * ".join(a.at(Level.PRODUCT) for a in factors), Level.PRODUCT)
    if isinstance(c, Add):
        text = ""
        for k, a in enumerate(c.as_ordered_terms()):
            minus = bool(k) and a.could_extract_minus_sign()
            text += (" - " if minus else " + ") * bool(k) + scalar(names, -a if minus else a).at(Level.PRODUCT)
        return Piece(text, Level.SUM)
    raise not_covered(f"the scalar {c}")


def _power(names: Vocabulary, base: Expr, exponent: int) -> Piece:
    if exponent < 0 and not isinstance(base, Symbol):
        raise not_covered(f"the scalar {base ** exponent}")
    below = names.inverse(str(base)) if exponent < 0 else scalar(names, base).at(Level.ATOM)
    return Piece(below) if abs(exponent) == 1 else Piece(f"{below} ^+ {abs(exponent)}", Level.PRODUCT)


def signature(e: nodes.Loss) -> tuple[str, ...]:
    """The name of a loss and the shapes of its arguments."""
    return e.name, *(str(a.shape) for a in e.args[1:])


def moves(model: Model, a: Matrix) -> bool:
    """Whether an argument of a loss carries a gradient: all but targets do."""
    return not (type(a) is At and a.family in model.targets)


CONSTANTS: dict[type, Piece] = {Ones: Piece("const_mx 1", Level.APPLICATION), Identity: Piece("1%:M"),
                                Zero: Piece("0")}
"""Constants whose type is known from what stands beside them."""

PRINTERS: dict[type, Callable[[Printer, Any], Piece]] = {
    At: Printer.at, nodes.Loss: Printer.loss, nodes.LossGradient: Printer.loss_gradient, Adjoint: Printer.adjoint,
    nodes.Direct: lambda p, e: p.of_variable(p.names.direct, e), nodes.Tangent: Printer.outside,
    nodes.Immediate: Printer.outside, nodes.Chain: Printer.outside, Plus: Printer.plus, nodes.Times: Printer.times,
    nodes.Hadamard: Printer.hadamard, nodes.Apply: Printer.apply,
    nodes.Diagonal: lambda p, e: p.call("dg", e.args[0]),
    Scale: lambda p, e: p.scaled(*e.args), nodes.Multiple: lambda p, e: p.call("msc", *e.args),
    nodes.Transpose: lambda p, e: Piece(f"{p.piece(e.args[0]).at(Level.ATOM)}^T"),
    Zero: lambda p, e: p.typed("0", e), Ones: lambda p, e: p.typed("const_mx 1", e),
    Identity: lambda p, e: p.typed("1%:M", e), nodes.Power: Printer.power, nodes.Delta: Printer.delta,
    nodes.Norm: Printer.outside, nodes.Maximum: Printer.outside, nodes.Sum: Printer.sum,
    nodes.Product: Printer.product, nodes.Block: Printer.block,
}
"""How each class of the vocabulary is written."""
