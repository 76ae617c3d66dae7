import ast

import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol
from sympy.core.symbol import Str

from symbptt.expr.build import loss
from symbptt.expr.index import index, t
from symbptt.expr.nodes import (
    ONE,
    Apply,
    At,
    Hadamard,
    Identity,
    Multiple,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.model.calls import FUNCTIONS
from symbptt.model.language import EQUATION, LOSS, SIZE, read_equation, read_loss, read_shape, same_time
from symbptt.model.names import (
    NOT_OPAQUE,
    check_line,
    check_loss_name,
    check_model_name,
    check_name,
    constant_symbol,
    did_you_mean,
    size_symbol,
)
from symbptt.model.reading import Scope, is_size, parse
from symbptt.model.spec import ModelError

h, d = size_symbol("h"), size_symbol("d")
gamma = constant_symbol("gamma")
A, B = MatrixSymbol("A", h, h), MatrixSymbol("B", h, d)
H, X = MatrixSymbol("h", h, 1), MatrixSymbol("x", d, 1)
P = MatrixSymbol("P", 4 * h, d)
H1 = At(H, index(t) - 1)


def read(text: str) -> object:
    scope = Scope({"A": A, "B": B, "P": P}, {"gamma": gamma}, {"h": H, "x": X}, reaching={"h", "x"}, defined={"h"},
                  sizes={"h": h, "d": d})
    return read_equation(parse(text), scope)


def minus(e: object) -> Scale:
    return Scale(Integer(-1), e)


@pytest.mark.parametrize(("text", "expected"), [
    ("h[t-1]", H1),
    ("h[t]", At(H, t)),
    ("h[t+0]", At(H, t)),
    ("h[t-1000]", At(H, index(t) - 1000)),
    ("  (h)", At(H, t)),
    ("A @ A @ h", Times(A, A, At(H, t))),
    ("A @ (A @ h)", Times(A, A, At(H, t))),
    ("A @ h + B @ x - h[t-1]", Plus(Times(A, At(H, t)), Times(B, At(X, t)), minus(H1))),
    ("h + (h + h)", Plus(At(H, t), At(H, t), At(H, t))),
    ("h - (h + h)", Plus(At(H, t), minus(Plus(At(H, t), At(H, t))))),
    ("-h", minus(At(H, t))),
    ("--h", At(H, t)),
    ("-A @ h", minus(Times(A, At(H, t)))),
    ("2*A @ (3*h)", Scale(Integer(6), Times(A, At(H, t)))),
    ("h * 2 / 3", Scale(Rational(2, 3), At(H, t))),
    ("0.1*h", Scale(Rational(1, 10), At(H, t))),
    (".5e-1*h", Scale(Rational(1, 20), At(H, t))),
    ("1e2*h", Scale(Integer(100), At(H, t))),
    ("1.*h", At(H, t)),
    ("(1 - gamma)*h", Scale(1 - gamma, At(H, t))),
    ("gamma*2*gamma*h", Scale(2 * gamma**2, At(H, t))),
    ("A.T @ h", Times(Transpose(A), At(H, t))),
    ("(A @ A.T).T @ h", Times(A, Transpose(A), At(H, t))),
    ("(h.T @ A).T", Times(Transpose(A), At(H, t))),
    ("h\n\t+ h", Plus(At(H, t), At(H, t))),
    ("gamma**2*h/gamma", Scale(gamma, At(H, t))),
    ("2**-1*h", Scale(Rational(1, 2), At(H, t))),
    ("h / (2*gamma)", Scale(1 / (2 * gamma), At(H, t))),
    ("gamma - h", Plus(Scale(gamma, Ones(h, ONE)), minus(At(H, t)))),
    ("1 - h + 2 - 5", Plus(Scale(Integer(-2), Ones(h, ONE)), minus(At(H, t)))),
    ("1 - h - 1", minus(At(H, t))),
    ("(1 - h).T @ h", Times(Plus(Ones(ONE, h), minus(Transpose(At(H, t)))), At(H, t))),
    ("h * h[t-1] * 2", Scale(Integer(2), Hadamard(At(H, t), H1))),
    ("2*(A * A)", Scale(Integer(2), Hadamard(A, A))),
    ("tanh(h) * h", Hadamard(Apply(Str("tanh"), At(H, t)), At(H, t))),
    ("identity(h)", At(H, t)),
    ("tanh(A) @ h", Times(Apply(Str("tanh"), A), At(H, t))),
    ("concat(h, x)", block([[At(H, t)], [At(X, t)]])),
    ("concat(h)", At(H, t)),
    ("dot(h, A @ h)", Times(Transpose(At(H, t)), A, At(H, t))),
    ("-2*dot(h, h) * h", Scale(Integer(-2), Multiple(Times(Transpose(At(H, t)), At(H, t)), At(H, t)))),
    ("h * dot(h, h)", Multiple(Times(Transpose(At(H, t)), At(H, t)), At(H, t))),
    ("P[h:2*h] @ x", Times(block([[Zero(h, h), Identity(h), Zero(h, 2 * h)]]), P, At(X, t))),
    ("P[:h] @ x", Times(block([[Identity(h), Zero(h, 3 * h)]]), P, At(X, t))),
    ("P[3*h:] @ x", Times(block([[Zero(h, 3 * h), Identity(h)]]), P, At(X, t))),
    ("P[:]", P),
    ("h[t-1][0:h]", H1),
])
def test_what_is_read(text: str, expected: object) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(("text", "offset", "words"), [
    ("  h + z", 6, "the name z is declared in no table"),
    ("(h + x) + h", 3, "cannot add h[t] (h × 1) and x[t] (d × 1)"),
    ("h - (x)", 2, "cannot subtract x[t] (d × 1) from h[t] (h × 1)"),
    ("h / (1 + gamma)", 2, "cannot divide by gamma + 1: only by a number"),
    ("h ** 2", 2, "** of h[t] (h × 1): only numbers and constants have powers; square(v)"),
    ("2**gamma*h", 1, "** gamma: an exponent is a whole number from -100 to 100"),
    ("gamma**101*h", 5, "an exponent is a whole number"),
    ("(gamma**20)**20*h", 11, "an exponent is a whole number"),
    ("0**-1*h", 1, "division by zero"),
    ("9999999999**100*h", 10, "the result of ** is too large a number"),
    ("h.T.S", 4, ".S is not known"),
    ("gamma", 0, "gamma is a number"),
    ("h[1]", 2, "1 is not a time"),
    ("h[t*1]", 2, "t*1 is not a time"),
    ("h[t-gamma]", 2, "t-gamma is not a time"),
    ("h[t-1.0]", 2, "t-1.0 is not a time"),
    ("h[t-1, 2]", 2, "speaks of columns too; rows alone are taken"),
    ("1" + "0" * 40 + "*h", 0, "a number of more than 40 digits"),
    ("1e101*h", 0, "the exponent of 1e101 is beyond 100"),
    ("1e99999*h", 0, "is not a number in decimal digits"),
    ("*".join(["1e99"] * 5) + "*h", 4, "the result of * is too large a number"),
    ("h" + " + h" * 1000, 0, "this has 4001 characters; at most 4000"),
    ("-" * 101 + "h", 100, "nested too deeply"),
])
def test_what_is_refused_and_where(text: str, offset: int, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(text)
    assert words in caught.value.message
    assert caught.value.offset == offset


def test_loss_terms() -> None:
    scope = Scope({}, {"gamma": gamma}, {"h": H, "x": X}, reaching={"x"}, defined={"h"})
    plain = loss("nll", At(H, t), At(X, index(t) - 2))
    for text, weight in (("nll(h, x[t-2])", 1), ("-nll(h, x[t-2])", -1), ("2*nll(h, x[t-2])/3", Rational(2, 3)),
                         ("gamma*nll(h, x[t-2])*0.5", gamma / 2)):
        assert read_loss(parse(text), scope) == (weight, plain)
    for text in ("0*l(h)", "l(h) - l(h)", "2", "h", "l(h) @ h.T", "l(l(h))", "h.l(h)"):
        with pytest.raises(ModelError):
            read_loss(parse(text), scope)


@pytest.mark.parametrize(("text", "expected"), [
    ("h", (h,)), ("h, d", (h, d)), ("1", (1,)), ("4*h", (4 * h,)), ("h*4", (4 * h,)),
    ("h + d, 2*(h + 1)", (h + d, 2 * h + 2)), (" h ,d ", (h, d)), ("h,", (h,)),
])
def test_shapes(text: str, expected: tuple[object, ...]) -> None:
    assert read_shape(text, {"h": h, "d": d}) == expected


@pytest.mark.parametrize("text", ["h*d", "0", "-1", "h - 1", "h/2", "0.5*h", "h**2", "2000000", "h[1]", "h.T", "t",
                                  "()", "(h, d), d", "h, 0", "f(h)"])
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(ModelError):
        read_shape(text, {"h": h, "d": d})


def test_sizes_are_told_from_other_expressions() -> None:
    assert all(map(is_size, (h, h + 1, 2 * h + 3 * d, Integer(7))))
    assert not any(map(is_size, (h - 1, h / 2, h * d, Integer(0), h**2, Integer(-3), Rational(1, 2), Integer(10**7))))


def test_names() -> None:
    for name in ("h", "W_hh", "lambda_", "N", "S", "x1", "match"):
        assert check_name(name) == name
    for name in ("", "t", "T", "L", "lambda", "None", "_x", "1x", "W-x", "W x", "ħ", "x" * 61, "h\n", "h\0"):
        with pytest.raises(ModelError):
            check_name(name)


def test_names_of_models_and_losses_and_lines() -> None:
    assert check_model_name("deep-elman_2") == "deep-elman_2"
    for name in ("", "a/b", "..", "a.b", "-a", "2a", "a b", "é", "a\n", "a" * 61):
        with pytest.raises(ModelError):
            check_model_name(name)
    assert check_loss_name("l") == "l"
    for name in (*NOT_OPAQUE, "L", "if"):
        with pytest.raises(ModelError):
            check_loss_name(name)
    assert check_line("循环神经网络　“h”") == "循环神经网络　“h”"
    for text in ("a\nb", "a\rb", "a\0", "a\u2028b", "a\u2029b", "a\x85"):
        with pytest.raises(ModelError) as caught:
            check_line(text)
        assert caught.value.offset == 1


def test_what_is_read_at_the_same_time() -> None:
    text = parse("  A @ h[t-1] + h + x[t] - h")
    assert same_time(text, {"h", "x", "c"}) == {"h": 15, "x": 19}


def test_hints() -> None:
    assert did_you_mean("W_hx", ["W_hh", "x"]) == "; did you mean W_hh?"
    assert did_you_mean("zzz", ["a", "b"]) == "; known: a, b"
    assert did_you_mean("zzz", []) == did_you_mean("zzz", [f"a{i}" for i in range(21)]) == ""


def test_symbols_of_sizes_and_constants_differ_from_others() -> None:
    assert size_symbol("h") == Symbol("h", integer=True, positive=True)
    assert constant_symbol("h") != size_symbol("h") != Symbol("h")


def test_every_syntax_node_without_a_row_is_refused() -> None:
    samples = ["h if h else h", "lambda: h", "[h]", "(h, h)", "h and h", "not h", "h is h", "[h for h in h]",
               "(h for h in h)", "f(*h)", "(yield)", "await h", "...", "None"]
    for sample in samples:
        with pytest.raises(ModelError):
            read(sample)
    assert set(EQUATION.nodes) == set(LOSS.nodes) == {ast.Name, ast.Constant, ast.Subscript, ast.Attribute, ast.UnaryOp,
                                                      ast.BinOp, ast.Call}
    assert set(SIZE.nodes) < set(EQUATION.nodes)
    assert not set(FUNCTIONS) - NOT_OPAQUE
