"""The lexer of certificates: what it reads it reads about once, and a quotation is one wherever it begins."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from symbptt.proof.vernacular import QUOTATION, NotAllowed, sentences


class Counted(str):
    """A text that counts the characters which are searched for line breaks."""

    searched = 0

    def count(self, sub: str, start: Any = None, end: Any = None, /) -> int:
        first, last, _ = slice(start, end).indices(len(self))
        self.searched += last - first
        return super().count(sub, start, end)


@pytest.mark.parametrize("text", ["a. " * 500, "a.\n" * 500, "(* a *)\na. " * 500])
def test_lines_are_counted_once(text: str) -> None:
    counted = Counted(text)
    found = list(sentences(counted))
    assert counted.searched <= len(text)
    assert found[-1].line == text.rstrip().count("\n") + 1
    assert len(found) == 500


@pytest.mark.parametrize("text", ["\n\nLemma b : " + "a " * 1000 + ".", " \n" * 1000 + "a."])
def test_a_long_sentence_is_not_read_again_with_each_character(text: str) -> None:
    called: list[str] = []
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, what: called.append(what.__name__) if event == "c_call" else None)
    try:
        found = list(sentences(text))
    finally:
        sys.setprofile(before)
    assert len(found) == 1
    assert called.count("strip") <= 2
    assert called.count("join") <= 2


def test_a_quotation_is_looked_for_once_in_a_word() -> None:
    begins = QUOTATION.pattern.partition("(?!")[0]
    assert [m.start() for m in re.finditer(begins, "a'a'a'a'a b''")] == [0, 10]


@pytest.mark.parametrize("text", ["a:{b}", "a':(b)", "'a:[b]", "a'ltac:(b)", "x ltac:{b}", "x ltac:[b]", "(a'b'c:(d)"])
def test_a_quotation_is_refused_wherever_it_begins(text: str) -> None:
    with pytest.raises(NotAllowed, match="no quotations"):
        list(sentences(f"exact {text}."))
    assert len(list(sentences("exact ltac:(b). case: (b) => a : [b]."))) == 2
