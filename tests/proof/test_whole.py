"""The gradients of the adjoint recursion, paired with directions, are the change of L by the tangent recursion."""

from dataclasses import replace
from pathlib import Path

import pytest
from sympy import MatrixSymbol, Symbol

import symbptt
from symbptt.accumulation import accumulated
from symbptt.bptt.backward import template
from symbptt.bptt.closed import solve
from symbptt.bptt.tangent import flows
from symbptt.bptt.tangent import solve as forward
from symbptt.derive import derive
from symbptt.expr.build import children, rebuild, scale
from symbptt.expr.nodes import At, Diagonal, Immediate, Plus, Sum, Tangent, Times, Transpose
from symbptt.proof.axioms import Refused
from symbptt.proof.forward import tangent_definitions
from symbptt.proof.kernel import check
from symbptt.proof.pairing import Pairing
from symbptt.proof.prover import Prover
from symbptt.proof.record import recorded, replayed
from symbptt.proof.script import Script
from symbptt.proof.whole import Whole
from symbptt.render.targets import render

MODELS = ["linear", "elman", "tests/data/models/masked_weight.toml", "tests/data/models/regularised.toml",
          "tests/data/models/computed_start.toml", "tests/data/models/no_recurrence.toml"]


HEAD = """
name = "entrywise"
[sizes]
d = "a size"
h = "another"
q = "a third"
[parameters]
W = "h, h"
U = "h, d"
{parameters}
[inputs]
x = "d"
[targets]
y = "h"
[states]
h = "h"
[static]
z = "h"
[equations]
h = "{right}"
[[loss]]
term = "l(h, y)"
"""
A, AC, ab, BC = 'A = "h, h"', 'A = "h, h"\nC = "h, h"', 'a = "h"\nb = "h"', 'B = "h, q"\nC = "q, h"'
KINDS = {
    "a factor that is a sum": ("tanh((W * (A + C)) @ h[t-1] + U @ x)", AC),
    "a product": ("tanh((W * (B @ C)) @ h[t-1] + U @ x)", BC),
    "a product of sums": ("tanh((W * (B @ (C + B.T))) @ h[t-1] + U @ x)", BC),
    "rank one": ("W @ h[t-1] + (W * (a @ b.T)) @ h[t-1] + U @ x", ab),
    "rank one of static data": (
        "W @ (z * h[t-1]) / 2 + z @ z.T @ h[t-1] / 5 + (W * (z @ a.T)) @ h[t-1] / 3 + U @ x", ab),
    "rank one of sums": ("tanh((W * ((a + b) @ (b - a).T)) @ h[t-1] + U @ x)", ab),
    "rank one of products": ("tanh((W * ((B @ c) @ (W @ a).T)) @ h[t-1] + U @ x)", f'{BC}\n{ab}\nc = "q"'),
    "rank one in rank one": (
        "tanh((W * ((B @ c) @ ((B * (a @ c.T)) @ c).T)) @ h[t-1] + U @ x)", f'{BC}\n{ab}\nc = "q"'),
    "rank one of functions": ("tanh((W * tanh(a @ b.T)) @ h[t-1] + tanh(a @ sigmoid(a * b).T) @ h[t-1] + U @ x)", ab),
    "scalars between": ("tanh((W * (a @ (a.T @ A @ b) @ (A @ b).T)) @ h[t-1] + U @ x)", f"{A}\n{ab}"),
    "a scalar before": ("dot(a, (A * W) @ h[t-1]) * tanh((W * A) @ h[t-1] + U @ x)", f"{A}\n{ab}"),
    "a transpose": ("tanh((W * A.T) @ h[t-1] + U @ x)", A),
    "its own transpose": ("tanh((W * W.T) @ h[t-1] + U @ x)", ""),
    "transposes and multiples": ("tanh((W * A * sigmoid(C * 2).T) @ h[t-1] + U @ x)", AC),
    "transposes in transposes": ("tanh((W * (A * tanh(C).T * C).T) @ h[t-1] + U @ x)", AC),
    "a function of a product": ("tanh((tanh(W @ A) * exp(W) / 2) @ h[t-1] + (sigmoid(A).T * A) @ A @ U @ x)", A),
    "functions in functions": ("tanh((W * tanh(tanh(A) * C + C / 2)) @ h[t-1] + U @ x)", AC),
    "numbers": ("tanh((W * (1 - 2 * A) / 3 + A * A * A / 2) @ h[t-1] + U @ x)", A),
    "twice": ("tanh((W * A) @ ((A * tanh(A)) @ h[t-1]) + U @ x)", A),
    "a row": ("tanh((r * r) @ h[t-1] * (W * (a @ r)) @ h[t-1] + U @ x)", f'{ab}\nr = "1, h"'),
    "a slice": ("tanh((W * D[:h]) @ h[t-1] + U @ x)", 'D = "2*h, h"'),
}
BETWEEN = ("tanh((W * (A @ (C * W))) @ h[t-1] + U @ x)", AC)


