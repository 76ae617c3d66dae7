"""The derivation grows with T, not with T²: operations are counted, not timed."""

import sys

import pytest
from sympy.core.basic import Basic

from symbptt.bptt.backward import sweep
from symbptt.bptt.unroll import unroll
from symbptt.derive import derive

AT_MOST = 15
"""For ten times the steps, at most this many times the work."""


def nodes_built(monkeypatch, work) -> int:
    built, make = 0, Basic.__new__

    def counting(cls, *args):
        nonlocal built
        built += 1
        return make(cls, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Basic, "__new__", staticmethod(counting))
        work()
    return built


def calls_made(work) -> int:
    made = 0

    def count(frame, event, argument):
        nonlocal made
        made += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


def derived(model, steps):
    """Every gradient materialised, nothing expanded."""
    return [step.right for step in derive(model, steps).unrolled.values()]


@pytest.mark.parametrize(("name", "steps"), [("linear", 1000), ("elman", 500), ("lstm", 200), *(
    pytest.param(name, 1000, marks=pytest.mark.slow) for name in ("lag_two", "two_states"))])
def test_nodes_grow_with_the_steps(named, monkeypatch, name, steps) -> None:
    model = named(name)
    derived(model, 5)
    small, large = (nodes_built(monkeypatch, lambda n=n: derived(model, n)) for n in (steps // 10, steps))
    assert small > 100
    assert large <= AT_MOST * small


def test_calls_grow_with_the_steps(named) -> None:
    model = named("linear")
    derived(model, 5)
    small, large = (calls_made(lambda n=n: derived(model, n)) for n in (100, 1000))
    assert large <= AT_MOST * small


def test_edges_and_equations_grow_with_the_steps(model) -> None:
    sizes = []
    for steps in (10, 20, 30):
        graph = unroll(model, steps)
        sizes.append((len(graph.equations), sum(len(step.edges) for step in sweep(graph).values())))
    (e1, g1), (e2, g2), (e3, g3) = sizes
    assert e3 - e2 == e2 - e1
    assert g3 - g2 == g2 - g1


def test_no_value_of_an_edge_grows_with_the_steps(named) -> None:
    def longest(steps):
        return max(len(str(e.value)) for step in sweep(unroll(named("linear"), steps)).values() for e in step.edges)

    assert longest(90) == longest(30)
