"""Planted lies: each is refused by the kernel, by the oracle or by a law that the tests hold. A check that has never
failed proves nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from sympy import MatrixSymbol

from symbptt.bptt import rules
from symbptt.bptt.backward import AdjointStep, sweep, template
from symbptt.bptt.closed import solve
from symbptt.bptt.graph import GraphError
from symbptt.bptt.rules import RULES, Rule
from symbptt.bptt.unroll import unroll
from symbptt.derive import derive, prove
from symbptt.expr.build import apply, children, rebuild, scale, times, transpose
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Block,
    Hadamard,
    Matrix,
    Node,
    Ones,
    Plus,
    Power,
    Scale,
    Sum,
    Times,
    Transpose,
    Zero,
)
from symbptt.expr.walk import substitute, visit
from symbptt.model.functions import ENTRYWISE
from symbptt.model.read import load, loads
from symbptt.model.spec import Equation, Model, ModelError
from symbptt.proof import axioms
from symbptt.proof.account import ProvedStatement
from symbptt.proof.axioms import Axiom, Refused
from symbptt.proof.defining import definitions
from symbptt.proof.field import PRIME, MeaningError, paired
from symbptt.proof.kernel import check
from symbptt.proof.oracle import Oracle
from symbptt.proof.prover import Prover
from symbptt.proof.statement import Definition, Proof, Step, Theorem

MODELS = Path(__file__).parent / "data" / "models"


@cache
def model(name: str = "linear") -> Model:
    return load(name if name == "linear" else MODELS / f"{name}.toml")


@cache
def proved(name: str = "linear", key: str = "closed") -> ProvedStatement:
    return next(q for q in derive(model(name)).theorems if q.key == key)


def wrong_gradients(m: Model, steps: int = 4) -> list[Matrix]:
    """The gradients of the sweep that the oracle refutes."""
    truth = Oracle(m, steps)
    return [left for left, step in sweep(unroll(m, steps)).items() if truth.refutes(left, step.right)]


def pairing_holds(e: Matrix) -> bool:
    """<g, d e> = Σ <pull-back, d a>."""
    world, g = Oracle(), MatrixSymbol("g", *e.shape)

    def d(v: Matrix) -> Matrix:
        return MatrixSymbol(f"d_{v.name}", *v.shape)

    sent = sum(paired(world.value(p), world.value(d(v))) for v, p, _ in rules.pull_back(e, g))
    return (paired(world.value(g), world.value(rules.differential(e, d))) - sent) % PRIME == 0


h, q = (s.symbol for s in model().sizes[1:])
A, B, C = MatrixSymbol("A", h, h), MatrixSymbol("B", h, h), MatrixSymbol("C", h, h)
SAMPLES = {"sum": Plus(A, B), "product": Times(A, B), "long product": Times(A, B, C), "scalar": Scale(h, A),
           "transpose": Transpose(A)}


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Plant a wrong pull-back in the rule table."""
    def plant(kind: type[Node], pull_back: Callable[..., Iterator[tuple[Matrix, Matrix]]]) -> None:
        monkeypatch.setitem(RULES, kind, replace(RULES[kind], pull_back=pull_back))
    return plant


