"""The benchmark of generated programs: its peers compute the same, its limit counts right, its document is written."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import contestants, document, loops, measure, programs, statements
from benchmarks.cases import (
    MODELS,
    SIZES,
    TOLERANCES,
    Case,
    Differs,
    Prepare,
    Result,
    Size,
    compare,
    draw,
    half_squared_error,
)
from benchmarks.contestants import LAYERS, bridge, our
from benchmarks.limit import flops, multiplication, products
from benchmarks.steps import counted
from symbptt import derive

SMALL = Size(6, 3, 4, 5, 2)


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest) -> Case:
    return draw(request.param, SMALL)


@pytest.fixture
def right(case: Case, tmp_path: Path) -> Result:
    """What the generated NumPy program computes."""
    run = our(case.model, "numpy", tmp_path)[0].prepare(case)
    return run.read(run.call())


def installed(library: str) -> Any:
    """The bridge to a library; without the library a test that needs it is skipped, but torch is there in CI."""
    if not os.environ.get("SYMBPTT_CI"):
        pytest.importorskip(library)
    return bridge(library)


def agrees(prepare: Prepare, case: Case, right: Result) -> None:
    for dtype, tolerance in TOLERANCES.items():
        run = prepare(case.to(dtype))
        found = run.read(run.call())
        assert {str(g.dtype) for g in found[1].values()} == {dtype}
        compare(dtype, found, right, tolerance)


def test_numpy_loops_agree(case: Case, right: Result) -> None:
    agrees(loops.prepare, case, right)


def test_torch_loops_agree(case: Case, right: Result) -> None:
    agrees(installed("torch").loop, case, right)


def test_torch_layers_agree(case: Case, right: Result) -> None:
    torch = installed("torch")
    assert torch.LAYERS.keys() == LAYERS.keys()
    if case.model in LAYERS:
        agrees(torch.layer, case, right)


def test_jax_scans_agree(case: Case, right: Result) -> None:
    agrees(installed("jax").scan, case, right)


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("look", [lambda array: array, np.asarray], ids=["traceable", "untraceable"])
def test_programs_get_the_arrays_of_their_library(library: str, look: Callable[[Any], Any]) -> None:
    seen: list[str] = []

    def value_and_grad(params: Any, data: Any, loss: Any) -> tuple[Any, dict[str, Any]]:
        seen.extend(type(a).__module__.partition(".")[0] for a in (*params.values(), *data.values()))
        look(data["x"])
        values, slopes = loss(data["x"], 0 * data["x"])
        return values.sum(), {"x": slopes}

    case = draw("elman", SMALL)
    run = installed(library).program(SimpleNamespace(value_and_grad=value_and_grad), case)
    value, grads = run.read(run.call())
    compare(library, (value, grads), (float((case.data["x"] ** 2).sum()) / 2, {"x": case.data["x"]}), 1e-12)
    assert set(seen) <= {library, "jaxlib"}


@pytest.mark.parametrize("size", [SMALL, *SIZES.values()])
def test_linear_takes_what_the_formula_says(size: Size) -> None:
    """Each of three weights multiplies forward and backward, and gets its gradient, with T·B columns."""
    assert flops("linear", size) == 3 * 2 * size.T * size.B * (size.d * size.h + size.h ** 2 + size.h * size.q)


@pytest.mark.parametrize(("model", "weights"), [("elman", 1), ("lstm", 4), ("gru", 3), ("gru-reset-after", 3)])
def test_gates_multiply_the_count(model: str, weights: int) -> None:
    size = SMALL
    assert flops(model, size) == 6 * size.T * size.B * (weights * size.h * (size.d + size.h) + size.h * size.q)
    assert sum(p.flops for p in products(model, size, stacked=False)) == flops(model, size)


@pytest.mark.parametrize("stacked", [True, False])
def test_products_have_the_shapes_that_they_say(case: Case, stacked: bool) -> None:
    for p in products(case.model, case.size, stacked):
        multiplication(p, "float32")()


def planted(params: Any, data: Any) -> Result:
    """A loop with one wrong gradient: that of W_hh is off by a hundred-millionth."""
    value, grads = loops.elman(params, data)
    return value, {**grads, "W_hh": grads["W_hh"] * (1 + 1e-8)}


def test_a_planted_wrong_gradient_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    order = {"threads": 1, "models": ["elman"], "sizes": ["short"], "dtypes": ["float32"], "targets": ["numpy"],
             "budget": 0.01, "least": 3, "most": 3, "into": str(tmp_path / "found.json")}
    monkeypatch.setattr(contestants, "has", lambda library: False)
    monkeypatch.setattr(measure, "threads", lambda wanted: {})
    monkeypatch.setattr(measure, "versions", dict)
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(order)))
    assert measure.main() == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert {len(times) for times in found["cases"][0]["ms"].values()} == {3}
    assert found["cases"][0]["ms"].keys() == {"numpy", "numpy, buffers kept", "NumPy loop",
                                                "limit, gates stacked"}

    (tmp_path / "found.json").unlink()
    monkeypatch.setitem(loops.LOOPS, "elman", planted)
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(order)))
    assert measure.main() == 1
    assert "error: NumPy loop, elman, float64: W_hh differs from ours by 1.0e-08" in capsys.readouterr().err
    assert not (tmp_path / "found.json").exists()


@pytest.mark.parametrize(("grads", "message"), [
    ({"w": np.ones(2)}, ""), ({"w": np.array([1, np.nan])}, "w differs"), ({"w": np.ones(3)}, "shape"), ({}, "other"),
])
def test_what_differs_is_told(grads: dict[str, Any], message: str) -> None:
    right = (1.0, {"w": np.ones(2)})
    if not message:
        assert compare("peer", (1.0, grads), right, 1e-9) == 0
        return
    with pytest.raises(Differs, match=message):
        compare("peer", (1.0, grads), right, 1e-9)


def test_contestants_alternate_and_slow_ones_rest() -> None:
    called: list[str] = []

    def contestant(name: str, seconds: float) -> Callable[[], object]:
        def call() -> None:
            called.append(name)
            time.sleep(seconds)
        return call

    times = measure.alternate({"slow": contestant("slow", 0.02), "fast": contestant("fast", 0)}, 0.02, 3, 9,
                              lambda: None)
    assert {name: len(found) for name, found in times.items()} == {"slow": 3, "fast": 9}
    assert min(times["slow"]) >= 20
    assert "".join(name[0] for name in called[2:]) == "ffsf" * 3


def figures() -> dict[str, Any]:
    """A small record, as --json writes it."""
    def case(threads: int, size: Size, dtype: str) -> dict[str, Any]:
        return {"model": "lstm", "size": vars(size), "dtype": dtype, "threads": threads, "ours": ["numpy"],
                "profile": {"products": 1.5, "outside": 0.25}, "flops": flops("lstm", size), "ms": {
                    "numpy": [2.0, 2.1, 1.9], "torch.nn.LSTM": [1.0, 1.0, 1.0],
                    "limit, gates stacked": [0.5, 0.5, 0.5], "limit, gate by gate": [0.6, 0.6, 0.6]}}
    return {"machine": {"processor": "A processor", "cores": 2, "system": "Linux", "architecture": "x86_64"},
            "versions": {"python": "3.13.0", "numpy": "2.4.0", "torch": "2.13.0"}, "budget": 10, "least": 3,
            "repeat": 100, "steps": {"lstm": [3, 2]},
            "threads": {"1": {"blas": {"name": "a BLAS", "version": "1"}, "cores": 1, "torch": 1}},
            "notes": ["jax is not installed, so its columns are left out"],
            "errors": [{"errors": {"float64": {"numpy": 0.0, "torch.nn.LSTM": 2e-15}}}],
            "cases": [case(threads, size, dtype) for threads in (2, 1) for size in (SMALL, SIZES["long"])
                      for dtype in ("float64", "float32")]}


def test_the_document_is_written_from_figures(tmp_path: Path) -> None:
    source, written = tmp_path / "figures.json", tmp_path / "benchmarks.md"
    source.write_text(json.dumps(figures()))
    assert programs.main(["--from", str(source), "--document", str(written)]) == 0
    text = written.read_text()
    assert "| T, B, d, h, q | threads | **numpy** | torch.nn.LSTM | limit |" in text
    rate = flops("lstm", SMALL) / 0.5e6
    assert f"| 6, 3, 4, 5, 2 | 1 | 2 [1.95–2.05] 25 % | 1 [1–1] ×2 | 0.5 [0.5–0.5], {rate:.3g} |" in text
    assert text.index("| 6, 3, 4, 5, 2 | 2 |") < text.index("| 1000, 1, 16, 64, 8 | 1 |")
    assert "jax is not installed, so its columns are left out" in text
    assert "NumPy's BLAS is a BLAS 1" in text
    assert "2e-15 in float64" in text
    assert "| lstm | 6, 3, 4, 5, 2 | 1.5 | 0.25 | 0.5 | – |" in text
    # 2 ms are 2 µs for each of 1000 steps, 0.4 µs for each of 5 calls and views
    assert "| lstm | 3 | 2 | 2 | 0.4 |" in text


def test_calls_of_a_step_are_counted() -> None:
    code = """
