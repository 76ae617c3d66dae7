"""Invented models: whatever a person can write in a model file passes the same laws as the files of the library.

The quick suite tries a few; the slow one 300, always the same; `make fuzz` as many as SYMBPTT_FUZZ says, always others.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pykatex
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from symbptt.bptt.backward import sweep, template
from symbptt.bptt.closed import solve
from symbptt.bptt.unroll import unroll
from symbptt.derivation import Derivation
from symbptt.derive import derive
from symbptt.model.read import loads
from symbptt.model.spec import Model
from symbptt.proof.kernel import check
from symbptt.proof.oracle import Oracle
from symbptt.render.targets import documents, render

HERE = Path(__file__).resolve().parent
STEPS = 4
EXACT = 1e-11
FUZZ = int(os.environ.get("SYMBPTT_FUZZ", "0"))
ALL = list(HealthCheck)


def imported(path: Path) -> ModuleType:
    """A module from its file; the folders of tests are no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


model_texts = imported(HERE / "invented.py").model_texts
instances = imported(HERE / "bptt" / "test_backward.py").instances
Network = imported(HERE / "program" / "interpreter.py").Network


def laws(text: str, folder: Path) -> None:
    """Every law, for one model file."""
    model = loads(text)
    derived = derive(model, STEPS, truncate=None if solve(template(model)) is None else 2)
    shapes_agree(derived)
    sweep_is_an_instance(model)
    theorems_replay(derived)
    nothing_is_refuted(model, derived)
    for target in ("numpy", "numpy-textbook"):
        code_is_right(model, render(derived, target), folder)
    documents_build(derived, formulas=len(text) % 4 == 0)


def shapes_agree(derived: Derivation) -> None:
    for line in derived.lines:
        assert {form.shape for form in line.forms} == {line.left.shape}, line.left


def sweep_is_an_instance(model: Model) -> None:
    """The sweep over the unrolled graph, and the template at each time."""
    wanted = instances(model, STEPS)
    found = {left: [(e.through, e.value, e.equation, e.rules) for e in step.edges]
             for left, step in sweep(unroll(model, STEPS)).items()}
    assert found.keys() == wanted.keys()
    for left, edges in found.items():
        assert sorted(edges, key=str) == sorted(wanted[left], key=str), left


def theorems_replay(derived: Derivation) -> None:
    keys = {proved.key for proved in derived.theorems}
    assert derived.closed is None or {"closed", "reversed", "truncated", "unbiased"} <= keys
    for proved in derived.theorems:
        assert check(proved.proof) == proved.theorem


def nothing_is_refuted(model: Model, derived: Derivation) -> None:
    """Every equation and every theorem modulo a prime, and every gradient of the sweep by dual numbers."""
    letters = dict.fromkeys(d for proved in derived.theorems for d in proved.proof.definitions)
    truth = Oracle(model, STEPS, 1, letters)
    for proved in derived.theorems:
        if not proved.theorem.assumptions:
            theorem = proved.theorem
            assert truth.refutes(theorem.left, theorem.right, theorem.hypotheses) is None, proved.key
    for left, step in derived.unrolled.items():
        assert truth.refutes(left, step.right) is None, left


def code_is_right(model: Model, code: str, folder: Path) -> None:
    """Generated code against complex-step derivatives of the equations, over the sum of absolute terms."""
    path = folder / "generated.py"
    path.write_text(code, encoding="utf-8")
    module: Any = imported(path)
    network = Network(model, T=STEPS, B=2)
    value, grads = module.value_and_grad(network.params, network.data, network.loss)
    expected = network.objective(network.params, network.data)
    assert abs(value - expected) <= EXACT * max(1, abs(expected))
    for name, gradient in grads.items():
        derivative = network.derivative(name)
        terms = max(1.0, float(np.abs(derivative).max()))
        assert np.abs(gradient - derivative).max() <= EXACT * terms, name
    states, direct = module.forward(network.params, network.data), network.direct(network.params, network.data)
    _, adjoints = module.backward(network.params, network.data, states, direct)
    closed = getattr(module, "hidden_gradients_closed_form", None)
    right = closed(network.params, network.data, direct) if closed else {f: network.adjoint(f) for f in adjoints}
    for name, stack in right.items():
        assert np.abs(stack - adjoints[name]).max() <= EXACT * max(1.0, float(np.abs(stack).max())), name


def documents_build(derived: Derivation, formulas: bool) -> None:
    """Every format; with `formulas` each displayed one by a strict reader, which takes longer than all the rest."""
    for target in documents():
        text = render(derived, target)
        assert derived.model.name in text
        if target == "markdown" and formulas:
            for formula in text.split("$$")[1::2]:
                pykatex.renderToString(formula, displayMode=True, strict=pykatex.STRICT_ERROR)


@settings(max_examples=5, deadline=None, derandomize=True, database=None, suppress_health_check=ALL,
          phases=[Phase.generate])
@given(text=model_texts())
def test_a_few_invented_models(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    laws(text, tmp_path_factory.mktemp("invented"))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_invented_models(part: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In parts, so that no core is left alone with all of them."""
    @seed(part)
    @settings(max_examples=6, deadline=None, database=None, suppress_health_check=ALL, phases=[Phase.generate])
    @given(text=model_texts(kinks=True))
    def obeys(text: str) -> None:
        laws(text, tmp_path_factory.mktemp("invented"))

    obeys()


@pytest.mark.skipif(FUZZ == 0, reason="run by make fuzz")
@settings(max_examples=max(FUZZ, 1), deadline=None, database=None, suppress_health_check=ALL,
          phases=[Phase.generate, Phase.shrink])
@given(text=model_texts(kinks=True))
def test_as_many_invented_models_as_wanted(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    laws(text, tmp_path_factory.mktemp("invented"))
