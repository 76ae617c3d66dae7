"""How fast generated programs compute L and every gradient, beside what else computes the same.

    python -m benchmarks.programs [--quick] [--only lstm,short,float64] [--threads 1 2] [--targets numpy]
                                  [--budget 10] [--repeat 100] [--json FILE] [--document FILE] [--from FILE]

One process for each number of threads. Before a network is timed, the gradients of all contestants are compared with
those of our first program; if one differs, the run stops. Writes docs/benchmarks.md and a plot beside it; with --quick
only if --document says where. --from FILE writes the document from figures that --json has written.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import DTYPES, MODELS, SIZES
from benchmarks.contestants import has, targets
from benchmarks.document import write
from benchmarks.steps import counted
from symbptt import derive

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "benchmarks.md"
LEAST = 3
"""Calls of the slowest contestant."""


def cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


@contextlib.contextmanager
def held(threads: int) -> Iterator[None]:
    """Children start on the last so many cores; jax has no other bound on its threads."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    all_of_them = cores()
    os.sched_setaffinity(0, all_of_them[-threads:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def environment(threads: int) -> dict[str, str]:
    """The environment of a process with so many threads."""
    count = str(threads)
    # Several threads have no flag of their own: jax takes as many as the process has cores.
    xla = "--xla_cpu_multi_thread_eigen=false" if threads == 1 else ""
    return {**os.environ, "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count,
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {xla}".strip(), "JAX_PLATFORMS": "cpu"}


def machine() -> dict[str, Any]:
    """The processor and how many cores of it there are."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {"processor": names[0] if names else platform.processor() or platform.machine(), "cores": len(cores()),
            "system": platform.system(), "architecture": platform.machine()}


def run(order: dict[str, Any]) -> dict[str, Any] | None:
    """What one process found; None where it stopped."""
    with tempfile.TemporaryDirectory() as folder, held(order["threads"]):
        into = Path(folder) / "found.json"
        done = subprocess.run([sys.executable, "-m", "benchmarks.measure"], text=True, cwd=ROOT, check=False,
                              input=json.dumps(order | {"into": str(into)}), env=environment(order["threads"]))
        if done.returncode > 1 or done.returncode < 0:
            print(f"error: the process ended with status {done.returncode}", file=sys.stderr)
        return json.loads(into.read_text(encoding="utf-8")) if done.returncode == 0 else None


def selected(words: Sequence[str]) -> dict[str, list[str]]:
    """The models, sizes and dtypes that some words name; all of a kind that no word names.

    Raises:
        ValueError: a word names nothing.
    """
    kinds = {"models": list(MODELS), "sizes": list(SIZES), "dtypes": list(DTYPES)}
    for word in words:
        if not any(word in names for names in kinds.values()):
            known = ", ".join(name for names in kinds.values() for name in names)
            raise ValueError(f"--only knows no {word!r}; it knows {known}")
    return {kind: [name for name in names if name in words] or names for kind, names in kinds.items()}


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small sizes, half a second each")
    parser.add_argument("--only", default="", help="models, sizes and dtypes, separated by commas")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--targets", default="", help="of ours, separated by commas; the first is what ratios compare")
    parser.add_argument("--budget", type=float, help="seconds for one network, size and dtype (10)")
    parser.add_argument("--repeat", type=int, default=100, help="calls of a fast contestant, at most (100)")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--document", type=Path, help="where to write the document (docs/benchmarks.md)")
    parser.add_argument("--from", type=Path, dest="source", help="write the document from these figures")
    options = parser.parse_args(given)
    try:
        options.chosen = selected([word for word in options.only.split(",") if word])
    except ValueError as error:
        parser.error(str(error))
    if options.quick and not {*options.only.split(",")} & {*SIZES}:
        options.chosen["sizes"] = ["short", "long"]
    options.budget = options.budget or (0.5 if options.quick else 10)
    return options


def figures(options: argparse.Namespace) -> dict[str, Any] | None:
    """All figures; None where a process stopped."""
    ours, notes = targets([name for name in options.targets.split(",") if name])
    if not ours:
        notes.append("there is no target to measure")
    notes += [f"{library} is not installed, so its columns are left out" for library in ("torch", "jax")
              if not has(library)]
    found: dict[str, Any] = {
        "machine": machine(), "versions": {"python": platform.python_version()}, "threads": {}, "cases": [],
        "errors": [], "budget": options.budget, "least": LEAST, "repeat": options.repeat}
    for threads in options.threads if ours else ():
        if not 1 <= threads <= len(cores()):
            notes.append(f"there are {len(cores())} cores, so {threads} threads are left out")
            continue
        part = run({**options.chosen, "targets": ours, "threads": threads, "budget": options.budget, "least": LEAST,
                    "most": max(LEAST, options.repeat)})
        if part is None:
            return None
        found["versions"] |= part["versions"]
        found["threads"][str(threads)] = part["threads"]
        for key in ("cases", "errors"):
            found[key] += part[key]
    for note in notes:
        print(f"note: {note}")
    steps = {model: counted(derive(model).to_code("numpy")) for model in options.chosen["models"]}
    found["steps"] = {model: count for model, count in steps.items() if count}
    return found | {"notes": notes}


def main(given: Sequence[str] | None = None) -> int:
    """Measure, or read figures; write what is wanted."""
    options = arguments(given)
    found = json.loads(options.source.read_text(encoding="utf-8")) if options.source else figures(options)
    if found is None:
        print("the run was stopped; nothing is written", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    # Figures of a few calls are not for publication.
    document = options.document or (None if options.quick and not options.source else DOCUMENT)
    if document and found["cases"]:
        for path in write(found, document):
            print(f"wrote {path}")
    return 0 if found["cases"] else 1


if __name__ == "__main__":
    sys.exit(main())
