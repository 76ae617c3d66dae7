"""Closed forms in certificates: Coq proves those of the engine, and none that differs in an index or a block."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from symbptt import api
from symbptt.derive import derive
from symbptt.expr.index import t
from symbptt.expr.nodes import Zero
from symbptt.model.read import load, loads
from symbptt.proof.checker import Verdict, check
from symbptt.proof.evaluation import Astray
from symbptt.proof.guard import guard
from symbptt.proof.oracle import Oracle
from symbptt.proof.truncation import USES, summands
from symbptt.proof.windows import engine
from symbptt.render.certificate import certificate
from tests.conftest import FILES
from tests.render.test_certificate import framed

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

TWICE = SOLVED.replace('x = "h"', 'x = "h"\nuses = "h"') \
    .replace('"h[t-1] + x"', '"tanh(uses * (W @ h[t-1]) + x)"') \
    .replace("[parameters]", '[parameters]\nW = "h, h"').replace("[equations]", '[initial]\nh = "W @ z"\n[equations]') \
    .replace("[states]", '[static]\nz = "h"\n[states]')
"""An input under the name of the number of uses, and a weight that is used before the first step too."""

SHARED = SOLVED.replace('x = "h"', 'x = "h"\n[static]\nz = "h"').replace("[parameters]", '[parameters]\nM = "h, h"') \
    .replace("[equations]", '[initial]\nh = "M @ z"\n[equations]').replace("h[t-1] + x", "M @ h[t-1] + x")
"""The matrix of the recurrence computes the initial value too: one more factor beside its powers."""

SEVERAL = SHARED.replace('M = "h, h"', 'M = "h, h"\nb = "h"').replace('"M @ z"', '"tanh(M @ z + b)"') \
    .replace('"M @ h[t-1] + x"', '"h[t-1] + relu(M @ p + x + b)"') \
    .replace("[equations]", '[equations]\np = "tanh(h[t-1])"')
"""The same beside sums of three within functions, which have to stay as they are."""

SQUARED = SHARED.replace('"M @ z"', '"M @ M.T @ z"')
"""It computes the initial value in two places."""

TURNED = SHARED.replace('M = "h, h"', 'M = "h, q"\nN = "q, h"').replace('"M @ z"', '"M @ N @ z"') \
    .replace("M @ h", "M @ N @ h")
"""The base of a power is a product, which can begin with either factor."""

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


def said(text: str, theorem: str) -> str:
    """What a theorem says, on one line."""
    found = re.search(rf"^Theorem {theorem} (.*?)\.\nProof", text, re.MULTILINE | re.DOTALL)
    assert found is not None, theorem
    return " ".join(found[1].split())


def test_truncations_are_stated_for_every_number_of_uses() -> None:
    text = certificate(derive(api.load("linear")))
    word = r"mxpow W_hh^T (i - t)%N *m (W_qh^T *m g_o i)"
    assert said(text, "truncated_form") == r"uses t : (0 < t)%N -> g_h t = \sum_(t <= i < minn (t + uses)%N T.+1) " \
        rf"{word} + \sum_((t + uses)%N <= i < T.+1) {word}"
    word = r"mxpow W_hh^T (i - t)%N *m W_qh^T *m g_o i *m (h t.-1)^T"
    assert said(text, "truncated_sum_W_hh") == r"uses : dL_dW_hh = \sum_(1 <= t < T.+1) " \
        rf"(\sum_(t <= i < minn (t + uses)%N T.+1) {word}) + " \
        rf"\sum_(1 <= t < T.+1) (\sum_((t + uses)%N <= i < T.+1) {word})"
    assert "truncated_sum_W_qh" not in text  # which the recursion does not enter


def test_a_given_number_of_uses_changes_nothing() -> None:
    every, two = (certificate(derive(api.load("elman"), truncate=uses)) for uses in (None, 2))
    assert every.partition("Section")[2] == two.partition("Section")[2]


def test_a_use_before_the_first_step_is_left_whole() -> None:
    text = certificate(derive(loads(TWICE)))
    assert said(text, "truncated_sum_W").startswith("uses' : dL_dW = ")
    assert said(text, "truncated_sum_W").endswith(" + dL_dh_0 *m z^T")


WINDOWED = ["linear", "second-order", "elman", "masked_weight", "last_loss", "two_starts", "two_losses",
            "teacher_forcing", "lag_three_only", "constants"]
NAMES = [pytest.param(n, marks=pytest.mark.slow if n not in WINDOWED[:5] else ()) for n in WINDOWED]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("uses", [1, 2, 5])
def test_what_is_kept_is_what_the_engine_keeps_of_a_given_window(name: str, uses: int) -> None:
    """The lines of `derive --truncate` beside those with a variable, with which certificates are compared."""
    model = load(FILES[name]) if name in FILES else api.load(name)
    d = derive(model, truncate=uses)
    truth = Oracle(model, 4, 3, d.closed.letters)
    every = engine(model).halves
    lines = {f"truncated_sum_{line.name}" if line.name else "truncated_form": line for line in d.of_kind("truncated")}
    assert lines.keys() == every.keys()
    for key, line in lines.items():
        halves = every[key]
        for time in (1, 3, 4) if key == "truncated_form" else (1,):
            at = {t: time, USES: uses}
            kept, *others = summands(line.forms[-1])
            assert truth.value(line.forms[-1], at) == truth.value(halves.right, at)
            assert truth.value(halves.left_out, at) == truth.value(Zero(*kept.shape), at) or uses < 4
            if len(others) == 1 + len(halves.once):  # not where one word holds both halves
                assert truth.value(kept, at) == truth.value(halves.kept, at)
                assert truth.value(others[0], at) == truth.value(halves.left_out, at)


@pytest.mark.parametrize("name", NAMES)
def test_the_halves_of_a_window_are_compared_by_value(name: str) -> None:
    model = load(FILES[name]) if name in FILES else api.load(name)
    guard(model, certificate(derive(model)))


def test_without_a_recurrence_there_is_no_closed_form() -> None:
    assert "Section Closed" in certificate(derive(loads(SOLVED)))
    text = certificate(derive(loads(FEEDFORWARD)))
    assert "Section Closed" not in text
    assert "Theorem formal_gradient" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elman", "stacked", "second-order"])
def test_coq_proves_the_closed_forms(name: str) -> None:
    """The truncations among them."""
    d = derive(api.load(name))
    verdict = checked(solutions(certificate(d)))
    assert verdict.accepted, verdict.reason
    split = derive(api.load(name), truncate=2).of_kind("truncated")
    assert len(verdict.theorems) == 3 + len(d.of_kind("total")) + len(split)
    assert not any(theorem.axioms for theorem in verdict.theorems)


@pytest.mark.slow
@pytest.mark.parametrize("text", [
    pytest.param(SHARED + '\nreduce = "last"', id="one loss"), pytest.param(SEVERAL, id="nonlinear"),
    pytest.param(SQUARED, id="two places"), pytest.param(TURNED, id="a product as base")])
def test_coq_proves_the_closed_forms_where_a_parameter_computes_an_initial_value_too(text: str) -> None:
    verdict = checked(certificate(derive(loads(text))))
    assert verdict.accepted, verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize("lie", ["mxpow M^T i", "mxpow M i.+1", "mxpow M^T i.+2"])
def test_coq_refuses_a_wrong_power_and_is_quoted_with_the_lemma(lie: str) -> None:
    before, found, after = solutions(certificate(derive(loads(SHARED)))).partition("Theorem sum_z ")
    wrong, count = re.subn(r"mxpow M\^T i\.\+1", lie, after, count=1)
    assert found
    assert count
    verdict = checked(before + found + wrong)
    assert verdict.reason.startswith("Coq refuses it: Theorem sum_z, line "), verdict.reason
    assert "certificate.v" not in verdict.reason


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


LAGGED = [
    pytest.param('h = "h[t-1] * h[t-2] + W @ x"', 'h = "n"', id="a state by itself"),
    pytest.param('h = "W @ h[t-1] + h[t-2] * x[t-3]"', 'h = "n"', id="a state by an input"),
    pytest.param('h = "h[t-1] * x[t-2] + W @ x"', 'h = "n"', id="the lag stands in the transition"),
    pytest.param('e = "v @ x"\nh = "W @ x + e[t-2] * h[t-1]"', 'h = "n"\ne = "1"', id="a number by a state"),
]
"""Products of values that stand at different lags."""


@pytest.mark.slow
@pytest.mark.parametrize(("equations", "states"), LAGGED[::2])
def test_coq_proves_products_of_lags(equations: str, states: str) -> None:
    verdict = checked(certificate(derive(framed(equations, states))))
    assert verdict.accepted, verdict.reason


DIVIDED = [
    pytest.param('h = "(1-gamma)*h[t-1]/gamma + W @ x"', id="of the state"),
    pytest.param('h = "h[t-1] + (1-gamma)*tanh(W @ x)/gamma"', id="of what is added to it"),
    pytest.param('h = "(beta-gamma)*h[t-1]/(3*gamma*beta) + W @ x"', id="by two constants and a number"),
]
"""Sums divided by constants."""


@pytest.mark.slow
@pytest.mark.parametrize("equations", DIVIDED[1:])
def test_coq_proves_sums_that_are_divided(equations: str) -> None:
    verdict = checked(certificate(derive(framed(equations))))
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize(("name", "claim"), [
    ("inverse_of_gamma", "gamma * inv_gamma = 0"), ("inverse_of_beta", "gamma * gamma = 1"),
    ("inverse_of_beta", "gamma * inv_gamma = 0"), ("inverse_of_gamma'", "dL_dh_0 = 0"),
])
def test_of_scalars_closed_forms_suppose_inverses_alone(name: str, claim: str) -> None:
    model = framed('h = "(1-gamma)*h[t-1]/gamma + W @ x"')
    text = certificate(derive(model))
    guard(model, text)
    before, _, after = text.partition("Section Closed.")
    assert "Hypothesis inverse_of_gamma : gamma * inv_gamma = 1." in after
    lie = after.replace("inverse_of_gamma : gamma * inv_gamma = 1.", f"{name} : {claim}.", 1)
    with pytest.raises(Astray):
        guard(model, f"{before}Section Closed.{lie}")


@pytest.mark.slow
@pytest.mark.parametrize("equations", ['h = "W @ h[t-1] + x"', 'h = "(1-gamma)*h[t-1]/gamma + W @ x"'])
def test_coq_proves_the_one_word_of_a_linear_recurrence(equations: str) -> None:
    """Powers are written from the last step, and whole at the first."""
    verdict = checked(certificate(derive(framed(equations, reduce="last"))))
    assert verdict.accepted, verdict.reason


LATE = [
    pytest.param("W @ h[t-1] + W @ x[t-2]", id="two steps"), pytest.param("W @ h[t-1] + W @ x[t-3] + s0", id="three"),
    pytest.param("W @ h[t-1] + W @ x + W @ x[t-1] - gamma*(W @ x[t-2]) + W @ x[t-4]", id="several lags"),
    pytest.param("0.5*(W @ h[t-1]) + 0.5*(W @ x[t-2])", id="with a number"),
    pytest.param("W @ (W @ h[t-1]) + W @ (W @ (W @ x[t-3]))", id="a power of a product"),
    pytest.param("W.T @ h[t-2] + W.T @ x[t-3]", id="a state two steps back"),
]
"""Inputs that come in late, through the matrix of the recurrence: sums begin late, and their powers are short."""


@pytest.mark.slow
@pytest.mark.parametrize(("right", "reduce"), [
    pytest.param(*case.values, ("mean", "last")[k % 2], id=case.id) for k, case in enumerate(LATE)])
def test_coq_proves_the_gradients_of_inputs_that_come_in_late(right: str, reduce: str) -> None:
    verdict = checked(solutions(certificate(derive(framed(f'h = "{right}"', reduce=reduce)))))
    assert verdict.accepted, verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize("lie", ["mxpow W^T i", "mxpow W^T i.-2", "mxpow W i.-1"])
def test_coq_refuses_a_wrong_power_of_a_late_sum(lie: str) -> None:
    text = solutions(certificate(derive(framed('h = "W @ h[t-1] + W @ x[t-2]"'))))
    right = r"\sum_(2 <= i < T.+1) mxpow W^T i.-1"
    assert text.count(right) == 1
    verdict = checked(text.replace(right, right.replace("mxpow W^T i.-1", lie)))
    assert verdict.reason.startswith("Coq refuses it: Theorem sum_x_0, line "), verdict.reason


@pytest.mark.slow
def test_coq_proves_sums_over_several_ranges_one_of_which_is_scaled() -> None:
    model = framed('h = "tanh(0.5*h[t-1] + W @ h[t-2] + x)"', initial='h_0 = "tanh(W @ s0)"')
    text = certificate(derive(model))
    assert r"inv_2 *: (\sum_(1 <= i < T.+1)" in said(text, "sum_W")
    verdict = checked(solutions(text))
    assert verdict.accepted, verdict.reason
