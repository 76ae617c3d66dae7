"""Parameters of gates that multiply the same operand, as one array: found from the equations, whatever the cell.

Two families are gates together where matrices of one shape multiply the same operand in both, or columns of one shape
do so entry by entry. Biases go together that stand beside products of one such group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sympy import Expr, MatrixSymbol

from symbptt.expr.nodes import ONE, Hadamard, Matrix, Plus, Times
from symbptt.expr.walk import visit
from symbptt.model.spec import Model
from symbptt.program.options import OptionError


@dataclass(frozen=True)
class Pack:
    """One array: its name, the parameters whose rows stand below one another in it, and the gates that they are of."""

    name: str
    parts: tuple[MatrixSymbol, ...]
    gates: tuple[str, ...]

    @property
    def rows(self) -> Expr:
        """How many rows there are."""
        return len(self.parts) * self.parts[0].shape[0]


@dataclass(frozen=True)
class Use:
    """One use of a parameter: in the equation of which family, and what it has in common with those it goes with."""

    gate: str
    parameter: MatrixSymbol
    key: tuple[object, ...]


def packs(model: Model, order: tuple[str, ...] | None) -> tuple[Pack, ...]:
    """The packed arrays of a model with gates in an order, by the names of their families; none where order is None.

    An empty order is that of the equations.

    Raises:
        OptionError: there is nothing to pack, or the order does not name each gate once.
    """
    if order is None:
        return ()
    groups = _groups(model)
    gates = [e.name for e in model.equations if any(use.gate == e.name for group in groups for use in group)]
    if not gates:
        raise OptionError(f"--fused: no two equations of {model.name} multiply one operand by parameters of one shape, "
                          "so that there is nothing to pack; leave it out")
    if order and sorted(order) != sorted(gates):
        raise OptionError(f"--fused {','.join(order)}: the gates of {model.name} are {', '.join(gates)}; name each of "
                          "them once, or none for this order")
    place = {name: k for k, name in enumerate(order or gates)}
    taken = {*model.tables, *(str(s.name) for s in model.sizes)}
    found = []
    for group in groups:
        uses = sorted(group, key=lambda use: place[use.gate])
        pack = Pack(_name(uses, taken), tuple(u.parameter for u in uses), tuple(u.gate for u in uses))
        taken.add(pack.name)
        found.append(pack)
    first = {p: k for k, p in enumerate(model.parameters)}
    return tuple(sorted(found, key=lambda pack: min(first[p] for p in pack.parts)))


def _groups(model: Model) -> list[list[Use]]:
    """The uses that go together: products first, then the biases beside them."""
    known = set(model.parameters)
    products = [use for e in model.equations for use in _products(e.name, e.right, known)]
    groups = _together(products)
    number = {use.parameter: k for k, group in enumerate(groups) for use in group}
    biases = [use for e in model.equations for use in _biases(e.name, e.right, known, number)]
    return [*groups, *_together(biases)]


def _products(gate: str, right: Matrix, known: set[MatrixSymbol]) -> Iterator[Use]:
    for node in visit(right):
        if type(node) is Times and node.args[0] in known and len(node.args) > 1:
            yield Use(gate, node.args[0], ("product", node.args[0].shape, *node.args[1:]))
        if type(node) is Hadamard:
            columns = [a for a in node.args if a in known]
            if len(columns) == 1:
                yield Use(gate, columns[0], ("entrywise", columns[0].shape, *(a for a in node.args if a not in known)))


def _biases(gate: str, right: Matrix, known: set[MatrixSymbol], number: dict[MatrixSymbol, int]) -> Iterator[Use]:
    """The columns of parameters that stand in a sum with a packed product, by the first such product and place."""
    for node in visit(right):
        if type(node) is Plus:
            beside = [number[a.args[0]] for a in node.args if type(a) is Times and a.args[0] in number]
            for k, bias in enumerate(a for a in node.args if a in known and a.shape[1] == ONE):
                if beside:
                    yield Use(gate, bias, ("bias", bias.shape, beside[0], k))


def _together(uses: list[Use]) -> list[list[Use]]:
    """Uses of one key, one a gate; a parameter that is used twice, or beside another of its gate, goes with none."""
    times = Counter(use.parameter for use in uses)
    once = [use for use in uses if times[use.parameter] == 1]
    beside = Counter((use.gate, use.key) for use in once)
    groups: dict[tuple[object, ...], list[Use]] = {}
    for use in once:
        if beside[use.gate, use.key] == 1:
            groups.setdefault(use.key, []).append(use)
    return [group for group in groups.values() if len(group) > 1]


def _name(uses: list[Use], taken: set[str]) -> str:
    """What the parameters have in common, and the gates in order: W_i, W_f become W_if."""
    names, gates = [str(u.parameter.name) for u in uses], [u.gate for u in uses]
    joined = ("" if all(len(g) == 1 for g in gates) else "_").join(gates)
    head = "".join(c for k, c in enumerate(names[0]) if all(name.startswith(names[0][:k + 1]) for name in names))
    own = all(name == head + gate for name, gate in zip(names, gates, strict=True))
    name = head + joined if own else f"{head.rstrip('_')}_{joined}" if head.rstrip("_") else "_".join(names)
    while name in taken:
        name += "_"
    return name
