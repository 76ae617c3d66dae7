"""The documents as wholes: valid for KaTeX and pdflatex, within the page, made from the model and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import pykatex
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbptt import source_text
from symbptt.derivation import Derivation
from symbptt.derive import derive
from symbptt.model.read import load, loads
from symbptt.render.escape import latex_words, markdown_words
from symbptt.render.math import MACROS
from symbptt.render.targets import TARGETS, documents, everything, languages, programs, render, save, theorem

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT / "tests" / "data"
LIBRARY = sorted(p.stem for p in (ROOT / "symbptt" / "model" / "library").glob("*.toml"))
MODELS = [*LIBRARY, *sorted(str(p.relative_to(DATA).with_suffix("")) for p in DATA.glob("[md]*/*.toml"))]
INLINE = re.compile(r"(?<![\\$])\$(?!\$)(.+?)(?<!\\)\$")
DISPLAYED = re.compile(r"\$\$\n(.+?)\n\$\$", re.DOTALL)
PAGES = ["linear", "documents/odd_names", "documents/minus", "models/wide_output", "lstm", "models/packed_lstm"]
OVERFULL = re.compile(r"Overfull \\hbox \((\d+\.\d+)pt too wide\)[^\n]*")


HEAVY = {"models/five_states", "gru-reset-after", "lstm-coupled", "lstm-peephole", "mgu", "models/activations",
         "models/bilinear", "models/layer_feedback", "models/packed_lstm", "models/ring", "models/scalar_added",
         *[name for k, name in enumerate(n for n in MODELS if n.startswith("models/")) if k % 3 != 1]}
OFTEN = [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY else name for name in MODELS]
"""Long documents, and two of three models made for tests, are read in slow tests."""
TRUNCATED = ["linear", "elman", "lstm", "jordan", "second-order", "models/computed_start", "models/regularised"]


@cache
def derived(name: str, steps: int | None, uses: int | None = None) -> Derivation:
    return derive(load(str(DATA / f"{name}.toml") if "/" in name else name), steps, truncate=uses)


def formulas(text: str) -> tuple[set[str], set[str]]:
    """The displayed and the inline formulas of a Markdown text."""
    displayed = set(DISPLAYED.findall(text))
    return displayed, set(INLINE.findall(DISPLAYED.sub("", text)))


@cache
def katex(formula: str, display: bool) -> None:
    pykatex.renderToString(formula, displayMode=display, strict=pykatex.STRICT_ERROR)


def foreign(text: str) -> set[str]:
    """Macros of a formula that stand on no list."""
    return set(re.findall(r"\\([A-Za-z]+)", text)) - MACROS - {"eqref"}


@pytest.mark.parametrize("steps", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (None, 8))])
@pytest.mark.parametrize("name", OFTEN)
def test_every_formula_is_strict_katex(name: str, steps: int | None) -> None:
    valid(derived(name, steps))


@pytest.mark.parametrize("name", TRUNCATED)
def test_every_formula_about_truncation_is_strict_katex(name: str) -> None:
    valid(derived(name, None, 4))


def valid(d: Derivation) -> None:
    displayed, inline = formulas(render(d, "markdown"))
    assert len(displayed) >= 8
    assert len(inline) >= 8
    for formula in displayed:
        katex(formula, True)
    for formula in inline:
        katex(formula, False)
    assert set().union(*map(foreign, displayed | inline)) == set()


def test_a_wrong_formula_is_found() -> None:
    displayed, inline = formulas("a $x$ b\n\n$$\n\\foo + \\text{é}\n$$\n")
    assert inline == {"x"}
    assert displayed == {"\\foo + \\text{é}"}
    assert foreign(*displayed) == {"foo"}
    with pytest.raises(pykatex.ParseError):
        katex(r"\foo", True)
    with pytest.raises(pykatex.ParseError):
        katex("é", True)


def test_latex_and_markdown_hold_the_same_formulas() -> None:
    made = {target: render(derived("linear", 3), target) for target in ("latex", "markdown")}
    latex = re.findall(r"\\begin\{alignat\*\}\{2\}\n(.*?)\\end\{alignat\*\}", made["latex"], re.DOTALL)
    markdown = DISPLAYED.findall(made["markdown"])
    unplaced = re.compile(r"\s|&|\\tag\{T?\d+\}|\\(begin|end)\{aligned\}")
    assert [unplaced.sub("", body) for body in latex] == [unplaced.sub("", body) for body in markdown]
    assert re.findall(r"\\tag\{(T?\d+)\}", made["latex"]) == [line.label for line in derived("linear", 3).lines]


@pytest.fixture(scope="module")
def pdflatex() -> str:
    found = shutil.which("pdflatex")
    if found is None:
        if os.environ.get("SYMBPTT_CI"):
            pytest.fail("pdflatex is not installed")
        pytest.skip("pdflatex is not installed")
    return found


def compiled(pdflatex: str, text: str, folder: Path) -> str:
    """The log of a run that ended well."""
    (folder / "document.tex").write_text(text, encoding="utf-8")
    command = [pdflatex, "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    log = ""
    for _ in range(2):
        ended = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        log = (folder / "document.log").read_text(encoding="latin-1")
        assert ended.returncode == 0, log[-2000:]
    return log


@pytest.mark.parametrize("name", [*PAGES, *(pytest.param(n, marks=pytest.mark.slow) for n in MODELS if n not in PAGES)])
def test_the_article_compiles_and_stays_on_the_page(name: str, pdflatex: str, tmp_path: Path) -> None:
    log = compiled(pdflatex, render(derived(name, 8 if name in PAGES else 3), "latex"), tmp_path)
    assert "undefined references" not in log
    assert [found.group() for found in OVERFULL.finditer(log) if float(found[1]) > 10] == []


@pytest.mark.parametrize("name", ["jordan", *(pytest.param(n, marks=pytest.mark.slow) for n in TRUNCATED
                                              if n != "jordan")])
def test_the_article_with_a_truncation_stays_on_the_page(name: str, pdflatex: str, tmp_path: Path) -> None:
    log = compiled(pdflatex, render(derived(name, None, 4), "latex"), tmp_path)
    assert [found.group() for found in OVERFULL.finditer(log) if float(found[1]) > 10] == []


def test_an_overfull_line_is_found(pdflatex: str, tmp_path: Path) -> None:
    wide = r"\documentclass{article}\begin{document}\noindent\hbox{\kern 30cm x}\end{document}"
    assert any(float(width) > 10 for width in OVERFULL.findall(compiled(pdflatex, wide, tmp_path)))


@pytest.mark.parametrize("name", OFTEN)
@pytest.mark.parametrize("steps", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (None, 8))])
def test_plain_text_fits_the_terminal(name: str, steps: int | None) -> None:
    fits(derived(name, steps))


@pytest.mark.parametrize("name", TRUNCATED)
def test_plain_text_about_truncation_fits_the_terminal(name: str) -> None:
    fits(derived(name, None, 4))


def fits(d: Derivation) -> None:
    stamp, *lines = render(d, "text").splitlines()
    assert stamp.startswith("# Generated by symbptt")
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert not [one for one in re.split(r"\n\n", "\n".join(lines)) if unclosed(one)]


def unclosed(paragraph: str) -> bool:
    """Whether a display or a paragraph opens and closes different numbers of brackets."""
    return "more lines]" not in paragraph and any(paragraph.count(a) != paragraph.count(b) for a, b in ("()", "[]"))


def test_a_bracket_that_is_not_closed_is_found() -> None:
    d = derived("lstm", 3)
    one = next(p for p in render(d, "text").split("\n\n") if "(Π" in p)
    assert not unclosed(one)
    assert unclosed(one.replace("(Π", "Π", 1))


LINEAR = """
name = "m"
[sizes]
d = ""
h = ""
q = ""
[parameters]
W_hx = "h, d"
W_hh = "h, h"
W_qh = "q, h"
[inputs]
x = "d"
[targets]
y = "1"
[states]
h = "h"
[equations]
h = "{}W_hx @ x {} W_hh @ h[t-1]"
o = "{}W_qh @ h"
[[loss]]
term = "{}2*l(o, y)"
"""
MINUS = st.sampled_from(["", "-"])
SIGNS = st.tuples(MINUS, st.sampled_from("+-"), MINUS, MINUS)


def unstamped(signs: tuple[str, ...], target: str) -> str:
    text = render(derive(loads(LINEAR.format(*signs)), 2), target)
    return "\n".join(line for line in text.splitlines() if "Generated by" not in line)


@settings(max_examples=8, deadline=None)
@given(one=SIGNS, other=SIGNS)
def test_another_sign_makes_another_document(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    for target in documents():
        assert (unstamped(one, target) == unstamped(other, target)) == (one == other)


def test_every_single_sign_counts() -> None:
    all_signs = [("", "+", "", ""), ("-", "+", "", ""), ("", "-", "", ""), ("", "+", "-", ""), ("", "+", "", "-")]
    for target in documents():
        made = [unstamped(signs, target) for signs in all_signs]
        assert all(a != b for a, b in combinations(made, 2))


GATED = """
name = "m"
[sizes]
d = ""
h = ""
[parameters]
W = "h, d"
U = "h, h"
[inputs]
x = "d"
[targets]
y = "h"
[states]
h = "h"
[equations]
z = "sigmoid({}W @ x)"
h = "(1 {} z) * {}h[t-1] + {}z * tanh({}U @ h[t-1])"
[[loss]]
term = "squared_error(h, y)"
reduce = "sum"
"""


def test_every_single_sign_of_a_gated_cell_counts() -> None:
    plain = ("", "-", "", "", "")
    flipped = [tuple({"": "-", "-": "+"}[s] if k == n else s for k, s in enumerate(plain)) for n in range(len(plain))]
    for target in documents():
        made = [re.sub(r".*Generated by.*", "", render(derive(loads(GATED.format(*signs)), 2), target))
                for signs in (plain, *flipped)]
        assert all(a != b for a, b in combinations(made, 2))


GOLDEN = {
    "elman": [
        r"\boldsymbol{W}_{hh}^\top \, \mathrm{diag}(\boldsymbol{1} - \boldsymbol{h}_{t+1} \circ \boldsymbol{h}_{t+1}) "
        r"\frac{\partial L}{\partial \boldsymbol{h}_{t+1}} + \boldsymbol{W}_{qh}^\top "
        r"\frac{\partial L}{\partial \boldsymbol{o}_t}",
        r"\sum_{i=t}^{T} \left(\prod_{k=t+1}^{i} \boldsymbol{W}_{hh}^\top \, \mathrm{diag}(\boldsymbol{1} - "
        r"\boldsymbol{h}_k \circ \boldsymbol{h}_k)\right) \boldsymbol{W}_{qh}^\top "
        r"\frac{\partial L}{\partial \boldsymbol{o}_i}"],
    "elman-softmax": [
        r"\frac{\partial \mathrm{CE}(\boldsymbol{o}_t, \boldsymbol{y}_t)}{\partial \boldsymbol{o}_t}",
        r"\mathrm{softmax}(\boldsymbol{o}_t) \boldsymbol{1}^\top \boldsymbol{y}_t - \boldsymbol{y}_t",
        r"= \mathrm{softmax}(\boldsymbol{o}_t) - \boldsymbol{y}_t"],
    "lstm": [
        r"\boldsymbol{f}_t \circ \boldsymbol{c}_{t-1} + \boldsymbol{i}_t \circ \boldsymbol{g}_t",
        r"\mathrm{diag}(\boldsymbol{1} - \tanh(\boldsymbol{c}_t) \circ \tanh(\boldsymbol{c}_t)) \, "
        r"\mathrm{diag}(\boldsymbol{o}_t) \frac{\partial L}{\partial \boldsymbol{h}_t}"],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_formulas_read_as_in_the_books(name: str) -> None:
    for target in ("latex", "markdown"):
        made = render(derived(name, None), target)
        for formula in GOLDEN[name]:
            assert formula in made


def test_another_derivative_does_not_read_as_in_the_books() -> None:
    other = render(derived("irnn", None), "latex")
    assert not any(formula in other for formula in GOLDEN["elman"])
    lie = "tanh(W_hx @ x - W_hh @ h[t-1] + b_h)"
    text = source_text("elman").replace("tanh(W_hx @ x + W_hh @ h[t-1] + b_h)", lie)
    assert lie in text
    assert GOLDEN["elman"][1] not in render(derive(loads(text)), "latex")


def test_a_formula_that_no_one_would_read_is_cut() -> None:
    made = render(derived("models/activations", 3), "text")
    assert re.search(r"… \[\d+ more lines\]", made)
    assert "more lines]" not in render(derived("lstm", 3), "text")


PLACING = {"documentclass", "usepackage", "allowdisplaybreaks", "setlength", "parindent", "parskip", "emergencystretch",
           "itemsep", "LARGE",
           "begin", "end", "section", "item", "tag"}
"""Macros that place; a template has no others."""


def mathematics(template: str) -> list[str]:
    """What of a template is more than loops and places."""
    bare = re.sub(r"<<.*?>>|<%.*?%>|<#.*?#>|(?<=\\usepackage)\[.*?\]", "", template, flags=re.DOTALL)
    signs = re.findall(r"[=^_∂Σ⊤ℓ∈≤≥]|\\[a-z]+top|\bW|\bprod\b", bare)
    return signs + [macro for macro in re.findall(r"\\([A-Za-z]+)", bare) if macro not in PLACING]


@pytest.mark.parametrize("path", [p for name in ("latex", "markdown", "text") for p in sorted(
    (ROOT / "templates" / name).glob("*.jinja"))], ids=lambda p: p.name)
def test_templates_loop_and_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert mathematics(text) == []
    assert not re.search(r"<%[^%]*(\bis\b|isinstance|==|\bkind\b|\btype\b)", text)


@pytest.mark.parametrize("planted", [r"\frac", "a = b", "h_t", "W^\\top", "∂L", r"\partial"])
def test_planted_mathematics_is_found(planted: str) -> None:
    assert mathematics(f"<< row.left >> {planted}")


def test_words_of_people_are_escaped() -> None:
    assert latex_words(r"100% _a_ {b} \c $d$ & #1 ~ ^ <é>") == (
        r"100\% \_a\_ \{b\} \textbackslash{}c \$d\$ \& \#1 \textasciitilde{} \textasciicircum{} "
        r"\textless{}\'{e}\textgreater{}")
    assert latex_words("naïve Ångström 隐") == r"na\" {\i}ve \r{A}ngstr\"{o}m [U+9690]".replace('" {', '"{')
    assert markdown_words("*a* _b_ [c](d) <e> `f` $g$ # h") == r"\*a\* \_b\_ \[c\](d) \<e\> \`f\` \$g\$ \# h"
    text = render(derived("documents/minus", None), "latex")
    assert r"A sign changed \& 100\% of \_it\_" in text


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_escaped_words_are_ascii_and_harmless(text: str) -> None:
    made = latex_words(text)
    assert made.isascii()
    assert re.sub(r"\\[{}$&%#_]", "", made).count("{") == re.sub(r"\\[{}$&%#_]", "", made).count("}")
    assert not re.search(r"(?<!\\)[$&%#_]", made)


def test_the_table_of_targets(tmp_path: Path) -> None:
    d = derived("linear", 3)
    assert documents() == ["text", "latex", "markdown"]
    assert set(programs()) <= TARGETS.keys()
    assert languages() == ["en"]
    assert {str(path) for path in everything(d)} >= {"latex/linear.tex", "markdown/linear.md", "text/linear.txt"}
    written = save(d, tmp_path / "linear")
    assert all(path.read_text(encoding="utf-8") == text
               for path, text in zip(written, everything(d).values(), strict=True))
    with pytest.raises(ValueError, match="there is no target 'word'"):
        render(d, "word")
    with pytest.raises(ValueError, match="there is no language 'la'"):
        render(d, "latex", "la")


def test_a_theorem_on_one_line() -> None:
    closed = next(q for q in derived("linear", None).theorems if q.key.startswith("closed"))
    assert theorem(closed) == "∂L/∂hₜ = Σ_{i=t}^{T} (W_hh⊤)^(i−t) W_qh⊤ ∂L/∂oᵢ    for 1 ≤ t ≤ T+1"


def test_equal_input_gives_equal_bytes() -> None:
    code = ("from symbptt.model.read import load; from symbptt.derive import derive; "
            "from symbptt.render.targets import everything; import hashlib; "
            f"d = derive(load({str(DATA / 'documents' / 'odd_names.toml')!r}), 3); "
            "print(hashlib.sha256(repr(everything(d)).encode()).hexdigest())")
    made = {subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, check=True,
                           capture_output=True, text=True).stdout for seed in ("0", "1")}
    assert len(made) == 1
