"""What `import symbptt` offers: functions, and a thin class around the record of a derivation."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from symbptt import derivation, gradients
from symbptt import derive as stages
from symbptt.expr.index import Index, index, t
from symbptt.expr.index import T as LAST
from symbptt.expr.nodes import Adjoint, At, Matrix, Times
from symbptt.expr.protocol import print_latex
from symbptt.expr.to_sympy import to_sympy
from symbptt.model import functions
from symbptt.model.depth import TooLarge
from symbptt.model.files import readable
from symbptt.model.from_sympy import Family, family, function, loss, model, softmax
from symbptt.model.locate import InputError
from symbptt.model.masked import masked
from symbptt.model.read import library, load, loads, source_text
from symbptt.model.spec import LossTerm, Model, ModelError
from symbptt.program.options import OptionError, Options
from symbptt.proof import kernel, record
from symbptt.proof.account import ProvedStatement
from symbptt.proof.afresh import afresh
from symbptt.proof.assumed import Assumed, rests_on
from symbptt.proof.axioms import Refused
from symbptt.proof.checker import CheckerError
from symbptt.proof.entries import RecordError
from symbptt.proof.record import together
from symbptt.proof.statement import Definition, Proof, Theorem
from symbptt.render import targets
from symbptt.render.accepted import Accepted, accepted
from symbptt.render.certificate import certificate
from symbptt.render.target import release

__all__ = [
    "Accepted", "Assumed", "CheckerError", "Definition", "Derivation", "Family", "InputError", "LossTerm", "Model",
    "ModelError", "Proof", "ProvedStatement", "RecordError", "Refused", "Statement", "Theorem", "TooLarge", "check",
    "derive", "family", "function", "library", "load", "loads", "loss", "model", "prove", "release", "replay",
    "rests_on", "softmax", "source_text", "to_sympy", "together",
]

print_latex(targets.latex)

LOSSES = tuple(functions.LOSSES)
"""The losses with a meaning of their own."""
WRITTEN_OUT = stages.WRITTEN_OUT
"""Up to this T a derivation writes every t out, with a theorem for each; above, `prove` does, in one theorem."""
EQUATIONS, WORDS = stages.EQUATIONS, derivation.WORDS
"""How many equations are unrolled, and how many words written out in proofs, without being told to."""


@dataclass(frozen=True)
class Statement:
    """left = right, for lo ≤ t ≤ hi where these are given."""

    left: Matrix
    right: Matrix
    lo: Index | None = None
    hi: Index | None = None

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"

    def to_latex(self) -> str:
        """The equation in LaTeX, without delimiters."""
        return f"{targets.latex(self.left)} = {targets.latex(self.right)}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.to_latex()}$"


class Derivation:
    """All gradients of a model, their closed forms and the proofs. Made by `derive`; `record` holds the data.

    `accepted` is what Coq accepted of it, None where `certified` has not asked.
    """

    def __init__(self, data: derivation.Derivation, accepted: Accepted | None = None) -> None:
        self.record, self.accepted = data, accepted

    def __repr__(self) -> str:
        given = "symbolic T" if self.record.steps is None else f"T = {self.record.steps}"
        return f"<Derivation of {self.record.model.name}, {given}: {len(self.steps)} equations, " \
               f"{len(self.theorems)} theorems>"

    @property
    def model(self) -> Model:
        """The model."""
        return self.record.model

    @property
    def steps(self) -> tuple[derivation.Line, ...]:
        """The numbered equations in reading order, each with its edges and rules: data."""
        return self.record.lines

    def certificate(self) -> str:
        """A file for Coq that states the model and its gradients, and proves them, for every T.

        Raises:
            ValueError: the model holds something that certificates do not state.
        """
        return certificate(replace(self.record, steps=None))

    def certified(self) -> Derivation:
        """The same derivation after Coq has accepted its certificate, which its documents then quote.

        The statement of the certificate is compared with the model, then Coq checks it; both anew with every call.

        Raises:
            Refused: the comparison or Coq refuses it.
            CheckerError: Coq cannot be run here; the message says what to install.
            ValueError: as `certificate`.
        """
        return Derivation(self.record, accepted(self.certificate(), self.model))

    @property
    def theorems(self) -> tuple[ProvedStatement, ...]:
        """What the kernel has proved, with the proofs."""
        return self.record.theorems

    def _line(self, kind: derivation.Kind, name: str, what: str) -> derivation.Line:
        known = dict.fromkeys(line.name for line in self.record.of_kind(kind))
        if name not in known:
            raise KeyError(f"{name!r} has no {what} in {self.model.name}; there is one for {', '.join(known)}")
        return self.record.line(kind, name)

    def recursion(self, name: str) -> Statement:
        """∂L/∂v_t from later adjoints, for 1 ≤ t ≤ T with ∂L/∂v_s = 0 for s > T.

        A family that a loss at the last step alone reads has another line for t = T, which stands among `steps`; its
        statement is for 1 ≤ t ≤ T - 1.

        Raises:
            KeyError: the model has no such family, or it never reaches the objective.
        """
        line = self._line("adjoint", name, "recursion")
        ends = name in gradients.read_at_the_end(self.model)
        return Statement(line.left, line.forms[-1], *((line.lo, line.hi) if ends else (Index(1), index(LAST))))

    def closed_form(self, name: str, from_the_end: bool = False) -> Statement:
        """∂L/∂v_t as a sum over later steps, for 1 ≤ t ≤ T; with several states or lags in blocks.

        With from_the_end the index counts from the end: (W_hhᵀ)^{T-i} … ∂L/∂o_{T+t-i}.

        Raises:
            KeyError: v is not carried, or nothing recurs.
        """
        closed = self.record.closed
        if closed is None or name not in closed.select:
            raise KeyError(f"{name!r} has no closed form of its own; carried families of {self.model.name}: "
                           f"{', '.join(closed.select) if closed is not None else 'none'}")
        line = self.record.line("reversed" if from_the_end else "closed")
        row = closed.select[name]
        if row is None:
            return Statement(line.left, line.forms[-1], line.lo, line.hi)
        member = Adjoint(At(self.model.families[name], t))
        return Statement(member, Times(row, line.forms[-1]), line.lo, line.hi)

    def immediate(self, name: str) -> Statement:
        """∂⁺v_t, what a change of the parameters changes in v_t by its use at step t alone; the direct derivative.

        Raises:
            KeyError: the model has no such family, or its equation uses no parameter.
        """
        if name in self.model.defined and not any(x.name == name for x in self.record.of_kind("immediate")):
            raise KeyError(f"the equation of {name} uses no parameter, so its direct change is zero")
        line = self._line("immediate", name, "direct change")
        return Statement(line.left, line.forms[-1], line.lo, line.hi)

    def tangent(self, name: str) -> Statement:
        """dv_t, what a change of the parameters changes in v_t by all uses up to step t; the total derivative.

        Raises:
            KeyError: the model has no such family, or no parameter reaches it.
        """
        line = self._line("tangent", name, "total change")
        return Statement(line.left, line.forms[-1], line.lo, line.hi)

    def gradient(self, name: str, time: int | None = None, expanded: bool = False) -> Matrix:
        """The gradient of a variable: "W_hh"; "h" at a time, or at symbolic t; "h_0" for an initial state.

        For a given T it is what the sweep over the unrolled graph found; for symbolic T it is taken from the template,
        for a time before the last step.
        With expanded it goes down to what the losses send: as words where each path is one word, else in blocks.

        Raises:
            KeyError: the model has no such variable.
            ValueError: the time is outside 1 … T, or no whole number.
        """
        time = _whole(time)
        return gradients.gradient(self.record, name, time) if not expanded else \
            gradients.expanded_gradient(self.record, name, time)

    def word_count(self, name: str, time: int) -> int:
        """How many words ∂L/∂v_time has when every path is written out, for the given T; nothing is built.

        Raises:
            KeyError, ValueError: as `gradient`; also when T is symbolic.
        """
        return gradients.word_count(self.record, name, _whole(time))

    def to_latex(self, lang: str = "en") -> str:
        """A complete LaTeX article."""
        return targets.render(self.record, "latex", lang, self.accepted)

    def to_markdown(self, lang: str = "en") -> str:
        """Markdown with math between dollar signs."""
        return targets.render(self.record, "markdown", lang, self.accepted)

    def to_text(self, lang: str = "en") -> str:
        """Plain text for a terminal."""
        return targets.render(self.record, "text", lang, self.accepted)

    def to_code(self, target: str = "numpy", **options: Any) -> str:
        """A self-contained module that computes the objective and every gradient.

        Args:
            target: its name.
            options: those of `symbptt emit`, such as layout="BTD"; docs/programs.md has all of them.

        Raises:
            ValueError: there is no such target, option or value, or the target or the model leaves no room for an
                option.
        """
        known = [field.name for field in fields(Options)]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ValueError(f"there is no option {unknown[0]}; there are {', '.join(known)}")
        chosen = Options(**options)
        record = self.record if chosen.mask is None else _derived_with_mask(self.model, chosen.mask)
        return targets.render(record, target, options=chosen)

    def proof_json(self) -> str:
        """All proofs in the form that `replay` reads, see docs/proof_format.md."""
        return self.proof_text("json")

    def proof_text(self, target: str = "text") -> str:
        """All proofs as a person reads them, as text, latex or markdown.

        Raises:
            ValueError: there is no such form.
        """
        return targets.proofs(self.model.name, {None: self.theorems}, target, self.model, self.accepted)

    def save(self, folder: str | Path) -> list[Path]:
        """Write every target below folder/<target>/; all of them or, when one cannot be rendered, none. If Coq has
        accepted the certificate, that too.

        Raises:
            OSError: the folder cannot be written.
        """
        return targets.save(self.record, Path(folder), self.accepted)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def derive(model: Model | str | Path, T: int | None = None, limit: int | None = stages.EQUATIONS,
           truncate: int | None = None) -> Derivation:
    """Derive every gradient of a model, or of a built-in or file by name, and prove the closed forms.

    Args:
        model: a Model, the name of a built-in one, or a path.
        T: a number of time steps adds that case, its gradients unrolled; up to T = 12 with a line for each, and a
            theorem for each t, above that `prove` writes the closed form out. None leaves T symbolic.
        limit: how many equations may be unrolled; None is no limit.
        truncate: a number of uses of the weights adds truncated back-propagation: what is kept, what is left out.

    Raises:
        InputError: the file is wrong; the message has file, line and column.
        ValueError: T or truncate is not an integer ≥ 1, or nothing recurs that could be truncated.
        TooLarge: T unrolls more than `limit` equations, or the equations of one step nest too deeply; the message says
            what it would cost, or what nests. So do the methods of a Derivation.
    """
    return Derivation(stages.derive(_model(model), T, limit, truncate))


def prove(model: Model | str | Path, T: int | None = None, limit: int | None = WORDS,
          truncate: int | None = None) -> tuple[ProvedStatement, ...]:
    """The theorems about a model, replayed by the kernel: for every T, or for a given T with every t written out.

    Up to T = 12 there is a theorem for each t, above that one theorem between columns with a row for each t.
    With truncate, for every T, those about truncated back-propagation too.

    Raises:
        InputError, ValueError, TooLarge: as `derive`.
        Refused: a theorem was not proved.
    """
    return stages.prove(_model(model), T, limit, truncate)


def replay(source: str | Path) -> tuple[ProvedStatement, ...]:
    """Replay recorded proofs: a path, or the text of a record, which begins with a brace. Nothing is derived.

    Each theorem is what the kernel has just proved. Where the model and the file are from is not known to it: a theorem
    speaks of the definitions in its proof.

    Raises:
        OSError: the file cannot be read, or is a named pipe or a device.
        RecordError: it is not of the form; the message says where.
        Refused: the kernel refuses a proof; the message names theorem, step and rule.
    """
    text = isinstance(source, str) and source.lstrip().startswith("{")
    return record.replayed(str(source) if text else record.opened(readable(Path(source))))


def check(proof: Proof | ProvedStatement) -> Theorem:
    """Replay a proof; only then does its theorem count.

    Raises:
        Refused: a step does not follow, a definition is not well founded, or the steps prove something else.
        TypeError: it is no proof.
    """
    data = proof.proof if isinstance(proof, ProvedStatement) else proof
    if not isinstance(data, Proof):
        raise TypeError(f"a proof is checked, such as derive(model).theorems[0].proof, not {type(proof).__name__}")
    try:
        return kernel.check(afresh(data))
    except RecursionError as error:
        raise Refused("the proof is nested too deeply") from error


def _derived_with_mask(model: Model, name: str) -> derivation.Derivation:
    """The derivation of a model whose samples have different lengths.

    Raises:
        OptionError: its losses leave no room for a mask of this name.
    """
    try:
        return stages.derive(masked(model, name))
    except ModelError as error:
        raise OptionError(f"--mask {name}: {error}") from error


def _whole(time: Any) -> Any:
    """A time as an int, whatever kind of integer it is.

    Raises:
        ValueError: it is none.
    """
    try:
        return time if time is None or isinstance(time, bool) else operator.index(time)
    except TypeError:
        raise ValueError(f"a time is a whole number from 1 to T, not {time!r}") from None


def _model(model: Model | str | Path) -> Model:
    if isinstance(model, str | Path):
        return load(model)
    if not isinstance(model, Model):
        raise TypeError(f"a model is a Model, the name of a built-in one or a path, not {type(model).__name__}")
    return model
