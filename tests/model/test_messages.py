"""What a message says to do: each wrong text beside the words that help, and a right text beside it that is read."""

from __future__ import annotations

import pytest
from sympy import MatrixSymbol, Symbol

import symbptt
from symbptt.expr.build import apply, plus, scale, times, transpose
from symbptt.expr.index import index, t
from symbptt.expr.nodes import ONE, At, Matrix, Multiple, Ones
from symbptt.model.locate import InputError
from symbptt.model.names import check_line, check_model_name, check_name
from symbptt.model.parts import ModelError
from symbptt.model.read import load, loads

CELL = """name = "cell"
[sizes]
d = "input"
h = "hidden"
q = "output"
[parameters]
W = "h, d"
U = "h, h"
b = "h"
V = "q, h"
k = "1"
[constants]
gamma = "leak"
[inputs]
x = "d"
[targets]
y = "q"
[static]
one = "1"
[states]
h = "h"
[initial]
h_0 = "b"
[equations]
h = "tanh(W @ x + U @ h[t-1])"
o = "V @ h"
[[loss]]
term = "l(o, y)"
"""
STATE, OUTPUT, TERM = '"tanh(W @ x + U @ h[t-1])"', '"V @ h"', '"l(o, y)"'


def read(old: str, new: str) -> symbptt.Model:
    assert CELL.count(old) == 1, old
    return loads(CELL.replace(old, new), "cell.toml")


WRONG = [
    ('W = "h, d"', "W = h, d", "7:5", "put quotes around the whole value"),
    ('W = "h, d"', "W = 4*h, d", "7:6", "put quotes around the whole value"),
    ('term = "l(o, y)"', "term = l(o, y)", "28:8", "put quotes around the whole value"),
    ('W = "h, d"', 'W = "h, d', "7:10", "a quote is not closed on this line"),
    ('"l(o, y)"', "'l(o, y)", "29:1", "a quote is not closed"),
    ('"l(o, y)"', '"""l(o, y)', "29:1", "a quote is not closed"),
    ('b = "h"', 'β = "h"', "9:1", "a name is made of ASCII letters, digits and _"),
    ('b = "h"', 'bβ = "h"', "9:2", "a name is made of ASCII letters, digits and _"),
    (STATE, '"gamma*eye(h) @ h[t-1]"', "25:12", "the function eye is not known"),
    (STATE, '"gamma*gelu(W @ x + h)"', "25:12", "the function gelu is not known"),
    (STATE, '"W @ x / h"', "25:14", "if the size h is meant, a size cannot stand in an equation"),
    (OUTPUT, '"V @ h / h"', "26:12", "if the size h is meant, a size cannot stand in an equation"),
    (STATE, '"np.tanh(W @ x)"', "25:6", "np.tanh is not a function; write tanh(…)"),
    (STATE, '"F.hardtanh(W @ x)"', "25:6", "write hard_tanh(…)"),
    (STATE, '"W.T() @ h[t-1]"', "25:6", "W.T is not a function; write W.T"),
    (STATE, '"W.transpose() @ h[t-1]"', "25:6", "write W.T"),
    (STATE, '"np.transpose(W) @ x"', "25:6", "np.transpose is not a function; write W.T"),
    (STATE, '"np.matmul(W, x)"', "25:6", "write a @ b"),
    (STATE, '"np.einsum(W, x)"', "25:6", "known: tanh"),
    (STATE, '"W @ concat(1, x)"', "25:17", "a [static] column of size 1 can stand there"),
    ('h_0 = "b"', 'h_0 = "0"', "23:8", "leave it out, and h_0 is data"),
    ('h_0 = "b"', 'h = "0"', "23:6", "leave it out, and h_0 is data"),
    (OUTPUT, '"V @ h[0]"', "26:12", "write h[0:1] for the row 0"),
    (TERM, '"mse"', "28:9", "write l(o, y), or a loss with a meaning: squared_error(o, y)"),
    (OUTPUT, '"V.T @ h"', "26:10", "V @ h[t] would fit"),
    (STATE, '"U @ x"', "25:8", 'U declared "h, d" would fit'),
    (STATE, '"x @ W"', "25:8", "W @ x[t] would fit"),
    (STATE, '"W @ h[t-1]"', "25:8", 'W.T @ h[t-1] or W declared "h, h" would fit'),
    (STATE, '"W @ x + V @ h[t-1]"', "25:12", 'V declared "h, h" or W declared "q, d" would fit'),
    (STATE, '"W @ x - b.T"', "25:12", "b would fit"),
    (STATE, '"(U + V.T @ V - W) @ h[t-1]"', "25:19", 'W declared "h, h" would fit'),
    (STATE, '"V @ h[t-1]"', "25:6", 'h declared "q" or V declared "h, h" would fit'),
    ('h_0 = "b"', 'h_0 = "V @ b"', "23:8", 'V declared "h, h" would fit'),
    (STATE, '"(U + k) @ h[t-1]"', "25:9", "a 1 × 1 value is added to columns"),
    (STATE, '"(k * U + U) @ h[t-1]"', "25:6", "write s * (A @ x) + B @ x for (s * A + B) @ x"),
    ('gamma = "leak"', 'gamma = "h, h"', "13:10", "'h, h' is a shape, but gamma is a scalar"),
    ('gamma = "leak"', 'gamma = "h"', "13:10", "'h' is a shape, but gamma is a scalar"),
    (STATE, '"((gamma + 1)**30 + 1)**30 * h[t-1]"', "25:6", "more than 500 terms once it is multiplied out"),
    (TERM, '"((gamma + 1)**30 + 1)**30 * l(o, y)"', "28:9", "more than 500 terms once it is multiplied out"),
    ('b = "h"', 'b_t = "h"', "9:1", "b_t prints like b at time t"),
]


