"""Closed forms in certificates: Coq proves those of the engine, and none that differs in an index or a block."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from symbptt import api
from symbptt.derive import derive
from symbptt.model.read import loads
from symbptt.proof.checker import Verdict, check
from symbptt.render.certificate import certificate

SOLVED = """
name = "accumulator"
[sizes]
h = "state"
q = "output"
[parameters]
V = "q, h"
[inputs]
x = "h"
[targets]
y = "q"
[states]
h = "h"
[equations]
h = "h[t-1] + x"
o = "V @ h"
[[loss]]
term = "l(o, y)"
"""
FEEDFORWARD = SOLVED.replace('h = "h[t-1] + x"', 'h = "x"').replace('[states]\nh = "h"\n', "")
WITHOUT = (r"^Section Adjoint\.\n.*^End Formal\.\n", r"^\(\* [^*]*\*\)\nSection Real\.\n.*^End Real\.\n")

LIES = [
    pytest.param("elman", r"\\sum_\(t <= (\w+) <", r"\\sum_(t.+1 <= \1 <", id="the sum starts at t + 1"),
    pytest.param("elman", r"\(W_hh\^T \*m dg", "(W_hh *m dg", id="a transpose is missing"),
    pytest.param("elman", r"_\(t\.\+1 <= ([\w']+) <", r"_(t <= \1 <", id="the product starts at t"),
    pytest.param("elman", r"\*m \(h t\.-1\)\^T\)", "*m (h t)^T)", id="the weight sees the wrong state"),
    pytest.param("stacked", r"N ([\w']+)\.-1 \*m K", r"N \1 *m K", id="the step is taken at the wrong time"),
    pytest.param("second-order", r"\(W_1\^T\) \(W_2\^T\)", "(W_2^T) (W_1^T)", id="blocks are exchanged"),
    pytest.param("second-order", r"\*m b \(T \+ t - i\)%N", "*m b i", id="one end only"),
]
"""(model, a pattern of what closed forms say, what they do not); told in statements and scripts alike."""


def solutions(text: str) -> str:
    """The certificate without the proof of its gradients."""
    for pattern in WITHOUT:
        text, found = re.subn(pattern, "", text, flags=re.MULTILINE | re.DOTALL)
        assert found, pattern
    return text


def checked(text: str) -> Verdict:
    """What Coq says; the test is skipped where there is no Coq."""
    if shutil.which("coqc") is None and not os.environ.get("SYMBPTT_CI"):
        pytest.skip("Coq is not on the PATH")
    return check(text)


def test_the_closed_forms_are_stated_as_the_engine_has_them() -> None:
    text = certificate(derive(api.load("linear")))
    words = " ".join(text.split())
    assert r"Theorem closed_form t : (0 < t)%N -> g_h t = " \
           r"\sum_(t <= i < T.+1) mxpow W_hh^T (i - t)%N *m (W_qh^T *m g_o i)." in words
    assert r"Theorem reversed_form t : (0 < t)%N -> g_h t = " \
           r"\sum_(t <= i < T.+1) mxpow W_hh^T (T - i)%N *m (W_qh^T *m g_o (T + t - i)%N)." in words
    assert r"Theorem sum_h_0 : dL_dh_0 = \sum_(1 <= i < T.+1) mxpow W_hh^T i *m W_qh^T *m g_o i." in words


def test_without_a_recurrence_there_is_no_closed_form() -> None:
    assert "Section Closed" in certificate(derive(loads(SOLVED)))
    text = certificate(derive(loads(FEEDFORWARD)))
    assert "Section Closed" not in text
    assert "Theorem formal_gradient" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elman", "stacked", "second-order"])
def test_coq_proves_the_closed_forms(name: str) -> None:
    d = derive(api.load(name))
    verdict = checked(solutions(certificate(d)))
    assert verdict.accepted, verdict.reason
    assert len(verdict.theorems) == 3 + len(d.of_kind("total"))
    assert not any(theorem.axioms for theorem in verdict.theorems)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "truth", "lie"), LIES)
def test_coq_refuses_a_wrong_closed_form(name: str, truth: str, lie: str) -> None:
    text = solutions(certificate(derive(api.load(name))))
    before, found, after = text.partition("Section Closed.")
    wrong, count = re.subn(truth, lie, after)
    assert found
    assert count
    verdict = checked(before + found + wrong)
    assert not verdict.accepted
    assert verdict.reason.startswith("Coq refuses it"), verdict.reason
    assert not re.search("[Ss]yntax|was not found", verdict.reason), verdict.reason
