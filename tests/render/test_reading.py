"""What a reader relies on: conditions of theorems, names that differ, numbers in order, lines that break well."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import dropwhile
from pathlib import Path

import pytest

from symbptt.derivation import Derivation
from symbptt.derive import derive, prove
from symbptt.expr.index import Index, T, index
from symbptt.expr.nodes import At, Block
from symbptt.model.notation import split
from symbptt.model.read import load, loads
from symbptt.render.document import Writer, outline
from symbptt.render.glue import glued, unglued
from symbptt.render.notation import ARGUMENT, VALUE, letters
from symbptt.render.outline import Display, Paragraph, Ref, Run, Several
from symbptt.render.reuse import _joined
from symbptt.render.solution import passed_on
from symbptt.render.targets import LATEX, TEXT, render, theorem, theorems
from symbptt.render.words import ENGLISH

DATA = Path(__file__).parent.parent / "data"

EVERYTHING = """
name = "everything"
[sizes]
d = ""
h = ""
k = ""
q = ""
[parameters]
W = "4*h, h + d"
b = "4*h"
W_0 = "h, k"
W_m = "h, k"
u = "h"
V = "q, h"
S = "h, k"
w1 = "1, h"
D = "h, h"
[constants]
gamma = ""
beta = ""
[inputs]
x = "d"
[targets]
y = "q"
m = "1"
z = "q"
[static]
s = "k"
[states]
h = "h"
c = "h"
e = "1"
[initial]
h_0 = "tanh(W_0 @ s)"
h_m1 = "softsign(W_m @ s) / 2"
c = "relu(W_0 @ s)"
[equations]
a = "W @ concat(h[t-1], x) + b"
c = "sigmoid(a[h:2*h]) * c[t-1] + sigmoid(a[:h]) * hard_tanh(a[2*h:3*h])/gamma"
e = "w1 @ h[t-1] + dot(u, h[t-2]) + gamma**2 * e[t-1]"
h = "sigmoid(a[3*h:]) * silu(c) + e * (exp(D) @ leaky_relu(c)) - abs(S @ s)"
o = "V @ h"
[[loss]]
term = "softmax_cross_entropy(o, y)"
mask = "m"
assume = "sum(y) == 1"
[[loss]]
term = "2*squared_error(o, z)"
reduce = "sum"
[[loss]]
term = "gamma*l(h, z)"
reduce = "last"
[[loss]]
term = "beta/2*squared_norm(W)"
reduce = "once"
"""
"""One cell with slices, computed starts, static data, a mask, an assumption, a regulariser and many functions."""


@cache
def derived(name: str, steps: int | None = None, uses: int | None = None) -> Derivation:
    model = loads(EVERYTHING) if name == "everything" else load(str(DATA / f"{name}.toml") if "/" in name else name)
    return derive(model, steps, truncate=uses)


@cache
def text(name: str, steps: int | None = None, uses: int | None = None) -> str:
    return " ".join(render(derived(name, steps, uses), "text").split())


def displays(d: Derivation) -> Iterator[Display]:
    return (item for section in outline(d) for item in section.items if isinstance(item, Display))


def test_theorems_carry_their_conditions() -> None:
    found = derived("elman-softmax", None, 2).theorems
    along, = (q for q in found if q.key == "directions")
    assert "    if dW_hh = u_W_hh v_W_hh⊤, dW_hy = " in theorem(along)
    needed = [q for q in found if q.theorem.assumptions and q != along]
    assert [theorem(q).rpartition(", if ")[2] for q in needed] == ["1⊤ yₜ = 1", "μ = 1"]
    assert not any(" if " in theorem(q) for q in found if q not in (*needed, along))
    lie = replace(needed[0], theorem=replace(needed[0].theorem, assumptions=frozenset()))
    assert theorem(lie) == theorem(needed[0]).removesuffix(", if 1⊤ yₜ = 1") != theorem(needed[0])


def test_what_is_given_stands_apart_from_what_is_proved() -> None:
    found = prove(load("linear"))
    lines = list(theorems(found))
    given, proved = lines.index("Given"), lines.index("Proved")
    assert all(":=" in line for line in lines[given + 1:proved - 1])
    assert not any(":=" in line for line in lines[proved:])
    assert lines[-1].startswith(f"{len(found)} theorems proved;")
    assert list(theorems(found[:1]))[-1].startswith("1 theorem proved;")
    assert "Proved" not in list(theorems(()))


def unbalanced(d: Derivation) -> list[str]:
    """The displays in text that open and close different numbers of brackets."""
    writer = Writer(TEXT, ENGLISH)
    made = ("\n".join(r.left + r.body + r.note for r in writer.rows(item)) for item in displays(d))
    return [one for one in made if "more lines]" not in one and wrong(one)]


def wrong(formula: str) -> bool:
    return any(formula.count(a) != formula.count(b) for a, b in ("()", "[]", "{}"))


@pytest.mark.parametrize("name", ["everything", "models/sign_changed", "mgu"])
def test_brackets_close_in_every_display(name: str) -> None:
    assert unbalanced(derived(name, None, 2)) == []
    assert unbalanced(derived(name, 3)) == []


def test_a_lost_bracket_is_found() -> None:
    assert wrong("+ Σ_{t=1}^{T} −Σ_{i=t+2}^{T} diag(s)) x)")
    assert not wrong("+ Σ_{t=1}^{T} (−Σ_{i=t+2}^{T} diag(s) x)")
    assert "+ Σ_{t=1}^{T} (−Σ_{i=t+2}^{T} diag(sign(S s))" in text("everything", None, 2)


def stray(bodies: list[str]) -> list[str]:
    """Lines with one short factor that no other factor follows, and lines folded where no layout breaks."""
    ends = [*bodies, ""][1:]
    lone = [x for x, after in zip(bodies, ends, strict=True)
            if re.fullmatch(r"· \S{1,20}", x) and not after.startswith("·")]
    return lone + [x for x in bodies if x and x[0] not in "+−·=≤∘(["]


@pytest.mark.parametrize("name", ["everything", "jordan", "mgu", "models/nested"])
def test_no_factor_stands_on_a_line_alone(name: str) -> None:
    writer = Writer(TEXT, ENGLISH)
    for d in (derived(name, None, 2), *([derived(name, 3)] if name == "everything" else [])):
        for item in displays(d):
            if item.label is not None and not isinstance(item.relations[-1].right, Block):
                bodies = [row.body.strip() for row in writer.rows(item) if row.body]
                right = dropwhile(lambda x: x[0] not in "=≤", bodies)  # a long left side stands above
                assert stray(list(right)) == []


def test_a_stray_factor_is_found() -> None:
    assert stray(["= A", "· P_c", "+ B"]) == ["· P_c"]
    assert stray(["= A", "P_c", "· B x"]) == ["P_c"]
    assert stray(["= A", "· P_c B", "+ c"]) == []


def test_an_indicator_is_not_broken() -> None:
    for d in (derived("everything"), derived("irnn")):
        for line in render(d, "text").splitlines():
            assert not re.search(r"1\[[^\]]*$", re.sub(r"\[[^\[\]]*\]", "", line)) or "; " in line, line
    assert unglued(glued("1[v > 0]")) == "1[v > 0]" != glued("1[v > 0]")
    assert " " not in glued("prod(∂L/∂hₜ, ∂hₜ/∂W)")
    long = "A b " * 20
    assert glued(long) == long
    assert glued("x + 1[a + 1 > 0] y", "1[").split(" ") == ["x", "+", glued("1[a + 1 > 0]"), "y"]


@pytest.mark.parametrize("form", [TEXT, LATEX], ids=lambda form: str(form.name))
def test_a_reason_on_two_lines_has_one_pair_of_brackets(form: object) -> None:
    assert form in (TEXT, LATEX)
    writer = Writer(TEXT if form is TEXT else LATEX, ENGLISH)
    item = next(i for i in displays(derived("lstm")) if len(i.relations) > 5 and i.relations[0].reasons)
    notes = [row.body for row in writer.rows(item, False) if "equations (" in row.body or "blocks mult" in row.body]
    assert len(notes) == 2
    assert "[equations" in notes[0]
    assert notes[0].count("]") + notes[1].count("[") == 0
    assert notes[1].rstrip("}").endswith("]")


def test_numbers_in_a_reason_ascend() -> None:
    writer = Writer(TEXT, ENGLISH)
    assert writer.reasons((Ref("31"), Ref("9"), Ref("T2"), Ref("20"))) == "equations (9), (20), (31) and (T2)"
    made = render(derived("lstm"), "text")
    for found in re.findall(r"\[equations ([^\]]*)\]", made):
        numbers = [int(n) for n in re.findall(r"\((\d+)\)", found)]
        assert numbers == sorted(numbers)


def test_a_computed_start_is_not_called_given() -> None:
    assert "L depends on h₀, which equation (6) computes, through a₁, e₁ and e₂." in text("everything")
    assert "L depends on h₋₁, which equation (7) computes, only through e₁." in text("everything")
    assert "L depends on the given e₀ only through e₁." in text("everything")
    assert "the given h₀" not in text("everything")
    assert "the given h₀" in text("linear")


def pairs(d: Derivation) -> list[tuple[str, str]]:
    """The runs of members and the labels of the equations that are said to hold for them."""
    said = next(s for section in outline(d) for item in section.items if isinstance(item, Paragraph)
                for s in item.sentences if s.key == "written_instances")
    values, equations = (v.values if isinstance(v, Several) else (v,) for _, v in said.places)
    return [(str(a.first), b.label) for a, b in zip(values, equations, strict=True)
            if isinstance(a, Run) and isinstance(b, Ref)]


@pytest.mark.parametrize("name", ["everything", "lstm", "models/lag_two", "models/two_starts"])
def test_names_and_numbers_are_paired(name: str) -> None:
    d = derived(name, 3)
    by_label = {line.label: line for line in d.lines}
    found = pairs(d)
    assert found
    assert all(fits(member, by_label[label].left.args[0]) for member, label in found)
    if len(found) > 1:
        turned = zip([m for m, _ in found], reversed([label for _, label in found]), strict=True)
        assert not all(fits(member, by_label[label].left.args[0]) for member, label in turned)


def fits(member: str, general: At) -> bool:
    return member == str(general) if not general.time.terms else member.partition("[")[0] == general.family.name


@pytest.mark.parametrize("name", ["everything", "lstm", "gru", "elman", "models/packed_lstm"])
def test_letters_of_the_list_of_derivatives_are_free(name: str) -> None:
    d = derived(name, None, 2)
    own = {q.name for q in d.of_kind("letter", "forward_letter", "randomised")}
    own |= {str(v.name) for v in (*d.model.parameters, *d.model.families.values(), *d.model.static)}
    own |= {split(n).base for n in own}
    z, y = letters(d, *ARGUMENT).name, letters(d, *VALUE).name
    assert z != y
    assert not {z, y} & own
    if name == "everything":
        assert "r" in {q.name for q in d.of_kind("letter")}, "the letter that would clash"
        assert letters(d, "r", "xi", "rho").name == "rho"


def test_the_probability_has_a_name_of_its_own() -> None:
    source = EVERYTHING
    for letter in "pqr":
        source = source.replace("[constants]", f'{letter}_h = "h, h"\n[constants]')
    made = " ".join(render(derive(loads(source.replace('q = ""', 'n = ""').replace('"q, h"', '"n, h"').replace(
        '= "q"', '= "n"')), truncate=2), "text").split())
    assert "with probability 1 − π, and otherwise the factor (1/π), with probability π." in made
    assert "with probability p" in text("linear", None, 2)


SAID = {
    "linear": ["forward accumulation multiplies by the transposes of the factors that the backward sum, equation (9), "
               "has.", "where it is above one, the powers grow without bound",
               "where it is one, these contributions may persist or grow",
               "This concerns the contributions of distant steps alone"],
    "elman": ["In the product the factors stand in the order of k, the one with the smallest k on the left. A product "
              "without factors is I. Transposed, the product has the transposes of the factors in the reverse order.",
              "what distant steps contribute vanishes; elsewhere it may persist or grow."],
    "gru": ["The factor gets a letter:", "In this letter the recursion is",
            "Each factor holds diag(zₖ): along it the gradient is passed on almost unchanged where "
            "the entries of zₖ are near one.", "come back transposed: Fₜ equals the factor Kₜ of the backward sum, "],
    "lstm": ["Its blocks get letters. Γₜ holds the gradients that the recursion carries. In Kₜ₊₁ stands what comes "
             "from the next step, in rₜ what the losses send.",
             "Nₜ passes that on: it is I plus what step t sends from one block to another. P_c picks the block of "
             "∂L/∂cₜ and P_h picks the block of ∂L/∂hₜ.", "Each factor holds diag(fₖ): along it",
             "by the Jacobian matrices whose transposes stand in the backward sum, equation (27); the blocks "
             "are arranged otherwise"],
    "second-order": ["the blocks are arranged otherwise"],
    "models/attention": ["by the Jacobian matrices whose transposes stand in the backward sum, equation (15). "],
    "models/lag_two": ["stands what comes from the next step"],
    "elman-softmax": ["If 1⊤ yₜ = 1, equation (5) becomes (6) ∂L/∂oₜ = softmax(oₜ) − yₜ"],
    "models/packed_lstm": ["A[h:2h] are the rows h + 1, …, 2 h of A; I[h:2h]⊤ z puts z into these rows of a column of "
                           "zeros.", "daₜ = ∂⁺aₜ + W⊤[0:h]⊤ dhₜ₋₁"],
    "models/computed_start": ["* ∂L/∂h₀ in equations"],
    "everything": ["* h₋₁, …, h_T in equations", "* c₀, …, c_T in equations", "z₁, …, z_T, h_T and W ",
                   "Before the first step, what is given does not depend on the parameters, and what is computed "
                   "changes with the parameters that it is computed from:"],
}
UNSAID = {
    "linear": ["In the product the factors", "passed on almost unchanged", "picks the block", "gets a letter"],
    "elman": ["passed on almost unchanged"],
    "gru": ["Its blocks get letters", "In these letters"],
    "lstm": ["gets a letter"],
    "models/lag_two": ["passes that on"],
    "elman-softmax": ["WHAT AN ASSUMPTION ADDS"],
    "models/packed_lstm": ["W I[0:h]⊤"],
    "models/computed_start": ["vanish or explode"],
    "everything": ["* c_T for", "h_T, z_T and W", "What is computed before the first step changes"],
}


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, every in SAID.items() for said in every])
def test_the_document_says(name: str, said: str) -> None:
    assert said in text(name)


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, every in UNSAID.items() for said in every])
def test_the_document_does_not_say(name: str, said: str) -> None:
    assert said not in text(name)


def test_a_letter_or_blocks_keep_the_formula_short() -> None:
    assert "A letter keeps the formula short." in text("gru", 3)
    assert "Blocks keep the formula short." in text("lstm", 3)


def test_a_gate_is_a_bare_diagonal() -> None:
    for name, gates in {"lstm": ["diag(f[t])"], "lstm-coupled": ["diag(1 - i[t])"], "gru": ["diag(z[t])"],
                        "elman": [], "linear": [], "stacked": []}.items():
        closed = derived(name).closed
        assert closed is not None
        assert list(map(str, passed_on(closed))) == gates


def test_a_truncation_keeps_parameters_and_data_apart() -> None:
    made = text("everything", None, 2)
    parameters = made.index("the gradient of each parameter is")
    data = made.index("The gradients of the static data split")
    d = derived("everything", None, 2)
    lines = {line.name: f"({line.label})" for line in d.of_kind("truncated") if line.name}
    assert parameters < made.index(f"{lines['D']} ∂L/∂D") < data < made.index(f"{lines['s']} ∂L/∂s =", data)
    inside = next(s for s in re.split(r"(?<=:) ", made) if "both parts stand within one sum" in s)
    assert lines["D"] in inside
    assert lines["W"] not in inside
    assert "the inner sum that ends at t + 1 is kept, the one that begins at t + 2 is left out" in made
    assert "both parts stand within one sum" not in text("linear", None, 2)


def test_runs_that_meet_are_one() -> None:
    h = derived("linear").model.families["h"]

    def run(first: Index, last: Index) -> Run:
        return Run(At(h, first), At(h, last))

    one, end = Index(1), index(T)
    assert _joined([run(end, end), run(one, end - 1)]) == [run(one, end)]
    assert _joined([run(one, one), run(Index(0), end - 1), run(one, end)]) == [run(Index(0), end)]
    assert _joined([run(Index(0), Index(0)), run(end, end)]) == [run(Index(0), Index(0)), run(end, end)]
    assert _joined([run(Index(0), Index(0)), run(Index(2), end)]) != [run(Index(0), end)]


def test_the_unrolled_graph_lists_each_value_once() -> None:
    d = derived("everything", 2)
    made = next(p for p in render(d, "text").split("  * ") if p.startswith("L from m₁, m₂"))
    read = " ".join(made.split("\n\n")[0].split()).removeprefix("L from ").replace(" and ", ", ").split(", ")
    assert len(read) == len(set(read))
    assert read[-1] == "W"


def test_the_article_about_everything_stays_on_the_page(tmp_path: Path) -> None:
    found = shutil.which("pdflatex")
    if found is None:
        pytest.skip("pdflatex is not installed")
    for steps, uses in ((3, None), (None, 2)):
        (tmp_path / "document.tex").write_text(render(derived("everything", steps, uses), "latex"), encoding="utf-8")
        command = [found, "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
        log = (tmp_path / "document.log").read_text(encoding="latin-1")
        assert [w for w in re.findall(r"Overfull \\hbox \((\d+\.\d+)pt", log) if float(w) > 10] == []


def test_every_sign_of_a_wrapped_sum_is_printed() -> None:
    flipped = EVERYTHING.replace("- abs(S @ s)", "+ abs(S @ s)")
    assert flipped != EVERYTHING
    other = derive(loads(flipped), truncate=2)
    made = " ".join(render(other, "text").split())
    assert "(−Σ_{i=t+2}^{T} diag(sign(S s))" in text("everything", None, 2)
    assert "(−Σ_{i=t+2}^{T} diag(sign(S s))" not in made
    assert "Σ_{t=1}^{T} Σ_{i=t+2}^{T} diag(sign(S s))" in made
