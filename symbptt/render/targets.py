"""The table of targets: what a derivation can be turned into, and where it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from symbptt.derivation import Derivation
from symbptt.expr.index import Index, t
from symbptt.expr.nodes import Matrix
from symbptt.model.depth import bounded
from symbptt.model.spec import Model
from symbptt.program.options import PLAIN, Options
from symbptt.proof.account import ProvedStatement
from symbptt.proof.alike import excluded_zeros
from symbptt.proof.assumed import assumed, rests_on
from symbptt.proof.record import recorded, together
from symbptt.render import assumed as derivatives
from symbptt.render.accepted import Accepted
from symbptt.render.document import Format, Writer, document
from symbptt.render.escape import latex_code, latex_words, markdown_words, plain_words
from symbptt.render.forward import compared
from symbptt.render.functional import jax_program, torch_program
from symbptt.render.glue import unglued
from symbptt.render.math import Latex, Ruler, Running, latex
from symbptt.render.numpy_fast import numpy_fast
from symbptt.render.numpy_program import numpy_program
from symbptt.render.outline import AtLeast, Equal, When
from symbptt.render.proof import basis, sides, words
from symbptt.render.proof import proofs as proof_document
from symbptt.render.solution import hypotheses
from symbptt.render.target import fingerprint, write_all
from symbptt.render.unicode import Unicode
from symbptt.render.words import LANGUAGES

LATEX = Format("latex", ".tex", Latex, Ruler, Running, width=74, escape=latex_words, inline="$", ref="({})",
               condition=r"\qquad ({})", note=r"\qquad\text{{{}}}", code=latex_code)
MARKDOWN = Format("markdown", ".md", Latex, Ruler, Running, width=74, escape=markdown_words, inline="$", ref="({})",
                  condition=r"\qquad ({})", note=r"\qquad\text{{{}}}",
                  code=plain_words)
TEXT = Format("text", ".txt", Unicode, Unicode, Unicode, width=88, escape=plain_words, inline="", ref="({})",
              condition="    ({})", note="    {}", code=plain_words, plain=True)


@dataclass(frozen=True)
class Target:
    """One target: its name, the suffix of its files, and how it is made; a document is made in a language, and may say
    what Coq accepted; of a program, which options it follows.
    """

    name: str
    suffix: str
    make: Callable[[Derivation, str, Accepted | None, Options], str]
    program: bool = False
    options: frozenset[str] = frozenset()

    def path(self, derivation: Derivation) -> Path:
        """Where it is written, below the folder of the model; a program can be imported under its file's name."""
        name = derivation.model.name
        return Path(self.name) / f"{name.replace('-', '_') if self.program else name}{self.suffix}"


def _document(form: Format) -> Target:
    return Target(form.name, form.suffix, lambda d, lang, accepted, _: document(d, form, lang, accepted))


def _program(name: str, suffix: str, make: Callable[[Derivation, Options], str], *options: str) -> Target:
    return Target(name, suffix, lambda d, _lang, _accepted, asked: make(d, asked), True, frozenset(options))


TARGETS: dict[str, Target] = {target.name: target for target in (
    _document(TEXT),
    _document(LATEX),
    _document(MARKDOWN),
    _program("numpy", ".py", numpy_fast, "layout", "weights", "dtype", "schedule", "fused", "mask", "truncate",
             "checkpoint"),
    _program("numpy-textbook", ".py", numpy_program, "layout", "weights", "dtype", "fused", "mask", "truncate",
             "checkpoint"),
    _program("torch", ".py", torch_program, "layout", "weights", "dtype", "fused", "mask", "truncate", "checkpoint"),
    _program("jax", ".py", jax_program, "layout", "weights", "dtype", "fused", "mask", "truncate", "checkpoint"),
)}
"""Every target by name, a row each."""


def documents() -> list[str]:
    """The names of the document formats."""
    return [target.name for target in TARGETS.values() if not target.program]


def programs() -> list[str]:
    """The names of the program targets."""
    return [target.name for target in TARGETS.values() if target.program]


def languages() -> list[str]:
    """The codes of the document languages."""
    return list(LANGUAGES)


@bounded
def render(derivation: Derivation, target: str, lang: str = "en", accepted: Accepted | None = None,
           options: Options = PLAIN) -> str:
    """The derivation as one target, in a language where it has words; a document also says what Coq accepted, if given.

    Raises:
        ValueError: there is no such target or language, the target does not follow an option, or what Coq accepted is
            about another model.
    """
    if target not in TARGETS:
        raise ValueError(f"there is no target {target!r}; there are {', '.join(TARGETS)}")
    if lang not in LANGUAGES:
        raise ValueError(f"there is no language {lang!r}; there are {', '.join(LANGUAGES)}")
    options.followed_by(target, TARGETS[target].options)
    return TARGETS[target].make(derivation, lang, accepted, options)


@bounded
def everything(derivation: Derivation, accepted: Accepted | None = None) -> dict[Path, str]:
    """Every target by the path at which it stands below the folder of the model; what Coq accepted, if given, is told
    in the documents, and its text stands beside them.

    Raises:
        ValueError: it is about another model.
    """
    made = {target.path(derivation): target.make(derivation, "en", accepted, PLAIN) for target in TARGETS.values()}
    return made if accepted is None else made | {Path("certificate") / accepted.file: accepted.text}


