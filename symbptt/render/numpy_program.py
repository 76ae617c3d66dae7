"""The NumPy module of a derivation: one file that needs NumPy and nothing else."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from symbptt.derivation import Derivation, Kind, Line
from symbptt.expr.nodes import Apply, At
from symbptt.expr.walk import visit
from symbptt.model.functions import FUNCTIONS
from symbptt.model.spec import LossTerm, initial_name
from symbptt.program.build import program
from symbptt.program.carry import carried
from symbptt.program.edits import brought_inside, edits
from symbptt.program.options import AUTO, PLAIN, Options
from symbptt.program.statements import Function, Output, Program, SizeSource, Variable
from symbptt.render import asked
from symbptt.render.arrays import NUMPY, WIDTH, Writer, size
from symbptt.render.lines import Block, indented
from symbptt.render.target import environment, stamp
from symbptt.render.unrolled import moved, still

WRITE = Writer(NUMPY)
BLOCK = Block(WRITE)

STATED: tuple[Kind, ...] = ("model", "count", "loss", "objective")
DERIVED: tuple[Kind, ...] = ("direct", "adjoint", "boundary", "assumed", "initial", "letter", "closed", "gradient")
"""The kinds of lines that statements refer to."""

CHECKED = {"states": 'states = _stacks("states", states, STATES, given, size)',
           "direct": 'direct = _stacks("direct", direct, DIRECT, given, size)'}
PADDED = 'direct = _without_padding(given["{}"], direct)'


def numpy_program(derivation: Derivation, options: Options = PLAIN) -> str:
    """The text of the module, as the options ask.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    module = Module(derivation, program(derivation, options), options)
    parts = module.parts()
    template = environment().get_template("numpy/textbook.py.jinja")
    bare = template.render(**parts, helpers=[])
    return template.render(**parts, helpers=carried(bare, edits(options)))


