"""A model whose samples have different lengths: a mask says which steps are there, and no loss counts at the others."""

from __future__ import annotations

from dataclasses import replace

from sympy import MatrixSymbol

from symbptt.expr.nodes import ONE
from symbptt.model.names import check_variable_name
from symbptt.model.spec import LossTerm, Model, ModelError


def masked(model: Model, name: str) -> Model:
    """The model with a mask on every loss over time: a sum counts the steps that it keeps, a mean divides by them.

    Raises:
        ModelError: a loss has a mask already or is read at the last step alone, or the name is taken or no name.
    """
    variables = (*model.parameters, *model.static, *model.inputs, *model.targets, *model.constants)
    if name in {*(v.name for v in variables), *model.defined}:
        raise ModelError(f"the mask cannot be called {name}: the model has a {name} already")
    mask = MatrixSymbol(check_variable_name(name), ONE, ONE)
    return replace(model, targets=(*model.targets, mask),
                   losses=tuple(_masked(term, mask) for term in model.losses))


def _masked(term: LossTerm, mask: MatrixSymbol) -> LossTerm:
    if term.reduce == "once":
        return term
    if term.mask is not None:
        raise ModelError(f"the loss {term.loss} has the mask {term.mask.name} already; set it to 0 in the padding, and "
                         "ask for no other")
    if term.reduce == "last":
        raise ModelError(f"the loss {term.loss} is read at t = T alone, which is padding in a sample that ends "
                         "earlier; give it reduce = \"sum\" and, in the model, a mask that is 1 at the last step of "
                         "each sample")
    return replace(term, mask=mask)
