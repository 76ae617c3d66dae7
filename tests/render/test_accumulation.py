"""The sections on direct and total derivatives and on truncation: what they say, where, and that lies do not pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from sympy import Integer

from symbptt import source_text
from symbptt.derivation import Derivation, Kind
from symbptt.derive import derive
from symbptt.expr.nodes import At, Chain, Matrix, Scale
from symbptt.model.read import load, loads
from symbptt.render.document import outline
from symbptt.render.layout import Layout
from symbptt.render.outline import Formula, Paragraph, Ref, Several
from symbptt.render.structure import Printer
from symbptt.render.targets import documents, render
from symbptt.render.unicode import Unicode

DATA = Path(__file__).parent.parent / "data"
MODELS = ["linear", "elman", "lstm", "jordan", "second-order", "models/computed_start"]
NEW: tuple[Kind, ...] = ("immediate", "tangent", "forward_letter", "forward", "pairing", "truncated", "chunk",
                         "randomised", "randomised_closed", "unbiased")
TITLES = ("accumulation", "truncation")


@cache
def derived(name: str, uses: int | None = 4) -> Derivation:
    return derive(load(str(DATA / f"{name}.toml") if "/" in name else name), truncate=uses)


def sections(d: Derivation, target: str = "text") -> str:
    """The two sections of a document."""
    made = render(d, target)
    start, end = re.search("direct and total", made, re.IGNORECASE), re.search("what is stored", made, re.IGNORECASE)
    assert start is not None
    assert end is not None
    return made[start.start():end.start()]


@cache
def text(name: str, uses: int | None = 4) -> str:
    return " ".join(sections(derived(name, uses)).split())


@pytest.mark.parametrize("name", MODELS)
def test_where_the_sections_stand(name: str) -> None:
    titles = [s.title for s in outline(derived(name))]
    assert titles[-4:] == [*TITLES, "storage", "basis"]
    assert titles.index("gradients") < titles.index("accumulation")
    assert "truncation" not in [s.title for s in outline(derived(name, None))]


def test_nothing_is_said_where_no_parameter_moves_anything() -> None:
    bare = loads(source_text("linear").replace("W_hh @ h[t-1]", "h[t-1]").replace("W_hx @ x", "x").replace(
        "W_qh @ h", "h").replace('x = "d"', 'x = "h"').replace('W_hx = "h, d"', "").replace(
        'W_hh = "h, h"', "").replace('W_qh = "q, h"', ""))
    assert "accumulation" not in [s.title for s in outline(derive(bare))]


def places(value: object) -> Iterator[object]:
    if isinstance(value, Several):
        for inner in value.values:
            yield from places(inner)
    else:
        yield value


@pytest.mark.parametrize("name", MODELS)
def test_the_list_of_theorems_holds_the_new_ones(name: str) -> None:
    d = derived(name)
    basis = next(s for s in outline(d) if s.title == "basis")
    first = basis.items[0]
    assert isinstance(first, Paragraph)
    listed = [v.label for v in places(dict(first.sentences[0].places)["equations"]) if isinstance(v, Ref)]
    proved = [line for line in d.of_kind(*NEW) if line.theorem is not None]
    assert {line.kind for line in proved} == {"forward", "pairing", "truncated", "chunk", "randomised_closed",
                                              "unbiased"}
    assert listed == [line.label for line in d.lines if line.theorem is not None]
    assert f"the assumption μ = 1, for equation ({d.label('unbiased')})" in " ".join(render(d, "text").split())


@pytest.mark.parametrize("name", MODELS)
def test_the_example_holds_fixed_what_its_equation_reads(name: str) -> None:
    d = derived(name)
    said = {s.key: dict(s.places) for section in outline(d) for item in section.items if isinstance(item, Paragraph)
            for s in item.sentences}
    chain = said["where_direct"]["chain"]
    assert isinstance(chain, Formula)
    assert isinstance(chain.expression, Chain)
    variable, parameter = chain.expression.through, chain.expression.of
    line = d.line("model", variable.family.name)
    held = [v.expression for v in places(said["where_direct"]["values"]) if isinstance(v, Formula)]
    assert held
    assert all(isinstance(a, At) and line.forms[0].has(a) and a != variable for a in held)
    assert line.forms[0].has(parameter)


SAID = {
    "linear": [
        "In prod(∂L/∂hₜ, ∂hₜ/∂W_hh), and in every gradient of a parameter in this document, the derivative of hₜ with "
        "respect to W_hh is the direct one: hₜ₋₁ is held fixed.",
        "every path from an early use to a loss would be counted again",
        "along a direction it is a vector. For one parameter alone, set all other directions to zero.",
        "with a plus as in ∂⁺hₜ", "The total change, without a plus as in dhₜ,",
        "(19) ∂⁺hₜ = dW_hx xₜ + dW_hh hₜ₋₁ (1 ≤ t ≤ T)", "(21) dhₜ = ∂⁺hₜ + W_hh dhₜ₋₁ (1 ≤ t ≤ T)", "(23) dh₀ = 0",
        "(24) dhₜ = Σ_{i=1}^{t} W_hh^(t−i) ∂⁺hᵢ (1 ≤ t ≤ T)", "Equation (24) is proved by induction upwards in time",
        "(25) Σ_{t=1}^{T} (∂L/∂oₜ)⊤ doₜ = Σ_{t=1}^{T} ((∂L/∂hₜ)⊤ ∂⁺hₜ + (∂L/∂oₜ)⊤ ∂⁺oₜ)",
        "If dW_hh alone is not zero, the right side is the sum of the products of the entries of ∂L/∂W_hh with "
        "those of dW_hh.",
        "yields ∂L/∂W_hx in equation (12), ∂L/∂W_hh in equation (14) and ∂L/∂W_qh in equation (16).",
        "it keeps the 4 most recent uses of the weights", "go back 4 steps and keeps 5 uses",
        "+ Σ_{i=t+4}^{T} (W_hh⊤)^(i−t) W_qh⊤ ∂L/∂oᵢ (1 ≤ t ≤ T)", "The recursion does not enter ∂L/∂W_qh",
        "a sum that would reach past T stops there", "although the state does not.", "(1 ≤ t ≤ e ≤ T)",
        "(31) Rₜ = ξₜ₊₁ W_hh⊤ Rₜ₊₁ + W_qh⊤ ∂L/∂oₜ", "Let E[ξₜ] = μ be the mean of every factor.",
        "Hence E[Rₜ] = Qₜ, with (32) Qₜ = μ W_hh⊤ Qₜ₊₁ + W_qh⊤ ∂L/∂oₜ", "If μ = 1, that is, E[ξₜ] = 1,",
        "So E[Rₜ] = Qₜ = ∂L/∂hₜ: the randomised gradient is unbiased",
        "A typical choice is ξₜ = 0, which cuts the path, with probability 1 − p, and otherwise the factor (1/p), with "
        "probability p.",
    ],
    "elman": ["(22) ∂⁺hₜ = diag(1 − hₜ∘hₜ) (dW_hx xₜ + dW_hh hₜ₋₁ + db_h)",
              "dhₜ = Σ_{i=1}^{t} (Π_{k=i+1}^{t} W_hh⊤ diag(1 − hₖ∘hₖ))⊤ ∂⁺hᵢ"],
    "lstm": ["the direct change is zero, here ∂⁺cₜ and ∂⁺hₜ.", "The changes that later steps read",
             "In these letters the recursion is Vₜ = Fₜ⊤ Vₜ₋₁ + uₜ", "Vₜ = Σ_{j=1}^{t} (Π_{k=j+1}^{t} Fₖ)⊤ uⱼ",
             "The recursion does not enter ∂L/∂W_p and ∂L/∂b_p, which lose nothing."],
    "jordan": ["∂⁺L/∂oₜ and ∂L/∂oₜ are the same pair for the gradients: the direct one, equation (5), counts the "
               "losses that read oₜ themselves; the total one, equations (6) and (7), counts also what happens later."],
    "second-order": ["hₜ₋₁ and hₜ₋₂ are held fixed.", "Vₜ = [dhₜ; dhₜ₋₁]",
                     "In these letters the recursion is Vₜ = F⊤ Vₜ₋₁ + uₜ"],
    "models/computed_start": ["and with them the static data, change along directions",
                              "What is computed before the first step changes with the parameters that it is computed "
                              "from: (32) dh₀ = diag(1 − h₀∘h₀) (dW₀ s + W₀ ds + db₀)",
                              "and what comes of the change before the first step:",
                              "A change before the first step counts as a direct one.",
                              "what they contribute to ∂L/∂W₀, ∂L/∂b₀ and ∂L/∂s is not cut."],
    "documents/unreached": ["Where no parameter reaches a variable, even the total change is zero, here dzₜ.",
                            "dhₜ = ∂⁺hₜ + W dhₜ₋₁"],
    "models/regularised": ["The regularisers ‖W_hh‖² and ‖b_h‖² read parameters themselves.",
                           "The part of the regularisers ‖W_hh‖² and ‖b_h‖² is kept in full."],
}


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, all_said in SAID.items() for said in all_said])
def test_the_sections_say(name: str, said: str) -> None:
    assert said in text(name)


LIES = {
    "the total change in place of the direct one": ("linear", "∂⁺hₜ = dW_hx xₜ + dW_hh hₜ₋₁",
                                                    "dhₜ = dW_hx xₜ + dW_hh hₜ₋₁"),
    "a transpose too many": ("linear", "dhₜ = ∂⁺hₜ + W_hh dhₜ₋₁", "dhₜ = ∂⁺hₜ + W_hh⊤ dhₜ₋₁"),
    "the direct change twice": ("linear", "∂⁺hₜ + W_hh dhₜ₋₁", "∂⁺hₜ + W_hh ∂⁺hₜ₋₁"),
    "the sum starts later": ("linear", "Σ_{i=1}^{t} W_hh^(t−i)", "Σ_{i=2}^{t} W_hh^(t−i)"),
    "the wrong exponent": ("linear", "W_hh^(t−i) ∂⁺hᵢ", "W_hh^(i−t) ∂⁺hᵢ"),
    "total times total": ("linear", "(∂L/∂hₜ)⊤ ∂⁺hₜ", "(∂L/∂hₜ)⊤ dhₜ"),
    "total on the side of the losses": ("jordan", "(∂⁺L/∂oₜ)⊤ doₜ", "(∂L/∂oₜ)⊤ doₜ"),
    "one use too many": ("linear", "Σ_{i=t}^{t+3}", "Σ_{i=t}^{t+4}"),
    "the remainder starts too late": ("linear", "Σ_{i=t+4}^{T}", "Σ_{i=t+5}^{T}"),
    "a chunk that begins at its end": ("linear", "Σ_{i=e+1}^{T}", "Σ_{i=e}^{T}"),
    "a factor of this step": ("linear", "ξₜ₊₁ W_hh⊤ Rₜ₊₁", "ξₜ W_hh⊤ Rₜ₊₁"),
    "the start is forgotten": ("models/computed_start", "+ (∂L/∂h₀)⊤ dh₀", "− (∂L/∂h₀)⊤ dh₀"),
}


@pytest.mark.parametrize("lie", LIES)
def test_planted_lies_do_not_stand_there(lie: str) -> None:
    name, true, false = LIES[lie]
    assert true in text(name)
    assert false not in text(name)


@pytest.mark.parametrize("uses", [1, 2, 5])
def test_the_window_is_counted_in_uses(uses: int) -> None:
    made = text("linear", uses)
    assert f"Σ_{{i=t}}^{{t+{uses - 1}}}" in made if uses > 1 else "Σ_{i=t}^{t} " in made
    assert f"keeps {uses + 1} uses, because the copy of the weights {uses} step" in made
    assert ("the most recent use of the weights, and no earlier one." in made) == (uses == 1)


@pytest.mark.parametrize("kind", NEW)
def test_a_flipped_sign_in_a_line_is_printed(kind: str) -> None:
    d = derived("second-order")

    def flipped(forms: tuple[Matrix, ...]) -> tuple[Matrix, ...]:
        return (*forms[:-1], Scale(Integer(-1), forms[-1]))

    for line in (q for q in d.lines if q.kind == kind and q.kind != "randomised"):
        lie = replace(d, lines=tuple(replace(q, forms=flipped(q.forms)) if q == line else q for q in d.lines))
        for target in documents():
            assert sections(lie, target) != sections(d, target)


def test_every_sign_of_the_model_counts_in_the_sections() -> None:
    plain = source_text("linear")
    changed = [plain.replace("+ W_hh", "- W_hh"), plain.replace('"W_hx', '"-W_hx'), plain.replace('"W_qh', '"-W_qh')]
    assert len({plain, *changed}) == 4
    for target in documents():
        assert len({sections(derive(loads(source), truncate=4), target) for source in (plain, *changed)}) == 4


@pytest.mark.parametrize("width", [70, 85])
@pytest.mark.parametrize("name", MODELS)
def test_sums_of_sums_break_where_they_should(name: str, width: int) -> None:
    printer = Printer(Unicode())
    layout = Layout(printer, printer)
    lines = [line for q in derived(name).of_kind("truncated", "chunk") for line in layout.lines(q.forms[-1], width)]
    assert any(line.startswith("·") for line in lines) or name in ("linear", "second-order")
    assert max(map(len, lines)) <= width


BOOKS = {
    "elman": [r"\partial^{+} \boldsymbol{h}_t", r"\mathrm{d} \boldsymbol{h}_{t-1}", r"\mathbb{E}[\xi_t] = \mu",
              r"\xi_{t+1} \boldsymbol{W}_{hh}^\top",
              r"\left(\frac{\partial L}{\partial \boldsymbol{o}_t}\right)^\top \, \mathrm{d} \boldsymbol{o}_t",
              r"1 \le t \le e \le T"],
}


@pytest.mark.parametrize("name", BOOKS)
@pytest.mark.parametrize("target", ["latex", "markdown"])
def test_the_formulas_read_as_in_the_books(name: str, target: str) -> None:
    for formula in BOOKS[name]:
        assert formula in sections(derived(name), target), formula
    assert r"\mathbb{E}[\xi_t] = 1" in sections(derived(name), target)
    assert r"\mathbb{E}[\mu] = \xi_t" not in sections(derived(name), target)
