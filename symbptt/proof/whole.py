"""What the losses send, paired with the changes of what they read, is the gradients paired with the directions.

    Σ_{t=1}^{T} Σ_v e_{v,t}ᵀ dv_t (+ <∂R/∂θ, dθ> for what a regulariser R reads) = Σ_θ <∂L/∂θ, dθ>

The left side is dL, the derivative along the directions dθ by the tangent recursion; so the gradients of the adjoint
recursion are the gradient of L. Rank-one directions span all others: dW = u vᵀ is assumed for each matrix W, so that
<∂L/∂W, dW> = uᵀ (∂L/∂W) v; a column has the direction db itself, and <∂L/∂b, db> = (∂L/∂b)ᵀ db.
"""

from __future__ import annotations

from collections.abc import Iterable

from sympy import MatrixSymbol

from symbptt.bptt.closed import LetterNames
from symbptt.expr.build import plus, times, transpose
from symbptt.expr.index import index, t
from symbptt.expr.nodes import ONE, Adjoint, At, Immediate, Matrix, Plus, Sum, Tangent, Times, Transpose
from symbptt.proof.elementwise import equal
from symbptt.proof.forward import before
from symbptt.proof.pairing import FIRST, LAST, UNIT, Pairing
from symbptt.proof.script import Ref


class Whole:
    """The proof for one model, from its pairing theorem."""

    def __init__(self, pairing: Pairing, taken: Iterable[str] = ()) -> None:
        self.pairing, self.script = pairing, pairing.script
        model = pairing.template.model
        # letters of closed forms stand in other theorems of the same file
        names = LetterNames(model, (*taken, *(d.name for d in self.script.definitions)))
        known = {d.left for d in self.script.definitions}
        self.variables = [v for v in (*model.parameters, *model.static) if Adjoint(v) in known]
        self.ends: dict[MatrixSymbol, tuple[Matrix, Matrix | None]] = {}
        for v in self.variables:
            rows, columns = v.shape
            self.ends[v] = (Tangent(v), None) if columns == ONE else (
                MatrixSymbol(names(f"u_{v.name}", f"p_{v.name}"), rows, 1),
                MatrixSymbol(names(f"v_{v.name}", f"q_{v.name}"), columns, 1))

    def prove(self) -> Ref:
        """The identity for every T, under dW = u vᵀ for every matrix that the gradients speak of.

        Raises:
            Refused: the steps do not go through.
        """
        s, paired = self.script, self.pairing.prove()
        extra = [self._paired(v, e.value) for v in self.variables for e in self.pairing.template.once[v.name]
                 if e.through is None]
        gradients = plus([self._paired(v, Adjoint(v)) for v in self.variables], like=UNIT)
        left = s.refl(s[paired].left) if not extra else s.refl(Plus(s[paired].left, *extra))
        done = s.chain(left, paired if not extra else s.congruence(s[left].right, {0: paired}))
        forward = s.then_rewrite(done, self._direct)
        forward = s.then_rewrite(forward, self._direction)
        backward = s.rewrite(gradients, self._gradient)
        a, b = self._gathered(s[forward].right), self._gathered(s[backward].right)
        return s.chain(forward, a, self._equal(s[a].right, s[b].right), s.sym(b), s.sym(backward))

    def _paired(self, v: MatrixSymbol, gradient: Matrix) -> Matrix:
        """<gradient, dv>."""
        a, b = self.ends[v]
        return times(transpose(gradient), a) if b is None else times(transpose(a), gradient, b)

    def _direct(self, e: Matrix) -> Ref | None:
        """The definitions of the direct parts, and of the changes of values before the first step."""
        if type(e) is Immediate:
            return self.script.apply("definition", (), str(type(e)(At(e.of.family, t))), e.of.time)
        found = before(self.script, e)
        return None if found is None else self.script.then_rewrite(found, self._direct)

    def _direction(self, e: Matrix) -> Ref | None:
        """dW = u vᵀ, assumed."""
        if type(e) is not Tangent or e.of not in self.ends or self.ends[e.of][1] is None:
            return None
        a, b = self.ends[e.of]
        return self.script.apply("assumption", (), e, Times(a, Transpose(b)))

    def _gradient(self, e: Matrix) -> Ref | None:
        known = type(e) is Adjoint and e.of in self.ends
        return self.script.apply("definition", (), str(e)) if known else None

    def _gathered(self, e: Matrix) -> Ref:
        """e = Σ_{t=1}^{T} (all bodies) + the words without a sum."""
        s, done = self.script, self.script.pull_sums(e)
        whole = s[done].right
        summands = whole.args if type(whole) is Plus else (whole,)
        sums = [a for a in summands if type(a) is Sum and a.args[1:] == (t, FIRST, LAST)]
        rest = [a for a in summands if a not in sums]
        if len(sums) < 2:
            return s.then_ring(done, plus((*sums, *rest)))
        together = s.sym(self.pairing.spread(Plus(*(a.body for a in sums))))
        grouped = s.then_ring(done, Plus(s[together].left, *rest) if rest else s[together].left)
        return s.chain(grouped, s.congruence(s[grouped].right, {0: together}) if rest else together)

    def _equal(self, left: Matrix, right: Matrix) -> Ref:
        """Σ_t a + x = Σ_t b + y, from a = b and x = y as sums of 1 × 1 words."""
        s, scalars = self.script, self.pairing.scalars
        (a, x), (b, y) = _parts(left), _parts(right)
        if a is None or b is None:
            return equal(scalars, left, right)
        summed = s.congruence(a, {0: s.entail(equal(scalars, a.body, b.body), (index(t) - 1, LAST - t))})
        if not x and not y:
            return summed
        other = equal(scalars, plus(x, like=UNIT), plus(y, like=UNIT))
        grouped = s.ring(left, Plus(a, s[other].left))
        return s.then_ring(s.chain(grouped, s.congruence(s[grouped].right, {0: summed, 1: other})), right)


def _parts(e: Matrix) -> tuple[Sum | None, list[Matrix]]:
    summands = e.args if type(e) is Plus else (e,)
    total = next((a for a in summands if type(a) is Sum), None)
    return total, [a for a in summands if a is not total]
