from dataclasses import replace

import pytest
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.expr.build import loss
from symbptt.expr.index import IndexVar, T, index, t
from symbptt.expr.nodes import Adjoint, At, Plus, Scale, Sum, Times
from symbptt.model.checks import names_once
from symbptt.model.parts import in_order
from symbptt.model.spec import Equation, LossTerm, Model, ModelError, Size

d, h, q = (Symbol(n, integer=True, positive=True) for n in "dhq")
W_hx, W_hh, W_qh = MatrixSymbol("W_hx", h, d), MatrixSymbol("W_hh", h, h), MatrixSymbol("W_qh", q, h)
H, O, X, Y = MatrixSymbol("h", h, 1), MatrixSymbol("o", q, 1), MatrixSymbol("x", d, 1), MatrixSymbol("y", 1, 1)
STATE = Equation(At(H, t), Plus(Times(W_hx, At(X, t)), Times(W_hh, At(H, index(t) - 1))))
OUTPUT = Equation(At(O, t), Times(W_qh, At(H, t)))
TERM = LossTerm(loss("l", At(O, t), At(Y, t)))
LINEAR = Model(name="linear", sizes=(Size(d), Size(h), Size(q)), parameters=(W_hx, W_hh, W_qh), inputs=(X,),
               targets=(Y,), states=(H,), equations=(STATE, OUTPUT), losses=(TERM,))


def test_what_a_model_knows_of_itself() -> None:
    assert list(LINEAR.families) == ["x", "y", "h", "o"]
    assert LINEAR.lags == {"x": 0, "y": 0, "h": 1, "o": 0}
    assert LINEAR.carried == (H,)
    assert LINEAR.initial == (At(H, 0),)
    assert LINEAR.opaque == ("l",)
    assert LINEAR.defined == {"h": STATE, "o": OUTPUT}
    turned = replace(LINEAR, equations=(OUTPUT, STATE))
    assert [e.name for e in turned.equations] == ["o", "h"]
    assert [e.name for e in turned.order] == ["h", "o"]


def test_equal_up_to_order_and_descriptions() -> None:
    other = replace(
        LINEAR, sizes=(Size(q, "output"), Size(h), Size(d)), parameters=(W_qh, W_hh, W_hx),
        equations=(OUTPUT, Equation(STATE.left, Plus(*reversed(STATE.right.args)))))
    assert other == LINEAR
    assert hash(other) == hash(LINEAR)


@pytest.mark.parametrize("change", [
    {"name": "other"},
    {"title": "other"},
    {"source": "other"},
    {"equations": (Equation(STATE.left, Plus(STATE.right.args[0], Scale(Integer(-1), STATE.right.args[1]))), OUTPUT)},
    {"losses": (TERM, TERM)},
    {"losses": (replace(TERM, reduce="sum"),)},
    {"losses": (replace(TERM, weight=Rational(1, 2)),)},
    {"sizes": (Size(d), Size(h), Size(q), Size(Symbol("k")))},
    {"constants": (Symbol("gamma"),)},
])
def test_another_model_is_unequal(change: dict[str, object]) -> None:
    assert replace(LINEAR, **change) != LINEAR
    assert LINEAR != "linear"


def equation(family: MatrixSymbol, right: object) -> dict[str, object]:
    changed = Equation(At(family, t), right)
    return {"equations": tuple(changed if e.left == changed.left else e for e in LINEAR.equations)}


K = MatrixSymbol("k", h, 1)

