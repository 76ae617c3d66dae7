"""The closed forms of a certificate: what solves the recursion, the gradients with the solution put in, and what a
window of any number of uses of the weights keeps of them and leaves out.

Every statement is a line of the derivation, or one about truncation with a variable for the number of uses. The script
of each follows from where its adjoints stand: those that are not carried are replaced by their equations, those that
are carried by the solution, and the rest is algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from sympy import Expr

from symbptt.bptt.backward import template
from symbptt.bptt.closed import ClosedForm
from symbptt.derivation import Line
from symbptt.expr.build import plus
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import Adjoint, At, Block, Direct, Identity, Matrix, Plus, Sum, Times, Zero
from symbptt.expr.walk import free_indices, substitute, visit
from symbptt.proof.statement import Definition
from symbptt.proof.truncation import USES, Halves, every_window
from symbptt.render.certificate_edges import scalar_facts
from symbptt.render.certificate_math import Level, nat
from symbptt.render.certificate_model import Statement

LIBRARY = ("closed", "solved")
"""The files of the library that the closed forms need."""


def closed_blocks(made: Statement) -> list[str]:
    """The blocks about closed forms; none where no adjoint recurs.

    To be called before anything else of the statement is printed: the denominators of the closed forms are given too.
    """
    if made.derivation.closed is None:
        return []
    split = list(every_window(template(made.model), made.derivation.closed))
    ClosedProof(made, made.derivation.closed, split).blocks()  # finds the denominators, which the scripts depend on
    return ClosedProof(made, made.derivation.closed, split).blocks()


class ClosedProof:
    """The closed forms of one model."""

    def __init__(self, made: Statement, closed: ClosedForm, split: list[tuple[str, Halves]]) -> None:
        self.made, self.closed, self.print, self.split = made, closed, made.print, split
        self.rules = {d.left.of.family.name: d for d in made.unknowns if type(d.left) is Adjoint}
        self.carried = [v.name for v in closed.carried]
        self.letters = {d.left: d for d in closed.letters}

    def name(self, kind: str, about: str = "") -> str:
        """The name of a lemma."""
        return self.made.names.names("closed", kind, about, wanted=f"{kind}_{about}" if about else kind)

    @property
    def fact(self) -> str:
        """The tactic that closes an equation without sums."""
        known = ", ".join(name for name, _ in scalar_facts(self.made.names))
        return f"cancel_matrices {f'({known})' if ',' in known else known}" if known else "mxring"

    def blocks(self) -> list[str]:
        """Letters, hypotheses and lemmas in order."""
        letters = [self.letter(d) for d in self.closed.letters]
        lemmas = [*self.starts(), *map(self.within, self.eliminated), *self.recurrence(), *self.solutions(),
                  *self.parts()]
        lemmas += [self.total(line) for line in self.made.derivation.of_kind("total")]
        for name, halves in self.split:
            lemmas += self.truncated(name, halves)
        facts = ["Hypothesis rec : recursion."]
        facts += [f"Hypothesis {name} : {claim}." for name, claim in scalar_facts(self.made.names)]
        if self.at_last is not None:
            facts.append("Hypothesis some : (0 < T)%N.")
        return [*letters, "\n".join(facts), *lemmas]

    def theorem(self, name: str, statement: str, script: str) -> str:
        """A theorem whose assumptions are printed at the end."""
        return f"Theorem {name}{statement}.\nProof.\n{script}\nQed."

    # Letters.

    @cached_property
    def heights(self) -> list[Expr]:
        """The heights of the rows of the stacked adjoints."""
        letter = self.letters.get(self.closed.stacked)
        return [row[0].shape[0] for row in letter.right.rows] if letter is not None else []

    def stacked(self) -> str:
        """The height of the stacked adjoints, as nested blocks have it."""
        sizes = [self.made.names.size(s).at(Level.ATOM) for s in self.heights]
        text = sizes[-1]
        for size in reversed(sizes[:-1]):
            text = f"{size} + {text if text == sizes[-1] else f'({text})'}"
        return text

    def letter(self, d: Definition) -> str:
        """The definition of a letter."""
        argument = " (t : nat)" if t in free_indices(d.left) else ""
        name = self.made.names.variable(d.name)
        if not isinstance(d.right, Block) or not self.heights:
            return f"Definition {name}{argument} : {self.made.names.matrix(*d.left.shape)} := {self.print(d.right)}."
        rows, columns = len(d.right.rows), len(d.right.rows[0])
        size = self.made.names.size
        height = self.stacked() if rows > 1 else size(d.left.shape[0]).text
        type_ = f"'cV[R]_({height})" if rows > 1 and columns == 1 else f"'M[R]_({height}, {self.stacked()})"
        text = nested("col_mx", [nested("row_mx", [self.cell(a) for a in row]) for row in d.right.rows])
        return f"Definition {name}{argument} : {type_} :=\n  {text}."

    def cell(self, a: Matrix) -> str:
        """One cell."""
        return {Identity: "1%:M", Zero: "0"}.get(type(a)) or self.print(a)

    def unfolded(self) -> str:
        """The letters, for a rewrite that shows what they stand for."""
        return "".join(f" /{self.made.names.variable(d.name)}" for d in self.closed.letters
                       if d.left not in self.closed.select.values())

    # Which adjoint is known how.

    @cached_property
    def eliminated(self) -> list[str]:
        """The families that are not carried and at which no path ends."""
        return [n for n, d in self.rules.items() if n not in self.carried
                and any(type(a) is Adjoint for a in visit(d.right))]

    def family(self, e: Matrix) -> str | None:
        """The family of an adjoint that is carried or eliminated."""
        if type(e) is not Adjoint or type(e.of) is not At or not (e.of.time.terms or e.of.time.const > 0):
            return None
        name = e.of.family.name
        return name if name in self.carried or name in self.eliminated else None

    def order(self, e: Matrix, keep: Callable[[Adjoint], bool]) -> list[Adjoint]:
        """The adjoints in e and in what replaces them, each before those that it brings; `keep`: not replaced."""
        done: dict[Adjoint, None] = {}
        early = {d.left: d.right for d in self.made.sums}

        def reach(inside: Matrix) -> None:
            for node in visit(inside):
                name = self.family(node)
                if node in done or (name is None and node not in early):
                    continue
                if name is None:
                    reach(early[node])
                elif not keep(node):
                    reach(substitute(self.rules[name].right, {t: node.of.time}))
                done[node] = None

        reach(e)
        return list(reversed(done))

    def positive(self, time: Index) -> str:
        """The proof of 0 < time, with t1 : 0 < t."""
        return "t1" if time == index(t) else f"(ltn0Sn {nat(self.made.names, time - 1).at(Level.ATOM)})"

    def eliminates(self, a: Adjoint) -> str:
        """The rewrite of an adjoint that is not carried."""
        return f"?({self.name('all', a.of.family.name)} {self.positive(a.of.time)})"

    def starts(self) -> Iterator[str]:
        """The value at t = 0 of every family that is read at a lag."""
        for name in self.made.model.defined:
            if self.made.lagged(name):
                here, past = self.made.names.variable(name), self.made.names.past(name)
                yield f"Lemma {self.name('start', name)} : {here} 0 = {past} 0.\nProof. by []. Qed."

    # The relations within a step, and the recurrence of the stacked adjoints.

    def within(self, name: str) -> str:
        """An equation that holds at every t ≥ 1, also beyond T."""
        d = self.rules[name]
        g, ends = self.made.unknown(d), dict[str, None]()
        for node in visit(d.right):
            if type(node) in (Adjoint, Direct):
                known = next(u for u in self.made.unknowns if (type(u.left), u.left.of.family) ==
                             (type(node), node.of.family))
                ends[f"(end_{self.made.unknown(known)} rec {beyond(node.of.time)})"] = None
        return "\n".join([
            f"Lemma {self.name('all', name)} t : (0 < t)%N -> {g} t = {self.made.rules[str(d.left)][0]}.",
            f"Proof. by apply: all_times (rec_{g} rec) (end_{g} rec) _ t => t Tt; rewrite {' '.join(ends)}; "
            f"{self.fact}. Qed."])

    def recurrence(self) -> Iterator[str]:
        """G_t = A_{t+1} G_{t+1} + c_t, and G_t = 0 beyond T."""
        here, closed = index(t), self.closed
        ahead = substitute(closed.stacked, {t: here + 1})
        step = Plus(ahead, closed.drive) if closed.trivial else closed.step(here)
        opening = "move=> tT; have t1 := proj1 (andP tT); "
        if not self.heights:
            yield self.lemma("step", "1 <= t <= T", step, f"{opening}{self.by_rules()}{self.fact}")
            return
        grouped = step
        if isinstance(closed.transition, Times):
            n, b = closed.drive.args
            grouped = Times(n, Plus(Times(substitute(closed.transition.args[1], {t: here + 1}), ahead), b))
        name = "step" if grouped == step else "grouped"
        yield self.lemma(name, "1 <= t <= T", grouped, f"{opening}rewrite{self.unfolded()}; blocks; "
                         f"cells ltac:({self.by_rules()}{self.fact})")
        if grouped != step:
            regrouped = f"by move=> tT; rewrite ({self.name(name)} tT) mulmxDr mulmxA"
            yield self.lemma("step", "1 <= t <= T", step, regrouped)
        ends = [f"(end_{self.made.unknown(self.rules[row[0].of.family.name])} rec {beyond(row[0].of.time)})"
                for row in self.letters[closed.stacked].right.rows]
        yield self.lemma("beyond", "T < t", Zero(*closed.stacked.shape),
                         f"by move=> Tt; rewrite /{self.stack} {' '.join(ends)} !col_mx0")

    def lemma(self, name: str, when: str, right: Matrix, script: str) -> str:
        """A lemma about the stacked adjoints at t."""
        text = "0" if type(right) is Zero else self.print(right)
        return f"Lemma {self.name(name)} t : ({when})%N -> {self.print(self.closed.stacked)} =\n  {text}.\n" \
               f"Proof. {script}. Qed."

    @property
    def stack(self) -> str:
        """The name of the stacked adjoints."""
        return self.made.names.variable(self.letters[self.closed.stacked].name)

    def by_rules(self) -> str:
        """Rewrites of the stacked adjoints at t by the recursion, and of what it brings at the same step."""
        letter = self.letters.get(self.closed.stacked)

        def later(a: Adjoint) -> bool:
            return a.of.family.name in self.carried and a.of.time != index(t)

        known = [a for a in self.order(self.closed.stacked if letter is None else letter.right, later) if not later(a)]
        texts = [f"?(rec_{self.made.unknown(self.rules[a.of.family.name])} rec tT)"
                 if a.of.family.name in self.carried else self.eliminates(a) for a in known]
        opened = self.unfolded() if letter is None else ""
        return f"rewrite {' '.join(texts)}{opened} ?at_lagSS ?at_lag0 ?(at_lag1 _ _ t1); "

    # The solution.

    def solutions(self) -> Iterator[str]:
        """The closed form, the same from the end, their equality, and the one word of a loss at the last step."""
        closed, names = self.closed, self.made.names
        end = f"(end_{self.made.unknown(self.rules[self.carried[0]])} rec)" if not self.heights else self.name("beyond")
        k, i = (names.index(closed.bound[n]) for n in (1, 0))
        transition = self.print(substitute(closed.transition, {t: index(closed.bound[1])}))
        drive = f"(c := fun {i} => {self.print(substitute(closed.drive, {t: index(closed.bound[0])}))})"
        kind, given = ("sum", drive) if closed.trivial else ("constant", f"(A := {transition}) {drive}") \
            if closed.constant else ("varying", f"(A := fun {k} => {transition}) {drive}")
        lines = self.made.derivation.line("closed"), self.made.derivation.line("reversed")
        forms = [self.print(line.forms[-1]) for line in lines]
        # the factor at t + 1, in which a lag of two steps is one before t
        later = " ?at_lagSS ?at_lag0 ?(at_lag1 _ _ (proj1 (andP tT)))" if "at_lag" in transition else ""
        found = [self.name("closed_form"), self.name("reversed_form")]
        for name, form, suffix in zip(found, forms, ("", "_rev"), strict=True):
            # the step is given by rewriting: a wrong one is refused at once, where unification would unfold letters
            solved = f"closed_{kind}{suffix} {given} _ {end} t1"
            yield self.theorem(name, f" t : (0 < t)%N -> {self.print(closed.stacked)} =\n  {form}",
                               f"move=> t1; apply: etrans ({solved}) _; last by sumring.\n"
                               f"by move=> st tT; cbv beta; rewrite ({self.name('step')} tT){later}; "
                               f"{self.fact}.")
        yield self.theorem(self.name("forms_agree"), f" t : (0 < t)%N -> {forms[0]} =\n  {forms[1]}",
                           f"by move=> t1; apply: etrans (esym ({found[0]} t1)) ({found[1]} t1).")
        if self.at_last is not None:
            yield from self.one_word(self.at_last)

    @cached_property
    def at_last(self) -> Line | None:
        """The closed form where only the last step has a loss."""
        return next(iter(self.made.derivation.of_kind("at_last")), None)

    def one_word(self, line: Line) -> Iterator[str]:
        """What losses send is 0 before the last step, and so are all words but the last."""
        sides = [d.right for d in self.closed.letters if d.left != self.closed.stacked]
        nodes = [node for side in (*sides, self.closed.drive) for node in visit(side)]
        sent = dict.fromkeys(str(n) for n in nodes if type(n) is Direct or (type(n) is Adjoint and not self.family(n)))
        gone = []
        for d in self.made.unknowns:
            if str(d.left) in sent:
                g = self.made.unknown(d)
                gone.append(f"({self.name('silent', g)} i1 (proj2 (andP iT)))")
                yield f"Lemma {self.name('silent', g)} i : (0 < i)%N -> (i < T)%N -> {g} i = 0.\nProof. by move=> i1 " \
                      f"iT; rewrite (rec_{g} rec) ?i1 1?ltnW // ltn_eqF // mulr0n; {self.fact}. Qed."
        zero = "do 3 rewrite ?(mulmx0, mul0mx, trmx0, scaler0, oppr0, addr0, add0r, col_mx0)"
        statement = f" t : (1 <= t <= T)%N -> {self.print(line.left)} =\n  {self.print(line.forms[-1])}"
        yield self.theorem(self.name("last_form"), statement, "\n".join([
            f"move=> /andP[t1 tT]; rewrite ({self.name('closed_form')} t1).",
            "apply: etrans (last_term tT _) _ => [i iT|]; last by mxring.",
            "have i1 : (0 < i)%N := leq_trans t1 (proj1 (andP iT)).",
            f"by rewrite{self.unfolded()} {' '.join(gone)}; {zero}."]))

    def parts(self) -> Iterator[str]:
        """∂L/∂v_t = P_v G_t."""
        for name, row in self.closed.select.items():
            if row is not None:
                g, p = self.made.unknown(self.rules[name]), self.print(row)
                yield f"Lemma {self.name('part', name)} t : {g} t = {p} *m {self.stack} t.\n" \
                      f"Proof. by rewrite /{p} /{self.stack}; blocks; mxring. Qed."

    # The gradients with the solution put in.

    def put_in(self, e: Matrix, solved: Callable[[Index], str]) -> str:
        """Rewrites that replace the adjoints in e by the solution; `solved` is the theorem for the time of one."""
        found = self.order(e, lambda a: a.of.family.name in self.carried)
        opened = [f"/{self.gradient(a)}" for a in found if self.family(a) is None]
        known = [a for a in found if self.family(a) is not None]
        texts = [self.eliminates(a) for a in known if a.of.family.name not in self.carried]
        carried = [a for a in known if a.of.family.name in self.carried]
        texts += [f"?({self.name('part', a.of.family.name)} {nat(self.made.names, a.of.time).at(Level.ATOM)})"
                  for a in carried if self.closed.select[a.of.family.name] is not None]
        texts += [f"?{solved(time)}" for time in dict.fromkeys(a.of.time for a in carried)]
        if any(not a.of.time.terms for a in known):
            lagged = [n for n in self.made.model.defined if self.made.lagged(n)]
            texts += ["?at_lagSS", "?at_lagS0", "?at_lag0", *(f"?{self.name('start', n)}" for n in lagged)]
        elif any(a.of.time.const > 0 for a in known):  # at a later step a value at a lag may be one before t
            texts += ["?at_lagSS", "?at_lag0", "?(at_lag1 _ _ t1)"]
        return f"rewrite {' '.join([*opened, *texts])}; " if found else ""

    def gradient(self, a: Matrix) -> str:
        """The name of the gradient of an initial state, or of an input."""
        return self.made.gradient_name(next(d for d in self.made.sums if d.left == a))

    def solved(self, time: Index) -> str:
        """The closed form at one time."""
        if self.at_last is not None and time == index(t):
            return f"({self.name('last_form')} tT)"
        if self.at_last is not None and time == Index(1):
            return f"({self.name('last_form')} (t := 1) some)"
        return self.by_closed_form(time)

    def by_closed_form(self, time: Index) -> str:
        """The closed form at one time, whatever the losses are."""
        return f"({self.name('closed_form')} {self.positive(time)})"

    @property
    def by_ranges(self) -> str:
        """The tactic that closes an equation of sums over i, range by range."""
        families = ", ".join(self.made.names.variable(n) for n in self.made.model.defined)
        # families as variables: at a given time they would be computed again and again
        return f"generalize {families}; intros; by_ranges ltac:({self.fact})"

    def total(self, line: Line) -> str:
        """A gradient with every carried adjoint in closed form."""
        d, right = self.definition(line.left), line.forms[-1]
        name, timed = self.made.gradient_name(d), d.lo is not None
        statement = f"{' t : (1 <= t <= T)%N ->' if timed else ' :'} {name}{' t' * timed} =\n  {self.print(right)}"
        script = self.put_together(d, right, self.solved)
        return self.theorem(self.name("sum", name.removeprefix("dL_d")), statement, script)

    def definition(self, left: Matrix) -> Definition:
        """The definition of a gradient."""
        return next(d for d in self.made.sums if d.left == left)

    def put_together(self, d: Definition, right: Matrix, solved: Callable[[Index], str]) -> str:
        """The script that puts the solution into a gradient, whose closed form is `right`."""
        name, timed = self.made.gradient_name(d), d.lo is not None
        close, inside = self.by_ranges, "have t1 := proj1 (andP tT); "
        if timed:
            return f"move=> tT; {inside}rewrite /{name}; {self.put_in(d.right, solved)}{close}."
        if over_time(d.right) and over_time(right):
            first, *once = d.right.args if type(d.right) is Plus else [d.right]
            script = f"rewrite /{name}"
            if once:
                script += f"; first_and_others; apply: add_both; last by ({self.put_in(plus(once), solved)}{close})"
            return f"{script}.\napply: eq_big_nat => t tT; {inside}{self.put_in(first.body, solved)}{close}."
        return f"rewrite /{name}; {self.put_in(d.right, solved)}{close}."

    # What a window keeps.

    def truncated(self, name: str, halves: Halves) -> Iterator[str]:
        """Full = kept + left out, of the stacked adjoints or the gradient of a parameter."""
        uses, right = self.made.names.index(USES), self.print(halves.right)
        if not name:
            statement = f" {uses} t : (0 < t)%N -> {self.print(halves.whole)} =\n  {right}"
            yield self.theorem(self.name("truncated_form"), statement,
                               f"by move=> t1; rewrite ({self.name('closed_form')} t1); apply: sum_window.")
            return
        d, whole = self.definition(halves.whole), entire(halves)
        gradient = self.made.gradient_name(d)
        variable = gradient.removeprefix("dL_d")
        full = self.name("sum", variable)
        if all(line.left != d.left or line.forms[-1] != whole for line in self.made.derivation.of_kind("total")):
            full = self.name("whole", variable)
            yield f"Lemma {full} : {gradient} =\n  {self.print(whole)}.\nProof.\n" \
                  f"{self.put_together(d, whole, self.by_closed_form)}\nQed."
        apart = f"sum_apart_and _; last by {self.fact}" if halves.once else "sum_apart"
        yield self.theorem(self.name("truncated_sum", variable), f" {uses} : {gradient} =\n  {right}",
                           f"rewrite {full}{'; first_and_others' * bool(halves.once)}; apply: {apart}.\n"
                           f"by move=> t _; first [apart | rewrite !(sum_window _ t {uses} T.+1); {self.fact}].")


def entire(halves: Halves) -> Matrix:
    """What a window splits, which is what one that ends at T keeps."""
    kept = halves.kept
    return plus([Sum(substitute(kept.body, {USES: index(T) + 1 - t}), *kept.args[1:]), *halves.once])


def over_time(e: Matrix) -> bool:
    """Whether e is a sum over t, or one and more."""
    first = e.args[0] if type(e) is Plus else e
    return type(first) is Sum and first.var == t


def beyond(time: Index) -> str:
    """The proof of T < time, a time at or after t, from Tt : T < t."""
    text = "Tt"
    for _ in range((time - t).const):
        text = f"(leqW {text})"
    return text


def nested(name: str, texts: list[str]) -> str:
    """col_mx a (col_mx b c)."""
    text = texts[-1]
    for other in reversed(texts[:-1]):
        text = f"{name} {other if other.isalnum() else f'({other})'} ({text})"
    return text
