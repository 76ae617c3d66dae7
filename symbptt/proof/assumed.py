"""What the rule table takes for granted: the derivatives of functions and the gradients of opaque losses.

No theorem of the kernel holds these. They are what makes the recursions those of the derivative: the rows of
`model.functions` give φ', and a loss of which nothing is known has ∂ℓ/∂o as its gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sympy import Integer, MatrixSymbol, Symbol

from symbptt.bptt.closed import LetterNames
from symbptt.expr.build import apply
from symbptt.expr.nodes import Apply, At, Immediate, Loss, LossGradient, Matrix, Tangent
from symbptt.expr.walk import visit
from symbptt.model.functions import ENTRYWISE, LOSSES, VECTOR_FUNCTIONS
from symbptt.model.spec import Model
from symbptt.proof.account import ProvedStatement

LETTERS = ("z", "a", "s", "v", "zeta", "omega")
"""What the argument of a function is called, whichever name is free."""


@dataclass(frozen=True)
class AssumedDerivative:
    """What a row of the table takes for granted: value' = derivative at z, with its source.

    For a function of one entry, derivative is φ'(z), entry by entry; at the points `kinks`, where φ has none, the
    convention stands for it. For a function of a column (`entrywise` false) it is the transpose of the Jacobian matrix.
    """

    name: str
    argument: MatrixSymbol
    value: Matrix
    derivative: Matrix
    source: str
    entrywise: bool = True
    kinks: tuple[int, ...] = ()
    convention: str = ""


@dataclass(frozen=True)
class AssumedLoss:
    """A loss that is differentiable, and of which nothing else is known; ∂ℓ/∂o for each argument that has gradients."""

    loss: Matrix
    gradients: tuple[Matrix, ...]


@dataclass(frozen=True)
class Assumed:
    """The derivatives of functions and the losses, each once."""

    derivatives: tuple[AssumedDerivative, ...] = ()
    losses: tuple[AssumedLoss, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.derivatives or self.losses)


def assumed_by(expressions: Iterable[Matrix], letter: str = LETTERS[0]) -> Iterator[AssumedDerivative]:
    """The derivatives that the rows of the table assume in these expressions."""
    parts = [part for e in expressions for part in visit(e)]
    for part in list(parts):
        if type(part) is Loss and part.name in LOSSES:
            parts += visit(LOSSES[part.name].definition(*part.args[1:]))
    z = MatrixSymbol(letter, Symbol("n", integer=True, positive=True), 1)
    yield from (_assumed(name, z) for name in dict.fromkeys(str(p.args[0]) for p in parts if type(p) is Apply))


def _assumed(name: str, z: MatrixSymbol) -> AssumedDerivative:
    value = apply(name, z)
    if name in VECTOR_FUNCTIONS:
        vector = VECTOR_FUNCTIONS[name]
        return AssumedDerivative(name, z, value, vector.jacobian(z, value), vector.source, False)
    row = ENTRYWISE[name]
    return AssumedDerivative(name, z, value, row.slope(z, value), row.source, True, row.kinks, row.convention)


def assumed_derivatives(model: Model) -> tuple[AssumedDerivative, ...]:
    """The derivatives of functions that the gradients of a model rest on, each once, in the order of the equations."""
    sides = [e.right for e in (*model.equations, *model.computed)]
    return tuple(assumed_by([*sides, *(term.loss for term in model.losses)], LetterNames(model)(*LETTERS)))


def assumed_losses(model: Model) -> tuple[AssumedLoss, ...]:
    """The opaque losses of a model, each once."""
    data = frozenset(v.name for v in model.targets)
    losses = dict.fromkeys(term.loss for term in model.losses if term.opaque)
    return tuple(AssumedLoss(loss, tuple(
        LossGradient(loss, Integer(k)) for k, a in enumerate(loss.args[1:])
        if type(a) is not At or a.family.name not in data)) for loss in losses)


def assumed(model: Model) -> Assumed:
    """All that the gradients of a model rest on beside its theorems."""
    return Assumed(assumed_derivatives(model), assumed_losses(model))


def rests_on(model: Model, q: ProvedStatement) -> Assumed:
    """What makes a theorem about changes one about derivatives.

    The pairing of gradients and changes, and that of gradients and directions, speak of dL: all functions and losses.
    The forward recursion solved speaks of the changes that it unfolds: the functions in the equations of these.
    Of other theorems both sides are gradients, and nothing is needed to prove them equal.
    """
    kind = q.key.partition(" ")[0]
    if kind in ("pairing", "directions"):
        return assumed(model)
    if kind != "forward":
        return Assumed()
    changed = {d.left.of for d in q.proof.definitions if type(d.left) in (Tangent, Immediate)
               and d.name in q.theorem.used}
    names = {row.name for row in assumed_by(e.right for e in (*model.equations, *model.computed) if e.left in changed)}
    return Assumed(tuple(row for row in assumed_derivatives(model) if row.name in names))
