"""What a certificate's theorems are about and what they assume, read from its text.

The line: field k of the point moves along field k of the direction. What is given does not move: functions are those of
the library with the slopes of the rule table, at level A, and the ones that analysis defines over the reals. Hypotheses
are of a few known forms, each of which is compared with what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from symbptt.proof.declared import Defined, Text
from symbptt.proof.evaluation import Astray
from symbptt.proof.grammar import EXTENSIONS
from symbptt.proof.reading import NotRead, Term, read

TIMED = "forall t, (1 <= t <= T)%N -> "


def apart(raw: str, *prefixes: str) -> str:
    """The model's name in the name of a field."""
    prefix = next((p for p in prefixes if raw.startswith(p)), "")
    return raw[len(prefix):].rstrip("'")


def is_function(kind: str) -> bool:
    """Whether a field of this type is a function of the library, not a loss."""
    left, _, right = kind.partition(" -> ")
    return bool(right) and left == right


def expand(e: Term, defined: Mapping[str, Defined], bound: frozenset[str] = frozenset()) -> Term:
    """A term with its notations written out and nested applications made one."""
    if e[:1] == ("name",):
        d = defined.get(e[1]) if e[1] not in bound else None
        return expand(d.body, d.before) if d is not None and d.short and d.body != ("name", "reals") else e
    if e[0] == "function":
        bound = bound | set(e[1])
    if e[0] in ("sum", "product"):
        bound = bound | {e[2]}
    parts = tuple(expand(a, defined, bound) if isinstance(a, tuple) and a and isinstance(a[0], str) else
                  tuple(expand(b, defined, bound) if isinstance(b, tuple) else b for b in a) if isinstance(a, tuple)
                  else a for a in e)
    if parts[0] == "apply" and parts[1][0] == "apply":
        return ("apply", parts[1][1], (*parts[1][2], *parts[2]))
    return parts


def named(e: object) -> set[str]:
    """The names in a term."""
    if not isinstance(e, tuple):
        return set()
    return {str(e[1])} if len(e) == 2 and e[0] == "name" else set().union(*map(named, e))


def apply(function: str, *arguments: Term | str) -> Term:
    """A name applied."""
    return ("apply", ("name", function), tuple(("name", a) if isinstance(a, str) else a for a in arguments))


@dataclass
class Kink:
    """The hypothesis that no entry of an argument is a number."""

    name: str
    timed: bool
    argument: Term
    at: int