class Module:
    """What the template places, for one program; `target` is its name in the table of targets."""

    target = "numpy-textbook"
    notes = ("Stacks hold t = 1 … T at index 0 … T-1, a sample a row, so that W @ x stands as {product}; the steps "
             "inside a function are kept by their time.")
    library = "numpy"
    array = "Array"
    block = BLOCK
    constant = '_number(params, "{}")'

    def __init__(self, derivation: Derivation, made: Program, options: Options = PLAIN) -> None:
        self.derivation, self.model, self.made, self.options = derivation, derivation.model, made, options
        targets = [v.name for v in self.model.targets]
        self.targets = [*targets, *(initial_name(m) for m in self.model.initial if m.family in self.model.targets)]
        self.clock = str((*self.model.inputs, *self.model.targets)[0].name)
        equations = (*self.model.equations, *self.model.computed)
        read = {node.family.name for e in equations for node in visit(e.right) if isinstance(node, At)}
        late = [name for name, lag in self.model.lags.items() if lag]
        self.spared = [name for name in targets if name not in {*read, *late, self.clock, options.mask}]

    def parts(self) -> dict[str, object]:
        """Everything by its name in the template."""
        closed = self.made.closed
        return {**self.common(), "forward": self._forward(), "backward": self._backward(),
                "closed": self._closed(closed) if closed is not None else None}

    def common(self) -> dict[str, object]:
        """What modules have in common, whatever their functions do inside."""
        made = self.made
        return {
            "about": list(self._about()), "tables": list(self._tables()), "model": self.model.name, "batch": made.batch,
            "first": f"{made.batch}, T" if self.options.samples_first else f"T, {made.batch}",
            "first_step": "the steps along the second axis, index 0 for t = 1" if self.options.samples_first else
            "index 0 for t = 1",
            "array": self.array, "dtype": self.options.dtype, "truncate": self.options.truncate,
            "mask": self.options.mask,
            "direct_inside": "_swapped(direct)" if self.options.samples_first else "direct",
            "states_inside": "_swapped(states)" if self.options.samples_first else "states",
            **self._segments(),
            "checks": [*CHECKED.values(), *self.padded()],
            "inside": list(asked.inside(self.options, self.library)) if brought_inside(self.options) else [],
            "unrolled": self._unrolled(), "objective": self._objective(), "states": self._listed(made.families),
            "direct": self._listed(made.read_by_losses),
            "opaque": made.losses, "only": made.losses[0].name if len(made.losses) == 1 else None,
            "named": self._named(), "drawn": list(self._drawn()), "kinks": bool(self._kinked()),
            "with_gradient": [f'"{r.key}"' for r in made.backward.results[0] if r.key not in self._computed()],
            "linear": self._linear(),
            "sizes": [_source(s, self.spared) for s in made.sizes], "shapes": list(self._shapes()),
            "steps": 4 + min(max(self.model.lags.values(), default=0), 8)}

    def _computed(self) -> list[str]:
        """The values before the first step that equations define."""
        return [initial_name(e.left) for e in self.model.computed]

    def _segments(self) -> dict[str, object]:
        """What the template places where states are kept between segments alone."""
        if self.options.checkpoint is None:
            return {"checkpoint": None, "computed": []}
        lines = {"counts": self.made.counts, "starts": self.made.starts}
        found = {name: self._body(function, [], list(self._result("return", function.results[0])), read="")
                 for name, function in lines.items()}
        asked_for = self.options.checkpoint
        return {"checkpoint": asked_for, "length": None if asked_for == AUTO else asked_for,
                "computed": self._computed(), **found}

    def _linear(self) -> bool:
        """Whether gradients are linear in what the losses send at the steps; a regulariser adds to them."""
        return all(term.reduce != "once" for term in self.model.losses)

    def _named(self) -> str:
        """What turns the argument loss into losses by name."""
        names = ", ".join(f'"{loss.name}"' for loss in self.made.losses)
        many = {0: "_no_loss(loss)", 1: f"_one_loss(loss, {names})"}
        return many.get(len(self.made.losses), f"_named_losses(loss, {names})")

    def _drawn(self) -> Iterator[str]:
        """What check draws in another way: inputs around a kink, masks, and targets whose entries add up to one."""
        terms = self.model.losses
        for name in (v.name for v in self.model.inputs if self._kinked()):
            yield f'data["{name}"] = 4 * data["{name}"]'
        for name in dict.fromkeys(y.name for term in terms for y in term.assume):
            yield f'data["{name}"] = _softmax(data["{name}"])'
        turned = ".swapaxes(0, 1)" if self.options.samples_first else ""
        for name in dict.fromkeys(term.mask.name for term in terms if term.mask is not None):
            if name == self.options.mask:
                yield f'data["{name}"] = _lengths(T, 2){turned}'
                yield f'data = _spoiled("{name}", data)'
            else:
                yield f'data["{name}"] = _mask(T, 2){turned}'

    def _kinked(self) -> list[str]:
        """The functions of the model that have no derivative somewhere."""
        equations = (*self.model.equations, *self.model.computed)
        used = {str(node.args[0]) for e in equations for node in visit(e.right) if isinstance(node, Apply)}
        return [name for name, function in FUNCTIONS.items() if name in used and function.kinks]

    def _forward(self) -> list[str]:
        function = self.made.forward
        return self._body(function, [], list(self._result("return", function.results[0])),
                          "" if self.options.checkpoint else "params, data, LOSS_ONLY")

    def _unrolled(self) -> list[str]:
        made = moved(self.made.forward)
        return self._body(made, [still(self.options, self.clock)], list(self._result("return", made.results[0])))

    def _objective(self) -> list[str]:
        function, start = self.made.objective, [f"direct: dict[str, {self.array}] = {{}}"]
        if self.options.checkpoint is not None:
            return self._body(function, start, [indented("return values, direct", 1)], read="")
        if self.options.samples_first:
            start += ["states = _swapped(states)"] if "states" in function.uses else []
            return self._body(function, start, [indented("return values, _swapped(direct)", 1)], "params, data")
        return self._body(function, start, [indented("return values, direct", 1)], "params, data")

    def _backward(self) -> list[str]:
        grads, adjoints = self.made.backward.results
        results = [*self._result("grads =", grads), *self._result("adjoints =", adjoints),
                   indented("return grads, adjoints", 1)]
        if self.options.truncate is not None or self.options.checkpoint is not None:
            return self._body(self.made.backward, [], results, read="")
        return self._body(self.made.backward, [*CHECKED.values(), *self.padded()], results)

    def padded(self) -> list[str]:
        """What is said of direct gradients where samples are padded."""
        return [] if self.options.mask is None else [PADDED.format(self.options.mask)]

    def _closed(self, function: Function) -> list[str]:
        reads = ["states = forward(params, data) if states is None else states", CHECKED["states"]]
        checks = [*(reads if "states" in function.uses else []), CHECKED["direct"], *self.padded()]
        return self._body(function, checks, list(self._result("return", function.results[0])))

    def _body(self, function: Function, checks: list[str], results: list[str],
              read: str = "params, data, LOSS_ONLY") -> list[str]:
        """Statements with, in front, what they read and, behind, what they return."""
        lines = [*self.block.lines(function.body), *results]
        used = set(re.findall(r"(?<!\.)\b\w+", "\n".join([*checks, *lines])))
        return [*(indented(line, 1) for line in self._head(checks, used, function.uses, read)), "", *lines]

    def _head(self, checks: list[str], used: set[str], variables: frozenset[str], read: str) -> Iterator[str]:
        lines = [*checks, *self._lengths(used), *self._given(used, variables)]
        if not read:
            yield from lines
            return
        if used & {"size", "given"} or any("given[" in line for line in lines):
            yield f"given, {'size' if 'size' in used else '_'} = _read({read})"
        yield from lines

    def _lengths(self, used: set[str]) -> Iterator[str]:
        if self.made.batch in used:
            yield f'{"T" if "T" in used else "_"}, {self.made.batch} = given["{self.clock}"].shape[:2]'
        elif "T" in used:
            yield f'T = len(given["{self.clock}"])'
        if "dtype" in used:
            first = next(v.key for v in self.made.variables if v.key not in self.targets)
            yield f'dtype = given["{first}"].dtype'
        if "device" in used:
            first = next(v.key for v in self.made.variables if v.key not in self.targets)
            yield f'device = given["{first}"].device'

    def _given(self, used: set[str], variables: frozenset[str]) -> Iterator[str]:
        static = {s.name for s in self.model.static}
        yield from (f'{v.local} = given["{v.key}"]' for v in self.made.variables
                    if (v.group == "params" or v.key in static) and v.local in variables)
        yield from (f"{local} = {self.constant.format(key)}" for key, local in self.made.constants if local in used)

    def _result(self, label: str, outputs: Iterable[Output]) -> Iterator[str]:
        """A dictionary of results, on one line where it fits."""
        entries = [f'"{o.key}": {self.block.write(o.value)}' for o in outputs]
        line = indented(f"{label} {{{', '.join(entries)}}}", 1)
        if len(line) <= WIDTH - 20:
            yield line
        else:
            yield from (indented(f"{label} {{", 1), *(indented(f"{entry},", 2) for entry in entries), indented("}", 1))

    def _axes(self, v: Variable) -> list[str]:
        return [self.made.batch if axis == "B" else str(axis) for axis in v.axes]

    def _listed(self, variables: Iterable[Variable]) -> list[str]:
        return _wrapped(", ".join(f"{v.key} ({', '.join(self._axes(v))})" for v in variables))

    def _tables(self) -> Iterator[str]:
        def entries(variables: Iterable[Variable]) -> list[str]:
            return [f'"{v.key}": {quoted(self._axes(v))}' for v in variables]

        shapes = "dict[str, tuple[str, ...]]"
        yield from _table("PARAMETERS", shapes, entries(v for v in self.made.given if v.group == "params"))
        if self.made.packs:
            held = [f'"{pack.name}": {quoted([str(p.name) for p in pack.parts])}' for pack in self.made.packs]
            yield "# The parameters that a packed array holds, in their order."
            yield from _table("PACKED", shapes, held)
        yield from _table("DATA", shapes, entries(v for v in self.made.given if v.group == "data"))
        yield from _table("STATES", shapes, entries(self.made.families))
        yield from _table("DIRECT", shapes, entries(self.made.read_by_losses))
        constants = [f'"{key}": {0.7 + 0.1 * (k % 3):.1f}' for k, (key, _) in enumerate(self.made.constants)]
        yield from _table("CONSTANTS", "dict[str, float]", constants)
        if self.options.truncate is not None or self.options.checkpoint is not None:
            yield "# The family and the steps back of what stands before the first step."
            earlier = [f'"{initial_name(m)}": ("{m.family.name}", {-m.time.const})'
                       for m in (self.model.given if self.options.checkpoint is None else self.model.initial)]
            yield from _table("EARLIER", "dict[str, tuple[str, int]]", earlier)
        if self.options.checkpoint is not None:
            yield "# The families to which a later segment of steps sends something."
            yield f"CARRIED: tuple[str, ...] = {quoted([*self.made.later])}"
        yield f"TARGETS: tuple[str, ...] = {quoted(self.targets)}"
        yield f"LOSS_ONLY: tuple[str, ...] = {quoted(self.spared)}"
        yield f'CLOCK = "{self.clock}"'
        sizes = [f'"{s.name}": {3 + k}' for k, s in enumerate(self.model.sizes)]
        yield from _table("CHECKED_SIZES", "dict[str, int]", sizes)

    def _shapes(self) -> Iterator[tuple[str, str]]:
        """(key, shape as code) of everything that has one."""
        for key, v in {v.key: v for v in (*self.made.given, *self.made.families)}.items():
            yield key, _tuple([axis if isinstance(axis, str) else size(axis).text for axis in v.axes])

    def _about(self) -> Iterator[str]:
        """The docstring of the module, line by line."""
        model = self.model
        notes = self.notes.format(product="x @ W" if self.options.turned else "x @ W.T")
        title = (model.title or model.name).rstrip(".")
        yield from _wrapped(escaped(f"{title}: gradients by back-propagation through time."))
        if model.source:
            yield from ("", *_wrapped(escaped(f"Source: {model.source}")))
        yield from ("", f"The model {model.name}, for t = 1 … T; vectors are columns:", "")
        yield from self._equations(*STATED)
        yield from ("", *_wrapped(" ".join(self._reduction())))
        yield from ("", "Behind each statement stands the number of the equation that it computes:", "")
        yield from self._equations(*DERIVED)
        yield from ("", *_wrapped(
            "A gradient has the shape of its variable; dL/dv[s] = 0 for s > T; d+L/dv is what the losses that read v "
            f"send to it. {notes} Run as a program, the module checks itself."))
        for sentence in asked.words(self.options, self.made.packs):
            yield from ("", *_wrapped(escaped(sentence)))
        yield from ("", *_wrapped(escaped(stamp(self.derivation, self.target, str(self.options)))))

    def _equations(self, *kinds: str) -> Iterator[str]:
        for line in self.derivation.lines:
            if line.kind in kinds:
                yield from textwrap.wrap(
                    escaped(f"{line.left} = {line.forms[-1]}{_span(line)}"), 110, break_long_words=False,
                    initial_indent=f"    {f'({line.label})'.ljust(6)}", subsequent_indent=" " * 14,
                    break_on_hyphens=False)

    def _reduction(self) -> Iterator[str]:
        """How L comes about, what is assumed, and what holds where a function has no derivative."""
        for term in self.model.losses:
            weight = "" if term.weight == 1 else f"{term.weight} times "
            yield f"{term.loss} enters L as {weight}{_gathered(term)}."
        once = any(term.reduce == "once" for term in self.model.losses)
        yield (f"L and all gradients of parameters are sums over the {self.made.batch} samples"
               f"{'; a regulariser is added once, not once a sample' if once else ''}.")
        for name in dict.fromkeys(y.name for term in self.model.losses for y in term.assume):
            yield f"Assumed: the entries of {name}[t] add up to one; other targets are refused."
        for name in self._kinked():
            function = FUNCTIONS[name]
            yield (f"{name} has no derivative at {' and '.join(map(str, function.kinks))}; "
                   f"{function.convention} stands for it there.")


