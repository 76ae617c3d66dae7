"""The target "certificate": a derivation as a Coq file that states the model and proves its gradients."""

from __future__ import annotations

from dataclasses import dataclass, field

from symbptt.derivation import Derivation
from symbptt.model.depth import bounded
from symbptt.render.certificate_adjoint import AdjointProof
from symbptt.render.certificate_closed import closed_blocks
from symbptt.render.certificate_edges import Edges, scalar_facts
from symbptt.render.certificate_levels import LevelProof
from symbptt.render.certificate_model import Statement
from symbptt.render.target import environment, stamp

IMPORTS = ("From mathcomp Require Import all_ssreflect all_algebra.",
           "From mathcomp.analysis Require Import reals topology normedtype derive.",
           "From mathcomp.algebra_tactics Require Import ring.")
LIBRARY = ("matrices", "normal", "pairing", "tactics", "closed", "solved")
SETTINGS = ("Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.",
            "Import GRing.Theory Num.Theory numFieldNormedType.Exports.",
            "Local Open Scope ring_scope.")

STATED = (
    "",
    "What is stated. Section Forward is the model as it was written, for any number T of steps and any sizes; every",
    "family is a column, so this is one sample, and gradients of several are summed. To each family v something may be",
    "added, off_v t at time t; in the model itself it is 0. Section Backward holds the recursion of the gradients and",
    "the gradients, as the engine derived them: g_v t stands for the derivative of L by v at time t, e_v t, where",
    "there is one, for what the losses send to it directly, dL_dv for the gradient of v.",
)
PROVED = (
    "",
    "What is proved. formal_gradient: whoever satisfies the recursion has the derivative of L along every line through",
    "the point, in dual numbers, over any commutative ring, for any functions with the slopes of the rule table; it",
    "rests on no axiom. gradient: the same over the real numbers, with the functions as analysis defines them; it",
    "rests on the three classical axioms of mathcomp-analysis, and on the hypotheses in front of it: that dl is the",
    "gradient of a loss l of which nothing else is known, that no argument of a function with a kink stands at the",
    "kink, that no number in a denominator is zero. Both suppose that off_v is 0 at the point, and say what comes of",
    "moving it: g_v t is the derivative of L by what is added to v at time t, whence later steps follow the model.",
)
SOLVED = (
    "closed_form and reversed_form: the solution of the recursion as a sum. sum_...: the gradients with it put in.",
    "truncated_...: truncated back-propagation, for any number of uses of the weights; the first sum is what a window",
    "of so many uses keeps, the second what it leaves out. All of these hold for every T and rest on no axiom.",
)
LACKING = (
    "",
    "What is not: floating point; more than the derivative along every line. To see what a theorem rests on, add a",
    "last line such as: Print Assumptions gradient.",
)
"""What a reader is told first; SOLVED where the recursion has a closed form."""


@dataclass
class Section:
    """One section of the file."""

    name: str
    words: str
    opening: list[str]
    blocks: list[str] = field(default_factory=list)


@bounded
def certificate(derivation: Derivation) -> str:
    """The text of the certificate.

    Raises:
        NotCovered: the model holds something that certificates do not state.
    """
    made = Statement(derivation)
    solutions = closed_blocks(made)
    proof = AdjointProof(Edges(made))
    sections = [forward(made), backward(made, proof), reals(proof)]
    if solutions:
        sections[1].blocks += nested("Closed", solutions)
    header = [*STATED, *PROVED, *(SOLVED if solutions else ()), *LACKING]
    sizes = " ".join([*(made.names.size_name(s.name) for s in made.model.sizes), "T"])
    return environment().get_template("coq/certificate.v.jinja").render(
        stamp=stamp(derivation, "certificate"), header=header, outer="Certificate", sizes=sizes,
        imports=[*IMPORTS, f"From symbptt Require Import {' '.join(LIBRARY)}.", "From symbptt Require formal real.",
                 *SETTINGS],
        words={"given": "What is given and what has gradients; the state of one step."},
        records=[{"name": name, "constructor": constructor, "fields": fields}
                 for name, constructor, fields in made.records()],
        sections=sections)


