import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.derive import derive
from symbptt.expr.build import apply, hadamard, selection
from symbptt.expr.index import IndexVar, index, t
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Diagonal,
    Identity,
    Multiple,
    Ones,
    Plus,
    Power,
    Scale,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.model.read import loads
from symbptt.program.lower import Lowering, NoArrayFormError
from symbptt.program.names import Names
from symbptt.render.arrays import NUMPY, Writer

MODEL = """
name = "some"
[sizes]
d = "input"
h = "hidden"
[parameters]
W = "h, d"
A = "h, h"
P = "2*h, d"
b = "h"
r = "1, h"
s = "1"
[constants]
gamma = ""
[inputs]
x = "d"
z = "1"
[states]
h = "h"
[equations]
h = "W @ x + gamma*(A @ h[t-1]) + b @ z + b @ s + r.T"
[[loss]]
term = "l(h)"
"""

WRITE = Writer(NUMPY)
d, n = (Symbol(c, integer=True, positive=True) for c in "dh")
W, A, b, r, s = (MatrixSymbol("W", n, d), MatrixSymbol("A", n, n), MatrixSymbol("b", n, 1), MatrixSymbol("r", 1, n),
                 MatrixSymbol("s", 1, 1))
x, z, h = (At(MatrixSymbol(c, size, 1), t) for c, size in (("x", d), ("z", Integer(1)), ("h", n)))
P = MatrixSymbol("P", 2 * n, d)
before, g, gamma = At(h.family, index(t) - 1), Adjoint(h), Symbol("gamma", real=True)


@pytest.fixture(scope="module")
def lower() -> Lowering:
    return Lowering(Names(derive(loads(MODEL))))


@pytest.mark.parametrize(("e", "code"), [
    (Times(W, x), "x[t] @ W.T"),
    (Plus(Times(W, x), Times(A, before), b), "x[t] @ W.T + h[t - 1] @ A.T + b"),
    (Times(Transpose(A), g), "dL_dh[t] @ A"),
    (Times(A, Transpose(A), before), "h[t - 1] @ A @ A.T"),
    (Times(Plus(A, Transpose(A)), before), "h[t - 1] @ (A.T + A)"),
    (Times(W, x, Transpose(x), x), "(x[t] @ W.T) * _dot(x[t], x[t])"),
    (Times(x, Transpose(before), A, h), "x[t] * _dot(h[t - 1] @ A, h[t])"),
    (Times(r, before), "h[t - 1] @ r.T"),
    (Times(Transpose(before), Transpose(r)), "h[t - 1] @ r.T"),
    (Times(A, Transpose(r)), "r[0] @ A.T"),
    (Transpose(r), "r[0]"),
    (Times(b, z), "b * z[t]"),
    (Times(b, s), "b * s"),
    (Scale(Integer(-1), Times(A, before)), "-h[t - 1] @ A.T"),
    (Scale(Rational(-2, 3), before), "-2 * h[t - 1] / 3"),
    (Scale(gamma / 2, Times(A, before)), "gamma * (h[t - 1] @ A.T) / 2"),
    (Scale(1 - gamma, before), "(1 - gamma) * h[t - 1]"),
    (Multiple(z, before), "h[t - 1] * z[t]"),
    (Plus(before, Scale(Integer(-1), Plus(h, before))), "h[t - 1] - (h[t] + h[t - 1])"),
    (Zero(n, Integer(1)), 'np.zeros((B, size["h"]), dtype)'),
    (Times(Power(Transpose(A), index(IndexVar("i")) - t), g), "dL_dh[t] @ np.linalg.matrix_power(A, i - t)"),
    (Times(Power(s, index(t) - 1), z), "(s ** (t - 1)) * z[t]"),
    (hadamard(h, before), "h[t] * h[t - 1]"),
    (Plus(Ones(*h.shape), Scale(Integer(-1), hadamard(h, h))), "1 - h[t] * h[t]"),
    (Scale(Rational(1, 3), Ones(*h.shape)), "1 / 3"),
    (apply("sigmoid", Plus(Times(W, x), b)), "_sigmoid(x[t] @ W.T + b)"),
    (Times(Transpose(A), Diagonal(h), g), "(h[t] * dL_dh[t]) @ A"),
    (Times(Plus(Diagonal(h), Scale(Integer(-1), Diagonal(before))), g), "(h[t] - h[t - 1]) * dL_dh[t]"),
    (Times(Plus(Diagonal(h), Scale(Integer(-1), Times(h, Transpose(h)))), g),
     "h[t] * dL_dh[t] - h[t] * _dot(h[t], dL_dh[t])"),
    (Times(Power(Diagonal(b), index(IndexVar("i")) - t), g), "(b ** (i - t)) * dL_dh[t]"),
    (Times(h, Transpose(Ones(*h.shape)), before), "h[t] * h[t - 1].sum(axis=-1, keepdims=True)"),
    (Times(selection(Integer(1), Integer(1), n + 2), At(MatrixSymbol("h", n + 2, 1), t)), "h[t][..., 1:2]"),
    (Times(Transpose(selection(Integer(0), n, 2 * n)), h), '_placed(h[t], 0, 2 * size["h"])'),
    (Times(selection(n, n, 2 * n), P, x), 'x[t] @ P[size["h"]:].T'),
    (Times(Transpose(P), Transpose(selection(n, n, 2 * n)), g), 'dL_dh[t] @ P[size["h"]:]'),
    (block([[h], [Zero(d, Integer(1))]]), 'np.concatenate([h[t], np.zeros((B, size["d"]), dtype)], axis=-1)'),
])
def test_columns_become_rows(e, code: str, lower: Lowering) -> None:
    assert WRITE(lower.rows(e)) == code


