import pickle

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from sympy import Identity, MatrixSymbol, Rational, Symbol, ZeroMatrix, symbols
from sympy.core.symbol import Str

from symbptt.expr import nodes
from symbptt.expr.index import T, index, t
from symbptt.expr.nodes import At, Plus, Scale, Times
from symbptt.model.from_sympy import READERS, Family, family, function, loss, model, softmax
from symbptt.model.read import load, loads
from symbptt.model.spec import LossTerm, Model, ModelError

d, h_, q = symbols("d h q", integer=True, positive=True)
W_hx, W_hh, W_qh = MatrixSymbol("W_hx", h_, d), MatrixSymbol("W_hh", h_, h_), MatrixSymbol("W_qh", q, h_)
x, h, o, y = family("x", d), family("h", h_), family("o", q), family("y", 1)
b, b_ = MatrixSymbol("b", h_, 1), family("u", h_)
LINEAR = load("linear")
gamma = Symbol("gamma")


def twin(right: object = W_hx * x + W_hh * h.prev, output: object = W_qh * h, term: object = None,
         **more: object) -> Model:
    arguments = {"name": "linear", "title": LINEAR.title, "source": LINEAR.source, **more}
    return model(equations={h: right, o: output}, inputs=[x], loss=loss("l", o, y) if term is None else term,
                 **{"targets": [y], **arguments})


def file(right: str, tables: str = "", term: str = "l(o, y)") -> Model:
    return loads(f"""
name = "linear"
title = "{LINEAR.title}"
source = "{LINEAR.source}"
sizes = {{d = "", h = "", q = ""}}
parameters = {{W_hx = "h, d", W_hh = "h, h", W_qh = "q, h"{tables}}}
constants = {{{'gamma = ""' if "gamma" in right + term else ""}}}
inputs = {{x = "d"}}
targets = {{y = "1"}}
states = {{h = "h"}}
equations = {{h = "{right}", o = "W_qh @ h"}}
loss = [{{term = "{term}"}}]
""")


def test_the_linear_network_equals_its_file() -> None:
    assert twin() == LINEAR
    assert hash(twin()) == hash(LINEAR)


def test_symbols_need_no_assumptions() -> None:
    n, m, k = symbols("d h q")
    V_hx, V_hh, V_qh = MatrixSymbol("W_hx", m, n), MatrixSymbol("W_hh", m, m), MatrixSymbol("W_qh", k, m)
    u, v, w = family("x", n), family("h", m), family("o", k)
    assert model({v: V_hx * u + V_hh * v.prev, w: V_qh * v}, [u], loss("l", w, y), [y], name="linear",
                 title=LINEAR.title, source=LINEAR.source) == LINEAR


@pytest.mark.parametrize("other", [
    {"right": W_hx * x - W_hh * h.prev},
    {"right": W_hx * x + W_hh.T * h.prev},
    {"right": W_hx * x + W_hh * h.lag(2)},
    {"right": W_hx * x.prev + W_hh * h.prev},
    {"right": W_hx * x + W_hh * h.prev + b},
    {"right": W_hx * x + 2 * W_hh * h.prev},
    {"term": loss("m", o, y)},
    {"term": loss("l", y, o)},
    {"term": 2 * loss("l", o, y)},
    {"term": [loss("l", o, y), loss("l", o, y)]},
    {"reduce": "sum"},
    {"name": "other"},
    {"title": "other"},
])
def test_a_lie_is_unequal(other: dict[str, object]) -> None:
    assert twin(**other) != LINEAR


