"""Statements, and the program that they make up; data that a renderer turns into text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from sympy import Expr

from symbptt.expr.index import Index
from symbptt.program.array import Array, Entry, Member, Name, Slice, parts
from symbptt.program.packed import Pack

Target: TypeAlias = Name | Member | Entry | Slice


@dataclass(frozen=True)
class Assign:
    """target = value, or target += value; labels are those of the equations of the derivation that it computes."""

    target: Target
    value: Array
    labels: tuple[str, ...] = ()
    augmented: bool = False


@dataclass(frozen=True)
class Space:
    """New arrays without values, a shape for each, which a caller may keep under a key from one call to the next."""

    key: str
    targets: tuple[Name, ...]
    shapes: tuple[tuple[Array, ...], ...]


@dataclass(frozen=True)
class Into:
    """target = function(args), written in place; labels as of an assignment."""

    function: str
    target: Array
    args: tuple[Array, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """target sign= value, in place; sign is one of + - * / and "", which copies."""

    target: Array
    sign: str
    value: Array
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recur:
    """steps[t] += Σ_k steps[t - k] @ matrices[k - 1] in place, behind as many steps as matrices; None stands for 0."""

    steps: Array
    matrices: tuple[Array | None, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Steps:
    """A new family: its steps by time, none yet."""

    target: Name


@dataclass(frozen=True)
class Read:
    """A family's steps by time from a stack: 1 … T, then `earlier` at 0, -1, …, and `later` zero steps after T."""

    target: Name
    stack: Array
    earlier: tuple[Array, ...] = ()
    later: int = 0


@dataclass(frozen=True)
class LossCall:
    """values, gradients = loss(arguments); `carrying` holds the positions of the arguments that have a gradient, and
    `kept` the mask where both are zero in padding, whatever the loss says there.
    """

    values: Name
    gradients: tuple[Name, ...]
    loss: str
    arguments: tuple[Array, ...]
    carrying: tuple[int, ...]
    kept: Name | None = None


@dataclass(frozen=True)
class Require:
    """Refuse a target whose entries do not add up to one where it counts: where its mask is not 0, or at T alone, which
    a segment may hold or not.
    """

    key: str
    stack: Name
    mask: Name | None
    last: bool
    parted: bool = False


@dataclass(frozen=True)
class Loop:
    """For each time from first to last, upward or downward; upward at most so many, where `most` names a number."""

    var: str
    first: Index
    last: Index
    body: tuple[Statement, ...]
    down: bool = False
    most: str = ""


@dataclass(frozen=True)
class Carried:
    """A value that a scan hands from step to step: its name in a step, the first one, what the next step gets."""

    name: Name
    start: Array
    following: Name


@dataclass(frozen=True)
class Scan:
    """Steps in the order of time, or against it, without a change in place.

    given holds the name of one step's part of each stack that is read, made the stacks of what the steps compute.
    """

    carried: tuple[Carried, ...]
    given: tuple[tuple[Name, Array], ...]
    body: tuple[Assign, ...]
    made: tuple[tuple[Name, Name], ...]
    down: bool


@dataclass(frozen=True)
class Blocks:
    """Runs of `length` times, upward or downward: for each, body with `first` (not included) and `last` as its ends.

    part is what its rows are called among those of all times, by the number of samples.
    """

    length: Name
    first: Name
    last: Name
    part: Name
    samples: Name
    body: tuple[Statement, ...]
    down: bool = False


@dataclass(frozen=True)
class Condition:
    """left sign right between times; sign is one of == >= >."""

    left: Index
    sign: str
    right: Index


@dataclass(frozen=True)
class Branch:
    """The first case whose condition holds; the condition of the last may be None."""

    cases: tuple[tuple[Condition | None, tuple[Statement, ...]], ...]


Statement: TypeAlias = (Assign | Space | Into | Change | Recur | Steps | Read | LossCall | Require | Loop | Scan
                        | Blocks | Branch)


@dataclass(frozen=True)
class Variable:
    """A parameter, input, target, static column or initial value: its key, where it is given, and its shape by axes.

    local is its name in the program; an axis is "T", "B" or a form in the sizes.
    """

    key: str
    local: str
    group: str
    axes: tuple[str | Expr, ...]


@dataclass(frozen=True)
class Output:
    """One entry of a result: the key, the value and its axes."""

    key: str
    value: Array
    axes: tuple[str | Expr, ...]


@dataclass(frozen=True)
class Function:
    """The body of one function and what it returns, by dictionaries."""

    body: tuple[Statement, ...]
    results: tuple[tuple[Output, ...], ...]

    @property
    def uses(self) -> frozenset[str]:
        """The variables that occur."""
        return names_in((self.body, self.results))


@dataclass(frozen=True)
class OpaqueLoss:
    """An opaque loss: its name, and for every argument its text and whether it carries a gradient."""

    name: str
    arguments: tuple[str, ...]
    carrying: tuple[int, ...]

    @property
    def carried(self) -> list[str]:
        """The arguments that carry a gradient."""
        return [self.arguments[k] for k in self.carrying]

    @property
    def positions(self) -> str:
        """The positions as a tuple in code."""
        return repr(self.carrying)


@dataclass(frozen=True)
class SizeSource:
    """size = (length of axis `axis` of `key`, less `minus`) / `over`."""

    size: str
    key: str
    axis: int
    minus: Expr
    over: int


@dataclass(frozen=True)
class Program:
    """An array program: the variables, constants by key and local name, how sizes are read off, the four functions.

    variables are what the functions read; given is what callers hand in instead, families what they get back;
    counts gives the sums of the masks and starts the values before the first step that equations define, later names
    the families to which later segments of steps send something;
    packs are the arrays among it that hold several of the variables.
    """

    variables: tuple[Variable, ...]
    given: tuple[Variable, ...]
    constants: tuple[tuple[str, str], ...]
    sizes: tuple[SizeSource, ...]
    losses: tuple[OpaqueLoss, ...]
    families: tuple[Variable, ...]
    read_by_losses: tuple[Variable, ...]
    forward: Function
    objective: Function
    backward: Function
    closed: Function | None
    batch: str
    packs: tuple[Pack, ...] = ()
    counts: Function = Function((), ((),))
    later: tuple[str, ...] = ()
    starts: Function = Function((), ((),))


def names_in(e: object) -> frozenset[str]:
    """The variables that occur in an array expression, a statement or a tuple of such."""
    return frozenset(name for p in parts(e) for name in _names(p))


def _names(part: object) -> Iterable[str]:
    match part:
        case Name(text):
            return (text,)
        case Member(name, _) | Entry(name, _):
            return (name,)
        case _:
            return ()
