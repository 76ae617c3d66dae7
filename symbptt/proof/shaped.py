"""The types that a certificate declares, compared with the shapes in the model."""

from __future__ import annotations

import operator
from typing import Any

from sympy import Expr, Integer, expand

from symbptt.model.spec import Model
from symbptt.proof.declared import Text
from symbptt.proof.evaluation import Astray
from symbptt.proof.premises import apart
from symbptt.proof.reading import Reader


def shapes(model: Model, text: Text) -> None:
    """Compare the types of parameters, data and states with the shapes in the model, as terms in the sizes.

    Raises:
        Astray: one is another.
    """
    symbols = {v.name: v for v in (*model.parameters, *model.static, *model.families.values())}
    sizes = {s.name: s.symbol for s in model.sizes}

    def size(e: Any) -> Expr:
        if e[0] == "number":
            return Integer(e[1])
        if e[0] == "name":
            return sizes[apart(e[1], "n_")]
        return {"+": operator.add, "*": operator.mul}[e[1]](size(e[2]), size(e[3]))

    for record in ("given", "point", "state"):
        for raw, kind in text.records[record]:
            if raw.startswith(("fn_", "num_", "over_")):
                continue
            name = apart(raw, "ptpast_", "tgpast_", "pt_", "tg_", "st_", "of_")
            shape = Reader(kind.removeprefix("nat -> ")).matrix_type()
            if any(expand(size(a) - b) for a, b in zip(shape[1:], symbols[name].shape, strict=True)):
                raise Astray(f"the shape of {name} is not that of the model: {kind}")