@dataclass
class Premises:
    """What the text assumes."""

    text: Text
    slopes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For the field of each loss the names of its gradients, by the arguments that move."""
    leaks: list[tuple[Term, Term]] = field(default_factory=list)
    masks: dict[str, str] = field(default_factory=dict)
    """For each number of steps that count the field of the mask over which it is summed."""
    kinks: list[Kink] = field(default_factory=list)
    last: bool = False
    """Whether T > 0 is assumed."""

    def __post_init__(self) -> None:
        self.given, self.point = self.text.records["given"], self.text.records["point"]
        self.formal, self.real = self.text.sections["Formal"], self.text.sections["Real"]
        self._points("moved", self.formal, ())
        self._points("along", self.real, ("s",))
        self._lifted()
        self._reals()
        for trail, s in self.text.statement:
            if trail and trail[-1] != "Adjoint" and s.words[0] == "Hypothesis":
                name, _, claim = s.text.removeprefix("Hypothesis ").partition(" : ")
                try:
                    held = self._hypothesis(name, claim, self.text.sections[trail[-1]])
                except NotRead as error:
                    raise Astray(f"line {s.line}: the hypothesis {name} cannot be understood: {error}") from error
                if not held:
                    raise Astray(f"line {s.line}: the hypothesis {name} is none that certificates need: {claim}")

    # The line.

    def _arguments(self, name: str, constructor: str, here: Mapping[str, Defined], count: int) -> tuple[Term, ...]:
        body = here[name].body
        found = body[2] if body[0] == "apply" and body[1] == ("name", constructor) else ()
        if len(found) != count:
            raise Astray(f"{name} is no {constructor} of {count} values")
        return tuple(expand(a, here[name].before, frozenset(here[name].variables)) for a in found)

    def _points(self, name: str, here: Mapping[str, Defined], end: tuple[str, ...]) -> None:
        found = self._arguments(name, "Point", here, len(self.point))
        for (raw, kind), value in zip(self.point, found, strict=True):
            timed = kind.startswith("nat ->")
            k = ("k",) if timed else ()
            wanted = apply("line", apply(raw, "pt", *k), apply(raw, "dir", *k), *end)
            if value != (("function", ("k",), wanted) if timed else wanted):
                raise Astray(f"{name}: the field {raw} is not the line through the point along dir")

    def _lifted(self) -> None:
        for (raw, kind), value in zip(self.given, self._arguments("lifted", "Given", self.formal, len(self.given)),
                                      strict=True):
            here = apply(raw, "env")
            if raw.startswith(("tg_", "tgpast_")):
                good = value == ("function", ("k",), apply("fixed", apply(raw, "env", "k")))
            elif raw.startswith(("num_", "over_")):
                good = value == apply("lift", here)
            elif is_function(kind):
                good = self._extended(apart(raw, "fn_"), here, value)
            else:
                good = self._loss(raw, here, value)
            if not good:
                raise Astray(f"lifted: the field {raw} is not what is given, extended to dual numbers")

    def _extended(self, name: str, here: Term, value: Term) -> bool:
        others = EXTENSIONS.get(name)
        if others is None or value[0] != "apply" or value[1] != ("name", f"ext_{name}") or value[2][0] != here:
            return False
        slopes, numbers = value[2][1:1 + len(others)], value[2][1 + len(others):]
        if name == "leaky_relu" and len(numbers) == 2:
            self.leaks.append((numbers[0], numbers[1]))
            numbers = ()
        return not numbers and len(slopes) == len(others) and all(map(self._is_function, others, slopes))

    @staticmethod
    def _is_function(name: str, e: Term) -> bool:
        if e[0] == "apply" and e[2] == (("name", "env"),):
            return apart(str(e[1][1]), "fn_") == name
        return e[0] == "name" and str(e[1]).rstrip("'") == name

    def _loss(self, raw: str, here: Term, value: Term) -> bool:
        if value[0] != "apply" or not re.fullmatch(r"ext_loss(?:\d(?:_\d)?)?", str(value[1][1])) or value[2][0] != here:
            return False
        names = tuple(str(a[1]) for a in value[2][1:] if a[0] == "name")
        self.slopes[raw] = names
        return len(names) == len(value[2]) - 1 and len(set(names)) == len(names) and all(
            re.fullmatch(rf"d{re.escape(apart(raw, 'fn_'))}(?:_\d+)?'*", a) for a in names)

    def _reals(self) -> None:
        found = self._arguments("reals", "Given", self.real, len(self.given))
        for (raw, kind), value in zip(self.given, found, strict=True):
            if is_function(kind) and raw.startswith("fn_"):
                name = ("name", f"@real.{apart(raw, 'fn_')}")
                good = bool(value[0] == "apply" and value[1] == name and value[2][0] == ("name", "R")
                            and len(value[2]) <= 2)
            elif raw.startswith("over_"):
                good = self._inverse(apart(raw, "over_"), value)
            else:
                good = value[0] == "name" and self._field(value, self.real) == raw
            if not good:
                raise Astray(f"reals: the field {raw} is not what the model has in its place over the reals")

    def _field(self, e: Term, here: Mapping[str, Defined]) -> str:
        """The field of what is given that a name stands for."""
        found = expand(e, here)
        return str(found[1][1]) if found[0] == "apply" and found[2] == (("name", "env"),) else ""

    def _inverse(self, name: str, value: Term) -> bool:
        """1/T, 1/q, 1/γ, 1/M."""
        if value[:2] != ("postfix", "^-1"):
            return False
        inside = value[2]
        if name == "T" or name.isdigit():
            return inside == ("postfix", "%:R", ("name", "T") if name == "T" else ("number", int(name)))
        if inside[0] == "name":
            return apart(self._field(inside, self.real), "num_") == name
        if inside[0] == "apply" and inside[2] == (("number", 0), ("number", 0)) and inside[1][0] == "sum":
            _, lo, var, hi, body = inside[1]
            ranged = (lo, hi) == (("number", 1), ("successor", 1, ("name", "T")))
            if ranged and body[0] == "apply" and body[2] == (("name", var),) and body[1][0] == "name":
                self.masks[name] = self._field(body[1], self.real)
                return self.masks[name].startswith("tg_")
        return False

    # Hypotheses.

    def _hypothesis(self, name: str, claim: str, here: Mapping[str, Defined]) -> bool:
        kind = re.sub(r"'+$", "", name)
        if kind == "rec":
            return claim == "recursion"
        if kind == "some":
            self.last = True
            return claim == "(0 < T)%N"
        if kind == "reciprocal" or kind.startswith("inverse_of_"):
            return self._one(claim, here)
        if kind.startswith("real_nonzero_"):
            number = claim.removesuffix(" != 0")
            raw = self._field(("name", number), here) if claim != number else ""
            inverses = {apart(f, "over_") for f, _ in self.given if f.startswith("over_")}
            return raw.startswith("num_") and apart(raw, "num_") in inverses
        if kind.startswith(("formal_still_", "real_still_")):
            added = re.fullmatch(r"forall t, ([\w']+) t = 0", claim)
            added_to = expand(("name", added[1]), here) if added else ()
            return any(raw.startswith("of_") and added_to == apply(raw, "pt") for raw, _ in self.point)
        if kind == "real_kink":
            return self._kink(name, claim)
        return kind == "real_gradient" and self._gradient(claim.removeprefix(TIMED), here)

    def _one(self, claim: str, here: Mapping[str, Defined]) -> bool:
        """c * (1/c) = 1."""
        e = expand(read(claim), here)
        if e[:2] != ("binary", "=") or e[3] != ("number", 1) or e[2][:2] != ("binary", "*"):
            return False
        number, inverse = e[2][2:]
        raw = self._field(inverse, here)
        if number[:2] == ("postfix", "%:R") and number[2][0] == "number":
            return int(number[2][1]) > 0 and raw == f"over_{number[2][1]}"
        other = self._field(number, here)
        return other.startswith("num_") and raw == f"over_{other.removeprefix('num_')}"

    def _kink(self, name: str, claim: str) -> bool:
        match = re.fullmatch(r"forall row column, (.*) row column != (-?) ?(\d+)", claim.removeprefix(TIMED))
        if match is None:
            return False
        argument = read(match[1])
        self.kinks.append(Kink(name, claim.startswith(TIMED), argument, int(match[2] + match[3])))
        return not {"row", "column"} & named(argument)  # which are bound there

    def _gradient(self, claim: str, here: Mapping[str, Defined]) -> bool:
        """is_grad of a loss at its arguments, of which the first move, with its gradients at the same arguments."""
        match = re.match(r"is_grad([23]?) ", claim)
        e = read(claim)
        if match is None or e[0] != "apply" or e[1] != ("name", match[0].strip()):
            return False
        count = int(match[1] or 1)
        if len(e[2]) != 1 + 2 * count or e[2][0][0] != "function" or len(set(e[2][0][1])) != count:
            return False
        _, bound, body = e[2][0]
        points, slopes = e[2][1:1 + count], e[2][1 + count:]
        if body[0] != "apply" or body[2][:count] != tuple(("name", b) for b in bound):
            return False
        if set(bound) & (set(here) | named((body[1], body[2][count:], points))):
            return False
        names = self.slopes.get(self._field(body[1], here), ())
        wanted = tuple(apply(n, *points, *body[2][count:]) for n in names)
        return len(names) == count and slopes == wanted


def premises(text: Text) -> Premises:
    """What a text assumes.

    Raises:
        Astray: it assumes something else than certificates do, or its theorems are about something else.
    """
    return Premises(text)


def called(text: Text, name: str, along: Mapping[str, str]) -> str:
    """A definition of the model at another place than env and pt, as text."""
    given = text.sections["Backward"][name].given
    return " ".join([name, *(along.get(a, a) for a in given)])

