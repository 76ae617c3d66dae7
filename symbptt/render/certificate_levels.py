"""The second half of a certificate's proof: the model along a line, at both levels by the same script.

At level A a line is a point of the dual numbers, at level B a function of a real number; the lemmas of the library have
the same names at both, so that one script, equation by equation, serves both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from symbptt.expr import nodes
from symbptt.expr.index import T, index, t
from symbptt.expr.nodes import At
from symbptt.expr.walk import substitute, visit
from symbptt.model.functions import FUNCTIONS
from symbptt.model.spec import Equation, LossTerm, initial_name
from symbptt.render.certificate_edges import scalar_facts, total
from symbptt.render.certificate_line import Line
from symbptt.render.certificate_math import Level, Printer, moves, not_covered
from symbptt.render.certificate_terms import KINKED, Terms, nested

WORD = re.compile(r"(?<![\w'.*%^])[A-Za-z_][\w']*")
"""A name in a text, of this file."""


class LevelProof(Line):
    """The script of one level."""

    # Proof terms.

    def terms(self, successor: bool, name: str = "") -> Terms:
        """Terms for the equation of a family at time t + 1, or for a loss at time t."""
        printer = Printer(self.names, since=0 if successor else 1)
        return Terms(self.made, self.step_member if successor else self.loss_member, printer, self.real,
                     lambda e: self.kink(e, successor, name) if self.real else [], self.assumed)

    def assumed(self, e: nodes.Loss) -> str:
        """The hypothesis that the gradient of an opaque loss is one where it is used."""
        name = self.own("gradient", str(e))
        timed = any(type(a) is At and a.time.terms for a in e.args[1:])
        if name not in self.assumptions:
            printer = Printer(self.names)
            arguments = [printer.piece(a).at(Level.ATOM) for a in e.args[1:]]
            places = [k for k, a in enumerate(e.args[1:]) if moves(self.model, a)]
            bound = [f"cot{k + 1}" for k in places]
            rest = arguments[len(places):]
            loss = f"(fun {' '.join(bound)} => {' '.join([self.names.loss(e), *bound, *rest])})"
            slopes = [f"({' '.join([self.names.loss_gradient(e, k), *arguments])})" for k in places]
            kind = f"is_grad{len(places) if len(places) > 1 else ''}"
            fact = " ".join([kind, loss, *arguments[:len(places)], *slopes])
            at_t = timed and not any(type(a) is At and a.time == index(T) for a in e.args[1:])
            self.assumptions[name] = f"forall t, (1 <= t <= T)%N -> {fact}" if at_t else fact
        return f"(@{name} t tT)" if self.assumptions[name].startswith("forall t") else name

    def kink(self, e: nodes.Apply, successor: bool, equation: str) -> list[str]:
        """The hypotheses that no argument of a function stands at a kink."""
        function = str(e.args[0])
        if function not in KINKED:
            return []
        rule = {t: index(t) - 1} if successor else {}
        argument = substitute(e.args[1], rule)
        text = Printer(self.names).piece(argument).at(Level.ATOM)
        timed = equation != "start"
        found = []
        for point in FUNCTIONS[function].kinks:
            name = self.own("kink", f"{point} {text}")
            fact = f"forall row column, {text} row column != {point if point >= 0 else f'- {-point}'}"
            self.assumptions[name] = f"forall t, (1 <= t <= T)%N -> {fact}" if timed else fact
            found.append(f"(@{name} {'t.+1' if successor else 't'} tT)" if timed else name)
        if function == "leaky_relu":
            return [*found, "leak_below", "leak_above"]
        return found[::-1]

    def fixed(self, e: At, since: int) -> str:
        """A target, at a time from `since` on."""
        text = f"(pull_cst {Printer(self.names, since=since).piece(e).at(Level.ATOM)})"
        return f"(pull_eq (esym (at_lag_map _ _ _ _ _)) {text})" if "at_lag" in text and not self.real else text

    def step_member(self, e: At) -> str:
        """A family member in the equation at time t + 1."""
        name = e.family.name
        if e.family in self.model.targets:
            return self.fixed(e, since=0)
        if not e.time.terms:
            return f"({self.own('pull_past', name)} {-e.time.const})"
        back = (index(t) + 1 - e.time).const
        state = name in self.model.defined
        if not state:
            return "(pull_line _ _)" if back < 2 else \
                f"(pull_at_lag (k := {back - 1}) isT (fun k _ => pull_line _ _) (fun k => pull_line _ _))"
        if back == 0:
            return self.own("now", name)
        if back == 1:
            return f"({self.own('lag', name)} t (leqnn t))"
        return f"(pull_at_lag (k := {back - 1}) isT (fun k st => {self.own('lag', name)} k (ltnW st)) " \
               f"{self.own('pull_past', name)})"

    def loss_member(self, e: At) -> str:
        """A family member in a loss."""
        name = e.family.name
        if e.family in self.model.targets:
            return self.fixed(e, since=1)
        if e.time.const:
            raise not_covered(f"a loss that reads {e}")
        if name in self.model.defined:
            time = "(t := T) last" if e.time == index(T) else "(t := t) tT"
            return f"({self.own('hold', name)} {time})"
        return "(pull_line _ _)"

    # Lemmas.

    def equation(self, name: str, along: bool) -> str:
        """The equation of a family at time t + 1, at the point or along the line."""
        lemma, arguments = self.made.run_lemma(name), self.made.run_arguments
        if not along:
            return f"({lemma} {arguments} t)"
        called = f"{self.call(lemma, arguments)} t"
        return f"(fun s => {called})" if self.real else f"({called})"

    def needs(self, e: Equation) -> tuple[list[str], list[str]]:
        """The families that an equation reads at a lag, and those at its own time."""
        members = [n for n in visit(e.right) if type(n) is At and n.family.name in self.model.defined]
        lags = dict.fromkeys(n.family.name for n in members if n.time != index(t))
        return list(lags), list(dict.fromkeys(n.family.name for n in members if n.time == index(t)))

    def step(self, e: Equation) -> str:
        """One equation: from what it reads to its left side."""
        lags, nows = self.needs(e)
        given = [f"({self.own('lag', n)} : forall k, (k <= t)%N -> {self.holds(n, 'k')})" for n in lags]
        given += [f"({self.own('now', n)} : {self.holds(n, 't.+1')})" for n in nows]
        curve, here = f"{self.own('curve', e.name)} t.+1", f"{self.local(e.name)} t.+1"
        rule = f"fun cot : {self.names.matrix(*e.left.shape)} => {self.edges.pushed_rule(e, since=0)}"
        right = substitute(e.right, {t: index(t) + 1})
        point = f"(unpush {self.equation(e.name, along=False)} (@{self.own('still', e.name)} t.+1))"
        terms = self.terms(successor=True)
        term = terms(right, point) if type(e.right) is nodes.Apply else f"(pull_at (esym {point}) {terms(right)})"
        closed = self.pairs(term, rule, self.made.successor(e.right))
        return "\n".join([
            f"Lemma {self.own('step', e.name)} t (tT : (t < T)%N)", *(f"  {g}" for g in given), "  :",
            f"  pull ({curve}) ({here})", f"    ({rule}).", "Proof.",
            f"refine (pull_push {self.equation(e.name, along=True)} (pull_same {term} _) "
            f"(@{self.own('still', e.name)} t.+1));",
            f"  first [{self.constant()} | move=> cot; cbv beta; {closed}].", "Qed."])

    def constant(self) -> str:
        """That a scalar does not move."""
        return "by move=> s" if self.real else "constant_scalar"

    def pairs(self, *texts: str) -> str:
        """The equality of two sums of pairings, which come from these texts, with 1/q where it stands in them."""
        prefix = "real_" if self.real else ""
        facts = [prefix + name for name, _ in scalar_facts(self.made.names)]
        known = facts[0] if len(facts) == 1 else f"({', '.join(facts)})"
        closed = f"cancel_pairings {known}" if facts else "pairring"
        return "; ".join([*self.plain(texts), closed])

    def plain(self, texts: Iterable[str]) -> Iterator[str]:
        """The functions that the real section names, by their own names."""
        words = set(WORD.findall(" ".join(texts)))
        for f in self.made.given if self.real else ():
            if f.key == "function" and words & {f.local, f"pull_{f.name}"}:
                yield f"change ({f.raw} env) with {self.concrete(f.local)}"

    def early(self) -> Iterator[str]:
        """The values before the first step."""
        for e in self.proof.kept:
            yield from self._early(e)

    def _early(self, e: Equation) -> Iterator[str]:
        name, computed = e.name, self.made.computed(e.name)
        past, local = self.names.past(name), self.own("pull_past", name)
        if not computed:
            raw = next(f.raw for f in self.made.point if f.key == "past" and f.name == name)
            curve = f"(fun s => {raw} (along s) k)" if self.real else f"({raw} moved k)"
            yield f"Lemma {local} k : pull {curve} ({past} k) (fun cot => << cot, {self.d_past(name)} k >>).\n" \
                  "Proof. exact: pull_line. Qed."
            return
        for c in computed:
            key, back = initial_name(c.left), -c.left.time.const
            reads = next((r for s, r in self.edges.starts if s.left == c.left), [])
            rule = f"fun cot : {self.names.matrix(*c.left.shape)} => {self.edges.rule(reads)}"
            tail, given = self.terms(True, "start")(c.right, f"(erefl ({past} {back}))"), Printer(self.names)(c.right)
            if type(c.right) is not nodes.Apply:
                tail = f"(pull_at (erefl ({past} {back})) {tail})"
            yield "\n".join([f"Lemma {self.own('start', key)} : pull ({self.own('past', name)} {back}) ({past} {back})",
                             f"  ({rule}).", "Proof.", f"refine (pull_same {tail} _);",
                             f"  first [{self.constant()} | move=> cot; cbv beta; {self.pairs(tail, rule, given)}].",
                             "Qed."])
        cases = {-c.left.time.const: self.own("start", initial_name(c.left)) for c in computed}
        free = any(f.key == "past" and f.name == name for f in self.made.point)
        rest = "pull_line _ _" if free else ("pull_cst _" if self.real else "pull_0 _ _ _")
        steps = []
        for k in range(max(cases) + 1):
            steps.append(f"first exact (pull_tangent {cases.get(k, f'({rest})')})")
        chain = "".join(f"case: k => [|k]; {s}.\n" for s in steps)
        yield f"Lemma {local} k : pull ({self.own('past', name)} k) ({past} k) (fun cot => << cot, " \
              f"{self.d_past(name)} k >>).\nProof.\n{chain}exact (pull_tangent ({rest})).\nQed."

    def held(self) -> Iterator[str]:
        """All families that are read at a lag, at every time up to T."""
        kept = [e.name for e in self.proof.kept]
        if not kept:
            return
        goal = " /\\ ".join(self.holds(n, "t") for n in kept)
        first = [f"(pull_tangent ({self.own('pull_past', n)} 0))" for n in kept]
        lines = [f"Lemma {self.own('held')} t : (t <= T)%N -> {goal}.", "Proof.",
                 f"elim/ltn_ind: t => -[|t] before tT; first exact {conjunction(first)}."]
        for k, n in enumerate(kept):
            use = projection("(before k st (leq_trans st (ltnW tT)))", k, len(kept))
            lines.append(f"have {self.own('lag', n)} k (st : (k <= t)%N) : {self.holds(n, 'k')} := {use}.")
        for e in self.edges.live:
            lines.append(f"have {self.own('now', e.name)} : {self.holds(e.name, 't.+1')} := "
                         f"pull_tangent ({self.applied_step(e)}).")
        lines += [f"exact {conjunction([self.own('now', n) for n in kept])}.", "Qed."]
        yield "\n".join(lines)

    def applied_step(self, e: Equation) -> str:
        """The step of an equation from what is at hand."""
        lags, nows = self.needs(e)
        return " ".join([f"@{self.own('step', e.name)} t tT", *(self.own("lag", n) for n in lags),
                         *(self.own("now", n) for n in nows)])

    def followed(self) -> Iterator[str]:
        """Each equation at every step, and that each family passes its point."""
        kept = [e.name for e in self.proof.kept]
        for e in self.edges.live:
            lags, nows = self.needs(e)
            uses = []
            for n in lags:
                use = projection(f"({self.own('held')} (leq_trans st (ltnW tT)))", kept.index(n), len(kept))
                uses.append(f"(fun k st => {use})")
            uses += [f"({self.own('hold', n)} (t := t.+1) tT)" for n in nows]
            rule = f"fun cot : {self.names.matrix(*e.left.shape)} => {self.edges.pushed_rule(e, since=0)}"
            call = " ".join([f"@{self.own('step', e.name)} t tT", *uses])
            yield "\n".join([
                f"Definition {self.own('follow', e.name)} t (tT : (t < T)%N) : pull ({self.own('curve', e.name)} t.+1) "
                f"({self.local(e.name)} t.+1)", f"    ({rule}) :=", f"  {call}.",
                f"Lemma {self.own('hold', e.name)} t (tT : (1 <= t <= T)%N) : {self.holds(e.name, 't')}.",
                "Proof. case: t tT => [|t] tT; first exact (False_ind _ (notF tT)).",
                f"exact (pull_tangent (@{self.own('follow', e.name)} t tT)). Qed."])

    def tangents(self) -> str:
        """The facts about the tangents that the algebra needs."""
        facts = []
        for e in self.proof.kept:
            start = f"{self.d(e.name)} 0 = {self.d_past(e.name)} 0"
            facts.append(f"(erefl : {start})" if self.made.computed(e.name) else f"(tangent_line _ _ : {start})")
        facts += ["(tangent_line _ _)" for _ in self.proof.early()]
        facts += [f"(pullP {self.own('start', initial_name(e.left))})" for e, _ in self.edges.starts]
        for e in self.edges.live:
            facts.append(f"{self.own('fact', e.name)}")
        return f"(Tangents {' '.join(facts)})"

    def facts(self) -> Iterator[str]:
        """The rule of each equation at every step."""
        for e in self.edges.live:
            rule = self.edges.pushed_rule(e)
            yield "\n".join([
                f"Lemma {self.own('fact', e.name)} t cot : (1 <= t <= T)%N -> << cot, {self.d(e.name)} t >> = {rule}.",
                "Proof. case: t => [|t] tT; first exact (False_ind _ (notF tT)).",
                f"exact (pullP (@{self.own('follow', e.name)} t tT) cot). Qed."])

    def losses(self) -> Iterator[str]:
        """What each loss sends, from its definition."""
        if self.last:
            lemma = self.own("last")
            yield f"Lemma {lemma} : (1 <= T <= T)%N.\nProof. by rewrite some leqnn. Qed."
            yield f"Local Notation last := {lemma}."
        arguments = self.made.loss_arguments
        for k, (term, whole) in enumerate(zip(self.model.losses, self.made.terms, strict=True), 1):
            sent = [s for s in self.edges.sent if s.term is term]
            text = total(self.proof.sent_text(sent))
            name = self.made.loss_name(k)
            along = f"({self.call(name, arguments[k - 1])})"
            curve = f"(fun s => {along[1:-1]})" if self.real else along
            end = self.loss_end(term, text, Printer(self.names)(whole))
            yield "\n".join([
                f"Lemma {self.own('loss', str(k))} : pull {curve} ({name} {arguments[k - 1]})".rstrip() + "",
                f"  (fun cot : 'M[R]_1 => cot 0 0 * ({text})).", "Proof.",
                f"refine (pull_same {self.terms(successor=False)(whole)} _);",
                f"  first [{self.constant()} | move=> cot; cbv beta; {end}].", "Qed."])

    def loss_end(self, term: LossTerm, *texts: str) -> str:
        """From the rule of a loss to what it sends, over all steps."""
        if term.reduce == "once":
            return self.pairs(*texts)
        if term.reduce == "last":
            return f"rewrite -?sum_add (sum_at_last some) => [|t tT]; " \
                   f"[rewrite eqxx [nat_of_bool _]/=; {self.pairs(*texts)} | " \
                   "rewrite (ltn_eqF tT) [nat_of_bool _]/=; vanish]"
        return f"rewrite -?sum_add -?sum_opp mulr_sumr; apply: sum_eq => t tT; {self.pairs(*texts)}"

    @property
    def last(self) -> bool:
        """Whether a loss stands at t = T alone."""
        return any(term.reduce == "last" for term in self.model.losses)

    def theorem(self) -> str:
        """The gradient theorem."""
        count = len(self.made.terms)
        pulls = nested("pullD", [self.own("loss", str(k)) for k in range(1, count + 1)])
        loss = self.call("loss", self.made.objective_arguments)
        right = total(self.edges.pairings())
        name = "gradient" if self.real else "formal_gradient"
        goal = f"is_derive (0 : R) (1 : R) (fun s => ({loss}) 0 0)\n    ({right})" if self.real else \
            f"du (({loss}) 0 0) =\n    {right}"
        same = "(fun s => erefl)" if self.real else "erefl"
        once = nested("addE", ["(at_one _)"] * count)
        return "\n".join([
            f"Theorem {name} : recursion ->", f"  {goal}.", "Proof.", "move=> rec.",
            f"refine (pull_gradient (pull_entry {pulls}) {same}",
            f"  (etrans {once} (adjoint {' '.join([*self.beyond(), 'rec', self.tangents()])}))).", "Qed."])

    def beyond(self) -> list[str]:
        """The gradients of losses that neither the recursion nor the rules of equations read."""
        if not self.real:
            return []
        known = {name for d in self.made.unknowns for name in self.made.rules[str(d.left)][1]}
        words = set(WORD.findall(" ".join(self.edges.print(s.value) for s in self.edges.sent)))
        gradients = {self.names.loss_gradient(e, k) for e in self.made.opaque for k in range(len(e.args) - 1)}
        return [name for name, _ in self.made.slopes if name in (words & gradients) - known]

    def blocks(self) -> list[str]:
        """All of the level, in order."""
        body = ["\n".join(self.definitions()), *self.early(), *(self.step(e) for e in self.edges.live), *self.held(),
                *self.followed(), *self.facts(), *self.losses()]
        if not self.real:
            return [*body, self.theorem()]
        facts = [self.read_from_env(f) if f.startswith("Lemma") else f for f in self.assumed_facts()]
        return [*facts, *map(self.read_from_env, body), self.theorem()]

    def read_from_env(self, block: str) -> str:
        """A block that reads what is given from the record: a variable would go before the notation of its name."""
        raw = {f.local: f"({f.raw} env)" for f in self.made.given
               if f.key in ("function", "scalar", "family", "past")}
        return WORD.sub(lambda word: raw.get(word[0], word[0]), block)


def conjunction(parts: list[str]) -> str:
    """A proof of all parts."""
    *rest, text = parts
    for part in reversed(rest):
        text = f"(conj {part} {text})"
    return text


def projection(text: str, place: int, count: int) -> str:
    """One part of a conjunction."""
    for _ in range(place):
        text = f"(proj2 {text})"
    return f"(proj1 {text})" if place < count - 1 else text

