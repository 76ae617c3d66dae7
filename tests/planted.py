"""Lies to plant in certificates: what is changed in the text, who must refuse it, and by which words.

A change is (place, here, there): behind the first `place`, the first `here` becomes `there`. A lie about mathematics
stops Coq at a lemma and the guard at a value; a lie about what is stated passes Coq, for its proof is right, and must
stop the guard; a lie in what a file asks of Coq must stop the list of sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from symbptt.derivation import Derivation
from symbptt.derive import derive
from symbptt.model.read import load, loads
from symbptt.model.spec import Model
from symbptt.render.certificate import certificate
from tests.conftest import FILES

Change = tuple[str, str, str]

GATED = """
name = "gated"
[sizes]
d = "input"
h = "hidden"
[parameters]
A = "h, d"
B = "h, h"
b = "h"
C = "h, d"
[inputs]
x = "d"
[targets]
y = "h"
m = "1"
[states]
h = "h"
[equations]
f = "sigmoid(A @ x + B @ h[t-1] + b)"
i = "sigmoid(C @ x)"
h = "f * h[t-1] + i * f"
[[loss]]
term = "squared_error(h, y)"
reduce = "mean"
mask = "m"
"""
"""Two gates that are easily exchanged, a target that is easily forgotten, a mask, and a half in the loss."""


@dataclass(frozen=True)
class Lie:
    """A change and the words of those who refuse it."""

    what: str
    model: str
    changes: tuple[Change, ...]
    coqc: str = ""
    """The lemma or definition at which Coq stops; "": Coq accepts it, so that the guard alone stands in the way."""
    guard: str = ""
    """What the guard's reason speaks of; "": what is changed is not the guard's matter."""
    throughout: tuple[str, str] | None = None
    """A word that becomes another behind the first lines, which bind it."""


@cache
def model(name: str) -> Model:
    """A model by the stem of its file."""
    return loads(GATED) if name == "gated" else load(FILES[name])


@cache
def derivation(name: str) -> Derivation:
    """Its derivation."""
    return derive(model(name))


@cache
def honest(name: str) -> str:
    """Its certificate."""
    return certificate(derivation(name))


def part(text: str, *left_out: str) -> str:
    """A certificate without some of its sections, on which what stays does not depend."""
    for section in left_out:
        found = re.search(rf"^Section {section}\.$.*?^End {section}\.$", text, re.DOTALL | re.MULTILINE)
        assert found is not None, section
        text = text[:found.start()] + text[found.end():]
    return text


@cache
def algebra(name: str) -> str:
    """The gradient over any ring, without the reals, which take most of the time."""
    return part(honest(name), "Closed", "Real")


@cache
def closed(name: str) -> str:
    """The closed forms."""
    return part(honest(name), "Adjoint", "Formal", "Real")


@cache
def real(name: str) -> str:
    """The gradient over the reals."""
    return part(honest(name), "Formal", "Closed")


def changed(text: str, changes: tuple[Change, ...]) -> str:
    """The text with the lie in it."""
    for place, here, there in changes:
        found = re.compile(r"\s+".join(map(re.escape, here.split(" ")))).search(text, text.index(place))
        assert found is not None, here
        text = text[:found.start()] + there + text[found.end():]
    return text


def told(text: str, lie: Lie) -> str:
    """The text with this lie in it."""
    text = changed(text, lie.changes)
    if lie.throughout is None:
        return text
    start = text.index("Record given")
    return text[:start] + re.sub(rf"(?<![a-z]){lie.throughout[0]}\b", lie.throughout[1], text[start:])


def enclosing(text: str, line: int) -> str:
    """The name of the lemma, theorem or definition that holds a line."""
    above = "\n".join(text.splitlines()[:line])
    return re.findall(r"^(?:Lemma|Theorem|Definition|Fixpoint|Record) ([\w']+)", above, re.MULTILINE)[-1]


# Wrong backward passes. -----------------------------------------------------------------------------------------------

SLOPE = " *m dg (const_mx 1 - hadm (h t.+1) (h t.+1))"

BACKWARD = [
    Lie("a missing transpose", "linear", (("rec_g_h", "W_hh^T", "W_hh"),), "balance_h", "recursion of g_h"),
    Lie("a wrong sign", "linear", (("rec_g_h", "+", "-"),), "balance_h", "recursion of g_h"),
    Lie("the recurrent path cut", "linear", (("rec_g_h", "W_hh^T *m g_h t.+1 + ", ""),), "balance_h",
        "g_h"),
    Lie("the path through the output cut", "linear", (("rec_g_h", " + W_qh^T *m g_o t", ""),), "balance_h",
        "recursion of g_h"),
    Lie("g_t for g_t+1", "linear", (("rec_g_h", "g_h t.+1", "g_h t"),), "balance_h", "recursion of g_h"),
    Lie("a factor 2", "linear", (("rec_g_o", "inv_T *: ", "(2%:R * inv_T) *: "),), "balance_o", "recursion of g_o"),
    Lie("1/T missing", "linear", (("rec_g_o", "inv_T *: ", ""),), "balance_o", "recursion of g_o"),
    Lie("1/T twice", "linear", (("rec_g_o", "inv_T *: ", "(inv_T * inv_T) *: "),), "balance_o", "recursion of g_o"),
    Lie("h_t for h_t-1", "linear", (("Definition dL_dW_hh", "h t.-1", "h t"),), "total_W_hh", "gradient of W_hh"),
    Lie("x_t-1 for x_t", "linear", (("Definition dL_dW_hx", "x t", "x t.-1"),), "total_W_hx", "gradient of W_hx"),
    Lie("factors swapped", "linear", (("Definition dL_dW_hh", "g_h t *m (h t.-1)^T", "h t.-1 *m (g_h t)^T"),),
        "total_W_hh", "gradient of W_hh"),
    Lie("the sum from t + 1", "linear", (("Definition dL_dW_hx", "1 <= t", "2 <= t"),), "total_W_hx",
        "dL_dW_hx: this sum has no place"),
    Lie("the sum to T - 1", "linear", (("Definition dL_dW_qh", "T.+1", "T"),), "total_W_qh",
        "dL_dW_qh: this sum has no place"),
    Lie("one step for the sum", "linear", (("Definition dL_dW_qh", r"\sum_(1 <= t < T.+1) g_o t *m (h t)^T",
                                            "g_o T *m (h T)^T"),), "total_W_qh", "gradient of W_qh"),
    Lie("the initial state without its weight", "linear", (("Definition dL_dh_0", "W_hh^T *m g_h 1", "g_h 1"),),
        "total_h_0", "gradient of h_0"),
    Lie("the initial state one early", "linear", (("Definition dL_dh_0", "g_h 1", "g_h 0"),), "total_h_0",
        "gradient of h_0"),
    Lie("a gradient left out of the closing sum", "linear",
        (("Theorem formal_gradient", " + << dL_dW_hh, d_W_hh >>", ""),), "formal_gradient", "formal_gradient"),
    Lie("a gradient twice in the closing sum", "linear",
        (("Theorem formal_gradient", " + << dL_dW_hh, d_W_hh >>", 2 * " + << dL_dW_hh, d_W_hh >>"),),
        "formal_gradient", "formal_gradient"),
    Lie("the end one late", "linear", (("end_g_h", "(T < t)%N", "(T.+1 < t)%N"),), "shift_edge_4", "range.*g_h"),
    Lie("the end one early, which no family satisfies", "linear", (("end_g_h", "(T < t)%N", "(T <= t)%N"),),
        "shift_edge_4", "range.*g_h"),
    Lie("beyond T the last value", "linear", (("end_g_h", "g_h t = 0", "g_h t = g_h T"),), "shift_edge_4",
        "range.*g_h"),
    Lie("the recursion to T - 1", "linear", (("rec_g_h", "t <= T", "t < T"),), "balance_h", "range.*g_h"),
    Lie("the recursion from 2", "linear", (("rec_g_h", "1 <= t", "2 <= t"),), "balance_h", "range.*g_h"),
    Lie("W for its transpose in an input's gradient", "transposed_weight",
        (("Definition dL_dx", "W^T", "W"),), "total_x", "gradient of x"),
    Lie("a second use of a weight dropped", "transposed_weight", (("Definition dL_dW ", " + h t.-1 *m (g_h t)^T", ""),),
        "total_W", "gradient of W"),
    Lie("K_t for K_t+1", "elman", (("rec_g_h", SLOPE, SLOPE.replace(".+1", "")),), "balance_h", "recursion of g_h"),
    Lie("1 + y y for the slope of tanh", "elman", (("rec_g_h", "const_mx 1 -", "const_mx 1 +"),), "balance_h",
        "recursion of g_h"),
    Lie("1 - y for the slope of tanh", "elman", (("rec_g_h", "hadm (h t.+1) (h t.+1)", "h t.+1"),), "balance_h",
        "recursion of g_h"),
    Lie("the slope left out", "elman", (("rec_g_h", SLOPE, ""),), "balance_h", "recursion of g_h"),
    Lie("the slope twice", "elman", (("rec_g_h", SLOPE, SLOPE + SLOPE),), "balance_h", "recursion of g_h"),
    Lie("the slope of a sigmoid", "elman", (("rec_g_h", "const_mx 1 - hadm (h t.+1) (h t.+1)",
                                             "h t.+1 - hadm (h t.+1) (h t.+1)"),), "balance_h", "recursion of g_h"),
    Lie("a bias without the slope", "elman", (("Definition dL_db_h", "dg (const_mx 1 - hadm (h t) (h t)) *m ", ""),),
        "total_b_h", "gradient of b_h"),
    Lie("a bias dropped from the closing sum", "elman", (("Theorem formal_gradient", " + << dL_db_h, d_b_h >>", ""),),
        "formal_gradient", "formal_gradient"),
    Lie("a bias of the first step alone", "elman",
        (("Definition dL_db_q", r"\sum_(1 <= t < T.+1) g_o t", "g_o 1"),), "total_b_q", "gradient of b_q"),
    Lie("lag one for lag two", "lag_two", (("rec_g_h", "g_h t.+2", "g_h t.+1"),), "balance_h", "recursion of g_h"),
    Lie("the weight of lag two with lag one", "lag_two", (("Definition dL_dC", "past 2 t", "past 1 t"),), "total_C",
        "gradient of C"),
    Lie("the initial state reached by lag two forgotten", "lag_two",
        (("Definition dL_dh_0", " + C^T *m g_h 2", ""),), "total_h_0", "gradient of h_0"),
    Lie("the mask dropped", "gated", (("rec_e_h", "msc (m t) ", ""),), "balance_h", "recursion of e_h"),
    Lie("y forgotten", "gated", (("rec_e_h", "(h t - y t)", "h t"),), "balance_h", "recursion of e_h"),
    Lie("y - o for o - y", "gated", (("rec_e_h", "(h t - y t)", "(y t - h t)"),), "balance_h", "recursion of e_h"),
    Lie("the half kept", "gated", (("rec_e_h", "inv_M *: ", "(inv_M * inv_2) *: "),), "balance_h", "recursion of e_h"),
    Lie("gates swapped", "gated", (("rec_g_i", "dg (f t)", "dg (i t)"),), "balance_i", "recursion of g_i"),
    Lie("a gate's second path forgotten", "gated", (("rec_g_f", " + dg (i t) *m g_h t", ""),), "balance_f",
        "recursion of g_f"),
    Lie("the slope of tanh for a gate", "gated", (("rec_g_h", "hadm (f t.+1) (const_mx 1 - f t.+1)",
                                                   "const_mx 1 - hadm (f t.+1) (f t.+1)"),), "balance_h",
        "recursion of g_h"),
]

SOLVED = [
    Lie("a closed form's sum from t + 1", "linear", (("Theorem closed_form", "t <= i", "t.+1 <= i"),), "closed_form"),
    Lie("a closed form's sum to T - 1", "linear", (("Theorem closed_form", "T.+1", "T"),), "closed_form"),
    Lie("T - i for i - t", "linear", (("Theorem closed_form", "i - t", "T - i"),), "closed_form"),
    Lie("the exponent one too large", "linear", (("Theorem closed_form", "(i - t)%N", "(i.+1 - t)%N"),), "closed_form"),
    Lie("a closed form without its transpose", "linear", (("Theorem closed_form", "W_hh^T", "W_hh"),), "closed_form"),
    Lie("i - t for T - i", "linear", (("Theorem reversed_form", "T - i", "i - t"),), "reversed_form"),
    Lie("T + t - i off by one", "linear", (("Theorem reversed_form", "T + t - i", "T + t - i.+1"),), "reversed_form"),
    Lie("the empty sum of t = 0", "linear", (("Theorem closed_form", "(0 < t)%N", "(0 <= t)%N"),), "closed_form"),
    Lie("a double sum from t + 1", "linear", (("Theorem sum_W_hh", "t <= i", "t.+1 <= i"),), "sum_W_hh"),
    Lie("a double sum over h_t", "linear", (("Theorem sum_W_hh", "h t.-1", "h t"),), "sum_W_hh"),
    Lie("the initial state's exponent one too small", "linear", (("Theorem sum_h_0", "W_hh^T i", "W_hh^T i.-1"),),
        "sum_h_0"),
    Lie("the product from t", "elman", (("Theorem closed_form", "t.+1 <= k", "t <= k"),), "closed_form"),
    Lie("the product to i - 1", "elman", (("Theorem closed_form", "k < i.+1", "k < i"),), "closed_form"),
    Lie("K_k+1 for K_k in the product", "elman", (("Theorem closed_form", "hadm (h k) (h k)",
                                                   "hadm (h k.+1) (h k.+1)"),), "closed_form"),
]
"""Closed forms; what the guard says of them is not asked here."""

WHOLE = r"\sum_(t <= i < T.+1) mxpow W_hh^T (i - t)%N *m W_qh^T *m g_o i *m (h t.-1)^T"
KEPT = WHOLE.replace("T.+1", "minn (t + uses)%N T.+1")
LEFT_OUT = WHOLE.replace("(t <=", "((t + uses)%N <=")
FORM, TOTAL = "Theorem truncated_form", "Theorem truncated_sum_W_hh"

WINDOWS = [
    Lie("a remainder from t + K + 1", "linear", ((FORM, "(t + uses)%N <=", "((t + uses).+1)%N <="),), "truncated_form",
        "window of uses"),
    Lie("a kept part from t + 1", "linear", ((FORM, "t <= i", "t.+1 <= i"),), "truncated_form", "window of uses"),
    Lie("a kept part to t + K", "linear", ((FORM, "minn (t + uses)%N", "minn ((t + uses).+1)%N"),), "truncated_form",
        "window of uses"),
    Lie("a kept part to T - 1", "linear", ((FORM, "minn (t + uses)%N T.+1", "minn (t + uses)%N T"),), "truncated_form",
        "window of uses"),
    Lie("no remainder", "linear", ((TOTAL, rf" + \sum_(1 <= t < T.+1) ({LEFT_OUT})", ""),), "truncated_sum_W_hh",
        "window of uses"),
    Lie("a remainder that overlaps", "linear", ((TOTAL, "(t + uses)%N <=", "(t + uses).-1 <="),), "truncated_sum_W_hh",
        "window of uses"),
    Lie("the full sum kept", "linear", ((TOTAL, "minn (t + uses)%N T.+1", "T.+1"),), "truncated_sum_W_hh",
        "window of uses"),
    Lie("a window of two uses kept, one of any number left out", "linear",
        ((TOTAL, "minn (t + uses)%N", "minn t.+2"),), "truncated_sum_W_hh", "window of uses"),
    Lie("a window over h_t", "linear", ((TOTAL, "(h t.-1)^T", "(h t)^T"),), "truncated_sum_W_hh", "window of uses"),
    Lie("a window from t = 0", "linear", ((FORM, "(0 < t)%N -> ", ""),), "truncated_form", "section Closed"),
    Lie("the first uses for the last ones", "linear", (
        (TOTAL, "t <= i < minn (t + uses)%N T.+1", "(T.+1 - uses)%N <= i < T.+1"),
        (TOTAL, "(t + uses)%N <= i < T.+1", "t <= i < (T.+1 - uses)%N")), "truncated_sum_W_hh", "window of uses"),
    Lie("a window of the gates' gradient with another gate", "gated",
        (("Theorem truncated_sum_C", "dg (f t)", "dg (i t)"),), "truncated_sum_C", "window of uses"),
]
"""Truncations that are not true, or of which no more than a part is."""
