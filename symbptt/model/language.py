"""The equation language: text -> expression, by tables; nothing is ever evaluated.

A row of `nodes` reads one kind of syntax node, a row of `operators` combines two operands, a row of FUNCTIONS applies a
function. What has no row is refused. Errors are `ModelError`s whose offset is the place in the text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sympy import Expr, Rational, S, Symbol
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.build import scale
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Loss, Matrix, Scale
from symbptt.expr.shape import ShapeError
from symbptt.model.calls import FUNCTIONS, call, loss_call
from symbptt.model.functions import LOSSES
from symbptt.model.names import RESERVED, did_you_mean
from symbptt.model.operators import (
    add,
    check_multiples,
    divide,
    multiply,
    multiply_matrices,
    power,
    rows,
    subtract,
    transposed,
)
from symbptt.model.parts import SIZE_MEANT, ModelError
from symbptt.model.reading import (
    BITS,
    EXPONENT,
    NUMBER,
    OLDEST,
    Language,
    Reading,
    Scope,
    Text,
    Value,
    is_size,
    parse,
)

ASSUMPTION = re.compile(r"\s*sum\(\s*(?P<name>\w+)\s*\)\s*==\s*1\s*")


def same_time(text: Text, names: Collection[str]) -> dict[str, int]:
    """Which of the names the text reads at t, and where first; what stands in a call of no known function is left."""
    found: dict[str, int] = {}
    stack: list[ast.AST] = [text.tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            stack.append(node.value)
            continue
        if isinstance(node, ast.Subscript) and not _is_t(node.slice):
            continue
        if isinstance(node, ast.Call):
            known = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
            stack.extend(reversed(node.args if known else []))
            continue
        if isinstance(node, ast.Name) and node.id in names:
            found.setdefault(node.id, text.start + node.col_offset)
        stack.extend(reversed(list(ast.iter_child_nodes(node))))
    return found


def read_equation(text: Text, scope: Scope, instead: str = "") -> Matrix:
    """The right-hand side of an equation; `instead` says what to write in place of a number.

    Raises:
        ModelError: a name is unknown, shapes clash, something looks ahead, or it is beyond the language.
    """
    value = Reading(text, scope, EQUATION).read(text.tree)
    if not isinstance(value, MatrixExpr):
        raise ModelError(f"{value} is a number; an equation defines a column{instead}", offset=text.start)
    try:
        return check_multiples(value)
    except ModelError as error:
        raise ModelError(error.message, offset=text.start) from None


def read_loss(text: Text, scope: Scope) -> tuple[Expr, Loss]:
    """The weight and the loss of a [[loss]] term.

    Raises:
        ModelError: it is not a number times one loss of families.
    """
    if isinstance(text.tree, ast.Name) and text.tree.id not in scope.names:
        named = ", ".join(f"{name}({', '.join(row.arguments)})" for name, row in LOSSES.items())
        raise ModelError(f"{text.tree.id} says not what is compared; write l(o, y), or a loss with a meaning: {named}",
                         offset=text.start)
    value = Reading(text, scope, LOSS).read(text.tree)
    weight, body = value.args if isinstance(value, Scale) else (S.One, value)
    if not isinstance(body, Loss):
        raise ModelError("a loss term is a loss such as l(o, y), or a number times one; "
                         "a sum is written as several [[loss]] terms", offset=text.start)
    return weight, body


def read_assumption(written: str) -> str:
    """The y of the assumption "sum(y) == 1".

    Raises:
        ModelError: it is another text.
    """
    found = ASSUMPTION.fullmatch(written)
    if found is None:
        raise ModelError('an assumption is written "sum(y) == 1", with a target y')
    return found["name"]


def read_shape(written: str, sizes: Mapping[str, Symbol]) -> tuple[Expr, ...]:
    """The sizes of a shape text such as "h", "h, d" or "4*h, h + d".

    Raises:
        ModelError: a size is unknown, or what stands there is no size.
    """
    text = parse(written, longest=200, between="{0}, {1}")
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
    if name in scope.elsewhere:
        raise reading.error(node, scope.elsewhere[name])
    if name in RESERVED:
        raise reading.error(node, f"{name} is {RESERVED[name]}; it cannot stand here")
    if name in scope.sizes:
        raise reading.error(node, f"{name} is a size, not a variable; sizes stand in shapes and in row slices W[a:b]")
    if (name in FUNCTIONS or name in LOSSES) and reading.language is not SIZE:
        raise reading.error(node, f"{name} is a function; write {name}(…) with what it takes in parentheses")
    raise reading.error(node, reading.language.missing.format(name) + did_you_mean(name, scope.names))


def _member(reading: Reading, node: ast.Subscript) -> Value:
    """v[t-k], or rows W[a:b] of a name."""
    if isinstance(node.slice, ast.Slice):
        return _rows(reading, node)
    if not isinstance(node.value, ast.Name):
        raise reading.error(node.value, f"only a name has a time, v[t-k], and rows are taken by two bounds, "
                                        f"v[t-k][a:b]; {reading.excerpt(node)} is neither")
    name, lag, scope = node.value.id, _lag(reading, node), reading.scope
    if lag and name in scope.defined and reading.language is LOSS:
        raise reading.error(node, f"the loss reads {reading.excerpt(node)}; a loss reads what the model computes at t "
                                  "only")
    if lag and name in scope.defined and name not in scope.reaching:
        raise reading.error(node, f"{reading.excerpt(node)} reaches back, but {name} stands in none of [states], "
                                  f"[inputs] and [targets]; add {name} to [states]")
    now = _name(reading, node.value)
    if not isinstance(now, At):
        raise reading.error(node.value, f"{name} is constant; only what changes with time has [t-k]")
    return At(now.family, index(t) - lag)


def _rows(reading: Reading, node: ast.Subscript) -> Value:
    """W[a:b], the rows from a on and before b, counted from 0, of a named matrix or column."""
    bounds: Any = node.slice
    inner = node.value
    if isinstance(inner, ast.Subscript) and not isinstance(inner.slice, ast.Slice):
        inner = inner.value
    if not isinstance(inner, ast.Name):
        raise reading.error(node.value, f"{reading.excerpt(node.value)} has no name; rows are taken of a name, W[a:b] "
                                        "or h[t-1][a:b]")
    whole = reading.read(node.value)
    if not isinstance(whole, MatrixExpr):
        raise reading.error(node.value, f"{whole} is a number; rows are taken of a matrix or a column")
    if bounds.step is not None:
        raise reading.error(bounds.step, "rows are taken one after the other; write W[a:b]")
    ends = ((bounds.lower, S.Zero), (bounds.upper, whole.shape[0]))
    start, stop = (_bound(reading, bound, end) for bound, end in ends)
    try:
        return rows(whole, start, stop)
    except ModelError as error:
        raise reading.error(bounds, error.message) from None


def _bound(reading: Reading, node: ast.expr | None, missing: Expr) -> Expr:
    """A bound of a slice in the language of sizes."""
    if node is None:
        return missing
    value = Reading(reading.text, Scope(constants=reading.scope.sizes), ROW, reading.depth).read(node)
    if value != 0 and not is_size(value):
        raise reading.error(node, f"{reading.excerpt(node)} is not a number of rows; {ROW.help}")
    return value


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
        case ast.Tuple():
            raise reading.error(node.slice, f"{reading.excerpt(node.slice)} speaks of columns too; rows alone are "
                                            "taken, W[a:b]")
        case ast.Constant(value=int(k)) if not isinstance(k, bool):
            name = reading.excerpt(node.value)
            raise reading.error(node.slice, f"{k} is not a time; write {name}[{k}:{k + 1}] for the row {k}, or v[t-k]")
        case _:
            raise reading.error(node.slice, f"{reading.excerpt(node.slice)} is not a time; "
                                            "write v[t-k] with a whole number k, or W[a:b] for rows")


def _attribute(reading: Reading, node: ast.Attribute) -> Value:
    value = reading.read(node.value)
    if node.attr != "T":
        raise reading.error((node.end_col_offset or 0) - len(node.attr), f".{node.attr} is not known; known: .T")
    if not isinstance(value, MatrixExpr):
        raise reading.error(node, f"{value} is a number; .T transposes a matrix")
    return transposed(value)


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
        meant = [side.id for side in (node.right, node.left)
                 if isinstance(side, ast.Name) and side.id in reading.scope.sizes and sign in ("*", "/", "**")]
        hint = SIZE_MEANT.format(meant[0]) if meant else ""
        raise reading.error(place, f"{error}{hint}") from None
    if not isinstance(value, MatrixExpr) and any(a.p.bit_length() + a.q.bit_length() > BITS
                                                 for a in value.atoms(Rational)):
        raise reading.error(place, f"the result of {sign} is too large a number")
    return value


EQUATION = Language(
    nodes={ast.Name: _name, ast.Constant: _number, ast.Subscript: _member, ast.Attribute: _attribute,
           ast.UnaryOp: _unary, ast.BinOp: _binary, ast.Call: call},
    operators={ast.Add: ("+", add), ast.Sub: ("-", subtract), ast.Mult: ("*", multiply),
               ast.MatMult: ("@", multiply_matrices), ast.Div: ("/", divide), ast.Pow: ("**", power)},
    missing="the name {} is declared in no table",
    help="an equation is made of names, v[t-k], W[a:b], numbers, + - @ * / .T, functions and parentheses")

LOSS = replace(EQUATION, nodes={**EQUATION.nodes, ast.Call: loss_call})

SIZE = Language(
    nodes={ast.Name: _name, ast.Constant: _number, ast.BinOp: _binary},
    operators={ast.Add: ("+", add), ast.Mult: ("*", multiply)},
    missing="the size {} is not declared in [sizes]",
    help="a size is a name of [sizes], a whole number from 1 on, or a sum of multiples such as 4*h or h + d")

ROW = replace(SIZE, missing="the size {} is not declared in [sizes]",
              help="rows are counted from 0 by whole numbers and sizes, W[h:2*h]")
