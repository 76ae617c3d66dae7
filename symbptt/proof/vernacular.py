"""Which sentences a certificate may hold: a lexer for Coq's sentences, and a list of what is allowed.

Coq decides what a proof proves. What it cannot decide is whether a file asks it for less than it seems to: by an axiom,
by a flag that switches a check off, or by loading something else. So every sentence must be of a known kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import category

LIBRARY = ("matrices", "normal", "pairing", "tactics", "closed", "solved", "formal", "real")
"""The modules of the library."""

EXACT = frozenset({
    "From mathcomp Require Import all_ssreflect all_algebra",
    "From mathcomp.algebra_tactics Require Import ring",
    "From mathcomp.analysis Require Import reals topology normedtype derive",
    "Set Implicit Arguments", "Unset Strict Implicit", "Unset Printing Implicit Defensive",
    "Import GRing.Theory Num.Theory numFieldNormedType.Exports",
    "Import formal", "Import real", "Local Open Scope ring_scope",
})
"""Sentences that set the scene, word by word."""

OUTSIDE = frozenset({"Section", "End", "Variable", "Variables", "Hypothesis", "Record", "Definition", "Fixpoint",
                     "Lemma", "Theorem", "Print", "Local"})
"""The first words of all other sentences outside proofs."""

NEVER = frozenset({
    "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture", "Conjectures", "Admitted", "admit", "give_up", "Admit",
    "Abort", "Declare", "Drop", "Extraction", "Redirect", "Load", "Cd", "Unsafe", "Guard", "Positivity", "Universe",
    "bypass_check", "Obligation", "Obligations", "Canonical", "Coercion", "Instance", "Module", "Include", "Ltac",
    "Ltac2", "Add", "Optimize", "Opaque", "Transparent", "Arguments", "Reserved", "Infix", "exact_no_check",
    "vm_cast_no_check", "native_cast_no_check", "native_compute", "external", "abstract", "transparent_abstract",
    "Elpi", "elpi", "lp",
})
"""Words that stand nowhere in a certificate."""

NOTATION = re.compile(r"Local Notation [A-Za-z][\w']* := \S.*", re.DOTALL)
REQUIRE = re.compile(r"From symbptt Require (?:Import )?([a-z ]+)")
PRINT = re.compile(r"Print Assumptions [A-Za-z][\w']*")
QUOTATION = re.compile(r"(?<![\w'])(?!ltac:\()[\w']+:[({\[]")
"""What a plugin of Coq reads by a lexer of its own, in which comments and full stops are none."""
BLANK = " \t\r\n"
START = re.compile(r"(?:(?:[-+*]+\s+|\d+:\s*)*(?!par\s*:)[a-z_(]|\[\s(?![^]]*\]\s*:))")
"""How a sentence of a proof begins: behind bullets, which are sentences of their own to Coq, and numbers of goals as
well. Commands begin with capital letters; processes of its own, which `par:` begins, outlive the time that Coq has."""


class NotAllowed(ValueError):
    """The text holds a sentence that no certificate needs; the message shows it and its line."""


@dataclass(frozen=True)
class Sentence:
    """One sentence without comments, with single blanks, and the line on which it starts."""

    text: str
    line: int

    @property
    def words(self) -> list[str]:
        """Its words."""
        return re.findall(r"[A-Za-z_][\w']*", self.text)


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a Coq text; comments nest, and a full stop ends a sentence where a blank follows.

    Raises:
        NotAllowed: a comment or a string does not end, there is a string, a quotation or a character beyond ASCII, or
            text follows the last full stop.
    """
    here: list[str] = []
    begun, start, line, counted, k, n = False, 0, 1, 0, 0, len(text)
    while k < n:
        if text.startswith("(*", k):
            k = _after_comment(text, k)
            here.append(" ")
        elif text[k] == '"':
            raise NotAllowed(f"line {_line(text, k)}: a certificate holds no strings")
        elif text.startswith("..", k):
            raise NotAllowed(f"line {_line(text, k)}: two full stops “..”, of which one may end a sentence to Coq")
        elif not (" " <= text[k] <= "~" or text[k] in BLANK):
            raise NotAllowed(f"line {_line(text, k)}: the character U+{ord(text[k]):04X} outside comments")
        elif text[k] == "." and (k + 1 == n or text[k + 1] in BLANK):
            if begun:
                # counted on from the sentence before: from the beginning each time, many sentences would take long
                line, counted = line + text.count("\n", counted, start), start
                yield _sentence("".join(here), line)
            here, begun, k = [], False, k + 1
        else:
            if not begun and text[k] not in BLANK:
                begun, start = True, k
            here.append(text[k])
            k += 1
    if begun:
        raise NotAllowed(f"line {_line(text, start)}: a sentence without a full stop: {''.join(here).strip()[:60]}")


