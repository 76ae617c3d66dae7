"""Single gradients out of a derivation: as derived, expanded down to what the losses send, and in how many words."""

from __future__ import annotations

from math import prod

from symbptt.bptt.backward import AdjointStep, Gradient, template
from symbptt.bptt.closed import solve, terminal
from symbptt.derivation import Derivation, Kind
from symbptt.expr.build import children, rebuild
from symbptt.expr.index import Index, t
from symbptt.expr.nodes import Adjoint, At, Derivative, Direct, Matrix, Transpose, Zero
from symbptt.expr.walk import substitute, visit
from symbptt.model.depth import bounded
from symbptt.model.spec import Model
from symbptt.proof.kernel import words
from symbptt.proof.prover import Prover
from symbptt.proof.script import expanded


@bounded
def gradient(derivation: Derivation, name: str, time: int | None = None) -> Matrix:
    """∂L/∂v from the adjoints of later equations.

    Raises:
        KeyError: the model has no such variable.
        ValueError: the time is outside 1 … T.
    """
    member = _member(derivation, name, time)
    if derivation.steps is not None and not _symbolic(member):
        step = derivation.unrolled.get(Adjoint(member))
        return step.right if step is not None else Zero(*member.shape)
    kind: Kind = "initial" if isinstance(member, At) and not member.time.terms and time is None else \
        "adjoint" if isinstance(member, At) else "gradient"
    try:
        right = derivation.line(kind, name).forms[-1]
    except KeyError:
        return Zero(*member.shape)
    return right if time is None else substitute(right, {t: Index(time)})


def read_at_the_end(model: Model) -> frozenset[str]:
    """The families that losses at the last step alone read: ∂L/∂v_T has a summand that ∂L/∂v_t has not."""
    return frozenset(str(node.family.name) for term in model.losses if term.reduce == "last"
                     for node in visit(term.loss) if isinstance(node, At))


@bounded
def expanded_gradient(derivation: Derivation, name: str, time: int | None = None) -> Matrix:
    """∂L/∂v from what the losses send: as words where each path is one word, else in blocks.

    Raises:
        KeyError, ValueError: as `gradient`.
    """
    member = _member(derivation, name, time)
    blocks = derivation.closed is not None and bool(derivation.closed.letters)
    if derivation.steps is not None and not blocks and not _symbolic(member):
        return _spelled(derivation, Adjoint(member))
    return _in_closed_form(derivation, name, member, time)


def _in_closed_form(derivation: Derivation, name: str, member: Matrix, time: int | None) -> Matrix:
    form = template(derivation.model)
    if name in derivation.model.defined and terminal(form, name):
        return gradient(derivation, name, time)
    last = None if derivation.steps is None or _symbolic(member) else Index(derivation.steps)
    prover = Prover(form, solve(form), last)
    known = {d.left for d in prover.script.definitions}
    general = Adjoint(At(member.family, t)) if isinstance(member, At) and time is not None else Adjoint(member)
    if general not in known:
        return Zero(*member.shape)
    ref = prover.total(name) if name in derivation.model.defined else prover.gradient(general)
    right = prover.script[ref].right
    return right if time is None else substitute(right, {t: Index(time)})


def _symbolic(member: Matrix) -> bool:
    return isinstance(member, At) and bool(member.time.terms)


def _member(derivation: Derivation, name: str, time: int | None) -> Matrix:
    if time is not None and name not in derivation.model.families:
        member = derivation.member(name)
        raise ValueError(f"{name} has no time of its own; ask for gradient({name!r})")
    member = derivation.member(name, time)
    last = derivation.steps
    if time is not None and (isinstance(time, bool) or time < 1 or (last is not None and time > last)):
        raise ValueError(f"there is no {name} at t = {time}; t runs from 1 to {last if last is not None else 'T'}"
                         f" (initial states are called {name}_0, {name}_m1, …)")
    if isinstance(member, At) and member.family in derivation.model.targets:
        raise KeyError(f"{name} is a target; targets carry no gradient")
    return member


@bounded
def word_count(derivation: Derivation, name: str, time: int | None = None) -> int:
    """The number of words of the gradient when every path is written out, for the given T. Nothing is built.

    Raises:
        KeyError, ValueError: as `gradient`; also when T is symbolic.
    """
    if derivation.steps is None:
        raise ValueError("how many words a gradient has depends on T; derive with a given T")
    member = _member(derivation, name, time)
    counts: dict[Matrix, int] = {}
    for left, step in derivation.unrolled.items():
        counts[left] = 1 if _terminal(step) else sum(_paths(e.value, counts) for e in step.edges)
    return counts.get(Adjoint(member), 0)


def _paths(value: Matrix, counts: dict[Matrix, int]) -> int:
    return sum(prod(counts.get(a.args[0] if type(a) is Transpose else a, 1) for a in word) for word in words(value))


def _terminal(step: AdjointStep) -> bool:
    """Whether the paths end at this gradient: it is what the losses send."""
    return isinstance(step.left, Direct) or all(e.through is None and type(e.value) is not Direct for e in step.edges)


def _spelled(derivation: Derivation, wanted: Gradient) -> Matrix:
    """Every adjoint on the way replaced by its words; the sweep's order has consumers first."""
    known: dict[Matrix, Matrix] = {}
    for left, step in derivation.unrolled.items():
        known[left] = left if _terminal(step) else expanded(_replaced(step.right, known))
        if left == wanted:
            return step.right if _terminal(step) else known[left]
    return Zero(*wanted.shape)


def _replaced(e: Matrix, known: dict[Matrix, Matrix]) -> Matrix:
    if e in known:
        return known[e]
    operands = children(e) if not isinstance(e, Derivative) else ()
    return rebuild(e, tuple(_replaced(a, known) for a in operands)) if operands else e
