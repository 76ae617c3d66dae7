"""Array expressions and statements -> Python, one name table per array library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sympy import Expr, Float, Integer, Pow, Symbol

from symbptt.expr.text import index_text
from symbptt.program import array as a
from symbptt.program import statements as s

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
    "copy": "{0:atom}.copy()",
    "in one dtype": "{0:atom}.astype(dtype)",
    "swapped": "{0:atom}.swapaxes(-1, -2)",
    "total": "{0:atom}.sum(axis=-1, keepdims=True)",
    "sum of entries": "np.sum({0})",
    "put among": "_placed({0}, {1}, {2})",
    "put among rows": "_placed({0}, {1}, {2}, axis=-2)",
    "at last": "_at_last({0})",
    "empty": "np.empty({shape}, dtype)",
    "as rows": "{0:atom}.reshape({1}, {2})",
    "steps": "{0:atom}[{1}:{2}]",
    "rows of a block": "{0:atom}[{1}]",
    "first rows": "{0:atom}[: {1}]",
    "block length": "_block_length({0} * {1:atom})",
    "block of steps": "np.empty(({0} * {1}, {2}), dtype)",
    "steps down": "{0:atom}[{1}:{2}][::-1]",
    "from step": "{0:atom}[{1} :]",
    "tiled": "np.tile({0}, (T, 1))",
    "stacked parameters": "np.concatenate({0})",
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
        text = pattern.format(*given, shape=shape, rest=", ".join(listed[1:]))
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


class Block:
    """Statements as lines of Python."""

    def __init__(self, write: Writer) -> None:
        self.write = write

    def lines(self, body: tuple[s.Statement, ...], depth: int = 1) -> Iterator[str]:
        """The lines of a body."""
        for statement in body:
            yield from STATEMENTS[type(statement)](self, statement, depth)

    def assign(self, e: s.Assign, depth: int) -> Iterator[str]:
        """One assignment, with the labels of the equations behind it."""
        note = _note(e.labels)
        sign = "+=" if e.augmented else "="
        kind = ": Steps" if isinstance(e.value, a.Call) and e.value.function == "steps from" else ""
        return placed(f"{self.write(e.target)}{kind} {sign} ", self.write(e.value), note, depth)

    def into(self, e: s.Into, depth: int) -> Iterator[str]:
        """An operation in place."""
        given = ", ".join(map(self.write, e.args))
        yield from placed("", f"np.{e.function}({given}, out={self.write(e.target)})", _note(e.labels), depth)

    def change(self, e: s.Change, depth: int) -> Iterator[str]:
        """An array changed, or overwritten, in place."""
        target = self.write(e.target)
        whole = f"{target}[...]" if isinstance(e.target, a.Name) else target
        head = f"{target} {e.sign}= " if e.sign else f"{whole} = "
        yield from placed(head, self.write(e.value), _note(e.labels), depth)

    def recur(self, e: s.Recur, depth: int) -> Iterator[str]:
        """A linear recurrence in place."""
        matrices = ", ".join("None" if m is None else self.write(m) for m in e.matrices)
        yield from placed("", f"_recur({self.write(e.steps)}, {matrices})", _note(e.labels), depth)

    def steps(self, e: s.Steps, depth: int) -> Iterator[str]:
        """An empty family."""
        yield indented(f"{e.target.text}: Steps = {{}}", depth)

    def read(self, e: s.Read, depth: int) -> Iterator[str]:
        """A family from a stack."""
        given = ", ".join(map(self.write, (e.stack, *e.earlier)))
        yield indented(f"{e.target.text} = _by_time({given}{f', later={e.later}' if e.later else ''})", depth)

    def loss_call(self, e: s.LossCall, depth: int) -> Iterator[str]:
        """A call of an opaque loss."""
        names = ", ".join(g.text for g in e.gradients) + ("," if len(e.gradients) == 1 else "")
        arguments = ", ".join(map(self.write, e.arguments)) + ("," if len(e.arguments) == 1 else "")
        carrying = ", ".join(map(str, e.carrying)) + ("," if len(e.carrying) == 1 else "")
        call = f'_evaluated(loss, "{e.loss}", ({arguments}), ({carrying}))'
        yield from placed(f"{e.values.text}, ({names}) = ", call, "", depth)

    def require(self, e: s.Require, depth: int) -> Iterator[str]:
        """A check of a target."""
        stack = f"{e.stack.text}[-1:]" if e.last else e.stack.text
        counted = f", {e.mask.text}" if e.mask is not None else ""
        yield indented(f'_require_sum_one("{e.key}", {stack}{counted})', depth)

    def loop(self, e: s.Loop, depth: int) -> Iterator[str]:
        """A loop over times."""
        first, last = index_text(e.first), index_text(e.last)
        span = f"{first}, {index_text(e.last - 1)}, -1" if e.down else f"{first}, {last} + 1"
        yield indented(f"for {e.var} in range({span}):", depth)
        yield from self.lines(e.body, depth + 1)

    def blocks(self, e: s.Blocks, depth: int) -> Iterator[str]:
        """A loop over runs of times."""
        length, first, last, samples = e.length.text, e.first.text, e.last.text, e.samples.text
        if e.down:
            yield indented(f"for {last} in range(T, 0, -{length}):", depth)
            yield indented(f"{first} = max({last} - {length}, 0)", depth + 1)
        else:
            yield indented(f"for {first} in range(0, T, {length}):", depth)
            yield indented(f"{last} = min({first} + {length}, T)", depth + 1)
        yield indented(f"{e.part.text} = slice({first} * {samples}, {last} * {samples})", depth + 1)
        yield from self.lines(e.body, depth + 1)

    def branch(self, e: s.Branch, depth: int) -> Iterator[str]:
        """Cases."""
        for k, (condition, body) in enumerate(e.cases):
            word = "if" if k == 0 else "elif"
            yield indented("else:" if condition is None else f"{word} {_condition(condition)}:", depth)
            yield from self.lines(body, depth + 1)


def _note(labels: tuple[str, ...]) -> str:
    return "  # " + ", ".join(f"({n})" for n in labels) if labels else ""


def _condition(e: s.Condition) -> str:
    return f"{index_text(e.left)} {e.sign} {index_text(e.right)}"


STATEMENTS: dict[type, Callable[..., Iterator[str]]] = {
    s.Assign: Block.assign,
    s.Into: Block.into,
    s.Change: Block.change,
    s.Recur: Block.recur,
    s.Steps: Block.steps,
    s.Read: Block.read,
    s.LossCall: Block.loss_call,
    s.Require: Block.require,
    s.Loop: Block.loop,
    s.Blocks: Block.blocks,
    s.Branch: Block.branch,
}
"""A writer for every class of statements."""


def indented(text: str, depth: int) -> str:
    """A line of code."""
    return "    " * depth + text


def placed(head: str, text: str, note: str, depth: int) -> Iterator[str]:
    """The line head + text + note, or the text over several lines: in parentheses, unless it is one call."""
    if len(indented(head + text + note, depth)) <= WIDTH:
        yield indented(head + text + note, depth)
    elif len(list(_operands(text))) == 1:
        first, *rest = _folded(text, depth, len(head + note))
        yield indented(f"{head}{first.lstrip()}{note}", depth)
        yield from rest
    else:
        yield indented(f"{head}({note}", depth)
        yield from _folded(text, depth + 1)
        yield indented(")", depth)


def _operands(text: str) -> Iterator[str]:
    """The summands of a text or, where it is one, its factors; each but the first with its sign in front."""
    summands = list(split(text, r"\+|-"))
    return iter(summands) if len(summands) > 1 else split(text, r"@|\*|/")


def _folded(text: str, depth: int, used: int = 0) -> Iterator[str]:
    """A text as lines that fit, where it can be broken: at its signs, else inside its brackets."""
    operands = list(_operands(text))
    if len(indented(text, depth)) + used <= WIDTH:
        yield indented(text, depth)
    elif len(operands) > 1:
        for operand in operands[:-1]:
            yield from _folded(operand, depth)
        yield from _folded(operands[-1], depth, used)
    else:
        yield from _opened(text, depth)


def _opened(text: str, depth: int) -> Iterator[str]:
    """A text broken inside its last brackets, an item a line."""
    spans = [(0, 0), *_brackets(text)]
    start, end = max(spans, key=lambda span: span[1] - span[0])
    inside = text[start + 1:end]
    items = [item.removeprefix(", ") for item in split(inside, ",", before="")]
    if end == start or not inside:
        yield indented(text, depth)
        return
    yield indented(text[:start + 1], depth)
    for item in items:
        *most, last = _folded(item, depth + 1, 1)
        yield from most
        yield f"{last}," if len(items) > 1 else last
    yield indented(text[end:], depth)


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Where the outermost brackets open and close."""
    level, start = 0, 0
    for found in re.finditer(r"[(\[{]|[)\]}]", text):
        level += 1 if found[0] in "([{" else -1
        if found[0] in "([{" and level == 1:
            start = found.start()
        elif level == 0:
            yield start, found.start()


def split(text: str, signs: str, before: str = " ") -> Iterator[str]:
    """The text cut before each sign outside all brackets that has `before` in front and a space behind."""
    level, start = 0, 0
    for found in re.finditer(rf"[(\[{{]|[)\]}}]|(?<={before})(?:{signs})(?= )", text):
        if found[0] in "([{":
            level += 1
        elif found[0] in ")]}":
            level -= 1
        elif level == 0 and found.start():
            yield text[start:found.start()].rstrip()
            start = found.start()
    yield text[start:]
