"""The functions that modules bring along, against their definitions at high precision."""

import warnings

import mpmath
import numpy as np
import pytest
import sympy

from symbptt.model.functions import CALLABLE, ENTRYWISE, FUNCTIONS, SLOPES, VECTOR_FUNCTIONS
from symbptt.program import runtime, runtime_check, runtime_options, runtime_segments, runtime_shared, runtime_windows
from symbptt.program.carry import SOURCES, edited, functions
from symbptt.render.arrays import NUMPY

Z = sympy.Symbol("z", real=True)
POINTS = np.array([-800.0, -45.0, -3.0, -1.5, -0.6, -1e-9, 1e-9, 0.4, 1.2, 2.5, 40.0, 700.0])
GROWING = {"exp", "square"}


def mapped(name: str, z):
    return eval(NUMPY.maps[name].format("z"), {**vars(runtime), "z": z})


def exact(name: str, points) -> np.ndarray:
    scalar = sympy.lambdify(Z, ENTRYWISE[name].scalar(Z), "mpmath")
    with mpmath.workdps(400):
        return np.array([float(scalar(mpmath.mpf(p))) for p in points])


def test_no_function_stands_in_for_another() -> None:
    own = (runtime, runtime_check, runtime_options, runtime_segments, runtime_shared, runtime_windows)
    named = [name for module in own for name, value in vars(module).items()
             if getattr(value, "__module__", "") == module.__name__]
    assert set(functions()) <= set(named)
    bodies = [name for source in SOURCES for name in functions((source,))]
    assert len(bodies) == len(set(bodies))


def test_a_change_that_finds_no_place_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'nowhere' stands 0 times in _read"):
        edited([("_read", "nowhere", "here")])


def test_every_function_has_an_array_form() -> None:
    assert set(NUMPY.maps) == {*CALLABLE, *SLOPES}
    assert not set(NUMPY.maps) & set(NUMPY.functions)


@pytest.mark.parametrize("name", sorted(ENTRYWISE))
def test_values_are_exact_and_nothing_overflows(name: str) -> None:
    points = POINTS if name not in GROWING else np.clip(POINTS, -600, 600)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mapped(name, points)
    np.testing.assert_allclose(found, exact(name, points), rtol=4e-15, atol=0 if name != "softsign" else 1e-300)


@pytest.mark.parametrize("name", sorted(set(ENTRYWISE) - set(SLOPES)))
def test_a_complex_step_gives_the_derivative(name: str) -> None:
    points = POINTS[(abs(POINTS) < 50) & (abs(POINTS) > 1e-6)]
    scalar = sympy.lambdify(Z, ENTRYWISE[name].scalar(Z), "mpmath")
    with mpmath.workdps(60):
        right = np.array([float(mpmath.diff(scalar, mpmath.mpf(p))) for p in points])
    np.testing.assert_allclose(mapped(name, points + 1e-30j).imag / 1e-30, right, rtol=1e-12, atol=1e-30)


@pytest.mark.parametrize("name", sorted(SLOPES))
def test_slopes_of_kinks_are_zero_at_the_kink(name: str) -> None:
    assert mapped(name, np.zeros(2)).tolist() == [0, 0]


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *VECTOR_FUNCTIONS}))
def test_what_is_no_number_stays_none(name: str) -> None:
    assert np.isnan(mapped(name, np.array([np.nan, 1.0]))[0])


@pytest.mark.parametrize("name", sorted(VECTOR_FUNCTIONS))
def test_functions_of_a_column(name: str) -> None:
    z = np.array([[800.0, 801.0, -900.0], [0.1, -0.2, 0.3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mapped(name, z)
    with mpmath.workdps(900):
        powers = [[mpmath.exp(mpmath.mpf(v)) for v in row] for row in z]
        right = [[p / sum(row) for p in row] for row in powers]
        right = [[mpmath.log(p) if name == "log_softmax" else p for p in row] for row in right]
        np.testing.assert_allclose(found, np.array(right, dtype=float), rtol=1e-14, atol=1e-300)
    shifted = mapped(name, z[1] + 1e-30j * np.array([1, 0, 0])).imag / 1e-30
    p = np.exp(z[1]) / np.exp(z[1]).sum()
    jacobian = np.diag(p) - np.outer(p, p) if name == "softmax" else np.eye(3) - np.outer(np.ones(3), p)
    np.testing.assert_allclose(shifted, jacobian[:, 0], rtol=1e-13)


@pytest.mark.parametrize("name", sorted(NUMPY.maps))
def test_the_dtype_stays(name: str) -> None:
    assert mapped(name, np.array([[-0.5, 0.0, 2.0]], dtype=np.float32)).dtype == np.float32
    assert mapped(name, np.array([[-0.5, 0.5, 2.0]], dtype=np.complex128)).dtype == np.complex128


def test_rows_are_put_among_zeros() -> None:
    rows = np.arange(6.0).reshape(2, 3)
    assert runtime._placed(rows, 1, 5)[1].tolist() == [0, 3, 4, 5, 0]
    assert runtime._placed(rows, 2, 4, axis=-2)[:, 0].tolist() == [0, 0, 0, 3]
    assert runtime._at_last(rows)[:, 1].tolist() == [0, 4]


def test_what_cannot_be_divided_or_assumed_is_refused() -> None:
    mask = np.array([[[1.0], [0.0]], [[1.0], [0.0]]])
    with pytest.raises(ValueError, match=r'data\["m"\].*sample 1'):
        runtime._count("m", mask)
    assert runtime._count("m", mask[:, :1]).tolist() == [[2]]
    target = np.array([[[0.5, 0.5], [0.5, 0.4]]])
    with pytest.raises(ValueError, match=r'data\["y"\].*add up to one'):
        runtime._require_sum_one("y", target)
    runtime._require_sum_one("y", target, np.array([[[1.0], [0.0]]]))
