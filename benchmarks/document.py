"""The figures as a Markdown document with a plot beside it."""

from __future__ import annotations

import importlib.util
import statistics
from pathlib import Path
from typing import Any

from benchmarks.cases import TOLERANCES
from benchmarks.contestants import KEPT, LIMITS

SECTIONS = """\
## What is measured

One call computes L and its gradient with respect to every parameter, every input and the initial states. The loss is
half the squared error, its mean over the T steps summed over the B samples. d, h and q are the sizes of input, hidden
state and output. The contestants:

- **{ours}**: the programs that symbptt generates, by name of target; with buffers kept, their work arrays serve
  from one call to the next.
- **NumPy loop**: plain NumPy as tutorials write it, a loop forward and a loop backward, a product for every gate, every
  gradient added to at every step (`benchmarks/loops.py`).
- **torch loop**: torch autograd through the same equations, step by step (`benchmarks/equations.py`).
- **torch.nn**: the recurrent layer of torch, then the output projection over all steps at once.
- **jax.jit, scan**: `jax.jit(jax.value_and_grad(…))` of a `jax.lax.scan` over the same equations.
- **limit**: the matrix products alone, as NumPy's matmul computes them in the shapes of a program that batches what it
  can: T·B rows at once where nothing recurs, B rows a step where something does; with the weights of the gates stacked
  or gate by gate, whichever is faster. Functions, sums of entries and everything else cost nothing here, so that no
  NumPy program should come below; torch and jax may, as they multiply by other means.

## How it was run

{processor}, {cores} cores, {system} on {architecture}. {versions}.

{threads}

`make bench BENCH=programs`: one process for each number of threads, held to as many cores, with the counts read back
from the libraries; that of jax is the number of cores. The gradients of every contestant agree with ours, by norm to
{double} in float64 and {single} in float32: the largest relative error; above {limits} the run would have stopped.
Arrays are converted to those of torch and jax outside the timing, and so is what jax compiles. All contestants are
called in turn, in each round once, after a first call that is not counted; a slow one takes part in fewer rounds, but
in at least {least}: {budget:g} seconds for each row, at most {repeat} calls. With more than one thread each call waits
until the threads of the one before are asleep. The collector is frozen.

A cell is the median in milliseconds [lower quartile–upper quartile], then ×: the time of {reference} over the time of
that column, above 1 where the column is faster. For our programs % is the share of the limit: the time of the limit
over the time of the program. Behind the limit stands its rate in 10⁹ floating-point operations a second.
"""

REMARKS = {
    "linear": "torch.nn has no layer without a function.",
    "elman": "torch.nn.RNN has the same equation, with two biases whose sum is ours.",
    "lstm": "torch.nn.LSTM has the same equations, with two biases for each gate whose sum is ours.",
    "gru": "torch.nn.GRU has other equations (the reset gate comes after the product, and there are biases), so it "
           "stands beside gru-reset-after, which has the same.",
    "gru-reset-after": "torch.nn.GRU has the same equations, with two biases for the gates r and z whose sum is ours.",
}
STEPS = """\
## What a step costs at one sample

At B = 1 the products are small, and what decides is how often NumPy is called. Counted in the loops over the steps of
the numpy program, forward and backward together; a view is a part of an array taken for one step. The time is that of
the longest row with B = 1, over T, in {dtype} with {threads}; what stands outside the loops is in it.

| model | calls a step | views a step | µs a step | µs a call or view |
| --- | ---: | ---: | ---: | ---: |
{rows}

{others}
"""
SHARES = """\
## Where the time of the numpy program goes

Milliseconds of one call in {dtype} with {threads}, at the sizes of several samples: by a clock behind every statement
of the functions that go forward and backward, the mean of {least} calls with buffers kept. What is no product is
functions, products of entries, sums and views; outside are the loss and the reading of what is given. The limit, which
is the products alone, and the time without clocks stand beside.

| model | T, B, d, h, q | {kinds} | limit | without clocks |
| --- | --- | {rule}---: | ---: |
{rows}
"""
LIMIT = "limit"
COLORS = ("#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#999999", "#e69f00", "#d55e00", "#000000")


def number(x: float) -> str:
    """Three digits."""
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}" if x >= 1 else f"{x:.2g}" if x < 0.1 else f"{x:.3f}".rstrip("0")


