"""The line along which a certificate moves the parameters: dual numbers at level A, a real number at level B."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Rational

from symbptt.model.functions import LEAK
from symbptt.render.certificate_adjoint import AdjointProof
from symbptt.render.certificate_math import Level, moves, scalar
from symbptt.render.certificate_model import Field
from symbptt.render.certificate_names import EXTENSIONS, offset_tangent, past_tangent, tangent
from symbptt.render.certificate_terms import opaque_kind


class Line:
    """What is given and what moves, at one level."""

    def __init__(self, proof: AdjointProof, real: bool) -> None:
        self.proof, self.edges, self.made, self.names = proof, proof.edges, proof.made, proof.names
        self.model, self.real = proof.made.model, real
        self.level = "real" if real else "formal"
        self.env, self.moved = ("reals", "(along s)") if real else ("lifted", "moved")
        self.assumptions: dict[str, str] = {}

    def own(self, kind: str, *key: str) -> str:
        """The name of a lemma of this level."""
        plain = [k for k in key if k.isidentifier() or k.isdigit()]
        return self.names.names(self.level, kind, *key, wanted="_".join((self.level, kind, *plain)))

    def d(self, name: str) -> str:
        """The tangent of a variable."""
        return tangent(self.names.names, name)

    def d_past(self, name: str) -> str:
        """Its tangents before the first step."""
        return past_tangent(self.names.names, name)

    def local(self, name: str) -> str:
        """What formulas call the family."""
        return self.names.variable(name)

    def call(self, function: str, arguments: str) -> str:
        """A definition of the model along the line."""
        along = {"env": self.env, "pt": self.moved}
        return " ".join([function, *(along[a] for a in arguments.split())])

    def curve(self, function: str, arguments: str, name: str) -> str:
        """The curve of a family, as a definition."""
        bound = " (s : R)" if self.real else ""
        return f"Definition {name} (t : nat){bound} := {self.call(function, arguments)} t."

    def holds(self, name: str, time: str) -> str:
        """That the curve of a family passes its point at a time."""
        tangents = f"(fun cot => << cot, {self.d(name)} {time} >>)"
        return f"pull ({self.own('curve', name)} {time}) ({self.local(name)} {time}) {tangents}"

    def lifted(self) -> Iterator[str]:
        """What is given, along the line: it does not move."""
        for f in self.made.given:
            yield self._real_value(f) if self.real else self._lifted_value(f)

    def _lifted_value(self, f: Field) -> str:
        if f.key == "function":
            size = next(s for n, s in self.made.functions if n == f.name and self.names.function(n, s) == f.local)
            others = [self.names.function(o, size) for o in EXTENSIONS[f.name]]
            if f.name == "leaky_relu":
                others += [scalar(self.names, c).at(Level.ATOM) for c in (LEAK, Rational(1) - LEAK)]
            return f"(ext_{f.name} {' '.join([f.local, *others])})"
        if f.key == "loss":
            return self._lifted_loss(f)
        if f.key == "family" or f.key == "past":
            return f"(fun k => fixed ({f.local} k))"
        return f"(lift {f.local})"

    def _lifted_loss(self, f: Field) -> str:
        loss = next(e for e in self.made.opaque if self.names.loss(e) == f.local)
        gradients = " ".join(self.names.loss_gradient(loss, k) for k, a in enumerate(loss.args[1:])
                             if moves(self.model, a))
        return f"(ext_loss{opaque_kind(self.model, loss)} {f.local} {gradients})"

    def _real_value(self, f: Field) -> str:
        if f.key == "function":
            return self.concrete(f.local)
        if f.key == "inverse":
            if f.name == "T":
                return "(T%:R^-1)"
            masks = {str(c.name): name for name, c in self.model.counts.items()}
            if f.name in masks:
                return f"((\\sum_(1 <= t < T.+1) {self.local(masks[f.name])} t) 0 0)^-1"
            return f"({self.names.scalar(f.name)}^-1)"
        return f"({f.name}%:R^-1)" if f.key == "reciprocal" else f.local

    def concrete(self, local: str) -> str:
        """A function over the reals."""
        name, size = next((n, z) for n, z in self.made.called if self.names.function(n, z) == local)
        return f"(@real.{name} R)" if size is None else f"(@real.{name} R {self.names.size(size).at(Level.ATOM)})"

    def point(self) -> Iterator[str]:
        """What moves along the line."""
        end = " s" if self.real else ""
        for f in self.made.point:
            here = f"{f.raw} pt" if f.key == "past" and self.made.computed(f.name) else f.local
            if f.key == "matrix":
                yield f"(line {here} {self.d(f.name)}{end})"
            elif f.key == "offset":
                yield f"(fun k => line ({here} k) ({offset_tangent(self.names.names, f.name)} k){end})"
            elif f.key == "family":
                yield f"(fun k => line ({here} k) ({self.d(f.name)} k){end})"
            else:
                ahead = f"{f.raw} dir" if self.made.computed(f.name) else self.d_past(f.name)
                yield f"(fun k => line ({here} k) ({ahead} k){end})"

    def still(self) -> Iterator[str]:
        """The hypotheses that the point is one of the model itself, where nothing is added to a family."""
        for e in self.edges.live:
            yield f"Hypothesis {self.own('still', e.name)} : forall t, {self.made.offset(e.name)} t = 0."

    def definitions(self) -> list[str]:
        """The line, the curves of all families that reach the objective, and their tangents."""
        ring = "R" if self.real else "[comRingType of dual R]"
        lines = []
        if not self.real:
            lines.append(f"Definition lifted : given {ring} := Given {' '.join(self.lifted())}.")
        name = "along (s : R)" if self.real else "moved"
        lines.append(f"Definition {name} : point {ring} := Point {' '.join(self.point())}.")
        for e in self.edges.live:
            lines.append(self.curve(self.made.run(e.name), self.made.run_arguments, self.own("curve", e.name)))
            name = self.own("tangent", e.name)
            lines.append(f"Definition {name} (t : nat) := tangent ({self.own('curve', e.name)} t).")
            lines.append(f"Local Notation {self.d(e.name)} := {name}.")
        for e in self.proof.kept:
            if self.made.computed(e.name):
                arguments, past = self.made.start_arguments[e.name], self.own("past", e.name)
                lines.append(self.curve(self.made.start_name(e.name), arguments, past))
                lines.append(f"Definition {self.own('past_tangent', e.name)} (k : nat) := tangent ({past} k).")
                lines.append(f"Local Notation {self.d_past(e.name)} := {self.own('past_tangent', e.name)}.")
        return lines

    def opening(self) -> list[str]:
        """What stands in front over the reals: the variables, and by which functions the model is made concrete."""
        made = self.made
        lines = ["Variable R : realType."]
        functions = {self.names.function(n, z) for n, z in made.called}
        free = ("loss", "scalar", "family", "past")
        lines += [f"Variable {f.local} : {f.type}." for f in made.given if f.key in free]
        lines += [f"Variable {name} : {type_}." for name, type_ in made.slopes if name not in functions]
        lines += [f"Definition reals : given R := Given {' '.join(self.lifted())}.", "Local Notation env := reals."]
        lines += ["Variables pt dir : point R.", *made.notations(functions=False)]
        lines += [f"Local Notation {name} := {self.concrete(name)}." for name in sorted(functions)]
        lines += [f"Variable {made.unknown(d)} : nat -> {self.names.matrix(*d.left.shape)}." for d in made.unknowns]
        lines.append(f"Local Notation recursion := {made.applied_recursion}.")
        lines += [f"Local Notation {made.gradient_name(d)} := {made.applied_gradient(d)}." for d in made.sums]
        return [*lines, *made.direction_notations()]

    def assumed_facts(self) -> list[str]:
        """The hypotheses that the scripts use, and facts about numbers."""
        names, q = self.names, self.names.common
        lines = [f"Hypothesis {name} : {text}." for name, text in self.assumptions.items()]
        if q > 1:
            inverse = names.reciprocal(q)
            lines.append(f"Lemma real_reciprocal : {q}%:R * {inverse} = 1.\n"
                         "Proof. by apply: mulfV; rewrite pnatr_eq0. Qed.")
        if any(n == "leaky_relu" for n, _ in self.made.functions):
            below, above = (scalar(names, c).text for c in (LEAK, Rational(1) - LEAK))
            lines += [f"Lemma leak_below : {below} = 100%:R^-1.\nProof. by rewrite /=; field. Qed.",
                      f"Lemma leak_above : {above} = 1 - {scalar(names, LEAK).at(Level.ATOM)}.\n"
                      "Proof. by rewrite /=; field. Qed."]
        for c in self.model.constants:
            if ("inverse", c.name) in names.names:
                fact = f"{names.scalar(c.name)} * {names.inverse(c.name)} = 1"
                lines += [f"Hypothesis real_nonzero_{c.name} : {names.scalar(c.name)} != 0.",
                          f"Lemma real_inverse_of_{c.name} : {fact}.\nProof. exact: mulfV real_nonzero_{c.name}. Qed."]
        return lines
