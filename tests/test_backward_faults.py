"""What people get wrong in backward passes they write by hand, written into the modules of every program target.

Forty public implementations and bug reports were run against autograd; these are their kinds of fault. Each is planted
once in each target that can express it, and the module's own check finds it. A row holds, for each target, the text in
which the fault is planted and what a person wrote instead; None where the target has no way to say it.
"""

from __future__ import annotations

import importlib.util
import os
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from symbptt.derive import derive
from symbptt.model.read import load
from symbptt.render.targets import programs, render

Change = tuple[str, str] | None


class Fault(NamedTuple):
    """A fault by the function that it stands in, the model, and its text in each target."""

    model: str
    fast: Change
    textbook: Change
    torch: Change
    jax: Change
    function: str = "backward"


def alike(model: str, fast: Change, textbook: Change, function: str = "backward") -> Fault:
    """A fault that torch and jax modules write as the fast one does."""
    return Fault(model, fast, textbook, fast, fast, function)


W_HH = "dW_hh = delta_h_rows.T @ h_rows_back_1"
W_HH_STEP = "dW_hh += ((1 - h[t] * h[t]) * dL_dh[t]).T @ h[t - 1]"
BACK = 'h_rows_back_1 = h[:T].reshape(N, size["h"])'
NEXT = "((1 - h[t + 1] * h[t + 1]) * dL_dh[t + 1]) @ W_hh"

