"""An expression as a proof: the lemmas of the rule table, one for each operation, nested as the operations are.

The proof says how the curve of the expression, when the parameters move along a line, passes its point: its value
there, and for every cotangent what the rules of reverse mode send to the tangents of what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sympy import Expr, MatrixSymbol

from symbptt.expr import nodes
from symbptt.expr.nodes import At, Identity, Matrix, Ones, Scale, Zero
from symbptt.model.functions import FUNCTIONS, LOSSES
from symbptt.model.spec import Model
from symbptt.render.certificate_math import Level, Printer, moves, not_covered, scalar
from symbptt.render.certificate_model import Statement
from symbptt.render.certificate_names import EXTENSIONS

OPAQUE = {(1, 1): "", (2, 0): "2", **{(k, j): f"{k}_{j}" for k, j in ((1, 0), (1, 2), (1, 3), (2, 1), (2, 2), (3, 0),
                                                                     (3, 1))}}
"""For each number of moving and fixed arguments of an opaque loss, the end of the names of its extension and lemma."""

EXTRA = {"leaky_relu": 2}
"""How many scalars the lemma of a function takes beside the functions of its slope."""


class Terms:
    """Proof terms at one level. `member` gives the proof for a family member, `kinks` the proofs that no argument of a
    function is at a kink, `assumed` the proof that the gradient of an opaque loss is one.

    Left to show is that scalars do not move along the line.
    """

    def __init__(self, made: Statement, member: Callable[[At], str], printer: Printer, real: bool,
                 kinks: Callable[[nodes.Apply], list[str]], assumed: Callable[[nodes.Loss], str]) -> None:
        self.made, self.member, self.printer, self.real = made, member, printer, real
        self.kinks, self.assumed = kinks, assumed

    def __call__(self, e: Matrix, value: str = "erefl") -> str:
        """The proof for e; for a function of a matrix, `value` proves that what stands for e is its value."""
        if isinstance(e, MatrixSymbol):
            return "(pull_line _ _)"
        if type(e) is nodes.Apply:
            return self.apply(e, value)
        return TERMS[type(e)](self, e)

    def at(self, e: At) -> str:
        """A family member."""
        return self.member(e)

    def apply(self, e: nodes.Apply, value: str) -> str:
        """A function."""
        name = str(e.args[0])
        blanks = "" if self.real else " _" * (len(EXTENSIONS[name]) + EXTRA.get(name, 0))
        conditions = "".join(f" {c}" for c in self.kinks(e))
        return f"(pull_{name}{blanks} {self(e.args[1])} {value}{conditions})"

    def plus(self, e: nodes.Plus) -> str:
        """A + B - C."""
        text = ""
        for k, a in enumerate(e.args):
            minus = type(a) is Scale and bool(a.args[0].could_extract_minus_sign())
            part = self.scaled(-a.args[0], a.args[1]) if minus else self(a)
            if k == 0:
                text = f"(pullN {part})" if minus else part
            else:
                text = f"({'pullB' if minus else 'pullD'} {text} {part})"
        return text

    def scaled(self, c: Expr, body: Matrix) -> str:
        """C A, as it is printed: - (c A) for a negative scalar."""
        if c == 1:
            return self(body)
        if c.could_extract_minus_sign():
            return f"(pullN {self.scaled(-c, body)})"
        k = scalar(self.made.names, c).at(Level.ATOM)
        return f"(pull_scale_eq (k := {k}) _ {self(body)})"

    def times(self, e: nodes.Times) -> str:
        """A B C."""
        return nested("pullM", map(self, e.args))

    def block(self, e: nodes.Block) -> str:
        """Blocks at their places."""
        many, wide = len(e.rows) > 1, len(e.rows[0]) > 1
        parts = []
        for row in e.rows:
            for a in row:
                if type(a) is not Zero:
                    inner = [] if type(a) is Identity and (many or wide) else [self(a)]
                    factors = ["(pull_sel _ _ _ _)"] * many + inner + ["(pull_tr (pull_sel _ _ _ _))"] * wide
                    parts.append(nested("pullM", factors))
        return nested("pullD", parts) if parts else "(pull_0 _ _ _)"

    def loss(self, e: nodes.Loss) -> str:
        """A loss: its definition, or what is assumed of one without."""
        if e.name in LOSSES:
            return self(LOSSES[e.name].definition(*e.args[1:]))
        model, names = self.made.model, self.made.names
        kind = opaque_kind(model, e)
        moving = [k for k, a in enumerate(e.args[1:]) if moves(model, a)]
        gradients = [names.loss_gradient(e, k) for k in moving]
        fixed = [self.printer.piece(a).at(Level.ATOM) for a in e.args[1 + len(moving):]]
        operands = [self(e.args[1 + k]) for k in moving]
        if self.real:
            operands.append(self.assumed(e))
        term = f"(pull_opaque{kind} {' '.join([names.loss(e), *gradients, *fixed, *operands])})"
        for k, text in enumerate(fixed):
            if text.startswith("(at_lag") and not self.real:
                blanks = ["_"] * len(moving + fixed[:k]) + ["lagged"] + ["_"] * len(fixed[k + 1:])
                loss = " ".join([f"ext_loss{kind}", names.loss(e), *gradients, *blanks])
                equal = f"(congr1 (fun lagged => const_mx ({loss}) : 'M_1) (esym (at_lag_map _ _ _ _ _)))"
                term = f"(pull_eq {equal} {term})"
        return term

    def sum(self, e: nodes.Sum) -> str:
        """A sum over the steps, whose body is read at times from 1 to T."""
        return f"(pull_sum (fun t (tT : (1 <= t < T.+1)%N) => {self(e.body)}))"

    def outside(self, e: Any) -> str:
        """What no equation holds."""
        raise not_covered(f"{type(e).__name__} nodes in equations: {e}")


TERMS: dict[type, Callable[[Terms, Any], str]] = {
    At: Terms.at, nodes.Loss: Terms.loss, nodes.LossGradient: Terms.outside, nodes.Adjoint: Terms.outside,
    nodes.Direct: Terms.outside, nodes.Tangent: Terms.outside, nodes.Immediate: Terms.outside,
    nodes.Chain: Terms.outside, nodes.Plus: Terms.plus, nodes.Times: Terms.times,
    nodes.Hadamard: lambda p, e: nested("pull_had", map(p, e.args)),
    nodes.Apply: lambda p, e: p.apply(e, "erefl"), nodes.Diagonal: lambda p, e: f"(pull_dg {p(e.args[0])})",
    Scale: lambda p, e: p.scaled(*e.args),
    nodes.Multiple: lambda p, e: f"(pull_msc {p(e.args[0])} {p(e.args[1])})",
    nodes.Transpose: lambda p, e: f"(pull_tr {p(e.args[0])})", Zero: lambda _p, _e: "(pull_0 _ _ _)",
    Ones: lambda _p, _e: "(pull_ones _ _ _)", Identity: lambda _p, _e: "(pull_1 _ _)", nodes.Power: Terms.outside,
    nodes.Delta: Terms.outside, nodes.Norm: Terms.outside, nodes.Maximum: Terms.outside, nodes.Sum: Terms.sum,
    nodes.Product: Terms.outside, nodes.Block: Terms.block,
}
"""The lemma of each class of the vocabulary."""

KINKED = frozenset(name for name, function in FUNCTIONS.items() if function.kinks)
"""The functions whose lemma needs, over the reals, that no entry is at a kink."""


def opaque_kind(model: Model, e: nodes.Loss) -> str:
    """The end of the name of the library's lemma for an opaque loss: how many arguments move, and how many do not.

    Raises:
        NotCovered: there is no such lemma.
    """
    moving = [k for k, a in enumerate(e.args[1:]) if moves(model, a)]
    counts = len(moving), len(e.args) - 1 - len(moving)
    if counts not in OPAQUE or moving != list(range(counts[0])):
        raise not_covered(f"the loss {e}: what carries a gradient stands first, then targets, and both number at most "
                          "1 and 3, 2 and 2, or 3 and 1")
    return OPAQUE[counts]


def nested(lemma: str, parts: Iterable[str]) -> str:
    """A binary lemma over several operands, from the left."""
    first, *rest = parts
    for part in rest:
        first = f"({lemma} {first} {part})"
    return first
