"""The lowering to fast programs: what recurs, what is joined, and that chunks and blocks of time change nothing."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sympy import MatrixSymbol, Symbol

from symbptt.derive import derive
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Hadamard, Plus
from symbptt.model.read import load, loads
from symbptt.program.array import Dimension
from symbptt.program.fast import fast_program
from symbptt.program.fuse import Fusion, Layout
from symbptt.program.names import Names
from symbptt.program.normal import Normal, collected
from symbptt.program.statements import Blocks, Into, Loop, Recur, Space
from symbptt.program.system import Systems
from symbptt.render.numpy_fast import numpy_fast
from symbptt.render.numpy_program import numpy_program


def module(text: str, folder: Path, name: str = "made") -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def in_loops(body: object) -> int:
    """The products of one step."""
    count = 0
    for s in body:
        if isinstance(s, Blocks | Loop):
            count += in_loops(s.body)
        elif isinstance(s, Into) and s.function == "dot":
            count += 1
    return count


@pytest.mark.parametrize(("name", "forward", "backward"), [
    ("elman", 1, 1), ("lstm", 1, 1), ("lstm-coupled", 1, 1), ("lstm-peephole", 1, 1), ("gru", 2, 2),
    ("gru-reset-after", 1, 2), ("mgu", 2, 2), ("irnn", 1, 1), ("indrnn", 0, 0)])
def test_a_step_makes_one_product_for_all_gates_that_read_one_column(name: str, forward: int, backward: int) -> None:
    made = fast_program(derive(load(name)))
    assert in_loops(made.forward.body) == forward
    assert in_loops(made.backward.body) == backward


def test_a_product_of_forward_that_backward_reads_is_kept_and_made_from_given_states() -> None:
    made = fast_program(derive(load("gru-reset-after")))
    saved = [r.key for r in made.empty.results if r.key not in {"r_z", "n", "h", "p"}]
    assert saved == ["part"]
    assert [s.function for s in made.stored.body if isinstance(s, Into)] == ["matmul"]
    lines = numpy_fast(derive(load("gru-reset-after"))).split("def _backward(")[1].splitlines()
    assert not any("U_n_T" in line for line in lines)
    assert not any(isinstance(s, Into) for s in fast_program(derive(load("lstm"))).stored.body)


@pytest.mark.parametrize("name", ["lstm", "gru", "gru-reset-after", "mgu"])
def test_what_is_made_ready_for_a_loop_takes_no_more_than_a_block(name: str) -> None:
    (space,) = (s for s in fast_program(derive(load(name))).backward.body if isinstance(s, Space))
    lengths = {target.text: shape[0] for target, shape in zip(space.targets, space.shapes, strict=True)}
    ready = [n for n in lengths if "shared" in n or (n.startswith("delta_") and n.endswith("_rest"))]
    assert len(ready) > 1
    assert {lengths[n] for n in ready} == {Dimension("block")}


@pytest.mark.parametrize("name", ["linear", "linear-bias", "second-order"])
def test_a_linear_recurrence_is_one_call(name: str) -> None:
    made = fast_program(derive(load(name)))
    for part in (made.forward, made.backward):
        assert sum(isinstance(s, Recur) for s in part.body) == 1
        assert not any(isinstance(s, Loop | Blocks) for s in part.body)


def test_a_change_in_the_model_changes_the_loop() -> None:
    """No program knows a cell by name: a gate that reads another column is no longer joined with the others."""
    text = (Path(__file__).parents[2] / "symbptt/model/library/lstm.toml").read_text(encoding="utf-8")
    assert in_loops(fast_program(derive(loads(text))).forward.body) == 1
    other = text.replace("tanh(W_g @ x + U_g @ h[t-1] + b_g)", "tanh(W_g @ x + U_g @ (h[t-1] * c[t-1]) + b_g)")
    assert other != text
    assert in_loops(fast_program(derive(loads(other))).forward.body) == 2


@pytest.mark.parametrize(("name", "families"), [
    ("gru", {"dL_dz", "dL_dn", "dL_dp"}), ("lstm", {"dL_di", "dL_df", "dL_do", "dL_dg", "dL_dp"}),
    ("elman", {"dL_do"})])
def test_an_adjoint_that_is_another_one_scaled_is_written_out(name: str, families: set[str]) -> None:
    record = derive(load(name))
    systems = Systems(record, Names(record))
    systems.backward()
    assert {str(member.family.name) for member in systems.light} == families


def test_terms_with_one_letter_behind_are_collected() -> None:
    model = load("elman")
    h, x = At(model.families["h"], t), At(model.families["h"], index(t) - 1)
    assert collected([Hadamard(h, x), Hadamard(x, x)]) == Hadamard(Plus(h, x), x)
    assert collected([Hadamard(x, x), h]) == Plus(Hadamard(x, x), h)
    assert collected([x]) == x
    assert str(collected([x, Hadamard(h, x)])) == "(1 + h[t]) * h[t-1]"


LONG = {"linear": 200, "second-order": 150, "linear-bias": 97}


@pytest.mark.parametrize("name", LONG)
def test_chunks_of_time_change_nothing_but_rounding(name: str, tmp_path: Path) -> None:
    record = derive(load(name))
    fast, plain = module(numpy_fast(record), tmp_path, "fast"), module(numpy_program(record), tmp_path, "plain")

    def loss(o, y):
        return ((o - y) ** 2).sum(-1) / 2, o - y

    for T in (LONG[name], 64, 7, 2):
        params, data = fast._sample(T, 3, fast.CHECKED_SIZES)
        right = plain.value_and_grad(params, data, loss)
        for schedule in ("chunked", "loop", "auto"):
            fast.SCHEDULE = schedule
            L, grads = fast.value_and_grad(params, data, loss)
            assert abs(L - right[0]) < 1e-12 * abs(right[0])
            for key, gradient in grads.items():
                apart = np.max(abs(gradient - right[1][key]))
                assert apart < 1e-11 * np.max(abs(right[1][key])), (schedule, T, key)


def test_the_rule_by_which_chunks_are_chosen(tmp_path: Path) -> None:
    made = module(numpy_fast(derive(load("linear"))), tmp_path)
    assert made._chunk_length(1000, 1, 64, 1) == 16
    assert made._chunk_length(63, 1, 8, 1) == 0
    assert made._chunk_length(1000, 32, 128, 1) == 0
    made.SCHEDULE = "chunked"
    assert made._chunk_length(63, 32, 128, 1) == 4
    made.SCHEDULE = "loop"
    assert made._chunk_length(1000, 1, 64, 1) == 0


def test_a_fault_in_the_chunks_is_found_by_the_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = numpy_fast(derive(load("second-order")))
    lies = [("begins[k] += ends[k - 1]", "begins[k] += ends[k]"), ("keep=True", "keep=False"),
            ("states[-k].reshape", "states[k - 1].reshape"), ("k=-n, dtype", "k=n, dtype"),
            ("stack[whole + k :]", "stack[k :]"), ("_transition(matrices, n, stack.dtype), c)",
                                                    "_transition(matrices, n, stack.dtype), c - 1)")]
    for k, (old, new) in enumerate(lies):
        assert text.count(old) == 1, old
        assert not module(text.replace(old, new), tmp_path, f"lie_{k}").check(), old


@pytest.mark.parametrize("name", ["lstm", "gru-reset-after", "mgu"])
def test_blocks_of_steps_change_nothing(name: str, tmp_path: Path) -> None:
    text = numpy_fast(derive(load(name)))
    whole, parted = module(text, tmp_path, "whole"), module(text, tmp_path, "parted")
    parted._block_length = lambda T, width: 3

    def loss(o, y):
        return ((o - y) ** 2).sum(-1) / 2, o - y

    params, data = whole._sample(11, 2, whole.CHECKED_SIZES)
    L, grads = whole.value_and_grad(params, data, loss)
    other, found = parted.value_and_grad(params, data, loss)
    assert abs(L - other) < 1e-13 * abs(L)
    for key, gradient in grads.items():
        np.testing.assert_allclose(found[key], gradient, rtol=1e-12, atol=1e-14)


def test_large_arguments_of_sigmoid_give_no_warning(tmp_path: Path) -> None:
    made = module(numpy_fast(derive(load("lstm"))), tmp_path)
    params, data = made._sample(3, 2, made.CHECKED_SIZES)
    params["b_i"] = params["b_i"] - 1e5
    states = made.forward(params, data)
    assert np.all(states["i"] == 0)
    assert all(np.all(np.isfinite(stack)) for stack in states.values())


def test_names_do_not_depend_on_the_order_of_sets() -> None:
    text = numpy_fast(derive(load("gru")))
    assert re.search(r"^def _backward", text, re.MULTILINE)
    assert text == numpy_fast(derive(load("gru")))


def test_columns_are_compared_whatever_the_sizes_are() -> None:
    """At sizes of one the first of these families has no column."""
    n, m = Symbol("n", integer=True, positive=True), Symbol("m", integer=True, positive=True)
    first, second = MatrixSymbol("first", n - m, 1), MatrixSymbol("second", m, 1)
    layout = Layout()
    base = Fusion(Normal(lambda name, like: MatrixSymbol(name, *like.shape), frozenset()), layout).beside(
        [first, second], "both")
    a, b, whole = layout.place(first), layout.place(second), layout.place(base)
    assert layout.overlap(a, whole)
    assert layout.overlap(b, whole)
    assert not layout.overlap(a, b)
    assert not layout.overlap(a, layout.place(MatrixSymbol("other", n - m, 1)))
    assert [layout.number(first), layout.number(second), layout.number(base)] == [0, 1, 0]
