"""One name table a program: the model's own names first, then what the program adds, none of them twice."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from symbptt.derivation import Derivation
from symbptt.model.spec import initial_name
from symbptt.program.options import PLAIN, Options
from symbptt.program.packed import packs
from symbptt.program.segments import LOCALS, RESERVED

FIXED = ("T", "t", "L", "np", "npt", "sys", "Any", "Array", "Steps", "Loss", "Callable", "Mapping", "annotations",
         "params", "data", "states", "direct", "loss", "given", "size", "dtype", "values", "grads", "adjoints",
         "forward", "backward", "value_and_grad", "hidden_gradients_closed_form", "check", "PARAMETERS", "DATA",
         "unrolled", "moved", "STATES", "DIRECT", "CONSTANTS", "TARGETS", "CLOCK", "CHECKED_SIZES", "SCHEDULE",
         "schedule", "DTYPE", "PACKED", "inside",
         "TRUNCATE", "EARLIER", "LOSS_ONLY",
         "other", "arrays", "every", "buffers")
"""What every generated module calls its own things; a model's name that is one of these gets an underscore."""

UNAVAILABLE = frozenset({*FIXED, *keyword.kwlist, *dir(builtins)})


class Names:
    """Local names by what they stand for, and the options of the program in which they stand.

    `reserved` are further names that a module needs for itself.
    """

    def __init__(self, derivation: Derivation, options: Options = PLAIN, reserved: Iterable[str] = ()) -> None:
        model, self.options = derivation.model, options
        self._taken = {*UNAVAILABLE, *reserved, *(LOCALS if options.checkpoint is not None else ())}
        self._given: dict[tuple[str, str], str] = {}
        for symbol, local in RESERVED.items() if options.checkpoint is not None else ():
            self.add("own", symbol, local)
        earlier = [initial_name(member) for member in model.initial]
        self.packs = packs(model, options.fused)
        self.turned = frozenset(str(p.name) for p in model.parameters if p.shape[1] != 1 and options.turned)
        self.static = frozenset(str(s.name) for s in model.static)
        variables = [*(p.name for p in model.parameters), *(s.name for s in model.static), *model.families]
        for name in (*variables, *(c.name for c in model.constants), *(c.name for c in model.counts.values())):
            self.add("own", name, name)
        for equation in model.computed:
            self.add("own", initial_name(equation.left), initial_name(equation.left))
        for name in model.families:
            self.add("adjoint", name, f"dL_d{name}")
            self.add("direct", name, f"direct_{name}")
        for name in (*(p.name for p in (*model.parameters, *model.static)), *earlier):
            self.add("gradient", name, f"d{name}")
        self.batch = self.add("local", "B", "B", "batch")

    def add(self, kind: str, key: str, *wanted: str) -> str:
        """Settle the first free one of the wanted names, else one with underscores behind it."""
        if (kind, key) not in self._given:
            first = re.sub(r"\W", "_", wanted[0])
            tailed = (f"{first}{'_' * n}" for n in range(1, len(self._taken) + 2))
            name = next(n for n in (first, *wanted[1:], *tailed) if n not in self._taken and n.isidentifier())
            self._taken.add(name)
            self._given[kind, key] = name
        return self._given[kind, key]

    def own(self, name: str) -> str:
        """The local name of a parameter, static column, family, constant, count or computed initial value."""
        return self._given["own", name]

    def adjoint(self, family: str) -> str:
        """The local name of ∂L/∂v_t, by time."""
        return self._given["adjoint", family]

    def direct(self, family: str) -> str:
        """The local name of what the losses that read v_t send to it, by time."""
        return self._given["direct", family]

    def gradient(self, key: str) -> str:
        """The local name of the gradient of a parameter, a static column or an initial value."""
        return self._given["gradient", key]
