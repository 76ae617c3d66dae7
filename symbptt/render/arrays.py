"""Array expressions and statements -> Python, one name table per array library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sympy import Expr, Float, Integer, Pow, Symbol

from symbptt.expr.text import index_text
from symbptt.program import array as a

WIDTH = 120
LARGE = 2**53

SUM, PRODUCT, ATOM = 1, 2, 3
"""How tightly a piece of code binds."""


@dataclass(frozen=True)
class Library:
    """How an array library writes the functions of the table; {0}, {1} … are the arguments.

    `maps` holds the functions that an equation may call, and their slopes, by their names in the model language.
    """

    name: str
    functions: Mapping[str, str]
    maps: Mapping[str, str]


NUMPY = Library("numpy", {
    "zeros": "np.zeros({shape}, dtype)",
    "ones": "np.ones({shape}, dtype)",
    "zeros like": "np.zeros_like({0})",
    "identity": "np.eye({0}, dtype=dtype)",
    "power": "np.linalg.matrix_power({0}, {1})",
    "elementwise power": "{0:atom} ** ({1})",
    "dot": "_dot({0}, {1})",
    "apply": "_apply({0}, {1})",
    "outer": "_outer({0}, {1})",
    "only row": "{0:atom}[0]",
    "as a column": "{0:atom}[..., :, None]",
    "as a row": "{0:atom}[..., None, :]",
    "beside": "np.concatenate({0}, axis=-1)",
    "blocks": "np.block({0})",
    "blocks of samples": "_blocks({0}, {1})",
    "spread": "np.broadcast_to({0}, ({1}, {2}))",
    "sum over samples": "{0:atom}.sum(axis=0)",
    "sum over samples, a row": "{0:atom}.sum(axis=0, keepdims=True)",
    "stack": "_stacked({0}, T)",
    "stack back": "_stacked(_by_time({rest}), T, back={0})",
    "steps from": "{steps}",
    "at index": "{0:atom}[{1}]",
    "copy": "{0:atom}.copy()",
    "in one dtype": "{0:atom}.astype(dtype)",
    "samples first": "{0:atom}.swapaxes(0, 1)",
    "swapped": "{0:atom}.swapaxes(-1, -2)",
    "total": "{0:atom}.sum(axis=-1, keepdims=True)",
    "sum of entries": "np.sum({0})",
    "put among": "_placed({0}, {1}, {2})",
    "put among rows": "_placed({0}, {1}, {2}, axis=-2)",
    "at last": "_at_last({0})",
    "at end": "_at_end({0}, {1})",
    "unless given": "given.get({0}, {1})",
    "empty": "np.empty({shape}, dtype)",
    "as rows": "{0:atom}.reshape({1}, {2})",
    "steps": "{0:atom}[{1}:{2}]",
    "rows of a block": "{0:atom}[{1}]",
    "first rows": "{0:atom}[: {1}]",
    "block length": "_block_length(T, {0} * {1:atom})",
    "steps down": "{0:atom}[{1}:{2}][::-1]",
    "from step": "{0:atom}[{1} :]",
    "in order": "np.ascontiguousarray({0})",
    "tiled": "np.tile({0}, (T, 1))",
    "stacked parameters": "np.concatenate({0})",
    "parameters side by side": "np.concatenate({0}, axis=1)",
    "sum over steps": "{0:atom}.reshape(T, {1}, {2}).sum(axis=0)",
    "count": "_count({0}, {1})",
    "and": "np.append({0}, {1})",
}, {
    "tanh": "np.tanh({0})",
    "sigmoid": "_sigmoid({0})",
    "relu": "_relu({0})",
    "softplus": "_softplus({0})",
    "exp": "np.exp({0})",
    "sin": "np.sin({0})",
    "cos": "np.cos({0})",
    "square": "np.square({0})",
    "abs": "_absolute({0})",
    "leaky_relu": "_leaky_relu({0})",
    "elu": "_elu({0})",
    "silu": "_silu({0})",
    "softsign": "_softsign({0})",
    "hard_tanh": "_hard_tanh({0})",
    "step": "_step({0})",
    "sign": "_sign({0})",
    "softmax": "_softmax({0})",
    "log_softmax": "_log_softmax({0})",
})


@dataclass(frozen=True)
class Code:
    """A piece of code and how tightly it binds."""

    text: str
    binds: int = ATOM

    def __format__(self, spec: str) -> str:
        return f"({self.text})" if spec == "atom" and self.binds < ATOM else self.text


class Writer:
    """Code in one library."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def __call__(self, e: a.Array) -> str:
        return self.code(e).text

    def code(self, e: a.Array) -> Code:
        """The code of an array expression, by the table of its class."""
        return WRITERS[type(e)](self, e)

    def tight(self, e: a.Array) -> str:
        """The code in parentheses unless it is an atom."""
        return f"{self.code(e):atom}"

    def called(self, e: a.Call) -> Code:
        """A function of the library."""
        pattern = self.library.functions[e.function]
        if e.function == "steps from":
            return Code("{" + ", ".join(f"{-k}: {self(value)}" for k, value in enumerate(e.args)) + "}")
        given = [self.code(x) for x in e.args]
        listed = [code.text for code in given]
        shape = f"({', '.join(listed)})" if len(listed) > 1 else listed[0]
        text = pattern.format(*given, shape=shape, rest=", ".join(listed[1:]),
                              rest2=", ".join(listed[2:]))
        return Code(text, PRODUCT if e.function == "elementwise power" else ATOM)

    def mapped(self, e: a.Mapped) -> Code:
        """A function of the model language."""
        return Code(self.library.maps[e.function].format(self(e.body)))


