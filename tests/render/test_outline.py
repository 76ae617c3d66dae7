"""The outline and the words: all equations are shown, all tables are total, sentences say what the record says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import symbptt
from symbptt import source_text
from symbptt.bptt.rules import RULES
from symbptt.derivation import Derivation, instance_of
from symbptt.derive import derive
from symbptt.expr.nodes import At
from symbptt.gradients import word_count
from symbptt.model.read import load, loads
from symbptt.proof.axioms import AXIOMS
from symbptt.proof.kernel import INFERENCE
from symbptt.proof.narrative import HYPOTHESIS
from symbptt.render import outline as parts
from symbptt.render.accepted import Accepted
from symbptt.render.document import PLACED, VALUES, Writer, opening, outline
from symbptt.render.outline import Code, Display, Listing, Paragraph, Sentence, Several
from symbptt.render.targets import TEXT, render
from symbptt.render.words import ENGLISH, LANGUAGES
from tests.render.test_accepted import supposed

DATA = Path(__file__).parent.parent / "data"
LIBRARY = Path(symbptt.__file__).parent / "model" / "library"
MODELS = [*sorted(p.stem for p in LIBRARY.glob("*.toml")),
          *sorted(str(p.relative_to(DATA)) for p in DATA.glob("[md]*/*.toml"))]
TRUNCATED = ["linear", "elman", "lstm", "jordan", "second-order", "models/computed_start.toml",
             "models/regularised.toml", "models/masked_weight.toml", "models/static_context.toml"]
MIXED = source_text("lstm") + '[static]\ns = "h"\n[initial]\nh_0 = "tanh(s)"\n'
"""A cell of which one start is given and one computed."""
BETWEEN = source_text("linear").replace("W_hh @ h[t-1]", "(W_hh * (W_hh @ (W_hh * W_hh))) @ h[t-1]")
"""A matrix product between elementwise ones, of which no theorem of directions is found."""
USES = (4, 1)
STRUCTURAL = {"reflexivity", "symmetry", "transitivity", "congruence", "instance", "entailment", "cases", "assumption",
              "definition", "axiom"}
"""Rules that a chain of equations does not show: they say how its links hang together."""


HEAVY = {"gru-reset-after", "lstm-coupled", "lstm-peephole", "models/five_states.toml", "models/layer_feedback.toml",
         "models/packed_lstm.toml", "models/scalar_added.toml", "models/sign_changed.toml"}
"""Models with long documents, which are read in slow tests."""
FEW = ["linear", "lstm", "documents/late.toml", "models/lag_two.toml", "models/last_and_mean.toml",
       "models/same_time_states.toml", "models/computed_start.toml", "documents/direct.toml"]
"""Models that are quickly tested for other numbers of steps too; all others are so in slow tests."""
OFTEN = [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in MODELS if name not in FEW)]


@cache
def derived(name: str, steps: int | None = 3, uses: int | None = None) -> Derivation:
    return derive(load(name if "/" not in name else str(DATA / name)), steps, truncate=uses)


@cache
def text(name: str, steps: int | None = 3) -> str:
    return " ".join(render(derived(name, steps), "text").split())


def displays(d: Derivation) -> list[Display]:
    return [item for section in outline(d) for item in section.items if isinstance(item, Display)]


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY or (
    k % 2 and "/" in name) else name for k, name in enumerate(MODELS)])
def test_every_equation_is_shown_once_under_its_number(name: str) -> None:
    shown_once(derived(name))


@pytest.mark.parametrize("steps", [None, 1])
@pytest.mark.parametrize("name", OFTEN)
def test_for_other_numbers_of_steps_too(name: str, steps: int | None) -> None:
    shown_once(derived(name, steps))


@pytest.mark.parametrize("uses", USES)
@pytest.mark.parametrize("name", TRUNCATED)
def test_with_a_truncation_too(name: str, uses: int) -> None:
    shown_once(derived(name, None, uses))


def test_an_equation_that_is_not_shown_is_missed() -> None:
    d = derived("linear", None, 4)
    kinds = {line.kind for line in d.lines}
    assert kinds >= {"immediate", "tangent", "forward", "pairing", "truncated", "chunk", "randomised", "unbiased"}
    for line in d.lines[-15:]:
        again = replace(d, lines=(*d.lines, replace(line, number=len(d.lines) + 1, kind="count")))
        with pytest.raises(AssertionError):
            shown_once(again)


def shown_once(d: Derivation) -> None:
    shown = {item.label: item for item in displays(d) if item.label is not None}
    labels = [item.label for item in displays(d) if item.label is not None]
    assert labels == [line.label for line in d.lines]
    for line in d.lines:
        item = shown[line.label]
        assert item.left == (line.left.args[0] if line.kind == "bound" else line.left)
        assert {r.at_most for r in item.relations} == {line.kind == "bound"}
        assert tuple(r.right for r in item.relations)[-len(line.forms):] == line.forms


def sentences(d: Derivation, accepted: Accepted | None = None) -> Iterator[Sentence]:
    stack: list[object] = [opening(d), *(s for section in outline(d, accepted) for item in section.items
                           for s in (item.sentences if isinstance(item, Paragraph) else
                                     item.points if isinstance(item, Listing) else ()))]
    while stack:
        here = stack.pop()
        if isinstance(here, Sentence):
            yield here
            stack += [v for _, v in here.places]
        elif isinstance(here, Several):
            stack += here.values


def places(template: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(template) if field}


@pytest.mark.parametrize("names", [[name for name in MODELS if name not in HEAVY],
                                   pytest.param(MODELS, marks=pytest.mark.slow)], ids=["most", "all"])
@pytest.mark.parametrize("code", LANGUAGES)
def test_every_sentence_has_words_and_the_words_use_its_places(code: str, names: list[str]) -> None:
    words = LANGUAGES[code].sentences
    records = [*(derived(name) for name in names), *(derived(name, steps) for name in FEW for steps in (None, 1)),
               derived("linear", 13), derive(loads(MIXED)), derive(loads(BETWEEN)),
               *(derived(name, None, uses) for name in TRUNCATED for uses in USES)]
    seen = {s for d in records for s in sentences(d)} | {
        s for count in (1, None) for s in sentences(derived("linear"), supposed("linear", count))}
    for s in seen:
        for key in {s.key, f"{s.key}_more"} & words.keys():
            assert places(words[key]) <= {name for name, _ in s.places}, key
        assert s.key in words
    said = {s.key for s in seen} | {f"{s.key}_more" for s in seen} | {
        "source", "title", "heading", "power_of_ten", "reason", "reason_more", "span", "more_lines"}
    assert words.keys() - said <= {"computed_alone"}, "words that nothing says"


@pytest.mark.parametrize("code", LANGUAGES)
def test_languages_are_total(code: str) -> None:
    language = LANGUAGES[code]
    assert language.sentences.keys() == ENGLISH.sentences.keys()
    assert language.titles.keys() == ENGLISH.titles.keys()
    assert {table: words.keys() for table, words in language.phrases.items()} == {
        table: words.keys() for table, words in ENGLISH.phrases.items()}
    assert language.phrases["rules"].keys() == {rule.name for rule in RULES.values()} | {"direct derivative"}
    steps = (INFERENCE.keys() - STRUCTURAL - {"induction_down", "induction_up"}) | AXIOMS.keys()
    assert language.phrases["laws"].keys() >= steps
    assert language.phrases["reasons"].keys() >= steps | {HYPOTHESIS}
    for words in (language.sentences, language.titles, *language.phrases.values()):
        for sentence in words.values():
            assert not set(re.sub(r"\{[a-z]+\}", "", sentence)) & set("\\$%&#_^~<>{}*`|"), sentence


def test_every_kind_of_value_and_item_has_a_row() -> None:
    values = {parts.Formula, parts.Equal, parts.Expected, parts.Scalar, parts.Space, parts.Run, parts.When,
              parts.Before, parts.Steps, parts.AtLeast, parts.Ref, parts.Span, parts.Heading, parts.Dots, parts.Count,
              parts.Verbatim, parts.Phrase, parts.Several, parts.Sentence}
    assert set(VALUES) == values
    assert set(PLACED) == {Paragraph, Display, Listing, Code}


def test_a_language_joins_lists() -> None:
    assert ENGLISH.joined(["a"]) == "a"
    assert ENGLISH.joined(["a", "b"]) == "a and b"
    assert ENGLISH.joined(["a", "b", "c"]) == "a, b and c"


SAID = {
    "linear": [
        "At the last step, L depends on h_T only through o_T. The chain rule, with the differential of a matrix "
        "product in equation (2), gives",
        "Before the last step, L depends on hₜ through hₜ₊₁ and oₜ. The chain rule, with the differentials of a sum "
        "and a matrix product in equations (1) and (2), gives",
        "L depends on xₜ only through hₜ. The chain rule on equation (1) gives",
        "BACK-PROPAGATION THROUGH TIME: LINEAR RECURRENT NETWORK WITHOUT BIASES",
        "it solves their recursion for every number of steps in “The closed form”, and proves the solution in “Proof "
        "by induction”.",
        "d, a size (input)",
        "the recursions of equations (4), (6), (7) and (8)",
        "are theorems", "(T2), (T4) and (T6)",
        "L depends on W_qh through o₁, …, o_T.",
        "need them: * h₀, …, h_T in equations (14) and (16) * o₁, …, o_T in equation (4)",
        "∂L/∂hₜ in equations (6), (7), (8), (12) and (14)",
        "hₜ from W_hx, xₜ, W_hh and hₜ₋₁",
        "[induction hypothesis]",
        "[equation (6)]",
        "the range of the time: 1 ≤ t ≤ T",
        "W_hh ∈ ℝ^(h × h), a parameter",
        "Before the first step h₀ is given as well.",
    ],
    "documents/direct.toml": ["The loss r(hₜ, zₜ) reads hₜ itself", "and directly as equation (4) says",
                              "A derivative with a plus is direct"],
    "documents/late.toml": ["At the last step, L does not depend on a_T, so its gradient vanishes",
                            "L does not depend on a₃ and x₃: the gradient there is zero",
                            "For t < T−1, L depends on aₜ",
                            "In these letters the recursion is Γₜ = K Γₜ₊₁ + cₜ"],
    "models/last_loss.toml": ["Before the last step, L depends on hₜ only through hₜ₊₁.",
                              "(1 ≤ t ≤ T−1) What oₜ contributes is zero here, as equation (5) says. L depends on",
                              "∂L/∂oₜ hₜ⊤ What oₜ contributes is zero for 1 ≤ t ≤ T−1, as equation (5) says."],
    "models/nested.toml": ["γ, a constant scalar other than zero"],
    "documents/feedforward.toml": ["nothing recurs and there is nothing to unroll",
                                   "Nothing that L counts is computed from unused",
                                   "Expanded down to the losses, this is"],
    "documents/odd_names.toml": ["λ, a constant scalar",
                                 "At the last step, L depends on k_T only directly, see equation (4)."],
    "elman": ["tanh(z) has the derivative 1 − r∘r, written in the value r = tanh(z)",
              "∂L/∂hₜ = prod(∂L/∂hₜ₊₁, ∂hₜ₊₁/∂hₜ) + prod(∂L/∂oₜ, ∂oₜ/∂hₜ) "
              "= W_hh⊤ diag(1 − hₜ₊₁∘hₜ₊₁) ∂L/∂hₜ₊₁ + W_qh⊤ ∂L/∂oₜ (1 ≤ t ≤ T−1)",
              "∂L/∂hₜ = Σ_{i=t}^{T} (Π_{k=t+1}^{i} W_hh⊤ diag(1 − hₖ∘hₖ)) W_qh⊤ ∂L/∂oᵢ (1 ≤ t ≤ T)",
              "has a factor W_hh⊤ diag(1 − hₖ∘hₖ) for each step after step t",
              "the derivatives of tanh(z), as “The model” lists them"],
    "elman-softmax": ["CE(oₜ, yₜ) = −yₜ⊤ log softmax(oₜ)", "It is assumed that 1⊤ yₜ = 1",
                      "L depends on oₜ only through CE(oₜ, yₜ). The chain rule, with the differentials of a loss, a "
                      "scalar multiple, a matrix product and a function in equation (3), gives",
                      "∂L/∂oₜ = ∂CE(oₜ, yₜ)/∂oₜ = −(I − softmax(oₜ) 1⊤) yₜ = softmax(oₜ) 1⊤ yₜ − yₜ",
                      "∂L/∂oₜ = softmax(oₜ) − yₜ",
                      "If 1⊤ yₜ = 1, equation (5) becomes",
                      "the assumption 1⊤ yₜ = 1, for equation (6)"],
    "lstm": ["cₜ = fₜ∘cₜ₋₁ + iₜ∘gₜ", "Kₜ = [diag(fₜ), 0; Kₜ[2,1], Kₜ[2,2]]",
             "∂L/∂oₜ = prod(∂L/∂hₜ, ∂hₜ/∂oₜ) = diag(tanh(cₜ)) ∂L/∂hₜ"],
    "gru": ["hₜ = zₜ∘hₜ₋₁ + (1 − zₜ)∘nₜ"],
    "irnn": ["ReLU(z) has the derivative 1[r > 0], written in the value r = ReLU(z); at z = 0, where there is none, 0 "
             "stands for it", "1[z > 0] has a one where an entry of z is positive, and zeros elsewhere."],
    "models/packed_lstm.toml": ["SE(hₜ, yₜ) = (1/2) (hₜ − yₜ)⊤ (hₜ − yₜ)", "aₜ = W [hₜ₋₁; xₜ] + b",
                                "A[h:2h] are the rows h + 1, …, 2 h of A; I[h:2h]⊤ z puts z into these rows of "
                                "a column of zeros."],
    "models/regularised.toml": ["The regularisers ‖W_hh‖² and ‖b_h‖² belong to no step: they count once.",
                                "L depends on W_hh through h₁, …, h_T and ‖W_hh‖². The chain rule, with the",
                                "+ (λ/2) ∂‖W_hh‖²/∂W_hh"],
    "models/computed_start.toml": ["Before the first step it computes once (3) h₀ = tanh(W₀ s + b₀)",
                                   "Given too is s, which does not change with time.",
                                   "Before the first step: * h₀ from W₀, s and b₀",
                                   "L depends on W₀ through h₀. The chain rule on equation (3) gives",
                                   "THE GRADIENTS OF THE STATIC DATA",
                                   "For the static data, equation (24), which is derived below, becomes"],
    "models/masked_mean.toml": ["The number of the steps that a mask keeps is (3) M = Σ_{t=1}^{T} mₜ",
                                "counts at the steps where the mask mₜ is one", "mₜ ∈ ℝ, a mask"],
    "models/last_and_mean.toml": ["The loss SE(h_T, u_T) counts at the last step alone.",
                                  "the recursion of equations (8) and (9) in the form that holds at every step: "
                                  "gradients beyond the last one are zero, and so is, before the last one, what a loss",
                                  "At the last step, the loss SE(h_T, u_T) reads h_T itself.",
                                  "Before the last step, no loss reads hₜ itself: (6) ∂⁺L/∂hₜ = 0"],
    "models/lag_two.toml": ["(t = T−1 ≥ 1)", "Before the first step h₀ and h₋₁ are given as well."],
}


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, all_said in SAID.items() for said in all_said])
def test_the_document_says(name: str, said: str) -> None:
    assert said in text(name)


def test_many_steps_are_not_written_out() -> None:
    assert "T = 13 is too many steps to write out" in text("linear", 13)
    assert "WRITTEN OUT" not in text("linear", 13)
    assert "WRITTEN OUT" not in text("linear", None)
    step_by_step = next(s for s in outline(derived("linear", 13)) if s.title == "derivation")
    assert step_by_step.items[-1] == parts.Paragraph((
        parts.say("written_none", steps=parts.Steps(13)),
        parts.say("written_proved", command=parts.Verbatim("symbptt prove linear --T 13"))))


@pytest.mark.parametrize("name", OFTEN)
def test_labels_do_not_depend_on_the_number_of_steps(name: str) -> None:
    def general(steps: int | None) -> list[tuple[str, object]]:
        return [(line.label, line.left) for line in derived(name, steps).lines if line.kind != "written"]

    assert [label for label, _ in general(None)] == [str(k + 1) for k in range(len(general(None)))]
    assert general(1) == general(3) == general(None)
    written = derived(name, 3).of_kind("written")
    assert [line.label for line in written] == [f"T{k + 1}" for k in range(len(written))]


@pytest.mark.parametrize("name", OFTEN)
@pytest.mark.parametrize("steps", [1, 3])
def test_the_written_out_case_repeats_no_general_equation(name: str, steps: int) -> None:
    d = derived(name, steps)
    written = {line.left: line for line in d.of_kind("written")}
    names = [line.name for line in written.values() if line.name and not isinstance(line.left.args[0], At)]
    assert names == [p.name for p in (*d.model.parameters, *d.model.static) if p.name in names]
    for left, step in d.unrolled.items():
        received = isinstance(step.target, At) and (
            step.target.time.const < 1 or step.target.family.name not in d.model.defined)
        assert (left in written) == (not received or instance_of(d.lines, step, steps) is None)


def test_a_line_that_differs_for_few_steps_is_kept() -> None:
    kept = [line for line in derived("models/lag_two.toml", 1).of_kind("written") if line.left.args[0] in
            derived("models/lag_two.toml", 1).model.initial]
    assert [str(line.left.args[0]) for line in kept] == ["h[0]"]
    assert "With so few steps the gradients of these values are shorter" in text("models/lag_two.toml", 1)
    assert "The gradients with respect to h₋₁ and x₁ are those of" in text("models/lag_two.toml", 1)
    assert "The gradients with respect to h₀, h₋₁ and x₁, x₂, x₃ are those of" in text("models/lag_two.toml", 3)


def test_sums_of_parameters_refer_forward() -> None:
    assert "the sums of equations (12), (14) and (16), which are derived below, are" in text("linear")
    assert "equation (9) below defines K" in text("models/constants.toml")


@pytest.mark.parametrize(("name", "said"), [
    ("linear", ["The exponent i − t in equation (9) grows",
                "Where the spectral radius of W_hh⊤ is below one, its powers shrink to zero",
                "and through them the gradients ∂L/∂W_hx and ∂L/∂W_hh."]),
    ("models/lag_two.toml", ["Where the spectral radius of K is below one"]),
    ("models/same_time_states.toml", ["Where the spectral radius of N K is below one"]),
    ("models/bilinear.toml", ["has a factor xₖ xₖ⊤ for each step after step t up to the later step i",
                              "and through them the gradient ∂L/∂A."]),
])
def test_the_remark_on_distant_steps(name: str, said: list[str]) -> None:
    for words in said:
        assert words in text(name, None)


def test_no_remark_where_no_power_is_printed() -> None:
    assert "distant steps contribute" not in text("documents/feedforward.toml", None)
    kept = text("linear", None)
    model = loads(source_text("linear").replace("W_hh @ h[t-1]", "h[t-1]").replace('W_hh = "h, h"', ""))
    assert "distant steps contribute" in kept
    assert "distant steps contribute" not in render(derive(model), "text")


def test_words_are_counted_where_the_closed_form_has_letters() -> None:
    d = derived("models/same_time_states.toml", 3)
    assert d.word_counts == {"b": word_count(d, "b", 1), "a": word_count(d, "a", 1)} == {"b": 8, "a": 12}
    assert "the number of terms would be 8 in ∂L/∂b₁ and 12 in ∂L/∂a₁" in text("models/same_time_states.toml", 3)
    assert derived("models/same_time_states.toml", None).word_counts == derived("linear", 3).word_counts == {}
    assert "number of terms" not in text("models/same_time_states.toml", None) + text("linear", 3)
    assert Writer(TEXT, ENGLISH).count(10 ** 12 - 1) == "999999999999"
    assert Writer(TEXT, ENGLISH).count(2 * 10 ** 45) == "more than 10^45"
    assert Writer(TEXT, ENGLISH).count(9 * 10 ** 6000) == "more than 10^6000"


def test_derivatives_in_sentences_stand_on_the_line() -> None:
    made = render(derived("linear", None), "latex")
    assert r"both sides of the statement about $\partial L/\partial \boldsymbol{h}_{T+1}$ are zero" in made
    assert r"\label" not in made


def test_rows_of_a_proof_that_fit_nowhere_hand_on_their_reasons() -> None:
    d = derived("documents/odd_names.toml")
    assert d.induction is not None
    chain = max((item for item in displays(d) if item.relations[0].reasons), key=lambda item: len(item.relations))
    bodies = [row.body for row in Writer(TEXT, ENGLISH).rows(chain)]
    assert all(len(body) <= 100 for body in bodies)
    assert sum("induction hypothesis" in body for body in bodies) == 1
