"""The torch and jax modules of a derivation: nothing is changed in place; the library's own derivative checks them."""

from __future__ import annotations

from collections.abc import Iterator

from symbptt.derivation import Derivation
from symbptt.program import statements as s
from symbptt.program.build import program
from symbptt.program.carry import carried
from symbptt.program.edits import edits
from symbptt.program.functional import functional_program
from symbptt.program.options import PLAIN, Options
from symbptt.program.statements import Function
from symbptt.render.arrays import WIDTH, Writer
from symbptt.render.libraries import JAX, TORCH
from symbptt.render.lines import Block, indented, placed
from symbptt.render.numpy_program import quoted
from symbptt.render.parted import Parted
from symbptt.render.target import environment

RESERVED = ("torch", "Tensor", "jax", "jnp", "device", "outputs", "once_differentiable", "every", "step", "carry")
"""What modules of these targets call their own things, beside what all modules do."""


class TorchBlock(Block):
    """Statements in torch."""

    def scan(self, e: s.Scan, depth: int) -> Iterator[str]:
        """A loop over steps that were taken apart before; what it makes is stacked behind it."""
        lists = {stack: f"{stack.text}_steps" for stack, _ in e.made}
        for c in e.carried:
            yield from placed(f"{c.name.text} = ", self.write(c.start), "", depth)
        for name in lists.values():
            yield indented(f"{name}: list[Tensor] = []", depth)
        yield from self._head(e, depth)
        yield from self.lines(e.body, depth + 1)
        for stack, step in e.made:
            yield indented(f"{lists[stack]}.append({step.text})", depth + 1)
        # The one from the step furthest away is handed on first, so that none is overwritten too early.
        for c in reversed(e.carried):
            yield indented(f"{c.name.text} = {c.following.text}", depth + 1)
        for stack, name in lists.items():
            yield indented(f"{stack.text} = torch.stack({name}{'[::-1]' if e.down else ''})", depth)

    def _head(self, e: s.Scan, depth: int) -> Iterator[str]:
        if not e.given:
            yield indented("for _ in range(T):", depth)
            return
        names = ", ".join(name.text for name, _ in e.given)
        stacks = [f"{self.write(stack)}.unbind()" for _, stack in e.given]
        if e.down:
            stacks = [f"reversed({text})" for text in stacks]
        if len(stacks) == 1:
            yield indented(f"for {names} in {stacks[0]}:", depth)
            return
        line = indented(f"for {names} in zip({', '.join(stacks)}, strict=True):", depth)
        if len(line) <= WIDTH:
            yield line
            return
        yield from placed("for ", f"({names}) in zip(", "", depth) if len(names) > WIDTH - 40 else [
            indented(f"for {names} in zip(", depth)]
        yield from (indented(f"{text},", depth + 1) for text in (*stacks, "strict=True"))
        yield indented("):", depth)


class JaxBlock(Block):
    """Statements in jax."""

    def scan(self, e: s.Scan, depth: int) -> Iterator[str]:
        """A step as a function, and lax.scan over it."""
        inner = [c.name.text for c in e.carried]
        name = f"step_{'_'.join(stack.text for stack, _ in e.made[:1])}"
        yield ""
        yield indented(f"def {name}(carry: Any, given: Any) -> tuple[Any, Any]:", depth)
        if inner:
            yield from placed(f"{_tuple(inner)} = ", "carry", "", depth + 1)
        if e.given:
            yield from placed(f"{_tuple([n.text for n, _ in e.given])} = ", "given", "", depth + 1)
        yield from self.lines(e.body, depth + 1)
        handed, made = _tuple([c.following.text for c in e.carried]), _tuple([step.text for _, step in e.made])
        yield from placed("return ", f"({handed}), ({made})", "", depth + 1)
        yield ""
        start = f"({_tuple([self.write(c.start) for c in e.carried])})"
        given = f"({_tuple([self.write(stack) for _, stack in e.given])})" if e.given else "None"
        further = (", length=T" if not e.given else "") + (", reverse=True" if e.down else "")
        yield from placed(f"_, ({_tuple([stack.text for stack, _ in e.made])}) = ",
                          f"jax.lax.scan({name}, {start}, {given}{further})", "", depth)


