"""SymPy matrix expressions -> Model, node by node through a table; equal to what the model file reads as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast, get_args

import sympy
from sympy import Expr, Integer, MatrixSymbol, Rational, S, Symbol
from sympy.core.basic import Basic
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr import build, nodes
from symbptt.expr.build import plus, scale, times, transpose
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Loss, Matrix, Plus, Scale
from symbptt.expr.shape import Shape, shape_text
from symbptt.model.language import OLDEST, is_size
from symbptt.model.names import check_line, check_loss_name, check_model_name, check_name, constant_symbol, size_symbol
from symbptt.model.spec import Equation, LossTerm, Model, ModelError, Reduce, Size

LARGEST_POWER = 100
"""The largest exponent that is read."""


class Family(MatrixSymbol):
    """A column that changes with time; by itself it stands for its member at t."""

    def __new__(cls, name: object, rows: object, columns: object = 1) -> Family:
        return cast(Family, super().__new__(cls, name, rows, columns))

    @property
    def prev(self) -> Member:
        """The member one step back."""
        return self.lag(1)

    def lag(self, k: int) -> Member:
        """The member k steps back.

        Raises:
            ModelError: k is not a whole number from 0 to 1000.
        """
        if not isinstance(k, int | Integer) or not 0 <= k <= OLDEST:
            raise ModelError(f"{self.name}.lag({k}): a lag is a whole number from 0 to {OLDEST}")
        return Member(self, Integer(k))


class Member(MatrixExpr):
    """The member of a family k steps before t. Args: the family, k."""

    def __new__(cls, of: Family, lag: Integer) -> Member:
        return cast(Member, Basic.__new__(cls, of, lag))

    @property
    def shape(self) -> Shape:
        """The shape of the family."""
        return self.args[0].shape

    def _sympystr(self, _: object) -> str:
        return str(At(self.args[0], index(t) - int(self.args[1])))

    def _latex(self, printer: Any) -> str:
        return f"{{{printer._print(self.args[0])}}}_{{{index(t) - int(self.args[1])}}}"


def family(name: str, size: Expr | int) -> Family:
    """A column of `size` rows that changes with time: an input, a target, a state or an output.

    Raises:
        ModelError: the name cannot stand in a model.
    """
    return Family(check_name(name), size)


def loss(name: str, *arguments: Matrix | Member) -> Loss:
    """The opaque loss l(o, y) of one step; it may be multiplied by a number.

    Raises:
        ModelError: the name cannot name an opaque loss.
    """
    return build.loss(check_loss_name(name), *arguments)


def model(
    equations: Mapping[MatrixSymbol, Matrix], inputs: Iterable[MatrixSymbol], loss: Matrix | Sequence[Matrix],
    targets: Iterable[MatrixSymbol] = (), reduce: str | Sequence[str] = "mean", name: str = "model",
    title: str = "", source: str = "", constants: Iterable[Symbol] = (),
) -> Model:
    """The model of these equations; parameters, sizes and states are read off them.

    Args:
        equations: for each family its right-hand side at t.
        inputs: the families that are given at every step.
        loss: a term, or several that are added, each a loss or a number times one.
        targets: the families that only the loss compares with.
        reduce: how each term is gathered over time, "mean" or "sum"; one word for all terms, or one a term.
        name: a short name; files are called after it.
        title: what people call the model.
        source: where it stems from.
        constants: the scalar symbols that may be factors.

    Raises:
        ModelError: an expression is beyond the language, or the model makes no sense.
    """
    names = _Names()
    given = tuple(names.declare(v) for v in inputs)
    wanted = tuple(names.declare(v) for v in targets)
    left = [names.declare(v) for v in equations]
    names.constants.update({c: constant_symbol(str(c.name)) for c in constants})
    written = tuple(Equation(At(v, t), _expression(names, right, str(v.name)))
                    for v, right in zip(left, equations.values(), strict=True))
    terms = _terms(names, [loss] if isinstance(loss, Basic) else loss, reduce)
    lagged = [v for v in left if v.name in names.lagged]
    return Model(name=check_model_name(name), title=check_line(title), source=check_line(source),
                 sizes=tuple(Size(size_symbol(s)) for s in names.sizes), parameters=tuple(names.parameters.values()),
                 inputs=given, targets=wanted, states=tuple(lagged), equations=written, losses=terms,
                 constants=tuple(names.constants.values()))


@dataclass
class _Names:
    """What the symbols met so far stand for."""

    families: dict[str, MatrixSymbol] = field(default_factory=dict)
    parameters: dict[str, MatrixSymbol] = field(default_factory=dict)
    constants: dict[Symbol, Symbol] = field(default_factory=dict)
    sizes: dict[str, Symbol] = field(default_factory=dict)
    lagged: set[str] = field(default_factory=set)

    def declare(self, symbol: MatrixSymbol) -> MatrixSymbol:
        """A family, in its plain form."""
        if not isinstance(symbol, MatrixSymbol):
            raise ModelError(f"{symbol} is a {type(symbol).__name__}, not a family; make one by family(name, size)")
        plain = self.plain(symbol)
        return self.families.setdefault(str(plain.name), plain)

    def plain(self, symbol: MatrixSymbol) -> MatrixSymbol:
        """The matrix symbol of that name and shape; the sizes in it are remembered."""
        return MatrixSymbol(check_name(str(symbol.name)), *(self.size(n) for n in symbol.shape))

    def size(self, n: Expr | int) -> Expr:
        """A size with its symbols in their plain form."""
        n = Integer(n) if isinstance(n, int) else n
        for s in sorted(n.free_symbols, key=str):
            if self.sizes.setdefault(str(s.name), s) != s:
                raise ModelError(f"two different symbols are called {s.name}; a size needs one symbol")
        plain = n.xreplace({s: size_symbol(str(s.name)) for s in n.free_symbols})
        if not is_size(plain):
            raise ModelError(f"{n} is not a size; a size is a symbol, a positive whole number, or a sum of multiples")
        return plain

    def variable(self, symbol: MatrixSymbol) -> MatrixSymbol:
        """The family or the parameter that a matrix symbol stands for."""
        plain = self.plain(symbol)
        name = str(plain.name)
        if isinstance(symbol, Family) and name not in self.families:
            raise ModelError(f"the family {name} is no input, no target, and has no equation")
        known = self.families.get(name) or self.parameters.setdefault(name, plain)
        if known != plain:
            raise ModelError(f"{name} stands for two variables, {shape_text(known.shape)} and "
                             f"{shape_text(plain.shape)}")
        return known


def _expression(names: _Names, e: object, key: str) -> Matrix:
    try:
        return _read(names, e)
    except ModelError as error:
        raise ModelError(error.message, "equations", key) from None


def _read(names: _Names, e: object) -> Matrix:
    reader = READERS.get(type(e))
    if reader is None:
        known = ", ".join(dict.fromkeys(row.__name__ for row in READERS))
        raise ModelError(f"{e} is a {type(e).__name__}, which is not known here; known: {known}")
    return reader(names, e)


def _scalar(names: _Names, c: Expr) -> Expr:
    """An exact scalar: numbers and constants, added, multiplied, and raised to small powers."""
    if c.is_Float and c.is_finite:
        return Rational(repr(float(c)) if c._prec == 53 else str(c))
    if c.is_Rational:
        return c
    if c in names.constants:
        return names.constants[c]
    if c.is_Symbol:
        raise ModelError(f"the symbol {c} is not among the constants; list it in constants=[…]")
    if c.is_Add or c.is_Mul:
        return c.func(*(_scalar(names, a) for a in c.args))
    if c.is_Pow and c.exp.is_Integer and 0 < c.exp <= LARGEST_POWER:
        return _scalar(names, c.base) ** c.exp
    raise ModelError(f"the factor {c} is a {type(c).__name__}, which is not known here; "
                     "known: numbers, constants, their sums, products and small powers")


def _symbol(names: _Names, e: MatrixSymbol) -> Matrix:
    known = names.variable(e)
    return At(known, t) if known.name in names.families else known


def _member(names: _Names, e: Member) -> Matrix:
    return _at(names, At(e.args[0], index(t) - int(e.args[1])))


def _at(names: _Names, e: At) -> Matrix:
    known = names.variable(e.family)
    if known.name not in names.families:
        raise ModelError(f"the family {known.name} is no input, no target, and has no equation")
    if e.time != index(t):
        names.lagged.add(str(known.name))
    return At(known, e.time)


def _product(names: _Names, e: Expr) -> Matrix:
    scalars = [_scalar(names, a) for a in e.args if not isinstance(a, MatrixExpr)]
    factors = [_read(names, a) for a in e.args if isinstance(a, MatrixExpr)]
    return scale(sympy.Mul(*scalars), times(*factors))


def _power(names: _Names, e: Expr) -> Matrix:
    base, exponent = e.args
    if not exponent.is_Integer or not 0 < exponent <= LARGEST_POWER:
        raise ModelError(f"{e} is a MatPow with the exponent {exponent}; "
                         f"known: whole numbers from 1 to {LARGEST_POWER}")
    return times(*[_read(names, base)] * int(exponent))


def _sum(names: _Names, e: Expr) -> Matrix:
    return plus([_read(names, a) for a in e.args])


def _transposed(names: _Names, e: Expr) -> Matrix:
    return transpose(_read(names, e.args[0]))


def _zero(names: _Names, e: Expr) -> Matrix:
    return nodes.Zero(*(names.size(n) for n in e.shape))


def _identity(names: _Names, e: Expr) -> Matrix:
    return nodes.Identity(names.size(e.shape[0]))


def _loss(names: _Names, e: Loss) -> Matrix:
    arguments = [_read(names, a) for a in e.args[1:]]
    for written, read in zip(e.args[1:], arguments, strict=True):
        if not isinstance(read, At):
            raise ModelError(f"{written} is not a family such as o or y; give the expression a name by an equation")
    if e.name in names.families or e.name in names.parameters:
        raise ModelError(f"{e.name} is a variable and cannot name a loss")
    return build.loss(check_loss_name(e.name), *arguments)


def _terms(names: _Names, losses: Iterable[Matrix], reduce: str | Sequence[str]) -> tuple[LossTerm, ...]:
    written = list(losses)
    words = [reduce] * len(written) if isinstance(reduce, str) else list(reduce)
    if len(words) != len(written):
        raise ModelError(f"{len(written)} losses, but {len(words)} words in reduce", "loss")
    terms: list[LossTerm] = []
    for e, word in zip(written, words, strict=True):
        if word not in get_args(Reduce):
            raise ModelError(f"reduce is {word!r}; known: {', '.join(get_args(Reduce))}", "loss", str(len(terms)))
        whole = _read(names, e)
        for part in whole.args if isinstance(whole, Plus) else [whole]:
            weight, body = part.args if isinstance(part, Scale) else (S.One, part)
            if not isinstance(body, Loss):
                raise ModelError(f"{e} is no loss, no number times one, and no sum of such", "loss", str(len(terms)))
            terms.append(LossTerm(body, cast(Reduce, word), weight))
    return tuple(terms)


Reader: TypeAlias = Callable[[_Names, Any], Matrix]

READERS: dict[type, Reader] = {
    MatrixSymbol: _symbol, Family: _symbol, Member: _member, At: _at, Loss: _loss,
    sympy.MatMul: _product, nodes.Times: _product, Scale: _product,
    sympy.MatAdd: _sum, Plus: _sum, sympy.MatPow: _power,
    sympy.Transpose: _transposed, nodes.Transpose: _transposed,
    sympy.ZeroMatrix: _zero, nodes.Zero: _zero, sympy.Identity: _identity, nodes.Identity: _identity,
}
"""How each class is read."""
