"""The arrays of one function of a fast program: their rows before t = 1 and after t = T, and their views."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sympy import MatrixSymbol, S

from symbptt.expr.index import IndexVar, index
from symbptt.expr.nodes import At
from symbptt.program.array import Array, Call, Dimension, Member, Name, Scalar, call, multiply, sliced
from symbptt.program.fuse import Place
from symbptt.program.normal import offset
from symbptt.program.plan import Plan
from symbptt.program.statements import Assign, Change, Space, Statement


def ends(start: int) -> tuple[Array, Array]:
    """From where to where the T steps stand that begin at a row."""
    return Dimension(str(start) if start else ""), Dimension(f"T + {start}" if start else "T")


def together(key: str, body: Iterable[Statement], apart: Collection[str] = ()) -> list[Statement]:
    """The statements with one for all new arrays without values, where the first was; those `apart` stay."""
    found = list(body)
    new = [s for s in found if isinstance(s, Assign) and isinstance(s.value, Call) and s.value.function == "empty"
           and isinstance(s.target, Name) and s.target.text not in apart]
    if not new:
        return found
    names = tuple(s.target for s in new if isinstance(s.target, Name))
    shapes = tuple(s.value.args for s in new if isinstance(s.value, Call))
    first = found.index(new[0])
    return [*found[:first], Space(key, names, shapes), *(s for s in found[first:] if s not in new)]


class Arrays:
    """The arrays of one function: which rows they have in front of t = 1 and behind t = T, and the views of them.

    A strip holds one block of steps: how many that are, and what the index of a step in it is called.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.views: dict[Place, str] = {}
        self.windows: dict[tuple[Place, int], str] = {}
        self.leads: dict[str, int] = {}
        self.strips: dict[MatrixSymbol, tuple[str, str]] = {}

    def name(self, family: MatrixSymbol) -> str:
        """The local name of a family."""
        return self.plan.systems.local.get(family.name) or self.plan.names.own(family.name)

    def view(self, family: MatrixSymbol) -> str:
        """The array (rows, B, size) in which a family stands."""
        place = self.plan.layout.place(family)
        if place.whole:
            return self.name(place.base)
        return self.views.setdefault(place, self.name(self.plan.layout.title(place)))

    def step(self, member: At) -> Array:
        """One step of a family."""
        if self.plan.layout.place(member.family).base in self.plan.layout.scratch:
            return Name(self.view(member.family))
        if member.family in self.strips:
            view, (_, step) = self.view(member.family), self.strips[member.family]
            self.leads[view] = 1
            return Member(view, index(IndexVar(step)))
        view, lead = self.view(member.family), self.plan.lead.get(self.plan.layout.place(member.family).base, 0)
        self.leads[view] = lead
        return Member(view, member.time - 1 + lead)

    def window(self, member: At) -> Array:
        """All steps of a family, so many steps later or earlier, as rows."""
        place, later = self.plan.layout.place(member.family), offset(member)
        if (place, later) not in self.windows:
            tail = f"_{'next' if later > 0 else 'back'}_{abs(later)}" if later else ""
            name = f"{self.name(self.plan.layout.title(place))}_rows{tail}"
            self.windows[place, later] = self.plan.names.add("window", name, name)
        return Name(self.windows[place, later])

    def definitions(self, count: str) -> Iterator[Assign]:
        """The views."""
        for place, name in self.views.items():
            yield Assign(Name(name), self._cut(Name(self.name(place.base)), place))
        for (place, later), name in self.windows.items():
            body: Array = Name(self.name(place.base))
            if place.base in self.strips:
                count_ = multiply([Name(self.strips[place.base][0]), Name(self.plan.batch)])
                yield Assign(Name(name), call("as rows", body, count_, Dimension(place.base.shape[0])))
                continue
            lead, trail = self.plan.lead.get(place.base, 0), self.plan.trail.get(place.base, 0)
            if lead or trail:
                body = call("steps", body, *ends(lead + later))
            yield Assign(Name(name), self._cut(call("as rows", body, Dimension(count), Dimension(place.base.shape[0])),
                                               place))

    def _cut(self, body: Array, place: Place) -> Array:
        return body if place.whole else sliced(body, "last", (place.lo, place.hi), place.base.shape[0])

    def fresh(self, base: MatrixSymbol) -> list[Statement]:
        """An array with zeros behind the last step."""
        name = self.name(base)
        rows = Dimension(self.plan.batch), Dimension(base.shape[0])
        length = self.strips[base][0] if base in self.strips else self.plan.length(base)
        shape = rows if base in self.plan.layout.scratch else (Dimension(length), *rows)
        found: list[Statement] = [Assign(Name(name), call("empty", *shape))]
        if self.plan.trail.get(base):
            found.append(Change(call("from step", Name(name), Dimension(_after(self.plan.lead.get(base, 0)))), "",
                                Scalar(S.Zero)))
        return found

    def stack(self, family: MatrixSymbol, body: Array) -> Array:
        place = self.plan.layout.place(family)
        lead, trail = self.plan.lead.get(place.base, 0), self.plan.trail.get(place.base, 0)
        whole = call("steps", body, *ends(lead)) if lead or trail else body
        return whole if place.whole else sliced(
            whole, "last", (place.lo, place.hi), place.base.shape[0])


def _after(lead: int) -> str:
    return f"T + {lead}" if lead else "T"