def _tuple(items: list[str]) -> str:
    return ", ".join(items) + ("," if len(items) == 1 else "")


class Functional(Parted):
    """What the template of one library places."""

    target = ""
    namespace = ""
    array = ""
    entrywise = True
    sources: tuple[str, ...] = ()
    block: Block
    notes = ("Stacks hold t = 1 … T at index 0 … T-1, a sample a row, so that W @ x stands as {product}. What recurs "
             "is a scan, a step handing on what the next one reads; all else is computed for all steps at once, as "
             "rows of T*B; v_back_1 is v one step earlier, v_next_1 one step later, zero beyond T. delta_v is dL/dv "
             "before the function of v.")

    def __init__(self, derivation: Derivation, options: Options) -> None:
        super().__init__(derivation, program(derivation, options, RESERVED), options)
        self.flow = functional_program(derivation, options, self.entrywise, RESERVED)
        self.rows = self.flow.rows

    def text(self) -> str:
        """The module."""
        template = environment().get_template(f"{self.target}/module.py.jinja")
        parts = self.parts()
        helpers = carried(template.render(**parts, helpers=[], by_time=False), edits(self.options, self.target),
                          self.sources)
        return template.render(**parts, helpers=helpers, by_time=True)

    def parts(self) -> dict[str, object]:
        """Everything by its name in the template."""
        forward = self.flow.forward
        read = [v for v in self.made.read_by_losses if v.key in self.model.defined]
        return {**self.common(),
                "library": self.target, "namespace": self.namespace,
                # The square root of the distance from one to the next number.
                "close": {"float32": "3e-4", "float64": "1e-8"}.get(self.options.dtype or ""),
                "arrays": f"{self.array.lower()}s",
                "differentiable": bool(read), "outputs": quoted([v.key for v in read]), "returned": self._listed(read),
                "forward": [indented("given, size = _read(params, data, LOSS_ONLY)", 1),
                            indented("return _forward(params, given, size)", 1)],
                "forward_steps": self.lines(Function(forward.body, (forward.results,)),
                                             list(self._result("return", forward.results))),
                "gradients": self.gradients(self.flow.backward)}

    def _drawn(self) -> Iterator[str]:
        """As the others; inputs on both sides of all kinks, however near, as no difference is taken across them."""
        kinked = {f'data["{v.name}"] = ' for v in self.model.inputs if self._kinked()}
        yield from (f"{head}8 * {head[:-3]}" for head in sorted(kinked))
        yield from (line for line in super()._drawn() if not line.startswith(tuple(kinked)))


class Torch(Functional):
    """A torch module."""

    target = library = namespace = "torch"
    array = "Tensor"
    block = TorchBlock(Writer(TORCH))
    sources = ("runtime_torch", "runtime_segments", "runtime_windows", "runtime_windows_torch", "runtime_shared")


class Jax(Functional):
    """A jax module."""

    target = library = "jax"
    namespace = "jnp"
    array = "Array"
    # A compiler fuses what a step computes entry by entry; stored for all steps it would take memory.
    entrywise = False
    block = JaxBlock(Writer(JAX))
    sources = ("runtime_jax", "runtime_segments", "runtime_segments_jax", "runtime_windows", "runtime_windows_jax",
               "runtime_shared")
    # A number that jit does not know yet has a dtype, which the one of the arrays replaces.
    constant = 'given["{}"]'


def torch_program(derivation: Derivation, options: Options = PLAIN) -> str:
    """The text of the torch module, as the options ask.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    return Torch(derivation, options).text()


def jax_program(derivation: Derivation, options: Options = PLAIN) -> str:
    """The text of the jax module, as the options ask.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    return Jax(derivation, options).text()