def _add(write: Writer, e: a.Add) -> Code:
    first, *rest = e.args
    text = write(first)
    for x in rest:
        text += f" - {_operand(write, x.body)}" if isinstance(x, a.Negative) else f" + {write(x)}"
    return Code(text, SUM)


def _operand(write: Writer, e: a.Array) -> str:
    code = write.code(e)
    return f"({code.text})" if code.binds == SUM else code.text


def _multiply(write: Writer, e: a.Multiply) -> Code:
    return Code(" * ".join(map(write.tight, e.args)), PRODUCT)


def _matmul(write: Writer, e: a.MatMul) -> Code:
    first, second, *rest = e.args
    if isinstance(first, a.Turned) and "product over rows" in write.library.functions:
        product = write(a.call("product over rows", first.body, second))
        return Code(" @ ".join([product, *map(write.tight, rest)]), PRODUCT) if rest else Code(product)
    return Code(" @ ".join(map(write.tight, e.args)), PRODUCT)


def _divide(write: Writer, e: a.Divide) -> Code:
    above = write(e.above) if isinstance(e.above, a.Multiply) else write.tight(e.above)
    return Code(f"{above} / {write.tight(e.below)}", PRODUCT)


def _rows(write: Writer, e: a.Rows) -> Code:
    rows = ["[" + ", ".join(map(write, row)) + "]" for row in e.cells]
    return Code(rows[0] if len(rows) == 1 else f"[{', '.join(rows)}]")


SPANS = {"rows": "{}", "columns": ":, {}", "last": "..., {}", "rows of samples": "..., {}, :"}
"""How a span of rows or columns stands in the brackets of an array, by the axis of a slice."""


def _slice(write: Writer, e: a.Slice) -> Code:
    inner = e.body
    if isinstance(inner, a.Slice) and {e.axis, inner.axis} == {"rows", "columns"}:
        rows, columns = (_span(x) for x in sorted((e, inner), key=lambda x: x.axis, reverse=True))
        return Code(f"{write.tight(inner.body)}[{rows}, {columns}]")
    return Code(f"{write.tight(inner)}[{SPANS[e.axis].format(_span(e))}]")


def _span(e: a.Slice) -> str:
    start, stop = ("" if end is None else size(end).text for end in (e.start, e.stop))
    simple = not (start and stop) or (start + stop).isdigit()
    return f"{start}:{stop}" if simple else f"{start} : {stop}"


def _scalar(_: Writer, e: a.Scalar) -> Code:
    return number(e.value)


def _dimension(_: Writer, e: a.Dimension) -> Code:
    return Code(e.value) if isinstance(e.value, str) else size(e.value)


def number(value: Expr) -> Code:
    """A number in Python; integers that a float does not hold exactly are written as floats."""
    if isinstance(value, Integer | int):
        return Code(str(value) if abs(value) < LARGE else repr(float(value)))
    if isinstance(value, Symbol):
        return Code(value.name)
    if isinstance(value, Float):
        return Code(repr(float(value)))
    if isinstance(value, Pow):
        return Code(f"{number(value.base):atom} ** {number(value.exp):atom}", PRODUCT)
    if value.is_Rational:
        return Code(f"{number(Integer(value.p)).text} / {number(Integer(value.q)).text}", PRODUCT)
    if value.is_Add:
        return Code(" + ".join(number(x).text for x in value.as_ordered_terms()).replace("+ -", "- "), SUM)
    if value.is_Mul:
        sign, factors = ("-", (-value).as_ordered_factors()) if value.could_extract_minus_sign() else (
            "", value.as_ordered_factors())
        return Code(sign + " * ".join(f"{number(x):atom}" for x in factors), PRODUCT)
    raise ValueError(f"the number {value} cannot be written as code")


def size(value: Expr) -> Code:
    """A linear form in the sizes."""
    if isinstance(value, Symbol):
        return Code(f'size["{value.name}"]')
    if value.is_Add:
        return Code(" + ".join(size(x).text for x in value.as_ordered_terms()), SUM)
    if value.is_Mul:
        return Code(" * ".join(f"{size(x):atom}" for x in value.as_ordered_factors()), PRODUCT)
    return number(value)


WRITERS: dict[type, Callable[..., Code]] = {
    a.Name: lambda _, e: Code(e.text),
    a.Member: lambda _, e: Code(f"{e.name}[{index_text(e.time)}]"),
    a.Entry: lambda _, e: Code(f'{e.name}["{e.key}"]'),
    a.Text: lambda _, e: Code(f'"{e.text}"'),
    a.Scalar: _scalar,
    a.Slice: _slice,
    a.Dimension: _dimension,
    a.Time: lambda _, e: Code(index_text(e.value), SUM if e.value.terms and e.value.const else ATOM),
    a.Turned: lambda write, e: Code(f"{write.tight(e.body)}.T"),
    a.Negative: lambda write, e: Code(f"-{_operand(write, e.body)}", PRODUCT),
    a.Add: _add,
    a.Multiply: _multiply,
    a.MatMul: _matmul,
    a.Divide: _divide,
    a.Rows: _rows,
    a.Call: Writer.called,
    a.Mapped: Writer.mapped,
}
"""A writer for every class of array expressions."""