def forward(made: Statement) -> Section:
    """The model as it was written."""
    section = Section("Forward", "The model, over any commutative ring.",
                      ["Variables (R : comRingType) (env : given R) (pt : point R).", *made.notations(families=False)])
    blocks = made.starts()
    blocks += [f"Local Notation {made.names.past(n)} := {made.start_name(n)}." for n in made.start_arguments]
    blocks.append("\n".join(["Definition step_of (t : nat) (past : state R) : state R :=", *made.step()]))
    blocks.append("\n".join(["Fixpoint run (t : nat) : state R :=",
                             f"  if t is t'.+1 then step_of t (run t') else State {made.start()}."]))
    for name, equation in made.model.defined.items():
        value = f"{made.projection(name)} (run t)" + " 0" * made.lagged(name)
        blocks.append(f"Definition {made.run(name)} (t : nat) : {made.names.matrix(*equation.left.shape)} := {value}.")
    blocks.append("\n".join(f"Local Notation {made.names.variable(n)} := {made.run(n)}." for n in made.model.defined))
    lags = [n for n in made.model.defined if made.model.lags[n] > 1]
    for name in lags:
        kept = f"{made.projection(name)} (run t) k = at_lag {made.run(name)} {made.names.past(name)} k t"
        blocks.append(f"Lemma {made.lag_lemma(name)} k t : {kept}.\n"
                      "Proof. by elim: t k => [|t lag] [|k] //; apply: lag. Qed.")
    rewrites = "".join(f"rewrite -?{made.lag_lemma(name)}; " for name in lags)
    for lemma, left, right in made.equations():
        proof = f"{rewrites}reflexivity" if rewrites else "[]"
        blocks.append(f"Lemma {lemma} t : {left} = {right}.\nProof. by {proof}. Qed.")
    blocks += made.objective()
    section.blocks = blocks
    return section


def backward(made: Statement, proof: AdjointProof) -> Section:
    """The recursion and the gradients as the engine prints them."""
    opening = ["Variables (R : comRingType) (env : given R) (pt : point R)."]
    opening += [f"Variable {name} : {type_}." for name, type_ in made.slopes]
    opening += made.notations()
    opening += [f"Variable {made.unknown(d)} : nat -> {made.names.matrix(*d.left.shape)}." for d in made.unknowns]
    fields = []
    for d in made.unknowns:
        g, right = made.unknown(d), made.rules[str(d.left)][0]
        fields.append(f"  rec_{g} : forall t, (1 <= t <= T)%N -> {g} t = {right}")
        fields.append(f"  end_{g} : forall t, (T < t)%N -> {g} t = 0")
    blocks = ["\n".join(["Record recursion : Prop := Recursion {", ";\n".join(fields), "}."])]
    blocks += [f"Definition {name}{args} : {type_} := {text}." for name, args, type_, text in made.gradients()]
    section = Section("Backward", "The recursion of the gradients and the gradients.", opening, blocks)
    section.blocks += nested("Adjoint", proof.blocks())
    formal = LevelProof(proof, real=False)
    facts = [f"Hypothesis {name} : {claim}." for name, claim in scalar_facts(made.names)]
    if formal.last:
        facts.append("Hypothesis some : (0 < T)%N.")
    opening = ["Import formal.", "Variable dir : point R.", *made.direction_notations(), *facts, *formal.still()]
    section.blocks += nested("Formal", ["\n".join(opening), *formal.blocks()])
    return section


def reals(proof: AdjointProof) -> Section:
    """The derivative over the reals."""
    level = LevelProof(proof, real=True)
    opening = ["Import real.", *level.opening(), *level.still()]
    if level.last:
        opening.append("Hypothesis some : (0 < T)%N.")
    return Section("Real", "The real numbers: the gradients are derivatives along every line.", opening, level.blocks())


def nested(name: str, blocks: list[str]) -> list[str]:
    """Blocks in a section of their own."""
    return [f"Section {name}.", *blocks, f"End {name}."]
