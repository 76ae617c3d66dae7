"""Gradients truncated to so many uses of the weights: against what the derivation says that a window keeps."""

import itertools
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from symbptt.derive import derive
from symbptt.expr.index import T, index, t
from symbptt.expr.nodes import (
    Adjoint,
    Apply,
    At,
    Block,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    Multiple,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
)
from symbptt.model.masked import masked
from symbptt.program.options import OptionError, Options
from tests.render.asked import Asked
from tests.render.test_numpy_program import Network, error, folder, imported, model, slow  # noqa: F401 - the fixture
from tests.render.test_options import FOLLOWED, agrees, pass_ruff_and_mypy, program, text  # noqa: F401 - the fixture
from tests.render.test_options_fused import LSTM, ORDERS
from tests.render.test_options_mask import padded

FORMULAS = imported(Path(__file__).resolve().parents[1] / "program" / "interpreter.py").FORMULAS
FORMULAS = {**FORMULAS, "step": lambda z: 1.0 * (z > 0), "sign": np.sign}
CLOSE = 1e-11


def summands(e) -> list:
    return [a for part in e.args for a in summands(part)] if type(e) is Plus else [e]


class Kept:
    """The kept half of the derivation's formulas, evaluated for one network as finite sums."""

    def __init__(self, network: Network, uses: int) -> None:
        self.network, self.uses, self.record = network, uses, derive(network.model, truncate=uses)
        self.env = network.states(network.params, network.data)
        self.letters = {line.name: line for line in self.record.of_kind("letter")}
        self.direct = network.direct(network.params, network.data)
        self.adjoints: dict[str, np.ndarray] = {}

    def gradient(self, name: str) -> np.ndarray:
        """What is kept of the gradient of a parameter, summed over the samples; all of it where nothing is cut off."""
        line = next((a for a in self.record.of_kind("truncated") if a.name == name), None)
        if line is None:
            return self.network.derivative(name)
        found = sum(self.value(e, {}, b) for e in summands(line.forms[-1])
                    for b in range(self.network.B if type(e) is Sum else 1))
        return found[:, 0] if self.network.params[name].ndim == 1 else found

    def time(self, form, at) -> int:
        found = index(form).substitute({**at, T: index(self.network.T)})
        assert not found.terms, form
        return int(found.const)

    def value(self, e, at, b):
        match e:
            case Sum():
                if index(e.lo) == index(t) + self.uses:
                    return np.zeros(self.network.shape(e))
                low, high = self.time(e.lo, at), min(self.time(e.hi, at), self.network.T)
                return sum((self.value(e.body, {**at, e.var: index(k)}, b) for k in range(low, high + 1)),
                           np.zeros(self.network.shape(e)))
            case Product():
                found = np.eye(self.network.shape(e)[0])
                for k in range(self.time(e.lo, at), self.time(e.hi, at) + 1):
                    found = found @ self.value(e.body, {**at, e.var: index(k)}, b)
                return found
            case Power():
                return np.linalg.matrix_power(self.value(e.args[0], at, b), self.time(e.args[1], at))
            case Adjoint():
                name = e.of.family.name
                if name not in self.adjoints:
                    self.adjoints[name] = self.network.adjoint(name)
                return self.adjoints[name][self.time(e.of.time, at) - 1, b][:, None]
            case Direct():
                return self.direct[e.of.family.name][self.time(e.of.time, at) - 1, b][:, None]
            case At():
                when = self.time(e.time, at)
                if e.family.name in self.letters:
                    return self.value(self.letters[e.family.name].forms[-1], {t: index(when)}, b)
                beyond = np.zeros(self.network.shape(e)) if when > self.network.T else None
                return self.env[e.family.name, when, b] if beyond is None else beyond
            case Diagonal():
                return np.diag(self.value(e.args[0], at, b)[:, 0])
            case Scale():
                return float(e.args[0].subs({s: self.network.params[s.name] for s in e.args[0].free_symbols})) * \
                    self.value(e.args[1], at, b)
            case Identity():
                return np.eye(*self.network.shape(e))
            case Zero():
                return np.zeros(self.network.shape(e))
            case Ones():
                return np.ones(self.network.shape(e))
            case Apply():
                return FORMULAS[str(e.args[0])](self.value(e.args[1], at, b))
            case Block():
                return np.block([[self.value(a, at, b) for a in row] for row in e.rows])
            case Transpose():
                return self.value(e.args[0], at, b).T
            case Plus():
                return sum(self.value(a, at, b) for a in e.args)
            case Hadamard():
                return np.prod([self.value(a, at, b) for a in e.args], axis=0)
            case Multiple():
                return self.value(e.args[0], at, b)[0, 0] * self.value(e.args[1], at, b)
            case Times():
                found = self.value(e.args[0], at, b)
                for a in e.args[1:]:
                    found = found @ self.value(a, at, b)
                return found
        if e.name in self.letters:
            return self.value(self.letters[e.name].forms[-1], at, b)
        if (e.name, None, b) in self.env:
            return self.env[e.name, None, b]
        given = np.asarray(self.network.params[e.name])
        return given[:, None] if given.ndim == 1 else given


