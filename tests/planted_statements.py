"""Lies in what a certificate states and in what it asks of Coq. Coq accepts the first kind, with a right proof of
something else; the second kind takes from Coq what it needs to refuse.
"""

from __future__ import annotations

import re

from tests.planted import FORM, KEPT, LEFT_OUT, TOTAL, Lie, algebra, closed, honest, real, told

CLAIM = "Theorem formal_gradient : recursion ->"
REAL = "Theorem gradient : recursion ->"
ABSURD = "by move=> _; have := oner_neq0 R; rewrite bad eqxx."
SIZES = "Variables (n_d n_h n_q T : nat)."
WORD = "mxpow W_hh^T (i - t)%N *m W_qh^T *m g_o i *m (h t.-1)^T"
REVERSED = "mxpow W_hh^T (T - i)%N *m W_qh^T *m g_o (T + t - i)%N *m (h t.-1)^T"
"""A word of a double sum, and that word counted from the end."""


def proved(theorem: str, script: str) -> tuple[str, str, str]:
    """Another proof of a theorem of the model linear."""
    found = re.search(rf"^Theorem {theorem} .*?^Proof\.\n(.*?)\nQed\.$", honest("linear"), re.DOTALL | re.MULTILINE)
    assert found is not None
    return f"Theorem {theorem}", found[1], script


def found_between(theorem: str, start: str, end: str) -> str:
    """A part of what a theorem says."""
    text = honest("linear")
    k = text.index(start, text.index(f"Theorem {theorem} "))
    return text[k:text.index(f"{end}\nProof", k)]


def right_side() -> str:
    """What the theorem says that the derivative is."""
    found = re.search(r"^Theorem formal_gradient .*?0 0\) =\n(.*?)\.\nProof", honest("linear"), re.DOTALL | re.M)
    assert found is not None
    return found[1].strip()


def before(claim: str, sentence: str) -> tuple[str, str, str]:
    """A sentence put before another."""
    return claim, claim, f"{sentence}\n{claim}"


