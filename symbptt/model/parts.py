"""What a model consists of: sizes, variables, equations at symbolic t, loss terms; frozen, not yet checked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from sympy import Expr, MatrixSymbol, S, Symbol

from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Loss, Matrix, Scale
from symbptt.expr.walk import visit
from symbptt.model.functions import LOSSES
from symbptt.model.notation import split

Reduce: TypeAlias = Literal["mean", "sum", "last", "once"]


SIZE_MEANT = "; if the size {0} is meant, a size cannot stand in an equation"


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
    """weight · reduce_t loss, one summand of the objective L.

    reduce is the mean or the sum over t = 1 … T, the value at t = T alone, or, of a regulariser, the value once. With a
    mask m, whose entries are 0 or 1, the sum is Σ_t m_t loss and the mean divides it by Σ_t m_t. The entries of each
    target of `assume` add up to one.
    """

    loss: Loss
    reduce: Reduce = "mean"
    weight: Expr = S.One
    mask: MatrixSymbol | None = None
    assume: tuple[MatrixSymbol, ...] = ()

    @property
    def opaque(self) -> bool:
        """Whether nothing is known of the loss but that it can be differentiated."""
        return self.loss.name not in LOSSES


@dataclass(frozen=True, eq=False)
class Parts:
    """The tables of a model, and what can be read off them. Nothing is checked; see `spec.Model`.

    static are columns of data without a time index; computed are the equations of values before the first step.
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
    static: tuple[MatrixSymbol, ...] = ()
    computed: tuple[Equation, ...] = ()

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
    def tables(self) -> dict[str, str]:
        """For every variable and constant the table in which it stands."""
        tables = ("parameters", "inputs", "targets", "static", "constants")
        declared = {str(v.name): table for table in tables for v in getattr(self, table)}
        return declared | dict.fromkeys(self.defined, "equations")

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
        """The values before the first step: every family read at a lag, at 0, -1, … in turn."""
        return tuple(At(self.families[name], -back) for name, lag in self.lags.items() for back in range(lag))

    @cached_property
    def given(self) -> tuple[At, ...]:
        """The values before the first step that no equation defines: data, beside inputs and targets at 1 … T."""
        known = {e.left for e in self.computed}
        return tuple(member for member in self.initial if member not in known)

    @property
    def opaque(self) -> tuple[str, ...]:
        """The names of the opaque losses, each once."""
        return tuple(dict.fromkeys(term.loss.name for term in self.losses if term.opaque))

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """The names of parameters, data and constants that no equation, loss or weight reads."""
        trees = [*(e.right for e in (*self.equations, *self.computed)), *(term.loss for term in self.losses)]
        nodes = [node for tree in trees for node in visit(tree)]
        scalars = [*(node.args[0] for node in nodes if isinstance(node, Scale)), *(x.weight for x in self.losses)]
        read = {node.family if isinstance(node, At) else node for node in nodes if isinstance(node, At | MatrixSymbol)}
        read |= {symbol for c in scalars for symbol in c.free_symbols} | {term.mask for term in self.losses}
        declared = (*self.parameters, *self.static, *self.inputs, *self.targets, *self.constants)
        return tuple(str(v.name) for v in declared if v not in read)

    @cached_property
    def counts(self) -> dict[str, Symbol]:
        """For each mask by whose sum a mean divides, the symbol of Σ_t m_t: M, or M_m if there are several masks m.

        Another letter stands for it where the model has a name that prints like this one.
        """
        masks = list(dict.fromkeys(term.mask.name for term in self.losses
                                   if term.reduce == "mean" and term.mask is not None))
        taken = {split(name) for name in (*self.tables, *(size.name for size in self.sizes))}
        letters = ("M", "C", "count", *(f"count{k}" for k in range(len(taken))))
        found: dict[str, Symbol] = {}
        for name in masks:
            wanted = [letter if masks == [name] else f"{letter}_{name}" for letter in letters]
            found[name] = Symbol(next(w for w in wanted if split(w) not in taken), real=True)
        return found

    def _members(self) -> Iterator[At]:
        for tree in (*(e.right for e in self.equations), *(term.loss for term in self.losses)):
            yield from (node for node in visit(tree) if isinstance(node, At))


def initial_name(member: At) -> str:
    """The name of a value before the first step: h_0 at time 0, h_m1 at time -1."""
    time = member.time.const
    return f"{member.family.name}_{time if time >= 0 else f'm{-time}'}"


def _same_time(parts: Parts) -> dict[str, dict[str, int]]:
    return {e.name: {n.family.name: 0 for n in visit(e.right)
                     if isinstance(n, At) and n.time == index(t) and n.family.name in parts.defined}
            for e in parts.equations}


def _ordered(parts: Parts) -> tuple[Equation, ...]:
    return tuple(parts.defined[name] for name in in_order(_same_time(parts)))


def in_order(needs: Mapping[str, Mapping[str, int]], sizes: Collection[str] = ()) -> list[str]:
    """The names in an order in which each stands behind all that it needs; stable otherwise.

    `needs` gives for each name the names that its equation reads at t, and where in its text; `sizes` are the names
    that sizes have too.

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
                raise _circle([*trail, other], needs[name][other], other in sizes)
            else:
                trail[other] = iter(needs[other])
    return list(done)


def _circle(trail: list[str], offset: int, size: bool) -> ModelError:
    name = trail[-1]
    chain = " needs ".join(f"{n}[t]" for n in trail[trail.index(name):])
    return ModelError(f"{name} depends on its own value at t: {chain}; read one of them at t-1"
                      + SIZE_MEANT.format(name) * size, "equations", trail[-2], offset)
