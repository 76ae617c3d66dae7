"""The rule table proves itself: a theorem for every operation that an equation of a model can hold.

With <A, B> = tr(AᵀB), the two halves of a row say the same when <g, d e> = Σ <pull-back to A, d A> over the operands A.
Both sides are linear in g and in every d A, and rank-one matrices span all others. So each theorem takes d A = a bᵀ for
a matrix operand, d v for a column, and g = u vᵀ, or the column u; then <P, a bᵀ> = aᵀ P b, and the theorem reads

    uᵀ (d e) v = Σ_A aᵀ (pull-back to A) b,

an equation between 1 × 1 matrices. It ties the halves of a row to each other. That the differential is the derivative
is another matter: of sums and products it is the increment in each operand, of which `proof.increments` has theorems;
for a function φ of one entry the row assumes φ', for a function of a column its Jacobian matrix, for an opaque loss
its gradient ∂ℓ/∂o.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sympy import MatrixSymbol, Rational, Symbol

from symbptt.bptt.rules import RULES, differential, pull_back
from symbptt.expr.build import apply, loss, plus, selection, stacked, times, transpose
from symbptt.expr.nodes import (
    ONE,
    Apply,
    Block,
    Hadamard,
    Identity,
    Loss,
    Matrix,
    Multiple,
    Node,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.model.functions import ENTRYWISE, LOSSES, VECTOR_FUNCTIONS
from symbptt.proof.account import ProvedStatement
from symbptt.proof.assumed import AssumedDerivative, assumed_by
from symbptt.proof.elementwise import equal
from symbptt.proof.kernel import check
from symbptt.proof.pairing import Scalars
from symbptt.proof.script import Script

H, Q, D = (Symbol(name, integer=True, positive=True) for name in "hqd")


@dataclass(frozen=True)
class RuleTheorem:
    """The pairing theorem of one row at one expression, and what it assumes."""

    rule: str
    expression: Matrix
    proved: ProvedStatement
    assumed: tuple[AssumedDerivative, ...]


def operands() -> dict[type[Node], tuple[Matrix, ...]]:
    """For every row of the table, expressions with generic operands whose outermost node it differentiates."""
    a, b, c, d, e = (MatrixSymbol(name, *shape) for name, shape in
                  {"A": (H, Q), "B": (Q, D), "C": (D, H), "D": (H, Q), "E": (Q, H)}.items())
    v, o, w, x, s = (MatrixSymbol(name, size, 1) for name, size in {"v": H, "o": H, "w": H, "x": Q, "s": ONE}.items())
    functions = [apply(name, z) for name in ENTRYWISE for z in (v, a)] + [apply(name, v) for name in VECTOR_FUNCTIONS]
    losses = [loss(name, *(o, v)[:len(row.arguments)]) for name, row in LOSSES.items()]
    return {
        Plus: (Plus(v, o), Plus(a, d), Plus(v, o, w)),
        Times: (Times(a, x), Times(a, b), Times(a, b, c), Times(transpose(v), o), Times(transpose(v), a, x)),
        Hadamard: (Hadamard(v, o), Hadamard(v, o, w), Hadamard(v, v), Hadamard(a, d), Hadamard(a, d, a),
                   Hadamard(a, transpose(e))),
        Apply: tuple(functions),
        Block: (stacked([v, x]), block([[a, v], [transpose(x), s]]), Times(selection(H, Q, H + Q), stacked([v, x]))),
        Scale: (Scale(Rational(-2, 3), v), Scale(Symbol("gamma"), a)),
        Multiple: (Multiple(s, v), Multiple(Times(transpose(v), o), w)),
        Transpose: (Transpose(v), Transpose(a)),
        Loss: (loss("l", o, v), loss("l", o), *losses, loss("squared_norm", a)),
        Zero: (Zero(H, Q), Plus(v, Zero(H, ONE))),
        Ones: (Ones(H, ONE), Plus(v, Ones(H, ONE))),
        Identity: (Identity(H), Times(Identity(H), a)),
    }


def change(v: MatrixSymbol) -> Matrix:
    """The direction dv of a column, a bᵀ of a matrix."""
    a, b = _ends(v)
    return a if b is None else Times(a, Transpose(b))


def _ends(v: MatrixSymbol, names: str = "ab") -> tuple[MatrixSymbol, MatrixSymbol | None]:
    """The columns a, b of a direction a bᵀ; dv and nothing for a column."""
    rows, columns = v.shape
    if columns == ONE:
        return MatrixSymbol(f"d{v.name}", rows, 1), None
    return MatrixSymbol(f"{names[0]}_{v.name}", rows, 1), MatrixSymbol(f"{names[1]}_{v.name}", columns, 1)


def pairing(e: Matrix) -> tuple[Matrix, Matrix]:
    """<g, d e> and Σ <pull-back to A, d A>, for g = u vᵀ, or the column u."""
    rows, columns = e.shape
    u = MatrixSymbol("g", rows, 1) if columns == ONE else MatrixSymbol("g_1", rows, 1)
    v = None if columns == ONE else MatrixSymbol("g_2", columns, 1)
    g = u if v is None else Times(u, Transpose(v))
    left = _between(u, differential(e, change), v)
    sent = [_between(a, pulled, b) for leaf, pulled, _ in pull_back(e, g) for a, b in [_ends(leaf)]]
    return left, plus(sent, like=Zero(ONE, ONE))


def _between(a: Matrix, middle: Matrix, b: Matrix | None) -> Matrix:
    return times(transpose(a), middle) if b is None else times(transpose(a), middle, b)


class Rows:
    """The proofs, in a script without definitions."""

    def __init__(self) -> None:
        self.script = Script(())
        self.scalars = Scalars(self.script)

    def proved(self, rule: str, e: Matrix) -> RuleTheorem:
        """The theorem of a row at an expression.

        Raises:
            Refused: the two halves of the row do not agree.
        """
        proof = self.script.proof(equal(self.scalars, *pairing(e)))
        return RuleTheorem(rule, e, ProvedStatement(f"{rule} {e}", check(proof), proof), tuple(assumed_by([e])))


def rule_theorems() -> Iterator[RuleTheorem]:
    """The theorem of every row of the table, for each function and each loss that has a row of its own.

    Raises:
        Refused: a row is wrong.
    """
    rows = Rows()
    for kind, expressions in operands().items():
        for e in expressions:
            yield rows.proved(RULES[kind].name, e)