ALGEBRAIC = [
    Lie("a false premise", "linear", (
        ("Section Formal.", "Variable dir", "Hypothesis bad : (1 : R) = 0.\nVariable dir"),
        proved("formal_gradient", ABSURD)), guard="bad"),
    Lie("a false premise as a variable", "linear", (
        ("Section Formal.", "Variable dir", "Variable bad : False.\nVariable dir"),
        proved("formal_gradient", "by case: bad.")), guard="bad"),
    Lie("a premise about every adjoint", "linear", (
        ("Section Formal.", "Variable dir", "Hypothesis bad : forall s, g_h s = 0.\nVariable dir"),
        proved("formal_gradient", f"have here := bad 0; {dict([proved('formal_gradient', '')[1:]]).popitem()[0]}")),
        guard="bad"),
    Lie("no step", "linear", (("Section Certificate", SIZES, SIZES.replace(" T", "") + "\nDefinition T : nat := 0."),),
        guard=r"\bT\b"),
    Lie("no step, by a notation", "linear", (("Section Forward", "Variables", "Local Notation T := 0%N.\nVariables"),),
        guard=r"\bT\b"),
    Lie("states without entries", "linear", (
        ("Section Certificate", SIZES, SIZES.replace(" n_h", "") + "\nDefinition n_h : nat := 0."),), guard="n_h"),
    Lie("a recursion with a contradiction in it", "linear", (
        ("Record recursion", "  end_g_h", "  bad_g_h : (1 : R) = 0;\n  end_g_h"),
        proved("formal_gradient", "by case=> _ _ _ bad; have := oner_neq0 R; rewrite bad eqxx.")),
        guard="bad_g_h|recursion"),
    Lie("a recursion of zeros", "linear", (
        ("Record recursion", "  end_g_h", "  bad_g_h : forall t, g_h t = 0;\n  end_g_h"),), guard="bad_g_h|recursion"),
    Lie("another recursion under its name", "linear", (
        before(CLAIM, "Local Notation recursion := False."), proved("formal_gradient", "by case.")),
        guard="recursion"),
    Lie("another loss under its name", "linear", (
        before(CLAIM, f"Definition lossy : 'M[dual R]_1 := const_mx (Dual 0 ({right_side()})).\n"
                      "Local Notation loss := (fun _ _ => lossy)."),
        proved("formal_gradient", "by move=> _; rewrite /lossy mxE.")), guard="loss"),
    Lie("another derivative under its name", "linear", (
        before(CLAIM, f"Local Notation du := (fun _ : dual R => {right_side()})."),
        proved("formal_gradient", "by [].")), guard="du"),
    Lie("another derivative, defined", "linear", (
        before(CLAIM, f"Definition du (z : dual R) : R := {right_side()}."), proved("formal_gradient", "by [].")),
        guard="du"),
    Lie("another derivative, hidden in a proof behind a bullet", "linear", (
        ("Lemma formal_loss_1", "Proof.", f"Proof.\n- Notation du := (fun _ => {right_side()})."),
        proved("formal_gradient", "by [].")), guard="tactic"),
    Lie("another derivative, hidden in a proof behind dots", "linear", (
        ("Lemma formal_loss_1", "Proof.", f"Proof.\nidtac... Notation du := (fun _ => {right_side()})."),
        proved("formal_gradient", "by [].")), guard="tactic|dots|full stop"),
    Lie("True concluded", "linear", (
        (CLAIM, f"du ((loss lifted moved) 0 0) =\n    {right_side()}", "True"), proved("formal_gradient", "by [].")),
        guard="formal_gradient"),
    Lie("a quantifier dropped", "linear", (
        ("Section Backward", "Variable g_h : nat -> 'cV[R]_n_h.",
         "Definition g_h (t : nat) : 'cV[R]_n_h := (0 : 'cV[R]_n_h)."),),
        guard="g_h"),
    Lie("one input instead of all", "linear", (
        ("Section Formal.", "Variable dir", "Hypothesis bad : pt_x pt = pt_x dir.\nVariable dir"),
        ("Section Formal.", "Hypothesis bad : pt_x pt = pt_x dir.\nVariable dir : point R.",
         "Variable dir : point R.\nHypothesis bad : pt_x pt = pt_x dir."),
        proved("formal_gradient", f"have here := bad; {dict([proved('formal_gradient', '')[1:]]).popitem()[0]}")),
        guard="bad"),
    Lie("no theorem under its name", "linear", (
        (CLAIM, "Theorem formal_gradient", "Lemma formal_gradient"),
        before("Lemma formal_gradient", "Theorem other : True.\nProof.\nby [].\nQed.")),
        guard="formal_gradient|other"),
    Lie("outputs as wide as states", "linear", (), guard="n_q|shape|size", throughout=("n_q", "n_h")),
    Lie("inputs as wide as states", "linear", (), guard="n_d|shape|size", throughout=("n_d", "n_h")),
    Lie("states of one entry", "linear", (), guard="n_h|shape|size", throughout=("n_h", "1")),
    Lie("a theorem that no one has read", "linear", (
        before(CLAIM, "Theorem zero : True.\nProof.\nby [].\nQed."),), guard="zero"),
]
"""Coq accepts all of these."""

CLOSED = [
    Lie("a closed form that says nothing", "linear", (
        ("Theorem sum_x", found_between("sum_x", "dL_dx t =", "."), "dL_dx t = dL_dx t"), proved("sum_x", "by [].")),
        guard="sum_x"),
    Lie("a closed form under a false premise", "linear", (
        ("Section Closed.", "Hypothesis rec", "Hypothesis bad : (1 : R) = 0.\nHypothesis rec"),
        proved("sum_x", ABSURD)), guard="bad"),
    Lie("a closed form that is left out", "linear", (
        ("Theorem closed_form", "Theorem closed_form", "Lemma closed_form"),),
        guard="closed_form"),
]
"""These as well."""

