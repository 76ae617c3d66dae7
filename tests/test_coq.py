"""Coq as the checker: which texts are refused unread, what it accepts, what it refuses, what is said without it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from symbptt.cli import main
from symbptt.model.read import loads
from symbptt.model.spec import Model
from symbptt.proof import checker, evaluation
from symbptt.proof.checker import Checked, CheckerError, Verdict, answers, check
from symbptt.proof.declared import Text
from symbptt.proof.evaluation import Astray
from symbptt.proof.grammar import HEADER, RESERVED
from symbptt.proof.guard import formed, guard
from symbptt.proof.premises import premises
from symbptt.proof.reading import NotRead, read
from symbptt.proof.tellable import tellable
from symbptt.proof.vernacular import NotAllowed, allow, sentences
from symbptt.render.certificate import certificate
from symbptt.render.certificate_check import ALONE, examined, told
from symbptt.render.certificate_names import Names
from tests.conftest import derived
from tests.render.test_certificate import HOSTILE, framed

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not on the PATH")


def test_sentences_end_at_full_stops_and_comments_nest() -> None:
    found = list(sentences("Lemma a (t : nat) : t.+1 = t.+1. (* a (* b. *) c. *)\nProof. by []. Qed."))
    assert [s.text for s in found] == ["Lemma a (t : nat) : t.+1 = t.+1", "Proof", "by []", "Qed"]
    assert found[1].line == 2
    for wrong in ("(* open", "Lemma a", 'Check "text". ', '(* " *) Qed.'):
        with pytest.raises(NotAllowed):
            list(sentences(wrong))


BAD = {
    "an axiom": ("Section Forward.", "Axiom cheat : False.\nSection Forward."),
    "a parameter": ("Section Forward.", "Parameter cheat : False.\nSection Forward."),
    "a conjecture": ("Section Forward.", "Conjecture cheat : False.\nSection Forward."),
    "an axiom inside a proof": ("Proof.", "Proof. Axiom cheat : False."),
    "an admitted lemma": ("Qed.", "Admitted."),
    "an admitted goal": ("Proof.", "Proof. admit."),
    "a hypothesis outside all sections": ("Section Certificate.", "Hypothesis cheat : False.\nSection Certificate."),
    "a flag": ("Section Forward.", "Unset Guard Checking.\nSection Forward."),
    "another flag": ("Section Forward.", "Unset Universe Checking.\nSection Forward."),
    "a third flag": ("Section Forward.", "Unset Positivity Checking.\nSection Forward."),
    "an attribute": ("Fixpoint run", "#[bypass_check(guard)] Fixpoint run"),
    "another library": ("Section Forward.", "Require Import Classical.\nSection Forward."),
    "another file": ("From symbptt Require Import", "From symbptt Require Import cheat"),
    "a file to load": ("Section Forward.", "Load cheat.\nSection Forward."),
    "a plugin": ("Section Forward.", "Declare ML Module cheat.\nSection Forward."),
    "a way out": ("Section Forward.", "Drop.\nSection Forward."),
    "an output to a file": ("End Certificate.", "End Certificate.\nRedirect cheat Print Assumptions gradient."),
    "an extraction": ("Section Forward.", "Extraction nat.\nSection Forward."),
    "a notation with a level": ("Section Forward.", "Notation \"a = b\" := True.\nSection Forward."),
    "a proof that does not end": ("Qed.\n\nEnd Certificate.", "\nEnd Certificate."),
    "a definition without a body": ("Section Forward.", "Definition cheat : False.\nSection Forward."),
    "a coercion": ("Section Forward.", "Coercion cheat : nat >-> bool.\nSection Forward."),
}


@pytest.mark.parametrize("lie", BAD)
def test_a_sentence_of_another_kind_is_refused(lie: str, named: Callable[[str], Model]) -> None:
    text = certificate(derived(named("linear")))
    allow(text)
    old, new = BAD[lie]
    changed = text.replace(old, new, 1) if old in text else text + new
    with pytest.raises(NotAllowed):
        allow(changed)
    assert not check(changed).accepted


HIDDEN = "Local Notation du := (fun _ => 0)."
TACTICS = {"by []": True, "- by []": True, "-- by []": True, "* + exact I": True, "2: by []": True,
           "[ exact I | ]": True, f"- {HIDDEN}": False, f"1: {HIDDEN}": False, f"2: - {HIDDEN}": False,
           f"{{ {HIDDEN}": False, f"1: {{ {HIDDEN}": False, f"[ x ]: {{ {HIDDEN}": False,
           f"}} {HIDDEN}": False, f"by []... {HIDDEN}": False}


@pytest.mark.parametrize("tactic", TACTICS)
def test_behind_a_bullet_stands_a_tactic(tactic: str) -> None:
    text = f"Section A.\nLemma a : True.\nProof.\n{tactic.removesuffix('.')}.\nQed.\nEnd A.\n"
    if TACTICS[tactic]:
        assert len(allow(text)) == 6
    else:
        with pytest.raises(NotAllowed, match=r"no tactic|two full stops"):
            allow(text)


LINEAR = {
    "another header": ("From mathcomp.algebra_tactics Require Import ring.\n", "", "outside all sections"),
    "the levels imported outside": ("Require formal real.", "Require Import formal real.", "outside all sections"),
    "a section more": ("Section Formal.", "Section Other.\nEnd Other.\nSection Formal.", "section Other"),
    "a section elsewhere": ("(* The real numbers", "Section Formal.\nEnd Formal.\n(* ", "section Formal"),
    "a section less": (None, "Real", "no section Real"),
    "a variable of a type without elements": ("Variable dl :", "Variable none : nat -> 1 = 0.\nVariable dl :", "none"),
    "a field of a type without elements": ("  pt_x :", "  pt_none : False;\n  pt_x :", "pt_none"),
    "a coercion in a record": ("  first_h :", "  first_h :>", "record"),
    "a variable again": ("Variable dir : point R.\nLocal Notation d_W_hx := (pt_W_hx dir).\nLocal Notation d_W_hh :=",
                         "Variable dir : point R.\nVariable dir : point R.\nLocal Notation d_W_hh :=", "dir"),
    "a family under another's name": ("Local Notation o := (run_o pt)", "Local Notation o := (run_h pt)", "name o"),
    "an adjoint without an equation": ("Record recursion", "Variable g_x : nat -> 'cV[R]_n_d.\nRecord recursion",
                                       "g_x"),
    "the point that stays": ("Point (line W_hx d_W_hx)", "Point (line W_hx W_hx)", "moved: the field pt_W_hx"),
    "a target that moves": ("(fun k => fixed (y k))", "(fun k => line (y k) (y k))", "lifted: the field tg_y"),
    "a loss without its gradient": ("(ext_loss l dl)", "(ext_loss l (fun _ _ => 0))", "lifted: the field fn_l"),
    "the point of the reals that stays": ("(line W_hx d_W_hx s)", "(line W_hx d_W_hx 0)", "along: the field pt_W_hx"),
    "a target of the reals": ("Given l (T%:R^-1) y.", "Given l (T%:R^-1) (fun k => y 1).", "reals: the field tg_y"),
    "the gradient at another point": ("(o t) (dl (o t) (y t)).", "(o t) (dl (o t) (y t.+1)).", "real_gradient"),
    "the loss of something else": ("(fun cot1 => l cot1 (y t)) (o t)", "(fun cot1 => l (o t) (y t)) (o t)",
                                   "real_gradient"),
    "an adjoint in a closed form": ("mxpow W_hh^T (i - t)%N *m (W_qh^T *m g_o i).", "mxpow W_hh^T 0 *m g_h t.",
                                    "closed_form"),
    "a closed form of something else": ("Theorem sum_W_hx : dL_dW_hx =", "Theorem sum_W_hx : dL_dW_hh =", "sum_W_hx"),
    "a closed form less": ("Theorem sum_W_hx", "Lemma sum_W_hx", "sum_W_hx"),
}


@pytest.fixture(scope="module")
def linear(named: Callable[[str], Model]) -> str:
    """A certificate, which is of the form that is asked for."""
    text = certificate(derived(named("linear")))
    formed(text)
    return text


def test_no_bound_variable_hides_a_name_of_the_library() -> None:
    for text in ("fun hadm => hadm", "let dg := a in dg", r"\sum_(1 <= du < T) a", "if t is line.+1 then a else b"):
        with pytest.raises(NotRead, match="cannot be bound"):
            read(text)


@pytest.mark.parametrize("lie", LINEAR)
def test_a_file_of_another_form_is_refused_without_a_model(lie: str, linear: str) -> None:
    text = linear
    old, new, reason = LINEAR[lie]
    if old is None:
        start, end = f"Section {new}.", f"End {new}.\n"
        changed = text[:text.index(start)] + text[text.index(end) + len(end):]
    else:
        assert old in text
        changed = text.replace(old, new)
    refused = examined(changed)
    assert not refused.accepted
    assert reason in refused.reason, refused.reason
    assert not refused.version


PREMISES = {
    "a kink where no function has one": ("irnn", "row column != 0", "row column != 3"),
    "an argument that no function has": ("irnn", "b_h) row column", "b_h + b_h) row column"),
    "the last step where no loss needs it": ("irnn", "Variable dir : point R.\n",
                                             "Variable dir : point R.\nHypothesis some : (0 < T)%N.\n"),
    "another slope of leaky_relu": ("activations", "step inv_100 (99%:R * inv_100)", "step inv_100 (98%:R * inv_100)"),
    "another mask": ("masked_mean", "(\\sum_(1 <= t < T.+1) m t)", "(\\sum_(1 <= t < T.+1) y t)"),
}


@pytest.mark.parametrize("lie", [pytest.param(p, marks=pytest.mark.slow if q[0] == "activations" else ())
                                 for p, q in PREMISES.items()])
def test_a_premise_that_the_model_does_not_need_is_refused(lie: str, named: Callable[[str], Model]) -> None:
    name, old, new = PREMISES[lie]
    text = certificate(derived(named(name)))
    assert old in text
    with pytest.raises(Astray, match=r"real_kink|some|leaky_relu|mask"):
        guard(named(name), text.replace(old, new))


DIVIDED = """
name = "divided"
[sizes]
h = "hidden"
[parameters]
U = "h, h"
[inputs]
x = "h"
[targets]
y = "h"
[states]
h = "h"
[constants]
gamma = "a number"
[equations]
h = "relu(x + U @ h[t-1]/gamma)"
[[loss]]
term = "l(h, y)"
"""


def test_an_argument_at_a_kink_may_be_divided_by_a_constant() -> None:
    model = loads(DIVIDED)
    text = certificate(derived(model))
    guard(model, text)
    with pytest.raises(Astray, match="real_kink"):
        guard(model, text.replace("inv_gamma *: (U *m h t.-1)) row", "gamma *: (U *m h t.-1)) row"))


@pytest.mark.parametrize("inner", ["sigmoid", "softmax"])
def test_a_function_may_stand_in_an_argument_at_a_kink(inner: str) -> None:
    model = framed(f'h = "relu({inner}(W @ h[t-1]) - x)"')
    text = certificate(derived(model))
    guard(model, text)
    found = next(line for line in text.splitlines() if line.startswith("Hypothesis real_kink"))
    assert inner in found
    with pytest.raises(Astray, match="real_kink"):
        guard(model, text.replace(found, found.replace("(W *m h t.-1)", "(W *m h t)")))


AIMED = {"at one number of steps": "(t + (T == 3))%N", "beyond the fourth step": "(minn t 4)",
         "by a difference that stops at 0": "(t + t.-4)%N", "by a size": "(t + (n_q == 7))%N",
         "by a choice": "(if t is t'.+1 then t'.+1 else 0)",
         "by a list of cases": "(match t with | 5 => 0 | _ => t end)"}


@pytest.mark.parametrize("lie", AIMED)
def test_a_lie_that_is_aimed_between_the_steps_that_are_tried(lie: str, linear: str,
                                                              named: Callable[[str], Model]) -> None:
    """Targets carry no gradient, so that Coq accepts every proof about others."""
    text = linear.replace("(y t)", f"(y {AIMED[lie]})").replace("((tg_y env) t)", f"((tg_y env) {AIMED[lie]})")
    assert text != linear
    with pytest.raises(Astray):
        guard(named("linear"), text)


CLOSED = r"\sum_(t <= i < T.+1) mxpow W_hh^T (i - t)%N *m (W_qh^T *m g_o i)"
REVERSED = r"\sum_(t <= i < T.+1) mxpow W_hh^T (T - i)%N *m (W_qh^T *m g_o (T + t - i)%N)"
TOTAL = r"\sum_(1 <= t < T.+1) (\sum_(t <= i < T.+1) mxpow W_hh^T (i - t)%N *m W_qh^T *m g_o i *m (x t)^T)"
STEP, LOSS = "let h := W_hx *m x t + ", "const_mx (l (o t) (y t))"
ONES = r"\sum_(1 <= k < T.+1) 1"
SQUARE = r"((\sum_(0 <= k < n_h) 1 - 3%:R) * (\sum_(0 <= k < n_h) 1 - 4%:R))"
COUNT = "(((const_mx 1 : 'M[R]_(1, n_h)) *m (const_mx 1 : 'cV[R]_n_h)) 0 0 - 3%:R)"
HOLES = {
    # a name that the grammar reads
    "a gradient of nothing": ("\nDefinition edge_1 ", "\nDefinition is_grad1 (A B C : Type) (a : A) (b : B) (c : C) : "
                              "Prop := False.\nDefinition edge_1 ", "section Adjoint"),
    "the first gradient by another name": ("is_grad (fun", "is_grad1 (fun", "real_gradient"),
    # what is zero at every point that is tried
    "a sum that begins later": (STEP, rf"{STEP}(\sum_(5 <= k < T.+1) 1) *: const_mx 1 + ", "no place"),
    "a sum in a step": (STEP, rf"{STEP}\sum_(1 <= k < T.+1) const_mx 1 + ", "no place"),
    "a sum that begins later in the loss": (r"\sum_(1 <= t < T.+1) const_mx", r"\sum_(5 <= t < T.+1) const_mx",
                                                "no place"),
    "the number of steps by another name": (STEP, f"{STEP}(let T := 7%N in (t == T)%N%:R) *: const_mx 1 + ", "bound"),
    "the number of steps in a step": (STEP, f"let T := 7%N in {STEP}", "T gets another meaning"),
    "a size in a step": (STEP, f"let n_h := 7%N in {STEP}", "n_h gets another meaning"),
    "a number of steps as a sum": (LOSS, rf"(({ONES} - 2%:R) * ({ONES} - 4%:R)) *: {LOSS}", "a sum over steps"),
    "a size as a sum": (LOSS, f"{SQUARE} *: {LOSS}", "binds no size"),
    "a size as a product": (LOSS, f"{COUNT} *: {LOSS}", "a size as a number"),
    "a time through a function": ("(y t)", "(y ((fun s => (t - s)%N) t.-1.-1.-1.-1))", "bound within"),
    "a time as a difference": ("(y t)", "(y (t - t.-1.-1.-1.-1)%N)", "a time is computed"),
    "a time as a successor of a difference": ("(y t)", "(y (t - t).+1)", "a time is computed"),
    "a time before the last": ("(y t)", "(y T.-1)", "the objective"),
    "a slice beyond what is tried": (STEP, f"{STEP}sel n_h 1 9 + ", "not within"),
    "a function of a lag": (STEP, f"{STEP}at_lag (fun k => const_mx 1) (fun k => 0) 5 t + ", "bound within"),
    "a power of a matrix": (STEP, f"{STEP}mxpow W_hh t *m ", "power has no place"),
    "an exponent that is a time": (LOSS, f"(2%:R ^+ t) *: {LOSS}", "exponent"),
    # closed forms that say nothing
    "what cannot be read, in a closed form": (
        f" {CLOSED}.\nProof", f" {CLOSED} + \\col_i g_h t i 0.\nProof", "closed_form cannot be read"),
    "the closed form for the reversed one": (REVERSED, f"{CLOSED} + 0", "reversed_form"),
    "the reversed form with half a sum": (REVERSED, f"{REVERSED} + {REVERSED}", "reversed_form"),
    "forms of something else": (f"-> {CLOSED} =\n  ", f"-> 0 + {CLOSED} =\n  ", "forms_agree"),
    "a gradient as itself by a lemma": (f"dL_dW_hx =\n  {TOTAL}", "dL_dW_hx =\n  sval hid", "is not known"),
    "a gradient as itself by a module": (f"dL_dW_hx =\n  {TOTAL}", "dL_dW_hx =\n  certificate.hide",
                                          "not known"),
    "another sum for a gradient": (f"dL_dW_hx =\n  {TOTAL}", f"dL_dW_hx =\n  {TOTAL} + 1%:R *: W_hx",
                                   "sum_W_hx differ"),
    "a lemma of another name": ("Lemma step t", "Lemma hid : True.\nProof. by []. Qed.\nLemma step t",
                               "section Closed"),
}


@pytest.mark.parametrize("lie", HOLES)
def test_a_statement_that_says_something_else_where_nobody_looks(lie: str, linear: str,
                                                                 named: Callable[[str], Model]) -> None:
    old, new, reason = HOLES[lie]
    assert old in linear
    with pytest.raises(Astray, match=reason):
        guard(named("linear"), linear.replace(old, new))


@pytest.mark.parametrize("body", [r"\col_i g_h t i 0", r"\matrix_(i, j) g_h t i j"])
def test_a_definition_that_cannot_be_read_stands_in_no_closed_form(body: str, linear: str) -> None:
    hidden = f"Definition K (t : nat) : 'cV[R]_n_h := {body}.\n\nTheorem closed_form"
    with pytest.raises(Astray, match="cannot be read"):
        formed(linear.replace("Theorem closed_form", hidden))


def test_statements_are_evaluated_beyond_every_step_that_they_read(linear: str, named: Callable[[str], Model]) -> None:
    for far, reason in ((7, "objective"), (50, "50 steps away, further than the model")):
        for time in (f"(at_lag y y {far} t)", f"(y t{'.+1' * far})", f"(y {far})"):
            text = linear.replace("(y t)", time).replace("((tg_y env) t)", time)
            found = Text(text)
            assert tellable(found, premises(found)) == far
            with pytest.raises(Astray, match=reason):
                guard(named("linear"), text)


def test_a_premise_is_no_division_by_zero() -> None:
    text = certificate(derived(loads(POWER)))
    assert "Hypothesis reciprocal : 2%:R * inv_2 = 1" in text
    with pytest.raises(Astray, match="reciprocal"):
        formed(text.replace("inv_2", "inv_0").replace("over_2", "over_0").replace("2%:R", "0%:R"))


def test_the_work_of_a_comparison_is_bounded(linear: str, named: Callable[[str], Model],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested sums are refused where they have no place, and are counted where they have one."""
    nested = "".join(rf"(\sum_(1 <= k{n} < T.+1) " for n in range(20)) + "const_mx 1" + ")" * 20
    with pytest.raises(Astray, match="a sum over steps"):
        guard(named("linear"), linear.replace(LOSS, f"{LOSS} + {nested}"))
    monkeypatch.setattr(evaluation, "WORK", 20_000)
    with pytest.raises(Astray, match="longer to evaluate"):
        guard(named("linear"), linear.replace(f"dL_dW_hx =\n  {TOTAL}", f"dL_dW_hx =\n  {TOTAL} + {nested}"))


