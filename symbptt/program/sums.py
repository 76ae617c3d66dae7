"""The gradients of parameters and static columns, from the rows of all steps: one product for many where it can be."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import MatrixSymbol

from symbptt.expr.build import plus
from symbptt.expr.nodes import ONE, At, Matrix, Times
from symbptt.program.array import Dimension, Member, Name, call, sliced, turn
from symbptt.program.fuse import Fusion, Place, adjoining
from symbptt.program.normal import NOW
from symbptt.program.plan import Terms
from symbptt.program.statements import Assign, Statement
from symbptt.program.system import Term
from symbptt.program.work import Work


class Sums:
    """The statements for one function."""

    def __init__(self, work: Work) -> None:
        self.plan, self.work = work.plan, work

    def statements(self, terms: Terms) -> list[Statement]:
        """The gradients of parameters and of static columns."""
        plan, names = self.plan, self.plan.names
        joined = self._joined(terms)
        found: list[Statement] = [*joined.values()]
        shared = {name for group in joined for name in group}
        for name, (listed, labels) in terms.items():
            target = Name(names.gradient(name))
            symbol = next(p for p in (*plan.model.parameters, *plan.model.static) if p.name == name)
            if name in shared:
                group = next(g for g in joined if name in g)
                places = self._places(group)
                start = places[group[0]].lo
                span = places[name].lo - start, places[name].hi - start
                whole = places[group[-1]].hi - start
                found.append(Assign(target, sliced(joined[group].target, self._side(name), span, whole), labels))
            elif name in plan.static:
                found += self._static(target, listed, symbol, labels)
            else:
                found += self._parameter(target, listed, symbol, labels)
        return found

    def _static(self, target: Name, listed: list[Term], symbol: MatrixSymbol,
                labels: tuple[str, ...]) -> Iterator[Statement]:
        timed = [x.value for x in listed if x.every_step]
        once = [x.value for x in listed if not x.every_step]
        yield Assign(target, call("zeros like", Name(self.plan.names.own(symbol.name))), () if listed else labels)
        if timed:
            rows = self.work.whole.stored(plus(timed))
            yield Assign(target, call("sum over steps", rows, Dimension(self.plan.batch), Dimension(symbol.shape[0])),
                         labels, augmented=True)
        if once:
            yield Assign(target, self.work.step.stored(plus(once)), labels, augmented=True)

    def _parameter(self, target: Name, listed: list[Term], symbol: MatrixSymbol,
                   labels: tuple[str, ...]) -> Iterator[Statement]:
        groups = [([x.value for x in listed if x.every_step], self.work.whole),
                  ([x.value for x in listed if not x.every_step], self.work.step)]
        parts = [(place, value) for values, lower in groups if values
                 for place, value in lower.placed_gradient(target, symbol, plus(values))]
        if len(parts) == 1 and parts[0][0] == target:
            value = parts[0][1]
            yield Assign(target, call("copy", value) if isinstance(value, Name | Member) else value, labels)
            return
        yield Assign(target, call("zeros like", Name(self.plan.names.own(symbol.name))), () if listed else labels)
        for place, value in parts:
            yield Assign(place, value, labels, augmented=True)

    def _joined(self, terms: Terms) -> dict[tuple[str, ...], Assign]:
        """One product for the gradients whose δ stand side by side and which have the same factor behind."""
        layout = self.plan.layout
        groups: dict[tuple[MatrixSymbol, tuple[Matrix, ...] | None], list[str]] = {}
        self._left: dict[str, MatrixSymbol] = {}
        for name, (listed, _) in terms.items():
            if len(listed) != 1 or not listed[0].every_step or name in self.plan.static:
                continue
            value = listed[0].value
            apart = type(value) is Times and isinstance(value.args[0], At)
            letter, right = (value.args[0], tuple(value.args[1:])) if apart else (value, None)
            if isinstance(letter, At) and letter.time == NOW and letter.family in layout.places \
                    and letter.shape[0] != ONE:
                self._left[name] = letter.family
                groups.setdefault((layout.places[letter.family].base, right), []).append(name)
        found = {}
        for (base, right), group in groups.items():
            ordered = sorted(group, key=lambda n: layout.number(self._left[n]))
            spans = [layout.places[self._left[n]] for n in ordered]
            if not adjoining(spans):
                continue
            part = Fusion(self.plan.systems.normal, layout).part(base, spans[0].lo, spans[-1].hi)
            letter = At(part, NOW)
            whole = letter if right is None else Times(letter, *right)
            (_, value), = self.work.whole.gradient(whole)
            value = turn(value) if self._side(ordered[0]) == "columns" else value
            stacked = "_".join(ordered) if len("_".join(ordered)) < 24 else f"{ordered[0]}_to_{ordered[-1]}"
            local = self.plan.names.add("joined", stacked, f"d{stacked}")
            found[tuple(ordered)] = Assign(Name(local), value)
        return found

    def _side(self, name: str) -> str:
        """Where the rows of a parameter stand in its array."""
        return "columns" if name in self.plan.names.turned else "rows"

    def _places(self, group: tuple[str, ...]) -> dict[str, Place]:
        return {n: self.plan.layout.places[self._left[n]] for n in group}
