"""What a certificate says, quoted from its text: theorems, and the definitions and premises that they speak of.

A quotation is a piece of the text, line breaks included, whose words are those of the sentence that the checker read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from symbptt.proof.declared import Text
from symbptt.proof.vernacular import Sentence

LASTING = frozenset({"Record", "Definition", "Fixpoint"})
"""What is known by its name after the end of its section."""
HELD = frozenset({"Hypothesis", "Import"})
"""What holds for all that stands behind it in its section, whether or not it is named there."""
NAMING = LASTING | {"Variable", "Variables", "Local", "Hypothesis"}
"""The first words of sentences that give a name a meaning by which statements are read."""


@dataclass(frozen=True)
class Quoted:
    """A theorem: its name, its section, and its statement line by line."""

    name: str
    section: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Quotation:
    """Theorems, and line by line what they speak of, with the beginning and the end of each section."""

    theorems: tuple[Quoted, ...]
    setting: tuple[str, ...]


def quotation(text: str, names: Iterable[str]) -> Quotation:
    """The theorems of these names and what they speak of.

    Raises:
        NotAllowed: the text cannot be taken apart into sentences.
        KeyError: there is no such theorem.
    """
    return _Quoting(text).quotation(names)


class _Quoting:
    """The sentences of a text outside its proofs, each with the sections that it stands in."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = Text(text).statement
        self.trails = [trail for trail, _ in found]
        self.sentences = [s for _, s in found]
        self.lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self.named: dict[str, list[int]] = {}
        for k, s in enumerate(self.sentences):
            for name in introduced(s):
                self.named.setdefault(name, []).append(k)

    def quotation(self, names: Iterable[str]) -> Quotation:
        stated = {s.words[1]: k for k, s in enumerate(self.sentences) if s.words[:1] == ["Theorem"]}
        places = [stated[name] for name in names]
        theorems = tuple(Quoted(self.sentences[k].words[1], self.trails[k][-1] if self.trails[k] else "",
                                self._quoted(k)) for k in places)
        needed = self._needed(places)
        setting = [line for k in self._framed(needed, set(places) | needed) for line in (
            *([""] if self.sentences[k].words[:1] == ["Section"] else []), *self._quoted(k))]
        return Quotation(theorems, tuple(setting[1:] if setting[:1] == [""] else setting))

    def _quoted(self, k: int) -> tuple[str, ...]:
        """The sentence as it stands: the same words, with the line breaks of the text."""
        s = self.sentences[k]
        words = re.compile(r"\s+".join(map(re.escape, s.text.split())) + r"\s*\.")
        found = words.search(self.text, self.lines[s.line - 1])
        if found is None:  # a comment stands within it
            return (f"{s.text}.",)
        return tuple(line.rstrip() for line in found.group().split("\n"))

    def _needed(self, places: Iterable[int]) -> set[int]:
        """What the theorems speak of, and what that speaks of; the premises and imports of their sections too."""
        needed: set[int] = set()
        waiting = [k for place in places for k in (place, *self._premises(place))]
        while waiting:
            k = waiting.pop()
            if k in needed:
                continue
            needed.add(k)
            waiting += [j for word in set(self.sentences[k].words) for j in self._meant(word, k)]
        return needed - set(places)

    def _premises(self, place: int) -> Iterator[int]:
        return (k for k in range(place) if self.trails[k] and self.sentences[k].words[0] in HELD
                and self._is_visible(k, place))

    def _meant(self, name: str, place: int) -> list[int]:
        """The sentence that gives a name its meaning at a place; none for a bound variable or one of a library."""
        return [k for k in self.named.get(name, []) if k < place and self._is_visible(k, place)][-1:]

    def _is_visible(self, k: int, place: int) -> bool:
        lasting = self.sentences[k].words[0] in LASTING
        return lasting or self.trails[place][:len(self.trails[k])] == self.trails[k]

    def _framed(self, needed: set[int], all_places: set[int]) -> Iterator[int]:
        """The needed sentences in order, within the sections that hold them or a theorem."""
        open_at = {trail[:n] for trail in (self.trails[k] for k in all_places) for n in range(1, len(trail) + 1)}
        for k, s in enumerate(self.sentences):
            opens = s.words[:1] == ["Section"] and (*self.trails[k], s.words[1]) in open_at
            closes = s.words[:1] == ["End"] and self.trails[k] in open_at
            if k in needed or opens or closes:
                yield k


def introduced(s: Sentence) -> tuple[str, ...]:
    """The names to which a sentence gives a meaning."""
    first = s.words[0] if s.words else ""
    if first not in NAMING:
        return ()
    if first in ("Variable", "Variables"):
        told = s.text.partition(" ")[2]
        groups = re.findall(r"\(([^()]*) : [^()]*\)", told) or [told.partition(" : ")[0]]
        return tuple(name for group in groups for name in group.split())
    if first == "Record":
        return (s.words[1], *re.findall(r":= ?([\w']+) \{", s.text), *re.findall(r"[{;] ([\w']+) : ", s.text))
    return (s.words[2] if first == "Local" else s.words[1],)