POWER = """name = "power"
[sizes]
d = "inputs"
h = "units"
[parameters]
W = "h, d"
U = "h, h"
[constants]
gamma = "a number"
[inputs]
x = "d"
[targets]
y = "h"
[states]
h = "h"
[equations]
h = "W @ x + gamma**2 * U @ h[t-1]"
[[loss]]
term = "3*squared_error(h, y)"
reduce = "mean"
"""
TWO = "(over_T env - over_T env + 2%:R)"
POLYNOMIALS = {
    "a power of less than zero": [("(gamma ^+ 2)", "(- gamma ^+ 2)"),
                                  ("((num_gamma env) ^+ 2)", "(- (num_gamma env) ^+ 2)")],
    "one in T that vanishes at 2 and 4": [("3%:R", "(3%:R + (T%:R - 2%:R) * (T%:R - 4%:R))")],
    "one in a size": [("3%:R", "(3%:R + (n_h%:R - 7%:R))")],
    "one in 1/T": [("3%:R", "(3%:R + (2%:R * over_T env - 1) * (4%:R * over_T env - 1))")],
    "two to a power that is one modulo a prime": [("3%:R", "(3%:R * 2%:R ^+ 61)")],
    "two so many times": [("3%:R", "(3%:R" + " * 2%:R" * 61 + ")")],
    "two beside what cancels": [("3%:R", f"(3%:R * {TWO} ^+ 31 * {TWO} ^+ 30)")],
}