WINDOWED = [
    Lie("a window of one use more", "linear", (
        (FORM, "(t + uses)%N", "(t + uses.+1)%N"), (FORM, "(t + uses)%N", "(t + uses.+1)%N")),
        guard="window of uses"),
    Lie("a window of two uses", "linear", (
        (FORM, "(t + uses)%N", "(t + (2 + (uses - uses)))%N"), (FORM, "(t + uses)%N", "(t + (2 + (uses - uses)))%N")),
        guard="window of uses"),
    Lie("a window of T uses", "linear", (
        (FORM, "(t + uses)%N", "(t + (T + (uses - uses)))%N"), (FORM, "(t + uses)%N", "(t + (T + (uses - uses)))%N")),
        guard="window of uses"),
    Lie("kept and left out exchanged", "linear", (
        (FORM, "t <= i < minn (t + uses)%N T.+1", "t + uses <= i < T.+1"),
        (FORM, "(t + uses)%N <= i < T.+1", "t <= i < minn (t + uses)%N T.+1"),
        proved("truncated_form", "by move=> t1; rewrite (closed_form t1) addrC; apply: sum_window.")),
        guard="window of uses"),
    Lie("the words of the far end kept", "linear", (
        (TOTAL, WORD, REVERSED), (TOTAL, WORD, REVERSED),
        proved("truncated_sum_W_hh", "rewrite sum_W_hh; apply: sum_apart => t _.\n"
               f"rewrite (sum_rev_dist (fun d i => {WORD.replace('(i - t)%N', 'd')})); apply: sum_window.")),
        guard="what is kept by truncated_sum_W_hh is not what the engine has"),
    Lie("a window over the form from the end", "linear", (
        (FORM, "(i - t)%N *m (W_qh^T *m g_o i)", "(T - i)%N *m (W_qh^T *m g_o (T + t - i)%N)"),
        (FORM, "(i - t)%N *m (W_qh^T *m g_o i)", "(T - i)%N *m (W_qh^T *m g_o (T + t - i)%N)"),
        proved("truncated_form", "by move=> t1; rewrite (reversed_form t1); apply: sum_window.")),
        guard="another sum than that of the closed form"),
    Lie("a window in which one loss counts for another", "linear", (
        (TOTAL, rf"{KEPT})", rf"{KEPT} + W_hh *m W_hh)"), (TOTAL, rf"{LEFT_OUT})", rf"{LEFT_OUT} - W_hh *m W_hh)"),
        proved("truncated_sum_W_hh", "rewrite sum_W_hh; apply: sum_apart => t _.\n"
               "by rewrite (sum_window _ t uses) -!addrA [W_hh *m _ + _]addrC subrK.")),
        guard="what is kept by truncated_sum_W_hh"),
    Lie("a truncation that splits nothing", "linear", (
        (TOTAL, found_between("truncated_sum_W_hh", r"\sum", "."), r"dL_dW_hh + \sum_(uses <= i < uses) W_hh"),
        proved("truncated_sum_W_hh", "by rewrite big_geq ?addr0.")),
        guard="dL_dW_hh stands on both sides"),
    Lie("a truncation for no step", "linear", (
        (FORM, "(0 < t)%N", "(T < t)%N"), proved("truncated_form", "by move=> Tt; rewrite (closed_form (leq_ltn_trans "
                                                 "(leq0n T) Tt)); apply: sum_window.")), guard="section Closed"),
    Lie("a truncation that is left out", "linear", ((FORM, "Theorem", "Lemma"),), guard="no theorem truncated_form"),
    Lie("a parameter's truncation that is left out", "linear", ((TOTAL, "Theorem", "Lemma"),),
        guard="no theorem truncated_sum_W_hh"),
]
"""And these: truths about sums that are no truncation, or not the one that the theorem is called by."""

