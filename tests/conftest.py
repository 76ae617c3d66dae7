"""What all tests share. Every law is tried on every model file: the built-in ones and those of tests/data/models."""

from collections.abc import Callable
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

loaded = cache(load)
derived = cache(derive)


@cache
def oracle_of(model: Model, steps: int, seed: int) -> Oracle:
    proofs = [q.proof for q in derived(model).theorems]
    letters = dict.fromkeys(d for definitions in (derived(model).definitions, *(p.definitions for p in proofs))
                            for d in definitions)
    return Oracle(model, steps, seed, letters)


@pytest.fixture(params=FILES.values(), ids=FILES.keys(), scope="session")
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