@pytest.mark.parametrize("lie", POLYNOMIALS)
def test_a_number_that_is_another_one_elsewhere_is_refused(lie: str) -> None:
    """Coq proves a certificate of the other model, whatever that is."""
    model = loads(POWER)
    text = certificate(derived(model))
    guard(model, text)
    for old, new in POLYNOMIALS[lie]:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(Astray):
        guard(model, text)


@pytest.mark.parametrize("sentence", [
    "Definition real_follow_zz : R -> R -> (R -> R) -> R -> Prop := "
    "ltac:(transparent_abstract (exact (fun _ _ _ _ => True)) using is_derive)",
    "Definition formal_follow_zz : Prop := ltac:(exact True)"])
def test_no_tactic_names_anything_outside_proofs(sentence: str, linear: str) -> None:
    with pytest.raises(NotAllowed):
        allow(linear.replace("Theorem gradient", f"{sentence}.\n\nTheorem gradient"))
    with pytest.raises(NotAllowed, match="abstract"):
        allow(linear.replace("Qed.", "abstract exact I using is_derive.\nQed.", 1))


@pytest.mark.parametrize("body", ["(" * 400 + "g_h 1" + ")" * 400, "- " * 5000 + "g_h 1", "g_h 1" + " + 0" * 3000,
                                  r"\sum_(1 <= k < 1000000000) W_hh^T *m g_h 1", "mxpow W_hh^T 1000000000 *m g_h 1"])