FAULTS = {
    "recurrent path cut: dh of the next step is never added": Fault(
        "elman", ("            dL_dh_t += work\n", ""), (f"{NEXT} + ", ""), (" + delta_h_after @ W_hh", ""),
        (" + delta_h_after @ W_hh", "")),
    "recurrent path cut: the carry is read at every step and assigned at none": Fault(
        "elman", ("np.dot(delta_h[t], W_hh", "np.dot(delta_h[T], W_hh"), (NEXT, f"0 * {NEXT}"),
        ("        delta_h_after = delta_h_t\n", ""), ("return (delta_h_t,),", "return (delta_h_after,),")),
    "recurrent path cut: dx without the path through later states": Fault(
        "elman", ("np.matmul(delta_h_rows, W_hx", "np.matmul((1 - h_rows * h_rows) * (direct_o_rows @ W_qh), W_hx"),
        ("dL_dx[t] = ((1 - h[t] * h[t]) * dL_dh[t])", "dL_dx[t] = ((1 - h[t] * h[t]) * (dL_do[t] @ W_qh))"),
        ("delta_h_rows @ W_hx", "(delta_h_rest_rows * dL_dh_rest_rows) @ W_hx"),
        ("delta_h_rows @ W_hx", "((1 - h * h) * dL_dh_rest).reshape(N, -1) @ W_hx")),
    "recurrent path cut: of a cell state": Fault(
        "lstm", ("np.multiply(f[t], dL_dc[t], out=dL_dc_t)", "dL_dc_t[...] = 0"), ("f[t + 1] * dL_dc[t + 1] + ", ""),
        ("f_after * dL_dc_after + ", ""), ("f_after * dL_dc_after + ", "")),
    "clipping inside the backward loop": Fault(
        "elman", ("            dL_dh_t += work\n",
                  "            dL_dh_t += work\n            dL_dh_t.clip(-1, 1, dL_dh_t)\n"),
        ("dL_do[t] @ W_qh  # (6)", "dL_do[t] @ W_qh\n        dL_dh[t] = dL_dh[t].clip(-1, 1)"),
        ("        delta_h_t = ", "        dL_dh_t = dL_dh_t.clamp(-5, 5)\n        delta_h_t = "),
        ("        delta_h_t = ", "        dL_dh_t = dL_dh_t.clip(-5, 5)\n        delta_h_t = ")),
    "time index: the state of this step for that of the one before": Fault(
        "elman", (W_HH, "dW_hh = delta_h_rows.T @ h_rows"), (W_HH_STEP, W_HH_STEP.replace("t - 1", "t")),
        (W_HH, "dW_hh = delta_h_rows.T @ h_rows"), (W_HH, "dW_hh = delta_h_rows.T @ h.reshape(N, -1)")),
    "time index: the first step is skipped": alike(
        "elman", (W_HH, "dW_hh = delta_h_rows[B:].T @ h_rows_back_1[B:]"),
        (W_HH_STEP, f"if t > 1:\n            {W_HH_STEP}")),
    "time index: the last step is skipped": alike(
        "elman", (W_HH, "dW_hh = delta_h_rows[:-B].T @ h_rows_back_1[:-B]"),
        (W_HH_STEP, f"if t < T:\n            {W_HH_STEP}")),
    "time index: index -1 wraps around": Fault(
        "elman", (BACK, BACK.replace("h[:T]", "np.roll(h[1:], 1, 0)")),
        (W_HH_STEP, W_HH_STEP.replace("t - 1", "t - 1 or T")),
        ("_behind(h, given_h_0)", "torch.roll(h, 1, 0)"), ("_behind(h, given_h_0)", "jnp.roll(h, 1, 0)")),
    "mutation: the cache is changed in place": Fault(
        "elman", ("np.multiply(h_part, h_part, out=delta_h_part)",
                  "np.multiply(h_part, h_part, out=h_part)\n        delta_h_part[...] = h_part"),
        ("dL_do[t] = direct_o[t]", "h[t] *= h[t]\n        dL_do[t] = direct_o[t]"),
        ("1 - h_rows * h_rows", "1 - h_rows.mul_(h_rows)"), None),
    "mutation: what is sent from above is changed in place": Fault(
        "elman", ("dh_0 = ", "direct_o *= 2\n    dh_0 = "), ("dL_dx[t] = ", "dL_do[t] *= 2\n        dL_dx[t] = "),
        ("dh_0 = ", "direct_o.mul_(2)\n    dh_0 = "), None),
    "leftover state: a call begins where the first one did": Fault(
        "elman", ('h[0] = given["h_0"]', 'h[0] = _empty.__dict__.setdefault("kept", given["h_0"])'),
        ('{0: given["h_0"]}', '{0: forward.__dict__.setdefault("kept", given["h_0"])}'),
        ("h_before = given_h_0", 'h_before = _forward.__dict__.setdefault("kept", given_h_0)'),
        ('given_h_0 = given["h_0"]', 'given_h_0 = _forward.__dict__.setdefault("kept", given["h_0"])'), "forward"),
    "activation derivative: missing on the recurrent term": Fault(
        "elman", ("np.dot(delta_h[t], W_hh", "np.dot(dL_dh[t] if t < T else delta_h[t], W_hh"),
        (NEXT, "dL_dh[t + 1] @ W_hh"),
        ("delta_h_after = delta_h_t", "delta_h_after = dL_dh_t"), ("return (delta_h_t,)", "return (dL_dh_t,)")),
    "activation derivative: applied twice": Fault(
        "elman", ("delta_h_t *= dL_dh_t", "delta_h_t *= delta_h_t * dL_dh_t"),
        (W_HH_STEP, W_HH_STEP.replace(" * dL_dh", " ** 2 * dL_dh")),
        ("delta_h_rest_t * dL_dh_t", "delta_h_rest_t * delta_h_rest_t * dL_dh_t"),
        ("(1 - h_t * h_t) * dL_dh_t", "(1 - h_t * h_t) ** 2 * dL_dh_t")),
    "activation derivative: at the activated value": Fault(
        "elman", ("np.multiply(h_part, h_part,", "np.multiply(np.tanh(h_part), np.tanh(h_part),"),
        (W_HH_STEP, W_HH_STEP.replace("h[t] * h[t]", "np.tanh(h[t]) ** 2")),
        ("1 - h_rows * h_rows", "1 - torch.tanh(h_rows) ** 2"), ("1 - h_t * h_t", "1 - jnp.tanh(h_t) ** 2")),
    "activation derivative: of tanh for a sigmoid gate": Fault(
        "lstm", ("delta_i_rest_part *= i_part\n", "delta_i_rest_part *= 1 + i_part\n"),
        ("dW_i += (i[t] * (1 - i[t])", "dW_i += ((1 - i[t] * i[t])"),
        ("i_rows * (1 - i_rows)", "(1 - i_rows * i_rows)"),
        ("i_t * (1 - i_t)", "(1 - i_t * i_t)")),
    "scale: the loss is a mean, the gradient a sum": alike(
        "elman", ("dl_do / T", "dl_do"), ("dl_do / T", "dl_do"), "objective"),
    "scale: the gradient is a mean over samples": alike(
        "elman", (f"{W_HH}", f"{W_HH} / B"), (W_HH_STEP, f"{W_HH_STEP} / len(h[t])")),
    "transpose: of the recurrent weight": Fault(
        "elman", ("np.dot(delta_h[t], W_hh,", "np.dot(delta_h[t], W_hh.T,"), (NEXT, f"{NEXT}.T"),
        ("delta_h_after @ W_hh", "delta_h_after @ W_hh.T"), ("delta_h_after @ W_hh", "delta_h_after @ W_hh.T")),
    "transpose: a gradient is returned transposed": alike(
        "elman", (W_HH, "dW_hh = h_rows_back_1.T @ delta_h_rows"),
        (W_HH_STEP, "dW_hh += h[t - 1].T @ ((1 - h[t] * h[t]) * dL_dh[t])")),
    "not accumulated over time: only the last step counts": alike(
        "elman", (W_HH, "dW_hh = delta_h_rows[-B:].T @ h_rows_back_1[-B:]"), ("dW_hh += ", "dW_hh = ")),
    "bias gradient: zero": alike("elman", ("db_h = ", "db_h = 0 * "), ("db_h += ", "db_h += 0 * ")),
    "bias gradient: a mean for a sum": Fault(
        "elman", ("delta_h_rows.sum(axis=0)", "delta_h_rows.mean(axis=0)"),
        ("dL_dh[t]).sum(axis=0)", "dL_dh[t]).mean(axis=0)"), ("delta_h_rows.sum(0)", "delta_h_rows.mean(0)"),
        ("delta_h_rows.sum(axis=0)", "delta_h_rows.mean(axis=0)")),
    "bias gradient: copied from one step": alike(
        "elman", ("db_h = delta_h_rows.", "db_h = delta_h_rows[:B]."), ("db_h += ", "db_h = ")),
    "the forward pass is another cell: no tanh on the cell's output": Fault(
        "lstm", ("np.tanh(c_t, out=h_t)", "h_t[...] = c_t"), ("o[t] * np.tanh(c[t])", "o[t] * c[t]"),
        ("o_t * torch.tanh(c_t)", "o_t * c_t"), ("o_t * jnp.tanh(c_t)", "o_t * c_t"), "forward"),
    "the forward pass is another cell: z and 1 - z exchanged": Fault(
        "gru", ("np.multiply(z_t, h_before, out=h_t)  # (4)\n            np.subtract(1, z_t, out=work)",
                "np.multiply(1 - z_t, h_before, out=h_t)\n            work[...] = z_t"),
        ("z[t] * h[t - 1] + (1 - z[t]) * n[t]", "(1 - z[t]) * h[t - 1] + z[t] * n[t]"),
        *[("z_t * h_before + (1 - z_t) * n_t", "(1 - z_t) * h_before + z_t * n_t")] * 2, "forward"),
    "sign": alike("elman", ("dW_hh = ", "dW_hh = -"), ("dW_hh += ", "dW_hh -= ")),
    # A scan of jax does not know the time of its step.
    "truncation window": Fault(
        "elman", ("np.dot(delta_h[t], W_hh", "np.dot(delta_h[t] * (t % 4 > 0), W_hh"), (NEXT, f"(t % 4 > 0) * {NEXT}"),
        ("delta_h_after = delta_h_t", "delta_h_after = delta_h_t * (len(dL_dh_steps) % 4 > 0)"), None),
    "GRU reset gate: an extra factor r": Fault(
        "gru", ("np.multiply(r[t], part_3[t]", "np.multiply(r[t] * r[t], part_3[t]"),
        ("+ r[t + 1] * (((1", "+ r[t + 1] * r[t + 1] * (((1"),
        *[("+ r_after * part_3_after", "+ r_after * r_after * part_3_after")] * 2),
    "GRU reset gate: behind the product in one pass and before it in the other": Fault(
        "gru", ("dU = delta_n_rows.T @ part_rows", "dU = (r_rows * delta_n_rows).T @ h_rows_back_1"),
        ("((1 - n[t] * n[t]) * dL_dn[t]).T @ (r[t] * h[t - 1])", "(r[t] * (1 - n[t] * n[t]) * dL_dn[t]).T @ h[t - 1]"),
        *[("delta_n_rows.T @ (r_rows * h_rows_back_1)", "(r_rows * delta_n_rows).T @ h_rows_back_1")] * 2),
    "parentheses in LSTM gate gradients: dc + a * b for (dc + a) * b": Fault(
        "lstm", (
            "np.multiply(delta_g_rest[step], dL_dc_t, out=delta_g[t - 1])",
            "delta_g[t - 1] = dL_dc_t - work + work * delta_g_rest[step]"),
        ("dL_dg[t] = i[t] * dL_dc[t]", "dL_dg[t] = (f[t + 1] * dL_dc[t + 1] if t < T else 0) + i[t] * ("
                                       "1 - np.tanh(c[t]) ** 2) * o[t] * dL_dh[t]"),
        ("delta_g_t = delta_g_rest_t * dL_dc_t",
         "delta_g_t = f_after * dL_dc_after + dL_dc_rest_t * dL_dh_t * delta_g_rest_t"),
        ("delta_g_t = (1 - g_t * g_t) * i_t * dL_dc_t", "delta_g_t = f_after * dL_dc_after + (1 - g_t * g_t) * i_t * ("
                                                        "1 - jnp.tanh(c_t) ** 2) * o_t * dL_dh_t")),
    "initial state: its term of a weight's gradient is dropped": Fault(
        "elman", (BACK, BACK.replace("h[:T]", "np.concatenate([0 * h[:1], h[1:T]])")),
        (W_HH_STEP, W_HH_STEP.replace("h[t - 1]", "(h[t - 1] * (t > 1))")), *[("given_h_0)", "0 * given_h_0)")] * 2),
    "initial state: its gradient is dropped": alike("elman", ("dh_0 = ", "dh_0 = 0 * "), ("dh_0 = ", "dh_0 = 0 * ")),
    "entry by entry with one number for a diagonal": Fault(
        "elman", ("delta_h_t *= dL_dh_t", "delta_h_t[...] = delta_h_t[:, :1] * dL_dh_t"),
        (NEXT, NEXT.replace("h[t + 1]) *", "h[t + 1])[:, :1] *")),
        ("delta_h_rest_t * dL_dh_t", "delta_h_rest_t[:, :1] * dL_dh_t"),
        ("(1 - h_t * h_t) * dL_dh_t", "(1 - h_t * h_t)[:, :1] * dL_dh_t")),
}

