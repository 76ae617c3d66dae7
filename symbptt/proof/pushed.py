"""A model to whose families something is added at every step: what a certificate says of values inside the network."""

from __future__ import annotations

from symbptt.expr.nodes import At, Matrix
from symbptt.proof import field as f
from symbptt.proof.meaning import Variable
from symbptt.proof.oracle import Oracle


class Pushed(Oracle):
    """The model at the point of the oracle with the same seed, with random columns added to what equations compute."""

    def added(self, e: At) -> f.Array:
        """What is added to a member of a family."""
        return self.random(self.shape(e), "added", e.family.name, e.time.const)

    def _new_value(self, of: Variable, e: Matrix) -> f.Array:
        found = super()._new_value(of, e)
        name, time = of
        if self._equation(of) is None or self.model is None or time is None or time < 1:
            return found
        return f.added(found, self.added(At(self.model.families[name], time)))