def test_a_text_without_end_is_refused_at_once(body: str, linear: str, named: Callable[[str], Model]) -> None:
    line = next(x for x in linear.splitlines() if x.startswith("Definition dL_dh_0"))
    with pytest.raises((Astray, NotAllowed)):
        guard(named("linear"), linear.replace(line, f"{line.partition(':=')[0]}:= {body}."))


@pytest.mark.parametrize(("old", "new"), [("A", "match"), ("A", "g_h"), ("A", "e_h"), ("x", "run_h"),
                                         ("A", "past_h"), ("x", "past_h"), ("y", "past_h")])
def test_names_that_certificates_make_are_free_for_models(old: str, new: str) -> None:
    text = MADE_UP.replace(f'{old} = "', f'{new} = "').replace(f"{old} @", f"{new} @").replace(f"+ {old}", f"+ {new}") \
        .replace(f", {old})", f", {new})")
    model = loads(text)
    assert new in text
    guard(model, certificate(derived(model)))


MADE_UP = """name = "made"
[sizes]
n = "units"
[parameters]
A = "n, n"
[inputs]
x = "n"
[targets]
y = "n"
[states]
h = "n"
[equations]
h = "A @ h[t-6] + x"
[[loss]]
term = "l(h, y)"
"""
"""A lag for which Coq has no sign of its own."""