def entrywise(right, parameters):
    return symbptt.loads(HEAD.format(right=right, parameters=parameters))


def setting(name, changed=lambda d: d):
    form = template(name if isinstance(name, symbptt.Model) else symbptt.load(name))
    tangents = flows(form.model)
    closed = solve(form)
    letters = closed.letters if closed else ()
    prover = Prover(form, closed, more=tangent_definitions(tangents, forward(tangents, letters)))
    prover = Prover(form, closed, script=Script(tuple(map(changed, prover.script.definitions))))
    return Whole(Pairing(prover, tangents))


@pytest.mark.parametrize("name", MODELS)
def test_every_direction(name) -> None:
    whole = setting(name)
    proof = whole.script.proof(whole.prove())
    found = check(proof)
    assert not found.hypotheses
    for left, right in found.assumptions:
        assert type(left) is Tangent
        assert type(right) is Times
        assert type(right.args[1]) is Transpose
    assert {left.of for left, _ in found.assumptions} == {v for v, (_, b) in whole.ends.items() if b is not None}
    parts = str(found.right)
    assert all(f"dL/d{v.name}" in parts for v in whole.variables)
    assert type(found.left) is Sum or "Sum(t=1..T" in str(found.left)


def test_elman() -> None:
    found = next(q for q in symbptt.prove("elman") if q.key == "directions").theorem
    assert str(found.left) == "Sum(t=1..T, (dL/do[t]).T @ do[t])"
    assert str(found.right) == ("u_W_hx.T @ dL/dW_hx @ v_W_hx + u_W_hh.T @ dL/dW_hh @ v_W_hh + (dL/db_h).T @ db_h + "
                                "u_W_qh.T @ dL/dW_qh @ v_W_qh + (dL/db_q).T @ db_q")
    assert {f"{a} = {b}" for a, b in found.assumptions} == {f"dW_{w} = u_W_{w} @ v_W_{w}.T" for w in ("hx", "hh", "qh")}


def altered(name, change):
    return lambda d: replace(d, right=change(d.right)) if d.name == name else d


def untransposed(e):
    """W for every square Wᵀ."""
    if type(e) is Transpose and e.shape[0] == e.shape[1]:
        return e.args[0]
    return type(e)(*[untransposed(a) if isinstance(a, Plus | Times | Transpose) else a for a in e.args])