def _sentence(here: str, line: int) -> Sentence:
    found = Sentence(" ".join(here.split()), line)
    if ". " in found.text or found.text.endswith("."):
        raise _refuse(found, "a full stop before a comment may end a sentence to Coq")
    if QUOTATION.search(found.text):
        raise _refuse(found, "a certificate holds no quotations")
    return found


def plain(found: Iterable[Sentence]) -> str:
    """The sentences as a text without comments, each on its line: what Coq is given has no other reading than ours."""
    parts, line = [], 1
    for s in found:
        parts.append("\n" * (s.line - line) if s.line > line else " ")
        parts.append(f"{s.text}.")
        line = max(line, s.line)
    return "".join(parts) + "\n"


def _after_comment(text: str, start: int) -> int:
    depth, k = 0, start
    while k < len(text):
        if text.startswith("(*", k):
            depth, k = depth + 1, k + 2
        elif text.startswith("*)", k):
            depth, k = depth - 1, k + 2
            if depth == 0:
                return k
        elif text[k] == '"':
            raise NotAllowed(f"line {_line(text, k)}: a comment with a quotation mark in it; Coq reads strings there")
        else:
            k += 1
    raise NotAllowed(f"line {_line(text, start)}: a comment that does not end")


def _line(text: str, k: int) -> int:
    return text.count("\n", 0, k) + 1


def foreign(text: str) -> str | None:
    """Why a text is no certificate at all; None where it may be one."""
    if not text.strip():
        return "the file is empty"
    control = next((k for k, c in enumerate(text) if category(c) in ("Cc", "Cf") and c not in "\n\t\r"), None)
    if control is not None:
        return f"line {_line(text, control)}: the character U+{ord(text[control]):04X} stands in no certificate"
    return None if re.search(r"\bTheorem\b", text) else "this is no certificate: it states no theorem"


def allow(text: str) -> list[Sentence]:
    """The sentences, each of a kind that certificates need.

    Raises:
        NotAllowed: one is not; the message says which.
    """
    found = list(sentences(text))
    depth, proving = 0, False
    for sentence in found:
        if sentence.text not in EXACT:
            _check_words(sentence)
        if proving:
            proving = _inside(sentence)
        else:
            depth, proving = _outside(sentence, depth)
    if proving or depth:
        raise NotAllowed("the text ends inside a proof or a section")
    return found


def _refuse(sentence: Sentence, why: str) -> NotAllowed:
    shown = sentence.text if len(sentence.text) < 80 else sentence.text[:77] + "…"
    return NotAllowed(f"line {sentence.line}: {why}: {shown}")


def _check_words(sentence: Sentence) -> None:
    bad = NEVER.intersection(sentence.words)
    if bad:
        raise _refuse(sentence, f"a certificate has no {min(bad)}")


def _outside_words(sentence: Sentence) -> None:
    if "ltac" in sentence.words or "ltac2" in sentence.words:
        raise _refuse(sentence, "tactics stand in proofs alone")


def _inside(sentence: Sentence) -> bool:
    """A sentence of a proof; whether the proof goes on."""
    if sentence.text == "Qed":
        return False
    if not START.match(sentence.text):
        raise _refuse(sentence, "this is no tactic")
    return True


def _outside(sentence: Sentence, depth: int) -> tuple[int, bool]:
    """A sentence outside proofs; how many sections are open behind it, and whether it opens a proof."""
    text, first = sentence.text, sentence.words[0] if sentence.words else ""
    if text in EXACT:
        return depth, False
    required = REQUIRE.fullmatch(text)
    if required:
        if set(required[1].split()) <= set(LIBRARY):
            return depth, False
        raise _refuse(sentence, "only the library is read")
    _outside_words(sentence)
    if text == "Proof" or not text.startswith(first) or first not in OUTSIDE:
        if text == "Proof":
            return depth, True
        raise _refuse(sentence, "a sentence of a kind that no certificate needs")
    if first in ("Variable", "Variables", "Hypothesis") and not depth:
        raise _refuse(sentence, "an assumption outside all sections is an axiom")
    if (first == "Local" and not NOTATION.fullmatch(text)) or (first == "Print" and not PRINT.fullmatch(text)):
        raise _refuse(sentence, "a sentence of a kind that no certificate needs")
    if sentence.words.count("with") != sentence.words.count("match"):
        raise _refuse(sentence, "a sentence introduces one name")
    if first in ("Definition", "Fixpoint", "Record") and ":=" not in text:
        raise _refuse(sentence, "a definition without a body")
    return depth + (first == "Section") - (first == "End"), False
