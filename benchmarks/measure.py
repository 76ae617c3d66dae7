"""One process of a benchmark, for one number of threads: checks every contestant, then times them in turn.

Started by programs.py, which says on standard input what to measure; prints what it does; writes what it found as JSON.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import SIZES, TOLERANCES, Case, Differs, compare, draw
from benchmarks.contestants import Contestant, bridge, has, limits, our, peers
from benchmarks.limit import flops
from benchmarks.statements import profile
from symbptt import derive

QUIET = 4e-4
"""Seconds of processor time in 2 ms of sleep below which no thread of the process is at work."""


class WrongThreads(Exception):
    """A library does not have the threads that it should have."""


def settle() -> None:
    """Wait until threads that look out for more work sleep, as they would take a core from the next contestant."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.002)
        if time.process_time() - before < QUIET:
            return


def alternate(calls: dict[str, Callable[[], object]], budget: float, least: int, most: int,
              rest: Callable[[], None] = settle) -> dict[str, list[float]]:
    """Milliseconds of every call, the contestants in turn; `least` to `most` calls of each, in `budget` seconds."""
    def once(name: str) -> float:
        rest()
        start = time.perf_counter()
        found = calls[name]()
        taken = time.perf_counter() - start
        # Freed here, so that nobody pays for the arrays of another.
        del found
        return taken

    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        share = budget / len(calls)
        counts = {}
        for name in calls:
            start = time.perf_counter()
            once(name)
            counts[name] = min(most, max(least, int(share / (time.perf_counter() - start))))
        times: dict[str, list[float]] = {name: [] for name in calls}
        rounds = max(counts.values())
        for k in range(rounds):
            for name, count in counts.items():
                # Fewer calls are spread over all rounds.
                if (k + 1) * count // rounds > k * count // rounds:
                    times[name].append(round(1e3 * once(name), 5))
        return times
    finally:
        gc.enable()
        gc.unfreeze()


def checked(case: Case, contestants: Sequence[Contestant], dtypes: Sequence[str]) -> dict[str, dict[str, float]]:
    """The largest relative error of every contestant by dtype, beside our first program in float64.

    Raises:
        Differs: a gradient is another one.
    """
    errors: dict[str, dict[str, float]] = {}
    run = contestants[0].prepare(case)
    right = run.read(run.call())
    # Whatever is measured: that the equations are the same shows only in float64.
    for dtype in dict.fromkeys(("float64", *dtypes)):
        errors[dtype] = {}
        for contestant in contestants:
            run = contestant.prepare(case.to(dtype))
            found = run.read(run.call())
            for name, gradient in found[1].items():
                if str(gradient.dtype) != dtype:
                    raise Differs(f"{contestant.name}, {case.model}: the gradient of {name} is {gradient.dtype}")
            who = f"{contestant.name}, {case.model}, {dtype}"
            errors[dtype][contestant.name] = compare(who, found, right, TOLERANCES[dtype])
    return errors


def measured(case: Case, contestants: Sequence[Contestant], dtype: str, order: dict[str, Any]) -> dict[str, Any]:
    """The times of every contestant and of the limits, for one dtype."""
    cast = case.to(dtype)
    calls: dict[str, Callable[[], object]] = {c.name: c.prepare(cast).call for c in contestants}
    calls |= limits(case, dtype)
    for call in calls.values():
        call()
    times = alternate(calls, order["budget"], order["least"], order["most"],
                      settle if order["threads"] > 1 else lambda: None)
    return {"model": case.model, "size": vars(case.size), "dtype": dtype, "threads": order["threads"],
            "flops": flops(case.model, case.size), "ours": [c.name for c in contestants if c.ours], "ms": times}


def blas() -> dict[str, Any]:
    """What NumPy multiplies with; its kernel and threads as the library itself tells, where it is an OpenBLAS."""
    config: Any = np.show_config(mode="dicts")
    used = config["Build Dependencies"]["blas"]
    found: dict[str, Any] = {"name": used.get("name", "unknown"), "version": used.get("version", "")}
    maps = Path("/proc/self/maps")
    paths = {line.split()[-1] for line in maps.read_text().splitlines() if "openblas" in line.rpartition("/")[2]} \
        if maps.exists() else set()
    for path in sorted(paths):
        # SciPy may bring one of its own.
        if "scipy.libs" in path:
            continue
        library = ctypes.CDLL(path)
        for prefix, suffix in (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")):
            try:
                kernel = getattr(library, f"{prefix}openblas_get_corename{suffix}")
                threads = getattr(library, f"{prefix}openblas_get_num_threads{suffix}")
            except AttributeError:
                continue
            kernel.restype = ctypes.c_char_p
            return found | {"kernel": kernel().decode(), "threads": threads()}
    return found


def threads(wanted: int) -> dict[str, Any]:
    """How many threads each library has.

    Raises:
        WrongThreads: not as many as wanted.
    """
    found: dict[str, Any] = {"blas": blas()}
    counts = {"NumPy's BLAS": found["blas"].get("threads", wanted)}
    if has("torch"):
        import torch

        torch.set_num_threads(wanted)
        torch.set_num_interop_threads(wanted)
        found["torch"] = counts["torch"] = torch.get_num_threads()
    # Where the system cannot say, nothing holds jax.
    if hasattr(os, "sched_getaffinity"):
        found["cores"] = counts["the process, in cores,"] = len(os.sched_getaffinity(0))
    for who, count in counts.items():
        if count != wanted:
            raise WrongThreads(f"{who} has {count} threads; {wanted} are wanted")
    return found


def versions() -> dict[str, str]:
    """The versions of the libraries."""
    found = {"numpy": np.__version__}
    for library in ("torch", "jax"):
        if has(library):
            bridge(library)
            found[library] = sys.modules[library].__version__
    return found


def work(order: dict[str, Any]) -> dict[str, Any]:
    """Everything that is wanted of this process."""
    found: dict[str, Any] = {"versions": versions(), "threads": threads(order["threads"]), "cases": [], "errors": []}
    print(f"threads {order['threads']}: {json.dumps(found['threads'])}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for model in order["models"]:
            contestants = [*(c for target in order["targets"] for c in our(model, target, Path(folder))), *peers(model)]
            code = derive(model).to_code("numpy") if "numpy" in order["targets"] else ""
            for label in order["sizes"]:
                case = draw(model, SIZES[label])
                errors = checked(case, contestants, order["dtypes"])
                found["errors"].append({"model": model, "size": vars(case.size), "errors": errors})
                for dtype in order["dtypes"]:
                    found["cases"].append(measured(case, contestants, dtype, order))
                    if code:
                        found["cases"][-1]["profile"] = profile(f"{model}_{label}_{dtype}", code, case.to(dtype),
                                                                Path(folder), order["least"])
                    middle = {name: float(np.median(times)) for name, times in found["cases"][-1]["ms"].items()}
                    print(f"{model:16} {label:6} {dtype} " + "; ".join(f"{k} {v:.3g}" for k, v in middle.items()),
                          flush=True)
    return found


def main() -> int:
    """Read the order, work, write what was found."""
    order = json.load(sys.stdin)
    try:
        found = work(order)
    except (Differs, WrongThreads) as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 1
    Path(order["into"]).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
