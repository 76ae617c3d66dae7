"""Statements of array programs -> lines of Python that fit their width."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from symbptt.expr.text import index_text
from symbptt.program import array as a
from symbptt.program import statements as s
from symbptt.render.arrays import WIDTH, Writer


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

    def space(self, e: s.Space, depth: int) -> Iterator[str]:
        """New arrays."""
        names = [x.text for x in e.targets]
        shapes = [f"{name}=({', '.join(map(self.write, shape))})" for name, shape in zip(names, e.shapes, strict=True)]
        head = ", ".join(names) + ("," if len(names) == 1 else "")
        if len(head) > WIDTH - 40:
            yield indented("(", depth)
            yield from (indented(f"{name},", depth + 1) for name in names)
            head = ")"
        yield from placed(f"{head} = ", f'_arrays(buffers, "{e.key}", dtype, {", ".join(shapes)})', "", depth)

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
        whole = call if e.kept is None else f"_where_kept({e.kept.text}, *{call})"
        yield from placed(f"{e.values.text}, ({names}) = ", whole, "", depth)

    def require(self, e: s.Require, depth: int) -> Iterator[str]:
        """A check of a target."""
        stack = f"{e.stack.text}[-1:]" if e.last else e.stack.text
        stack += f" if ends else {e.stack.text}[:0]" if e.last and e.parted else ""
        counted = f", {e.mask.text}" if e.mask is not None else ""
        yield indented(f'_require_sum_one("{e.key}", {stack}{counted})', depth)

    def loop(self, e: s.Loop, depth: int) -> Iterator[str]:
        """A loop over times."""
        first, last = index_text(e.first), index_text(e.last)
        end = f"min({first} + {e.most}, {last} + 1)" if e.most else f"{last} + 1"
        span = f"{first}, {index_text(e.last - 1)}, -1" if e.down else f"{first}, {end}"
        yield indented(f"for {e.var} in range({span}):", depth)
        yield from self.lines(e.body, depth + 1)

    def scan(self, e: s.Scan, depth: int) -> Iterator[str]:
        """Steps that change nothing in place; each library has a way of its own."""
        raise NotImplementedError

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
    s.Space: Block.space,
    s.Into: Block.into,
    s.Change: Block.change,
    s.Recur: Block.recur,
    s.Steps: Block.steps,
    s.Read: Block.read,
    s.LossCall: Block.loss_call,
    s.Require: Block.require,
    s.Loop: Block.loop,
    s.Scan: lambda block, e, depth: block.scan(e, depth),
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
