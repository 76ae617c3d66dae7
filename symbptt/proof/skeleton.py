"""The skeleton of a certificate: its sections, which sentences stand in them, and that every name has one meaning.

This needs no model. It holds for a file as it stands, and it is what makes the evaluation of a statement mean anything:
a premise that is not read, or a name that is given another meaning in front of a theorem, would make Coq prove less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from symbptt.proof.declared import Text
from symbptt.proof.evaluation import Astray
from symbptt.proof.grammar import EXTENSION, EXTENSIONS, HEADER, OPTIONAL, PARTS, RESERVED
from symbptt.proof.premises import apart, is_function
from symbptt.proof.reading import NotRead, read
from symbptt.proof.vernacular import Sentence

SLOPES = {*EXTENSIONS, "step", "sign"}
"""The functions of the library."""


@dataclass(frozen=True)
class Introduced:
    """A name, what it stands for, and where it does."""

    name: str
    means: tuple[str, ...]
    trail: tuple[str, ...]
    line: int
    local: bool = True
    """Whether it goes when its section ends."""


def skeleton(text: Text) -> None:
    """Refuse a text that is not of the grammar.

    Raises:
        Astray: a section or a sentence is not; the message names it and its line.
    """
    _sections(text)
    for trail, s in text.statement:
        if trail and s.words[0] not in ("Section", "End"):
            _sentence(trail[-1], s)
    _once(text)
    _names(text)
    _readable(text)
    _recursion(text)


def _shown(s: Sentence) -> str:
    return s.text if len(s.text) < 300 else s.text[:297] + "…"


def _sections(text: Text) -> None:
    """Each section once, in its place; nothing but the header in front and questions behind."""
    seen: list[str] = []
    head: list[str] = []
    for trail, s in text.statement:
        word = s.words[0] if s.words else ""
        if word == "Section":
            name = s.words[1]
            if name not in PARTS or name in seen or PARTS[name].within != (trail[-1] if trail else ""):
                raise Astray(f"line {s.line}: a section {name} has no place here")
            seen.append(name)
        elif word == "End" and s.text != f"End {trail[-1] if trail else ''}":
            raise Astray(f"line {s.line}: this ends no section: {s.text}")
        elif not trail and not (seen and word == "Print"):
            head.append(s.text)
    if tuple(head) != HEADER:
        beyond = [a for a in head if a not in HEADER] or ["its imports"]
        raise Astray(f"what stands outside all sections is not what certificates need: {beyond[0]}")
    missing = [name for name in PARTS if name not in seen and name not in OPTIONAL]
    if missing:
        raise Astray(f"there is no section {missing[0]}")


def _sentence(section: str, s: Sentence) -> None:
    part = PARTS[section]
    if not any(re.fullmatch(rule, s.text) for rule in (*part.once.values(), *part.more)):
        raise Astray(f"line {s.line}: section {section} holds {part.told}, and not: {_shown(s)}")


def _readable(text: Text) -> None:
    """What a statement is made of can be read."""
    for trail, s in text.statement:
        stated = trail and trail[-1] != "Adjoint" and "_follow_" not in s.words[1]
        if s.text.startswith("Local Notation") or (stated and s.words[0] in ("Definition", "Fixpoint")):
            try:
                read(s.text.partition(" := ")[2])
            except NotRead as error:
                raise Astray(f"line {s.line}: this cannot be read ({error}): {_shown(s)}") from error


def _once(text: Text) -> None:
    for section, part in PARTS.items():
        ours = [s for trail, s in text.statement if trail[-1:] == (section,)]
        for name, rule in part.once.items():
            count = sum(re.fullmatch(rule, s.text) is not None for s in ours)
            if count != 1 and (ours or section not in OPTIONAL):
                raise Astray(f"section {section} needs one sentence “{name}”, and has {count or 'none'}")


# Names.

def _names(text: Text) -> None:
    """Every name has one meaning wherever it stands."""
    known: dict[str, list[Introduced]] = {}
    for new in introduced(text):
        if new.name in RESERVED or EXTENSION.fullmatch(new.name):
            raise Astray(f"line {new.line}: {new.name} is a name of the library and gets no other meaning")
        for old in known.get(new.name, []):
            visible = not old.local or old.trail == new.trail[:len(old.trail)]
            other = old.means != new.means and "Adjoint" not in (old.trail[-1], new.trail[-1])
            twice = new.means[0] in ("variable", "hypothesis") and visible and old.means[0] != "field"
            if other or twice or not new.local:
                raise Astray(f"line {new.line}: the name {new.name} is introduced twice (first on line {old.line})")
        known.setdefault(new.name, []).append(new)


def introduced(text: Text) -> Iterator[Introduced]:
    """All names that the sentences outside proofs introduce."""
    functions = {raw: apart(raw, "fn_") for raw, kind in text.records["given"] if is_function(kind)}
    locals_ = _locals(text)
    for trail, s in text.statement:
        word, where = s.words[0] if s.words else "", trail or ("",)
        if word in ("Section", "Definition", "Fixpoint", "Lemma", "Theorem"):
            yield Introduced(s.words[1], ("is", s.words[1]), where, s.line, local=False)
        elif word == "Record":
            yield from _record(s, where)
        elif word == "Hypothesis":
            yield Introduced(s.words[1], ("hypothesis", s.text), where, s.line)
        elif word in ("Variable", "Variables"):
            yield from _variables(s, where, locals_)
        elif s.text.startswith("Local Notation"):
            _, _, rest = s.text.partition("Local Notation ")
            name, _, body = rest.partition(" := ")
            yield Introduced(name, _meaning(text, name, body, where, functions), where, s.line)


def _locals(text: Text) -> dict[str, str]:
    """The notation in Backward for each field of what is given, by its name."""
    found = {}
    for trail, s in text.statement:
        match = re.fullmatch(r"Local Notation (\S+) := \((\S+) env\)", s.text)
        if match and trail[-1:] == ("Backward",):
            found[match[1]] = match[2]
    return found


def _record(s: Sentence, where: tuple[str, ...]) -> Iterator[Introduced]:
    match = re.fullmatch(r"Record ([\w']+).*? := ?(\w+) \{(.*)\}", s.text)
    if match is None or ":>" in s.text or (where[-1] == "Adjoint" and match[1] != "tangents"):
        raise Astray(f"line {s.line}: a record that cannot be read: {_shown(s)}")
    for name in (match[1], match[2]):
        yield Introduced(name, ("is", name), where, s.line, local=False)
    for part in filter(str.strip, match[3].split(";")):
        name = part.split(":")[0].strip()
        if not re.fullmatch(r"[A-Za-z_][\w']*", name):
            raise Astray(f"line {s.line}: a field is a name and its type: {part.strip()[:60]}")
        yield Introduced(name, ("is", name), where, s.line, local=False)


def _variables(s: Sentence, where: tuple[str, ...], locals_: dict[str, str]) -> Iterator[Introduced]:
    rest = s.text.partition(" ")[2]
    for group in re.findall(r"\(([^()]*)\)", rest) if rest.startswith("(") else [rest]:
        names, _, kind = group.partition(" : ")
        for name in names.split():
            if name == "R":
                kind = "comRingType"
            if where[-1] == "Real" and name in locals_:
                yield Introduced(name, ("field", locals_[name], "env"), where, s.line)
            elif name.rstrip("'") in SLOPES and where[-1] == "Backward":
                yield Introduced(name, ("function", name.rstrip("'")), where, s.line)
            else:
                yield Introduced(name, ("variable", kind), where, s.line)


def _meaning(text: Text, name: str, body: str, where: tuple[str, ...], functions: dict[str, str]) -> tuple[str, ...]:
    """What a notation stands for, by a name for it that is the same wherever it is."""
    if where[-1] == "Real" and (name, body) == ("env", "reals"):
        return ("variable", "given R")
    if match := re.fullmatch(r"\((\S+) (env|pt|dir)\)", body):
        raw, record = match.groups()
        if raw in {field for field, _ in text.records["given" if record == "env" else "point"]}:
            return ("function", functions[raw]) if raw in functions else ("field", raw, record)
    if where[-1] == "Real" and (match := re.fullmatch(r"\(@real\.(\w+) R(?: n_[\w']+| \d+)?\)", body)):
        return ("function", match[1])
    words = body.strip("()").split()
    if re.fullmatch(r"\d+%:R", words[0]) and words[1:2] == ["*"] and len(words) == 3:
        return ("scalar", body)
    outer = text.sections["Backward"].get(words[0])
    here = where[-1]
    run = outer is not None and re.fullmatch(r"(?:run|past)_[\w']+", words[0])
    if outer is not None and run and words[1:] == (list(outer.given) if here != "Forward" else []):
        return ("is", words[0])
    ours = text.sections["Real"].get(name) if here == "Real" else None
    if ours is not None and words[0] == name and (name == "recursion" or name.startswith("dL_d")):
        closed = text.sections["Certificate"].get(name)
        if closed is not None and words[1:] == list(closed.given):
            return ("is", name)
    level = {"Formal": "formal", "Real": "real"}.get(here, "-")
    if re.fullmatch(rf"{level}_(?:tangent|past_tangent|last)(?:_[\w']+)?", body) and name.startswith(("d_", "last")):
        return ("tangent",)
    if name.startswith("dL_d"):
        raise Astray(f"the gradient of {name[4:]} is read at another place than where it is defined: {body[:60]}")
    raise Astray(f"the notation {name} in section {here} is none in which gradients are stated: {body[:60]}")


def _recursion(text: Text) -> None:
    """The recursion holds two fields for each adjoint, and nothing else."""
    fields = [name for name, _ in text.records["recursion"]]
    adjoints = [s.words[1] for trail, s in text.statement if trail[-1:] == ("Backward",) and s.words[0] == "Variable"
                and re.match(r"Variable [ge]_[\w']+ : nat ->", s.text)]
    wanted = [f"{kind}_{name}" for name in adjoints for kind in ("rec", "end")]
    odd = [name for name in fields if name not in wanted] or [name for name in wanted if name not in fields]
    if odd or len(fields) != len(wanted):
        raise Astray(f"the recursion has one equation and one end for each adjoint: {', '.join(odd) or fields}")
    kinds = dict(text.records["recursion"])
    for name in adjoints:
        match = re.fullmatch(r"forall t, \(1 <= t <= T\)%N -> (.*)", kinds[f"rec_{name}"])
        if match is None or kinds[f"end_{name}"] != f"forall t, (T < t)%N -> {name} t = 0":
            raise Astray(f"the range of the recursion of {name} is another")
        equation = read(match[1])
        if equation[:2] != ("binary", "=") or equation[2] != ("apply", ("name", name), (("name", "t"),)):
            raise Astray(f"the recursion of {name} is no equation for it")
