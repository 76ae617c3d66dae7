"""The equations as they stand, with something added to every family at every step, for a check of total derivatives."""

from __future__ import annotations

from dataclasses import replace

from symbptt.program import statements as s
from symbptt.program.array import Add, Entry, Member, Time, call
from symbptt.program.options import Options
from symbptt.program.statements import Function, names_in


def moved(function: Function) -> Function:
    """The equations, each with something added at every step: the derivative with respect to that is total."""
    keys = {name: r.key for r in function.results[0] for name in names_in(r.value)}

    def changed(e: s.Statement) -> s.Statement:
        if isinstance(e, s.Loop):
            return replace(e, body=tuple(map(changed, e.body)))
        if isinstance(e, s.Assign) and isinstance(e.target, Member):
            own = e.value.args if isinstance(e.value, Add) else (e.value,)
            more = call("at index", Entry("moved", keys[e.target.name]), Time(e.target.time - 1))
            return replace(e, value=Add((*own, more)))
        return e

    return replace(function, body=tuple(map(changed, function.body)))


def still(options: Options, clock: str) -> str:
    """The line that puts zeros where nothing is added; `clock` is an array that has all steps."""
    given = "_swapped(moved) if moved else" if options.samples_first else "moved or"
    return f'moved = {given} dict.fromkeys(STATES, [0.0] * len(given["{clock}"]))'
