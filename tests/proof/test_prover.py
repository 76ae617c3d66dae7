"""Every line of every derivation is true; every theorem is proved, by replay of its data alone, and true."""

from dataclasses import replace

import pytest

from symbptt.bptt import tangent
from symbptt.bptt.backward import NEVER, template
from symbptt.bptt.tangent import flows
from symbptt.derive import prove
from symbptt.expr.index import Index, T, index, nonnegative, t
from symbptt.expr.nodes import Adjoint, At, Direct, Tangent
from symbptt.expr.walk import free_indices, substitute
from symbptt.proof.axioms import Refused
from symbptt.proof.defining import definitions
from symbptt.proof.forward import tangent_definitions
from symbptt.proof.kernel import INFERENCE, check, replay
from symbptt.proof.oracle import Oracle

STEPS = [pytest.param(1, marks=pytest.mark.slow), 3]


def hypotheses(line):
    """What a line supposes: its range, and that it speaks of times from 1 on."""
    bounds = [] if line.lo is None else [index(t) - line.lo]
    bounds += [] if line.hi is None else [line.hi - t]
    if line.kind in ("boundary", "adjoint"):
        bounds += [index(t) - 1, *([line.lo - 1] if line.lo == line.hi else [])]
    return bounds


class Spanning(Oracle):
    """The oracle where parameters move along matrices of rank one, as the theorem of directions assumes."""

    along = ()

    def _moves(self):
        return super()._moves() | {(v.of.name, None): (self.value(product),) for v, product in self.along}


def supposing(model, d, steps, theorem):
    """The oracle for a statement that rests on assumptions: its targets, or its directions, satisfy them."""
    letters = dict.fromkeys((*d.definitions, *(a for p in d.theorems for a in p.proof.definitions)))
    world = Spanning(model, steps, 1, letters, assumed=any(q.assume for q in model.losses))
    world.along = [(left, right) for left, right in theorem.assumptions if type(left) is Tangent]
    return world


@pytest.mark.parametrize("steps", STEPS)
def test_every_line_is_true(model, derivation, oracle, steps) -> None:
    """The objective and the counts of masks among them."""
    d = derivation(model)
    truth = oracle(model, steps)
    for line in d.lines:
        bounds = [*hypotheses(line), *([index(t) - 1, T - index(t)] if line.kind == "loss" else ())]
        rests = line.theorem is not None and d.theorems[line.theorem].theorem.assumptions
        world = supposing(model, d, steps, d.theorems[line.theorem].theorem) if rests else truth
        for form in line.forms:
            assert world.refutes(line.left, form, bounds) is None, (line.kind, line.left, form)


def test_what_rests_on_an_assumption_needs_it(model, derivation, oracle) -> None:
    """The equation listed holds where targets or directions satisfy it, and without it the theorem is refuted."""
    d = derivation(model)
    assumed = [p.theorem for p in d.theorems if p.theorem.assumptions]
    kinds = {line.kind for line in d.lines if line.theorem is not None and d.theorems[line.theorem].theorem in assumed}
    assert ("assumed" in kinds) == any(q.assume for q in model.losses)
    assert kinds <= {"assumed", "directions"}
    truth = oracle(model, 3)
    for q in assumed:
        supposed = supposing(model, d, 3, q)
        assert truth.refutes(q.left, q.right, q.hypotheses)
        for left, right in q.assumptions:
            assert supposed.refutes(left, right, q.hypotheses) is None
            assert truth.refutes(left, right, q.hypotheses)


def test_the_cases_of_an_adjoint_cover_every_time_once(model, derivation) -> None:
    steps = 6
    for name in model.families:
        lines = [x for x in derivation(model).of_kind("boundary", "adjoint") if x.name == name]
        for s in range(1, steps + 1):
            rule = {t: Index(s), T: Index(steps)}
            inside = [x for x in lines if all(f.substitute(rule).const >= 0
                                              for f in (index(t) - x.lo, x.hi - t))]
            assert len(inside) == (1 if lines else 0), (name, s)


@pytest.mark.parametrize("steps", STEPS)
def test_every_written_line_is_true(model, derivation, oracle, steps) -> None:
    truth, d = oracle(model, steps), derivation(model, steps)
    for line in d.of_kind("written"):
        for form in line.forms:
            assert truth.refutes(line.left, form) is None, (line.left, form)


@pytest.mark.parametrize("steps", STEPS)
def test_every_theorem_is_true(model, derivation, oracle, steps) -> None:
    d = derivation(model)
    truth = oracle(model, steps)
    for proved in d.theorems:
        q = proved.theorem
        world = supposing(model, d, steps, q) if q.assumptions else truth
        assert world.refutes(q.left, q.right, q.hypotheses) is None, proved.key