def save(derivation: Derivation, folder: Path, accepted: Accepted | None = None) -> list[Path]:
    """Write every target below the folder of the model, each in a folder of its own; nothing when one cannot be made.
    A certificate that was written there of another model of this name is removed.

    Raises:
        OSError: the folder cannot be written.
    """
    made = {folder / path: text for path, text in everything(derivation, accepted).items()}
    write_all(made)
    certificate = folder / "certificate" / f"{derivation.model.name}.v"
    if certificate not in made and _is_outdated(certificate, derivation):
        certificate.unlink()
    return list(made)


def _is_outdated(certificate: Path, derivation: Derivation) -> bool:
    """Whether it is a file with a stamp, and that of another model."""
    if not certificate.is_file():
        return False
    with certificate.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    return first.startswith("(* Generated by symbptt ") and f"({fingerprint(derivation)})" not in first


def theorem(proved: ProvedStatement) -> str:
    """A theorem in plain text with the range of t and the assumptions under which it holds; a line a row."""
    writer = Writer(TEXT, LANGUAGES["en"])
    found = proved.theorem
    text = "\n".join(_equation(writer, left, right) for left, right in sides(found))
    needed = [f"for {_range(writer, found.hypotheses)}"] if found.hypotheses else []
    if found.assumptions:
        equations = [writer.value(Equal(a, b)) for a, b in sorted(found.assumptions, key=str)]
        needed.append(f"if {writer.language.joined(equations)}")
    needed += [f"{writer.symbols.variable(c.name)} ≠ 0" for c in excluded_zeros(proved.proof)]
    return unglued(f"{text}    {', '.join(needed)}") if needed else text


def _equation(writer: Writer, left: Matrix, right: Matrix) -> str:
    a, b, at_most = compared(left, right)
    return f"{writer.print(a)} {writer.symbols.at_most if at_most else writer.symbols.equal} {writer.print(b)}"


def _range(writer: Writer, forms: frozenset[Index]) -> str:
    lower, upper = ([f for f in forms if f.coefficient(t) == sign] for sign in (1, -1))
    if len(lower) == len(upper) == 1 and len(forms) == 2:
        return writer.value(When(t - lower[0], t + upper[0]))
    return ", ".join(writer.value(AtLeast(a, b)) for a, b in hypotheses(forms))


def theorems(found: Iterable[ProvedStatement], model: Model | None = None) -> Iterator[str]:
    """Theorems as lines of plain text: what is given, the definitions; with the model, what its derivatives assume; the
    theorems; how many there are.
    """
    writer = Writer(TEXT, words())
    listed = tuple(found)
    definitions = dict.fromkeys(d for q in listed for d in q.proof.definitions if d.name in q.theorem.used)
    if definitions:
        yield "Given"
    for d in definitions:
        line = f"{writer.print(d.left)} := {writer.print(d.right)}"
        yield line if d.lo is None or d.hi is None else \
            unglued(f"{line}    for {writer.value(When(d.lo, d.hi))}, 0 beyond")
    if model is not None and any(rests_on(model, q) for q in listed):
        yield ""
        yield writer.language.sentences["proofs_assumed_derivatives"]
        yield from map(unglued, derivatives.lines(writer, assumed(model)))
    yield ""
    if listed:
        yield "Proved"
    yield from map(theorem, listed)
    yield ""
    steps = sum(len(q.proof.steps) for q in listed)
    many = "" if len(listed) == 1 else "s"
    rows = sum(len(sides(q.theorem)) for q in listed)
    told = f"{len(listed)} theorem{many}{'' if rows == len(listed) else f' of {rows} equations'}"
    yield f"{told} proved; the kernel replayed {steps} steps" if listed else \
        "nothing recurs in this model: every gradient is a single step, and there is nothing to prove"


def replayed(found: Iterable[ProvedStatement]) -> Iterator[str]:
    """Replayed theorems as lines of plain text, each below its definitions; then what they rest on."""
    listed = tuple(found)
    if not listed:
        yield "the record holds no theorem"
        return
    for group in together(listed):
        yield from theorems(group)
        yield ""
    writer = Writer(TEXT, words())
    yield "Laws"
    for point in basis(listed):
        yield unglued(writer.sentence(point))


@bounded
def proofs(name: str, groups: Mapping[int | None, tuple[ProvedStatement, ...]], target: str,
           model: Model | None = None, accepted: Accepted | None = None) -> str:
    """The theorems of a model by the number of steps, None for every one: `brief`, with proofs as one of the document
    formats, or `json`, the form that can be replayed. With the model, what its derivatives assume is printed too; with
    what Coq accepted of it, all but the brief form say that.

    Raises:
        ValueError: there is no such form, or what Coq accepted is about another model.
    """
    if accepted is not None:
        accepted.of(model)
    if target == "json":
        return recorded(name, (q for found in groups.values() for q in found),
                        None if accepted is None else accepted.data())
    if target not in PROOFS:
        raise ValueError(f"there is no form {target!r} of proofs; there are {', '.join(proof_formats())} and brief")
    if target == "brief":
        return "".join(f"For {'every T' if steps is None else f'T = {steps}, every t'}:\n\n" +
                       "".join(f"{line}\n" for line in theorems(found, model)) + "\n"
                       for steps, found in groups.items())
    return proof_document(name, groups, PROOFS[target], model, accepted)


PROOFS = {"brief": TEXT, **{form.name: form for form in (TEXT, LATEX, MARKDOWN)}}


def proof_formats() -> list[str]:
    """The names of the forms in which whole proofs are written."""
    return [*(name for name in PROOFS if name != "brief"), "json"]


__all__ = ["TARGETS", "Target", "documents", "everything", "languages", "latex", "programs", "proof_formats",
           "proofs", "render", "replayed", "save", "theorem", "theorems"]
