"""Coq as a checker of certificates: find it, compile the library once, check a file, read what it rests on."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from symbptt.proof.grammar import HEADER
from symbptt.proof.process import CheckerError as CheckerError
from symbptt.proof.process import Exceeded, run
from symbptt.proof.vernacular import NotAllowed, Sentence, allow, plain

FOLDER = Path(__file__).resolve().parent / "coq"
PACKAGES = "coq libcoq-mathcomp-algebra libcoq-mathcomp-analysis libcoq-mathcomp-algebra-tactics"
MISSING = f"Coq is not on the PATH; on Debian 12: apt-get install --no-install-recommends {PACKAGES}"
LIMIT = 300.0
"""Seconds of the processor that one file may take."""
ANSWER = 10.0
"""Seconds of the processor that Coq may take to say its version."""
CERTIFICATE = 20_000_000
"""The most bytes of a certificate."""
SHOWN = 200
"""The most characters of a path that a message repeats."""

CLASSICAL = frozenset({"propositional_extensionality", "functional_extensionality_dep",
                       "constructive_indefinite_description"})
"""The three axioms of mathcomp-analysis: classical logic with choice."""

ORIGIN = re.compile(r"(?:mathcomp\.)?(?:classical\.)?boolp\.|")
ASKED = "".join(f"{line}.\n" for line in (*HEADER, "From checked Require certificate", "Set Printing Width 120",
                                       "Set Printing Depth 1000000"))
"""The beginning of the file in which Coq is asked: by the notations of the library, and by none of the certificate."""

STATED = re.compile(r"\s*((?:Lemma|Theorem|Definition) [A-Za-z_][\w']*)")
"""The line on which a lemma begins, whose proof follows."""

REALS = frozenset({"gradient"})
"""The theorems over the reals, which may rest on these axioms; all others rest on none."""


@dataclass(frozen=True)
class Checked:
    """A theorem that Coq has accepted: its statement as it stands in the file, the axioms it rests on, and the whole
    statement as Coq tells it when all sections are closed, with every variable and every hypothesis in front; supposed
    are the hypotheses of its sections.
    """

    name: str
    statement: str
    axioms: tuple[str, ...]
    whole: str = ""
    supposed: tuple[str, ...] = ()

    @property
    def allowed(self) -> frozenset[str]:
        """The axioms that it may rest on."""
        return CLASSICAL if self.name in REALS else frozenset()


@dataclass(frozen=True)
class Verdict:
    """What came of a check: theorems and the checker's version, or why not."""

    accepted: bool
    reason: str = ""
    version: str = ""
    theorems: tuple[Checked, ...] = ()
    compared: str = ""
    """What was done with the statement before Coq was asked."""


def coqc() -> str:
    """The path of the compiler.

    Raises:
        CheckerError: there is none.
    """
    found = shutil.which("coqc")
    if found is None:
        raise CheckerError(MISSING)
    return os.path.abspath(found)


def version() -> str:
    """The version of Coq, as it says itself.

    Raises:
        CheckerError: there is no Coq, or it does not say.
    """
    command = [coqc(), "--version"]
    try:
        done = run(command, FOLDER, ANSWER)
    except Exceeded as error:
        raise CheckerError(f"{' '.join(command)} {error}") from None
    if done.returncode or not done.stdout.strip():
        raise CheckerError(f"{' '.join(command)} tells no version: {_last(done.stderr) or 'it says nothing'}")
    return " ".join(done.stdout.split()[:6]).removesuffix(" compiled")


def sources() -> list[Path]:
    """The files of the library, in the order in which they are compiled."""
    listed = (FOLDER / "_CoqProject").read_text(encoding="utf-8").split()
    return [FOLDER / name for name in listed if name.endswith(".v")]