@pytest.mark.parametrize(("e", "code"), [
    (Times(g, Transpose(x)), "dL_dh[t].T @ x[t]"),
    (Times(A, before, Transpose(g)), "(h[t - 1] @ A.T).T @ dL_dh[t]"),
    (Plus(Times(g, Transpose(before)), Times(before, Transpose(g))),
     "dL_dh[t].T @ h[t - 1] + h[t - 1].T @ dL_dh[t]"),
    (Times(g, Transpose(b)), 'dL_dh[t].T @ np.broadcast_to(b, (B, size["h"]))'),
    (g, "dL_dh[t].sum(axis=0)"),
    (Times(g, z), "(dL_dh[t] * z[t]).sum(axis=0)"),
    (Times(z, Transpose(before)), "z[t].T @ h[t - 1]"),
    (Transpose(g), "dL_dh[t].sum(axis=0, keepdims=True)"),
    (Times(Transpose(b), g), "_dot(b, dL_dh[t]).sum(axis=0)"),
    (Scale(gamma, Times(g, Transpose(x))), "gamma * (dL_dh[t].T @ x[t])"),
    (hadamard(A, Times(g, Transpose(h))), "A * (dL_dh[t].T @ h[t])"),
    (Times(Diagonal(h), g, Transpose(x)), "(h[t] * dL_dh[t]).T @ x[t]"),
    (Times(Transpose(A), hadamard(A, Times(g, Transpose(h))), A), "A.T @ (A * (dL_dh[t].T @ h[t])) @ A"),
    (Scale(gamma, A), "gamma * A"),
])
def test_gradients_of_parameters_are_summed_over_samples(e, code: str, lower: Lowering) -> None:
    assert WRITE(lower.summed(e)) == code


@pytest.mark.parametrize(("e", "code"), [
    (Transpose(A), "A.T"),
    (Times(x, Transpose(h)), "_outer(x[t], h[t])"),
    (Multiple(Times(Transpose(x), x), Identity(n)), '_dot(x[t], x[t])[..., :, None] * np.eye(size["h"], dtype=dtype)'),
    (Plus(A, Times(h, Transpose(b))), "A + _outer(h[t], b)"),
    (block([[A, b], [r, Zero(Integer(1), Integer(1))]]),
     "np.block([[A, b[..., :, None]], [r, np.zeros((1, 1), dtype)]])"),
    (Transpose(b), "b[..., None, :]"),
    (Times(Transpose(A), Diagonal(h), Diagonal(b)), "A.T * (h[t] * b)[..., None, :]"),
    (Times(Diagonal(h), A, Diagonal(b)), "h[t][..., :, None] * A * b[..., None, :]"),
    (Diagonal(h), 'h[t][..., :, None] * np.eye(size["h"], dtype=dtype)'),
    (hadamard(A, apply("tanh", A)), "A * np.tanh(A)"),
    (Plus(Ones(n, n), A), "1 + A"),
    (Times(selection(Integer(0), n, 2 * n), P), 'P[:size["h"]]'),
    (Times(Transpose(MatrixSymbol("W", n + 2, d)), Transpose(selection(Integer(0), Integer(2), n + 2))), "W[:2].T"),
])
def test_matrices_keep_two_axes(e, code: str, lower: Lowering) -> None:
    assert WRITE(lower.matrix(e)) == code


def test_rows_that_are_put_among_zeros_come_on_their_own(lower: Lowering) -> None:
    rows = Transpose(selection(n, n, 2 * n))
    found = list(lower.gradient(Plus(Times(rows, Diagonal(h), g, Transpose(x)), Times(rows, g, Transpose(x)))))
    assert [(span, WRITE(value)) for span, value in found] == [
        ((n, 2 * n), "(h[t] * dL_dh[t]).T @ x[t] + dL_dh[t].T @ x[t]")]
    mixed = Times(P, x, Transpose(x))
    assert [(span, WRITE(value)) for span, value in lower.gradient(mixed)] == [(None, "(x[t] @ P.T).T @ x[t]")]


def test_a_column_without_samples_is_spread_where_it_is_stored(lower: Lowering) -> None:
    assert WRITE(lower.stored(b)) == 'np.broadcast_to(b, (B, size["h"]))'
    assert WRITE(lower.stored(h)) == "h[t]"


def test_what_has_no_row_is_refused(lower: Lowering) -> None:
    with pytest.raises(NoArrayFormError):
        lower.rows(Adjoint(A))
