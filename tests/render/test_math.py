"""LaTeX of expressions: every class has a row; signs, parentheses and names are as a mathematician writes them."""

from __future__ import annotations

import pykatex
import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol, sin
from sympy.core.symbol import Str

from symbptt.expr.build import apply, selection, stacked
from symbptt.expr.index import IndexVar, T, index, t
from symbptt.expr.nodes import (
    NODES,
    ONE,
    Adjoint,
    At,
    Chain,
    Delta,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    Immediate,
    Loss,
    LossGradient,
    Matrix,
    Maximum,
    Multiple,
    Node,
    Norm,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Tangent,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.expr.walk import visit
from symbptt.render.math import MACROS, Latex, latex
from symbptt.render.structure import ROWS, Printer

d, n, q = (Symbol(s, integer=True, positive=True) for s in "dnq")
A, B, C = (MatrixSymbol(s, n, n) for s in "ABC")
W_hx, W_hh = MatrixSymbol("W_hx", n, d), MatrixSymbol("W_hh", n, n)
h, o, x, y = MatrixSymbol("h", n, 1), MatrixSymbol("o", q, 1), MatrixSymbol("x", d, 1), MatrixSymbol("y", 1, 1)
gamma, lam = Symbol("gamma", real=True), Symbol("lambda_", real=True)
i, k = IndexVar("i"), IndexVar("k")
LOSS = Loss(Str("l"), At(o, t), At(y, t))


def scaled(c: int, e: Matrix) -> Matrix:
    return Scale(Integer(c), e)


def test_every_class_has_a_row() -> None:
    assert set(ROWS) == set(NODES)


def test_an_unknown_class_is_refused() -> None:
    class Unknown(Node):
        rule = staticmethod(lambda _: (n, n))

    with pytest.raises(KeyError):
        latex(Unknown(A))
    with pytest.raises(KeyError):
        latex(Plus(A, Transpose(Unknown(A))))


def test_an_unknown_scalar_is_refused() -> None:
    with pytest.raises(TypeError, match="which no notation writes"):
        latex(Scale(sin(gamma), A))


NAMES = {
    "W_hx": r"\boldsymbol{W}_{hx}", "W_1": r"\boldsymbol{W}_1", "W1": r"\boldsymbol{W}_1", "W": r"\boldsymbol{W}",
    "W_xh2": r"\boldsymbol{W}_{xh2}", "W_x_h": r"\boldsymbol{W}_{x,h}", "gate": r"\mathbf{gate}",
    "alpha": r"\boldsymbol{\alpha}", "Gamma": r"\boldsymbol{\Gamma}", "lambda_": r"\boldsymbol{\lambda}",
    "beta2": r"\boldsymbol{\beta}_2", "W_hidden": r"\boldsymbol{W}_{\mathrm{hidden}}",
    "W_alpha": r"\boldsymbol{W}_{\alpha}",
    "conv1": r"\mathbf{conv1}",
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    assert latex(MatrixSymbol(name, n, n)) == NAMES[name]


MEMBERS: dict[str, tuple[Matrix, str]] = {
    "now": (At(h, t), r"\boldsymbol{h}_t"),
    "before": (At(h, index(t) - 1), r"\boldsymbol{h}_{t-1}"),
    "after": (At(h, index(t) + 1), r"\boldsymbol{h}_{t+1}"),
    "at a number": (At(h, 3), r"\boldsymbol{h}_3"),
    "before zero": (At(h, -1), r"\boldsymbol{h}_{-1}"),
    "capitals first, subtracted last": (At(o, index(T) + t - i), r"\boldsymbol{o}_{T+t-i}"),
    "a multiple": (At(o, index(i) + i - 1), r"\boldsymbol{o}_{2i-1}"),
    "a family of size one": (At(y, t), "y_t"),
    "a family with an underscore": (At(MatrixSymbol("h_1", n, 1), index(t) - 1), r"\boldsymbol{h}_{1,t-1}"),
    "a renamed index": (At(h, IndexVar("i'")), r"\boldsymbol{h}_{i'}"),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_members(case: str) -> None:
    e, expected = MEMBERS[case]
    assert latex(e) == expected


a, b, c = (rf"\boldsymbol{{{s}}}" for s in "ABC")
STRUCTURE: dict[str, tuple[Matrix, str]] = {
    "a difference": (Plus(A, scaled(-1, B)), f"{a} - {b}"),
    "a leading minus": (Plus(scaled(-1, A), B), f"-{a} + {b}"),
    "nested sums": (Plus(A, Plus(B, C)), f"{a} + {b} + {c}"),
    "a subtracted sum": (Plus(A, scaled(-1, Plus(B, C))), rf"{a} - \left({b} + {c}\right)"),
    "nested products": (Times(A, Times(B, C)), f"{a} {b} {c}"),
    "a sum in a product": (Times(A, Plus(B, C)), rf"{a} \left({b} + {c}\right)"),
    "a minus before a product": (Times(scaled(-1, A), B), f"-{a} {b}"),
    "a minus inside a product": (Times(A, scaled(-1, B)), rf"{a} \left(-{b}\right)"),
    "a minus of a transpose": (scaled(-1, Transpose(B)), rf"-{b}^\top"),
    "a minus of a minus": (scaled(-1, scaled(-1, B)), rf"-\left(-{b}\right)"),
    "a scalar inside a product": (Times(A, scaled(2, B)), rf"{a} \left(2 {b}\right)"),
    "a scalar before a product": (Times(scaled(2, A), B), f"2 {a} {b}"),
    "two scalars": (scaled(2, scaled(3, A)), rf"2 \left(3 {a}\right)"),
    "a fraction": (Scale(Rational(-1, 4), A), rf"-\frac{{1}}{{4}} {a}"),
    "one over T": (Scale(1 / T, A), rf"\frac{{1}}{{T}} {a}"),
    "a constant over T": (Scale(gamma / T, A), rf"\frac{{\gamma}}{{T}} {a}"),
    "minus a constant": (Plus(A, Scale(-lam, B)), rf"{a} - \lambda {b}"),
    "a sum of constants": (Scale(1 - gamma, A), rf"(1 - \gamma) {a}".replace("(", r"\left(").replace(")", r"\right)")),
    "a product of constants": (Scale(2 * gamma * lam, A), rf"2 \gamma \lambda {a}"),
    "a power of a constant": (Scale(gamma**2, A), rf"\gamma^{{2}} {a}"),
    "a transpose": (Transpose(W_hh), r"\boldsymbol{W}_{hh}^\top"),
    "a transposed product": (Transpose(Times(A, B)), rf"\left({a} {b}\right)^\top"),
    "a power": (Power(Transpose(W_hh), index(i) - t), r"\left(\boldsymbol{W}_{hh}^\top\right)^{i-t}"),
    "a power of a letter": (Power(A, index(T) - i), rf"{a}^{{T-i}}"),
    "a power of a product": (Power(Times(A, B), 2), rf"\left({a} {b}\right)^{{2}}"),
    "a sum over time": (Sum(At(h, i), i, t, T), r"\sum_{i=t}^{T} \boldsymbol{h}_i"),
    "a sum of sums": (Sum(Plus(At(h, i), At(h, 0)), i, t, T),
                      r"\sum_{i=t}^{T} \left(\boldsymbol{h}_i + \boldsymbol{h}_0\right)"),
    "a factor after a sum": (Times(Sum(Power(A, i), i, 1, T), B), rf"\left(\sum_{{i=1}}^{{T}} {a}^{{i}}\right) {b}"),
    "a factor before a sum": (Times(B, Sum(Power(A, i), i, 1, T)), rf"{b} \sum_{{i=1}}^{{T}} {a}^{{i}}"),
    "a factor after a product": (Times(Product(At(A, k), k, index(t) + 1, i), At(h, i)),
                                 rf"\left(\prod_{{k=t+1}}^{{i}} {a}_k\right) \boldsymbol{{h}}_i"),
    "a scalar variable": (Multiple(Times(Transpose(At(x, t)), At(x, t)), A),
                          rf"\left(\boldsymbol{{x}}_t^\top \boldsymbol{{x}}_t\right) {a}"),
    "zero": (Zero(n, n), r"\boldsymbol{0}"),
    "the number zero": (Zero(Integer(1), Integer(1)), "0"),
    "the identity": (Identity(n), r"\boldsymbol{I}"),
    "blocks": (block([[A, Zero(n, n)], [Identity(n), B]]),
               rf"\begin{{bmatrix}} {a} & \boldsymbol{{0}} \\ \boldsymbol{{I}} & {b} \end{{bmatrix}}"),
    "a gradient": (Adjoint(At(h, t)), r"\frac{\partial L}{\partial \boldsymbol{h}_t}"),
    "a direct gradient": (Direct(At(h, t)), r"\frac{\partial^{+} L}{\partial \boldsymbol{h}_t}"),
    "a transposed gradient": (Transpose(Adjoint(At(h, t))),
                              r"\left(\frac{\partial L}{\partial \boldsymbol{h}_t}\right)^\top"),
    "a loss": (LOSS, r"\ell(\boldsymbol{o}_t, y_t)"),
    "a loss of another name": (Loss(Str("mse_1"), At(o, t)), r"\mathrm{mse}_1(\boldsymbol{o}_t)"),
    "a loss gradient": (LossGradient(LOSS, Integer(0)),
                        r"\frac{\partial \ell(\boldsymbol{o}_t, y_t)}{\partial \boldsymbol{o}_t}"),
    "an elementwise product": (Plus(Hadamard(A, B), C), rf"{a} \circ {b} + {c}"),
    "a sum in an elementwise product": (Hadamard(A, Plus(B, C)), rf"{a} \circ \left({b} + {c}\right)"),
    "a product in an elementwise product": (Hadamard(A, Times(B, C)), rf"{a} \circ \left({b} {c}\right)"),
    "a product of an elementwise product": (Times(A, Hadamard(B, C)), rf"{a} \left({b} \circ {c}\right)"),
    "an elementwise product before a matrix": (Times(Hadamard(A, B), C), rf"\left({a} \circ {b}\right) {c}"),
    "a multiple of an elementwise product before a matrix": (Times(scaled(2, Hadamard(A, B)), C),
                                                             rf"\left(2 {a} \circ {b}\right) {c}"),
    "a transposed elementwise product": (Transpose(Hadamard(A, B)), rf"\left({a} \circ {b}\right)^\top"),
    "a minus before an elementwise product": (Plus(C, scaled(-1, Hadamard(A, B))), rf"{c} - {a} \circ {b}"),
    "a minus in an elementwise product": (Hadamard(A, scaled(-1, B)), rf"{a} \circ \left(-{b}\right)"),
    "nested elementwise products": (Hadamard(A, Hadamard(B, C)), rf"{a} \circ {b} \circ {c}"),
    "a function": (apply("tanh", Plus(A, B)), rf"\tanh({a} + {b})"),
    "a function of a fraction": (apply("sigmoid", Scale(1 / T, A)), rf"\sigma\!\left(\frac{{1}}{{T}} {a}\right)"),
    "a named function": (apply("hard_tanh", A), rf"\mathrm{{hardtanh}}({a})"),
    "a function of no table": (apply("my_gate", A), rf"\mathrm{{mygate}}({a})"),
    "a square": (apply("square", Plus(A, B)), rf"\left({a} + {b}\right)^{{\circ 2}}"),
    "an absolute value": (apply("abs", A), rf"\left|{a}\right|"),
    "a step": (apply("step", At(h, t)), r"\boldsymbol{1}[\boldsymbol{h}_t > 0]"),
    "a Jacobian of tanh": (Times(Transpose(A), Diagonal(Plus(Ones(n, ONE), scaled(-1, Hadamard(At(h, t), At(h, t)))))),
                           rf"{a}^\top \, \mathrm{{diag}}(\boldsymbol{{1}} - "
                           r"\boldsymbol{h}_t \circ \boldsymbol{h}_t)"),
    "ones first": (Plus(scaled(-1, At(h, t)), Ones(n, ONE)), r"\boldsymbol{1} - \boldsymbol{h}_t"),
    "a number beside a column": (Plus(At(h, t), Scale(Integer(-2), Ones(n, ONE))), r"\boldsymbol{h}_t - 2"),
    "a number alone": (Scale(Integer(2), Ones(n, ONE)), r"2 \boldsymbol{1}"),
    "the number one": (Ones(ONE, ONE), "1"),
    "one by one": (Identity(ONE), "1"),
    "a sum of entries": (Times(Transpose(Ones(n, ONE)), At(h, t)), r"\boldsymbol{1}^\top \boldsymbol{h}_t"),
    "a factor one": (Times(At(h, t), Ones(ONE, ONE)), r"\boldsymbol{h}_t"),
    "a delta": (Delta(t, T), r"\delta_{t,T}"),
    "a bound": (Maximum(Norm(W_hh), Delta(t, T)), r"\mathrm{max}(\lVert \boldsymbol{W}_{hh} \rVert, \delta_{t,T})"),
    "a column of columns": (stacked([At(h, index(t) - 1), At(x, t)]),
                            r"\begin{bmatrix} \boldsymbol{h}_{t-1} \\ \boldsymbol{x}_t \end{bmatrix}"),
    "rows of a letter": (Times(selection(n, n, 2 * n), MatrixSymbol("W", 2 * n, n)),
                         r"\left[\boldsymbol{W}\right]_{n:2 n}"),
    "rows turned": (Times(Transpose(MatrixSymbol("W", 2 * n, n)), Transpose(selection(n, n, 2 * n)), At(h, t)),
                    r"\left[\boldsymbol{W}\right]_{n:2 n}^\top \boldsymbol{h}_t"),
    "rows of a product": (Times(selection(n, n, 2 * n), Plus(MatrixSymbol("W", 2 * n, n), MatrixSymbol("V", 2 * n, n))),
                          r"\left[\boldsymbol{I}\right]_{n:2 n} \left(\boldsymbol{W} + \boldsymbol{V}\right)"),
    "rows put back": (Times(Transpose(selection(Integer(0), n, 2 * n)), At(h, t)),
                      r"\left[\boldsymbol{I}\right]_{0:n}^\top \boldsymbol{h}_t"),
    "a difference of rows": (Times(Plus(Transpose(At(h, t)), scaled(-1, Transpose(At(h, 0)))), At(h, t)),
                             r"\left(\boldsymbol{h}_t - \boldsymbol{h}_0\right)^\top \boldsymbol{h}_t"),
    "a scalar before a multiple": (Multiple(At(y, t), Scale(1 / T, At(h, t))), r"\frac{1}{T} y_t \boldsymbol{h}_t"),
    "cross-entropy": (Loss(Str("softmax_cross_entropy"), At(o, t)), r"\mathrm{CE}(\boldsymbol{o}_t)"),
    "a norm": (Loss(Str("squared_norm"), A), rf"\lVert {a} \rVert^2"),
    "a tangent": (Tangent(At(h, t)), r"\mathrm{d} \boldsymbol{h}_t"),
    "what comes of this step": (Immediate(At(h, t)), r"\partial^{+} \boldsymbol{h}_t"),
    "the chain rule": (Chain(At(o, t), At(h, t)),
                       r"\text{prod}\left(\frac{\partial L}{\partial \boldsymbol{o}_t}, "
                       r"\frac{\partial \boldsymbol{o}_t}{\partial \boldsymbol{h}_t}\right)"),
}


@pytest.mark.parametrize("case", STRUCTURE)
def test_structure(case: str) -> None:
    e, expected = STRUCTURE[case]
    assert latex(e) == expected
    pykatex.renderToString(latex(e), strict=pykatex.STRICT_ERROR)


def test_the_samples_cover_the_vocabulary() -> None:
    kinds = {type(part) for e, _ in (*STRUCTURE.values(), *MEMBERS.values()) for part in visit(e)}
    assert kinds >= set(NODES)


def test_sizes() -> None:
    size = Printer(Latex()).size
    assert size(n) == "n"
    assert size(4 * n + d) in ("4 n + d", "d + 4 n")
    assert size(Symbol("n_in")) == "n_{in}"


@pytest.mark.parametrize("macro", sorted(MACROS - {"begin", "end", "left", "right", "biggl", "biggr", "tag", "label"}))
def test_the_allowed_macros_are_known_to_katex(macro: str) -> None:
    letter = dict.fromkeys(("text", "boldsymbol", "mathbf", "mathrm", "mathbb"), "{A}")
    arguments = letter | dict.fromkeys(("frac", "dfrac"), "{a}{b}")
    pykatex.renderToString("\\" + macro + arguments.get(macro, " x"), strict=pykatex.STRICT_ERROR)