def _forward(given):
    for first in range(0, T, block):
        np.exp(x[first])
        for t in range(first + 1, last + 1):
            h_t = h[t - 1][..., :n]
            np.dot(a[t], W, out=h_t)
            h_t += a * b
def elsewhere():
    for t in x:
        np.exp(t)
"""
    assert counted(code) == (3, 3)
    assert counted("def _forward(given):\n    return _linear(given)\n") is None
    assert counted(derive("linear").to_code("numpy")) is None
    calls, views = counted(derive("elman").to_code("numpy")) or (0, 0)
    assert calls == 6
    assert views <= 6


CODE = """
def value_and_grad(params, data, loss, buffers):
    take = data["take"]
    take(40)
    _forward(take)
    _recur(take)
    return take(2), {}
def _forward(take):
    take(3 @ take)
    for t in range(4):
        if t > 2:
            np.dot(take(100), 1)
        else:
            take(7)
    take(0.5)
def _recur(take):
    for steps in range(2):
        take(1000)
"""


class Take:
    """A hand that sets the clock forward, by some milliseconds."""

    now = 0.0

    def __call__(self, ms: float) -> float:
        self.now += ms / 1e3
        return 0.0

    def __rmatmul__(self, ms: float) -> float:
        return ms


def test_clocks_tell_what_statements_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Take()
    monkeypatch.setattr(statements, "time", SimpleNamespace(perf_counter=lambda: take.now))
    case = Case("m", SMALL, {}, {"take": take})
    code = "from types import SimpleNamespace\nnp = SimpleNamespace(dot=lambda a, b: None)\n" + CODE
    spent = statements.profile("taking", code, case, tmp_path, 3)
    assert list(map(round, spent.values())) == [100, 21 + 2000, 3, 0, 42]
    assert spent["the rest of all steps"] == pytest.approx(0.5)


def test_clocks_change_no_result(tmp_path: Path) -> None:
    for model in ("linear", "lstm"):
        case = draw(model, SMALL)
        code = derive(model).to_code("numpy")
        plain, timed = (contestants.imported(f"{model}_{k}", c, tmp_path)
                        for k, c in enumerate((code, statements.clocked(code))))
        timed.__dict__["_clock"] = statements.Clock()
        right, found = (m.value_and_grad(case.params, case.data, half_squared_error) for m in (plain, timed))
        assert right[0] == found[0]
        assert all(np.array_equal(right[1][name], found[1][name]) for name in right[1])
        products, other, *_ = timed.__dict__["_clock"].spent
        assert products > 0
        assert other > 0


def test_the_plot_is_the_same_every_time(tmp_path: Path) -> None:
    if not os.environ.get("SYMBPTT_CI"):
        pytest.importorskip("matplotlib")
    drawn = []
    for name in ("a.svg", "b.svg"):
        document.draw(figures(), tmp_path / name)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1]
    assert b"<dc:date>" not in drawn[0]
    assert len(drawn[0]) < 100_000


def test_filters_choose_by_kind() -> None:
    assert programs.selected(["lstm", "float32"]) == {"models": ["lstm"], "sizes": list(SIZES), "dtypes": ["float32"]}
    with pytest.raises(ValueError, match="--only knows no 'vanilla'"):
        programs.selected(["vanilla"])


def test_targets_that_do_not_exist_are_left_out() -> None:
    found, why = contestants.targets(["numpy", "abacus"])
    assert (found, why) == (["numpy"], ["symbptt has no target abacus"])
