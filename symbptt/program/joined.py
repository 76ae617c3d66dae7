"""Products of one step that share an operand, or a sum, as one: gates that read one column, the δ that reach one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sympy import Expr, S

from symbptt.program.array import Add, Array, MatMul, Name, Rows, Turned, call, sliced
from symbptt.program.statements import Assign, names_in

Shapes = Mapping[str, tuple[Expr, Expr]]


@dataclass(frozen=True)
class Product:
    """column @ matrixᵀ (`forward`), or column @ matrix, of a matrix of parameters that is called by its name."""

    column: Array
    matrix: str
    forward: bool


class Joined:
    """The joining in one function; `shapes` holds rows and columns of the parameters by their local names.

    Arrays of parameters hold them as they are or, where `aside`, turned.
    """

    def __init__(self, shapes: Shapes, aside: bool, name: Callable[[str, str], str]) -> None:
        self.shapes, self.aside, self.name = shapes, aside, name
        self.stacked: dict[tuple[str, ...], Assign] = {}

    def body(self, body: list[Assign]) -> list[Assign]:
        """The statements of one step with fewer products; before the loop stands what `stacked` holds."""
        return self._gates([replace(s, value=self._sums(s.value)) for s in body])

    def _product(self, e: object) -> Product | None:
        if isinstance(e, MatMul) and len(e.args) == 2 and isinstance(e.args[0], Name):
            column, right = e.args
            forward = isinstance(right, Turned) != self.aside
            matrix = right.body if isinstance(right, Turned) else right
            if isinstance(matrix, Name) and matrix.text in self.shapes:
                return Product(column, matrix.text, forward)
        return None

    def _right(self, matrix: Name, forward: bool) -> Array:
        """What stands behind the column in a product."""
        return Turned(matrix) if forward != self.aside else matrix

    def _stack(self, matrices: tuple[str, ...]) -> Name:
        """Matrices below one another, made once."""
        if matrices not in self.stacked:
            hint = "_".join(matrices)
            hint = hint if len(hint) <= 24 else f"{matrices[0]}_to_{matrices[-1]}"
            local = Name(self.name("stacked " + " ".join(matrices), hint))
            function = "parameters side by side" if self.aside else "stacked parameters"
            self.stacked[matrices] = Assign(local, call(function, Rows((tuple(map(Name, matrices)),))))
        target = self.stacked[matrices].target
        assert isinstance(target, Name)
        return target

    def _sums(self, e: Any) -> Any:
        """Σ_k δ_k @ U_k as one product of the δ beside one another with the U below one another."""
        if isinstance(e, Add):
            found = [(a, p) for a in e.args if (p := self._product(a)) is not None and not p.forward]
            widths = {self.shapes[p.matrix][1] for _, p in found}
            if len(found) > 1 and len(widths) == 1:
                columns = call("beside", Rows((tuple(p.column for _, p in found),)))
                whole = MatMul((columns, self._right(self._stack(tuple(p.matrix for _, p in found)), False)))
                rest = [a for a in e.args if all(a is not b for b, _ in found)]
                return Add((*rest, whole)) if rest else whole
        return _mapped(e, self._sums)

    def _gates(self, body: list[Assign]) -> list[Assign]:
        """W_1 u, W_2 u, … as one product, computed where the first stands, and its parts."""
        groups: dict[Array, list[str]] = {}
        for s in body:
            for p in self._products(s.value):
                listed = groups.setdefault(p.column, [])
                if p.forward and p.matrix not in listed:
                    listed.append(p.matrix)
        table: dict[object, Array] = {}
        heads: dict[str, Assign] = {}
        for column, matrices in groups.items():
            if len(matrices) < 2:
                continue
            assert isinstance(column, Name)
            stack = self._stack(tuple(matrices))
            product = Name(self.name(f"product {stack.text} {column.text}", f"{stack.text}_{column.text}"))
            heads[column.text] = Assign(product, MatMul((column, self._right(stack, True))))
            start, whole = S.Zero, sum((self.shapes[m][0] for m in matrices), S.Zero)
            for m in matrices:
                stop = start + self.shapes[m][0]
                table[MatMul((column, self._right(Name(m), True)))] = sliced(product, "last", (start, stop), whole)
                start = stop
        done: list[Assign] = []
        for s in body:
            for read in [c for c in heads if c in names_in(s.value)]:
                done.append(heads.pop(read))
            done.append(replace(s, value=_swapped(s.value, table)))
        return done

    def _products(self, e: Any) -> Iterator[Product]:
        product = self._product(e)
        if product is not None:
            yield product
        elif isinstance(e, tuple):
            for a in e:
                yield from self._products(a)
        elif hasattr(e, "__dataclass_fields__"):
            for f in fields(e):
                yield from self._products(getattr(e, f.name))


def _mapped(e: Any, change: Callable[[Any], Any]) -> Any:
    """An array expression with every part changed."""
    if isinstance(e, tuple):
        return tuple(change(a) for a in e)
    if hasattr(e, "__dataclass_fields__"):
        return replace(e, **{f.name: change(getattr(e, f.name)) for f in fields(e)})
    return e


def _swapped(e: Any, table: Mapping[object, Array]) -> Any:
    """An array expression with others for its parts."""
    if isinstance(e, MatMul) and e in table:
        return table[e]
    return _mapped(e, lambda a: _swapped(a, table))