@pytest.mark.parametrize("steps", [None, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))])
def test_every_proof_replays_from_its_data_alone(model, derivation, steps) -> None:
    for proved in derivation(model, steps).theorems:
        assert check(proved.proof) == proved.theorem == proved.proof.claim


@pytest.mark.parametrize("steps", [2, 4, 6, 9])
@pytest.mark.parametrize("name", ["linear", "lag_two", "two_states"])
def test_written_out_cases_of_other_lengths(named, oracle, name, steps) -> None:
    """Letter by letter for a small T, with powers and products above: proved and true either way."""
    model = named(name)
    written = [q for q in prove(model, steps) if q.key == "written"]
    assert len(written) == steps
    truth = oracle(model, steps)
    for q in written:
        assert check(q.proof) == q.theorem
        assert truth.refutes(q.theorem.left, q.theorem.right) is None


def test_a_theorem_says_what_its_line_says(model, derivation) -> None:
    for steps in (None, 3):
        d = derivation(model, steps)
        for line in d.lines:
            if line.theorem is not None:
                q = d.theorems[line.theorem].theorem
                assert (q.left, q.right) == (line.left, line.forms[-1])
                supposed = hypotheses(line)
                assert all(nonnegative(form, supposed) for form in q.hypotheses), (line.kind, q.hypotheses)


def test_a_proof_rests_on_the_definitions_of_its_model_and_no_others(model, derivation) -> None:
    """The definitions are rebuilt from the one-step template, and each of them holds in the oracle."""
    d = derivation(model)
    wanted, moving = definitions(template(model), d.closed, index(T)), flows(model)
    taken = d.closed.letters if d.closed is not None else ()
    forward = tangent_definitions(moving, tangent.solve(moving, taken))
    for proved in d.theorems:
        assert proved.proof.definitions in (wanted, (*wanted, *forward))


@pytest.mark.parametrize("steps", STEPS)
def test_every_definition_is_true(model, derivation, oracle, steps) -> None:
    truth = oracle(model, steps)
    every = dict.fromkeys(x for q in derivation(model).theorems for x in q.proof.definitions)
    for d in dict.fromkeys((*derivation(model).definitions, *every)):
        inside = [] if d.lo is None else [index(t) - d.lo, d.hi - t]
        assert truth.refutes(d.left, d.right, inside) is None, d.name


def test_definitions_mention_only_what_reaches_the_objective(model) -> None:
    form = template(model)
    for d in definitions(form, None, index(T)):
        for node in filter(lambda n: isinstance(n, Adjoint | Direct), _nodes(d.right)):
            if isinstance(node.of, At):
                assert form.delay[node.of.family.name] < NEVER


def _nodes(e):
    yield e
    for a in e.args:
        yield from _nodes(a)


def test_written_out_theorems_have_no_hypotheses_and_spell_every_path(named, derivation) -> None:
    d = derivation(named("linear"), 3)
    written = [q.theorem for q in d.theorems if q.key == "written"]
    assert [str(q.left) for q in written] == ["dL/dh[3]", "dL/dh[2]", "dL/dh[1]"]
    assert [len(q.right.args) if type(q.right).__name__ == "Plus" else 1 for q in written] == [1, 2, 3]
    assert not any(q.hypotheses for q in written)


def test_every_step_of_a_proof_is_needed(named, derivation) -> None:
    """Take one step out, and the proof no longer replays."""
    proof = derivation(named("linear")).theorems[0].proof
    for gap in range(len(proof.steps)):
        with pytest.raises(Refused):
            check(replace(proof, steps=(*proof.steps[:gap], *proof.steps[gap + 1:])))


def test_the_rules_in_use_are_those_of_the_kernel(model, derivation) -> None:
    assert {s.rule for q in derivation(model).theorems for s in q.proof.steps} <= INFERENCE.keys()


@pytest.mark.parametrize("name", ["linear", "bilinear", pytest.param("same_time_states", marks=pytest.mark.slow)])
def test_every_intermediate_theorem_is_true(named, derivation, oracle, name) -> None:
    """Not only what is proved: every step on the way, where it rests on no assumption."""
    model, steps = named(name), 2
    truth = oracle(model, steps)
    for proved in derivation(model).theorems:
        for q in replay(proved.proof):
            if not q.assumptions and len(free_indices(q.left) | free_indices(q.right) - {T}) <= 2:
                assert truth.refutes(q.left, q.right, [*q.hypotheses, index(t) - 1]) is None


def test_instances_of_a_theorem_are_true_for_every_t(named, derivation, oracle) -> None:
    model, steps = named("two_states"), 4
    q = next(p.theorem for p in derivation(model).theorems if p.key == "closed")
    truth = oracle(model, steps)
    for s in range(1, steps + 2):
        rule = {t: Index(s)}
        assert truth.refutes(substitute(q.left, rule), substitute(q.right, rule)) is None