def test_no_name_of_a_model_is_one_of_the_library() -> None:
    names = Names()
    given = {names("variable", word, wanted=word) for word in (*RESERVED, "ext_tanh")}
    assert not given & {*RESERVED, "ext_tanh"}


def test_the_header_is_allowed() -> None:
    assert [s.text for s in allow("".join(f"{line}.\n" for line in HEADER))] == list(HEADER)


def test_what_was_compared_is_told() -> None:
    whole = "checked.certificate.gradient\n : forall (p : certificate.point R), long"
    theorem = Checked("gradient", "short", (), whole)
    alone = "\n".join(told(Verdict(True, "", "Coq", (theorem,), ALONE)))
    assert "gradient\n : forall (p : point R), long" in alone
    assert ALONE in alone
    compared = "\n".join(told(Verdict(True, "", "Coq", (theorem,), "compared with linear")))
    assert "gradient: short" in compared
    assert "compared with linear" in compared


def test_answers_of_the_checker_are_read() -> None:
    said = "Closed under the global context\nAxioms:\nboolp.a\n  : forall x, x\nb : False\n"
    assert answers(said) == [(), ("boolp.a", "b")]
    assert None in answers("Section Variables:\nx : nat\n")


def test_only_the_classical_axioms_are_allowed_and_only_over_the_reals() -> None:
    real = checker.Checked("gradient", "", ())
    formal = checker.Checked("formal_gradient", "", ())
    for axiom in checker.CLASSICAL:
        assert checker._is_allowed(f"boolp.{axiom}", real.allowed)
        assert not checker._is_allowed(f"boolp.{axiom}", formal.allowed)
        assert not checker._is_allowed(f"mine.{axiom}", real.allowed)
    assert not checker._is_allowed("classic", real.allowed)


