"""The fast NumPy module of a derivation: arrays made once and written in place, one product over all steps at once."""

from __future__ import annotations

import re

from symbptt.derivation import Derivation
from symbptt.program.build import program
from symbptt.program.carry import carried
from symbptt.program.fast import Part, fast_program
from symbptt.program.statements import Function, Output
from symbptt.render.arrays import indented
from symbptt.render.numpy_program import BLOCK, WRITE, Module
from symbptt.render.target import environment


def numpy_fast(derivation: Derivation) -> str:
    """The text of the module.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    module = _Fast(derivation)
    template = environment().get_template("numpy/fast.py.jinja")
    parts = module.parts()
    return template.render(**parts, helpers=carried(template.render(**parts, helpers=[])))


class _Fast(Module):
    """What the template places."""

    target = "numpy"
    notes = ("Stacks hold t = 1 … T at index 0 … T-1, a sample a row, so that W @ x stands as x @ W.T. An array of a "
             "family that is read at earlier steps begins with the values before t = 1, one read at later steps ends "
             "with zeros. What recurs is a loop; all else is computed for all steps at once, as rows of T*B; gates "
             "that read the same column are one product with their matrices stacked, in the order of the array's name. "
             "delta_v is dL/dv before the function of v. A sum that a loop continues is begun where it ends.")

    def __init__(self, derivation: Derivation) -> None:
        super().__init__(derivation, program(derivation))
        self.fast = fast_program(derivation)

    def parts(self) -> dict[str, object]:
        """Everything by its name in the template."""
        fast = self.fast
        return {**super().parts(), "empty": self._part(fast.empty, _dict("return", fast.empty.results)),
                "forward_steps": self._part(fast.forward, []), "taken": _dict("return", fast.states),
                "stored": [*BLOCK.lines(fast.stored.body)], "gradients": self._gradients(fast.backward)}

    def _part(self, part: Part, results: list[str]) -> list[str]:
        return self._lines(part.body, results)

    def _gradients(self, part: Part) -> list[str]:
        grads = [*_dict("grads =", part.results), indented("if not every:", 1), indented("return grads, {}", 2)]
        return self._lines(part.body, [*grads, *BLOCK.lines(part.extra),
                                       *_dict("return grads,", part.extra_results)])

    def _lines(self, body: tuple[object, ...], results: list[str]) -> list[str]:
        function = Function(body, ())  # type: ignore[arg-type]
        lines = [*BLOCK.lines(function.body), *results]
        used = set(re.findall(r"\w+", "\n".join(lines)))
        if "N" in used:
            used.add(self.made.batch)
        head = [*self._lengths(used), *self._given(used, function.uses | used)]
        head += [f"N = T * {self.made.batch}"] if "N" in used else []
        return [*(indented(line, 1) for line in head), *lines]


def _dict(head: str, results: tuple[Output, ...]) -> list[str]:
    lines = [indented(f'"{r.key}": {WRITE(r.value)},', 2) for r in results]
    return [indented(f"{head} {{", 1), *lines, indented("}", 1)] if lines else [indented(f"{head} {{}}", 1)]
