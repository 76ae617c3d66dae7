"""The truncations that a certificate states: each splits a closed form at a window, and the halves are the engine's.

That kept and left out add up is what Coq proves. Which part of a sum it is that truncated back-propagation keeps is
compared here: by the ranges of the sums, and by value with what the engine proves of every window (truncation.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from symbptt.bptt.backward import template
from symbptt.bptt.closed import solve
from symbptt.expr.index import t
from symbptt.expr.nodes import Matrix
from symbptt.model.spec import Model
from symbptt.proof.declared import Scope
from symbptt.proof.evaluation import Astray, Evaluation
from symbptt.proof.oracle import Oracle
from symbptt.proof.reading import Term
from symbptt.proof.statement import Definition
from symbptt.proof.truncation import USES, Halves, every_window

FORM, TOTAL = "truncated_form", "truncated_sum_"
"""The names of the theorems: about the stacked adjoints, and about the gradient of a parameter."""

TRIED = {2: (0, 1, 3)}
"""The windows that are tried with so many steps: none, one use, more than there are steps; with others, two uses."""

HERE: Term = ("name", "t")
END: Term = ("successor", 1, ("name", "T"))


@dataclass(frozen=True)
class Stated:
    """A truncation as a text states it: the variable that counts uses, the left side, and both halves of the right."""

    name: str
    uses: str
    left: Term
    kept: Term
    left_out: Term


def stated(name: str, uses: str, equation: Term, closed: Term | None = None) -> Stated:
    """A truncation, read; `closed` is the right side of the closed form that it must be about.

    Raises:
        Astray: its sums are not those over a window and over what lies behind it.
    """
    left, right = equation[2:]
    behind: Term = ("binary", "+", HERE, ("name", uses))
    inside: Term = ("apply", ("name", "minn"), (behind, END))
    kept, left_out, *once = [*summands(right), (), ()]
    near, far = words(kept, HERE, inside), words(left_out, behind, END)
    if not near or near != far or any(words(a, None, None) for a in once):
        raise Astray(f"the theorem {name} does not split its sums at a window of {uses} uses")
    if closed is not None and (once[2:] or near != words(closed, HERE, END)):
        raise Astray(f"the theorem {name} splits another sum than that of the closed form")
    return Stated(name, uses, left, kept, left_out)


def summands(e: Term) -> list[Term]:
    """The summands of a term, what is subtracted with its sign."""
    if e[:2] == ("binary", "-"):
        return [*summands(e[2]), ("minus", e[3])]
    return [*summands(e[2]), *summands(e[3])] if e[:2] == ("binary", "+") else [e]


def words(e: object, lo: Term | None, hi: Term | None) -> list[tuple[str, Term]]:
    """(index, body) of the sums over a range; of all sums where the range is not given."""
    if not isinstance(e, tuple):
        return []
    if e[:1] == ("sum",) and (lo is None or (plain(e[1]), plain(e[3])) == (lo, hi)):
        return [(e[2], e[4])]
    return [word for a in e for word in words(a, lo, hi)]


def plain(e: Any) -> Any:
    """A term without the scopes of its numbers."""
    if not isinstance(e, tuple):
        return e
    return plain(e[2]) if e[:2] == ("postfix", "%N") else tuple(map(plain, e))


# By value.

@dataclass(frozen=True)
class Engine:
    """The truncations of a model by the names of their theorems, and the letters in which they are written."""

    halves: Mapping[str, Halves]
    letters: tuple[Definition, ...] = ()


def engine(model: Model) -> Engine:
    """What the engine proves of windows of any width; nothing where no adjoint recurs."""
    form = template(model)
    closed = solve(form)
    if closed is None:
        return Engine({})
    found = {f"{TOTAL}{name}" if name else FORM: halves for name, halves in every_window(form, closed)}
    return Engine(found, closed.letters)


def compared(texts: Mapping[str, Stated], of: Engine, run: Evaluation, scope: Scope, oracle: Oracle) -> None:
    """Compare the truncations of a text with those of the engine, at one random point.

    Raises:
        Astray: one is missing, one is none of the engine's, or the left side or a half is worth something else.
    """
    for name in [*(n for n in of.halves if n not in texts), *(n for n in texts if n not in of.halves)]:
        raise Astray(f"there is no theorem {name}" if name in of.halves else
                     f"the theorem {texts[name].name} is about a gradient that no window cuts")
    truth = Oracle(oracle.model, oracle.steps, oracle.seed, of.letters)
    truth.count = oracle.count
    for name, text in texts.items():
        halves = of.halves[name]
        for uses in TRIED.get(oracle.steps, (2,)):
            for time in range(1, oracle.steps + 1) if name == FORM else [0]:
                here = scope.inner(text.uses, uses).inner("t", time) if time else scope.inner(text.uses, uses)
                at = {USES: uses, t: time} if time else {USES: uses}
                for part, ours, theirs in _parts(text, halves):
                    if run(ours, here) != truth.value(theirs, at):
                        raise Astray(f"{part} {text.name} is not what the engine has (T = {oracle.steps}, "
                                     f"{uses} uses{f', t = {time}' if time else ''})")


def _parts(text: Stated, halves: Halves) -> Iterator[tuple[str, Term, Matrix]]:
    yield "what is kept by", text.kept, halves.kept
    yield "what is left out by", text.left_out, halves.left_out
    yield "the left side of", text.left, halves.whole
