"""What stands for a letter of an expression in one function of a program."""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, MatrixSymbol, Symbol

from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import Adjoint, At, Direct, LossGradient, Matrix
from symbptt.model.spec import initial_name
from symbptt.program.array import Array, Member, Name, Turned
from symbptt.program.names import Names


class Letters:
    """The letters of one function, under its names.

    `known` names what stands for a node as a whole: the stack of a loss gradient or of a family that a loss reads.
    `letters` names the variable of each letter of a closed form, `indices` the variable of each bound index, `static`
    the symbols without a time that have samples, `turned` those of matrices whose array is their transpose.
    """

    def __init__(self, names: Names, known: Mapping[Matrix, str] | None = None) -> None:
        self.names = names
        self.known = dict(known or {})
        self.letters: dict[str, str] = {}
        self.indices: dict[IndexVar, Index] = {}
        self.static, self.turned = set(names.static), set(names.turned)
        self.batch = names.batch

    def number(self, c: Expr) -> Expr:
        """A scalar with the constants under their local names."""
        return c.xreplace({s: Symbol(self.names.own(s.name), real=True) for s in c.free_symbols
                           if not isinstance(s, IndexVar)})

    def time(self, form: Index) -> Index:
        """An index form with the bound indices under their local names."""
        return index(form).substitute(self.indices)

    def letter(self, e: Matrix) -> Array | None:
        """The variable, or its value at a time, of a letter; None for what is none."""
        if e in self.known:
            return Name(self.known[e])
        match e:
            case At():
                return Member(self._named(e.family), self.time(e.time))
            case Adjoint(of=At() as v):
                if not v.time.terms and v.time.const < 1:
                    return Name(self.names.gradient(initial_name(v)))
                return Member(self.names.adjoint(v.family.name), self.time(v.time))
            case Direct(of=At() as v):
                return Member(self.names.direct(v.family.name), self.time(v.time))
            case LossGradient():
                return None
            case MatrixSymbol():
                name = Name(self._named(e))
                return Turned(name) if e.name in self.turned else name
        return None

    def _named(self, symbol: MatrixSymbol) -> str:
        return self.letters.get(symbol.name) or self.names.own(symbol.name)
