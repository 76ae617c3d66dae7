"""What certificates say of values inside the network: g_v t is the derivative of L by what is added to v at time t."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from symbptt.derive import derive
from symbptt.expr.nodes import At
from symbptt.model.spec import Model
from symbptt.proof.checker import check
from symbptt.proof.evaluation import Astray
from symbptt.proof.field import PRIME
from symbptt.proof.guard import guard
from symbptt.proof.oracle import Oracle
from symbptt.proof.pushed import Pushed
from symbptt.render.certificate import certificate
from symbptt.render.certificate_check import examined
from tests.conftest import derived

PUSHED = r" + \sum_(1 <= t < T.+1) << g_h t, d_off_h t >>"


def test_what_is_added_at_one_step_is_seen_there_and_later(named: Callable[[str], Model]) -> None:
    model = named("linear")
    plain, pushed = Oracle(model, 3, 1), Pushed(model, 3, 1)
    h, x = model.families["h"], model.families["x"]
    assert pushed.value(At(x, 2)) == plain.value(At(x, 2))
    assert pushed.value(At(h, 0)) == plain.value(At(h, 0))
    difference = [[(b - a) % PRIME for a, b in zip(p, q, strict=True)]
                  for p, q in zip(plain.value(At(h, 1)), pushed.value(At(h, 1)), strict=True)]
    assert tuple(map(tuple, difference)) == pushed.added(At(h, 1))


LIES = {
    "nothing is added": ("st_h past 0 + off_h t in", "st_h past 0 in", "h at 1"),
    "it is added twice": ("st_h past 0 + off_h t in", "st_h past 0 + off_h t + off_h t in", "h at 1"),
    "it is taken away": ("st_h past 0 + off_h t in", "st_h past 0 - off_h t in", "h at 1"),
    "it is added to the output as well": ("h + off_o t in", "h + off_o t + W_qh *m off_h t in", "o at 1"),
    "it is added at the next step": ("st_h past 0 + off_h t in", "st_h past 0 + off_h t.+1 in", "h at 1"),
    "the loss leaves it out": ("const_mx (l (o t) (y t))", "const_mx (l (o t - off_o t) (y t))", "the objective"),
    "the theorems leave it out": (PUSHED, "", "the right side of formal_gradient"),
    "its gradient is that of the next step": (PUSHED, PUSHED.replace("g_h t", "g_h t.+1"), "the right side"),
    "it moves twice as far": ("(fun k => line (off_h k) (d_off_h k))",
                              "(fun k => line (off_h k) (d_off_h k + d_off_h k))", "moved: the field of_h"),
    "it moves nowhere over the reals": ("(fun k => line (off_h k) (d_off_h k) s)",
                                        "(fun k => line (off_h k) (off_h k) s)", "along: the field of_h"),
    "a premise that nothing moves": ("Hypothesis formal_still_h : forall t, off_h t = 0",
                                     "Hypothesis formal_still_h : forall t, d_off_h t = 0", "formal_still_h"),
    "a premise about an adjoint": ("Hypothesis formal_still_h : forall t, off_h t = 0",
                                   "Hypothesis formal_still_h : forall t, g_h t = 0", "formal_still_h"),
    "a premise that states are 0": ("Hypothesis real_still_h : forall t, off_h t = 0",
                                    "Hypothesis real_still_h : forall t, h t = 0", "real_still_h"),
    "a premise about another number": ("Hypothesis real_still_h : forall t, off_h t = 0",
                                       "Hypothesis real_still_h : forall t, off_h t = off_h 1", "real_still_h"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_what_is_added_is_refused(lie: str, named: Callable[[str], Model]) -> None:
    model = named("linear")
    text = certificate(derived(model))
    old, new, reason = LIES[lie]
    assert old in text
    with pytest.raises(Astray, match=reason):
        guard(model, text.replace(old, new))


def test_what_is_added_to_one_family_is_not_added_to_another(named: Callable[[str], Model]) -> None:
    """The same notations, consistently exchanged."""
    model = named("gru")
    text = certificate(derived(model))
    one, other = [e.name for e in model.order if e.left.shape == model.families["h"].shape][:2]
    for was, becomes in ((one, "?"), (other, one), ("?", other)):
        text = text.replace(f"(of_{was} ", f"(of_{becomes} ").replace(f"(off_{was} k) (d_off_{was} k)",
                                                                      f"(off_{becomes} k) (d_off_{becomes} k)")
    with pytest.raises(Astray, match="the right side of formal_gradient"):
        guard(model, text)


ALONE = r"""
Lemma alone s (v : 'cV[R]_n_h) : (1 <= s <= T)%N -> (forall t, off_h t = 0) -> (forall t, off_o t = 0) -> recursion ->
  formal.du ((loss lifted (moved (Point 0 0 0 (fun _ => 0) (fun _ => 0) (fun k => (k == s)%:R *: v) (fun _ => 0))))
    0 0) = << g_h s, v >>.
Proof.
move=> sT h0 o0 rec; rewrite (formal_gradient _ h0 o0 rec) /= !dotm0r.
have Z n (g : nat -> 'cV[R]_n) : \sum_(1 <= t < T.+1) << g t, 0 >> = 0 by rewrite big1 // => t _; rewrite dotm0r.
rewrite !Z !add0r (bigD1_seq s) ?mem_index_iota ?iota_uniq ?ltnS //= eqxx scale1r big1 ?addr0 // => t.
by move/negPf->; rewrite scale0r dotm0r.
Qed.
End Backward.
"""
"""What is said of all steps at once, at one step alone."""

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None and not os.environ.get("SYMBPTT_CI"),
                               reason="Coq is not on the PATH")


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("lie", [None, "<< g_h s.+1, v >>"])
def test_coq_concludes_that_an_adjoint_is_the_derivative_at_one_step(lie: str | None,
                                                                    named: Callable[[str], Model]) -> None:
    text = certificate(derived(named("linear"))).replace("End Backward.\n", ALONE.lstrip())
    assert "Lemma alone" in text
    verdict = check(text if lie is None else text.replace("= << g_h s, v >>.", f"= {lie}."))
    assert verdict.accepted == (lie is None), verdict.reason
    assert lie is None or "Lemma alone" in verdict.reason


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("lie", ["nothing is added", "it is added twice", "its gradient is that of the next step"])
def test_coq_refuses_it_too(lie: str, named: Callable[[str], Model]) -> None:
    old, new, _ = LIES[lie]
    verdict = check(certificate(derived(named("linear"))).replace(old, new))
    assert verdict.reason.startswith("Coq refuses it"), verdict.reason


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", ["stacked", "two_starts"])
def test_coq_accepts_what_is_added(name: str, named: Callable[[str], Model]) -> None:
    model = named(name)
    verdict = examined(certificate(derive(model)), model)
    assert verdict.accepted, verdict.reason
