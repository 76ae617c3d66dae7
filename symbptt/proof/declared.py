"""What a certificate declares, read back: records, definitions, notations, hypotheses and theorems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from symbptt.proof.reading import NotRead, Reader, Term, read
from symbptt.proof.vernacular import Sentence, sentences


@dataclass(frozen=True)
class Defined:
    """A definition or a notation: its variables, its body, and the definitions that it may read."""

    variables: tuple[str, ...]
    body: Term
    before: Mapping[str, Defined]
    given: tuple[str, ...] = ()
    """The variables of its section on which it depends, which outside the section are its first arguments."""
    short: bool = False
    """Whether it is a notation."""


@dataclass(frozen=True)
class Scope:
    """What names stand for where a term is read: definitions, and the values of bound variables."""

    defined: Mapping[str, Defined]
    bound: Mapping[str, Any] = field(default_factory=dict)

    def inner(self, name: str, value: Any) -> Scope:
        """A scope inside this one."""
        return Scope(self.defined, {**self.bound, name: value})


class Text:
    """The statements of a text: records, definitions, notations and theorems by name, section by section."""

    def __init__(self, text: str) -> None:
        self.sentences = list(sentences(text))
        self.records: dict[str, list[tuple[str, str]]] = {}
        self.sections: dict[str, dict[str, Defined]] = {}
        self.claims: dict[str, str] = {}
        self.statement: list[tuple[tuple[str, ...], Sentence]] = []
        """The sentences outside proofs, each with the sections that are open before it."""
        self._here: dict[str, Defined] = {}
        self._notations: set[str] = set()
        self._variables: list[str] = []
        trail: list[tuple[str, dict[str, Defined], set[str], list[str]]] = []
        proving = False
        for s in self.sentences:
            if s.text == "Proof" or proving:
                proving = s.text != "Qed"
                continue
            self.statement.append((tuple(name for name, *_ in trail), s))
            if s.words[:1] in (["Section"], ["End"]) and (len(s.words) != 2 or (s.words[0] == "End" and not trail)):
                raise NotRead(f"line {s.line}: no section of this name begins or ends here: {s.text[:60]}")
            if s.words[:1] == ["Section"]:
                trail.append((s.words[1], dict(self._here), set(self._notations), list(self._variables)))
            elif s.words[:1] == ["End"]:
                self._end(*trail.pop())
            else:
                self._read(s)

    @property
    def sizes(self) -> list[str]:
        """The sizes that the text is about."""
        found = next((s.text for _, s in self.statement if s.words[:1] == ["Variables"]), "")
        return [name for name in found.partition("(")[2].partition(" : ")[0].split() if name != "T"]

    def _read(self, s: Sentence) -> None:
        try:
            self._sentence(s.text)
        except (LookupError, AttributeError, RecursionError) as error:
            raise NotRead(f"line {s.line}: this is no sentence of a certificate: {s.text[:60]}") from error

    def _end(self, name: str, outer: dict[str, Defined], notations: set[str], variables: list[str]) -> None:
        """Close a section: its notations go, its definitions depend on those of its variables that they use."""
        self.sections[name] = self._here
        ours = self._variables[len(variables):]
        kept = dict(outer)
        for k, d in self._here.items():
            if k not in self._notations and k not in outer:
                used = self._used(d.body, d.before, set())
                kept[k] = Defined(d.variables, d.body, d.before, (*(v for v in ours if v in used), *d.given), d.short)
        self._here, self._notations, self._variables = kept, notations, variables

    def _used(self, e: Any, before: Mapping[str, Defined], seen: set[int]) -> set[str]:
        """The names that a term uses, through the definitions of others."""
        if not isinstance(e, tuple):
            return set()
        if e[:1] == ("name",) and len(e) == 2:
            d = before.get(e[1])
            if d is None or id(d) in seen:
                return {e[1]}
            seen.add(id(d))
            return {e[1]} | self._used(d.body, d.before, seen)
        return set().union(*(self._used(a, before, seen) for a in e))

    def _sentence(self, text: str) -> None:
        if match := re.fullmatch(r"Record (\S+)(?: .*?)? := ?(\w+) \{(.*)\}", text):
            fields = [part.strip().partition(" : ") for part in match[3].split(";")]
            self.records[match[1]] = [(name, kind) for name, _, kind in fields if name]
            if match[1] == "recursion":
                self._dependent(match[1], [kind for _, _, kind in fields])
        elif match := re.fullmatch(r"Local Notation (\S+) := (.*)", text):
            try:
                body = read(match[2])
            except NotRead:
                body = ("unread", match[2])  # the skeleton of the text refuses it
            self._here = {**self._here, match[1]: Defined((), body, self._here, short=True)}
            self._notations.add(match[1])
        elif match := re.fullmatch(r"(?:Definition|Fixpoint) ([\w']+)((?: \([^)]*\))*)(?: : (.*?))? := (.*)", text):
            self._definition(match[1], match[2], match[3] or "", match[4])
        elif match := re.fullmatch(r"Theorem (\S+) ?: (.*)", text):
            self.claims[match[1]] = match[2]
        elif match := re.fullmatch(r"Variables? (.*)", text):
            for group in re.findall(r"\(([^()]*) : [^()]*\)", match[1]) or [match[1].partition(" : ")[0]]:
                self._variables += group.split()

    def _dependent(self, name: str, kinds: list[str]) -> None:
        """A record whose fields are equations: what it depends on."""
        sides = []
        for kind in kinds:
            try:
                sides.append(read(kind.rpartition("%N -> ")[2]))
            except NotRead:
                continue  # the skeleton of the text refuses it
        self._here = {**self._here, name: Defined((), ("fields", *sides), dict(self._here))}

    def _definition(self, name: str, bound: str, kind: str, body: str) -> None:
        variables = tuple(v for group in re.findall(r"\(([^)]*)\)", bound) for v in group.partition(" : ")[0].split())
        try:
            term = read(body)
            if body.startswith(("col_mx ", "row_mx ")):
                term = ("typed", term, Reader(kind).matrix_type())
        except NotRead:
            term = ("unread", body)  # whoever evaluates it refuses it; in a proof it may stand
        before = dict(self._here)
        before[name] = self._here[name] = Defined(variables, term, before)
