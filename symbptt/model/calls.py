"""What an equation and a loss term may call, and what each call asks of its arguments."""

from __future__ import annotations

import ast
import difflib

from sympy import MatrixSymbol
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.build import loss, stacked, times
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.shape import described
from symbptt.model.functions import CALLABLE, LOSSES
from symbptt.model.names import check_loss_name, did_you_mean
from symbptt.model.operators import applied, transposed
from symbptt.model.parts import ModelError
from symbptt.model.reading import Handler, Reading, Value

SPELLINGS = {
    "sigma": "sigmoid", "sigm": "sigmoid", "sig": "sigmoid", "logistic": "sigmoid", "expit": "sigmoid",
    "logsig": "sigmoid", "th": "tanh", "tansig": "tanh", "rectifier": "relu", "rect": "relu", "lrelu": "leaky_relu",
    "swish": "silu", "id": "identity", "linear": "identity", "hardtanh": "hard_tanh", "smax": "softmax",
    "cat": "concat", "concatenate": "concat", "stack": "concat", "vstack": "concat", "hstack": "concat",
    "inner": "dot", "matmul": "@", "mm": "@", "mul": "*", "multiply": "*", "hadamard": "*", "transpose": ".T",
}
"""What people call functions elsewhere, in lower case; and operators that others write as functions."""

ABSENT = ("log", "ln", "sqrt", "sum", "mean", "max", "min", "pow", "inv", "det", "trace", "norm", "erf", "gelu", "atan",
          "arctan", "sinh", "cosh", "tan", "sign", "step", "heaviside")
"""Functions whose meaning is plain but which no row defines; nothing that is known is close to them."""


def call(reading: Reading, node: ast.Call) -> Value:
    """A function of FUNCTIONS, applied."""
    name = function_name(reading, node)
    if name in LOSSES:
        raise reading.error(node, f"{name} is a loss; it stands in a [[loss]] term, not in an equation")
    if name not in FUNCTIONS:
        raise reading.error(node, f"the function {name} is not known{closest(name)}")
    return FUNCTIONS[name](reading, node)


def closest(name: str) -> str:
    """The end of a message: the function that a person may have meant, else all of them."""
    word = name.lower().strip("_")
    if word in ABSENT:
        return f"; known: {', '.join(FUNCTIONS)}"
    meant = SPELLINGS.get(word) or (word if word in FUNCTIONS else None)
    return f"; did you mean {meant}?" if meant else did_you_mean(word, FUNCTIONS)


def function_name(reading: Reading, node: ast.Call) -> str:
    """The name that is called."""
    if not isinstance(node.func, ast.Name):
        raise reading.error(node.func, f"{reading.excerpt(node.func)} is not a function{_plain(reading, node.func)}")
    name = node.func.id
    if name in reading.scope.names:
        raise reading.error(node.func, f"{name} is a variable, not a function; @ is the matrix product, * multiplies "
                                       f"by a number, and {name}[t-1] reaches back")
    if node.keywords:
        raise reading.error(node.keywords[0].value, "arguments have no names here")
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise reading.error(argument, f"{reading.excerpt(argument)} is not known here; write the arguments out")
    return name


def _plain(reading: Reading, node: ast.expr) -> str:
    """The end of a message: what to write for np.tanh(z), z.tanh() or W.transpose()."""
    if not isinstance(node, ast.Attribute):
        return ""
    word = node.attr.lower()
    word = SPELLINGS.get(word, word)
    if word in ("t", ".T"):
        owner = reading.excerpt(node.value)
        whole = isinstance(node.value, ast.Name) and owner not in reading.scope.names
        return f"; write {'W' if whole else owner}.T"
    return f"; write {word}(…)" if word in FUNCTIONS else f"; write a {word} b" if word in ("@", "*") else closest(word)


def _arguments(reading: Reading, node: ast.Call, count: int | None = None) -> list[Matrix]:
    """The arguments of a function; all of them are matrices."""
    name = reading.excerpt(node.func)
    if not node.args or (count is not None and len(node.args) != count):
        wanted = f"{count} argument{'s' * (count != 1)}" if count is not None else "arguments"
        raise reading.error(node, f"{name} takes {wanted}, not {len(node.args)}")
    values = [reading.read(a) for a in node.args]
    for value, written in zip(values, node.args, strict=True):
        if not isinstance(value, MatrixExpr):
            instead = "; a [static] column of size 1 can stand there" if name == "concat" else ""
            raise reading.error(written, f"{value} is a number; {name} takes a column such as h{instead}")
    return values


def _applied(reading: Reading, node: ast.Call) -> Value:
    """tanh(z), softmax(z)."""
    name = reading.excerpt(node.func)
    (z,) = _arguments(reading, node, 1)
    try:
        return applied(name, z)
    except ModelError as error:
        raise reading.error(node, error.message) from None


def _identity(reading: Reading, node: ast.Call) -> Value:
    return _arguments(reading, node, 1)[0]


def _concat(reading: Reading, node: ast.Call) -> Value:
    """concat(a, b, …), columns below one another."""
    columns = _arguments(reading, node)
    for column, written in zip(columns, node.args, strict=True):
        if column.shape[1] != 1:
            raise reading.error(written, f"concat of {described(column)}: it takes columns; declare one matrix of all "
                                         "rows and take slices W[a:b] of it")
    return stacked(columns)


def _dot(reading: Reading, node: ast.Call) -> Value:
    """dot(a, b) = aᵀ b, 1 × 1, of two columns."""
    a, b = _arguments(reading, node, 2)
    if a.shape != b.shape or a.shape[1] != 1:
        raise reading.error(node, f"cannot take the dot product of {described(a)} and {described(b)}: "
                                  "it takes two columns of one size; @ is the matrix product")
    return times(transposed(a), b)


def loss_call(reading: Reading, node: ast.Call) -> Value:
    """l(o, y) or a loss with a name."""
    name = function_name(reading, node)
    if name in LOSSES:
        wanted = LOSSES[name].arguments
        if len(node.args) != len(wanted):
            raise reading.error(node, f"{name} takes {len(wanted)} argument{'s' * (len(wanted) != 1)}: "
                                      f"{name}({', '.join(wanted)})")
        return loss(name, _weight(reading, node.args[0])) if name == "squared_norm" else \
            loss(name, *[_argument(reading, argument) for argument in node.args])
    try:
        check_loss_name(name)
    except ModelError as error:
        raise reading.error(node, error.message) from None
    if close := difflib.get_close_matches(name.lower(), LOSSES, n=1, cutoff=0.85):
        raise reading.error(node, f"the loss {name} is not known; did you mean {close[0]}?")
    if not node.args:
        raise reading.error(node, f"{name} has no arguments; write {name}(o, y)")
    return loss(name, *[_argument(reading, argument) for argument in node.args])


def _weight(reading: Reading, node: ast.expr) -> Matrix:
    value = reading.read(node)
    if not isinstance(value, MatrixSymbol):
        raise reading.error(node, f"{reading.excerpt(node)} is not a parameter such as W; a regulariser reads one")
    return value


def _argument(reading: Reading, node: ast.expr) -> At:
    value = reading.read(node)
    if not isinstance(value, At):
        raise reading.error(node, f"{reading.excerpt(node)} is not a family such as o or y; "
                                  "give the expression a name by an equation")
    return value


FUNCTIONS: dict[str, Handler] = {**dict.fromkeys(CALLABLE, _applied), "identity": _identity, "concat": _concat,
                                 "dot": _dot}
"""What an equation may call."""
