"""Certificates of models with targets and gates at lags, subtracted terms, names like ours, and lies about them."""

from __future__ import annotations

import pytest

from symbptt.derive import derive
from symbptt.model.read import loads
from symbptt.proof.evaluation import Astray
from symbptt.proof.guard import guard
from symbptt.proof.reading import read
from symbptt.proof.windows import summands
from symbptt.render.certificate import certificate
from tests.render.test_certificate_closed import SHARED, SOLVED, checked

TARGET = SOLVED.replace("l(o, y)", "l(o, y[t-2])")
SUBTRACTED = SHARED.replace('"M @ z"', '"-(M @ z)"')
"""The gradient of M has a term that no window touches, with a minus sign."""
TWO_SUBTRACTED = SUBTRACTED + '\n[[loss]]\nterm = "-2*squared_norm(M)"\nreduce = "once"\n'
GATED = SOLVED.replace("[parameters]", '[parameters]\nM = "h, h"\nP = "h, h"') \
    .replace('h = "h[t-1] + x"', 'g = "sigmoid(x + M @ h[t-2])"\nh = "P @ (g * h[t-2])"')
"""The transition reads the gate at a later step, which reads the state at its lag: the state at t itself."""
INPUT = GATED.replace("sigmoid(x + M @ h[t-2])", "sigmoid(x[t-2] + M @ h[t-3])").replace("g * h[t-2]", "g * h[t-3]")
"""The gradient of the input reads the gate two steps later, and that the state one step before the input."""
LAST = TARGET.replace("y[t-2]", "y[t-1]") + 'reduce = "last"\n'
"""The loss at T reads the target before it."""
NAMED = SOLVED.replace("[parameters]", '[constants]\ninv_T = "a"\ninv_gamma = "b"\ngamma = "c"\n\n[parameters]') \
    .replace("h[t-1] + x", "inv_gamma*h[t-1] + inv_T*x/gamma")+ 'reduce = "mean"\n'
"""Constants with the names that certificates give to 1/T and 1/gamma."""
CANCELLED = SOLVED.replace("h[t-1] + x", "V.T @ x[t-1] - V.T @ x[t-1] + h[t-1]").replace('x = "h"', 'x = "q"')
"""A parameter whose terms in the recurrence cancel, so that no window cuts its gradient."""
HONEST = {"cancelled": CANCELLED,
          "target": TARGET, "subtracted": SUBTRACTED, "two subtracted": TWO_SUBTRACTED, "gated": GATED, "input": INPUT,
          "last": LAST, "named": NAMED}

PROVED = [name for name in HONEST if name not in ("subtracted", "named")]
"""Those of which Coq has to be asked: what is subtracted twice is subtracted once, and names are names to it."""

LIES = {
    "a target before the first step that moves": (TARGET, "fixed (y_past k)", "line (y_past k) (y_past k)", "tgpast_y"),
    "another target before the first step": (TARGET, "(T%:R^-1) y y_past", "(T%:R^-1) y y", "tgpast_y"),
    "no window at all": (SUBTRACTED, r"minn (t + uses)%N T.+1", "T.+1", "split its sums"),
    "1/gamma for a constant called inv_gamma": (NAMED, "let h := inv_gamma *:", "let h := inv_gamma' *:", "h at 1"),
    "left out subtracted": (SUBTRACTED, r" + \sum_(1 <= t < T.+1) (\sum_((t + uses)%N",
                            r" - \sum_(1 <= t < T.+1) (\sum_((t + uses)%N", "what is left out by"),
    "a sum subtracted beside the window": (
        SUBTRACTED, r" - dL_dh_0 *m z^T.",
        r" - dL_dh_0 *m z^T - \sum_(1 <= t < T.+1) g_h t *m z^T.", "truncated_sum_M"),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_the_statement_is_understood(text: str) -> None:
    model = loads(text)
    guard(model, certificate(derive(model)))


def test_what_is_subtracted_is_a_summand_with_its_sign() -> None:
    assert summands(read("a + b - c + d - (e + f)")) == [
        ("name", "a"), ("name", "b"), ("minus", ("name", "c")), ("name", "d"), ("minus", read("e + f"))]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused(lie: str) -> None:
    source, old, new, reason = LIES[lie]
    model = loads(source)
    first = "Theorem truncated_sum_M " if source == SUBTRACTED else "Section Forward."
    before, theorem, text = certificate(derive(model)).partition(first)
    assert old in text
    with pytest.raises(Astray, match=reason):
        guard(model, before + theorem + text.replace(old, new, 1))


@pytest.mark.slow
@pytest.mark.parametrize("text", [HONEST[name] for name in PROVED], ids=PROVED)
def test_coq_proves_it(text: str) -> None:
    verdict = checked(certificate(derive(loads(text))))
    assert verdict.accepted, verdict.reason
