"""A certificate's statement read back and evaluated beside the model, in exact arithmetic at random points.

First the text must be of the grammar of certificates, and assume nothing else than they do: skeleton.py, premises.py.
What Coq proves is what the file says. Whether the file says what the model says is tried here, by a parser that does
not know the printer and by the oracle, which takes gradients from the model's equations with dual numbers: the forward
pass, the objective, every line of the recursion, every gradient, the closing sum, and what moves along the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from secrets import randbelow
from typing import Any

from sympy import MatrixSymbol

from symbptt.expr.index import t
from symbptt.expr.nodes import Apply, At, Matrix
from symbptt.expr.walk import visit
from symbptt.model.functions import FUNCTIONS, LEAK
from symbptt.model.spec import Model, initial_name
from symbptt.proof import field as f
from symbptt.proof.declared import Scope, Text
from symbptt.proof.evaluation import Astray, Evaluation
from symbptt.proof.meaning import MIXING
from symbptt.proof.oracle import Oracle
from symbptt.proof.plainly import plainly
from symbptt.proof.premises import Premises, apart, called, premises
from symbptt.proof.premises import expand as written_out
from symbptt.proof.pushed import Pushed
from symbptt.proof.reading import NotRead, read
from symbptt.proof.shaped import shapes
from symbptt.proof.skeleton import skeleton
from symbptt.proof.solved import holds, solved
from symbptt.proof.tellable import tellable
from symbptt.proof.vernacular import NotAllowed
from symbptt.proof.windows import Engine, Stated, compared, engine

SEED = randbelow(2**32)
"""Where the random point stands: another one in each process, so that nobody can write a text for it."""
STEPS = (2, 4)
"""The numbers of steps that are tried; more where a longer lag asks for them."""
FAR = 4
"""So much further than the longest lag, and that twice, a text may read through definitions."""
CASES = re.compile(r"\b(if|match)\b(?!')")
"""A choice; by it a statement could say one thing at the steps that are tried and another one elsewhere."""


def letter(oracle: Oracle) -> int:
    """A random number for T, not zero."""
    return 1 + oracle.random((1, 1), "T")[0][0] % (f.PRIME - 1)


class Guard:
    """The comparison of a text with a model, for one number of steps."""

    def __init__(self, model: Model, text: Text, assumed: Premises, steps: int, kind: type[Oracle] = Oracle) -> None:
        self.model, self.text, self.assumed, self.steps = model, text, assumed, steps
        self.oracle = kind(model, steps, SEED)
        # What is said must hold for every T. Beside other numbers T is therefore a letter like them: a polynomial that
        # vanishes at the steps that are tried does not vanish there.
        self.oracle.count = letter(self.oracle)
        names = {s.name: self.oracle.size(s.symbol) for s in model.sizes}
        self.run = Evaluation({f"n_{k}": v for k, v in names.items()} | {"T": steps}, self.oracle.count)
        self.symbols = {v.name: v for v in (*model.parameters, *model.static)}
        projections = {raw: self.projection(k) for record in ("given", "point", "state")
                       for k, (raw, _) in enumerate(text.records.get(record, []))}
        self.run.variables |= {**projections, "env": self.record("given"), "pt": self.record("point"),
                               **self.slopes(), **self.unknowns(), **self.analysed()}

    @property
    def fields(self) -> list[str]:
        """The fields of the point, by what they would be called if no other name were taken."""
        return [raw.rstrip("'") for raw, _ in self.text.records["point"]]

    @staticmethod
    def projection(place: int) -> Callable[[Any], Any]:
        """A field of a record."""
        return lambda values: values[place]

    # What fields are.

    def record(self, name: str) -> list[Any]:
        """The values of the fields."""
        fields = self.text.records.get(name)
        if fields is None:
            raise Astray(f"there is no record {name}")
        return [(self.given if name == "given" else self.moving)(raw, kind) for raw, kind in fields]

    def member(self, name: str, time: int) -> f.Array:
        """A value of a family."""
        value: f.Array = self.oracle.value(At(self.model.families[name], time))
        return value

    def given(self, raw: str, kind: str) -> Any:
        """A function, a loss, a number, a target."""
        past = raw.startswith("tgpast_")
        name = apart(raw, "fn_", "over_", "num_", "tgpast_", "tg_")
        if raw.startswith("fn_"):
            return self.function(name, kind)
        if raw.startswith("over_"):
            return self.inverse(name)
        if raw.startswith("num_"):
            return self.oracle.number(next(c for c in self.model.constants if c.name == name), {})
        sign = -1 if past else 1
        return lambda k: self.member(name, sign * k)

    def inverse(self, name: str) -> int:
        """1/T, 1/q, 1/γ, 1/M."""
        if name == "T" or name.isdigit():
            return f.inverse(self.oracle.count if name == "T" else int(name))
        symbols = {c.name: c for c in (*self.model.constants, *self.model.counts.values())}
        return f.inverse(self.oracle.number(symbols[name], {}))

    def function(self, name: str, kind: str) -> Any:
        """A function of a number or of a column, or an opaque loss."""
        if kind == "R -> R":
            return lambda x: self.oracle.functions.value(name, x)
        if name in MIXING:
            return lambda v: MIXING[name](self.oracle.functions, f.constant(v)).value
        return self.collected(kind.count("->"), lambda v: self.oracle.random((1, 1), "loss", name, v)[0][0])

    def analysed(self) -> dict[str, Any]:
        """The functions of analysis by their names in full, which take a ring, and a size where they mix entries."""
        known = {name: lambda _ring, name=name: self.function(name, "R -> R") for name in FUNCTIONS}
        mixing = {name: lambda _ring, name=name: lambda _size: self.function(name, "") for name in MIXING}
        return {"R": None, **{f"@real.{name}": function for name, function in (known | mixing).items()}}

    def collected(self, count: int, function: Callable[[list[Any]], Any], *known: Any) -> Any:
        """A function of so many arguments, one after another."""
        return function(list(known)) if not count else lambda x: self.collected(count - 1, function, *known, x)

    def moving(self, raw: str, kind: str) -> Any:
        """A parameter, an input, values before the first step."""
        if raw.startswith("of_"):
            return self.added(self.model.families[apart(raw, "of_")])
        timed = kind.startswith("nat")
        past = raw.startswith("ptpast_")
        name = apart(raw, "ptpast_", "pt_")
        if not timed:
            return self.oracle.value(self.symbols[name])
        sign = -1 if past else 1
        return lambda k: self.member(name, sign * k)

    def added(self, family: MatrixSymbol) -> Callable[[int], f.Array]:
        """What is added to a family: nothing, in the model itself."""
        if isinstance(self.oracle, Pushed):
            pushed = self.oracle
            return lambda k: pushed.added(At(family, k))
        return lambda _: f.zeros(*self.oracle.shape(family))

    def slopes(self) -> dict[str, Any]:
        """The functions and gradients of losses that are variables of the backward side."""
        found: dict[str, Any] = {}
        for s in self.text.sentences:
            match = re.fullmatch(r"Variable ([\w']+) : (.*)", s.text)
            if match is None or match[1] in found:
                continue
            name, kind = match[1].rstrip("'"), match[2]
            if kind == "R -> R":
                found[match[1]] = lambda x, name=name: self.oracle.functions.value(name, x)
            elif kind.count("->") == 1 and name in MIXING:
                found[match[1]] = self.function(name, kind)
            elif loss := self.sloped(name):
                found[match[1]] = self.collected(kind.count("->"), self.loss_gradient(*loss))
        return found

    def sloped(self, name: str) -> tuple[str, int] | None:
        """The loss and the argument of which this is the gradient."""
        for term in self.model.losses:
            loss = term.loss.name
            if term.opaque and name in (f"d{loss}", *(f"d{loss}_{k + 1}" for k in range(len(term.loss.args) - 1))):
                return loss, 0 if name == f"d{loss}" else int(name.rpartition("_")[2]) - 1
        return None

    def loss_gradient(self, loss: str, place: int) -> Callable[[list[Any]], Any]:
        """∂ℓ/∂(argument)."""
        return lambda v: self.oracle.random((len(v[place]), len(v[place][0])), "loss gradient", loss, place, v)

    # The comparison.

    def scope(self, section: str) -> Scope:
        """The scope at the end of a section."""
        if section not in self.text.sections:
            raise Astray(f"there is no section {section}")
        return Scope(self.text.sections[section])

    def same(self, where: str, text: Any, model: Any) -> None:
        """Refuse a difference."""
        if text != model:
            raise Astray(f"{where} is not what the model says (T = {self.steps})")

    def check(self) -> None:
        """Compare everything.

        Raises:
            Astray: something differs.
        """
        self.premises()
        self.forward()
        backward = self.scope("Backward")
        self.recursion(backward)
        self.gradients(backward)

    def forward(self) -> None:
        """Compare the values of all families and the objective.

        Raises:
            Astray: one is another.
        """
        forward = self.scope("Forward")
        for name in self.model.defined:
            value = self.run.found(f"run_{name}", forward)
            for time in range(1, self.steps + 1):
                self.same(f"{name} at {time}", value(time), self.member(name, time))
        self.same("the objective", self.run.found("loss", forward), self.oracle.value(MatrixSymbol("L", 1, 1)))

    def truncations(self, texts: dict[str, Stated], truth: Engine) -> None:
        """Compare what windows keep and leave out.

        Raises:
            Astray: something differs, or is left out.
        """
        if texts or truth.halves:
            compared(texts, truth, self.run, self.scope("Closed"), self.oracle)

    def premises(self) -> None:
        """What is assumed is what the model needs: the last step, no argument at a kink, the numbers that are inverted.

        Raises:
            Astray: something else is.
        """
        if self.assumed.last and not any(term.reduce == "last" for term in self.model.losses):
            raise Astray("the hypothesis some is none that the model needs: no loss stands at the last step alone")
        counts = {str(c.name): name for name, c in self.model.counts.items()}
        if any(apart(raw, "tg_") != counts.get(name) for name, raw in self.assumed.masks.items()):
            raise Astray("reals: the number of steps that count is the sum of another mask")
        formal, real = self.scope("Formal"), self.scope("Real")
        leak = LEAK.p * f.inverse(LEAK.q) % f.PRIME
        for pair in self.assumed.leaks:
            found = [self.run(e, formal) for e in pair]
            self.same("lifted: the slope of leaky_relu", found, [leak, (1 - leak) % f.PRIME])
        for kink in self.assumed.kinks:
            for time in range(1, self.steps + 1) if kink.timed else [None]:
                # what is given over the reals has been compared with what is given anywhere, field by field
                argument = written_out(kink.argument, real.defined, frozenset({"t"}))
                here = real.inner("env", self.run.variables["env"])
                value = self.run(argument, here if time is None else here.inner("t", time))
                if (kink.at, value) not in self.kinked(time):
                    raise Astray(f"the hypothesis {kink.name} is none that the model needs: no function with a kink at "
                                 f"{kink.at} has this argument")

    def kinked(self, time: int | None) -> list[tuple[int, f.Array]]:
        """The kinks of functions and the arguments at a time, or before the first step."""
        trees = [e.right for e in (self.model.computed if time is None else self.model.equations)]
        calls = [n for tree in trees for n in visit(tree) if type(n) is Apply and str(n.args[0]) in FUNCTIONS]
        return [(kink, self.oracle.value(n.args[1], {} if time is None else {t: time}))
                for n in calls for kink in FUNCTIONS[str(n.args[0])].kinks]

    def unknowns(self) -> dict[str, Any]:
        """∂L/∂v_t and ∂⁺L/∂v_t by their names."""
        found: dict[str, Any] = {}
        for name, symbol in self.model.families.items():
            found[f"g_{name}"] = lambda k, v=symbol: self.oracle.gradient(At(v, k)) if k <= self.steps else \
                f.zeros(*self.oracle.shape(v))
            found[f"e_{name}"] = lambda k, v=symbol: self.oracle.direct_at((v.name, k), At(v, k)) \
                if k <= self.steps else f.zeros(*self.oracle.shape(v))
        return found

    def recursion(self, scope: Scope) -> None:
        """Every line of the recursion holds for the gradients."""
        fields = dict(self.text.records.get("recursion", []))
        for name in {raw[4:] for raw in fields}:
            equation = read(fields[f"rec_{name}"].partition("%N -> ")[2])
            for time in range(1, self.steps + 1):
                inner = scope.inner("t", time)
                left, right = (self.run(side, inner) for side in equation[2:])
                self.same(f"the recursion of {name} at {time}", right, left)

    def variables(self) -> Iterator[tuple[str, Matrix, bool]]:
        """(name, variable, whether it has a time) of everything that has a gradient."""
        for v in (*self.model.parameters, *self.model.static):
            yield v.name, v, False
        for member in self.model.initial:
            if member.family not in self.model.targets:
                yield initial_name(member), member, False
        for v in self.model.inputs:
            yield v.name, v, True

    def gradients(self, scope: Scope) -> None:
        """Every gradient is one, and the closing sum holds each once."""
        expected, computed = 0, {e.left for e in self.model.computed}
        direction: list[Any] = []
        for place, (raw, kind) in enumerate(self.text.records["point"]):
            direction.append(self.direction(place, raw, kind))
        for name, v, timed in self.variables():
            if timed:
                found = [(self.run.found(f"dL_d{name}", scope)(k), At(v, k)) for k in range(1, self.steps + 1)] \
                    if f"dL_d{name}" in scope.defined else [(None, At(v, k)) for k in range(1, self.steps + 1)]
            else:
                found = [(self.run.found(f"dL_d{name}", scope) if f"dL_d{name}" in scope.defined else None, v)]
            for value, of in found:
                truth = self.oracle.gradient(of)
                absent = value is None and not any(map(any, truth))
                self.same(f"the gradient of {name}", truth if absent else value, truth)
                if of not in computed:
                    expected += f.paired(truth, self.moved(direction, of))
        expected += sum(f.paired(self.oracle.gradient(At(e.left.family, k)), self.pushed(direction, name)(k))
                        for name, e in self.model.defined.items() for k in range(1, self.steps + 1))
        loss = re.escape(called(self.text, "loss", {"env": "lifted", "pt": "moved"}))
        self.theorem("formal_gradient", rf"recursion -> du \(\({loss}\) 0 0\) = (.*)", "Formal", direction, expected)
        loss = re.escape(called(self.text, "loss", {"env": "reals", "pt": "(along s)"}))
        self.theorem("gradient", rf"recursion -> is_derive \(0 : R\) \(1 : R\) \(fun s => \({loss}\) 0 0\) \((.*)\)",
                     "Real", direction, expected)

    def theorem(self, name: str, shape: str, section: str, direction: list[Any], expected: int) -> None:
        """The right side of a theorem is the derivative along a random direction."""
        match = re.fullmatch(shape, self.text.claims.get(name, ""))
        if match is None:
            raise Astray(f"the theorem {name} has another form")
        self.run.variables["dir"] = direction
        scope = self.scope(section)
        self.same(f"the right side of {name}", self.run(read(match[1]), scope), expected % f.PRIME)

    def direction(self, place: int, raw: str, kind: str) -> Any:
        """A random direction of one field."""
        here = self.record("point")[place]
        if not kind.startswith("nat"):
            return self.oracle.random((len(here), len(here[0])), "along", raw)
        shape = here(1)
        return lambda k: self.oracle.random((len(shape), len(shape[0])), "along", raw, k)

    def pushed(self, direction: list[Any], name: str) -> Callable[[int], f.Array]:
        """What the direction adds to a family."""
        found: Callable[[int], f.Array] = direction[self.fields.index(f"of_{name}")]
        return found

    def moved(self, direction: list[Any], of: Matrix) -> f.Array:
        """The direction of a variable."""
        fields = self.fields
        found: f.Array
        if isinstance(of, At):
            name, time = of.family.name, of.time.const
            ahead = time > 0 or (time == 0 and name not in self.model.defined)
            found = direction[fields.index(f"pt_{name}" if ahead else f"ptpast_{name}")](abs(time))
        else:
            found = direction[fields.index(f"pt_{of.name}")]
        return found


UNREAD = (NotRead, NotAllowed, KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading a text that is no certificate may end in."""


