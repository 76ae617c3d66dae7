"""The grammar of a certificate: which sentences stand in which section, outside proofs.

Whatever is not of it is refused. A sentence that no rule allows could be a premise that nothing satisfies, or give a
name of the statement another meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = r"[A-Za-z_][\w']*"
SIZE = r"(?:n_[\w']+|\d+)"
SIZES = rf"{SIZE}(?: [+*] {SIZE})*"
MATRIX = rf"(?:'cV\[R\]_(?:{SIZE}|\({SIZES}\))|'M\[R\]_(?:{SIZE}|\({SIZES}, {SIZES}\)))"
FAMILY = rf"nat -> {MATRIX}"
CALL = rf"(?:R -> R|{MATRIX}(?: -> {MATRIX})* -> (?:R|{MATRIX}))"
"""The type of a function or a loss. All these types have elements, whatever the sizes are."""
STACKED = rf"'(?:M|cV)\[R\]_(?:{SIZE}|\([n_\w', +*()]*\))"
"""The type of a letter of a closed form, whose size may be a nested sum of products."""
RANGE = r"\((?:0 < t|1 <= t <= T)\)%N"

def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = _words("""
    const_mx map_mx mulmx hadm dg msc sel at_lag push mxpow dotm row_mx col_mx comRingType realType ringType dual Dual
    nat bool Prop du re line lift fixed ext pull tangent curve is_derive is_grad is_grad2 is_grad3 mdu mre mlift formal
    minn real True False eq not and or iff
""")
"""Names of the library by which a statement is read. None of them may get another meaning."""

EXTENSION = re.compile(r"ext_\w+")
"""The library's functions on dual numbers."""

EXTENSIONS: dict[str, tuple[str, ...]] = {
    "tanh": (), "sigmoid": (), "relu": ("step",), "softplus": ("sigmoid",), "exp": (), "sin": ("cos",),
    "cos": ("sin",), "square": (), "abs": ("sign",), "leaky_relu": ("step",), "elu": ("exp", "relu"),
    "silu": ("sigmoid",), "softsign": ("sign", "square"), "hard_tanh": ("step",), "softmax": (),
    "log_softmax": ("softmax",),
}
"""For each function the others that its slope is written in, in the order in which the library takes them."""

HEADER = (
    "From mathcomp Require Import all_ssreflect all_algebra",
    "From mathcomp.analysis Require Import reals topology normedtype derive",
    "From mathcomp.algebra_tactics Require Import ring",
    "From symbptt Require Import matrices normal pairing tactics closed solved",
    "From symbptt Require formal real",
    "Set Implicit Arguments", "Unset Strict Implicit", "Unset Printing Implicit Defensive",
    "Import GRing.Theory Num.Theory numFieldNormedType.Exports", "Local Open Scope ring_scope",
)
"""What stands before the first section, in this order."""


@dataclass(frozen=True)
class Part:
    """One section: where it stands, what it must hold once, what it may hold, and how that is told."""

    within: str
    once: dict[str, str]
    more: tuple[str, ...]
    told: str


def _record(name: str, constructor: str, fields: str) -> str:
    return rf"Record {name} \(R : comRingType\) := {constructor} \{{ (?:(?:{fields})(?:; (?:{fields}))* )?\}}"


SETTING = {"Variables (R : comRingType) (env : given R) (pt : point R)":
           r"Variables \(R : comRingType\) \(env : given R\) \(pt : point R\)"}
NOTATION = rf"Local Notation {NAME} := .*"
SCALARS = (r"Hypothesis reciprocal : .*", r"Hypothesis some : .*", rf"Hypothesis inverse_of_{NAME} : .*")
ADJOINTS = rf"Variable [ge]_{NAME} : {FAMILY}"