@cache
def kept(name: str, uses: int, steps: int) -> dict[str, np.ndarray]:
    """What the derivation keeps of the gradient of every parameter."""
    network = Network(model(name), steps)
    found = Kept(network, uses)
    return {p.name: found.gradient(p.name) for p in network.model.parameters}


LINEAR = ["linear", "lag-two", "library elman", "library gru", "two-losses"]
OTHERS = ["library lstm", "library jordan", "lag-three-only", "file regularised", "two-states-same-time",
          "file masked_mean", "input-lag-two", "library stacked", "library indrnn", "shared-weight",
          "two-states-varying", "file skip_in_time", "static-everywhere"]


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("uses", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*LINEAR, *slow(*OTHERS[::2])])
def test_gradients_of_parameters_are_what_the_derivation_keeps(name: str, uses: int, target: str, program) -> None:  # noqa: F811
    steps = 5
    network, right = Network(model(name), steps), kept(name, uses, steps)
    module = program(name, target, Options(truncate=uses))
    L, grads = module.value_and_grad(network.params, network.data, network.loss)
    assert error(L, network.objective(network.params, network.data)) < CLOSE
    assert grads.keys() == network.expected
    for key, gradient in right.items():
        assert error(grads[key], gradient) < CLOSE, key
    cut = [key for key in right if error(grads[key], network.derivative(key)) > 1e-8]
    assert cut, "a truncation that changes nothing tests nothing"


@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", LINEAR[1:])
def test_what_reaches_inputs_and_initial_values_comes_through_windows(name: str, target: str, program) -> None:  # noqa: F811
    """By the equations as written: how each step's loss changes in a window that begins with the states as they are."""
    steps, uses = 5, 2
    network = Network(model(name), steps)
    direct = network.direct(network.params, network.data)
    env = network.states(network.params, network.data)
    _, grads = program(name, target, Options(truncate=uses)).value_and_grad(network.params, network.data, network.loss)
    for key in network.expected - network.params.keys():
        base = network.data[key].astype(complex)
        right = np.zeros(base.shape)
        for place in np.ndindex(base.shape):
            moved = base.copy()
            moved[place] += 1e-30j
            data = {**network.data, key: moved}
            for end in range(1, steps + 1):
                start = max(end - uses, 0)
                window = Network(model(name), end - start, network.B)
                window.data = {k: v[start:end] if k in network.model.families else v for k, v in data.items()}
                for m in network.model.given:
                    when = start + m.time.const
                    if when > 0:
                        window.data[network.key(m)] = np.array([env[m.family.name, when, b][:, 0] for b in range(2)]) \
                            if m.family.name in network.model.defined else data[m.family.name][when - 1]
                    else:
                        window.data[network.key(m)] = data[f"{m.family.name}_{when if when >= 0 else f'm{-when}'}"]
                found = window.states(network.params, window.data)
                for family, stack in direct.items():
                    for b in range(network.B):
                        right[place] += (stack[end - 1, b] * found[family, end - start, b][:, 0]).sum().imag / 1e-30
        assert error(grads[key], right) < CLOSE, key


@pytest.mark.parametrize("uses", [4, 100])
@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", ["linear", "lag-two", *slow("library lstm", "file regularised", "two-losses")])
def test_as_many_uses_as_steps_keep_everything(name: str, target: str, uses: int, program) -> None:  # noqa: F811
    options = Options(truncate=uses)
    agrees(name, Asked(program(name, target, options), options, model(name)), T=4)


ALL = {"layout": "BTD", "weights": "right", "dtype": "float64"}


@pytest.mark.parametrize("others", [{}, ALL], ids=str)
@pytest.mark.parametrize("target", FOLLOWED)
@pytest.mark.parametrize("name", [
    *LINEAR[:3], "file regularised", "static-everywhere", *slow(*OTHERS[::3])])
def test_a_module_checks_itself(name: str, target: str, others: dict, program,  # noqa: F811
                                capsys: pytest.CaptureFixture[str]) -> None:
    module = program(name, target, Options(truncate=3, **others))
    assert module.check()
    assert module.TRUNCATE == 3
    said = capsys.readouterr().out
    assert "WRONG" not in said
    for key in Network(model(name)).expected:
        assert f"dL/d{key}, TRUNCATE = 2 " in said
    assert ("kept by the closed form" in said) == (target == "numpy-textbook")