def formed(text: str) -> None:
    """Refuse a text that is not of the grammar of certificates, or assumes something else than they do.

    Raises:
        Astray: it does; the message says where.
    """
    try:
        found, assumed = _structure(text)
        tellable(found, assumed)
        solved(found)
    except UNREAD as error:
        raise _astray(error) from error


def guard(model: Model, text: str) -> None:
    """Compare a certificate's statement with the model.

    Raises:
        Astray: it says something else, or it is not written as statements are.
    """
    try:
        found, assumed = _structure(text)
        other = {apart(name, "n_") for name in found.sizes} ^ {s.name for s in model.sizes}
        if other:
            raise Astray(f"the sizes are not those of the model: n_{min(other)}")
        shapes(model, found)
        longest, far = max(model.lags.values(), default=0) + 2, tellable(found, assumed)
        if far > 2 * longest + FAR:
            raise Astray(f"the statement reads {far} steps away, further than the model does")
        guards = [Guard(model, found, assumed, steps) for steps in (STEPS[0], max(STEPS[1], longest, far + 2))]
        for each in guards:
            each.check()
            Guard(model, found, assumed, each.steps, Pushed).forward()
        texts, truth = solved(found), engine(model)
        for each in guards:
            each.truncations(texts, truth)
            holds(found, each.run, each.steps)
    except UNREAD as error:
        raise _astray(error) from error


def _structure(text: str) -> tuple[Text, Premises]:
    found = Text(text)
    skeleton(found)
    for s in found.sentences:
        chosen = CASES.findall(s.text)
        if chosen and not (s.text.startswith("Fixpoint run ") and chosen == ["if"]) \
                and not (re.match(r"Definition ([\w']+_past|past_[\w']+) ", s.text) and chosen == ["match"]):
            raise Astray(f"line {s.line}: a choice has no place here: {s.text[:60]}")
    return found, premises(found)


def _astray(error: Exception) -> Astray:
    if isinstance(error, Astray):
        return error
    missing = f"it has nothing called {error}" if isinstance(error, KeyError) else \
        plainly(error, "a part of it is missing, or has another form than in certificates")
    return Astray(f"the statement cannot be read: {missing}")