def cache() -> Path:
    """Where compiled files are kept: $SYMBPTT_CACHE, or a folder of the user's cache; Coq is run in other folders, so
    that the path is absolute.
    """
    given = os.environ.get("SYMBPTT_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(given) if given else home / "symbptt").absolute()


def library() -> Path:
    """The folder of the compiled library; compiled once for these sources and this Coq.

    Raises:
        CheckerError: there is no Coq, it does not compile the library, or the cache cannot be written.
    """
    files = sources()
    digest = hashlib.sha256(version().encode())
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    place = cache() / "coq" / digest.hexdigest()[:16]
    try:
        if not _complete(place, files):
            place.parent.mkdir(parents=True, exist_ok=True)
            staged = Path(tempfile.mkdtemp(dir=place.parent, prefix=".building-"))
            try:
                for path in files:
                    _compile(path, staged)
                _exchange(staged, place, files)
            finally:
                shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        shown = str(place.parent) if len(str(place.parent)) <= SHOWN else f"{str(place.parent)[:SHOWN]}…"
        raise CheckerError(f"{shown}: the library cannot be compiled there: {error.strerror or error}") from None
    return place


def _compile(path: Path, folder: Path) -> None:
    """Compile a file of the library in a folder that holds those before it."""
    shutil.copyfile(path, folder / path.name)
    try:
        done = run([coqc(), "-q", "-w", "none", "-Q", ".", "symbptt", path.name], folder, LIMIT)
    except Exceeded as error:
        raise CheckerError(f"the library does not compile: {path.name}: Coq {error}") from None
    if done.returncode:
        raise CheckerError(f"the library does not compile: {path.name}: {_last(done.stderr)}")
    if not _complete(folder, [path]):
        raise CheckerError(f"the library does not compile: {path.name}: {coqc()} reports no error, but writes no "
                           f"{path.stem}.vo")


def _complete(place: Path, files: Iterable[Path]) -> bool:
    """Whether a folder holds what these files are compiled to."""
    compiled = (place / f"{path.stem}.vo" for path in files)
    return place.is_dir() and all(path.is_file() and path.stat().st_size for path in compiled)


def _exchange(staged: Path, place: Path, files: Iterable[Path]) -> None:
    """Put a compiled library in its place, unless another process has done so; what lies there unfinished goes."""
    try:
        if place.is_dir() and not _complete(place, files):
            shutil.rmtree(place)
        staged.rename(place)
    except OSError:
        if not _complete(place, files):
            raise


def check(text: str, limit: float = LIMIT) -> Verdict:
    """Whether Coq accepts a certificate, and each of its theorems rests on nothing that it should not rest on.

    Coq is not given the text but the sentences that were read in it: what Coq would read otherwise in a text, as a
    comment or as none, it does not see.

    Raises:
        CheckerError: Coq cannot be run here.
    """
    try:
        found = allow(text)
    except NotAllowed as error:
        return Verdict(False, str(error))
    theorems = [s for s in found if s.words[:1] == ["Theorem"]]
    if not theorems:
        return Verdict(False, "there is no theorem in it")
    compiled, said = library(), version()
    names = [s.words[1] for s in theorems]
    if len(set(names)) < len(names):
        return Verdict(False, "two theorems have one name", said)
    with tempfile.TemporaryDirectory(prefix="symbptt-") as folder:
        try:
            outcome = _assumptions(Path(folder), compiled, plain(found), names, limit)
        except Exceeded as error:
            return Verdict(False, f"Coq {error}", said)
    if isinstance(outcome, str):
        return Verdict(False, outcome, said)
    supposed = _hypotheses(found)
    checked = tuple(Checked(name, _statement(s), axioms, whole, supposed[name])
                    for name, s, (axioms, whole) in zip(names, theorems, outcome, strict=True))
    for theorem in checked:
        beyond = [a for a in theorem.axioms if not _is_allowed(a, theorem.allowed)]
        if beyond:
            return Verdict(False, f"{theorem.name} rests on {', '.join(beyond)}", said, checked)
    return Verdict(True, "", said, checked)


def _hypotheses(found: Iterable[Sentence]) -> dict[str, tuple[str, ...]]:
    """For each theorem the hypotheses of the sections that it stands in."""
    known: dict[str, tuple[str, ...]] = {}
    sections: list[list[str]] = []
    for s in found:
        word, name = (*s.words[:2], "")[:2] if s.words else ("", "")
        if word == "Section":
            sections.append([])
        elif word == "End" and sections:
            sections.pop()
        elif word == "Hypothesis" and sections:
            sections[-1].append(s.text.removeprefix("Hypothesis "))
        elif word == "Theorem":
            known[name] = tuple(h for section in sections for h in section)
    return known


def _is_allowed(axiom: str, allowed: frozenset[str]) -> bool:
    origin, _, name = axiom.rpartition(".")
    return name in allowed and (not origin or ORIGIN.fullmatch(f"{origin}.") is not None)


def _statement(sentence: Sentence) -> str:
    return sentence.text.partition(" : ")[2]


def _assumptions(folder: Path, compiled: Path, text: str, names: list[str],
                 limit: float) -> list[tuple[tuple[str, ...], str]] | str:
    """The axioms and the statement of each theorem, asked for in files of our own; or Coq's complaint.

    Of theorems that should rest on nothing Coq is asked at once, and of each alone when they rest on something.
    """
    options = ["-q", "-w", "none", "-Q", str(compiled), "symbptt", "-Q", ".", "checked"]
    (folder / "certificate.v").write_text(text, encoding="utf-8")
    done = run([coqc(), *options, "certificate.v"], folder, limit)
    if done.returncode:
        return f"Coq refuses it: {complaint(text, done.stderr)}"
    bare = [name for name in names if name not in REALS]
    over = [name for name in names if name in REALS]
    every = f"Definition together := ({', '.join(f'@checked.certificate.{name}' for name in bare)})"
    first = [every, _rests("together")] if bare else []
    told = [f'Redirect "whole_{k}" Check checked.certificate.{name}' for k, name in enumerate(names)]
    found = _ask(folder, options, [*first, *(_rests(f"checked.certificate.{name}") for name in over), *told], limit)
    if not isinstance(found, str) and bare and found[0]:
        # together they rest on something: on what does each of them?
        found = _ask(folder, options, [_rests(f"checked.certificate.{name}") for name in (*bare, *over)], limit)
    elif not isinstance(found, str) and bare:
        found = [()] * len(bare) + found[1:]
    if isinstance(found, str):
        return found
    axioms = dict(zip((*bare, *over), found, strict=True))
    places = [folder / f"whole_{k}.out" for k in range(len(names))]
    if not all(map(Path.is_file, places)):
        return "Coq does not tell what the theorems state"
    whole = [place.read_text(encoding="utf-8").strip() for place in places]
    if any("..." in statement for statement in whole):
        return "Coq does not print in full what the theorems state"
    return [(axioms[name], statement) for name, statement in zip(names, whole, strict=True)]


def _rests(name: str) -> str:
    return f"Print Assumptions {name}"


def _ask(folder: Path, options: list[str], commands: list[str], limit: float) -> list[tuple[str, ...]] | str:
    """The answer to each Print Assumptions among these commands; or Coq's complaint."""
    (folder / "asked.v").write_text(ASKED + "".join(f"{line}.\n" for line in commands), encoding="utf-8")
    done = run([coqc(), *options, "asked.v"], folder, limit)
    if done.returncode:
        return f"Coq does not know its theorems: {_last(done.stderr)}"
    read = answers(done.stdout)
    found = [a for a in read if a is not None]
    if len(found) != len(read) or len(found) != sum(line.startswith("Print ") for line in commands):
        return f"what the theorems rest on cannot be read: {done.stdout[:200]}"
    return found


def answers(output: str) -> list[tuple[str, ...] | None]:
    """The axioms in each answer to Print Assumptions; None for an answer that is not understood."""
    found: list[tuple[str, ...] | None] = []
    inside: list[str] | None = None
    for line in output.splitlines():
        if line == "Closed under the global context":
            found.append(())
            inside = None
        elif line == "Axioms:":
            inside = []
            found.append(())
        elif inside is not None and (match := re.match(r"([A-Za-z_][\w'.]*)(?: :|$)", line)):
            inside.append(match[1])
            found[-1] = tuple(inside)
        elif inside is None or not line.startswith(" "):
            found.append(None)
    return found


def complaint(text: str, said: str) -> str:
    """What Coq says of a certificate: in which lemma, on which of its lines, and why."""
    error = _last(said)
    if (place := re.match(r'File "[^"]*", line (\d+), characters [\d-]+: ', error)) is None:
        return error
    line = int(place[1])
    named = [m[1] for here in text.splitlines()[:line] if (m := STATED.match(here))]
    where = f"{named[-1]}, line {line}" if named else f"line {line}"
    return f"{where}: {error[place.end():]}"


def _last(text: str) -> str:
    """The error out of what Coq prints, on one line."""
    lines = text.strip().splitlines()
    start = max((k for k, line in enumerate(lines) if line.startswith("File ")), default=0)
    return " ".join(" ".join(lines[start:]).split())[:400]