@pytest.mark.parametrize("target", FOLLOWED)
def test_options_combine(target: str, program) -> None:  # noqa: F811
    order, packed = ORDERS["library lstm"]
    network, right = Network(model("library lstm"), 5), kept("library lstm", 2, 5)
    options = Options(truncate=2, fused=order, **ALL)
    made = Asked(program("library lstm", target, options), options, model("library lstm"), packed)
    _, grads = made.value_and_grad(network.params, network.data, network.loss)
    for key, gradient in right.items():
        assert error(grads[key], gradient) < CLOSE, key
    assert made.module.check()
    head = " ".join(text("library lstm", target, options).partition("import")[0].split())
    assert f"--fused {LSTM} --truncate 2." in head


@pytest.mark.parametrize("target", FOLLOWED)
def test_padding_has_no_influence_on_what_is_kept(target: str, folder: Path) -> None:  # noqa: F811
    from symbptt.api import derive as derived
    path = folder / f"truncated_{target.replace('-', '_')}.py"
    path.write_text(derived(model("lag-two")).to_code(target, mask=True, truncate=2), encoding="utf-8")
    module = imported(path)
    assert module.check()
    network, data = padded("lag-two", (5, 2, 3), 5, np.nan)
    right = Kept(Network(masked(model("lag-two"), "mask"), 5, 3), 2)
    right.network.params, right.network.data = network.params, network.data
    right.env = right.network.states(network.params, network.data)
    data["mask"] = data["mask"][..., 0]
    _, grads = module.value_and_grad(network.params, data, network.loss)
    for p in network.model.parameters:
        assert error(grads[p.name], right.gradient(p.name)) < CLOSE, p


FAULTS = [("_truncated", "_at_last(_beside(stack, starts, K))", "_beside(stack, starts, K)"),
          ("_with_windows", "starts[0] + k", "k"), ("_truncated", "range(first, min", "range(first - 1, min"),
          ("_truncated", "array - once[name]", "array"), ("_beside", "start : start + K", "start + 1 : start + K + 1"),
          ("_earlier", "else stack[start - back - 1]", "else stack[start - back]"),
          ("_truncated", "T - K + 1, beside", "T - K, beside"),
          ("_lengthened", "0, T)", "1, T + 1)")]


def with_a_fault(source: str, where: str, old: str, new: str) -> str:
    """A module with another text in one of its functions."""
    start = source.index(f"def {where}(")
    end = source.find("\ndef ", start)
    assert old in source[start:end]
    return source[:start] + source[start:end].replace(old, new, 1) + source[end:]


def passes(module) -> bool:
    """Whether a module that may be wrong says that it is right."""
    try:
        return module.check()
    except (ValueError, IndexError, TypeError, RuntimeError):
        return False


@pytest.mark.parametrize(("where", "old", "new"), FAULTS)
def test_a_fault_in_the_windows_is_found_by_the_module(where: str, old: str, new: str, program) -> None:  # noqa: F811
    options = Options(truncate=2)
    wrong = with_a_fault(text("file regularised", "numpy", options), where, old, new)
    assert not passes(program("file regularised", "numpy", options, wrong))


def test_what_cannot_be_truncated_is_refused() -> None:
    for uses in (0, -1, True, 1.5, "2"):
        with pytest.raises(OptionError, match=re.escape(f"--truncate {uses}: it counts uses of the weights")):
            Options(truncate=uses)
    with pytest.raises(OptionError, match=r"--truncate 2: nothing in no-recurrence recurs"):
        text("no-recurrence", "numpy", Options(truncate=2))
    for name in ("output-sees-all", "one-loss-twice", "file delayed_loss", "file loss_midway", "later-only"):
        with pytest.raises(OptionError, match=r"--truncate 2: .* reaches a state before it by d.*\[t\+\d\] without"):
            text(name, "numpy", Options(truncate=2))
    with pytest.raises(OptionError, match=r"computes h_0 by an equation.*make it data"):
        text("file computed_start", "numpy", Options(truncate=2))


def test_modules_pass_ruff_and_mypy_as_they_stand(tmp_path: Path) -> None:
    for k, (name, target) in enumerate(itertools.product(("linear", "two-losses", "file regularised"), FOLLOWED)):
        (tmp_path / f"m{k}.py").write_text(text(name, target, Options(truncate=2, **ALL)), encoding="utf-8")
    pass_ruff_and_mypy(tmp_path)