def _gathered(term: LossTerm) -> str:
    if term.reduce == "once":
        return "its value"
    if term.reduce == "last":
        return "its value at t = T"
    if term.mask is None:
        return f"the {term.reduce} over the T steps"
    if term.reduce == "sum":
        return f"the sum over the T steps, each times {term.mask.name}[t]"
    return f"the mean over the steps that the mask {term.mask.name} keeps, for each sample by itself"


def _span(line: Line) -> str:
    """The times for which a line that is derived holds."""
    if line.kind in STATED or line.lo is None or line.lo == line.hi:
        return ""
    return f"    for {line.lo} <= t <= {line.hi}"


def _table(name: str, kind: str, entries: list[str]) -> Iterator[str]:
    """A dictionary at the top of the module."""
    if entries:
        yield from (f"{name}: {kind} = {{", *(indented(f"{entry},", 1) for entry in entries), "}")
    else:
        yield f"{name}: {kind} = {{}}"


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def quoted(items: list[str]) -> str:
    """A tuple of strings."""
    return _tuple([f'"{item}"' for item in items])


def _source(source: SizeSource, spared: list[str]) -> tuple[str, str]:
    length = f'given["{source.key}"].shape[{source.axis}]'
    if source.minus != 0:
        length = f"({length} - {size(source.minus):atom})"
    text = f"{length} // {source.over}" if source.over != 1 else length
    return source.size, f'{text} if "{source.key}" in given else 0' if source.key in spared else text


def escaped(text: str) -> str:
    """Text that may stand inside a docstring."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 110, break_long_words=False, break_on_hyphens=False)