def test_without_coq_the_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckerError, match="libcoq-mathcomp-analysis"):
        checker.library()
    run = CliRunner().invoke(main, ["prove", "linear", "--certificate", str(tmp_path / "c.v"), "--check"])
    assert run.exit_code == 2
    assert "apt-get install" in run.output


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """A function that puts a script on the path under the name of Coq's compiler, and gives the folder of the cache;
    the script says a version and then, asked to compile, does what it is given to do."""

    def make(does: str = "exit 0", says: str = "echo The Coq Proof Assistant, version 0.1") -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        script = f'#!/bin/sh\nif [ "$1" = --version ]; then {says}; exit; fi\nfor last; do :; done\n{does}\n'
        (folder / "coqc").write_text(script, encoding="utf-8")
        (folder / "coqc").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
        monkeypatch.setenv("SYMBPTT_CACHE", str(tmp_path / "cache"))
        return tmp_path / "cache"

    return make


COMPILES = 'echo compiled > "${last%.v}.vo"'
"""What a compiler does at least."""


def checked_with_2(words: str, *commands: str) -> None:
    """Asking Coq ends with 2 and one line, which says this."""
    for command in commands or ("derive",):
        run = CliRunner().invoke(main, [command, "linear", "--check"])
        assert (run.exit_code, type(run.exception)) == (2, SystemExit), run.output
        assert run.output.count("\n") == 1
        assert words in run.output


