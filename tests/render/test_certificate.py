"""Certificates: their printer is total, names never clash, and their statement is the model's, or the guard says so."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from itertools import pairwise

import pytest
from sympy import MatrixSymbol

from symbptt.expr import nodes
from symbptt.expr.index import Index, IndexVar, T, t
from symbptt.expr.nodes import NODES, At, Norm
from symbptt.model.functions import FUNCTIONS, VECTOR_FUNCTIONS
from symbptt.model.read import loads, source_text
from symbptt.model.spec import Model
from symbptt.proof import checker
from symbptt.proof.evaluation import Astray
from symbptt.proof.guard import guard
from symbptt.proof.reading import NotRead, read
from symbptt.proof.skeleton import SLOPES
from symbptt.proof.vernacular import NEVER, sentences
from symbptt.render.certificate import certificate
from symbptt.render.certificate_math import PRINTERS, NotCovered, Printer, Vocabulary, nat
from symbptt.render.certificate_names import EXTENSIONS, KEYWORDS, Names
from symbptt.render.certificate_terms import TERMS
from tests.conftest import derived

HOSTILE = """
name = "hostile"
[sizes]
h = "hidden"
nat = "input"
[parameters]
fun = "h, nat"
Type = "h, h"
end = "h"
mulmx = "h, h"
[inputs]
R = "nat"
[targets]
pull = "h"
[states]
rec = "h"
[equations]
rec = "tanh(fun @ R + Type @ rec[t-1] + end)"
dg = "mulmx @ rec"
[[loss]]
term = "dotm(dg, pull)"
"""


def test_the_tables_have_a_row_for_each_class() -> None:
    assert set(PRINTERS) == set(NODES)
    assert set(TERMS) == set(NODES)
    assert set(EXTENSIONS) == set(FUNCTIONS) | set(VECTOR_FUNCTIONS)


def test_names_are_injective_and_no_words_of_coq() -> None:
    names = Names()
    given = [names("variable", word, wanted=word) for word in (*KEYWORDS, "mulmx", "R", "h", "h'")]
    given.append(names("other", "h", wanted="h"))
    assert len(set(given)) == len(given)
    assert not KEYWORDS & set(given)
    assert names("variable", "h", wanted="h") == "h"


@pytest.mark.parametrize(("form", "text"), [
    (Index(0), "0"), (t + Index(1), "t.+1"), (Index(-1) + t, "t.-1"), (Index(6) + t, "t.+4.+2"),
    (Index(0, [(T, 1), (t, 1), (IndexVar("i"), -1)]), "(T + t - i)%N"),
    (Index(-1, [(T, 1), (IndexVar("i"), -1)]), "(T - i).-1"),
])
def test_times_are_natural_numbers(form: Index, text: str, named: Callable[[str], Model]) -> None:
    assert nat(Vocabulary(named("elman")), form).text == text


def test_lags_and_values_before_the_first_step(named: Callable[[str], Model]) -> None:
    model = named("lag_two")
    show, later = Printer(Vocabulary(model)), Printer(Vocabulary(model), since=0)
    h = model.families["h"]
    assert show(At(h, Index(-1) + t)) == "h t.-1"
    assert show(At(h, Index(-2) + t)) == "at_lag h h_past 2 t"
    assert later(At(h, Index(-1) + t)) == "at_lag h h_past 1 t"
    assert show(At(h, -1)) == "h_past 1"


def test_what_is_not_covered_is_said() -> None:
    model = loads(HOSTILE)
    with pytest.raises(NotCovered, match="does not cover Norm"):
        Printer(Vocabulary(model))(Norm(MatrixSymbol("A", 2, 2)))
    assert issubclass(NotCovered, ValueError)
    assert PRINTERS[nodes.Tangent] is Printer.outside


def test_the_statement_of_every_model_is_the_models(model: Model) -> None:
    if model.name in QUICK:
        guard(model, certificate(derived(model)))


@pytest.mark.slow
def test_the_statement_of_every_other_model_is_the_models(model: Model) -> None:
    if model.name not in QUICK:
        guard(model, certificate(derived(model)))


QUICK = {"linear", "elman", "second-order", "masked-mean", "computed-start"}


def test_the_statement_of_hostile_names_is_the_models() -> None:
    model = loads(HOSTILE)
    guard(model, certificate(derived(model)))


def test_a_model_may_use_every_name_that_a_script_cites(model: Model) -> None:
    """In front of its scripts a certificate gives the model's names their meaning, and would hide a lemma."""
    if model.name in QUICK:
        words = {w for s in sentences(certificate(derived(model))) for w in s.words}
        library = "".join(path.read_text(encoding="utf-8") for path in checker.sources())
        cited = words & {*re.findall(r"(?m)^(?:Lemma|Theorem|Definition|Fixpoint) ([\w']+)", library)} - SLOPES
        assert cited
        assert not {w for w in cited if Names()("variable", w, wanted=w) == w}


TAKEN = {"W_hx": "lib", "W_hh": "rec_g_h", "W_qh": "mulmxA", "y": "CoFixpoint", "x": "esym", "o": "leq_trans"}


def called_otherwise(text: str) -> str:
    """A model with names that mean something to Coq, or that certificates make of those of families."""
    for old, new in TAKEN.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def test_names_that_mean_something_to_coq_are_free_for_models() -> None:
    model = loads(called_otherwise(source_text("linear")))
    guard(model, certificate(derived(model)))


