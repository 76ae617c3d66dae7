"""Models, theorems and definitions as values for a program to read, and a summand of the objective in words."""

from __future__ import annotations

from symbptt.model.spec import LossTerm, Model
from symbptt.proof.account import ProvedStatement
from symbptt.proof.alike import excluded_zeros
from symbptt.proof.assumed import Assumed
from symbptt.proof.statement import Definition
from symbptt.render.proof import sides


def described(m: Model) -> dict[str, object]:
    """A model for a program to read."""
    return {"name": m.name, "title": m.title, "source": m.source,
            "equations": {e.name: str(e.right) for e in m.equations},
            "initial": {str(e.left): str(e.right) for e in m.computed},
            "losses": [{"term": str(term.loss), "weight": str(term.weight), "reduce": term.reduce,
                        "mask": None if term.mask is None else str(term.mask.name),
                        "assume": [f"sum({y.name}) == 1" for y in term.assume]} for term in m.losses]}


def summand(term: LossTerm) -> str:
    """A summand of the objective in words."""
    whole = f"{'' if term.weight == 1 else f'{term.weight}*'}{term.loss}"
    steps = "t" if term.mask is None else f"the t with {term.mask.name}[t] = 1"
    return {"mean": f"the mean over {steps} of {whole}", "sum": f"the sum over {steps} of {whole}",
            "last": f"{whole} at t = T", "once": whole}[term.reduce]


def summary(q: ProvedStatement, title: str | None = None) -> dict[str, object]:
    """A theorem for a program to read."""
    return {"theorem": q.key, **({} if title is None else {"for": title}),
            "left": str(q.theorem.left), "right": str(q.theorem.right),
            **({"equations": rows} if (rows := len(sides(q.theorem))) > 1 else {}),
            "hypotheses": sorted(f"{h} >= 0" for h in q.theorem.hypotheses),
            "assumptions": sorted(f"{a} = {b}" for a, b in q.theorem.assumptions),
            **({"nonzero": list(map(str, zeros))} if (zeros := excluded_zeros(q.proof)) else {}),
            "rests_on": sorted(q.theorem.used), "steps": len(q.proof.steps)}


def derivatives(found: Assumed) -> dict[str, object]:
    """What a theorem assumes of functions and losses, for a program to read; nothing where it assumes nothing."""
    rows: list[dict[str, object]] = [
        {"of": str(d.value), ("derivative" if d.entrywise else "transposed_jacobian"): str(d.derivative),
         "source": d.source, **({"undefined_at": list(d.kinks), "convention": d.convention} if d.kinks else {})}
        for d in found.derivatives]
    rows += [{"of": str(d.loss), "gradients": list(map(str, d.gradients))} for d in found.losses]
    return {"derivatives": rows} if rows else {}


def defined(d: Definition) -> dict[str, object]:
    """A definition for a program to read; beyond hi what a recursion defines is zero."""
    return {"name": d.name, "left": str(d.left), "right": str(d.right),
            **{k: None if v is None else str(v) for k, v in (("lo", d.lo), ("hi", d.hi))}}