LIES = {
    "the sign of a gradient": altered("dL/dW_hh", lambda e: scale(-1, e)),
    "a gradient twice": altered("dL/db_h", lambda e: scale(2, e)),
    "a slope forgotten": altered("dL/dW_hx", lambda e: Sum(Times(*e.body.args[1:]), *e.args[1:])),
    "h_t for h_{t-1}": altered("dL/dW_hh", lambda e: Sum(Times(*e.body.args[:-1], Transpose(At(
        e.body.args[-1].args[0].family, e.var))), *e.args[1:])),
    "a sum from t = 2": altered("dL/dW_qh", lambda e: Sum(e.body, e.var, 2, e.hi)),
    "a sum to T - 1": altered("dL/dW_qh", lambda e: Sum(e.body, e.var, e.lo, e.hi - 1)),
    "the sign of a direct part": altered("d+h[t]", lambda e: scale(-1, e)),
    "a factor in the tangent recursion": altered("dh[t]", lambda e: scale(2, e)),
    "a transpose forgotten": altered("dL/dh[t]", untransposed),
    "a slope forgotten in the recursion": altered("dL/dh[t]", lambda e: type(e)(
        Times(*[a for a in e.args[0].args if type(a) is not Diagonal]), *e.args[1:])),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_gradient_or_change_is_refused(lie) -> None:
    assert setting("elman").script.definitions != setting("elman", LIES[lie]).script.definitions
    with pytest.raises(Refused):
        setting("elman", LIES[lie]).prove()


@pytest.mark.parametrize("kind", KINDS)
def test_elementwise_products_of_matrices(kind) -> None:
    whole = setting(entrywise(*KINDS[kind]))
    found = check(whole.script.proof(whole.prove()))
    assert not found.hypotheses
    assert {left.of for left, _ in found.assumptions} == {v for v, (_, b) in whole.ends.items() if b is not None}
    assert all(f"dL/d{v.name}" in str(found.right) for v in whole.variables)


def replaced(old, new):
    """A change that puts one expression for another, wherever it stands."""
    def change(e):
        return new if e == old else rebuild(e, tuple(map(change, children(e))))
    return change


def matrix(name):
    h = Symbol("h", integer=True, positive=True)
    return MatrixSymbol(name, h, h)


TURNED = replaced(matrix("W"), Transpose(matrix("W")))
ENTRYWISE_LIES = {
    "the sign of a gradient": ("a function of a product", altered("dL/dA", lambda e: scale(-1, e))),
    "a gradient transposed": ("a transpose", altered("dL/dA", Transpose)),
    "a factor transposed": ("transposes in transposes", altered("dL/dC", TURNED)),
    "another factor": ("a factor that is a sum", altered("dL/dA", replaced(matrix("W"), matrix("C")))),
    "a summand of a change twice": ("rank one of static data", altered("d+h[t]", lambda e: Plus(e, e.args[0]))),
    "a factor transposed in the recursion": ("a product", altered("dL/dh[t]", TURNED)),
}


@pytest.mark.parametrize("lie", ENTRYWISE_LIES)
def test_a_wrong_elementwise_product_is_refused(lie) -> None:
    kind, change = ENTRYWISE_LIES[lie]
    model = entrywise(*KINDS[kind])
    assert setting(model).script.definitions != setting(model, change).script.definitions
    with pytest.raises(Refused):
        setting(model, change).prove()


def test_what_the_axioms_do_not_reach_is_said() -> None:
    """Gradients are printed all the same; the document and `prove` say which theorem is missing."""
    model = entrywise(*BETWEEN)
    with pytest.raises(Refused, match="does not find the theorem that the gradients are the derivative of L"):
        symbptt.prove(model)
    derived, other = derive(model), derive(entrywise(*KINDS["twice"]))
    assert "directions" not in {line.kind for line in derived.lines}
    said = "in every direction is no theorem here"
    assert said in " ".join(render(derived, "text").split())
    assert said not in " ".join(render(other, "text").split())


def test_it_is_stated_once_with_the_theorem() -> None:
    form = template(symbptt.load("linear"))
    found, = (q for q in accumulated(form, solve(form)) if q.kind == "directions")
    assert found.proved is not None
    assert (found.left, found.forms) == (found.proved.theorem.left, (found.proved.theorem.right,))
    assert Immediate in {type(d.left) for d in setting("linear").script.definitions}


ROOT = Path(__file__).resolve().parent.parent.parent
EVERY = [*sorted((ROOT / "symbptt/model/library").glob("*.toml")), *sorted((ROOT / "tests/data/models").glob("*.toml"))]


@pytest.mark.slow
@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_every_model_has_its_theorems(path) -> None:
    model = symbptt.load(path)
    found = symbptt.prove(model)
    closed = solve(template(model))
    wanted = {"pairing", "directions"} | ({"closed", "reversed", "forward"} if closed else set()) | (
        {"bound"} if closed and not closed.trivial else set())
    assert {q.key for q in found} >= wanted
    for q in found:
        assert check(q.proof) == q.theorem
    if closed:
        assert {"truncated", "unbiased"} <= {q.key for q in symbptt.prove(model, truncate=2)}


CROWDED = """
name = "crowded"
[sizes]
n = "a size"
k = "another"
[parameters]
A = "n, k"
B = "k, n"
C = "n, k"
D = "n, k"
E = "n, k"
F = "n, k"
G = "n, k"
H = "n, k"
J = "n, k"
K = "n, k"
M = "n, k"
[inputs]
x = "n"
[targets]
y = "k"
[states]
u = "n"
v = "k"
[equations]
u = "A @ v[t-1] + C @ v[t-1] + D @ v[t-1] + E @ v[t-1] + F @ v[t-1] + G @ v[t-1] + w"
w = "H @ v[t-1] + J @ v[t-1] + K @ v[t-1] + M @ v[t-1] + x"
v = "B @ u + B @ u[t-1] + v[t-1]"
p = "v + v[t-1]"
q = "p + v"
[[loss]]
term = "l(q, y)"
"""


def test_letters_of_directions_are_none_of_the_closed_form() -> None:
    """Where u and v are families, another letter stands for the ends of dA = u vᵀ; never one that means two things."""
    model = symbptt.loads(CROWDED)
    found = replayed(recorded(model.name, symbptt.prove(model)))
    assert "directions" in {q.key for q in found}
