"""The two systems of a derivation, forward and backward, as families in time that are defined by one equation each.

Forward stands the model; backward the recursion of ∂L/∂v_t, with every δ that several equations share as a family of
its own. Gradients beyond T are zero, so that one equation holds for every t ≤ T, and before t = 1 for initial values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sympy import MatrixSymbol

from symbptt.bptt.backward import Edge
from symbptt.derivation import Derivation, Line
from symbptt.expr.build import plus
from symbptt.expr.index import t
from symbptt.expr.nodes import Adjoint, At, Direct, Hadamard, Matrix, Times
from symbptt.expr.walk import visit
from symbptt.program.names import Names
from symbptt.program.normal import NOW, Normal, Row, by_table, offset, shifted, swapped
from symbptt.program.segments import in_first, sent_later
from symbptt.program.words import Word, rebuilt, words


@dataclass(frozen=True)
class Term:
    """A summand of the gradient of a parameter: a word at t, summed over all steps, or one that is there once."""

    value: Matrix
    every_step: bool


@dataclass(frozen=True)
class Initial:
    """The gradient of a value before the first step: messages at the time of the variable, and what is there once."""

    member: At
    messages: tuple[Matrix, ...]
    once: tuple[Matrix, ...]
    labels: tuple[str, ...]


@dataclass
class System:
    """Families by their equations in the order of one step."""

    rows: dict[MatrixSymbol, Row] = field(default_factory=dict)


class Systems:
    """Both systems of one derivation under one table of names."""

    def __init__(self, derivation: Derivation, names: Names) -> None:
        self.derivation, self.model, self.names = derivation, derivation.model, names
        self.local: dict[str, str] = {}
        self.adjoints: dict[str, MatrixSymbol] = {}
        self.directs: dict[str, MatrixSymbol] = {}
        for name, symbol in self.model.families.items():
            self.adjoints[name] = self._symbol(names.adjoint(name), symbol)
            self.directs[name] = self._symbol(names.direct(name), symbol)
        self.later = sent_later(derivation, names.options)
        self.light: dict[Matrix, Matrix] = {}
        self.normal = self.fresh_normal()

    def _symbol(self, name: str, like: Matrix) -> MatrixSymbol:
        self.local[name] = name
        return MatrixSymbol(name, like.shape[0], like.shape[1])

    def fresh(self, hint: str, like: Matrix) -> MatrixSymbol:
        """A new family of a column's size."""
        numbered = (f"{hint.removesuffix('_')}_{k}" for k in range(2, 10))
        return self._symbol(self.names.add("family", f"{hint} {len(self.local)}", hint, *numbered), like)

    def fresh_normal(self) -> Normal:
        """A rewriting with new families under these names."""
        return Normal(self.fresh, self.names.static)

    def forward(self) -> System:
        """The equations of the model in the order of one step."""
        normal, system = self.fresh_normal(), System()
        for e in self.model.order:
            right = normal.column(e.right)
            system.rows |= normal.rows
            label = self.derivation.label("model", e.name)
            system.rows[e.left.family] = Row(e.left.family, right, (label,))
        return system

    def backward(self) -> System:
        """The recursion of every ∂L/∂v_t that is not zero, in the order of one step back."""
        system = System()
        families = [*(e.name for e in reversed(self.model.order)), *(v.name for v in self.model.inputs)]
        self._lightened()
        for name in families:
            edges = self._edges(name)
            if not edges:
                continue
            labels = [a.label for a in self._lines(name)]
            before = set(self.normal.rows)
            self.normal.hint = "delta"
            right = plus(self._sent(edges, self.model.families[name]))
            system.rows |= {made: row for made, row in self.normal.rows.items() if made not in before}
            adjoint = self.adjoints[name]
            system.rows[adjoint] = Row(adjoint, right, tuple(labels))
        return system

    def _sent(self, edges: Iterable[Edge], family: MatrixSymbol) -> list[Matrix]:
        """What reaches ∂L/∂v_t; what the losses send stands once, as the direct derivative."""
        found: list[Matrix] = []
        direct = At(self.directs[family.name], NOW)
        for edge in edges:
            if edge.through is None:
                if direct not in found:
                    found.append(direct)
            else:
                found.append(self.message(edge))
        if family.name in self.later and direct not in found:
            found.append(direct)
        return found

    def message(self, edge: Edge) -> Matrix:
        """What a later family sends, at the time of the variable: what it is at its own time, later."""
        assert edge.through is not None
        back = (edge.through.time - t).const
        self.normal.hint = f"delta_{edge.through.family.name}"
        return shifted(self.normal.column(self.letters(shifted(edge.value, -back))), back)

    def letters(self, e: Matrix) -> Matrix:
        """Adjoints and direct derivatives as members of families; light ones by what they are."""
        plain = swapped(e, self._letter)
        return swapped(plain, by_table(self.light)) if self.light else plain

    def _letter(self, e: Matrix) -> Matrix | None:
        if isinstance(e, Adjoint | Direct) and isinstance(e.of, At) and e.of.time.terms:
            table = self.adjoints if isinstance(e, Adjoint) else self.directs
            return At(table[e.of.family.name], e.of.time)
        return None

    def _lightened(self) -> None:
        """An adjoint that is one other at the same time, scaled entry by entry, is written out where it is read."""
        for e in self.model.order:
            member = At(self.model.families[e.name], NOW)
            edges = self._edges(e.name)
            if e.name in self.later:
                continue
            values = {Direct(member) if a.through is None else a.value for a in edges}
            if len(values) == 1 and all(a.through is None or a.through.time == NOW for a in edges):
                (whole,) = values
                trial = Normal(self.fresh, self.names.static)
                value = trial.column(swapped(whole, self._letter))
                if not trial.rows and self._entrywise(value):
                    self.light[At(self.adjoints[e.name], NOW)] = value
        for name in self.light:
            while (value := swapped(self.light[name], by_table(self.light))) != self.light[name]:
                self.light[name] = value

    def _entrywise(self, e: Matrix) -> bool:
        own = {*self.adjoints.values(), *self.directs.values()}
        *front, last = e.args if type(e) is Hadamard else (e,)
        inside = [a for a in front for a in visit(a) if isinstance(a, At)]
        return isinstance(last, At) and last.family in own and last.time == NOW and not any(
            a.family in own or offset(a) > 0 for a in inside)

    def _lines(self, name: str) -> list[Line]:
        return [a for a in self.derivation.of_kind("boundary", "adjoint") if a.name == name]

    def _edges(self, name: str) -> list[Edge]:
        """What ∂L/∂v_t is made of at some t; what is there at t = T alone comes with the direct derivative."""
        lines = sorted(self._lines(name), key=lambda a: a.kind != "adjoint")
        return list(dict.fromkeys(e for line in lines for e in line.edges))

    def initial(self, member: At) -> Initial:
        """∂L/∂v at a time before the first."""
        line = next((a for a in self.derivation.of_kind("initial") if a.left == Adjoint(member)), None)
        edges = [e for e in line.edges if e.through is not None] if line is not None else []
        timed_edges = [e for e in edges if e.through is not None and e.through.time.terms]
        once = [in_first(self.letters(e.value), self.names.options) for e in edges if e not in timed_edges]
        return Initial(member, tuple(map(self.message, timed_edges)), tuple(once),
                       (line.label,) if line is not None else ())

    def gradient(self, symbol: MatrixSymbol) -> tuple[list[Term], tuple[str, ...]]:
        """The summands of ∂L/∂θ and the label of its equation."""
        line = self.derivation.line("gradient", symbol.name)
        return list(self._terms(line)), (line.label,)

    def _terms(self, line: Line) -> Iterator[Term]:
        for edge in line.edges:
            timed_edge = edge.through is not None and bool(edge.through.time.terms)
            if not timed_edge:
                yield Term(in_first(edge.value, self.names.options), False)
                continue
            value = self.letters(edge.value)
            if value.shape[1] == 1 and value.shape[0] != 1:
                yield Term(self.normal.letter(self.normal.column(value)), True)
                continue
            for word in words(value, self.names.static):
                yield Term(self._word(word), True)

    def _word(self, word: Word) -> Matrix:
        """A word with a letter for each column that an adjoint stands in."""
        factors: list[Matrix] = []
        for segment in word.segments:
            whole = Times(*segment) if len(segment) > 1 else segment[0]
            column = whole.shape[1] == 1 and whole.shape[0] != 1
            factors += [self.normal.letter(self.normal.column(whole))] if column and self._carries(whole) else segment
        return rebuilt(word, tuple(factors))

    def _carries(self, e: Matrix) -> bool:
        own = {*self.adjoints.values(), *self.directs.values(), *self.normal.rows}
        return any(isinstance(node, At) and node.family in own for node in visit(e))