FUNCTIONS = {"backward": r"def _?backward\($", "forward": r"def (_empty|_?forward)\(", "objective": r"def _objective\("}
"""Where a target computes what a fault is about: the first of these in which the text stands."""


@cache
def text(model: str, target: str) -> str:
    return render(derive(load(model)), target)


def planted(fault: Fault, target: str) -> str | None:
    """The module with the fault; None where the target cannot express it."""
    change = dict(zip(("numpy", "numpy-textbook", "torch", "jax"), fault[1:5], strict=True))[target]
    if change is None:
        return None
    source, (right, wrong) = text(fault.model, target), change
    if target == "jax":
        right = re.sub(r"(\w+)\.T @ \(?([\w* ]+)\)?$", r"_over_rows(\1, \2)", right)
    for hit in re.finditer(FUNCTIONS[fault.function], source, re.MULTILINE):
        before, rest = source[:hit.start()], source[hit.start():]
        if right in re.split(r"\n(?=[\w@])", rest, maxsplit=1)[0]:
            return before + rest.replace(right, wrong, 1)
    raise AssertionError(f"{right!r} stands nowhere in the {target} module of {fault.model}")


def module(path: Path, source: str) -> ModuleType:
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


NOTICED = re.compile("modified by an inplace operation|had a side effect")
"""What autograd says of tensors that it holds, and jax of a value that outlives its call."""