def test_a_cache_that_cannot_be_written_is_named(fake: Callable[..., Path], monkeypatch: pytest.MonkeyPatch,
                                                 tmp_path: Path) -> None:
    fake()
    monkeypatch.setenv("SYMBPTT_CACHE", str(tmp_path / "bin" / "coqc"))
    with pytest.raises(CheckerError, match="the library cannot be compiled there"):
        checker.library()
    monkeypatch.setenv("SYMBPTT_CACHE", str(tmp_path / ("long" * 2000)))
    with pytest.raises(CheckerError, match=r"…: the library cannot be compiled there: File name too long"):
        checker.library()
    checked_with_2("File name too long")


def test_a_compiler_that_never_answers(fake: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    fake(says="sleep 60")
    monkeypatch.setattr(checker, "ANSWER", 0.02)
    with pytest.raises(CheckerError, match=r"bin/coqc --version is not done after 0\.02 s"):
        checker.version()
    checked_with_2("coqc --version is not done after")


def test_a_compiler_that_tells_no_version(fake: Callable[..., Path]) -> None:
    fake(says="exit 3")
    with pytest.raises(CheckerError, match=r"tells no version: .*coqc says nothing and ends with status 3"):
        checker.version()


def test_a_compiler_that_is_no_program(fake: Callable[..., Path], tmp_path: Path) -> None:
    fake()
    (tmp_path / "bin" / "coqc").write_bytes(b"no program\n")
    with pytest.raises(CheckerError, match=r"bin/coqc: cannot be run: Exec format error"):
        checker.version()
    checked_with_2("coqc: cannot be run: Exec format error", "report", "derive", "prove")


def test_a_compiler_on_a_relative_path(fake: Callable[..., Path], monkeypatch: pytest.MonkeyPatch,
                                       tmp_path: Path) -> None:
    fake(COMPILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "bin", prepend=os.pathsep)
    assert checker.coqc() == str(tmp_path / "bin" / "coqc")
    assert checker.library().is_dir()


def test_a_cache_under_a_relative_path(fake: Callable[..., Path], monkeypatch: pytest.MonkeyPatch,
                                       tmp_path: Path) -> None:
    fake(COMPILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYMBPTT_CACHE", "near")
    place = checker.library()
    assert (place.is_absolute(), place.parent) == (True, tmp_path / "near" / "coq")


@pytest.mark.parametrize(("does", "words"), [
    ("exit 7", "matrices.v: {} says nothing and ends with status 7"),
    ("kill -9 $$", "matrices.v: {} says nothing and is ended by signal 9"),
    ("echo Error: bad >&2; exit 1", "matrices.v: Error: bad"),
    ("exit 0", "matrices.v: {} reports no error, but writes no matrices.vo"),
    (': > "${last%.v}.vo"', "matrices.v: {} reports no error, but writes no matrices.vo"),
])
def test_a_library_that_does_not_compile(does: str, words: str, fake: Callable[..., Path], tmp_path: Path) -> None:
    cache = fake(does)
    words = words.format(tmp_path / "bin" / "coqc")
    with pytest.raises(CheckerError, match=re.escape(f"the library does not compile: {words}")):
        checker.library()
    assert list((cache / "coq").iterdir()) == []
    checked_with_2(words)


def test_a_library_in_the_cache_that_lacks_a_file_is_compiled_anew(fake: Callable[..., Path]) -> None:
    fake(COMPILES)
    place = checker.library()
    names = {path.stem for path in checker.sources()}
    assert {path.stem for path in place.glob("*.vo")} == names
    (place / "matrices.vo").unlink()
    (place / "left.over").touch()
    assert checker.library() == place
    assert {path.name for path in place.iterdir()} == {f"{n}{end}" for n in names for end in (".v", ".vo")}
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    run = CliRunner().invoke(main, ["certificate", str(tmp_path / "none.v")])
    assert (run.exit_code, "none.v" in run.output) == (2, True)


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "elman", "gru", "second-order", "regularised"])
def test_coq_accepts_the_certificate(name: str, named: Callable[[str], Model]) -> None:
    verdict = check(certificate(derived(named(name))))
    assert verdict.accepted, verdict.reason
    axioms = {theorem.name: theorem.axioms for theorem in verdict.theorems}
    assert axioms["formal_gradient"] == ()
    assert len(axioms["gradient"]) <= len(checker.CLASSICAL)


