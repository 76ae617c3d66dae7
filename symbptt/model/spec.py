"""Model: sizes, variables, equations at symbolic t and the loss; frozen, and checked when it is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from sympy import Expr, MatrixSymbol, S, Symbol

from symbptt.expr.build import children, rebuild
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Identity, Loss, Matrix, Multiple, Plus, Scale, Times, Transpose, Zero
from symbptt.expr.shape import ShapeError, shape_text
from symbptt.expr.walk import visit
from symbptt.model.notation import Name, split

Reduce: TypeAlias = Literal["mean", "sum"]

STATABLE = (MatrixSymbol, At, Plus, Times, Scale, Multiple, Transpose, Zero, Identity)
"""What an equation is made of. Gradients, bound indices and powers belong to derivations."""


class ModelError(ValueError):
    """The model is wrong. `table` and `key` name the entry; `offset` is the place in its text, counted from 0."""

    def __init__(self, message: str, table: str = "", key: str = "", offset: int = 0) -> None:
        super().__init__(message)
        self.message, self.table, self.key, self.offset = message, table, key, offset


@dataclass(frozen=True)
class Size:
    """A symbolic size, a positive integer; its description is for readers and plays no part in equality."""

    symbol: Symbol
    description: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.symbol.name)


class Equation(NamedTuple):
    """left = right at symbolic time t."""

    left: At
    right: Matrix

    @property
    def name(self) -> str:
        """The family that it defines."""
        return str(self.left.family.name)


@dataclass(frozen=True)
class LossTerm:
    """weight · reduce_t loss, one summand of the objective L; `reduce` is the mean or the sum over t = 1 … T."""

    loss: Loss
    reduce: Reduce = "mean"
    weight: Expr = S.One


@dataclass(frozen=True, eq=False)
class Model:
    """A recurrent model. Two models are equal when they differ at most in the order of summands and declarations.

    Raises:
        ModelError: a name stands twice, an equation has another shape than its left side, a family is read that is
            not declared, a state depends on its own value at t, or the objective reaches no equation.
    """

    name: str
    sizes: tuple[Size, ...]
    parameters: tuple[MatrixSymbol, ...]
    inputs: tuple[MatrixSymbol, ...]
    targets: tuple[MatrixSymbol, ...]
    states: tuple[MatrixSymbol, ...]
    equations: tuple[Equation, ...]
    losses: tuple[LossTerm, ...]
    constants: tuple[Symbol, ...] = ()
    title: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def defined(self) -> dict[str, Equation]:
        """The families that an equation defines, by name, in the order written."""
        return {e.name: e for e in self.equations}

    @cached_property
    def families(self) -> dict[str, MatrixSymbol]:
        """Every family, by name: inputs, targets, then the defined ones."""
        data = {v.name: v for v in (*self.inputs, *self.targets)}
        return data | {name: e.left.family for name, e in self.defined.items()}

    @cached_property
    def lags(self) -> dict[str, int]:
        """For every family the largest lag at which some equation or loss reads it; 0 when none reaches back."""
        deepest = dict.fromkeys(self.families, 0)
        for member in self._members():
            name = member.family.name
            deepest[name] = max(deepest[name], -(member.time - t).const)
        return deepest

    @cached_property
    def carried(self) -> tuple[MatrixSymbol, ...]:
        """The defined families that some equation reads at a lag, in the order written."""
        return tuple(e.left.family for e in self.equations if self.lags[e.name])

    @cached_property
    def order(self) -> tuple[Equation, ...]:
        """The equations in an order in which each uses only earlier ones at the same time; stable otherwise."""
        return _ordered(self)

    @cached_property
    def initial(self) -> tuple[At, ...]:
        """What must be given beside inputs and targets at 1 … T: every family read at a lag, at 0, -1, … in turn."""
        return tuple(At(self.families[name], -back) for name, lag in self.lags.items() for back in range(lag))

    @property
    def opaque(self) -> tuple[str, ...]:
        """The names of the opaque losses, each once."""
        return tuple(dict.fromkeys(term.loss.name for term in self.losses))

    @cached_property
    def _key(self) -> tuple[object, ...]:
        tables = (self.sizes, self.parameters, self.inputs, self.targets, self.states, self.constants)
        equations = frozenset((e.left, _summands_sorted(e.right)) for e in self.equations)
        losses = frozenset(Counter(self.losses).items())
        return (self.name, self.title, self.source, equations, losses, *map(frozenset, tables))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def _members(self) -> Iterator[At]:
        for tree in (*(e.right for e in self.equations), *(term.loss for term in self.losses)):
            yield from (node for node in visit(tree) if isinstance(node, At))


def _summands_sorted(e: Matrix) -> Matrix:
    operands = [_summands_sorted(a) for a in children(e)]
    if isinstance(e, Plus):
        operands.sort(key=str)
    return rebuild(e, tuple(operands)) if operands else e


def check(model: Model) -> None:
    """Refuse a model that does not make sense; see `Model`."""
    _names_once(model)
    known = {*model.parameters, *model.families.values()}
    for equation in model.equations:
        _known(model, known, equation.right, "equations", equation.name)
        try:
            shape = equation.right.shape
        except ShapeError as error:
            raise ModelError(str(error), "equations", equation.name) from error
        if shape != equation.left.shape:
            raise ModelError(f"the right-hand side of {equation.left} has shape {shape_text(shape)}, "
                             f"but {equation.name} was declared {shape_text(equation.left.shape)}",
                             "equations", equation.name)
        if shape[1] != 1:
            raise ModelError(f"{equation.name} is not a column: its shape is {shape_text(shape)}; states, inputs and "
                             "outputs are columns", "equations", equation.name)
    for state in model.states:
        if state.name not in model.defined:
            raise ModelError(f"the state {state.name} has no equation", "states", state.name)
    _lags_declared(model)
    _ordered(model)
    _losses_reach(model, known)
    _initial_names_free(model)
    _printed_apart(model)


def _names_once(model: Model) -> None:
    tables = ("parameters", "inputs", "targets", "states", "constants")
    declared = {table: [symbol.name for symbol in getattr(model, table)] for table in tables}
    names_once(declared, [equation.name for equation in model.equations])


def _printed_apart(model: Model) -> None:
    """Refuse two names that print as one: W1 and W_1, h_1 beside the family h, I beside the identity matrix."""
    printed: dict[Name, str] = {Name("L"): "the objective L", Name("I"): "the identity matrix I",
                                Name("t"): "the time t", Name("T"): "the number of steps T"}
    for name, table in _tables_by_name(model).items():
        shown = split(name)
        if shown in printed:
            raise ModelError(f"{name} prints like {printed[shown]}; take another name", table, name)
        printed[shown] = name
    for name, table in _tables_by_name(model).items():
        *most, last = split(name).subscripts or ("",)
        family = printed.get(Name(split(name).base, tuple(most)))
        if family in model.families and (last.isdigit() or last in ("t", "T")):
            raise ModelError(f"{name} prints like {family} at time {last}; take another name", table, name)


def _tables_by_name(model: Model) -> dict[str, str]:
    tables = ("parameters", "inputs", "targets", "constants")
    declared = {v.name: table for table in tables for v in getattr(model, table)}
    return declared | dict.fromkeys(model.defined, "equations")


def initial_name(member: At) -> str:
    """The name of a value before the first step: h_0 at time 0, h_m1 at time -1."""
    time = member.time.const
    return f"{member.family.name}_{time if time >= 0 else f'm{-time}'}"


def _initial_names_free(model: Model) -> None:
    taken = _tables_by_name(model)
    for member in model.initial:
        name = initial_name(member)
        if name in taken:
            raise ModelError(f"{name} names the value of {member.family} at time {member.time}, which the model reads; "
                             "take another name", taken[name], name)


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


def _known(model: Model, known: set[MatrixSymbol], tree: Matrix, table: str, key: str) -> None:
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


def _lags_declared(model: Model) -> None:
    may_lag = {v.name for v in (*model.inputs, *model.targets, *model.states)}
    for equation in model.equations:
        for node in visit(equation.right):
            if isinstance(node, At) and node.time != index(t) and node.family.name not in may_lag:
                name = node.family.name
                raise ModelError(f"{node} reaches back, but {name} stands in none of [states], [inputs] and "
                                 f"[targets]; add {name} to [states]", "equations", equation.name)


def _same_time(model: Model) -> dict[str, dict[str, int]]:
    return {e.name: {n.family.name: 0 for n in visit(e.right)
                     if isinstance(n, At) and n.time == index(t) and n.family.name in model.defined}
            for e in model.equations}


def _ordered(model: Model) -> tuple[Equation, ...]:
    return tuple(model.defined[name] for name in in_order(_same_time(model)))


def in_order(needs: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The names in an order in which each stands behind all that it needs; stable otherwise.

    `needs` gives for each name the names that its equation reads at t, and where in its text.

    Raises:
        ModelError: a name needs itself, at the place that closes the circle.
    """
    done: dict[str, None] = {}
    for root in needs:
        trail = {} if root in done else {root: iter(needs[root])}
        while trail:
            name = next(reversed(trail))
            other = next((n for n in trail[name] if n not in done), None)
            if other is None:
                trail.popitem()
                done[name] = None
            elif other in trail:
                raise _circle([*trail, other], needs[name][other])
            else:
                trail[other] = iter(needs[other])
    return list(done)


def _circle(trail: list[str], offset: int) -> ModelError:
    name = trail[-1]
    chain = " needs ".join(f"{n}[t]" for n in trail[trail.index(name):])
    return ModelError(f"{name} depends on its own value at t: {chain}; read one of them at t-1", "equations",
                      trail[-2], offset)


def _losses_reach(model: Model, known: set[MatrixSymbol]) -> None:
    if not model.losses:
        raise ModelError("the model has no loss; add a [[loss]] term", "loss")
    for number, term in enumerate(model.losses):
        _known(model, known, term.loss, "loss", str(number))
        arguments = [a for a in term.loss.args[1:] if isinstance(a, At)]
        if len(set(arguments)) < len(arguments):
            raise ModelError(f"the loss {term.loss} reads one variable twice; a loss reads each once", "loss",
                             str(number))
        for a in arguments:
            if a.family not in model.targets and a.time != index(t):
                raise ModelError(f"the loss reads {a}; at a time other than t a loss reads targets only", "loss",
                                 str(number))
        if not any(a.family.name in model.defined for a in arguments):
            raise ModelError(f"the loss {term.loss} reads nothing that an equation defines", "loss", str(number))
