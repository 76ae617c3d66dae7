"""Derivation -> Program: the array program that steps through time in plain loops."""

from __future__ import annotations

from collections.abc import Iterable

from symbptt.derivation import Derivation
from symbptt.expr.index import t
from symbptt.expr.nodes import At, Derivative
from symbptt.expr.walk import visit
from symbptt.model.spec import initial_name
from symbptt.program.closed import closed_form
from symbptt.program.interface import Interface
from symbptt.program.names import Names
from symbptt.program.objective import Objective
from symbptt.program.options import PLAIN, OptionError, Options
from symbptt.program.recurrence import Bodies
from symbptt.program.sizes import sources, variables
from symbptt.program.statements import Program, Variable


def program(derivation: Derivation, options: Options = PLAIN, reserved: Iterable[str] = ()) -> Program:
    """The program of a derivation, as the options ask; `reserved` are names that the module needs for itself.

    Raises:
        ValueError: the arrays leave a size open or say nothing of T.
    """
    model = derivation.model
    if options.mask is not None and options.mask not in {term.mask.name for term in model.losses if term.mask}:
        raise OptionError(f"--mask {options.mask}: the model was derived without this mask")
    if options.truncate is not None:
        truncatable(derivation, options.truncate)
    names = Names(derivation, options, reserved)
    interface = Interface(names)
    given = variables(model, names)
    if not (model.inputs or model.targets):
        raise ValueError(f"the model {model.name} has neither inputs nor targets, so nothing says what T is")
    bodies = Bodies(derivation, names)
    families = tuple(Variable(name, names.own(name), "states", ("T", "B", e.left.shape[0]))
                     for name, e in model.defined.items())
    read = tuple(Variable(name, names.direct(name), "direct", ("T", "B", model.families[name].shape[0]))
                 for name in bodies.sent.by_family)
    constants = tuple((str(c.name), names.own(c.name)) for c in model.constants)
    objective = Objective(derivation, names, bodies.sent)
    seen = interface.seen(given)
    return Program(given, seen, constants, sources(seen, model), objective.opaque(), interface.seen(families),
                   interface.seen(read), bodies.forward(), objective.function(), bodies.backward(),
                   closed_form(bodies), names.batch, names.packs, objective.counts(), bodies.later, bodies.starts())


def truncatable(derivation: Derivation, uses: int) -> None:
    """Refuse to truncate where windows of steps, each with the loss of its last, are not what the derivation keeps.

    Raises:
        OptionError: nothing recurs, an equation computes a value before the first step, or a loss reaches a state from
            a later step by a path that the recursion does not count.
    """
    model = derivation.model
    if derivation.closed is None:
        raise OptionError(f"--truncate {uses}: nothing in {model.name} recurs, so that there is nothing to truncate")
    if model.computed:
        raise OptionError(f"--truncate {uses}: {model.name} computes {initial_name(model.computed[0].left)} by an "
                          "equation, so that a window of its steps cannot begin with another state; make it data")
    drive = [derivation.closed.drive, *(line.forms[-1] for line in derivation.of_kind("letter")
                                        if line.left != derivation.closed.stacked)]
    late = next((e for tree in drive for e in visit(tree) if isinstance(e, Derivative) and isinstance(e.of, At)
                 and (e.of.time - t).const > 0), None)
    if late is not None:
        raise OptionError(f"--truncate {uses}: in {model.name} the loss of a step reaches a state before it by {late} "
                          "without a use of the weights that recur; what is kept there is more than windows with the "
                          "loss of their last step, and no program computes it")
