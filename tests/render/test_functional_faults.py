"""Faults planted line by line in the recursions of torch and jax modules, which find them by their own check."""

import os
import re
from pathlib import Path

import pytest

if not os.environ.get("SYMBPTT_CI"):
    pytest.importorskip("torch")
    pytest.importorskip("jax")

from tests.render.faces import hardly_optimised, module, text
from tests.render.test_numpy_program import slow

FAULTS = [(r" \+ ", " - "), (r" - ", " + "), (r"\.T\b", ""), (r"@ (\w+)(?=$|\)| \+| -)", r"@ \1.T"),
          (r"_back_\d\b", ""), (r"_next_\d\b", ""), (r"_before\b", "_t"), (r"_after\b", "_t"),
          (r"_before\b", "_before_2"), (r"_after\b", "_after_2"), (r"_before_2\b", "_before"),
          (r"_after_2\b", "_after"), (r"\[::-1\]", ""), (r"reversed\((\w+\.unbind\(\))\)", r"\1"),
          (r", reverse=True", ""),
          (r"(?<=\w )= (?=[\w(])(?!\w+\.zeros)", "= 2 * "),
          (r"^(\s+(\w+_t|dL?_?\w+)) = (?!\w+\.zeros)", r"\1 = -"), (r"return \((\w+), (\w+)", r"return (\2, \1"),
          (r"(cat|concatenate)\(\[(\w+), (\w+)", r"\1([\3, \2"),
          (r"^(\s+)(\w+), (\w+)(?=.* = (carry|given))", r"\1\3, \2"),
          (r':size\["(\w+)"\]\]', r':size["\1"] - 1]'), (r'\[size\["(\w+)"\]:', r'[size["\1"] - 1:'),
          (r"\.sum\((0|axis=0)\)", r".mean(\1)"), (r"\b(\w+_t) \* ", ""), (r" \* (\w+)$", ""),
          (r" / (\d)", r" * \1"), (r"_at\((.*?), 1\)", r"_at(\1, 2)"), (r"\b(torch|jnp)\.tanh", r"\1.sin"),
          (r"torch\.sigmoid", "torch.tanh"), (r"jax\.nn\.sigmoid", "jnp.tanh"),
          (r"= torch\.zeros\(", "= torch.ones("),
          (r"(scan\(\w+, \()jnp\.zeros(?=\(.*?\),\), )", r"\1jnp.ones"), (r"\b(given_\w+)(?=$|\))", r"(0 * \1)"),
          (r"_step\((.*?)\)", r"\1"), (r"\b2 \* ", "3 * "), (r"gamma \* ", ""), (r"\(1 - (\w+) \* \1\)", r"(1 - \1)"),
          (r"_placed\((.*?), (\S+), ", r"_placed(\1, 0, ")]
"""Patterns in a line of a recursion, and what a person might have written instead."""

HARMLESS = re.compile(r"^\s+(T, \w+|dtype|device|N) = ")
"""Lengths, and what numbers are made of: a fault there makes a module that does not run, or nothing else."""


def lines_of(source: str) -> list[int]:
    """The numbers of the lines inside the recursions."""
    found, inside, head = [], False, False
    for number, line in enumerate(source.splitlines()):
        if re.match(r"\w|@", line):
            inside = line.startswith(("def _forward(", "def _backward("))
        head = (head or line.startswith("def ")) and not line.endswith('"""')
        if inside and not head and line.strip() and '"""' not in line and not HARMLESS.search(line):
            found.append(number)
    return found


def harmless(code: str, recursions: str) -> bool:
    """Whether any value does: of a start that a loop multiplies by what is zero beyond T, or read for its shape."""
    assigned = re.match(r"\s+(\w+) = ", code)
    if assigned is None:
        return False
    name = assigned.group(1)
    if ".zeros(" in code:
        return f"_after * {name}" in recursions or f") * {name}" in recursions
    return set(re.findall(rf"(\w*\(?)\b{name}\b(?! = |\")", recursions)) == {"zeros_like("}


def faults(source: str) -> dict[str, str]:
    """Modules with one fault each: a line changed, or left out."""
    lines, found = source.splitlines(), {}
    recursions = "\n".join(lines[number] for number in lines_of(source))
    for number in lines_of(source):
        code = lines[number].partition("  #")[0]
        if harmless(code, recursions):
            continue
        changes = [code[:hit.start()] + hit.expand(wrong) + code[hit.end():]
                   for pattern, wrong in FAULTS for hit in re.finditer(pattern, code)]
        if re.match(r"\s{8,}\w+ = \w+$", code):
            changes.append("")
        for changed in changes:
            if changed != code:
                found[f"{number}: {code.strip()} -> {changed.strip() or 'nothing'}"] = "\n".join(
                    [*lines[:number], changed, *lines[number + 1:]])
    return found


def unseen(planted: dict[str, str], build) -> list[str]:
    """The faults that a module does not find when it checks itself; one that does not run is found."""
    kept = []
    for what, source in planted.items():
        try:
            found = not build(source).check()
        except Exception:
            found = True
        if not found:
            kept.append(what)
    return kept


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


SEVERAL = {"library lstm": 3, "two-states-varying": 3, "one-row-slices": 5, "file masked_mean": 3,
           "losses-of-all-kinds": 3, "file activations": 8, "file attention": 6, "library gru": 2}
"""Modules in which so many faults can be planted that every so manieth is tried."""


@pytest.mark.parametrize("name", ["library elman", *slow(
    "library lstm", "lag-three-only", "two-states-varying", "file static_context", "file masked_mean",
    "losses-of-all-kinds", "one-row-slices", "started-by-the-same-weights", "input-in-loss", "static-everywhere",
    "file regularised")])
def test_torch_finds_a_fault_in_any_line(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = faults(text("torch", name))
    assert len(planted) > 40
    planted = dict(list(planted.items())[::SEVERAL.get(name, 1)])
    assert unseen(planted, lambda source: module(folder, "torch", f"{name} fault", source)) == []


# A fault is compiled like any other module, in seconds.
@pytest.mark.slow
@pytest.mark.parametrize(("name", "every"), [("linear", 12), ("file regularised", 16)])
def test_jax_finds_a_fault_in_any_line(name: str, every: int, folder: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    planted = dict(list(faults(text("jax", name)).items())[::every])
    assert len(planted) > 5
    with hardly_optimised():
        assert unseen(planted, lambda source: module(folder, "jax", f"{name} fault", source)) == []
