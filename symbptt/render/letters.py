"""What the letters of the two solved recurrences stand for, in sentences: of the gradients and of the changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from symbptt.bptt.backward import template
from symbptt.bptt.closed import ClosedForm
from symbptt.bptt.closed import solve as solved
from symbptt.bptt.tangent import flows
from symbptt.bptt.tangent import solve as solved_forward
from symbptt.expr.index import index, t
from symbptt.expr.nodes import Adjoint, At, Identity, Matrix
from symbptt.expr.walk import substitute
from symbptt.model.spec import Model
from symbptt.render.outline import Formula, Scalar, Sentence, say, several


def explained(form: ClosedForm) -> Iterator[Sentence]:
    """What the letters of G_t = N_t (K_{t+1} G_{t+1} + b_t) hold, and what picks the gradients of the variables."""
    stacked, transition, drive, *further = (letter.left for letter in form.letters)
    yield say("letters_blocks", stacked=Formula(stacked), transition=Formula(substitute(transition, {t: index(t) + 1})),
              drive=Formula(drive))
    picks = {v: form.select[v.name] for v in form.carried}
    for letter in further:
        if letter not in picks.values():
            yield say("letters_within", within=Formula(letter), identity=Formula(Identity(letter.shape[0])),
                      time=Scalar(t))
    yield say("letters_select", picks=several(*(
        say("letters_pick", selector=Formula(row), gradient=Formula(Adjoint(At(v, t))))
        for v, row in picks.items() if row is not None)))


def explained_forward(stacked: Matrix, transition: Matrix, drive: Matrix) -> Sentence:
    """What the letters of V_t = F_tᵀ V_{t-1} + u_t hold."""
    return say("forward_blocks", stacked=Formula(stacked), transition=Formula(transition), drive=Formula(drive))


def defined(model: Model, heads: Collection[Matrix]) -> Iterator[Sentence]:
    """What those letters of a model's closed forms hold that are among `heads`."""
    form = solved(template(model))
    letters = form.letters if form is not None else ()
    forward = solved_forward(flows(model), letters)
    if form is not None and len(letters) > 1 and letters[0].left in heads:
        yield from explained(form)
    elif letters and letters[0].left in heads:
        yield say("letter_alone", letter=Formula(letters[0].left))
    found = [letter.left for letter in forward.letters] if forward is not None else []
    if len(found) > 1 and found[0] in heads:
        yield explained_forward(*found)
    elif found and found[0] in heads:
        yield say("forward_letter_alone", letter=Formula(found[0]))
