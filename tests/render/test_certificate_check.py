"""A certificate that came from elsewhere: what it states must be, word by word, what symbptt writes."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import symbptt
from symbptt.cli import main
from symbptt.proof import checker
from symbptt.proof.evaluation import Astray
from symbptt.proof.guard import guard
from symbptt.proof.vernacular import NotAllowed, allow
from symbptt.render import certificate_check
from symbptt.render.certificate_check import word_by_word

ARGUMENT = "(W_hx *m x t + W_hh *m h t.-1 + b_h)"
KINK = f"{ARGUMENT} row column != 0"
IN_OTHER_WORDS = {
    "a gradient times a number": ("Definition dL_db_q : 'cV[R]_n_q := ", "Definition dL_db_q : 'cV[R]_n_q := 1 *: "),
    "a premise that says nothing": (KINK, f"((1 - relu 3%:R * 3%:R^-1) *: {ARGUMENT}) row column != 0"),
    "a premise with a zero in it": (KINK, f"(0 + {ARGUMENT}) row column != 0"),
}
"""Texts that agree with the model wherever they are tried, or that say the same."""


@pytest.fixture(scope="module", name="own")
def _own() -> str:
    return symbptt.derive("irnn").certificate()


@pytest.fixture(name="believed")
def _believed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A checker that accepts everything, so that what is refused is refused by the comparison."""
    asked: list[str] = []

    def check(text: str) -> checker.Verdict:
        asked.append(text)
        return checker.Verdict(True, "", version="a checker that believes")

    monkeypatch.setattr(certificate_check, "check", check)
    return asked


def told(text: str, folder: Path, model: str = "irnn") -> tuple[int, str]:
    path = folder / "cell.v"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["certificate", str(path), "--model", model])
    return result.exit_code, result.output


@pytest.mark.parametrize("what", IN_OTHER_WORDS)
def test_other_words_are_refused(what: str, own: str, believed: list[str], tmp_path: Path) -> None:
    old, new = IN_OTHER_WORDS[what]
    text = own.replace(old, new)
    assert text != own
    guard(symbptt.load("irnn"), text)
    code, said = told(text, tmp_path)
    assert (code, believed) == (1, [])
    line = own[:own.index(old)].count("\n") + 1
    assert f"the statement is not that of irnn: line {line} is not what symbptt writes: " in said
    assert "; it writes: " in said


def test_proofs_comments_and_questions_may_be_others(own: str, believed: list[str], tmp_path: Path) -> None:
    other = "(* in other words *)\nby move=> one; move: one => t1; apply: etrans"
    text = own.replace("by move=> t1; apply: etrans", other)
    text += "\nPrint Assumptions gradient.\n"
    assert text.count("move: one") == 1
    code, said = told(text, tmp_path)
    assert (code, believed) == (0, [text]), said
    assert "compared with the model irnn" in said


def test_more_and_less_is_refused(own: str) -> None:
    end = own.rindex("Theorem gradient")
    shorter = own[:end] + own[own.index("End Real"):]
    assert own.count("End Real") == 1
    with pytest.raises(Astray, match="is not what symbptt writes: End Real; it writes: Theorem gradient"):
        word_by_word(shorter, own)
    last = "\nSection More.\nEnd More.\n"
    with pytest.raises(Astray, match="the certificate that symbptt writes ends here: Section More"):
        word_by_word(own + last, own)
    with pytest.raises(Astray, match="ends where the certificate that symbptt writes goes on: Section More"):
        word_by_word(own, own + last)


def test_a_model_that_certificates_do_not_state(own: str, tmp_path: Path) -> None:
    code, said = told(own, tmp_path, "mask-none")
    assert code == 2, said


HIDDEN = {
    "by a quotation": ("by []", "exact lp:(* ).\nQed.\nTheorem other : True.\nProof.\nexact lp:{{{ *)", "has no lp"),
    "by another plugin's": ("by []", "exact foo:{{ (* }} *)", "no quotations"),
    "behind a full stop before a comment": ("by []", "by [].(* *) Axiom no : False", "a full stop before a comment"),
    "in a name with a blank": ("h_back1", "h_back1\N{NO-BREAK SPACE}", "U+00A0"),
    "behind a character for a line": ("by []", "by [].\x0bAxiom no : False", "U+000B"),
}
"""What Coq would read otherwise than symbptt: as a comment, as a name, as the end of a sentence."""


@pytest.mark.parametrize("what", HIDDEN)
def test_coq_reads_no_text_that_we_read_otherwise(what: str) -> None:
    old, new, why = HIDDEN[what]
    text = "Lemma h_back1 : True.\nProof.\nby [].\nQed.\n"
    allow(text)
    with pytest.raises(NotAllowed, match=re.escape(why)):
        allow(text.replace(old, new))


def test_coq_is_given_the_sentences_that_were_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without comments, and each on its line, so that a complaint names the line of the file."""
    text = "(* one\n   comment *) Theorem a :\n  True. Proof.\n\nexact (* two *) I. Qed.\n"
    given: list[str] = []
    monkeypatch.setattr(checker, "library", lambda: tmp_path)
    monkeypatch.setattr(checker, "version", lambda: "none")
    monkeypatch.setattr(checker, "_assumptions", lambda _folder, _compiled, told, *_: given.append(told) or "enough")
    assert checker.check(text).reason == "enough"
    assert given == ["\nTheorem a : True.\nProof.\n\nexact I. Qed.\n"]
