"""SymPy matrix expressions -> Model, node by node through a table; equal to what the model file reads as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce as reduce_with
from typing import Any, TypeAlias, cast, get_args

import sympy
from sympy import Expr, Integer, MatrixSymbol, Rational, S, Symbol
from sympy.core.basic import Basic
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.matrices.expressions.slice import MatrixSlice

from symbptt.expr import build, nodes
from symbptt.expr.build import hadamard, scale, stacked, times
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Loss, Matrix, Plus, Scale
from symbptt.expr.shape import Shape, ShapeError, shape_text
from symbptt.model.depth import bounded
from symbptt.model.functions import FUNCTIONS, LOSSES, VECTOR_FUNCTIONS
from symbptt.model.names import (
    check_line,
    check_loss_name,
    check_model_name,
    check_variable_name,
    constant_symbol,
    did_you_mean,
    size_symbol,
)
from symbptt.model.operators import (
    LARGEST_POWER,
    applied,
    check_multiples,
    elementwise,
    multiple,
    rows,
    summed,
    transposed,
)
from symbptt.model.reading import OLDEST, is_size
from symbptt.model.spec import Equation, LossTerm, Model, ModelError, Reduce, Size


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
        ModelError: the name cannot stand in a model, or there is no such size.
    """
    rows = Integer(size) if isinstance(size, int) and not isinstance(size, bool) else size
    if not isinstance(rows, Expr) or not is_size(rows):
        raise ModelError(f"{name}: {_no_size(size)}")
    return Family(check_variable_name(name), rows)


def _no_size(n: object) -> str:
    return f"{n} is not a size; a size is a symbol, a positive whole number, or a sum of multiples"


def loss(name: str, *arguments: Matrix | Member) -> Loss:
    """The loss l(o, y) of one step, opaque or one with a name; it may be multiplied by a number.

    Raises:
        ModelError: the name cannot name a loss.
    """
    return build.loss(name if name in LOSSES else check_loss_name(name), *arguments)


def softmax(z: Matrix | Member) -> Matrix:
    """exp(z) / Σ_j exp(z_j) of a column.

    Raises:
        ModelError: z is no column.
    """
    return function("softmax", z)


def function(name: str, z: Matrix | Member) -> Matrix:
    """A function of z by its name in model files, such as "silu".

    Raises:
        ModelError: there is none of that name, or it does not take z.
    """
    if name not in FUNCTIONS and name not in VECTOR_FUNCTIONS:
        raise ModelError(f"the function {name} is not known{did_you_mean(name, (*FUNCTIONS, *VECTOR_FUNCTIONS))}")
    if name in VECTOR_FUNCTIONS and z.shape[1] != 1:
        raise ModelError(f"{name} of {z} {shape_text(z.shape)}: it takes a column")
    return build.apply(name, z)


