"""Lies in a proof for the kernel: a step, a definition or the claim of linear.toml's closed form, doctored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from symbptt.derive import prove
from symbptt.expr.build import scale, transpose
from symbptt.expr.index import Index, T, index, t
from symbptt.expr.nodes import ONE, Plus, Zero
from symbptt.model.read import load
from symbptt.proof.statement import Definition, Proof

Doctor = Callable[[Proof], Proof]
it, iT = index(t), index(T)


@cache
def closed_form() -> Proof:
    """The proof of the closed form of ∂L/∂h_t."""
    return next(q.proof for q in prove(load("linear")) if q.key == "closed")


def number(proof: Proof, rule: str, first: str = "") -> int:
    """The last step of a rule, of an axiom or a definition by its name."""
    return max(k for k, s in enumerate(proof.steps) if s.rule == rule and (not first or s.args[0] == first))


def step(name: str, first: str = "", /, **changes: object) -> Doctor:
    """The step with other fields."""
    def doctor(proof: Proof) -> Proof:
        k = number(proof, name, first)
        return replace(proof, steps=(*proof.steps[:k], replace(proof.steps[k], **changes), *proof.steps[k + 1:]))

    return doctor


def argument(rule: str, first: str, place: int, value: Callable[[object], object]) -> Doctor:
    """The step with another argument."""
    def doctor(proof: Proof) -> Proof:
        args = list(proof.steps[number(proof, rule, first)].args)
        args[place] = value(args[place])
        return step(rule, first, args=tuple(args))(proof)

    return doctor


def defined(change: Callable[[Definition], Definition]) -> Doctor:
    """Another definition of ∂L/∂h_t."""
    return lambda proof: replace(proof, definitions=tuple(
        change(d) if d.name == "dL/dh[t]" else d for d in proof.definitions))


def claimed(change: Callable[[Proof], dict[str, object]]) -> Doctor:
    """Another claim."""
    return lambda proof: replace(proof, claim=replace(proof.claim, **change(proof)))


STEPS: dict[str, tuple[Doctor, str]] = {
    "a premise exchanged": (lambda proof: step("induction_down", premises=tuple(
        reversed(proof.steps[number(proof, "induction_down")].premises)))(proof), "base"),
    "a premise that comes later": (step("cases", premises=(10**6, 0)), "not an earlier step"),
    "an axiom that there is not": (argument("axiom", "sum_first", 0, lambda _: "sum_last"), "no axiom sum_last"),
    "another axiom": (argument("axiom", "sum_empty", 0, lambda _: "sum_first"), "is not"),
    "an exponent one too large": (argument("axiom", "power_step", 2, lambda n: n + 1), "is not operand"),
    "a transpose lost": (argument("axiom", "power_zero", 1, transpose), "is not operand"),
    "a sum from t + 1": (argument("axiom", "sum_first", 3, lambda n: n + 1), "is not"),
    "an empty sum of one term": (argument("axiom", "sum_empty", 3, lambda n: n - 1), "is not"),
    "another rule": (step("ring", rule="symmetry"), "symmetry"),
    "beyond the last step one early": (argument("beyond", "dL/dh[t]", 1, lambda n: n - 1), "base"),
    "a case that is not the other": (argument("cases", "", 0, lambda n: n + 1), "more than the range"),
    "the range of a fact widened": (step("entailment", args=(it - 1, it - iT)), "more than the range"),
    "an induction from T": (step("induction_down", args=(Index(1), iT)), "base"),
    "an induction to 0": (step("induction_down", args=(Index(0), iT + 1)), "more than the range"),
    "a sign in a definition": (defined(lambda d: replace(d, right=Plus(d.right.args[0], scale(-ONE, d.right.args[1])))),
                               "two cases"),
    "a definition to T - 1": (defined(lambda d: replace(d, hi=iT - 1)), "last time"),
    "a definition of itself": (defined(lambda d: replace(d, right=d.left)), "need not end"),
    "a claim for t = 0": (claimed(lambda p: {"hypotheses": frozenset({it, iT - it + 1})}), "claims"),
    "a claim of 0": (claimed(lambda p: {"right": Zero(*p.claim.right.shape)}), "claims"),
    "a claim on less": (claimed(lambda p: {"used": p.claim.used - {"sum_empty"}}), "claims"),
    "a step left out": (lambda proof: replace(proof, steps=proof.steps[:number(proof, "ring")]
                                              + proof.steps[number(proof, "ring") + 1:]), "step"),
}
