"""Equations that follow one another through many others within one step, and what nests deeper than calls may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sympy import MatrixSymbol, symbols

import symbptt
from symbptt.bptt.backward import template
from symbptt.bptt.closed import solve
from symbptt.cli import main
from symbptt.expr.index import Index
from symbptt.expr.nodes import Plus
from symbptt.model.depth import bounded, chains
from symbptt.model.read import loads
from symbptt.proof.account import ProvedStatement
from symbptt.proof.narrative import told
from symbptt.proof.script import Script
from symbptt.render import targets

DEEP = 1_200
"""More equations one after the other than Python lets calls nest."""


def chained(length: int) -> str:
    """A model in which the output is computed from the state through so many equations."""
    between = ['a0 = "tanh(h)"', *(f'a{k} = "tanh(a{k - 1})"' for k in range(1, length))]
    return "\n".join([
        'name = "chained"', "[sizes]", 'd = ""', 'h = ""', "[parameters]", 'U = "h, d"', 'W = "h, h"', 'V = "1, h"',
        "[inputs]", 'x = "d"', "[targets]", 'y = "1"', "[states]", 'h = "h"',
        "[equations]", 'h = "U @ x + W @ h[t-1]"', *between, f'o = "V @ a{length - 1}"',
        "[[loss]]", 'term = "l(o, y)"'])


def test_the_length_of_a_chain_is_counted_within_one_step() -> None:
    lengths = chains(loads(chained(30)))
    assert (lengths["h"], lengths["a0"], lengths["a29"], lengths["o"]) == (1, 2, 31, 32)
    assert max(chains(symbptt.load("linear")).values()) == 2


def counted(monkeypatch: pytest.MonkeyPatch, method: str, work: Callable[[], object]) -> int:
    """How often index forms are used in this way."""
    calls, original = 0, getattr(Index, method)

    def counting(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(*args)

    with monkeypatch.context() as patched:
        patched.setattr(Index, method, counting)
        work()
    return calls


def test_the_work_grows_with_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    form = template(model := loads(chained(100)))
    assert counted(monkeypatch, "substitute", lambda: solve(form)) < 10 * 100
    assert counted(monkeypatch, "__sub__", lambda: template(model)) < 20 * 100


def test_a_proof_is_told_however_deep_it_is() -> None:
    n = symbols("n", integer=True, positive=True)
    a, b = MatrixSymbol("A", n, n), MatrixSymbol("B", n, n)
    script = Script(())
    ref = script.ring(Plus(a, b), Plus(b, a))
    for _ in range(2 * DEEP):
        ref = script.sym(ref)
    proof = script.proof(ref)
    (theorem,) = told([ProvedStatement("deep", proof.claim, proof)])
    assert [link.right for link in theorem.argument.chains[0].links] == [Plus(b, a)]


@pytest.mark.slow
def test_dozens_of_equations_within_one_step(tmp_path: Path) -> None:
    file = tmp_path / "chained.toml"
    file.write_text(chained(40), encoding="utf-8")
    for arguments in (["derive"], ["prove"], ["emit"], ["emit", "--target", "torch"]):
        run = CliRunner().invoke(main, [*arguments, str(file)])
        assert run.exit_code == 0, run.output


@pytest.mark.parametrize("command", ["derive", "prove", "emit", "report"])
def test_what_nests_too_deeply_ends_with_2(command: str, tmp_path: Path) -> None:
    file = tmp_path / "chained.toml"
    file.write_text(chained(DEEP), encoding="utf-8")
    assert CliRunner().invoke(main, ["validate", str(file)]).exit_code == 0
    run = CliRunner().invoke(main, [command, str(file)])
    assert run.exit_code == 2
    assert run.exception is None or isinstance(run.exception, SystemExit)
    assert f"o is computed through {DEEP + 2:,} equations" in run.output
    assert "use fewer, longer equations" in run.output


def test_python_raises_one_error_for_it() -> None:
    deep = loads(chained(DEEP))
    for work in (symbptt.derive, symbptt.prove):
        with pytest.raises(symbptt.TooLarge, match=r"the equations of the model chained are nested too deeply"):
            work(deep)


def endless(*_: Any) -> Any:
    return endless()


METHODS: dict[str, Callable[[symbptt.Derivation], object]] = {
    "to_text": lambda d: d.to_text(), "to_code": lambda d: d.to_code("numpy"), "save": lambda d: d.save("nowhere"),
    "proof_text": lambda d: d.proof_text(), "proof_json": lambda d: d.proof_json(),
}


@pytest.mark.parametrize("method", METHODS)
def test_so_do_the_methods_of_a_derivation(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    d = symbptt.derive("linear")
    for name in ("text", "numpy"):
        monkeypatch.setitem(targets.TARGETS, name, replace(targets.TARGETS[name], make=endless))
    monkeypatch.setattr(targets, "proof_document", endless)
    monkeypatch.setattr(targets, "recorded", endless)
    with pytest.raises(symbptt.TooLarge, match=r"an expression of the model linear is nested too deeply: Python lets"):
        METHODS[method](d)


def test_a_document_that_nests_too_deeply_ends_with_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.TARGETS, "text", replace(targets.TARGETS["text"], make=endless))
    run = CliRunner().invoke(main, ["derive", "linear"])
    assert (run.exit_code, "of the model linear is nested too deeply" in run.output) == (2, True)


def test_an_error_that_was_raised_from_it_tells_of_it_too() -> None:
    @bounded
    def refusing() -> None:
        try:
            endless()
        except RecursionError as error:
            raise symbptt.Refused("step 7 (ring)") from error

    with pytest.raises(symbptt.TooLarge, match="an expression is nested too deeply"):
        refusing()


def test_an_expression_of_sympy_that_nests_too_deeply() -> None:
    n = symbols("n", integer=True, positive=True)
    x, y, h = symbptt.family("x", n), symbptt.family("y", 1), symbptt.family("h", n)
    inner: Any = x
    for _ in range(DEEP):
        inner = symbptt.function("tanh", inner)
    with pytest.raises(symbptt.TooLarge, match="nested too deeply"):
        symbptt.model(equations={h: inner}, inputs=[x], targets=[y], loss=symbptt.loss("l", h, y))
