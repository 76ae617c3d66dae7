"""The first half of a certificate's proof, which is algebra alone: summing what every equation sends over all steps.

For every equation of v, Σ_t <∂L/∂v_t, dv_t> is taken twice: by the rule of the equation, and by the recursion of
∂L/∂v_t. The two differ by what the losses send; a read k steps back is shifted by k. Adding all of that up leaves the
gradients of parameters, inputs and initial states.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from sympy import MatrixSymbol

from symbptt.expr.index import Index
from symbptt.expr.nodes import Adjoint, At, Matrix
from symbptt.model.spec import Equation, initial_name
from symbptt.proof.statement import Definition
from symbptt.render.certificate_edges import Edges, Read, Sent, over_time, total
from symbptt.render.certificate_names import past_tangent, tangent


class AdjointProof:
    """The lemmas about the recursion of one model."""

    def __init__(self, edges: Edges) -> None:
        self.edges, self.made, self.names = edges, edges.made, edges.made.names
        self.inputs = {v.name for v in self.made.model.inputs}
        self.equations = {d.left: d for d in self.made.derivation.definitions}

    def name(self, kind: str, *key: str) -> str:
        """The name of a lemma or hypothesis."""
        return self.names.names(kind, *key, wanted="_".join((kind, *key)))

    def d(self, name: str) -> str:
        """The tangent of a variable."""
        return tangent(self.names.names, name)

    def blocks(self) -> list[str]:
        """Variables, definitions and lemmas in order."""
        found = ["\n".join(self.variables()), "\n".join(self.rules()), "\n".join(self.hypotheses()),
                 "\n".join(self.scalars())]
        found += [self.balance(e) for e in self.edges.live]
        found += [self.shift(r) for r in self.lagged]
        found += [self.total(d) for d in self.made.sums]
        found += [self.start(e, reads) for e, reads in self.edges.starts]
        return [*found, self.adjoint()]

    @property
    def lagged(self) -> list[Read]:
        """The reads of earlier steps."""
        return [r for r in self.edges.reads if r.lag]

    @property
    def kept(self) -> list[Equation]:
        """The live equations whose family is read at a lag."""
        return [e for e in self.edges.live if self.made.lagged(e.name)]

    def variables(self) -> Iterator[str]:
        """A direction, and the tangents of the families."""
        yield "Variable dir : point R."
        yield from self.made.direction_notations()
        for e in self.edges.live:
            yield f"Variable {self.d(e.name)} : nat -> {self.names.matrix(*e.left.shape)}."
        for e in self.kept:
            if self.made.computed(e.name):
                past = past_tangent(self.names.names, e.name)
                yield f"Variable {past} : nat -> {self.names.matrix(*e.left.shape)}."

    def rules(self) -> Iterator[str]:
        """The rule of each equation."""
        for e in self.edges.live:
            text, kind = self.edges.pushed_rule(e), self.names.matrix(*e.left.shape)
            yield f"Definition {self.name('rule', e.name)} (t : nat) (cot : {kind}) : R :=\n  {text}."
        for e, reads in self.edges.starts:
            name, kind = self.name("rule", initial_name(e.left)), self.names.matrix(*e.left.shape)
            yield f"Definition {name} (cot : {kind}) : R :=\n  {self.edges.rule(reads)}."

    def hypotheses(self) -> Iterator[str]:
        """The recursion, and that the tangents follow the rules."""
        yield "Record tangents : Prop := Tangents {\n" + ";\n".join(f"  {field}" for field in self.fields()) + "\n}."
        yield "Hypothesis rec : recursion."
        yield "Hypothesis fol : tangents."

    def early(self) -> list[At]:
        """The given values before the first step, in families where others are computed."""
        return [member for e in self.kept if self.made.computed(e.name) for member in self.made.model.given
                if member.family == e.left.family and self.edges.before(member)]

    def fields(self) -> Iterator[str]:
        """What is assumed of the tangents, one fact each."""
        for e in self.kept:
            yield f"{self.name('first', e.name)} : {self.d(e.name)} 0 = {past_tangent(self.names.names, e.name)} 0"
        for member in self.early():
            past, back = past_tangent(self.names.names, member.family.name), -member.time.const
            yield f"{self.name('first', initial_name(member))} : {past} {back} = {self.made.given_tangent(member)}"
        for e, _ in self.edges.starts:
            past, back = past_tangent(self.names.names, e.name), -e.left.time.const
            yield f"{self.name('follow', initial_name(e.left))} : " \
                  f"forall cot, << cot, {past} {back} >> = {self.name('rule', initial_name(e.left))} cot"
        for e in self.edges.live:
            yield f"{self.name('follow', e.name)} : forall t cot, (1 <= t <= T)%N -> " \
                  f"<< cot, {self.d(e.name)} t >> = {self.name('rule', e.name)} t cot"

    def scalars(self) -> Iterator[str]:
        """One scalar a read, and one for each variable that a loss sends to."""
        for r in self.edges.reads:
            body = self.edges.pairing(self.edges.gradient(r), self.edges.direction(r.leaf))
            yield f"Definition {r.name} (t : nat) : R := {body}."
        for s in self.edges.sent:
            if isinstance(s.leaf, At):
                body = self.edges.pairing(self.edges.print(s.value), self.edges.direction(s.leaf))
                yield f"Definition {s.name} (t : nat) : R := {body}."

    def summed(self, r: Read, shifted: bool = False) -> str:
        """Σ_t of the scalar of a read, of its shift where the variable stands at t."""
        return over_time(f"{r.name} ({r.lag} + t)%N" if shifted and r.lag else f"{r.name} t")

    def unfold(self, reads: list[Read]) -> str:
        """Rewrites that show the scalars of reads as the variable at time t sees them, with tT that t is at least 1."""
        steps = [f"-[{r.name} {f'({r.lag} + t)%N' if r.lag else 't'}]/({self.edges.shifted(r)})" for r in reads]
        steps += ["?(at_lag1 _ _ (proj1 (andP tT)))"] * any(map(self.edges.step_left, reads))
        return f"rewrite {' '.join(steps)}; " if steps else ""

    def balance(self, e: Equation) -> str:
        """Σ over what the equation of v reads = what losses send to v + what v sends on."""
        name, family = e.name, e.left.family
        member = self.made.derivation.model.families[name]
        sent = [s for s in self.edges.sent if isinstance(s.leaf, At) and s.leaf.family == family]
        out, reads = self.edges.into(name), self.edges.of(e)
        left = total([*map(self.summed, reads), self.edges.pushed(name)] if reads else ["0", self.edges.pushed(name)])
        right = total([*(over_time(f"{s.name} t") for s in sent), *(self.summed(r, True) for r in out)])
        g = self.made.unknown(self.unknown(member))
        both = over_time(f"<< {g} t, {self.d(name)} t >>")
        direct = next((d for d in self.made.unknowns if type(d.left) is not Adjoint and d.left.of.family == family),
                      None)
        more = f" (rec_{self.made.unknown(direct)} rec tT)" if direct is not None else ""
        unfold = "".join(f" /{s.name}" for s in sent)
        rule = "rewrite -?sum_add; " if reads else "rewrite -(sum_zero _ T) -sum_add; "
        return "\n".join([
            f"Lemma {self.name('balance', name)} : {left} =\n  {right}.", "Proof.", f"have once : {both} = {left}.",
            f"  by {rule}apply: sum_eq => t tT; apply: ({self.name('follow', name)} fol).",
            f"rewrite -once{{once}}{' -?sum_add' if right != '0' else ''}; apply: sum_eq => t tT.",
            f"{self.unfold(out)}rewrite{unfold} (rec_{g} rec tT){more}; split_pairings.", "Qed."])

    def unknown(self, member: Matrix) -> Definition:
        """The recursion of a family."""
        return next(d for d in self.made.unknowns if type(d.left) is Adjoint and d.left.of.family == member)

    def shift(self, r: Read) -> str:
        """A read k steps back: Σ_s = Σ_t of the shift + the first k terms."""
        g = self.made.unknown(self.unknown(r.through.family))
        first = total([f"{r.name} {k}" for k in range(1, r.lag + 1)])
        first = f"({first})" if r.lag > 1 else first
        return "\n".join([
            f"Lemma {self.name('shift', r.name)} : {self.summed(r)} = {self.summed(r, True)} + {first}.", "Proof.",
            f"rewrite (@shift_sum R T {r.lag} {r.name}) => [|s Ts]; first by rewrite /= ?addrA.",
            f"by rewrite /{r.name} (end_{g} rec Ts); vanish.", "Qed."])

    def total(self, d: Definition) -> str:
        """<∂L/∂v, dv> by the scalars of the reads of v."""
        of = d.left.of
        if isinstance(of, MatrixSymbol):
            return self._parameter(d, of)
        return self._input(d, of) if of.time.terms else self._initial(d, of)

    def once(self, symbol: MatrixSymbol) -> list[str]:
        """What reaches a parameter once, paired with its direction."""
        return [self.edges.pairing(self.edges.print(e.value), self.d(symbol.name))
                for e in self.edges.form.once[symbol.name]]

    def _parameter(self, d: Definition, of: MatrixSymbol) -> str:
        reads, once = self.edges.into(of), self.once(of)
        name, direction = self.made.gradient_name(d), self.d(of.name)
        right = total([*map(self.summed, reads), *once])
        lines = [f"Lemma {self.name('total', of.name)} : << {name}, {direction} >> =\n  {right}.", "Proof.",
                 f"rewrite /{name}."]
        if reads:
            whole = self.edges.print(self.edges.form.total(of.name)) if not once else None
            unfold = "".join(f" /{r.name}" for r in reads)
            lines += ["rewrite ?(dotmDl, dotmNl) dotm_suml -?sum_add."] if whole is None else [
                "rewrite dotm_suml -?sum_add."]
            lines += [f"sum_of_pairings ltac:(rewrite{unfold})."]
        else:
            lines += ["by split_pairings."]
        return "\n".join([*lines, "Qed."])

    def _input(self, d: Definition, of: At) -> str:
        name, reads = of.family.name, self.edges.into(of.family.name)
        sent = [s for s in self.edges.sent if isinstance(s.leaf, At) and s.leaf.family == of.family]
        right = total([*(self.summed(r, True) for r in reads), *(over_time(f"{s.name} t") for s in sent)])
        left = over_time(f"<< {self.made.gradient_name(d)} t, {self.d(name)} t >>")
        known = "tT" if any(map(self.edges.step_left, reads)) else "_"
        return "\n".join([
            f"Lemma {self.name('total', name)} : {left} =\n  {right}.", "Proof.",
            f"rewrite -?sum_add; apply: sum_eq => t {known}; {self.unfold(reads)}"
            f"rewrite /{self.made.gradient_name(d)}{''.join(f' /{s.name}' for s in sent)}; split_pairings.", "Qed."])

    def _initial(self, d: Definition, of: At) -> str:
        key, early = initial_name(of), self.edges.before(of)
        computed = of in {e.left for e in self.made.model.computed}
        base = f"{past_tangent(self.names.names, of.family.name)} {-of.time.const}" if computed \
            else self.made.given_tangent(of)
        state = of.family.name not in self.inputs
        shown = " ".join(f"-[{r.name} {s}]/({self.edges.initial(r, of)})" for r, s in early)
        steps = [f"rewrite {shown}"] if shown else []
        if state and of.time == Index(0):
            steps.append(f"rewrite ({self.name('first', of.family.name)} fol)")
        if state and self.made.computed(of.family.name) and not computed:
            steps.append(f"rewrite ({self.name('first', key)} fol)")
        name = self.made.gradient_name(d)
        return "\n".join([f"Lemma {self.name('total', key)} : << {name}, {base} >> = "
                          f"{total([f'{r.name} {s}' for r, s in early])}.", "Proof.",
                          f"{'; '.join([*steps, f'rewrite /{name}', 'split_pairings'])}.", "Qed."])

    def start(self, e: Equation, reads: list[Read]) -> str:
        """What a value before the first step sends on."""
        key = initial_name(e.left)
        left = total([self.edges.pairing(self.edges.gradient(r), self.edges.direction(r.leaf)) for r in reads])
        right = total([f"{r.name} {s}" for r, s in self.edges.before(e.left)])
        return "\n".join([f"Lemma {self.name('start', key)} : {left} = {right}.", "Proof.",
                          f"by rewrite -{self.name('total', key)} ({self.name('follow', key)} fol).", "Qed."])

    def sent_text(self, sent: list[Sent], named: bool = False) -> list[str]:
        """What losses send, by the names of the scalars or written out."""
        found = []
        for s in sent:
            body = self.edges.pairing(self.edges.print(s.value), self.edges.direction(s.leaf))
            found.append((over_time(f"{s.name} t") if named else over_time(body)) if isinstance(s.leaf, At) else body)
        return found

    def by_terms(self, named: bool) -> list[str]:
        """What the losses send, one summand for each loss."""
        found = [self.sent_text([s for s in self.edges.sent if s.term is term], named)
                 for term in self.made.model.losses]
        return [total(parts) if len(parts) == 1 or len(found) == 1 else f"({total(parts)})" for parts in found]

    def adjoint(self) -> str:
        """What the losses send, paired with the tangents = the gradients, paired with the direction."""
        computed = {e.left for e in self.made.model.computed}
        totals = [self.name("total", d.left.of.name if isinstance(d.left.of, MatrixSymbol) else d.left.of.family.name
                            if d.left.of.time.terms else initial_name(d.left.of))
                  for d in self.made.sums if d.left.of not in computed]
        equations = [self.name("balance", e.name) for e in self.edges.live]
        equations += [f"(esym {self.name('shift', r.name)})" for r in self.lagged]
        equations += [self.name("start", initial_name(e.left)) for e, _ in self.edges.starts]
        ends = [f"({r.name} {k})" for r in self.lagged for k in range(1, r.lag + 1)]
        hidden = f"generalize {', '.join(ends)}; intros; " if ends else ""
        joined = reduce(lambda a, b: f"(addE {a} {b})", equations)
        right = total(self.edges.pairings())
        return "\n".join([f"Lemma adjoint_sums : {total(self.by_terms(True))} =\n  {right}.", "Proof.",
                          f"rewrite {' '.join(totals)}.", f"apply: (balance {joined}).",
                          f"hide_terms; {hidden}ring.", "Qed.",
                          f"Lemma adjoint : {total(self.by_terms(False))} =\n  {right}.",
                          "Proof. exact: adjoint_sums. Qed."])