@pytest.mark.parametrize(("old", "new", "place", "words"), WRONG)
def test_a_message_says_what_would_be_right(old: str, new: str, place: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(old, new)
    assert str(caught.value).startswith(f"cell.toml:{place}: "), caught.value
    assert words in caught.value.message, caught.value


@pytest.mark.parametrize(("old", "new"), [
    ('gamma = "leak"', 'gamma = "the leak of h"'), ('gamma = "leak"', 'gamma = "0.5"'),
    ('b = "h"', 'b = "h"\nt_b = "h"'),
    (STATE, '"W @ x + W.T.T @ x + h[t-1]"'), (STATE, '"h[t-1] * gamma"'), (OUTPUT, '"V @ U[0:h] @ h"')])
def test_what_is_right_is_read(old: str, new: str) -> None:
    assert read(old, new)


def test_no_hint_where_none_is_plain() -> None:
    for equation in ('"h[t-1] + y"', '"tanh(W @ x) + y"'):
        with pytest.raises(InputError, match=r"the shapes differ$"):
            read(STATE, equation)
    with pytest.raises(InputError, match=r"needs o\[t\]; read one of them at t-1$"):
        read(OUTPUT, '"V @ h + o"')


size = Symbol("h", integer=True, positive=True)
h = MatrixSymbol("h", size, 1)
U, b, k = MatrixSymbol("U", size, size), MatrixSymbol("b", size, 1), MatrixSymbol("k", 1, 1)
now = At(h, index(t) - 1)
spread = Multiple(k, Ones(size, ONE))


@pytest.mark.parametrize(("written", "meant"), [
    ("k + U @ h[t-1]", plus([spread, times(U, now)])),
    ("U @ h[t-1] + k", plus([times(U, now), spread])),
    ("U @ h[t-1] - k", plus([times(U, now), scale(-1, spread)])),
    ("k - U @ h[t-1]", plus([spread, scale(-1, times(U, now))])),
    ("2*k + b", plus([scale(2, spread), b])),
    ("tanh(k) - 1 + b", plus([Multiple(plus([apply("tanh", k), scale(-1, Ones(ONE, ONE))]), Ones(size, ONE)), b])),
    ("k * U @ h[t-1]", Multiple(k, times(U, now))),
    ("U @ (k * U) @ h[t-1]", Multiple(k, times(U, U, now))),
    ("2*k * U.T @ b", scale(2, Multiple(k, times(transpose(U), b)))),
])
def test_a_value_beside_a_column(written: str, meant: Matrix) -> None:
    right = read(OUTPUT, f'"{written}"').equations[1].right
    assert right == meant
    assert right != scale(-1, meant)


def test_values_that_are_added_are_proved_and_a_flipped_sign_is_another_model() -> None:
    given = read(STATE, '"tanh(W @ x + U @ h[t-1]) - k"')
    assert given != read(STATE, '"tanh(W @ x + U @ h[t-1]) + k"')
    derived = symbptt.derive(given, T=2)
    assert str(derived.gradient("k")) == "-(1).T @ dL/dh[1] - (1).T @ dL/dh[2]"
    assert all(symbptt.check(theorem) == theorem.theorem for theorem in derived.theorems)


def test_what_nothing_reads() -> None:
    assert read(OUTPUT, '"V @ h"').unread == ("k", "one", "gamma")
    assert read(OUTPUT, '"gamma * V @ h + k + one"').unread == ()
    assert read(TERM, '"gamma*l(o, y)"\n[[loss]]\nterm = "squared_norm(k)"\nreduce = "once"').unread == ("one",)
    assert read('h_0 = "b"', 'h_0 = "b + k * one"').unread == ("gamma",)
    assert read('y = "q"', 'y = "q"\nm = "1"').unread == ("k", "one", "m", "gamma")
    assert load("lstm").unread == ()


@pytest.mark.parametrize("check", [check_name, check_model_name, check_line])
def test_a_name_is_a_text(check) -> None:  # type: ignore[no-untyped-def]
    for value in (None, 3, b"h"):
        with pytest.raises(ModelError, match="a text in quotes belongs here"):
            check(value)


def test_functions_within_one_another() -> None:
    """Each factor of a derivative writes out all that is inside it."""
    def nested(depth: int) -> str:
        return CELL.replace('"tanh(W @ x + U @ h[t-1])"', f'"{"tanh(" * depth}W @ x + U @ h[t-1]{")" * depth}"')

    assert loads(nested(12)).name == "cell"
    with pytest.raises(InputError, match="more than 12 functions stand within one another; give an inner value a name"):
        loads(nested(13))