PAIRS = {
    "order": (W_hh * h.prev + W_hx * x, "W_hx @ x + W_hh @ h[t-1]", ""),
    "difference": (W_hx * x - W_hh * h.prev, "W_hx @ x - W_hh @ h[t-1]", ""),
    "fraction": (W_hx * x / 2 - Rational(1, 3) * W_hh * h.prev, "1/2*W_hx @ x - W_hh @ h[t-1] / 3", ""),
    "decimal": (0.1 * W_hx * x + W_hh * h.prev, "0.1*W_hx @ x + W_hh @ h[t-1]", ""),
    "transpose": (W_hx * x + (W_hh * W_hh.T).T * h.prev, "W_hx @ x + (W_hh @ W_hh.T).T @ h[t-1]", ""),
    "power": (W_hx * x + W_hh**3 * h.prev, "W_hx @ x + W_hh @ W_hh @ W_hh @ h[t-1]", ""),
    "lags": (W_hx * x.lag(3) + W_hh * (h.lag(2) + h.prev), "W_hx @ x[t-3] + W_hh @ (h[t-1] + h[t-2])", ""),
    "bias": (W_hx * x + b + W_hh * h.lag(2), "W_hx @ x + W_hh @ h[t-2] + b", ', b = "h"'),
    "constant": ((1 - gamma) * (W_hx * x) + gamma**2 * W_hh * h.prev,
                 "(1 - gamma)*W_hx @ x + gamma*gamma*W_hh @ h[t-1]", ""),
    "nested scalars": (W_hh * (2 * h.prev - W_hx * x * gamma), "W_hh @ (2*h[t-1] - gamma*W_hx @ x)", ""),
    "outer": (h.prev * x.T * W_hx.T * b + W_hh * b, "h[t-1] @ x.T @ W_hx.T @ b + W_hh @ b", ', b = "h"'),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_expressions_equal_their_text(pair: str) -> None:
    expression, text, tables = PAIRS[pair]
    constants = [gamma] if "gamma" in text else []
    assert twin(expression, constants=constants) == file(text, tables)


def test_identity_and_zero() -> None:
    inner = sympy.MatAdd(Identity(h_), ZeroMatrix(h_, h_), W_hh)
    read = twin(sympy.MatAdd(sympy.MatMul(W_hx, x), sympy.MatMul(inner, h.prev)))
    product = Times(Plus(nodes.Identity(h_), W_hh), At(MatrixSymbol("h", h_, 1), index(t) - 1))
    assert product in read.defined["h"].right.args
    assert twin(sympy.MatAdd(W_hx * x, W_hh * h.prev, ZeroMatrix(h_, 1))) == LINEAR


def test_several_losses_and_weights() -> None:
    terms = "0.5*l(o, y)"
    assert twin(term=loss("l", o, y) / 2) == file("W_hx @ x + W_hh @ h[t-1]", term=terms)
    both = twin(term=[-gamma * loss("l", o, y), 3 * loss("m", h, y.lag(2))], reduce=["mean", "sum"], constants=[gamma])
    assert [(str(term.weight), str(term.loss), term.reduce) for term in both.losses] == [
        ("-gamma", "l(o[t], y[t])", "mean"), ("3", "m(h[t], y[t-2])", "sum")]
    assert set(twin(term=loss("l", o, y) + 2 * loss("m", h)).losses) == set(
        twin(term=[2 * loss("m", h), loss("l", o, y)]).losses)


def test_our_own_nodes_are_read() -> None:
    right = Plus(Times(W_hx, At(x, t)), Scale(sympy.Integer(2), Times(nodes.Transpose(W_hh), At(h, index(t) - 1))))
    assert twin(right) == twin(W_hx * x + 2 * W_hh.T * h.prev)
    zero = Plus(right, nodes.Zero(h_, 1), Times(nodes.Identity(h_), At(h, index(t) - 1)))
    assert twin(zero) == twin(W_hx * x + 2 * W_hh.T * h.prev + h.prev)


def test_plain_matrix_symbols_may_be_families() -> None:
    u, v = MatrixSymbol("x", d, 1), MatrixSymbol("o", q, 1)
    assert model({h: W_hx * u + W_hh * h.prev, v: W_qh * h}, [u], loss("l", v, y), [y], name="linear",
                 title=LINEAR.title, source=LINEAR.source) == LINEAR


def test_families_travel_through_sympy() -> None:
    assert str(W_hh * h.prev) == "W_hh*h[t-1]"
    assert sympy.latex(h.prev) == "{h}_{t - 1}"
    assert (W_hh * h.lag(2)).doit().args[1] == h.lag(2) != h.prev
    assert h.prev.shape == (h_, 1)
    assert type(h.func(*h.args)) is Family
    assert pickle.loads(pickle.dumps(h.prev)) == h.prev
    assert twin((W_hx * x + W_hh * h.prev).doit()) == LINEAR
    assert h.lag(0) != h
    assert twin(output=W_qh * h.lag(0)) == LINEAR


def test_sizes_may_be_sums_and_numbers() -> None:
    z, V = family("z", h_ + d), MatrixSymbol("V", h_, h_ + d)
    read = model({h: V * z.prev + h.prev, o: W_qh * h}, [z], loss("l", o, family("w", 4)), [family("w", 4)])
    assert [s.name for s in read.sizes] == ["d", "h", "q"]
    assert (read.name, read.title, read.source) == ("model", "", "")


FAULTS = {
    "unknown class": (
        lambda: twin(sympy.KroneckerProduct(W_hh, Identity(1)) * h.prev), "KroneckerProduct, which is not"),
    "unknown function": (
        lambda: twin((W_hx * x).applyfunc(sympy.erf)), "the function erf.z. is not known here; known: tanh"),
    "unknown name of a function": (lambda: function("tnah", h), "did you mean tanh?"),
    "function of a derivative": (lambda: twin(nodes.Apply(Str("step"), h.prev)), "the function step is not known"),
    "softmax of a matrix": (lambda: softmax(W_hh), "softmax of W_hh .h × h.: it takes a column"),
    "softmax of a matrix, as a node": (lambda: twin(nodes.Apply(Str("softmax"), W_hh) * h.prev), "it takes a column"),
    "function of a product that changes": (lambda: twin((h.prev * b.T).applyfunc(sympy.tanh) * b), "changes with time"),
    "entries of a matrix that changes": (
        lambda: twin(sympy.HadamardProduct(h.prev * b.T, W_hh) * b), "changes with time"),
    "columns cut off": (lambda: twin(W_hh[:, 0:1] * h.prev[0:1, :]), "rows are taken one after the other"),
    "every second row": (lambda: twin(MatrixSymbol("V", 2 * h_, h_)[0:2 * h_:2, :] * h.prev), "one after the other"),
    "rows for some sizes": (lambda: twin(MatrixSymbol("V", h_ + d, h_)[0:2 * d, :] * h.prev), "reach beyond V"),
    "blocks beside one another": (
        lambda: twin(sympy.BlockMatrix([[W_hh, W_hh]]) * sympy.BlockMatrix([[h.prev], [b]])), "in one column"),
    "inverse": (lambda: twin(W_hh.I * h.prev), "Inverse, which is not known here|MatPow"),
    "negative power": (lambda: twin(sympy.MatPow(W_hh, -2) * h.prev), "MatPow"),
    "symbolic power": (lambda: twin(sympy.MatPow(W_hh, Symbol("n")) * h.prev), "MatPow with the exponent n"),
    "huge power": (lambda: twin(W_hh**1000 * h.prev), "exponent 1000"),
    "number": (lambda: twin(1), "1 is a int, which is not known here"),
    "scalar": (lambda: twin(sympy.Integer(1)), "1 is a One, which is not known here"),
    "explicit matrix": (lambda: twin(sympy.Matrix([[1]])), "MutableDenseMatrix"),
    "function of a constant": (lambda: twin(sympy.sin(gamma) * h.prev, constants=[gamma]), "the factor sin.gamma. is"),
    "root of a constant": (lambda: twin(sympy.sqrt(gamma) * h.prev, constants=[gamma]), "is a Pow"),
    "division by a sum": (lambda: twin(h.prev / (1 + gamma), constants=[gamma]), "is a Pow"),
    "infinite": (lambda: twin(sympy.MatMul(sympy.oo, h.prev)), "Infinity"),
    "undeclared constant": (lambda: twin(gamma * h.prev), "gamma is not among the constants"),
    "another symbol of the constant's name": (
        lambda: twin(Symbol("gamma", real=True) * h.prev, constants=[gamma]), "gamma is not among the constants"),
    "two symbols of a size's name": (
        lambda: twin(W_hx * x + MatrixSymbol("V", h_, Symbol("h")) * MatrixSymbol("c", Symbol("h"), 1)),
        "two different symbols are called h"),
    "no size": (lambda: twin(MatrixSymbol("V", h_, h_ * d) * MatrixSymbol("c", h_ * d, 1)), "is not a size"),
    "two shapes": (lambda: twin(MatrixSymbol("W_hx", h_, h_) * h.prev + W_hx * x), "W_hx stands for two variables"),
    "parameter called like a family": (lambda: twin(MatrixSymbol("h", h_, h_) * h.prev), "h stands for two variables"),
    "stray family": (lambda: twin(W_hx * family("u", d)), "the family u is no input"),
    "stray lag": (lambda: twin(W_hx * family("u", d).prev), "the family u is no input"),
    "stray node": (lambda: twin(Times(W_hx, At(MatrixSymbol("u", d, 1), t))), "the family u is no input"),
    "ahead": (lambda: twin(At(h, index(t) + 1)), "looks ahead"),
    "another time": (lambda: twin(At(h, T)), "not of the form"),
    "own value": (lambda: twin(W_hh * h), "h depends on its own value at t"),
    "wrong shape": (lambda: twin(W_hx * x, output=W_hh * h), "o was declared .q × 1."),
    "clash of our nodes": (lambda: twin(Times(W_hx, At(h, index(t) - 1))), "cannot multiply"),
    "no loss": (lambda: twin(term=[]), "no loss"),
    "loss is no loss": (lambda: twin(term=W_hx), "is no loss"),
    "loss of an expression": (lambda: twin(term=loss("l", W_qh * h, y)), "is not a family"),
    "loss like a variable": (lambda: twin(term=loss("h", o, y)), "h is a variable"),
    "loss like a parameter": (lambda: twin(term=loss("W_qh", o, y)), "W_qh is a variable"),
    "reduce": (lambda: twin(reduce="first"), "known: mean, sum, last, once"),
    "reduce of a term": (lambda: twin(term=LossTerm(loss("l", o, y), "first")), "known: mean, sum, last, once"),
    "reduce beside a term": (lambda: twin(term=[LossTerm(loss("l", o, y))], reduce=["sum"]), "has its own reduce"),
    "weight of a term": (lambda: twin(term=LossTerm(loss("l", o, y), weight="2")), "the weight '2' is a str"),
    "mask that is no target": (lambda: twin(term=LossTerm(loss("l", o, y), mask=W_hh)), "W_hh is no target"),
    "mask that is an input": (lambda: twin(term=LossTerm(loss("l", o, y), mask=x)), "the mask x is no target"),
    "mask of another shape": (
        lambda: twin(term=LossTerm(loss("m", h), mask=b_), targets=[y, b_]), "the mask u is declared .h × 1."),
    "mask at the last step": (lambda: twin(term=LossTerm(loss("l", o, y), "last", mask=y)), "leave the mask out"),
    "assumption of an opaque loss": (lambda: twin(term=LossTerm(loss("l", o, y), assume=(y,))), "alone, not by l"),
    "regulariser over time": (
        lambda: twin(term=[loss("l", o, y), loss("squared_norm", W_hh)]), "write reduce = .once."),
    "regulariser of a product": (
        lambda: twin(term=[loss("l", o, y), loss("squared_norm", W_hh * W_hh)], reduce=["sum", "once"]),
        "one parameter"),
    "once": (lambda: twin(reduce="once"), "is for a regulariser"),
    "loss of other shapes": (lambda: twin(term=loss("squared_error", h, y)), "compares h.t. .h × 1. and y.t. .1 × 1."),
    "initial value of an input": (lambda: twin(initial={x: b}), "x_0 is data, for x is no state"),
    "initial value of the unknown": (lambda: twin(initial={family("u", h_): b}), "u is no state"),
    "initial value of a product": (lambda: twin(initial={W_hh * h: b}), "is no state"),
    "initial value that nothing reads": (lambda: twin(initial={h.lag(2): b}), "no equation reads h_m1"),
    "initial value of another shape": (lambda: twin(initial={h: W_qh * b}), "h was declared"),
    "initial value from a state": (lambda: twin(initial={h: W_hh * h}), "reads what changes with time"),
    "initial value from an input": (lambda: twin(initial={h: W_hx * x}), "reads what changes with time"),
    "initial value twice": (lambda: twin(initial={h: b, h.prev: b}), "h_0 has two equations"),
    "static matrix": (lambda: twin(static=[W_hh]), "W_hh is not a column"),
    "static input": (lambda: twin(static=[x]), "stands in .inputs. and in .static."),
    "static with a time": (
        lambda: twin(W_hh * family("s", h_).prev, static=[family("s", h_)]), "the family s is no input"),
    "reduce twice": (lambda: twin(reduce=["mean", "sum"]), "1 losses, but 2 words"),
    "input twice": (lambda: model({h: h.prev}, [x, x], loss("l", h)), "stands in .inputs. and in .inputs."),
    "input that is no symbol": (lambda: model({h: h.prev}, [h.prev], loss("l", h)), "is a Member, not a family"),
    "name": (lambda: twin(name="a/b"), "does not name a model"),
    "title": (lambda: twin(title="a\nb"), "one line"),
    "parameter name": (lambda: twin(MatrixSymbol("W hh", h_, h_) * h.prev), "'W hh' is not a name"),
    "size name": (lambda: twin(MatrixSymbol("V", h_, Symbol("T")) * MatrixSymbol("c", Symbol("T"), 1)), "T is reserv"),
    "family name": (lambda: family("t", h_), "t is reserved"),
    "loss name": (lambda: loss("tanh", o), "tanh has a meaning of its own"),
    "negative lag": (lambda: h.lag(-1), "whole number from 0 to 1000"),
    "large lag": (lambda: h.lag(10**9), "whole number from 0 to 1000"),
    "half a lag": (lambda: h.lag(0.5), "whole number from 0 to 1000"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_read_is_refused(fault: str) -> None:
    act, words = FAULTS[fault]
    with pytest.raises(ModelError, match=words):
        act()


def test_errors_name_the_entry() -> None:
    with pytest.raises(ModelError) as caught:
        twin(output=gamma * o)
    assert (caught.value.table, caught.value.key) == ("equations", "o")
    with pytest.raises(ModelError) as caught:
        twin(term=[loss("l", o, y), W_hx])
    assert (caught.value.table, caught.value.key) == ("loss", "1")


def test_the_table_reads_what_the_file_can_say() -> None:
    written = {nodes.At, nodes.Loss, nodes.Plus, nodes.Times, nodes.Scale, nodes.Transpose, nodes.Zero, nodes.Identity}
    assert written <= set(READERS)


LETTERS = [("h[t-1]", h.prev), ("h[t-2]", h.lag(2)), ("W_hx @ x", W_hx * x), ("b", b), ("c", MatrixSymbol("c", h_, 1))]
TREES = st.recursive(
    st.sampled_from(LETTERS),
    lambda inner: st.one_of(
        inner.map(lambda e: (f"W_hh @ ({e[0]})", sympy.MatMul(W_hh, e[1]))),
        inner.map(lambda e: (f"W_hh.T @ ({e[0]})", sympy.MatMul(sympy.Transpose(W_hh), e[1]))),
        inner.map(lambda e: (f"-2/3*({e[0]})", sympy.MatMul(Rational(-2, 3), e[1]))),
        inner.map(lambda e: (f"0.25*gamma*({e[0]})", sympy.MatMul(gamma / 4, e[1]))),
        st.tuples(inner, inner).map(lambda p: (f"{p[0][0]} + {p[1][0]}", sympy.MatAdd(p[0][1], p[1][1]))),
    ), max_leaves=8)


@given(TREES)
def test_random_expressions_equal_their_text(tree: tuple[str, object]) -> None:
    text, expression = tree
    tables = ', b = "h", c = "h"'
    whole = f"{text} + W_hx @ x + W_hh @ h[t-1] + gamma*b + c"
    left = file(whole, tables)
    rest = (W_hx * x, W_hh * h.prev, gamma * b, MatrixSymbol("c", h_, 1))
    assert left == twin(sympy.MatAdd(expression, *rest), constants=[gamma])
