"""The fast NumPy module of a derivation: arrays made once and written in place, one product over all steps at once."""

from __future__ import annotations

import re

from symbptt.derivation import Derivation
from symbptt.program.build import program
from symbptt.program.carry import carried
from symbptt.program.edits import edits
from symbptt.program.fast import Part, fast_program
from symbptt.program.options import PLAIN, OptionError, Options
from symbptt.program.statements import Function, Recur
from symbptt.render.lines import indented
from symbptt.render.parted import Parted
from symbptt.render.target import environment


def numpy_fast(derivation: Derivation, options: Options = PLAIN) -> str:
    """The text of the module, as the options ask.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    module = _Fast(derivation, options)
    template = environment().get_template("numpy/fast.py.jinja")
    parts = module.parts()
    return template.render(**parts, helpers=carried(template.render(**parts, helpers=[]), edits(options)))


class _Fast(Parted):
    """What the template places."""

    target = "numpy"
    notes = ("Stacks hold t = 1 … T at index 0 … T-1, a sample a row, so that W @ x stands as {product}. An array of a "
             "family that is read at earlier steps begins with the values before t = 1, one read at later steps ends "
             "with zeros. What recurs is a loop; all else is computed for all steps at once, as rows of T*B; gates "
             "that read the same column are one product with their matrices stacked, in the order of the array's name. "
             "delta_v is dL/dv before the function of v. A sum that a loop continues is begun where it ends.")

    def __init__(self, derivation: Derivation, options: Options) -> None:
        super().__init__(derivation, program(derivation, options), options)
        self.fast = fast_program(derivation, options)
        self.rows = self.fast.rows

    def parts(self) -> dict[str, object]:
        """Everything by its name in the template."""
        fast = self.fast
        recurs = any(isinstance(s, Recur) for part in (fast.forward, fast.backward) for s in (*part.body, *part.extra))
        if self.options.schedule == "chunked" and not recurs:
            raise OptionError(f"--schedule chunked: no recurrence of {self.model.name} has the form v[t] = sum over k "
                              "of A_k @ v[t-k], plus what does not recur, with matrices A_k of parameters, so that no "
                              "chunks of time can run at once; leave it out, the module has loops alone")
        forward, gradients = self._part(fast.forward, []), self.gradients(fast.backward)
        blocks = any("_block_length(" in line for line in (*forward, *gradients))
        return {**self.common(), "recurs": recurs, "blocks": blocks,
                "schedule": self.options.schedule,
                "forward_steps": forward, "gradients": gradients,
                "quiet_forward": _quiet(forward), "quiet_backward": _quiet(gradients),
                "empty": self._part(fast.empty, self.listed("return", fast.empty.results)),
                "taken": self._timed(self.listed("return", fast.states)),
                "stored": self._part(fast.stored, [])}

    def _timed(self, lines: list[str]) -> list[str]:
        """Lines behind the number of steps, if they need it."""
        return [*([indented("T = len(given[CLOCK])", 1)] if re.search(r"\bT\b", "".join(lines)) else []), *lines]

    def _part(self, part: Part, results: list[str]) -> list[str]:
        return self.lines(Function(part.body, (part.results,)), results)


def _quiet(lines: list[str]) -> list[str]:
    """What is said before a function in which exp(-z) may overflow: 1 / (1 + exp(-z)) is then 0, as it should be."""
    return ['@np.errstate(over="ignore")'] if any("np.reciprocal(" in line for line in lines) else []