@bounded
def model(
    equations: Mapping[MatrixSymbol, Matrix], inputs: Iterable[MatrixSymbol],
    loss: Matrix | LossTerm | Sequence[Matrix | LossTerm], targets: Iterable[MatrixSymbol] = (),
    reduce: str | Sequence[str] = "mean", name: str = "model", title: str = "", source: str = "",
    constants: Iterable[Symbol] = (), static: Iterable[MatrixSymbol] = (),
    initial: Mapping[MatrixSymbol | Member, Matrix] | None = None,
) -> Model:
    """The model of these equations; parameters, sizes and states are read off them.

    Args:
        equations: for each family its right-hand side at t.
        inputs: the families that are given at every step.
        loss: a term, or several that are added: each a loss, a number times one, or a LossTerm(loss, reduce, weight,
            mask, assume), which has its own reduce, and may have a mask and targets whose entries add up to one.
        targets: the families that only the loss compares with.
        reduce: how each term is gathered over time, "mean", "sum" or "last"; "once" for a regulariser; one word for
            all terms, or one a term.
        name: a short name; files are called after it.
        title: what people call the model.
        source: where it stems from.
        constants: the scalar symbols that may be factors.
        static: columns of data without a time index.
        initial: what values before the first step are computed from: h_0 under h, h_{1-k} under h.lag(k).

    Raises:
        ModelError: an expression is beyond the language, or the model makes no sense.
        TooLarge: an expression is nested too deeply.
    """
    names = _Names()
    given = tuple(names.declare(v) for v in inputs)
    wanted = tuple(names.declare(v) for v in targets)
    left = [names.declare(v) for v in equations]
    names.constants.update({c: constant_symbol(str(c.name)) for c in constants})
    written = tuple(Equation(At(v, t), _expression(names, right, str(v.name)))
                    for v, right in zip(left, equations.values(), strict=True))
    terms = _terms(names, _listed(loss), reduce)
    still = tuple(names.variable(s) for s in static)
    computed = tuple(_initial(names, member, right) for member, right in (initial or {}).items())
    lagged = [v for v in left if v.name in names.lagged]
    return Model(name=check_model_name(name), title=check_line(title), source=check_line(source),
                 sizes=tuple(Size(size_symbol(s)) for s in names.sizes),
                 parameters=tuple(p for p in names.parameters.values() if p not in still),
                 static=still, computed=computed,
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
        return MatrixSymbol(check_variable_name(str(symbol.name)), *(self.size(n) for n in symbol.shape))

    def size(self, n: Expr | int) -> Expr:
        """A size with its symbols in their plain form."""
        n = Integer(n) if isinstance(n, int) else n
        for s in sorted(n.free_symbols, key=str):
            if self.sizes.setdefault(str(s.name), s) != s:
                raise ModelError(f"two different symbols are called {s.name}; a size needs one symbol")
        plain = n.xreplace({s: size_symbol(str(s.name)) for s in n.free_symbols})
        if not is_size(plain):
            raise ModelError(_no_size(n))
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


def _initial(names: _Names, member: MatrixSymbol | Member, right: Matrix) -> Equation:
    symbol = member.args[0] if isinstance(member, Member) else member
    name = str(getattr(symbol, "name", symbol))
    if not isinstance(symbol, MatrixSymbol) or name not in names.families:
        raise ModelError(f"{member} is no state, so it has no value before the first step; write h for the value at "
                         "time 0, or h.lag(2) for the one at time -1", "initial", name)
    back = int(member.args[1]) if isinstance(member, Member) else 1
    return Equation(At(names.variable(symbol), 1 - back), _expression(names, right, name, "initial"))


def _expression(names: _Names, e: object, key: str, table: str = "equations") -> Matrix:
    try:
        return check_multiples(_read(names, e))
    except (ModelError, ShapeError) as error:
        raise ModelError(str(error), table, key) from None


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
    if c.is_Pow and c.exp.is_Integer and abs(c.exp) <= LARGEST_POWER and (c.exp > 0 or c.base.is_Symbol):
        return _scalar(names, c.base) ** c.exp
    raise ModelError(f"the factor {c} is a {type(c).__name__}, which is not known here; "
                     "known: numbers, constants, their sums, products and small powers, division by a constant")


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
    return summed([_read(names, a) for a in e.args])


def _transposed(names: _Names, e: Expr) -> Matrix:
    return transposed(_read(names, e.args[0]))


def _multiple(names: _Names, e: Expr) -> Matrix:
    return multiple(*(_read(names, a) for a in e.args))


def _hadamard(names: _Names, e: Expr) -> Matrix:
    first, *rest = (_read(names, a) for a in e.args)
    return elementwise("the elementwise product", reduce_with(hadamard, rest, first))


def _mapped(names: _Names, e: Expr) -> Matrix:
    """A.applyfunc(tanh)."""
    z = sympy.Dummy(real=True)
    body = e.function(z)
    name = next((name for name, row in FUNCTIONS.items() if row.scalar(z) == body), None)
    if name is None and body != z:
        raise ModelError(f"{e}: the function {e.function(Symbol('z'))} is not known here; known: "
                         f"{', '.join(FUNCTIONS)}, such as {FUNCTIONS['sigmoid'].scalar(Symbol('z'))} for sigmoid")
    argument = _read(names, e.expr)
    return argument if name is None else applied(name, argument)


def _applied(names: _Names, e: Expr) -> Matrix:
    name = str(e.args[0])
    if name not in FUNCTIONS and name not in VECTOR_FUNCTIONS:
        raise ModelError(f"the function {name} is not known; known: {', '.join((*FUNCTIONS, *VECTOR_FUNCTIONS))}")
    return applied(name, _read(names, e.args[1]))


def _ones(names: _Names, e: Expr) -> Matrix:
    return nodes.Ones(*(names.size(n) for n in e.shape))


def _blocks(names: _Names, e: Any) -> Matrix:
    """[a; b], columns below one another; or [0 I 0], which picks rows."""
    if (bounds := build.selected(e)) is not None:
        start, stop = bounds
        before, total = (S.Zero if n == 0 else names.size(n) for n in (start, e.shape[1]))
        return build.selection(before, names.size(stop - start), total)
    rows = e.rows if isinstance(e, nodes.Block) else e.blocks.tolist()
    if any(len(row) != 1 for row in rows):
        raise ModelError(f"{e}: blocks stand below one another, in one column")
    return stacked([_read(names, row[0]) for row in rows])


def _rows(names: _Names, e: Any) -> Matrix:
    """W[a:b, :]."""
    whole = _read(names, e.parent)
    (start, stop, step), columns = e.rowslice, e.colslice
    if step != 1 or columns != (0, e.parent.shape[1], 1):
        raise ModelError(f"{e}: rows are taken one after the other, with all columns, W[a:b, :]")
    start, stop = (S.Zero if n == 0 else names.size(n) for n in (start, stop))
    return rows(whole, start, stop)


def _zero(names: _Names, e: Expr) -> Matrix:
    return nodes.Zero(*(names.size(n) for n in e.shape))


def _identity(names: _Names, e: Expr) -> Matrix:
    return nodes.Identity(names.size(e.shape[0]))


def _loss(names: _Names, e: Loss) -> Matrix:
    arguments = [_read(names, a) for a in e.args[1:]]
    if e.name == "squared_norm":
        return loss(e.name, *arguments)
    for written, read in zip(e.args[1:], arguments, strict=True):
        if not isinstance(read, At):
            raise ModelError(f"{written} is not a family such as o or y; give the expression a name by an equation")
    if e.name in names.families or e.name in names.parameters:
        raise ModelError(f"{e.name} is a variable and cannot name a loss")
    return loss(e.name, *arguments)


def _listed(losses: object) -> list[Matrix | LossTerm]:
    if isinstance(losses, Sequence) and not isinstance(losses, str):
        return list(losses)
    return [cast(Matrix, losses)]


def _terms(names: _Names, losses: Iterable[Matrix | LossTerm], reduce: str | Sequence[str]) -> tuple[LossTerm, ...]:
    written = list(losses)
    if not isinstance(reduce, str) and any(isinstance(e, LossTerm) for e in written):
        raise ModelError("a LossTerm has its own reduce; give one word for the other terms", "loss")
    words = [reduce] * len(written) if isinstance(reduce, str) else list(reduce)
    if len(words) != len(written):
        raise ModelError(f"{len(written)} losses, but {len(words)} words in reduce", "loss")
    terms: list[LossTerm] = []
    for e, word in zip(written, words, strict=True):
        terms += _term(names, e if isinstance(e, LossTerm) else LossTerm(cast(Loss, e), cast(Reduce, word)), len(terms))
    return tuple(terms)


def _term(names: _Names, term: LossTerm, number: int) -> Iterator[LossTerm]:
    """The summands of one term, with plain symbols."""
    if term.reduce not in get_args(Reduce):
        raise ModelError(f"reduce is {term.reduce!r}; known: {', '.join(get_args(Reduce))}", "loss", str(number))
    if not isinstance(term.weight, Expr | int):
        raise ModelError(f"the weight {term.weight!r} is a {type(term.weight).__name__}, no number", "loss",
                         str(number))
    if not isinstance(term.loss, Basic):
        raise ModelError(f"{term.loss!r} is no loss; make one by loss(\"l\", o, y)", "loss", str(number))
    whole = _read(names, term.loss)
    mask = None if term.mask is None else _target(names, term.mask, number)
    assume = tuple(_target(names, y, number) for y in term.assume)
    for part in whole.args if isinstance(whole, Plus) else [whole]:
        weight, body = part.args if isinstance(part, Scale) else (S.One, part)
        if not isinstance(body, Loss):
            raise ModelError(f"{term.loss} is no loss, no number times one, and no sum of such", "loss", str(number))
        yield LossTerm(body, term.reduce, _scalar(names, S.One * term.weight) * weight, mask, assume)


def _target(names: _Names, symbol: object, number: int) -> MatrixSymbol:
    if not isinstance(symbol, MatrixSymbol) or str(symbol.name) not in names.families:
        raise ModelError(f"{symbol} is no target; a mask and what is assumed to add up to one are targets", "loss",
                         str(number))
    return names.variable(symbol)


Reader: TypeAlias = Callable[[_Names, Any], Matrix]

READERS: dict[type, Reader] = {
    MatrixSymbol: _symbol, Family: _symbol, Member: _member, At: _at, Loss: _loss,
    sympy.MatMul: _product, nodes.Times: _product, Scale: _product,
    sympy.MatAdd: _sum, Plus: _sum, sympy.MatPow: _power,
    sympy.HadamardProduct: _hadamard, nodes.Hadamard: _hadamard, nodes.Multiple: _multiple, nodes.Apply: _applied,
    ElementwiseApplyFunction: _mapped, sympy.OneMatrix: _ones, nodes.Ones: _ones, sympy.BlockMatrix: _blocks,
    nodes.Block: _blocks, MatrixSlice: _rows,
    sympy.Transpose: _transposed, nodes.Transpose: _transposed,
    sympy.ZeroMatrix: _zero, nodes.Zero: _zero, sympy.Identity: _identity, nodes.Identity: _identity,
}
"""How each class is read."""
