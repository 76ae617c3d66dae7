"""Shapes of the arrays that a program is given, and how the sizes are read off them."""

from __future__ import annotations

from sympy import Expr, MatrixSymbol, Symbol

from symbptt.model.spec import Model, initial_name
from symbptt.program.names import Names
from symbptt.program.statements import SizeSource, Variable


def axes(symbol: MatrixSymbol, names: Names) -> tuple[Expr, ...]:
    """The axes of a parameter's array: one for a column, else two."""
    rows, columns = symbol.shape
    if columns == 1:
        return (rows,)
    return (columns, rows) if symbol.name in names.turned else (rows, columns)


def variables(model: Model, names: Names) -> tuple[Variable, ...]:
    """Everything that is given as an array, in the order of the model."""
    found = [Variable(p.name, names.own(p.name), "params", axes(p, names)) for p in model.parameters]
    found += [Variable(v.name, names.own(v.name), "data", ("T", "B", v.shape[0]))
              for v in (*model.inputs, *model.targets)]
    found += [Variable(s.name, names.own(s.name), "data", ("B", s.shape[0])) for s in model.static]
    found += [Variable(initial_name(m), initial_name(m), "data", ("B", m.family.shape[0])) for m in model.given]
    return tuple(found)


def sources(given: tuple[Variable, ...], model: Model) -> tuple[SizeSource, ...]:
    """Where each size is read off: an axis that shows it alone, else one in which all other sizes are known.

    Raises:
        ValueError: no axis determines a size.
    """
    shown = [(v.key, k, axis) for v in given for k, axis in enumerate(v.axes) if isinstance(axis, Expr)]
    found: dict[Symbol, SizeSource] = {}
    wanted = [s.symbol for s in model.sizes if any(s.symbol in axis.free_symbols for _, _, axis in shown)]
    while missing := [s for s in wanted if s not in found]:
        step = next((one for size in missing for one in (_alone(size, shown, set(found)),) if one is not None), None)
        if step is None:
            raise ValueError(f"the shapes of the arrays do not determine the size {missing[0]}")
        found[next(s for s in missing if s.name == step.size)] = step
    return tuple(found.values())


def _alone(size: Symbol, shown: list[tuple[str, int, Expr]], known: set[Symbol]) -> SizeSource | None:
    usable = [(key, k, axis) for key, k, axis in shown if size in axis.free_symbols
              and axis.free_symbols - {size} <= known]
    if not usable:
        return None
    key, k, axis = min(usable, key=lambda entry: (len(entry[2].free_symbols), entry[2] != size))
    over = axis.coeff(size)
    return SizeSource(size.name, key, k, axis - over * size, int(over))