WITHIN = """name = "within"
[sizes]
h = "hidden"
[parameters]
E = "h, h"
F = "h, h"
[inputs]
x = "h"
[targets]
y = "h"
[states]
h = "h"
[equations]
h = "{}"
[[loss]]
term = "l(h, y)"
"""


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("equation", [
    "tanh((E * F) @ h[t-1] + E @ x)", "tanh((E.T * F) @ h[t-1] - E @ h[t-2] / 3)",
    "(2 * E * F) @ tanh(h[t-1]) + (E * F).T @ x - F @ x"])
def test_coq_accepts_a_weight_within_an_elementwise_product_and_beside_it(equation: str) -> None:
    verdict = check(certificate(derived(loads(WITHIN.format(equation)))))
    assert verdict.accepted, verdict.reason


@needs_coq
@pytest.mark.slow
def test_coq_accepts_hostile_names() -> None:
    verdict = check(certificate(derived(loads(HOSTILE))))
    assert verdict.accepted, verdict.reason


WRONG = {
    "a sign in the recursion": ("*m g_h t.+1 + W_qh^T *m g_o t", "*m g_h t.+1 - W_qh^T *m g_o t"),
    "a missing transpose": ("g_h t = W_hh^T *m", "g_h t = W_hh *m"),
    "h_t for h_{t-1}": ("g_h t *m (h t.-1)^T.", "g_h t *m (h t)^T."),
    "a sum from t + 1": ("dL_db_h : 'cV[R]_n_h := \\sum_(1 <= t", "dL_db_h : 'cV[R]_n_h := \\sum_(2 <= t"),
    "another slope": ("-> g_h t = W_hh^T *m dg (const_mx 1 - hadm (h t.+1) (h t.+1))",
                      "-> g_h t = W_hh^T *m dg (const_mx 1 - h t.+1)"),
    "a dropped bias": ("st_h past 0 + b_h)", "st_h past 0)"),
    "a factor": ("loss : 'M[R]_1 := inv_T *: (", "loss : 'M[R]_1 := (inv_T + 1) *: ("),
}


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("lie", WRONG)
def test_coq_refuses_a_tampered_certificate(lie: str, named: Callable[[str], Model]) -> None:
    text = certificate(derived(named("elman")))
    old, new = WRONG[lie]
    assert old in text
    verdict = check(text.replace(old, new))
    assert (verdict.accepted, "Coq" in verdict.reason) == (False, True)