def agrees(made: ModuleType, target: str) -> bool:
    """What a module says of itself; one of jax is compiled without much ado."""
    if target == "jax":
        import jax

        jax.config.update("jax_disable_most_optimizations", True)
    try:
        return made.check()
    except (RuntimeError, TypeError) as error:
        if NOTICED.search(str(error)):
            return False
        raise
    finally:
        if target == "jax":
            jax.config.update("jax_disable_most_optimizations", False)


# jax compiles each module: seconds.
@pytest.mark.parametrize(("kind", "target"), [
    *((kind, target) for kind in FAULTS for target in ("numpy", "numpy-textbook", "torch")),
    *(pytest.param(kind, "jax", marks=pytest.mark.slow) for kind in [*FAULTS][::2])])
def test_a_fault_that_people_make_is_found(kind: str, target: str, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    if target in ("torch", "jax") and not os.environ.get("SYMBPTT_CI"):
        pytest.importorskip(target)
    source = planted(FAULTS[kind], target)
    if source is None:
        assert target == "jax", "arrays of the others can be changed, and their loops know the time"
        return
    assert not agrees(module(tmp_path / "faulty.py", source), target)


def test_every_target_is_asked() -> None:
    assert sorted(programs()) == ["jax", "numpy", "numpy-textbook", "torch"]