def two(e: Node, left: Matrix, right: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    yield e.args[0], left
    yield e.args[1], right


# The rule table. ------------------------------------------------------------------------------------------------------

def test_nothing_is_planted() -> None:
    assert wrong_gradients(model()) == []
    assert all(map(pairing_holds, SAMPLES.values()))


def test_a_missing_transpose_in_the_product_rule(plant) -> None:
    plant(Times, lambda e, g: two(e, times(g, transpose(e.args[1])), times(e.args[0], g)))
    assert not pairing_holds(SAMPLES["product"])
    square = model("transposed_weight")
    with pytest.raises((AssertionError, TypeError, ValueError)):
        assert not wrong_gradients(square)


def test_the_factors_of_a_product_swapped(plant) -> None:
    plant(Times, lambda e, g: two(e, times(transpose(e.args[1]), g), times(g, transpose(e.args[0]))))
    assert not pairing_holds(SAMPLES["product"])


def test_a_factor_left_out_of_a_long_product(plant) -> None:
    plant(Times, lambda e, g: ((a, times(*map(transpose, reversed(e.args[:k])), g)) for k, a in enumerate(e.args)))
    assert not pairing_holds(SAMPLES["long product"])


def test_a_flipped_sign_in_the_sum_rule(plant) -> None:
    plant(Plus, lambda e, g: ((a, Scale(-1 * h**0, g) if k else g) for k, a in enumerate(e.args)))
    assert not pairing_holds(SAMPLES["sum"])
    assert wrong_gradients(model())


def test_a_summand_forgotten(plant) -> None:
    plant(Plus, lambda e, g: iter([(e.args[0], g)]))
    assert not pairing_holds(SAMPLES["sum"])
    assert wrong_gradients(model("lag_two"))


def test_a_scalar_forgotten(plant) -> None:
    plant(Scale, lambda e, g: iter([(e.args[1], g)]))
    assert not pairing_holds(SAMPLES["scalar"])
    assert wrong_gradients(model("constants"))
    assert wrong_gradients(model("sign_changed"))


def test_a_transpose_forgotten(plant) -> None:
    plant(Transpose, lambda e, g: iter([(e.args[0], g)]))
    assert not pairing_holds(SAMPLES["transpose"])
    assert wrong_gradients(model("transposed_weight"))


def test_a_wrong_differential_disagrees_with_its_pull_back(monkeypatch) -> None:
    row = RULES[Times]
    monkeypatch.setitem(RULES, Times, Rule(row.name, lambda e, d: times(d(e.args[0]), *e.args[1:]), row.pull_back))
    assert not pairing_holds(SAMPLES["product"])


def test_a_rule_that_is_missing(monkeypatch) -> None:
    monkeypatch.delitem(RULES, Transpose)
    with pytest.raises(KeyError):
        sweep(unroll(model("transposed_weight"), 2))


# The sweep and the template. ------------------------------------------------------------------------------------------

def test_a_dropped_edge() -> None:
    m, steps = model(), 3
    truth, found = Oracle(m, steps), sweep(unroll(m, steps))
    for left, step in found.items():
        for k in range(len(step.edges)):
            fewer = AdjointStep(left, step.edges[:k] + step.edges[k + 1:])
            assert truth.refutes(left, fewer.right)


def test_an_edge_counted_twice() -> None:
    m, steps = model(), 3
    truth = Oracle(m, steps)
    for left, step in sweep(unroll(m, steps)).items():
        assert truth.refutes(left, AdjointStep(left, (*step.edges, step.edges[0])).right)


def test_h_t_for_h_t_minus_1_in_a_weight_gradient() -> None:
    m = model()
    W_hh = next(p for p in m.parameters if p.name == "W_hh")
    right = derive(m).line("gradient", "W_hh").forms[-1]

    def shifted(e: Matrix) -> Matrix:
        if isinstance(e, At) and e.family.name == "h":
            return At(e.family, e.time + 1)
        return rebuild(e, tuple(map(shifted, children(e)))) if children(e) else e

    lie = Sum(shifted(right.body), t, 1, T)
    assert lie != right
    assert Oracle(m, 4).refutes(Adjoint(W_hh), right) is None
    assert Oracle(m, 4).refutes(Adjoint(W_hh), lie)


def test_a_mean_taken_for_a_sum() -> None:
    text = (MODELS / "two_losses.toml").read_text(encoding="utf-8")
    other = loads(text.replace('reduce = "mean"', 'reduce = "sum"'))
    for left, step in sweep(unroll(other, 3)).items():
        if str(left) == "dL/do[3]":
            assert Oracle(model("two_losses"), 3).refutes(left, step.right)


def test_the_sign_of_another_model() -> None:
    """The recursion of h = W x - W h is not that of h = W x + W h."""
    theirs = derive(model()).line("adjoint", "h")
    assert Oracle(model("sign_changed"), 4).refutes(theirs.left, theirs.forms[-1], [index(t) - 1, T - index(t) - 1])


def test_the_recursion_at_the_boundary() -> None:
    """∂L/∂h_T has no contribution from a later step, and the one at t < T has."""
    d, truth = derive(model()), Oracle(model(), 4)
    inside, last = d.line("adjoint", "h"), d.line("boundary", "h")
    assert truth.refutes(inside.left, substitute(last.forms[-1], {T: index(t)}), [index(t) - 1, T - index(t) - 1])


# Functions, losses, masks and initial values. -------------------------------------------------------------------------

def test_a_slope_without_its_square(monkeypatch) -> None:
    """tanh' = 1 - y for 1 - y ∘ y."""
    row = ENTRYWISE["tanh"]
    monkeypatch.setitem(ENTRYWISE, "tanh", replace(row, slope=lambda z, y: Plus(Ones(*y.shape), scale(-1, y))))
    assert wrong_gradients(load("elman"))


def test_an_elementwise_product_that_forgets_the_other_factor(plant) -> None:
    plant(Hadamard, lambda e, g: ((a, g) for a in e.args))
    assert wrong_gradients(load("lstm"), 2)


def test_blocks_of_a_column_exchanged(plant) -> None:
    def exchanged(e: Block, g: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
        found = list(honest(e, g))
        return iter([*((a, scale(-1, p)) for a, p in found[:1]), *found[1:]])

    honest = RULES[Block].pull_back
    plant(Block, exchanged)
    assert wrong_gradients(model("packed_lstm"), 2)


NEIGHBOURS = [
    ("masked_mean", 'mask   = "m"', ""), ("masked_sum", 'mask   = "m"', ""), ("last_loss", '"last"', '"mean"'),
    ("last_loss", '"last"', '"sum"'), ("regularised", "lambda_/2*squared_norm", "lambda_*squared_norm"),
    ("regularised", "0.1*squared_norm", "0.2*squared_norm"), ("computed_start", "tanh(W_0 @ s + b_0)", "W_0 @ s + b_0"),
    ("last_and_mean", "squared_error(h, u)", "l(h, u)"), ("static_context", '@ s', '@ (-s)'),
]


@pytest.mark.parametrize(("name", "here", "there"), NEIGHBOURS)
def test_the_gradients_of_a_neighbour(name, here, there) -> None:
    """What is true of the neighbour, which differs in one word, is refuted for the model."""
    text = (MODELS / f"{name}.toml").read_text(encoding="utf-8")
    assert here in text
    truth, found = Oracle(model(name), 3), sweep(unroll(loads(text.replace(here, there)), 3))
    assert any(truth.refutes(left, step.right) for left, step in found.items())
    assert wrong_gradients(model(name), 3) == []


def test_what_rests_on_an_assumption_is_no_law() -> None:
    d = derive(model("last_cross_entropy"))
    q = next(p.theorem for p in d.theorems if p.theorem.assumptions)
    assert Oracle(d.model, 3, letters=d.definitions, assumed=True).refutes(q.left, q.right, q.hypotheses) is None
    assert Oracle(d.model, 3, letters=d.definitions).refutes(q.left, q.right, q.hypotheses)
    free = replace(q, assumptions=frozenset())
    proof = next(p.proof for p in d.theorems if p.theorem == q)
    assert refused(replace(proof, claim=free))


def test_an_unknown_function_has_no_meaning() -> None:
    with pytest.raises(MeaningError):
        Oracle().value(apply("no_such_function", A))


# Closed forms. --------------------------------------------------------------------------------------------------------

def closed_lie(change: Callable[[Sum], Matrix]) -> bool:
    """Whether the oracle refutes a changed closed form."""
    q = proved().theorem
    return Oracle(model(), 4).refutes(q.left, change(q.right), q.hypotheses) is not None


def test_the_closed_form_itself_is_true() -> None:
    assert not closed_lie(lambda total: total)


def test_the_exponent_runs_the_wrong_way() -> None:
    def change(total: Sum) -> Sum:
        power, drive = total.body.args
        return Sum(Times(Power(power.args[0], T - index(total.var)), drive), total.var, total.lo, total.hi)
    assert closed_lie(change)


def test_the_sum_starts_one_late() -> None:
    assert closed_lie(lambda total: Sum(total.body, total.var, total.lo + 1, total.hi))


def test_the_sum_ends_one_early() -> None:
    assert closed_lie(lambda total: Sum(total.body, total.var, total.lo, total.hi - 1))


def test_a_missing_transpose_in_the_closed_form() -> None:
    def change(total: Sum) -> Sum:
        power, drive = total.body.args
        return Sum(Times(Power(transpose(power.args[0]), power.args[1]), drive), total.var, total.lo, total.hi)
    assert closed_lie(change)


def test_a_missing_term_of_the_written_out_case() -> None:
    d, truth = derive(model(), 3), Oracle(model(), 3)
    for line in d.of_kind("written"):
        if line.theorem is not None and type(line.forms[-1]) is Plus and len(line.forms[-1].args) > 2:
            for k in range(len(line.forms[-1].args)):
                rest = [a for n, a in enumerate(line.forms[-1].args) if n != k]
                assert truth.refutes(line.left, Plus(*rest))


def test_a_wrong_closed_form_has_no_proof(monkeypatch) -> None:
    """The prover is told that the transition is W_hh instead of its transpose: it fails, it does not lie."""
    form = template(model())
    right = solve(form)
    lies = [replace(right, transition=transpose(right.transition)), replace(right, drive=Zero(*right.drive.shape)),
            replace(right, transition=Scale(h**0 * -1, right.transition))]
    for lie in lies:
        with pytest.raises(Refused):
            _ = Prover(form, lie).solution
    assert check(proved().proof) == proved().theorem


# Proofs. --------------------------------------------------------------------------------------------------------------

def doctored(proof: Proof, number: int, **changes: object) -> Proof:
    steps = list(proof.steps)
    steps[number] = replace(steps[number], **changes)
    return replace(proof, steps=tuple(steps))


def refused(proof: Proof) -> bool:
    try:
        check(proof)
    except Refused:
        return True
    return False


def numbers(rule: str, proof: Proof) -> list[int]:
    return [k for k, s in enumerate(proof.steps) if s.rule == rule]


def shifted_by_one(argument: object) -> object:
    if isinstance(argument, Index):
        return argument + 1
    if isinstance(argument, Node):
        found = next((v for v in (t, *[n.var for n in visit(argument) if isinstance(n, Sum)])), t)
        return substitute(argument, {found: index(found) + 1})
    return argument


@pytest.mark.parametrize("rule", ["axiom", "ring", "definition", "beyond", "assumption", "congruence", "entailment",
                                  "induction_down"])
def test_a_step_shifted_by_one(rule) -> None:
    proof = proved().proof
    tried = 0
    for number in numbers(rule, proof):
        args = tuple(map(shifted_by_one, proof.steps[number].args))
        if args != proof.steps[number].args:
            tried += 1
            assert refused(doctored(proof, number, args=args)), proof.steps[number]
    assert tried or rule in ("entailment",)


def test_another_rule_in_place_of_a_step() -> None:
    proof = proved().proof
    for number, step in enumerate(proof.steps):
        for rule in ("reflexivity", "symmetry", "ring", "assumption", "no such rule"):
            if rule != step.rule:
                assert refused(doctored(proof, number, rule=rule))


def test_a_step_left_out() -> None:
    proof = proved("lag_two").proof
    for number in range(len(proof.steps)):
        assert refused(replace(proof, steps=proof.steps[:number] + proof.steps[number + 1:]))


def test_premises_exchanged() -> None:
    proof = proved().proof
    for number, step in enumerate(proof.steps):
        if len(set(step.premises)) > 1:
            assert refused(doctored(proof, number, premises=step.premises[::-1]))


def test_a_forward_reference() -> None:
    proof = proved().proof
    assert refused(doctored(proof, 1, rule="symmetry", premises=(len(proof.steps) - 1,), args=()))


def test_an_axiom_that_is_not_listed() -> None:
    law = Step("axiom", (), ("zero_is_one", A))
    assert refused(Proof((), (law,), Theorem(frozenset(), frozenset(), A, Zero(h, h), frozenset(["zero_is_one"]))))


def test_an_axiom_added_behind_the_back_is_named_in_the_theorem_and_refuted(monkeypatch) -> None:
    monkeypatch.setitem(axioms.AXIOMS, "zero_is_one", Axiom(lambda a: (a, Zero(*a.shape), ()), "nowhere"))
    lie = Theorem(frozenset(), frozenset(), A, Zero(h, h), frozenset(["zero_is_one"]))
    q = check(Proof((), (Step("axiom", (), ("zero_is_one", A)),), lie))
    assert "zero_is_one" in q.used
    assert Oracle().refutes(q.left, q.right)


def test_a_weaker_statement_under_the_same_proof() -> None:
    proof = proved().proof
    claim = proof.claim
    n = IndexVar("n")
    lies = [replace(claim, hypotheses=frozenset()), replace(claim, right=claim.left), replace(claim, left=claim.right),
            replace(claim, hypotheses=frozenset([index(n)])), replace(claim, used=frozenset()),
            replace(claim, assumptions=frozenset([(A, B)]))]
    for lie in lies:
        assert refused(replace(proof, claim=lie))


def test_a_wrong_definition_does_not_carry_the_proof() -> None:
    """With a sign flipped in the definition of ∂L/∂h_t the steps no longer fit."""
    proof = proved().proof
    for number, d in enumerate(proof.definitions):
        if d.name == "dL/dh[t]":
            lie = replace(d, right=Scale(h**0 * -1, d.right))
            others = (*proof.definitions[:number], lie, *proof.definitions[number + 1:])
            assert refused(replace(proof, definitions=others))


def test_a_wrong_definition_is_not_that_of_the_model() -> None:
    """A proof from other definitions may replay; that they are the model's is a law of its own."""
    proof = proved().proof
    other = definitions(template(model("sign_changed")), None, index(T))
    assert proof.definitions == definitions(template(model()), solve(template(model())), index(T))
    assert proof.definitions[:len(other)] != other
    truth = Oracle(model(), 4)
    lies = [d for d in other if d.lo is not None and truth.refutes(d.left, d.right, [index(t) - d.lo, d.hi - t])]
    assert lies


def test_a_definition_left_out() -> None:
    proof = proved().proof
    used = {d.name for d in proof.definitions} & proof.claim.used
    for name in used:
        assert refused(replace(proof, definitions=tuple(d for d in proof.definitions if d.name != name)))


def test_a_definition_that_defines_twice() -> None:
    proof = proved().proof
    extra = Definition("again", proof.definitions[0].left, Zero(*proof.definitions[0].left.shape), Index(1), index(T))
    assert refused(replace(proof, definitions=(*proof.definitions, extra)))


def test_a_theorem_changed_by_force() -> None:
    q = proved("two_states").theorem
    lie = replace(q, right=Zero(*q.right.shape))
    assert refused(replace(proved("two_states").proof, claim=lie))


def test_the_prover_cannot_be_talked_into_a_lie(monkeypatch) -> None:
    """A step Jacobian with a flipped sign: no theorem comes out."""
    from symbptt.bptt import closed
    honest = closed.eliminate

    def lying(form, name):
        return {g: Scale(h**0 * -1, j) if isinstance(g, Adjoint) and g.of.time != index(t) else j
                for g, j in honest(form, name).items()}

    monkeypatch.setattr(closed, "eliminate", lying)
    with pytest.raises((Refused, ValueError, KeyError)):
        prove(model("wide_output"))


# The vocabulary and the graph. ----------------------------------------------------------------------------------------

class Unlisted(Node):
    """A node that no table knows."""

    rule = staticmethod(lambda body: body.shape)


def test_an_unknown_node_in_an_expression() -> None:
    e = Plus(A, Unlisted(A))
    assert refused(Proof((), (Step("reflexivity", (), (e,)),), Theorem(frozenset(), frozenset(), e, e)))
    with pytest.raises((MeaningError, TypeError)):
        Oracle().value(e)
    with pytest.raises(KeyError):
        list(rules.pull_back(e, A))


def test_an_unknown_node_in_a_model() -> None:
    m = model()
    first = m.equations[0]
    with pytest.raises(ModelError):
        replace(m, equations=(Equation(first.left, Unlisted(first.right)), *m.equations[1:]))


def test_a_graph_with_an_equation_out_of_order() -> None:
    from symbptt.bptt.graph import check_graph
    graph = unroll(model(), 3)
    lie = replace(graph, equations=(*graph.equations[2:], *graph.equations[:2]))
    with pytest.raises(GraphError):
        check_graph(lie)


def test_the_oracle_tells_one_model_from_another() -> None:
    """What is true of one model is refuted for its neighbour: the oracle looks at the equations."""
    line = derive(model("lag_two")).line("adjoint", "h")
    inside = [index(t) - 1, T - index(t) - 2]
    assert Oracle(model("lag_two"), 5).refutes(line.left, line.forms[-1], inside) is None
    assert Oracle(model("lag_three_only"), 5).refutes(line.left, line.forms[-1], inside)
