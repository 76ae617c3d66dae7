"""The outline and the words: all equations are shown, all tables are total, sentences say what the record says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

from symbptt.bptt.rules import RULES
from symbptt.derivation import Derivation
from symbptt.derive import derive
from symbptt.model.read import load
from symbptt.proof.axioms import AXIOMS
from symbptt.proof.kernel import INFERENCE
from symbptt.proof.narrative import HYPOTHESIS
from symbptt.render import outline as parts
from symbptt.render.document import PLACED, VALUES, Writer, outline
from symbptt.render.outline import Display, Listing, Paragraph, Sentence, Several
from symbptt.render.targets import TEXT, render
from symbptt.render.words import ENGLISH, LANGUAGES

DATA = Path(__file__).parent.parent / "data"
MODELS = ["linear", *sorted(str(p.relative_to(DATA)) for p in DATA.glob("*/*.toml"))]
STRUCTURAL = {"reflexivity", "symmetry", "transitivity", "congruence", "instance", "entailment", "cases", "assumption",
              "definition", "axiom"}
"""Rules that a chain of equations does not show: they say how its links hang together."""


@cache
def derived(name: str, steps: int | None = 3) -> Derivation:
    return derive(load(name if name == "linear" else str(DATA / name)), steps)


@cache
def text(name: str, steps: int | None = 3) -> str:
    return " ".join(render(derived(name, steps), "text").split())


def displays(d: Derivation) -> list[Display]:
    return [item for section in outline(d) for item in section.items if isinstance(item, Display)]


@pytest.mark.parametrize("steps", [None, 1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_every_equation_is_shown_once_under_its_number(name: str, steps: int | None) -> None:
    d = derived(name, steps)
    shown = {item.number: item for item in displays(d) if item.number is not None}
    numbers = [item.number for item in displays(d) if item.number is not None]
    assert sorted(numbers) == [line.number for line in d.lines]
    for line in d.lines:
        item = shown[line.number]
        assert item.left == line.left
        assert tuple(r.right for r in item.relations)[-len(line.forms):] == line.forms


def sentences(d: Derivation) -> Iterator[Sentence]:
    stack: list[object] = [s for section in outline(d) for item in section.items
                           for s in (item.sentences if isinstance(item, Paragraph) else
                                     item.points if isinstance(item, Listing) else ())]
    while stack:
        here = stack.pop()
        if isinstance(here, Sentence):
            yield here
            stack += [v for _, v in here.places]
        elif isinstance(here, Several):
            stack += here.values


def places(template: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(template) if field}


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_sentence_has_words_and_the_words_use_its_places(code: str) -> None:
    words = LANGUAGES[code].sentences
    seen = {s for name in MODELS for steps in (None, 1, 3, 13) if steps != 13 or name == "linear"
            for s in sentences(derived(name, steps))}
    for s in seen:
        for key in {s.key, f"{s.key}_more"} & words.keys():
            assert places(words[key]) <= {name for name, _ in s.places}, key
        assert s.key in words
    said = {s.key for s in seen} | {f"{s.key}_more" for s in seen} | {"source", "reason", "reason_more", "span"}
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
    values = {parts.Formula, parts.Scalar, parts.Space, parts.Run, parts.When, parts.Steps, parts.AtLeast, parts.Ref,
              parts.Span, parts.Verbatim, parts.Phrase, parts.Several, parts.Sentence}
    assert set(VALUES) == values
    assert set(PLACED) == {Paragraph, Display, Listing}


def test_a_language_joins_lists() -> None:
    assert ENGLISH.joined(["a"]) == "a"
    assert ENGLISH.joined(["a", "b"]) == "a and b"
    assert ENGLISH.joined(["a", "b", "c"]) == "a, b and c"


SAID = {
    "linear": [
        "For t = T, L depends on h_T only through o_T.",
        "For 1 ≤ t ≤ T−1, L depends on hₜ through hₜ₊₁ and oₜ. The chain rule, with the differentials of a sum and a "
        "matrix product in equations (1) and (2), gives",
        "L depends on W_qh through o₁, …, o_T.",
        "h₀, …, h_{T−1} for ∂L/∂W_hh, equation (26)",
        "∂L/∂hₜ in equations (6), (7), (8), (24) and (26)",
        "hₜ from W_hx, xₜ, W_hh and hₜ₋₁",
        "[induction hypothesis]",
        "[equation (6)]",
        "the range of the time: 1 ≤ t ≤ T",
        "W_hh ∈ ℝ^(h × h), a parameter",
        "Before the first step h₀ is given as well.",
    ],
    "documents/direct.toml": ["The loss r(hₜ, zₜ) reads hₜ itself", "and directly as equation (4) says",
                              "A derivative with a plus is direct"],
    "documents/late.toml": ["For t = T nothing that L counts is computed from a_T", "L does not depend on a₃",
                            "In these letters the recursion is Γₜ = K Γₜ₊₁ + cₜ"],
    "documents/feedforward.toml": ["nothing recurs and there is nothing to unroll",
                                   "Nothing that L counts is computed from unused",
                                   "Expanded down to the losses, this is"],
    "documents/odd_names.toml": ["λ, a constant scalar",
                                 "For t = T, L depends on k_T only directly, see equation (4)."],
    "models/lag_two.toml": ["(t = T−1 ≥ 1)", "Before the first step h₀ and h₋₁ are given as well."],
}


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, all_said in SAID.items() for said in all_said])
def test_the_document_says(name: str, said: str) -> None:
    assert said in text(name)


def test_many_steps_are_not_written_out() -> None:
    assert "T = 13 is too many steps to write out" in text("linear", 13)
    assert "WRITTEN OUT" not in text("linear", None)


def test_rows_of_a_proof_that_fit_nowhere_hand_on_their_reasons() -> None:
    d = derived("documents/odd_names.toml")
    assert d.induction is not None
    chain = max((item for item in displays(d) if item.relations[0].reasons), key=lambda item: len(item.relations))
    bodies = [row.body for row in Writer(TEXT, ENGLISH).rows(chain)]
    assert all(len(body) <= 100 for body in bodies)
    assert sum("induction hypothesis" in body for body in bodies) == 1
