"""Each derivative of the table equals the derivative of its scalar function, and each loss its formula; numerically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from sympy import MatrixSymbol, Symbol

from symbptt.expr.build import apply, scale
from symbptt.expr.nodes import (
    Apply,
    Diagonal,
    Hadamard,
    Identity,
    Matrix,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
)
from symbptt.model.functions import ENTRYWISE, FUNCTIONS, LOSSES, VECTOR_FUNCTIONS, Function
from symbptt.model.notation import RESERVED

N = 4
SIZE = Symbol("n", integer=True, positive=True)
Z, Y = MatrixSymbol("z", SIZE, 1), MatrixSymbol("y", SIZE, 1)
Values = dict[MatrixSymbol, np.ndarray]


def log_softmax(z: np.ndarray) -> np.ndarray:
    return np.asarray(z - z.max() - np.log(np.exp(z - z.max()).sum()))


def entry(name: str) -> Callable[[Any], Any]:
    u = Symbol("u", real=True)
    f = sympy.lambdify(u, ENTRYWISE[name].scalar(u), "mpmath")
    return np.vectorize(lambda v: float(f(mpmath.mpf(v))))


VECTOR: dict[str, Callable[[Any], Any]] = {"softmax": lambda z: np.exp(log_softmax(z)), "log_softmax": log_softmax}


def extent(n: object) -> int:
    return N if n == SIZE else int(n)  # type: ignore[call-overload, no-any-return]


def number(e: Matrix, at: Values) -> np.ndarray:
    """The value of an expression, written apart from the engine."""
    if isinstance(e, MatrixSymbol):
        return at[e]
    values = [number(a, at) for a in e.args if hasattr(a, "shape")]
    match e:
        case Plus():
            return np.asarray(sum(values))
        case Hadamard():
            return np.asarray(np.prod(values, axis=0))
        case Times():
            return np.asarray(np.linalg.multi_dot(values) if len(values) > 1 else values[0])
        case Scale():
            return float(e.args[0]) * values[0]
        case Transpose():
            return values[0].T
        case Diagonal():
            return np.diag(values[0][:, 0])
        case Identity():
            return np.eye(extent(e.args[0]))
        case Zero() | Ones():
            return np.full(tuple(map(extent, e.shape)), float(isinstance(e, Ones)))
        case Apply():
            name = str(e.args[0])
            return np.asarray((VECTOR[name] if name in VECTOR else entry(name))(values[0]))
    raise AssertionError(f"{type(e).__name__} has no value")


def wrong(row: Function, name: str, points: list[float]) -> float:
    """How far the derivative is from that of the scalar function, at most."""
    u = Symbol("u", real=True)
    f = sympy.lambdify(u, row.scalar(u), "mpmath")
    z = np.array(points).reshape(-1, 1)
    assert len(points) == N
    found = number(row.slope(Z, Y), {Z: z, Y: entry(name)(z)})[:, 0]
    with mpmath.workdps(40):
        wanted = [float(mpmath.diff(f, v)) for v in points]
    return float(np.abs(found - wanted).max())


POINTS = [[-2.3, -0.7, 0.4, 1.9], [-0.9, -0.01, 0.02, 3.1]]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_slope_is_the_derivative_of_its_scalar_function(name: str) -> None:
    for points in POINTS:
        assert wrong(FUNCTIONS[name], name, points) < 1e-12


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_slope_is_seen(name: str) -> None:
    row = FUNCTIONS[name]
    for lie in (lambda z, y: scale(-1, row.slope(z, y)), lambda z, y: apply("square", z)):
        assert wrong(replace(row, slope=lie), name, POINTS[0]) > 1e-3


@pytest.mark.parametrize("name", [name for name, row in FUNCTIONS.items() if row.kinks])
def test_what_stands_for_the_derivative_at_a_kink(name: str) -> None:
    row = FUNCTIONS[name]
    for kink in row.kinks:
        z = np.full((N, 1), float(kink))
        found = number(row.slope(Z, Y), {Z: z, Y: entry(name)(z)})
        assert np.allclose(found, float(sympy.Rational(row.convention))), kink
        u = Symbol("u", real=True)
        f = sympy.lambdify(u, row.scalar(u), "mpmath")
        left, right = (float(mpmath.diff(f, kink, direction=d)) for d in (-1, 1))
        assert abs(left - right) > 1e-3, "there is no kink"


def jacobian(f: Callable[[Any], Any], z: np.ndarray, step: float = 1e-6) -> np.ndarray:
    columns = [(f(z + step * e) - f(z - step * e)) / (2 * step) for e in np.eye(N)[:, :, None]]
    return np.concatenate(columns, axis=1)


@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_each_jacobian_of_a_function_of_columns(name: str) -> None:
    z = np.random.default_rng(1).normal(size=(N, 1))
    found = number(VECTOR_FUNCTIONS[name].jacobian(Z, Y), {Z: z, Y: VECTOR[name](z)})
    assert np.allclose(found, jacobian(VECTOR[name], z).T, atol=1e-8)
    other = "softmax" if name == "log_softmax" else "log_softmax"
    assert not np.allclose(found, jacobian(VECTOR[other], z).T, atol=1e-3)


def test_each_loss_is_its_formula() -> None:
    random = np.random.default_rng(2)
    z, y = random.normal(size=(2, N, 1))
    at = {Z: z, Y: y}
    formulas = {"squared_error": ((z - y)**2).sum() / 2, "softmax_cross_entropy": -(y * log_softmax(z)).sum(),
                "squared_norm": (z**2).sum()}
    assert set(formulas) == set(LOSSES)
    for name, value in formulas.items():
        found = number(LOSSES[name].definition(*[Z, Y][:len(LOSSES[name].arguments)]), at)
        assert found.shape == (1, 1)
        assert np.isclose(found.item(), value)


def test_every_function_and_loss_that_is_printed_by_a_name_keeps_it_from_others() -> None:
    signs = {"abs", "step", "square", "sign", "squared_norm"}
    assert {*RESERVED.values()} == {*ENTRYWISE, *FUNCTIONS, *VECTOR_FUNCTIONS, *LOSSES} - signs