FAULTS = {
    "a name twice": ({"targets": (Y, X)}, "targets", "x", "x stands in .inputs. and in .targets."),
    "a name twice in a table": ({"inputs": (X, X)}, "inputs", "x", "stands in .inputs. and in .inputs."),
    "two equations": ({"equations": (STATE, OUTPUT, OUTPUT)}, "equations", "o", "o has two equations"),
    "equation of an input": ({"equations": (STATE, OUTPUT, Equation(At(X, t), At(X, t)))}, "equations", "x",
                             "stands in .inputs. and has an equation"),
    "clash": (equation(O, Times(W_qh, At(X, t))), "equations", "o", "cannot multiply"),
    "another shape": (equation(O, At(H, t)), "equations", "o", "o was declared .q × 1."),
    "unknown parameter": (equation(O, Times(MatrixSymbol("V", q, h), At(H, t))), "equations", "o", "V is declared"),
    "parameter of another shape": (equation(O, Times(MatrixSymbol("W_hh", q, h), At(H, t))), "equations", "o", "W_hh"),
    "unknown family": (equation(O, Times(W_qh, At(K, t))), "equations", "o", "the name k"),
    "without a time": (equation(O, Times(W_qh, H)), "equations", "o", "h stands without a time"),
    "a gradient": (equation(O, Times(W_qh, Adjoint(At(H, t)))), "equations", "o", "which a model cannot state"),
    "a sum over time": (equation(O, Sum(OUTPUT.right, IndexVar("k"), 1, T)), "equations", "o", "is a Sum"),
    "a loss in an equation": (equation(O, Times(OUTPUT.right, TERM.loss)), "equations", "o", "is a Loss"),
    "lag of a state that is not declared": ({"states": ()}, "equations", "h", "h.t-1. reaches back"),
    "ahead": (equation(O, Times(W_qh, At(H, index(t) + 1))), "equations", "o", "looks ahead"),
    "another index": (equation(O, Times(W_qh, At(H, T))), "equations", "o", "not of the form"),
    "undeclared lag": (equation(O, Plus(OUTPUT.right, At(O, index(t) - 1))), "equations", "o", "add o to"),
    "state without equation": ({"states": (H, K)}, "states", "k", "the state k has no equation"),
    "own value": (equation(H, At(H, t)), "equations", "h", "h.t. needs h.t."),
    "no loss": ({"losses": ()}, "loss", "", "no loss"),
    "loss of data": ({"losses": (TERM, LossTerm(loss("l", At(X, t), At(Y, t))))}, "loss", "1", "reads nothing"),
    "loss of the past": ({"losses": (LossTerm(loss("l", At(H, index(t) - 1))),)}, "loss", "0", "reads targets only"),
    "loss of the unknown": ({"losses": (LossTerm(loss("l", At(K, t))),)}, "loss", "0", "the name k"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_makes_no_sense_is_refused(fault: str) -> None:
    change, table, key, words = FAULTS[fault]
    with pytest.raises(ModelError, match=words) as caught:
        replace(LINEAR, **change)
    assert (caught.value.table, caught.value.key) == (table, key)


def test_a_matrix_state_is_refused() -> None:
    square = MatrixSymbol("M", h, h)
    with pytest.raises(ModelError, match="is not a column"):
        replace(LINEAR, equations=(STATE, OUTPUT, Equation(At(square, t), W_hh)))


def test_order_is_stable_and_circles_are_named() -> None:
    assert in_order({"a": {}, "b": {}, "c": {"a": 0}}) == ["a", "b", "c"]
    assert in_order({"a": {"c": 0}, "b": {"a": 0}, "c": {}}) == ["c", "a", "b"]
    with pytest.raises(ModelError, match=r"^c depends on its own value at t: c.t. needs d.t. needs c.t.;") as caught:
        in_order({"a": {"c": 1}, "c": {"d": 2}, "d": {"c": 7}})
    assert (caught.value.key, caught.value.offset) == ("d", 7)


def test_a_chain_may_be_long() -> None:
    chain = {str(i): {str(i + 1): 0} for i in range(20_000)} | {"20000": {}}
    assert in_order(chain) == [str(i) for i in range(20_000, -1, -1)]


def test_names_may_stand_in_states_and_equations() -> None:
    names_once({"states": ["h"], "inputs": ["x"]}, ["h", "o"])
    with pytest.raises(ModelError):
        names_once({"constants": ["h"]}, ["h"])


def test_the_count_of_a_mask_prints_like_nothing_else() -> None:
    m, n = MatrixSymbol("m", 1, 1), MatrixSymbol("n", 1, 1)
    masked = replace(LINEAR, targets=(Y, m), losses=(replace(TERM, mask=m),))
    assert masked.counts == {"m": Symbol("M", real=True)}
    two = replace(LINEAR, targets=(Y, m, n), losses=(replace(TERM, mask=m), replace(TERM, mask=n)))
    assert [s.name for s in two.counts.values()] == ["M_m", "M_n"]
    for taken, other in (("M", "C"), ("M_", "C"), ("L_0", "M")):
        clash = replace(masked, parameters=(*LINEAR.parameters, MatrixSymbol(taken, h, h)))
        assert [s.name for s in clash.counts.values()] == [other]
    assert LINEAR.counts == replace(masked, losses=(replace(TERM, mask=m, reduce="sum"),)).counts == {}