REALS = [
    Lie("a mean taken for a sum over the reals", "linear", (("Definition reals", "(T%:R^-1)", "1"),),
        guard="reals|inv_T"),
    Lie("a premise about the loss that says nothing", "linear", (
        ("Hypothesis real_gradient", "is_grad", "(0 : R) = 1 -> is_grad"),), "real_loss_1", "real_gradient"),
    Lie("another slope of the loss", "linear", (("Hypothesis real_gradient", "(dl (o t) (y t))", "(dl (y' t) (y t))"),
                                                ("Section Real", "Variable dl", "Variable y' : nat -> 'cV[R]_n_q.\n"
                                                 "Variable dl")), "real_loss_1", "real_gradient|y'"),
    Lie("a derivative that is always True", "linear", (
        before(REAL, "Local Notation is_derive := (fun (a b : R) (f : R -> R) (c : R) => True)."),
        proved("gradient", "by [].")), guard="is_derive"),
    Lie("no recursion over the reals", "linear", (
        ("Section Real", "Local Notation recursion := (recursion env pt dl g_o g_h)",
         "Local Notation recursion := False"),
        proved("gradient", "by case.")), guard="recursion"),
    Lie("the reals left out", "linear", ((REAL, "Theorem gradient", "Lemma gradient"),), guard="gradient"),
    Lie("another function under the name of tanh", "elman", (
        ("Section Real", "Definition reals", "Definition one (z : R) : R := 1.\nDefinition reals"),
        ("Definition reals", "@real.tanh R", "one")), "real_step_h", "reals|tanh"),
    Lie("a direction of 0", "linear", (
        ("Section Real", "Local Notation d_W_hh := (pt_W_hh dir)", "Local Notation d_W_hh := (0 : 'M[R]_n_h)"),),
        "gradient", "gradient"),
]
"""Lies at the level of the reals; those with a lemma are refused by Coq as well."""

BARE = "Lemma fact : True.\nProof.\nexact I.\nQed.\n"

