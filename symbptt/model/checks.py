"""What a model must be to make sense; whatever is wrong raises a `ModelError` that names the entry."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from sympy import Add, Expr, MatrixSymbol, Pow

from symbptt.expr.build import children
from symbptt.expr.index import index, t
from symbptt.expr.nodes import (
    ONE,
    Apply,
    At,
    Block,
    Hadamard,
    Identity,
    Loss,
    Matrix,
    Multiple,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.shape import ShapeError, described, shape_text
from symbptt.expr.walk import visit
from symbptt.model.functions import LOSSES, VECTOR_FUNCTIONS, slopes
from symbptt.model.notation import RESERVED, SIGNS, Name, called, change, in_one_word, split
from symbptt.model.parts import Equation, LossTerm, ModelError, Parts, initial_name

STATABLE = (MatrixSymbol, At, Plus, Times, Hadamard, Apply, Scale, Multiple, Transpose, Zero, Ones, Identity, Block)
"""What an equation is made of. Gradients, bound indices and powers belong to derivations."""

MONOMIALS = 500
"""As many terms a number may have, multiplied out; proofs multiply all of them out."""
NESTED = 12
"""As many functions may stand within one another: each factor of a derivative writes out all that are inside it."""


def check(model: Parts) -> None:
    """Refuse a model that does not make sense; see `Model`."""
    _names_once(model)
    _columns(model)
    known = {*model.parameters, *model.static, *model.families.values()}
    for equation in model.equations:
        _check_equation(model, known, equation, "equations")
    for state in model.states:
        if state.name not in model.defined:
            raise ModelError(f"the state {state.name} has no equation", "states", state.name)
    _lags_declared(model)
    _ = model.order
    _losses_reach(model, known)
    _initial_names_free(model)
    _computed(model)
    for equation in model.computed:
        _check_equation(model, known, equation, "initial")
    _printed_apart(model)


def _columns(model: Parts) -> None:
    for table in ("inputs", "targets", "states", "static"):
        for v in getattr(model, table):
            if v.shape[1] != ONE:
                raise ModelError(f"{v.name} is not a column: its shape is {shape_text(v.shape)}; states, inputs, "
                                 "targets and static data are columns", table, str(v.name))


def _check_equation(model: Parts, known: set[MatrixSymbol], equation: Equation, table: str) -> None:
    key = equation.name if table == "equations" else initial_name(equation.left)
    _known(model, known, equation.right, table, key)
    try:
        shape = equation.right.shape
    except ShapeError as error:
        raise ModelError(str(error), table, key) from error
    if shape != equation.left.shape:
        raise ModelError(f"the right-hand side of {equation.left} has shape {shape_text(shape)}, "
                         f"but {equation.name} was declared {shape_text(equation.left.shape)}", table, key)
    if shape[1] != 1:
        raise ModelError(f"{equation.name} is not a column: its shape is {shape_text(shape)}; states, inputs and "
                         "outputs are columns", table, key)
    for node in visit(equation.right):
        if isinstance(node, Hadamard | Apply):
            _entrywise(node, table, key)
        if isinstance(node, Multiple) and node.shape[1] != 1:
            raise ModelError(f"{node} is a variable number times a matrix; multiply a column by the number, "
                             "s * (A @ v)", table, key)
    _short((node.args[0] for node in visit(equation.right) if isinstance(node, Scale)), table, key)
    if _nested(equation.right) > NESTED:
        raise ModelError(f"more than {NESTED} functions stand within one another; give an inner value a name by an "
                         "equation of its own, or every derivative writes all of them out", table, key)


def _short(numbers: Iterable[Expr], table: str, key: str) -> None:
    for c in numbers:
        if _monomials(c) > MONOMIALS:
            raise ModelError(f"a number has more than {MONOMIALS} terms once it is multiplied out; declare a constant "
                             "for it, or for a part of it", table, key)


def _monomials(c: Expr) -> int:
    """A bound on the terms of a number, multiplied out."""
    if isinstance(c, Pow):
        inner = _monomials(c.base)
        return math.comb(inner + abs(int(c.exp)) - 1, inner - 1)
    parts = map(_monomials, c.args)
    return sum(parts) if isinstance(c, Add) else math.prod(parts)


def _nested(e: Matrix) -> int:
    """How many functions stand within one another."""
    deepest, stack = 0, [(e, 0)]
    while stack:
        here, depth = stack.pop()
        depth += isinstance(here, Apply)
        deepest = max(deepest, depth)
        stack.extend((a, depth) for a in children(here))
    return deepest


def _entrywise(node: Hadamard | Apply, table: str, key: str) -> None:
    if node.shape[1] == ONE:
        return
    if isinstance(node, Apply) and node.args[0].name in VECTOR_FUNCTIONS:
        raise ModelError(f"{node} has shape {shape_text(node.shape)}; {node.args[0]} takes a column", table, key)
    if any(isinstance(a, At) for a in visit(node)):
        raise ModelError(f"{node} has shape {shape_text(node.shape)} and changes with time; only columns, and matrices "
                         "of parameters, are multiplied or mapped entry by entry", table, key)


def _names_once(model: Parts) -> None:
    tables = ("parameters", "inputs", "targets", "states", "static", "constants")
    declared = {table: [symbol.name for symbol in getattr(model, table)] for table in tables}
    names_once(declared, [equation.name for equation in model.equations])


def _printed_apart(model: Parts) -> None:
    """Refuse two names that print as one: W1 and W_1, h_1 beside the family h, sigma beside sigmoid, dW beside W."""
    printed = dict(SIGNS)
    trees = [*(e.right for e in (*model.equations, *model.computed)), *(term.loss for term in model.losses)]
    applied = [str(e.args[0]) for tree in trees for e in visit(tree) if isinstance(e, Apply | Loss)]
    losses: dict[str, str] = {}
    for number, term in enumerate(model.losses):
        _short([term.weight], "loss", str(number))
        shown = called(term.loss.name)
        other = losses.setdefault(in_one_word(term.loss.name), term.loss.name)
        if other != term.loss.name:
            raise ModelError(f"the loss {term.loss.name} prints like the loss {other}; call it by another name", "loss",
                             str(number))
        if shown in printed or RESERVED.get(shown, term.loss.name) != term.loss.name:
            other = printed.get(shown) or f"the function or loss {RESERVED[shown]}"
            raise ModelError(f"the loss {term.loss.name} prints like {other}; call it by another name", "loss",
                             str(number))
    printed |= {shown: f"the function or loss {f}" for shown, f in RESERVED.items()}
    printed |= {called(f): f"the function or loss {f}" for f in (*applied, *map(str, slopes(applied)))}
    _sizes_apart(model)
    for name, table in model.tables.items():
        shown = split(name)
        if shown in printed:
            raise ModelError(f"{name} prints like {printed[shown]}; take another name", table, name)
        printed[shown] = name
    changes = {change(name): name for name, table in model.tables.items() if table != "constants"}
    for name, table in model.tables.items():
        if split(name) in changes:
            raise ModelError(f"{name} prints like the change of {changes[split(name)]} along a direction; "
                             "take another name", table, name)
        *most, last = split(name).subscripts or ("",)
        family = printed.get(Name(split(name).base, tuple(most)))
        if family in model.families and (last.isdigit() or last in ("t", "T")):
            raise ModelError(f"{name} prints like {family} at time {last}; take another name", table, name)


def _sizes_apart(model: Parts) -> None:
    """Refuse a size that prints like a sign, another size or a constant; a state may be called as its size is."""
    printed = SIGNS | {split(str(c.name)): f"the constant {c.name}" for c in model.constants}
    for size in model.sizes:
        shown = split(size.name)
        if shown in printed:
            raise ModelError(f"the size {size.name} prints like {printed[shown]}; take another name", "sizes",
                             size.name)
        printed[shown] = f"the size {size.name}"


def _initial_names_free(model: Parts) -> None:
    taken = model.tables
    for member in model.initial:
        name = initial_name(member)
        if name in taken:
            raise ModelError(f"{name} names the value of {member.family} at time {member.time}, which the model reads; "
                             "take another name", taken[name], name)


def _computed(model: Parts) -> None:
    """The equations of values before the first step."""
    defined: set[At] = set()
    for equation in model.computed:
        name = initial_name(equation.left)
        if equation.name not in model.defined:
            raise ModelError(f"{name} is data, for {equation.name} is no state; leave its equation out",
                             "initial", name)
        if equation.left not in model.initial:
            read = ", ".join(initial_name(m) for m in model.initial if m.family.name in model.defined) or "none"
            raise ModelError(f"no equation reads {name}; values of states before the first step that are read: {read}",
                             "initial", name)
        if equation.left in defined:
            raise ModelError(f"{name} has two equations; {equation.name} is short for {equation.name}_0",
                             "initial", name)
        if any(isinstance(node, At) for node in visit(equation.right)):
            raise ModelError(f"the equation of {name} reads what changes with time; a value before the first step is "
                             "computed from parameters and [static] data alone", "initial", name)
        defined.add(equation.left)


def names_once(declared: Mapping[str, Iterable[str]], defined: Iterable[str]) -> None:
    """Refuse a name that stands twice; `declared` holds the names by table, `defined` those with an equation.

    Raises:
        ModelError: at the second place of the name.
    """
    seen: dict[str, str] = {}
    for table, names in declared.items():
        for name in names:
            if name in seen:
                raise ModelError(f"the name {name} stands in [{seen[name]}] and in [{table}]; "
                                 "a name is one thing", table, name)
            seen[name] = table
    written: set[str] = set()
    for name in defined:
        if name in written:
            raise ModelError(f"{name} has two equations", "equations", name)
        written.add(name)
        if seen.get(name, "states") != "states":
            raise ModelError(f"{name} stands in [{seen[name]}] and has an equation; a name is one thing",
                             "equations", name)


def _known(model: Parts, known: set[MatrixSymbol], tree: Matrix, table: str, key: str) -> None:
    for node in visit(tree):
        symbol = node.family if isinstance(node, At) else node
        if isinstance(symbol, MatrixSymbol) and symbol not in known:
            raise ModelError(f"the name {symbol.name} is declared in no table", table, key)
        if isinstance(node, MatrixSymbol) and node.name in model.families:
            raise ModelError(f"the family {node.name} stands without a time", table, key)
        if not isinstance(node, STATABLE) and not (isinstance(node, Loss) and node is tree and table == "loss"):
            raise ModelError(f"{node} is a {type(node).__name__}, which a model cannot state", table, key)
        if isinstance(node, At) and (index(node.time) - t).terms:
            raise ModelError(f"{node} is not of the form {node.family}[t-k]", table, key)
        if isinstance(node, At) and (index(node.time) - t).const > 0:
            raise ModelError(f"{node} looks ahead; only t and times before it can be read", table, key)


def _lags_declared(model: Parts) -> None:
    may_lag = {v.name for v in (*model.inputs, *model.targets, *model.states)}
    for equation in model.equations:
        for node in visit(equation.right):
            if isinstance(node, At) and node.time != index(t) and node.family.name not in may_lag:
                name = node.family.name
                raise ModelError(f"{node} reaches back, but {name} stands in none of [states], [inputs] and "
                                 f"[targets]; add {name} to [states]", "equations", equation.name)


def _losses_reach(model: Parts, known: set[MatrixSymbol]) -> None:
    for number, term in enumerate(model.losses):
        _known(model, known, term.loss, "loss", str(number))
        _check_reduction(model, term, number)
    if all(term.reduce == "once" for term in model.losses):
        raise ModelError("the model has no loss over time; add a [[loss]] with a term such as l(o, y)", "loss")
    for number, term in enumerate(model.losses):
        place = ("loss", str(number))
        if term.reduce == "once":
            continue
        arguments = [a for a in term.loss.args[1:] if isinstance(a, At)]
        if len(set(arguments)) < len(arguments):
            raise ModelError(f"the loss {term.loss} reads one variable twice; a loss reads each once", *place)
        for a in arguments:
            if a.family not in model.targets and a.time != index(t):
                raise ModelError(f"the loss reads {a}; at a time other than t a loss reads targets only", *place)
        if not any(a.family.name in model.defined for a in arguments):
            raise ModelError(f"the loss {term.loss} reads nothing that an equation defines", *place)
        if not term.opaque:
            _check_meaning(model, term, place)


def _check_reduction(model: Parts, term: LossTerm, number: int) -> None:
    """What the reduction, the mask and the assumptions of a term ask of it and of each other."""
    name, reads = term.loss.name, {a.family for a in term.loss.args[1:] if isinstance(a, At)}
    if term.reduce == "once" and name != "squared_norm":
        raise ModelError(f"reduce = \"once\" is for a regulariser squared_norm(W), which has no time; {name} is "
                         "gathered over time by \"mean\", \"sum\" or \"last\"", "loss", f"{number}.reduce")
    if term.reduce != "once" and name == "squared_norm":
        raise ModelError("a regulariser squared_norm(W) has no time; write reduce = \"once\" below it", "loss",
                         f"{number}.reduce")
    if name == "squared_norm" and (len(term.loss.args) != 2 or term.loss.args[1] not in model.parameters):
        raise ModelError(f"{term.loss}: a regulariser reads one parameter, squared_norm(W)", "loss", f"{number}.term")
    if term.mask is not None:
        if term.reduce not in ("mean", "sum"):
            raise ModelError("a mask weighs the steps of a \"mean\" or a \"sum\"; reduce is "
                             f"{term.reduce!r}, so leave the mask out", "loss", f"{number}.mask")
        if term.mask not in model.targets or term.mask.shape != (ONE, ONE):
            where = f"declared {shape_text(term.mask.shape)}" if term.mask in model.targets else "no target"
            raise ModelError(f"the mask {term.mask.name} is {where}; a mask stands under [targets] with shape \"1\"",
                             "loss", f"{number}.mask")
    for target in term.assume:
        if name != "softmax_cross_entropy":
            raise ModelError(f"an assumption about sum({target.name}) is used by softmax_cross_entropy alone, not by "
                             f"{name}", "loss", f"{number}.assume")
        if target not in reads or target not in model.targets:
            raise ModelError(f"the assumption speaks of {target.name}, but {term.loss} compares with "
                             f"{term.loss.args[-1]}", "loss", f"{number}.assume")


def _check_meaning(model: Parts, term: LossTerm, place: tuple[str, str]) -> None:
    """What a loss with a name asks of its arguments."""
    name, arguments = term.loss.name, term.loss.args[1:]
    wanted = LOSSES[name].arguments
    if len(arguments) != len(wanted):
        raise ModelError(f"{name} takes {len(wanted)} arguments: {name}({', '.join(wanted)})", *place)
    first, second = arguments
    if first.shape != second.shape:
        raise ModelError(f"{name} compares {described(first)} and {described(second)}: the shapes differ", *place)
    if name == "softmax_cross_entropy" and first.family in model.targets:
        raise ModelError(f"{name}(o, y) takes what the model computes first and the target second; write "
                         f"{name}({second.family}, {first.family})", *place)
