"""How long deriving and proving take, beside SymPy, in one process and alternating.

    python -m benchmarks.derive [--repeat 7] [--json FILE]

Columns: `sweep` is unrolling and the reverse sweep with every step and gradient materialised; `derive` is the whole
of symbptt.derive, theorems included; `operators` builds the same named steps with SymPy's own operators; `nodes` only
calls the constructors of the nodes that the sweep made; `diff` is SymPy's matrix derivative of the nested network, for
small T.
Times are medians in milliseconds, the collector frozen.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import sympy
from sympy import MatrixSymbol
from sympy.core.basic import Basic
from sympy.core.cache import clear_cache

from symbptt import derive, load
from symbptt.bptt.backward import sweep, template
from symbptt.bptt.closed import solve
from symbptt.bptt.unroll import unroll
from symbptt.derive import prove
from symbptt.expr.nodes import At, Node
from symbptt.expr.walk import visit
from symbptt.model.spec import Model
from symbptt.proof.last import LastLoss

LINEAR = load("linear")
PROVED = ("linear", "elman", "lstm", "gru")


def our_sweep(steps: int) -> None:
    """Unroll and sweep."""
    sweep(unroll(LINEAR, steps))


def our_derivation(steps: int) -> None:
    """Everything, with the theorems for every T."""
    derive(LINEAR, T=steps)


def closed_form(model: Model) -> None:
    """The theorem that the recursion equals the closed form, found and replayed."""
    form = template(model)
    prover = LastLoss(form, solve(form))
    prover.proved("closed", prover.solution)


def operators(steps: int) -> None:
    """The forward equations, the adjoints and the summands of every gradient, by SymPy's operators, each named."""
    w_hx, w_hh, w_qh = LINEAR.parameters
    d, h, q = (s.symbol for s in LINEAR.sizes)

    def family(name: str, size: sympy.Expr) -> list[MatrixSymbol]:
        return [MatrixSymbol(f"{name}_{k}", size, 1) for k in range(steps + 2)]

    x, hidden, g, e = family("x", d), family("h", h), family("g", h), family("e", q)
    made = []
    for k in range(1, steps + 1):
        made += [w_hx * x[k] + w_hh * hidden[k - 1], w_qh * hidden[k], w_hh.T * g[k + 1] + w_qh.T * e[k],
                 w_hx.T * g[k], g[k] * x[k].T, g[k] * hidden[k - 1].T, e[k] * hidden[k].T]


def bare_nodes(steps: int) -> Callable[[], None]:
    """The plain constructor calls behind one sweep, and nothing else."""
    graph = unroll(LINEAR, steps)
    trees = [side for e in graph.equations for side in e] + [s.right for s in sweep(graph).values()]
    calls = [(type(n), n.args) for tree in trees for n in visit(tree) if isinstance(n, Node)]
    calls += [(At, n.args) for tree in trees for n in visit(tree) if isinstance(n, At)]
    return lambda: [Basic.__new__(kind, *args) for kind, args in calls] and None


def nested_diff(steps: int) -> None:
    """SymPy's matrix calculus on the nested network: d/dW_hh of Σ_t e_tᵀ o_t."""
    w_hx, w_hh, w_qh = LINEAR.parameters
    d, h, q = (s.symbol for s in LINEAR.sizes)
    state, total = MatrixSymbol("h_0", h, 1), []
    for k in range(1, steps + 1):
        state = w_hx * MatrixSymbol(f"x_{k}", d, 1) + w_hh * state
        total.append(MatrixSymbol(f"e_{k}", q, 1).T * w_qh * state)
    sympy.MatAdd(*total).diff(w_hh)


def milliseconds(run: Callable[[], object]) -> float:
    """One run with cold SymPy caches and the collector frozen."""
    clear_cache()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        start = time.perf_counter()
        run()
        return 1e3 * (time.perf_counter() - start)
    finally:
        gc.enable()
        gc.unfreeze()


def side_by_side(runs: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Medians, the competitors alternating."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, run in runs.items():
            times[name].append(milliseconds(run))
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    """Print the tables and, on request, write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, SymPy {sympy.__version__}, {platform.machine()}; milliseconds, medians "
          f"of {options.repeat}")
    found: dict[str, dict[str, float]] = {}
    heads = ("sweep", "derive", "operators", "nodes", "sweep/operators", "sweep/nodes")
    print(f"{'T':>6} " + " ".join(f"{head:>{max(9, len(head))}}" for head in heads))
    for steps in (3, 100, 1000):
        row = side_by_side({"sweep": lambda n=steps: our_sweep(n), "derive": lambda n=steps: our_derivation(n),
                            "operators": lambda n=steps: operators(n), "nodes": bare_nodes(steps)}, options.repeat)
        found[f"T={steps}"] = row
        print(f"{steps:>6} {row['sweep']:>9.2f} {row['derive']:>9.2f} {row['operators']:>9.2f} {row['nodes']:>9.2f} "
              f"{row['sweep'] / row['operators']:>15.3f} {row['sweep'] / row['nodes']:>11.1f}")
    print(f"growth from T = 100 to 1000: sweep × {found['T=1000']['sweep'] / found['T=100']['sweep']:.1f}, "
          f"derive × {found['T=1000']['derive'] / found['T=100']['derive']:.1f}")
    for steps in (2, 4, 6):
        row = side_by_side({"sweep": lambda n=steps: our_sweep(n), "diff": lambda n=steps: nested_diff(n)}, 3)
        found[f"diff T={steps}"] = row
        print(f"T = {steps}: sweep, every gradient {row['sweep']:.2f}; SymPy .diff, W_hh alone {row['diff']:.1f}")
    print("proofs, replayed: recursion = closed form for every T; the same for T = 100 with every t written out; all "
          "theorems for every T")
    for name in PROVED:
        model = load(name)
        row = side_by_side({"closed form": partial(closed_form, model), "T = 100": partial(prove, model, 100),
                            "all": partial(prove, model)}, options.repeat)
        found[f"proof {name}"] = row
        print(f"{name:>6} {row['closed form']:>9.1f} {row['T = 100']:>9.1f} {row['all']:>9.1f}")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