def test_words_that_no_certificate_holds_are_free_for_models() -> None:
    for word in sorted(NEVER):
        if word.isidentifier():
            model = loads(re.sub(r"\bW_hh\b", word, source_text("linear")))
            assert model.parameters[1].name == word
            guard(model, certificate(derived(model)))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not on the PATH")
def test_coq_accepts_them() -> None:
    found = checker.check(certificate(derived(loads(called_otherwise(source_text("linear"))))))
    assert found.accepted, found.reason


LIES = {
    "a sign": ("*m g_h t.+1 + W_qh^T *m g_o t", "*m g_h t.+1 - W_qh^T *m g_o t"),
    "a missing transpose": ("g_h t = W_hh^T *m", "g_h t = W_hh *m"),
    "h_t for h_{t-1}": ("*m (h t.-1)^T", "*m (h t)^T"),
    "a dropped bias": ("st_h past 0 + b_h)", "st_h past 0)"),
    "a sum from t + 1": ("dL_db_h : 'cV[R]_n_h := \\sum_(1 <= t", "dL_db_h : 'cV[R]_n_h := \\sum_(2 <= t"),
    "a sum that ends early": ("dL_db_q : 'cV[R]_n_q := \\sum_(1 <= t < T.+1)",
                              "dL_db_q : 'cV[R]_n_q := \\sum_(1 <= t < T)"),
    "another slope": ("g_h t = W_hh^T *m dg (const_mx 1 - hadm (h t.+1) (h t.+1))",
                      "g_h t = W_hh^T *m dg (const_mx 1 - hadm (h t) (h t.+1))"),
    "a factor of the loss": ("loss : 'M[R]_1 := inv_T *: (", "loss : 'M[R]_1 := 2%:R *: ("),
    "a range of the recursion": ("rec_g_h : forall t, (1 <= t <= T)%N", "rec_g_h : forall t, (2 <= t <= T)%N"),
    "an end of the recursion": ("end_g_h : forall t, (T < t)%N", "end_g_h : forall t, (T <= t)%N"),
    "a gradient left out": (" + << dL_db_h, d_b_h >>", ""),
    "a gradient twice": ("<< dL_db_q, d_b_q >>", "<< dL_db_q, d_b_q >> + << dL_db_q, d_b_q >>"),
    "another direction": ("Local Notation d_b_h := (pt_b_h dir)", "Local Notation d_b_h := (pt_b_h pt)"),
    "a weaker claim": ("Theorem gradient : recursion ->", "Theorem gradient : False -> recursion ->"),
    "another parameter": ("Local Notation W_qh := (pt_W_qh pt)", "Local Notation W_qh := (pt_W_qh dir)"),
    "a start": ("else State h_past 0", "else State (fun k => 2%:R *: h_past k) 0"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_tampered_statement_is_found(lie: str, named: Callable[[str], Model]) -> None:
    model = named("elman")
    text = certificate(derived(model))
    old, new = LIES[lie]
    assert old in text
    with pytest.raises(Astray):
        guard(model, text.replace(old, new))


def test_swapped_gates_are_found(named: Callable[[str], Model]) -> None:
    model = named("gru")
    text = certificate(derived(model))
    old = "hadm z (st_h past 0)"
    assert old in text
    with pytest.raises(Astray):
        guard(model, text.replace(old, "hadm r (st_h past 0)"))


def test_terms_are_read_with_the_precedence_of_the_library() -> None:
    assert read("a *m b + c") == ("binary", "+", ("binary", "*m", ("name", "a"), ("name", "b")), ("name", "c"))
    assert read("f x^T") == ("apply", ("name", "f"), (("postfix", "^T", ("name", "x")),))
    for wrong in ("a +", "f (x", "a b )", "%"):
        with pytest.raises(NotRead):
            read(wrong)


def test_equal_input_gives_equal_text(named: Callable[[str], Model]) -> None:
    first, second = (certificate(derived(named("lstm"))) for _ in range(2))
    assert all(a == b for a, b in pairwise((first, second)))


FRAME = """
name = "frame"
[sizes]
n = "s"
[constants]
gamma = "rate"
beta = "gain"
[parameters]
W = "n, n"
v = "1, n"
[static]
s0 = "n"
[inputs]
x = "n"
[targets]
y = "n"
[states]
h = "n"
[equations]
h = "x"
[[loss]]
term = "l(h, y)"
reduce = "mean"
"""


def framed(equations: str, states: str = 'h = "n"', initial: str = "", reduce: str = "mean") -> Model:
    """A model with these equations."""
    text = FRAME.replace('h = "x"', equations).replace('h = "n"', states).replace("mean", reduce)
    return loads(text.replace("[equations]", f"[initial]\n{initial}\n[equations]") if initial else text)


WIDE = loads(FRAME.replace('"n', '"2*n').replace(", n", ", 2*n").replace('"x"', '"W @ h[t-2] + x"'))
STARTED = framed('h = "W @ g[t-1] + x"\ng = "W @ h[t-1]"', 'h = "n"\ng = "n"',
                 'h_0 = "W @ s0"\ng_0 = "tanh(W @ s0)"')


def test_the_height_of_stacked_adjoints_may_be_a_sum_of_products() -> None:
    text = certificate(derived(WIDE))
    assert "Definition Gamma (t : nat) : 'cV[R]_((2 * n_n) + (2 * n_n)) :=" in text
    guard(WIDE, text)


def test_each_past_depends_on_what_its_own_equations_name() -> None:
    text = certificate(derived(STARTED))
    assert "Local Notation h_past := (past_h pt)." in text
    assert "Local Notation g_past := (past_g env pt)." in text
    guard(STARTED, text)
