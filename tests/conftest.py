"""What all tests share. Every law is tried on every model file: the built-in ones and those of tests/data/models."""

import os
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path

import pytest

from symbptt.derivation import Derivation
from symbptt.derive import derive
from symbptt.model.read import load
from symbptt.model.spec import Model
from symbptt.proof.oracle import Oracle

ROOT = Path(__file__).parents[1]
FILES = {path.stem: path for folder in ("symbptt/model/library", "tests/data/models")
         for path in sorted((ROOT / folder).glob("*.toml"))}

HEAVY = {"activations", "five_states", "gru-reset-after", "layer_feedback", "lstm-coupled", "lstm-peephole",
         "mgu", "packed_lstm", "scalar_added", "sign_changed"}
"""Models that take as long as all others together; the laws are tried on them in slow tests. No operation stands
in them alone, and no function but those of activations, each of which has tests of its own.
"""
TRIED = [pytest.param(path, marks=pytest.mark.slow, id=name) if name in HEAVY else pytest.param(path, id=name)
         for name, path in FILES.items()]

MAY_BE_SKIPPED = ("nothing recurs", "no ", "run by make fuzz")
"""How reasons begin for which a test may be skipped where everything is installed: the model or the system has no such
thing, or nobody asked for it. Any other skipped test is a failure there.
"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("SYMBPTT_CI") and not hasattr(report, "wasxfail"):
        place, line, reason = report.longrepr
        if not reason.removeprefix("Skipped: ").startswith(MAY_BE_SKIPPED):
            report.outcome, report.longrepr = "failed", f"{place}:{line}: {reason}, and nothing may be missing here"
    return report


loaded = cache(load)
derived = cache(derive)


@cache
def oracle_of(model: Model, steps: int, seed: int) -> Oracle:
    proofs = [q.proof for q in derived(model).theorems]
    letters = dict.fromkeys(d for definitions in (derived(model).definitions, *(p.definitions for p in proofs))
                            for d in definitions)
    return Oracle(model, steps, seed, letters)


@pytest.fixture(params=TRIED, scope="session")
def model(request: pytest.FixtureRequest) -> Model:
    """Each model in turn."""
    return loaded(request.param)


@pytest.fixture(scope="session")
def named() -> Callable[[str], Model]:
    """A model by the stem of its file."""
    return lambda name: loaded(FILES[name])


@pytest.fixture(scope="session")
def derivation() -> Callable[..., Derivation]:
    """The derivation of a model, made once."""
    return derived


@pytest.fixture(scope="session")
def oracle() -> Callable[..., Oracle]:
    """The oracle of a model for a number of steps and a seed."""
    return lambda model, steps, seed=1: oracle_of(model, steps, seed)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-output", action="store_true", help="rewrite the gallery in output/")