PARTS: dict[str, Part] = {
    "Certificate": Part("", {
        "Variables (n_… T : nat)": r"Variables \((?:n_[\w']+ )*T : nat\)",
        "Record given": _record("given", "Given",
                                rf"fn_{NAME} : {CALL}|num_{NAME} : R|over_(?:{NAME}|\d+) : R|"
                                rf"tg(?:past)?_{NAME} : {FAMILY}"),
        "Record point": _record("point", "Point", rf"pt_{NAME} : (?:nat -> )?{MATRIX}|(?:ptpast|of)_{NAME} : {FAMILY}"),
        "Record state": _record("state", "State", rf"st_{NAME} : (?:nat -> )?{MATRIX}"),
    }, (), "sizes, T and the records given, point and state"),
    "Forward": Part("Certificate", {
        **SETTING, "Definition step_of": r"Definition step_of \(t : nat\) \(past : state R\) : state R := .*",
        "Fixpoint run": r"Fixpoint run \(t : nat\) : state R := .*",
        "Definition loss": r"Definition loss : 'M\[R\]_1 := .*",
    }, (NOTATION, rf"Definition past_{NAME} \(k : nat\) : {MATRIX} := .*", r"Definition loss_\d+'* : 'M\[R\]_1 := .*",
        rf"Definition run_{NAME} \(t : nat\) : {MATRIX} := .*", rf"Lemma run_{NAME} .*"),
        "env, pt, past_…, step_of, run, run_… and the loss"),
    "Backward": Part("Certificate", {**SETTING, "Record recursion": r"Record recursion : Prop := Recursion \{.*\}"},
                     (NOTATION, ADJOINTS, rf"Variable {NAME} : {CALL}",
                      rf"Definition dL_d{NAME}(?: \(t : nat\))? : {MATRIX} := .*"),
                     "env, pt, slopes, adjoints as variables g_… and e_…, the recursion and the gradients dL_d…"),
    "Adjoint": Part("Backward", {"Variable dir": r"Variable dir : point R",
                                 "Hypothesis rec": r"Hypothesis rec : recursion"},
                    (NOTATION, rf"Variable d_{NAME} : {FAMILY}", r"Record tangents .*", r"Hypothesis (?:rec|fol) : .*",
                     r"Definition (?:rule|edge|sent)_.*", r"Lemma (?:adjoint|balance|shift|start|total)[_ ].*"),
                    "dir, tangents d_…, definitions and lemmas"),
    "Formal": Part("Backward", {
        "Import formal": r"Import formal", "Variable dir": r"Variable dir : point R",
        "Definition lifted": r"Definition lifted : given \[comRingType of dual R\] := .*",
        "Definition moved": r"Definition moved : point \[comRingType of dual R\] := .*",
        "Theorem formal_gradient": r"Theorem formal_gradient : .*",
    }, (NOTATION, *SCALARS, rf"Hypothesis formal_still_{NAME} : .*", r"Lemma reciprocal_minus : .*",
        rf"(?:Definition|Lemma) formal_{NAME} .*"),
        "dir, lifted, moved, formal_… and the theorem formal_gradient"),
    "Closed": Part("Backward", {"Hypothesis rec": r"Hypothesis rec : recursion"},
                   (*SCALARS, rf"Definition {NAME}(?: \(t : nat\))? : {STACKED} := .*",
                    r"Lemma (?:all|part|silent|start|sum|truncated|whole)_.*", r"Lemma (?:beyond|grouped|step)'* .*",
                    rf"Theorem (?:closed_form|reversed_form|forms_agree|last_form|sum_{NAME})'*"
                    rf"(?: t)? : (?:{RANGE} -> )?.* = .*",
                    rf"Theorem truncated_(?:form'* uses'* t : \(0 < t\)%N -> |sum_{NAME} uses'* : ).* = .*"),
                   "the recursion as a hypothesis, letters, lemmas, closed forms, the gradients sum_… and truncated_…"),
    "Real": Part("Certificate", {
        "Import real": r"Import real", "Variable R": r"Variable R : realType",
        "Variables pt dir": r"Variables pt dir : point R", "Definition reals": r"Definition reals : given R := .*",
        "Local Notation env": r"Local Notation env := reals", "Local Notation recursion":
        r"Local Notation recursion := \(recursion .*\)",
        "Definition along": r"Definition along \(s : R\) : point R := .*", "Theorem gradient": r"Theorem gradient : .*",
    }, (NOTATION, ADJOINTS, rf"Variable {NAME} : (?:R|{CALL}|{FAMILY})", r"Hypothesis some : .*",
        rf"Hypothesis real_(?:gradient'*|kink'*|nonzero_{NAME}|still_{NAME}) : .*",
        rf"(?:Definition|Lemma) real_{NAME} .*", r"Lemma leak_(?:below|above) : .*"),
        "reals, along, pt, dir, adjoints, real_… and the theorem gradient"),
}
"""The sections by name. Closed is left out where no adjoint recurs."""

OPTIONAL = frozenset({"Closed"})
