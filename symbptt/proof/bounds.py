"""How far gradients reach: the product of the step Jacobians is no larger than the product of the norms of its factors.

    ‖Π_{k=t+1}^{T} A_k B_k …‖ ≤ Π_{k=t+1}^{T} ‖A_k‖ ‖B_k‖ …        ‖A^{T-t}‖ ≤ ‖A‖^{T-t}

The product on the left is (∂h_T/∂h_t)ᵀ where one family is carried, A_k B_k = W_hhᵀ D_k for an Elman network; the bound
is that of Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks, eq. 6. It holds in
every operator norm. a ≤ b is written max(a, b) = b, so that it is an equation as all theorems are.
"""

from __future__ import annotations

from symbptt.bptt.closed import ClosedForm
from symbptt.expr.build import times
from symbptt.expr.index import Index, index, t
from symbptt.expr.nodes import Matrix, Maximum, Norm, Power, Product, Times
from symbptt.expr.walk import substitute
from symbptt.proof.script import Ref, Script


def bound(closed: ClosedForm, lo: Index, hi: Index) -> Matrix:
    """Π_{k=lo}^{hi} of the norms of the factors of the transition, a power when it is constant."""
    norms = times(*map(Norm, factors(closed.transition)))
    if closed.constant:
        return Power(norms, hi - lo + 1)
    k = closed.bound[1]
    return Product(substitute(norms, {t: index(k)}), k, lo, hi)


def factors(transition: Matrix) -> tuple[Matrix, ...]:
    """The factors of a step Jacobian."""
    return transition.args if type(transition) is Times else (transition,)


class Bounds:
    """The proof for one closed form up to the last step; the script need know no definition."""

    def __init__(self, closed: ClosedForm, last: Index, script: Script) -> None:
        self.closed, self.last, self.script = closed, last, script

    def statement(self, lo: Index) -> tuple[Matrix, Matrix]:
        """The norm of the product from `lo` to the last step, and what is no smaller."""
        return Norm(self.closed.run(lo, self.last)), bound(self.closed, lo, self.last)

    def prove(self) -> Ref:
        """For 1 ≤ t ≤ T: the bound, by induction downward from T, where both sides are empty.

        Raises:
            Refused: the steps do not go through.
        """
        s, here = self.script, index(t)
        small, large = self.statement(here + 1)
        known = s.apply("assumption", (), *self._at_most(here + 2))
        here_first, ahead_first = self._opened(small.args[0], here + 1), self._opened(large, here + 1)
        flat = self._flat(s[here_first].right)
        split = s.congruence(small, {0: s.chain(here_first, flat)})
        pieces = s[flat].right.args
        law = s.axiom("norm_times", *pieces)
        further = self._multiplied(pieces[:-1], known)
        shut = s.chain(ahead_first, self._flat(s[ahead_first].right))
        done = self._chained(law, further)
        goal = s.congruence(Maximum(small, large), {0: split, 1: shut})
        step = s.chain(goal, done, s.sym(shut))
        inside = (here - 1, self.last - 1 - t)
        return s.apply("induction_down", (self._base(), s.entail(step, inside)), Index(1), self.last)

    def _at_most(self, lo: Index) -> tuple[Matrix, Matrix]:
        small, large = self.statement(lo)
        return Maximum(small, large), large

    def _opened(self, run: Matrix, lo: Index) -> Ref:
        """hi - lo ≥ 0 ⊢ Π_{lo}^{hi} A_k = A_lo Π_{lo+1}^{hi} A_k."""
        s = self.script
        if type(run) is Power:
            return s.sym(s.axiom("power_step", run.args[0], self.last - lo))
        return s.sym(s.axiom("product_first", *run.args))

    def _flat(self, product: Matrix) -> Ref:
        """(A B) C = A B C."""
        first, rest = product.args
        return self.script.ring(product, Times(*factors(first), rest))

    def _multiplied(self, parts: tuple[Matrix, ...], known: Ref) -> Ref:
        """From a ≤ b: ‖A‖ ‖B‖ … a ≤ ‖A‖ ‖B‖ … b."""
        s, done = self.script, known
        (small, large), norms = s[known].left.args, tuple(map(Norm, parts))
        for a in reversed(parts):
            spread = s.sym(s.axiom("max_times", a, *s[done].left.args))
            done = s.chain(spread, s.congruence(s[spread].right, {1: done}))
        whole = Maximum(Times(*norms, small), Times(*norms, large))
        nested = {k: s.ring(a, b) for k, (a, b) in enumerate(zip(whole.args, s[done].left.args, strict=True)) if a != b}
        done = s.chain(s.congruence(whole, nested), done) if nested else done
        return s.then_ring(done, whole.args[1])

    def _chained(self, first: Ref, second: Ref) -> Ref:
        """From a ≤ b and b ≤ c: a ≤ c."""
        s = self.script
        a, c = s[first].left.args[0], s[second].right
        opened = s.congruence(Maximum(a, c), {1: s.sym(second)})
        moved = s.axiom("max_associative", *[a, *s[second].left.args])
        joined = s.congruence(s[moved].right, {0: first})
        return s.chain(opened, moved, joined, second)

    def _base(self) -> Ref:
        """‖I‖ ≤ 1."""
        s, (small, large) = self.script, self.statement(self.last + 1)
        empty = [s.axiom("power_zero", run.args[0]) if type(run) is Power else s.axiom("product_empty", *run.args[:3])
                 for run in (small.args[0], large)]
        whole = s.congruence(Maximum(small, large), {0: s.congruence(small, {0: empty[0]}), 1: empty[1]})
        return s.chain(whole, s.axiom("norm_identity", self.closed.transition.shape[0]), s.sym(empty[1]))