SENTENCES = {
    "an axiom": ("Axiom bad : False.", "Axiom"),
    "two axioms": ("Axioms (bad : False) (worse : True).", "Axiom"),
    "a parameter": ("Parameter bad : False.", "Parameter"),
    "a conjecture": ("Conjecture bad : False.", "Conjecture"),
    "a hypothesis outside all sections": ("Hypothesis bad : False.", "outside all sections"),
    "a variable outside all sections": ("Variable bad : False.", "outside all sections"),
    "variables outside all sections": ("Variables bad worse : False.", "outside all sections"),
    "a context": ("Context (bad : False).", "no certificate needs"),
    "an axiom with an attribute": ("#[local] Axiom bad : False.", "Axiom"),
    "an axiom after a comment": ("(* (* nested *) *) Axiom bad : False.", "Axiom"),
    "an axiom between two lines": ("Axiom\n  bad : False.", "Axiom"),
    "a proof that is admitted": ("Lemma bad : False.\nProof.\nAdmitted.", "Admitted"),
    "a goal that is admitted": ("Lemma bad : False.\nProof.\nadmit.\nQed.", "admit"),
    "a goal that is given up": ("Lemma bad : False.\nProof.\ngive_up.\nQed.", "give_up"),
    "a goal that is given up within a tactic": ("Lemma bad : False.\nProof.\nby first [done | admit].\nQed.", "admit"),
    "a proof that is broken off": ("Lemma bad : False.\nProof.\nAbort.", "Abort"),
    "a proof that is not opaque": ("Lemma bad : True.\nProof.\nexact I.\nDefined.", "tactic"),
    "a proof without its end": ("Lemma bad : True.\nProof.\nexact I.", "inside a proof"),
    "a section without its end": ("Section Bad.", "inside a proof or a section"),
    "a module type": ("Module Type Bad. Parameter bad : False. End Bad.", "Module"),
    "a functor": ("Module Bad (M : Worse). End Bad.", "Module"),
    "a part of a module": ("Include Bad.", "Include"),
    "a library of others": ("From Coq Require Import Classical.", "no certificate needs"),
    "a file of others": ("From symbptt Require Import cheat.", "only the library"),
    "a file by its name": ("Require Import cheat.", "no certificate needs"),
    "an import": ("Import cheat.", "no certificate needs"),
    "another name in a lemma": ("Lemma good (n : nat) : True with is_grad (n : nat) : False.\nProof.\nexact I.\nQed.",
                                "one name"),
    "another name in a recursion": ("Fixpoint run (n : nat) := match n with O => n | S k => mulmx k end "
                                    "with mulmx (n : nat) := n.", "one name"),
    "a notation for a sign": ('Local Notation "a + b" := (a).', "string"),
    "a global notation": ("Notation tanh := id.", "no certificate needs"),
    "an infix": ("Infix plus := minus.", "Infix"),
    "a scope": ("Local Open Scope nat_scope.", "no certificate needs"),
    "a canonical structure": ("Canonical bad := worse.", "Canonical"),
    "a coercion": ("Coercion bad : nat >-> Sortclass.", "Coercion"),
    "arguments": ("Arguments dotm _ {_}.", "Arguments"),
    "a tactic": ("Ltac done := idtac.", "Ltac"),
    "no check of guards": ("Unset Guard Checking.", "Guard"),
    "no check of universes": ("Unset Universe Checking.", "Universe"),
    "no check of positivity": ("Unset Positivity Checking.", "Positivity"),
    "no check of a guard": ("#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.", "bypass_check"),
    "a set of definitions by obligations": ("Program Definition bad : False := _.", "no certificate needs"),
    "an admitted obligation": ("Admit Obligations.", "Admit"),
    "an inductive type": ("Inductive bad := Bad of (bad -> False).", "no certificate needs"),
    "a definition by a proof": ("Definition bad : nat.\nProof.\nexact 0.\nQed.", "without a body"),
    "code of others": ("Declare ML Module bad.", "Declare"),
    "code by a string": ('Declare ML Module "bad".', "string"),
    "another file loaded": ("Load bad.", "Load"),
    "output to a file": ("Redirect bad Print nat.", "Redirect"),
    "extraction to a file": ("Extraction bad.", "Extraction"),
    "another folder": ("Cd bad.", "Cd"),
    "the end of all": ("Drop.", "Drop"),
    "a way back": ("Reset Initial.", "no certificate needs"),
    "a failure that is expected": ("Fail Lemma bad : False.", "no certificate needs"),
    "a tactic that does not check": ("Lemma bad : True.\nProof.\nexact_no_check I.\nQed.", "exact_no_check"),
    "processes of its own": ("Lemma bad : True.\nProof.\npar: exact I.\nQed.", "tactic"),
    "processes behind a bullet": ("Lemma bad : True.\nProof.\n- par : exact I.\nQed.", "tactic"),
    "a command in a proof": ("Lemma bad : True.\nProof.\nSet Warnings.\nexact I.\nQed.", "tactic"),
    "a command behind a bullet": ("Lemma bad : True.\nProof.\n- Notation du := id.\nexact I.\nQed.", "tactic"),
    "a command behind a bullet of two": ("Lemma bad : True.\nProof.\n-- Notation du := id.\nexact I.\nQed.", "tactic"),
    "a command behind a brace": ("Lemma bad : True.\nProof.\n1: { Notation du := id.\nexact I. }\nQed.", "tactic"),
    "a command behind dots": ("Lemma bad : True.\nProof.\nidtac... Notation du := id.\nexact I.\nQed.", "."),
    "a comment that does not end": ("(* Axiom bad : False.", "comment"),
    "a comment with a string that hides its end": ('(* " *) Axiom bad : False. (* " *)', "comment"),
    "words behind the last full stop": ("Lemma bad", "full stop"),
}
"""Sentences of which a certificate has none, behind its imports."""


def with_sentence(sentence: str) -> str:
    """The certificate with a sentence behind its sections."""
    return f"{algebra('linear')}{sentence}\n"


def planted(lie: Lie) -> str:
    """The part of the certificate that Coq is asked about, with a lie of this file in it."""
    part = algebra if lie in ALGEBRAIC else closed if lie in [*CLOSED, *WINDOWED] else real
    return told(part(lie.model), lie)