def quartiles(times: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return low, middle, high


def spread(case: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Quartiles by contestant; of the two limits the faster one."""
    found = {name: quartiles(times) for name, times in case["ms"].items()}
    bounds = [found.pop(name) for name in LIMITS if name in found]
    return found | ({LIMIT: min(bounds, key=lambda q: q[1])} if bounds else {})


def cell(name: str, case: dict[str, Any]) -> str:
    """One cell of a table; a dash where the contestant did not take part."""
    times = spread(case)
    if name not in times:
        return "–"
    low, middle, high = times[name]
    text = f"{number(middle)} [{number(low)}–{number(high)}]"
    reference = case["ours"][0]
    if name == LIMIT:
        return f"{text}, {case['flops'] / middle / 1e6:.3g}"
    if name != reference:
        text += f" ×{number(times[reference][1] / middle)}"
    share = f" {100 * times[LIMIT][1] / middle:.0f} %" if name in case["ours"] and LIMIT in times else ""
    return text + share


def in_words(threads: int) -> str:
    """One thread, or their number."""
    return "one thread" if threads == 1 else f"{threads} threads"


def size(case: dict[str, Any]) -> str:
    """T, B, d, h, q."""
    return ", ".join(map(str, case["size"].values()))


def table(cases: list[dict[str, Any]]) -> str:
    """A row for every size and number of threads, a column for every contestant."""
    names = list(dict.fromkeys(name for case in cases for name in spread(case)))
    ours = {name for case in cases for name in case["ours"]}
    heads = ["T, B, d, h, q", "threads", *(f"**{name}**" if name in ours else name for name in names)]
    order = list(dict.fromkeys(map(size, cases)))
    rows = [[size(c), str(c["threads"]), *(cell(name, c) for name in names)]
            for c in sorted(cases, key=lambda c: (order.index(size(c)), c["threads"]))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---", *["---:"] * (len(heads) - 1)], *rows))


def worst(found: dict[str, Any], dtype: str) -> str:
    """The largest error of all contestants in one dtype."""
    errors = [e for entry in found["errors"] for e in entry["errors"].get(dtype, {}).values()]
    return f"{max(errors):.0e}" if errors else "nothing measured"


def machine(found: dict[str, Any]) -> dict[str, str]:
    """The machine and what runs on it, in words."""
    blas = next(iter(found["threads"].values()))["blas"]
    names = {"python": "Python", "numpy": "NumPy"}
    versions = [f"{names.get(name, name)} {version}" for name, version in found["versions"].items()]
    kernel = f", kernel {blas['kernel']}" if "kernel" in blas else ""
    threads = []
    for count, libraries in found["threads"].items():
        told = [f"NumPy's BLAS {libraries['blas'].get('threads', 'untold')}"]
        told += [f"torch {libraries['torch']}"] if "torch" in libraries else []
        told += [f"cores of the process {libraries['cores']}"] if "cores" in libraries else []
        threads.append(f"Threads as read back, {count} wanted: {', '.join(told)}.")
    return {"versions": f"{', '.join(versions)}; NumPy's BLAS is {blas['name']} {blas['version']}{kernel}",
            "threads": "\n".join(threads)}


def steps(found: dict[str, Any]) -> str:
    """The section on calls; empty without a row of one sample."""
    single = [c for c in found["cases"] if c["size"]["B"] == 1 and "numpy" in c["ms"]]
    if not single or not found.get("steps"):
        return ""
    dtype, threads = min(c["dtype"] for c in single), min(c["threads"] for c in single)
    single = [c for c in single if (c["dtype"], c["threads"]) == (dtype, threads)]
    longest = {c["model"]: c for c in sorted(single, key=lambda c: int(c["size"]["T"]))}
    rows = []
    for model, (calls, views) in found["steps"].items():
        each = 1e3 * quartiles(longest[model]["ms"]["numpy"])[1] / longest[model]["size"]["T"]
        rows.append(f"| {model} | {calls} | {views} | {number(each)} | {number(each / (calls + views))} |")
    others = [model for model in longest if model not in found["steps"]]
    chunked = f"What recurs linearly goes in chunks of time at this length and has no such loop: {', '.join(others)}."
    return STEPS.format(dtype=dtype, threads=in_words(threads),
                        rows="\n".join(rows), others=chunked if others else "").rstrip() + "\n"


def shares(found: dict[str, Any]) -> str:
    """The section on kinds of statements; empty without a row of several samples."""
    several = [c for c in found["cases"] if c["size"]["B"] > 1 and "profile" in c]
    if not several:
        return ""
    dtype, threads = min(c["dtype"] for c in several), min(c["threads"] for c in several)
    rows = []
    for c in several:
        if (c["dtype"], c["threads"]) == (dtype, threads):
            times = spread(c)
            beside = [number(times[name][1]) if name in times else "–" for name in (LIMIT, "numpy" + KEPT)]
            rows.append(" | ".join(["", c["model"], size(c), *map(number, c["profile"].values()), *beside, ""]).strip())
    kinds = several[0]["profile"]
    return SHARES.format(dtype=dtype, threads=in_words(threads),
                         least=found["least"], kinds=" | ".join(kinds), rule="---: | " * len(kinds),
                         rows="\n".join(rows))


def text(found: dict[str, Any], plot: str | None) -> str:
    """The document; `plot` is the file of the plot."""
    cases = found["cases"]
    ours = list(dict.fromkeys(name for case in cases for name in case["ours"]))
    parts = ["# Benchmarks of generated programs\n", SECTIONS.format(
        ours="**, **".join(ours), reference=ours[0], **{key: found[key] for key in ("budget", "repeat", "least")},
        double=worst(found, "float64"), single=worst(found, "float32"),
        limits=" and ".join(f"{limit:.0e}" for limit in TOLERANCES.values()), **found["machine"], **machine(found))]
    notes = [*found["notes"], *([] if plot else ["matplotlib is not installed, so there is no plot"])]
    if notes:
        parts.append("Left out:\n\n" + "\n".join(f"- {note}" for note in notes) + "\n")
    parts.append("## Results\n")
    if plot:
        parts.append(f"![Time over the limit, by model and size]({plot})\n")
    for model in dict.fromkeys(case["model"] for case in cases):
        parts.append(f"### {model}\n")
        if "torch" in found["versions"]:
            parts.append(REMARKS[model] + "\n")
        for dtype in dict.fromkeys(case["dtype"] for case in cases):
            some = [case for case in cases if (case["model"], case["dtype"]) == (model, dtype)]
            if some:
                parts.append(f"{dtype}, milliseconds:\n\n{table(some)}\n")
    parts += filter(None, [shares(found), steps(found)])
    return "\n".join(parts)


def draw(found: dict[str, Any], path: Path) -> None:
    """The plot: for every model the time over that of the limit by size, for one dtype and the fewest threads."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # "float32" before "float64": what networks are trained in.
    dtype = min(case["dtype"] for case in found["cases"])
    least = min(case["threads"] for case in found["cases"])
    cases = [c for c in found["cases"] if c["dtype"] == dtype and c["threads"] == least]
    models = list(dict.fromkeys(case["model"] for case in cases))
    names = list(dict.fromkeys("torch.nn" if name.startswith("torch.nn") else name
                               for case in cases for name in spread(case) if name != LIMIT))
    # The salt keeps the names inside the file, and text as text keeps it small.
    with pyplot.rc_context({"svg.hashsalt": "symbptt", "svg.fonttype": "none", "font.size": 8}):
        figure, axes = pyplot.subplots(1, len(models), figsize=(1.8 * len(models) + 1, 2.8), sharey=True, squeeze=False)
        for axis, model in zip(axes[0], models, strict=True):
            some = [case for case in cases if case["model"] == model]
            for k, name in enumerate(names):
                points = [(n, times[full][1] / times[LIMIT][1]) for n, times in enumerate(map(spread, some))
                          for full in times if full == name or (name == "torch.nn" and full.startswith("torch.nn"))]
                if points:
                    axis.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1, label=name,
                              color=COLORS[k % len(COLORS)])
            axis.set(title=model, yscale="log", xticks=range(len(some)), xlim=(-0.5, len(some) - 0.5))
            axis.set_xticklabels([f"T {c['size']['T']}\nB {c['size']['B']}\nh {c['size']['h']}" for c in some])
            axis.minorticks_off()
            axis.grid(axis="y", linewidth=0.3)
        axes[0][0].set_ylabel(f"time over the limit\n{dtype}, threads: {least}")
        handles = {label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels(),
                                                                              strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="upper center", ncols=len(handles), frameon=False)
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)


def write(found: dict[str, Any], document: Path) -> list[Path]:
    """Write the document, and where matplotlib is installed the plot beside it."""
    document.parent.mkdir(parents=True, exist_ok=True)
    plot = document.with_suffix(".svg") if importlib.util.find_spec("matplotlib") else None
    if plot:
        draw(found, plot)
    document.write_text(text(found, plot.name if plot else None), encoding="utf-8")
    return [document, *([plot] if plot else [])]
