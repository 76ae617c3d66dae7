"""The equation language: text -> expression, by tables; nothing is ever evaluated.

A row of `nodes` reads one kind of syntax node, a row of `operators` combines two operands, a row of FUNCTIONS applies a
function. What has no row is refused. Errors are `ModelError`s whose offset is the place in the text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

from sympy import Expr, MatrixSymbol, Rational, S, Symbol
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.build import loss, plus, scale, times, transpose
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Loss, Matrix, Scale
from symbptt.expr.shape import ShapeError, common_shape, described, product_shape
from symbptt.model.names import RESERVED, check_loss_name, did_you_mean
from symbptt.model.spec import ModelError

LONGEST, DEEPEST, OLDEST = 4000, 100, 1000
"""The most characters of a text, levels of nesting, and steps that a lag reaches back."""

DIGITS, EXPONENT, BITS = 40, 100, 512
"""The most digits of a number, its largest exponent, and the most bits of a coefficient that numbers combine to."""

STRAY = re.compile(r"[^A-Za-z0-9_+\-*/@.()\[\],: \t\r\n]")
LONG_NUMBER = re.compile(rf"(?<![A-Za-z0-9_.])[0-9.]{{{DIGITS + 1},}}")
GLUED = re.compile(r"(?<![A-Za-z0-9_.])\d[\d.]*(?:[eE][+-]?\d+)?+(?=[A-Za-z_])")
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE](?P<exponent>[+-]?\d{1,4}))?")
SPACES = str.maketrans("\t\r\n", "   ")


Value: TypeAlias = Expr | Matrix
Handler: TypeAlias = Callable[["Reading", Any], Value]
Operator: TypeAlias = Callable[[Any, Any], Value]


def is_size(e: Expr) -> bool:
    """Whether it is a whole number from 1 to a million, or a sum of multiples of sizes."""
    terms = e.as_coefficients_dict()
    return all(a.is_Integer and 0 < a <= 10**6 and (factor == 1 or factor.is_Symbol) for factor, a in terms.items())


@dataclass(frozen=True)
class Text:
    """A text that was parsed; `start` is where its first word stands."""

    body: str
    tree: ast.expr
    start: int


def parse(text: str, longest: int = LONGEST) -> Text:
    """The syntax tree of a text.

    Raises:
        ModelError: it is empty, too long, not an expression, or uses characters beyond those of the language.
    """
    if len(text) > longest:
        raise ModelError(f"this has {len(text)} characters; at most {longest} are read")
    if stray := STRAY.search(text):
        raise ModelError(f"the character {stray[0]!r} cannot stand here", offset=stray.start())
    if number := LONG_NUMBER.search(text):
        raise ModelError(f"a number of more than {DIGITS} digits", offset=number.start())
    if glued := GLUED.search(text):
        raise ModelError("a number and a name without * between them", offset=glued.end())
    body = text.translate(SPACES)
    start = len(body) - len(body.lstrip())
    body = body.strip()
    if not body:
        raise ModelError("nothing is written here")
    try:
        return Text(body, ast.parse(body, mode="eval").body, start)
    except SyntaxError as error:
        place = error.offset - 1 if error.offset else len(body)
        said = error.msg.partition(".")[0] if error.offset else "it breaks off"
        raise ModelError(f"not an expression: {said}", offset=start + place) from None
    except (RecursionError, MemoryError, ValueError):
        raise ModelError("nested too deeply", offset=start) from None


@dataclass
class Scope:
    """The names that a text may use. `families` grows as their shapes become known."""

    parameters: Mapping[str, MatrixSymbol] = field(default_factory=dict)
    constants: Mapping[str, Symbol] = field(default_factory=dict)
    families: dict[str, MatrixSymbol] = field(default_factory=dict)
    reaching: Collection[str] = ()
    defined: Collection[str] = ()

    @property
    def names(self) -> list[str]:
        """All of them."""
        return list(dict.fromkeys([*self.parameters, *self.families, *self.defined, *self.constants]))


@dataclass(frozen=True)
class Language:
    """What may be written: a handler for each kind of syntax node, its sign and meaning for each operator."""

    nodes: Mapping[type[ast.expr], Handler]
    operators: Mapping[type[ast.operator], tuple[str, Operator]]
    missing: str
    help: str


@dataclass
class Reading:
    """One text on its way to an expression."""

    text: Text
    scope: Scope
    language: Language
    depth: int = 0

    def read(self, node: ast.expr) -> Value:
        """The value of a syntax node, by the table."""
        handler = self.language.nodes.get(type(node))
        if handler is None:
            raise self.error(node, f"{self.excerpt(node)} is not known here; {self.language.help}")
        if self.depth >= DEEPEST:
            raise self.error(node, "nested too deeply")
        self.depth += 1
        value = handler(self, node)
        self.depth -= 1
        return value

    def error(self, place: ast.expr | int, message: str) -> ModelError:
        """The error at a syntax node or an offset of the body."""
        return ModelError(message, offset=self.text.start + (place if isinstance(place, int) else place.col_offset))

    def excerpt(self, node: ast.expr) -> str:
        """What the person wrote there, shortened."""
        written = self.text.body[node.col_offset:node.end_col_offset]
        return written if len(written) <= 40 else f"{written[:37]}..."


def same_time(text: Text, names: Collection[str]) -> dict[str, int]:
    """Which of the names the text reads at t, and where first."""
    found: dict[str, int] = {}
    stack: list[ast.AST] = [text.tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Subscript) and not _is_t(node.slice):
            continue
        if isinstance(node, ast.Name) and node.id in names:
            found.setdefault(node.id, text.start + node.col_offset)
        stack.extend(reversed(list(ast.iter_child_nodes(node))))
    return found


def read_equation(text: Text, scope: Scope) -> Matrix:
    """The right-hand side of an equation.

    Raises:
        ModelError: a name is unknown, shapes clash, something looks ahead, or it is beyond the language.
    """
    value = Reading(text, scope, EQUATION).read(text.tree)
    if not isinstance(value, MatrixExpr):
        raise ModelError(f"{value} is a number; an equation defines a column", offset=text.start)
    return value


def read_loss(text: Text, scope: Scope) -> tuple[Expr, Loss]:
    """The weight and the loss of a [[loss]] term.

    Raises:
        ModelError: it is not a number times one loss of families.
    """
    value = Reading(text, scope, LOSS).read(text.tree)
    weight, body = value.args if isinstance(value, Scale) else (S.One, value)
    if not isinstance(body, Loss):
        raise ModelError("a loss term is a loss such as l(o, y), or a number times one; "
                         "a sum is written as several [[loss]] terms", offset=text.start)
    return weight, body


def read_shape(written: str, sizes: Mapping[str, Symbol]) -> tuple[Expr, ...]:
    """The sizes of a shape text such as "h", "h, d" or "4*h, h + d".

    Raises:
        ModelError: a size is unknown, or what stands there is no size.
    """
    text = parse(written, longest=200)
    reading = Reading(text, Scope(constants=sizes), SIZE)
    shape = []
    for node in text.tree.elts if isinstance(text.tree, ast.Tuple) and text.tree.elts else [text.tree]:
        value = reading.read(node)
        if not is_size(value):
            raise reading.error(node, f"{reading.excerpt(node)} is not a size; {SIZE.help}")
        shape.append(value)
    return tuple(shape)


def _is_t(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "t"


def _number(reading: Reading, node: ast.Constant) -> Expr:
    written = reading.text.body[node.col_offset:node.end_col_offset]
    found = NUMBER.fullmatch(written)
    if not found:
        raise reading.error(node, f"{reading.excerpt(node)} is not a number in decimal digits")
    if abs(int(found["exponent"] or 0)) > EXPONENT:
        raise reading.error(node, f"the exponent of {written} is beyond {EXPONENT}")
    exact = Fraction(written)
    return Rational(exact.numerator, exact.denominator)


def _name(reading: Reading, node: ast.Name) -> Value:
    scope, name = reading.scope, node.id
    if name in scope.families:
        return At(scope.families[name], t)
    if name in scope.parameters:
        return scope.parameters[name]
    if name in scope.constants:
        return scope.constants[name]
    if name in RESERVED:
        raise reading.error(node, f"{name} is {RESERVED[name]}; it cannot stand here")
    raise reading.error(node, reading.language.missing.format(name) + did_you_mean(name, scope.names))


def _member(reading: Reading, node: ast.Subscript) -> Value:
    """v[t-k]."""
    if not isinstance(node.value, ast.Name):
        raise reading.error(node.value, f"{reading.excerpt(node.value)} has no time; only a name does, v[t-k]")
    name, lag, scope = node.value.id, _lag(reading, node), reading.scope
    if lag and name in scope.defined and name not in scope.reaching:
        raise reading.error(node, f"{reading.excerpt(node)} reaches back, but {name} stands in none of [states], "
                                  f"[inputs] and [targets]; add {name} to [states]")
    now = _name(reading, node.value)
    if not isinstance(now, At):
        raise reading.error(node.value, f"{name} is constant; only what changes with time has [t-k]")
    return At(now.family, index(t) - lag)


def _lag(reading: Reading, node: ast.Subscript) -> int:
    match node.slice:
        case ast.Name(id="t"):
            return 0
        case ast.BinOp(left=ast.Name(id="t"), op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(k))) \
                if not isinstance(k, bool):
            if isinstance(op, ast.Add) and k:
                raise reading.error(node, f"{reading.excerpt(node)} looks ahead; "
                                          "only t and times before it can be read")
            if k > OLDEST:
                raise reading.error(node.slice, f"a lag of {k} is too large; at most {OLDEST} is read")
            return k
        case ast.Slice() | ast.Tuple():
            raise reading.error(node.slice, "slices are not known; brackets hold a time, v[t-k]")
        case _:
            raise reading.error(node.slice, f"{reading.excerpt(node.slice)} is not a time; "
                                            "write v[t-k] with a whole number k")


def _attribute(reading: Reading, node: ast.Attribute) -> Value:
    value = reading.read(node.value)
    if node.attr != "T":
        raise reading.error((node.end_col_offset or 0) - len(node.attr), f".{node.attr} is not known; known: .T")
    if not isinstance(value, MatrixExpr):
        raise reading.error(node, f"{value} is a number; .T transposes a matrix")
    return transpose(value)


def _unary(reading: Reading, node: ast.UnaryOp) -> Value:
    if not isinstance(node.op, ast.USub):
        raise reading.error(node, f"{reading.excerpt(node)} is not known here; {reading.language.help}")
    value = reading.read(node.operand)
    return scale(-1, value) if isinstance(value, MatrixExpr) else -value


def _binary(reading: Reading, node: ast.BinOp) -> Value:
    """A chain a + b - c … leans to the left; it is walked, since people write long ones."""
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    value = reading.read(chain[-1].left)
    for step in reversed(chain):
        value = _combined(reading, step, value, reading.read(step.right))
    return value


def _combined(reading: Reading, node: ast.BinOp, left: Value, right: Value) -> Value:
    sign, operator = reading.language.operators.get(type(node.op), ("", None))
    gap = reading.text.body[node.left.end_col_offset:node.right.col_offset]
    place = (node.left.end_col_offset or 0) + len(gap) - len(gap.lstrip(" )"))
    if operator is None:
        raise reading.error(place, f"the operator {gap.strip(' ()')} is not known here; {reading.language.help}")
    try:
        value = operator(left, right)
    except (ModelError, ShapeError) as error:
        raise reading.error(place, str(error)) from None
    if not isinstance(value, MatrixExpr) and any(a.p.bit_length() + a.q.bit_length() > BITS
                                                 for a in value.atoms(Rational)):
        raise reading.error(place, f"the result of {sign} is too large a number")
    return value


def _call(reading: Reading, node: ast.Call) -> Value:
    name = _function_name(reading, node)
    if name not in FUNCTIONS:
        raise reading.error(node, f"the function {name} is not known{did_you_mean(name, FUNCTIONS)}; "
                                  f"{reading.language.help}")
    return FUNCTIONS[name](reading, node)


def _function_name(reading: Reading, node: ast.Call) -> str:
    if not isinstance(node.func, ast.Name):
        raise reading.error(node.func, f"{reading.excerpt(node.func)} is not a function")
    if node.func.id in reading.scope.names:
        raise reading.error(node.func, f"{node.func.id} is a variable, not a function; "
                                       "@ is the matrix product, * multiplies by a number")
    if node.keywords:
        raise reading.error(node.keywords[0].value, "arguments have no names here")
    return node.func.id


def _opaque(reading: Reading, node: ast.Call) -> Value:
    """l(o, y)."""
    name = _function_name(reading, node)
    try:
        check_loss_name(name)
    except ModelError as error:
        raise reading.error(node, error.message) from None
    if not node.args:
        raise reading.error(node, f"{name} has no arguments; write {name}(o, y)")
    return loss(name, *[_argument(reading, argument) for argument in node.args])


def _argument(reading: Reading, node: ast.expr) -> At:
    value = reading.read(node)
    if not isinstance(value, At):
        raise reading.error(node, f"{reading.excerpt(node)} is not a family such as o or y; "
                                  "give the expression a name by an equation")
    if value.time != index(t) and value.family.name in reading.scope.defined:
        raise reading.error(node, f"the loss reads {value}; a loss reads what the model computes at t only")
    return value


def _is_matrix(a: Value, b: Value, doing: str) -> bool:
    if isinstance(a, MatrixExpr) != isinstance(b, MatrixExpr):
        matrix, number = (a, b) if isinstance(a, MatrixExpr) else (b, a)
        raise ModelError(f"cannot {doing} the number {number} and {described(matrix)}")
    return isinstance(a, MatrixExpr)


def _add(a: Any, b: Any) -> Value:
    if not _is_matrix(a, b, "add"):
        return a + b
    common_shape("add", a, b)
    return plus((a, b))


def _subtract(a: Any, b: Any) -> Value:
    if not _is_matrix(a, b, "subtract"):
        return a - b
    if a.shape != b.shape:
        raise ShapeError(f"cannot subtract {described(b)} from {described(a)}: the shapes differ")
    return plus((a, scale(-1, b)))


def _multiply(a: Any, b: Any) -> Value:
    if isinstance(a, MatrixExpr) and isinstance(b, MatrixExpr):
        raise ModelError(f"* between {described(a)} and {described(b)}: the elementwise product is not known yet; "
                         "@ is the matrix product, and a 1 × 1 matrix s scales a column v as v @ s")
    number, other = (b, a) if isinstance(a, MatrixExpr) else (a, b)
    if number == 0 or other == 0:
        raise ModelError(f"0 * {other if number == 0 else number} is nothing; leave the term out")
    return scale(number, other) if isinstance(other, MatrixExpr) else number * other


def _multiply_matrices(a: Any, b: Any) -> Value:
    for operand in (a, b):
        if not isinstance(operand, MatrixExpr):
            raise ModelError(f"@ is the matrix product, but {operand} is a number; write *")
    product_shape(a, b)
    return times(a, b)


def _divide(a: Any, b: Any) -> Value:
    if isinstance(b, MatrixExpr) or not b.is_Rational:
        raise ModelError(f"cannot divide by {described(b) if isinstance(b, MatrixExpr) else b}: "
                         "only by a number such as 2")
    if b == 0:
        raise ModelError("division by zero")
    return scale(1 / b, a) if isinstance(a, MatrixExpr) else a / b


FUNCTIONS: dict[str, Handler] = {}
"""What an equation may call."""

EQUATION = Language(
    nodes={ast.Name: _name, ast.Constant: _number, ast.Subscript: _member, ast.Attribute: _attribute,
           ast.UnaryOp: _unary, ast.BinOp: _binary, ast.Call: _call},
    operators={ast.Add: ("+", _add), ast.Sub: ("-", _subtract), ast.Mult: ("*", _multiply),
               ast.MatMult: ("@", _multiply_matrices), ast.Div: ("/", _divide)},
    missing="the name {} is declared in no table",
    help="an equation is made of names, v[t-k], numbers, + - @ * / .T and parentheses")

LOSS = replace(EQUATION, nodes={**EQUATION.nodes, ast.Call: _opaque})

SIZE = Language(
    nodes={ast.Name: _name, ast.Constant: _number, ast.BinOp: _binary},
    operators={ast.Add: ("+", _add), ast.Mult: ("*", _multiply)},
    missing="the size {} is not declared in [sizes]",
    help="a size is a name of [sizes], a whole number from 1 on, or a sum of multiples such as 4*h or h + d")
