"""The kernel refuses what does not follow. Each attack tries to prove something false, most of them that A = 0."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import sympy
from sympy import Float, Integer, MatrixSymbol, Rational, Symbol, oo, zoo
from sympy.core.basic import Basic

from symbptt.expr.build import apply, loss
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import (
    Adjoint,
    At,
    Binder,
    Block,
    Delta,
    Diagonal,
    Direct,
    Hadamard,
    Identity,
    LossGradient,
    Multiple,
    Node,
    Ones,
    Plus,
    Power,
    Product,
    Scale,
    Sum,
    Tangent,
    Times,
    Transpose,
    Zero,
    block,
)
from symbptt.expr.shape import ShapeError
from symbptt.expr.walk import free_indices, substitute
from symbptt.proof.axioms import Refused
from symbptt.proof.kernel import INFERENCE, admit, check, replay
from symbptt.proof.oracle import Oracle
from symbptt.proof.statement import Definition, Proof, Step, Theorem

h, q = Symbol("h"), Symbol("q")
A, B, C = (MatrixSymbol(name, h, h) for name in "ABC")
Q, R = MatrixSymbol("Q", h, q), MatrixSymbol("R", q, h)
f, g, b, v = (MatrixSymbol(name, h, 1) for name in ("f", "g", "b", "v"))
s = MatrixSymbol("s", 1, 1)
i, j, k = map(IndexVar, "ijk")
it, ii, ij, ik, iT = (index(x) for x in (t, i, j, k, T))
O, I = Zero(h, h), Identity(h)


def by(c, e):
    """C · e."""
    return Scale(sympy.sympify(c), e)


class Writer:
    """Writes steps down; `theorem` is what the last one proves when everything is replayed from the data."""

    def __init__(self, *definitions):
        self.definitions, self.steps = definitions, []

    def __call__(self, rule, premises=(), *args):
        self.steps.append(Step(rule, tuple(premises), args))
        return len(self.steps) - 1

    def axiom(self, name, *args):
        return self("axiom", (), name, *args)

    def theorem(self):
        claim = replay(Proof(self.definitions, tuple(self.steps), None))[-1]
        return check(Proof(self.definitions, tuple(self.steps), claim))


def refused(writer, match="."):
    with pytest.raises(Refused, match=match):
        writer.theorem()


def proves(rule, *args, premises=(), definitions=()):
    w = Writer(*definitions)
    w(rule, premises, *args)
    return w.theorem()


# What follows, follows. ----------------------------------------------------------------------------------------------

def test_equality() -> None:
    w = Writer()
    ab = w("assumption", (), A, B)
    bc = w("assumption", (), B, C)
    w("symmetry", [w("transitivity", [ab, bc])])
    q = w.theorem()
    assert (q.left, q.right, q.assumptions) == (C, A, {(A, B), (B, C)})


@pytest.mark.parametrize("e", [A, Sum(At(f, ii), i, 1, T), Adjoint(At(f, it))], ids=str)
def test_reflexivity(e) -> None:
    q = proves("reflexivity", e)
    assert q.left == q.right == e


RING = [
    (Times(A, Times(B, C)), Times(Times(A, B), C)),
    (Times(Plus(A, B), C), Plus(Times(A, C), Times(B, C))),
    (Plus(A, B), Plus(B, A)),
    (Transpose(Times(A, Q)), Times(Transpose(Q), Transpose(A))),
    (Transpose(Transpose(Q)), Q),
    (Plus(A, by(-1, A)), O),
    (Times(I, Q), Q),
    (by(Rational(1, 3), Plus(A, A, A)), A),
    (Times(by(2, A), by(Rational(1, 2), B)), Times(A, B)),
    (Times(O, Q), Zero(h, q)),
    (by(1 / T, by(T, A)), A),
    (Transpose(I), I),
    (Transpose(Diagonal(f)), Diagonal(f)),
    (Transpose(Times(Diagonal(f), A, Diagonal(g))), Times(Diagonal(g), Transpose(A), Diagonal(f))),
    (Plus(Hadamard(f, g), Hadamard(f, g)), by(2, Hadamard(f, g))),
]
NOT_RING = [
    (Times(Diagonal(f), A), Times(A, Diagonal(f))), (Diagonal(f), Diagonal(g)),
    (Transpose(Hadamard(A, B)), Hadamard(A, B)),
    (Hadamard(f, f), f), (Diagonal(f), Times(f, Transpose(f))), (apply("tanh", f), apply("sigmoid", f)),
    (apply("tanh", Plus(f, f)), by(2, apply("tanh", f))), (Ones(h, h), I),
    (Transpose(apply("tanh", A)), apply("tanh", A)),
    (Times(A, B), Times(B, A)), (Transpose(Times(A, B)), Times(Transpose(A), Transpose(B))), (A, B),
    (Plus(A, A), A), (Transpose(A), A), (by(Symbol("a"), A), by(Symbol("b"), A)),
    (A, by(-1, A)), (I, O), (Times(A, I), I),
    (by(Rational(1, 3), A), by(Rational(333333333333, 10**12), A)),
    (by((Symbol("a") + 1) ** 2, A), by(Symbol("a") ** 2 + 1, A)),
]


@pytest.mark.parametrize(("left", "right"), RING)
def test_ring(left, right) -> None:
    proves("ring", left, right)
    assert Oracle().refutes(left, right) is None


@pytest.mark.parametrize(("left", "right"), NOT_RING)
def test_what_is_no_ring_law_is_refused(left, right) -> None:
    with pytest.raises(Refused):
        proves("ring", left, right)
    assert Oracle().refutes(left, right) is not None


def test_congruence_under_a_binder_uses_its_range_and_discharges_it() -> None:
    w = Writer()
    inner = w.axiom("power_step", A, ii - it)
    w("congruence", [inner], Sum(Times(A, Power(A, ii - it)), i, it, T), (0,))
    q = w.theorem()
    assert not q.hypotheses
    assert q.right == Sum(Power(A, ii - it + 1), i, it, T)
    assert Oracle().refutes(q.left, q.right) is None


@pytest.mark.parametrize("e", [Plus(A, B), Times(A, B), by(2, A), Transpose(A), Power(A, it), Multiple(s, A),
                               Product(A, k, 1, T), Sum(A, k, 1, T), block([[A, B]]),
                               loss("l", A, v)], ids=lambda e: type(e).__name__)
def test_congruence_in_every_operation(e) -> None:
    w = Writer()
    place = e.args.index(A)
    w("congruence", [w("ring", (), A, Plus(A, O))], e, (place,))
    q = w.theorem()
    assert q.right.args[place] == Plus(A, O)
    assert Oracle().refutes(q.left, q.right) is None


def test_cases_and_entailment() -> None:
    w = Writer()
    one = w("entailment", [w("reflexivity", (), A)], it - 1)
    other = w("entailment", [w("reflexivity", (), A)], -it, ii)
    w("cases", [one, other], it - 1)
    assert w.theorem().hypotheses == {ii}


def downward(lo=1, top=None, step_range=None):
    """G_t = f_t + G_{t+1}, G past T zero: G_t = Σ_{i=t}^{T} f_i."""
    top = iT + 1 if top is None else top
    total = Sum(At(f, ii), i, it, T)
    ahead, end = Sum(At(f, ii), i, it + 1, T), Sum(At(f, ii), i, iT + 1, T)
    w = Writer(Definition("G", At(g, it), Plus(At(f, it), At(g, it + 1)), Index(1), iT))
    zero = w("beyond", (), "G", iT + 1)
    empty = w("symmetry", [w.axiom("sum_empty", *end.args)])
    base = w("transitivity", [zero, empty])
    unfold = w("definition", (), "G", it)
    known = w("assumption", (), At(g, it + 1), ahead)
    used = w("congruence", [known], Plus(At(f, it), At(g, it + 1)), (1,))
    opened = w("symmetry", [w.axiom("sum_first", *total.args)])
    step = w("entailment", [w("transitivity", [unfold, used, opened])], *(step_range or (it - 1, iT - it)))
    w("induction_down", [base, step], Index(lo), top)
    return w


def test_downward_induction() -> None:
    q = downward().theorem()
    assert q.hypotheses == {it - 1, iT + 1 - it}
    assert not q.assumptions
    assert q.used >= {"G", "sum_first", "sum_empty"}


def test_upward_induction() -> None:
    """Σ_{i=1}^{t} 0 = 0 for 0 ≤ t, without looking inside."""
    w = Writer()
    left, zero = Sum(Zero(h, Integer(1)), i, 1, it), Zero(h, Integer(1))
    base = w.axiom("sum_empty", Zero(h, Integer(1)), i, Index(1), Index(0))
    split = w.axiom("sum_split", Zero(h, Integer(1)), i, Index(1), it - 1, it)
    single = w.axiom("sum_first", Zero(h, Integer(1)), i, it, it)
    gone = w.axiom("sum_empty", Zero(h, Integer(1)), i, it + 1, it)
    last = w("transitivity", [single, w("ring", (), replay(Proof((), tuple(w.steps), None))[single].right,
                                        Plus(zero, Sum(zero, i, it + 1, it)))])
    last = w("transitivity", [last, w("congruence", [gone], Plus(zero, Sum(zero, i, it + 1, it)), (1,))])
    known = w("assumption", (), Sum(zero, i, 1, it - 1), zero)
    both = w("congruence", [known, last], Plus(Sum(zero, i, 1, it - 1), Sum(zero, i, it, it)), (0, 1))
    done = w("transitivity", [split, both, w("ring", (), Plus(zero, Plus(zero, zero)), zero)])
    step = w("entailment", [done], it - 1, ii - it)
    w("induction_up", [base, step], Index(0), ii)
    q = w.theorem()
    assert (q.left, q.right, q.hypotheses) == (left, zero, {it, ii - it})


# Attacks on the rules. -----------------------------------------------------------------------------------------------

def test_a_forged_theorem_in_the_arguments_of_a_step() -> None:
    forged = Theorem(frozenset(), frozenset(), A, O)
    for rule in INFERENCE:
        for args in ((forged,), (forged, forged), (forged, A, (0,)), (SimpleNamespace(**vars(forged)),)):
            w = Writer()
            w(rule, (), *args)
            refused(w)


def test_a_theorem_changed_after_the_fact_changes_nothing() -> None:
    w = Writer()
    w("reflexivity", (), A)
    q = w.theorem()
    object.__setattr__(q, "right", O)
    proof = Proof((), tuple(w.steps), q)
    with pytest.raises(Refused, match="claims"):
        check(proof)
    assert replay(proof)[-1].right == A


def test_a_forged_claim() -> None:
    with pytest.raises(Refused, match="claims"):
        check(Proof((), (Step("reflexivity", (), (A,)),), Theorem(frozenset(), frozenset(), A, O)))
    with pytest.raises(Refused, match="claims"):
        check(Proof((), (), Theorem(frozenset(), frozenset(), A, O)))


def test_a_claim_may_not_drop_a_hypothesis_or_an_assumption() -> None:
    w = Writer()
    w.axiom("power_step", A, ii)
    with pytest.raises(Refused):
        check(Proof((), tuple(w.steps), replace(w.theorem(), hypotheses=frozenset())))
    w = Writer()
    w("assumption", (), A, O)
    with pytest.raises(Refused):
        check(Proof((), tuple(w.steps), replace(w.theorem(), assumptions=frozenset())))


@pytest.mark.parametrize("premises", [(0,), (1,), (-1,), (7,)])
def test_a_premise_must_be_an_earlier_step(premises) -> None:
    w = Writer()
    w("symmetry", premises)
    refused(w, "earlier")


@pytest.mark.parametrize(("rule", "args"), [("magic", (A, O)), ("axiom", ("sum_frist", A)), ("axiom", (["x"],)),
                                            ("definition", ("nothing",)), ("beyond", ("nothing", it)),
                                            ("reflexivity", ()), ("reflexivity", (A, A)), ("ring", (A,)),
                                            ("transitivity", ()), ("congruence", (A, (0,))), ("instance", ()),
                                            ("axiom", ("power_step", A)), ("axiom", ("sum_first", A, A, A, A)),
                                            ("congruence", (Plus(A, B), (5,))), ("axiom", ("block_zero", A)),
                                            ("axiom", ("block_zero", Basic.__new__(Block, Integer(0))))])
def test_unknown_rules_and_wrong_arguments(rule, args) -> None:
    w = Writer()
    w(rule, (), *args)
    refused(w)


def test_a_chain_must_meet() -> None:
    w = Writer()
    w("transitivity", [w("reflexivity", (), A), w("reflexivity", (), B)])
    refused(w, "is not")


@pytest.mark.parametrize("e", [Adjoint(At(f, it)), Direct(At(f, it)), At(f, it), LossGradient(loss("l", v), Integer(0)),
                               Adjoint(A)], ids=str)
def test_no_congruence_into_what_is_no_operation_on_values(e) -> None:
    inside = e.args[0]
    w = Writer()
    w("congruence", [w("assumption", (), inside, inside)], e, (0,))
    refused(w, "no operation")


def test_congruence_needs_the_operand_itself() -> None:
    w = Writer()
    w("congruence", [w("assumption", (), B, O)], Plus(A, C), (0,))
    refused(w, "not operand")
    w = Writer()
    w("congruence", [w("assumption", (), A, O)], by(Symbol("A"), B), (0,))
    refused(w, "not operand")


def test_a_hypothesis_does_not_leak_out_of_a_binder() -> None:
    w = Writer()
    inner = w.axiom("power_step", A, ii - it)
    w("congruence", [inner], Sum(Times(A, Power(A, ii - it)), i, it - 5, T), (0,))
    refused(w, "bound index")


def test_a_theorem_that_supposes_ever_more() -> None:
    """Each round joins a theorem with an instance of itself, so that 2^n things are supposed after n rounds."""
    w, e = Writer(), At(f, ii)
    last = w("assumption", (), e, e)
    for n in range(9):
        later = w("instance", (last,), (i, ii + 2 ** n))
        e = Plus(e, substitute(e, {i: ii + 2 ** n}))
        last = w("congruence", (last, later), e, (0, 1))
        if n == 7:
            assert len(w.theorem().assumptions) == 256
    refused(w, "supposes")


def test_an_assumption_on_a_bound_index() -> None:
    w = Writer()
    w("congruence", [w("assumption", (), At(f, ii), Zero(h, Integer(1)))], Sum(At(f, ii), i, 1, T), (0,))
    refused(w, "bound index")


def test_a_binder_over_what_a_definition_fixes() -> None:
    """From g_s = f_n the sum over n must not become a sum of g_s."""
    n = IndexVar("n")
    w = Writer(Definition("g", At(g, it), At(f, index(n))))
    w("congruence", [w("definition", (), "g", it)], Sum(At(g, it), n, 1, 2), (0,))
    refused(w, "bound index")


def test_an_instance_may_not_replace_what_the_definitions_fix() -> None:
    w = Writer(Definition("g", At(g, it), Plus(At(f, it), At(g, it + 1)), Index(1), iT))
    w("instance", [w("beyond", (), "g", iT + 1)], (T, Index(0)))
    refused(w, "fix")


def test_an_instance_may_not_replace_the_number_of_steps() -> None:
    """T/T = 1 would become 0/0 = 1."""
    w = Writer()
    w("instance", [w("ring", (), by(T, by(1 / T, A)), A)], (T, Index(0)))
    refused(w)


def test_an_instance_replaces_index_variables_only() -> None:
    gamma = Symbol("gamma")
    for wrong in (gamma, h, Symbol("t", integer=True), A):
        w = Writer()
        base = w("ring", (), by(gamma * i, A), by(gamma, by(i, A)))
        w("instance", [base], (i, Index(1)), (wrong, Index(5)))
        refused(w)


def test_an_instance_moves_hypotheses_and_assumptions_along() -> None:
    w = Writer()
    one = w.axiom("power_step", A, ii)
    w("instance", [one], (i, Index(-3)))
    assert w.theorem().hypotheses == {Index(-3)}
    w = Writer()
    w("instance", [w("assumption", (), At(f, ii), v)], (i, Index(2)))
    assert w.theorem().assumptions == {(At(f, 2), v)}


def test_instances_are_simultaneous_and_capture_nothing() -> None:
    w = Writer()
    body = At(MatrixSymbol("F", h, h), ij + ii)
    w("instance", [w("reflexivity", (), Sum(body, i, ij, ik))], (j, ii), (k, ij))
    e = w.theorem().left
    assert e.var not in {i, j}
    assert (e.lo, e.hi) == (ii, ij)
    world = Oracle()
    values = {i: 1, j: 3}
    wanted = world.value(Sum(At(body.family, ik + ii), k, ii, ij), values)
    assert world.value(e, values) == wanted


def test_renaming_stays_clear_of_the_bounds() -> None:
    """Σ_{i=j}^{i'} f_{i+k} at k := i: the new name of i is neither i nor i', which stands in a bound."""
    prime = IndexVar("i'")
    w = Writer()
    w("instance", [w("reflexivity", (), Sum(At(f, ii + ik), i, ij, index(prime)))], (k, ii))
    e = w.theorem().left
    assert e.var not in {i, prime}


def test_entailment_needs_the_hypothesis() -> None:
    for wanted in ((), (ii,), (it - 2,), (ii - it,)):
        w = Writer()
        w("entailment", [w.axiom("power_step", A, ii - 1)], *wanted)
        refused(w, "does not follow")


def test_a_false_hypothesis_stays_with_the_theorem() -> None:
    w = Writer()
    false = w.axiom("power_step", A, Index(-1))
    assert w.theorem().hypotheses == {Index(-1)}
    w("entailment", [false], Index(5))
    refused(w, "does not follow")


def test_cases_must_cover_everything() -> None:
    for form in (it - 2, it, it - 1 + ii):
        w = Writer()
        one = w.axiom("power_step", A, it - 1)
        w("cases", [one, w("entailment", [one], it - 1)], form)
        assert it - 1 in w.theorem().hypotheses


def test_cases_must_agree() -> None:
    w = Writer()
    w("cases", [w("reflexivity", (), A), w("reflexivity", (), B)], it)
    refused(w, "different equations")


def test_a_form_is_a_whole_number_for_every_choice() -> None:
    """For f = t/2 the two cases f ≥ 0 and f ≤ -1 would leave t = -1 out."""
    with pytest.raises((TypeError, ValueError)):
        Index(0, [(t, 0.5)])
    with pytest.raises((TypeError, ValueError)):
        Index(0.5)
    with pytest.raises(TypeError):
        index(t / 2)
    assert Index(0, [(t, 1), (t, 1)]) == it + it
    assert Index(0, [(t, 1), (t, -1)]) == Index(0)


# Attacks on axioms. --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "args", "condition"), [
    ("sum_first", (At(f, ii), i, it, iT), iT - it), ("power_step", (A, Index(-1)), Index(-1)),
    ("sum_empty", (At(f, ii), i, Index(1), Index(1)), Index(-1)),
    ("product_first", (At(A, ik), k, it, iT), iT - it),
    ("sum_split", (At(f, ii), i, Index(1), Index(5), Index(3)), Index(-2)),
    ("product_rotate", (At(Q, ik), At(R, ik), k, Index(3), Index(1)), Index(-1)),
    ("product_constant", (A, k, it, iT), iT - it + 1), ("product_join", (At(A, ik), k, ii, ij, iT), iT - ij),
], ids=str)
def test_a_condition_becomes_a_hypothesis(name, args, condition) -> None:
    assert condition in proves("axiom", name, *args).hypotheses


@pytest.mark.parametrize("bounds", [(ii, iT), (Index(1), ii), (Index(1), ii + ii - 5), (it, iT - ii)], ids=str)
def test_a_bound_index_in_its_own_bounds(bounds) -> None:
    """Σ_{i=1}^{2i-5}: under the binder 2i - 5 - i ≥ 0 would say i ≥ 5."""
    w = Writer()
    inner = w.axiom("sum_empty", A, j, ii, Index(4))
    w("congruence", [inner], Sum(Sum(A, j, ii, 4), i, *bounds), (0,))
    refused(w)


def test_the_number_of_steps_is_never_bound() -> None:
    for binder in (Sum, Product):
        w = Writer()
        w("reflexivity", (), binder(A, T, 1, 3))
        refused(w)


def test_a_negative_length_says_nothing_and_proves_nothing() -> None:
    w = Writer()
    w.axiom("product_empty", At(A, ik), k, Index(1))
    w.theorem()
    for name, args in (("product_first", (A, k, Index(3), Index(1))), ("product_constant", (A, k, Index(3), Index(1)))):
        assert any(x.const < 0 for x in proves("axiom", name, *args).hypotheses)


def test_odd_partitions_of_blocks() -> None:
    wide, tall = block([[A, Q]]), block([[R], [A]])
    w = Writer()
    w.axiom("block_times", wide, tall)
    refused(w)
    w = Writer()
    w.axiom("block_plus", block([[A, Q]]), block([[Q, A]]))
    refused(w)
    for ragged in (Block(Integer(2), A, B, C), Block(Integer(-1), A), Block(Integer(2), A)):
        w = Writer()
        w("reflexivity", (), ragged)
        refused(w)


@pytest.mark.parametrize("e", [Plus(A, Q), Times(A, R), Power(Q, 2), Product(Q, k, 1, T), Multiple(A, B), Plus(A, I, v),
                               block([[A], [Q]]), loss("l", Plus(A, Q)), Sum(Times(Q, Q), i, 1, T),
                               LossGradient(loss("l", v, Plus(A, Q)), Integer(0))], ids=lambda e: type(e).__name__)
def test_ill_shaped_terms(e) -> None:
    w = Writer()
    w("reflexivity", (), e)
    refused(w)


def test_sides_of_different_shape() -> None:
    w = Writer()
    w("ring", (), Zero(h, h), Zero(h, q))
    refused(w, "shapes")
    w = Writer()
    w("ring", (), Identity(h), Identity(q))
    refused(w, "shapes")


# Attacks on scalars. -------------------------------------------------------------------------------------------------

a = Symbol("a")
HIDDEN_ZERO = (a + 1) ** 2 - a**2 - 2 * a - 1
STRANGE = [zoo, oo, sympy.nan, Float(0.1), 0.1, 1 / HIDDEN_ZERO, 1 / t, 1 / i, sympy.Sum(k, (k, 1, t)),
           sympy.sqrt(a**2), a**a, Symbol("N", commutative=False), A, sympy.pi, sympy.I, 2**t, 1 / (a + 1),
           sympy.Pow(0, -1, evaluate=False), sympy.Function("F")(t), None, "2"]


@pytest.mark.parametrize("c", STRANGE, ids=lambda c: f"{type(c).__name__} {c}")
def test_strange_scalars(c) -> None:
    w = Writer()
    w("reflexivity", (), Basic.__new__(Scale, c, A))
    refused(w)


def test_division_by_an_index_that_becomes_zero() -> None:
    """I · (1/i) A = A, hidden in a block, at i := 0."""
    w = Writer()
    hidden = w("symmetry", [w.axiom("block_single", by(1 / i, A))])
    spread = w("congruence", [hidden], by(i, by(1 / i, A)), (1,))
    whole = w("transitivity", [w("symmetry", [spread]), w("ring", (), by(i, by(1 / i, A)), A)])
    w("instance", [whole], (i, Index()))
    refused(w)


def test_a_scalar_with_an_index_is_moved_along() -> None:
    q = proves("axiom", "sum_first", by(i, A), i, Index(2), iT)
    assert q.right.args[0] == by(2, A)


# Attacks on the vocabulary. ------------------------------------------------------------------------------------------

class Foreign(Node):
    """A class that no table knows."""

    rule = staticmethod(lambda body, *_: body.shape)


class Rebinder(Binder):
    """A binder that no table knows."""

    rule = staticmethod(lambda body, *_: body.shape)


@pytest.mark.parametrize("e", [Foreign(A), Plus(A, Foreign(A)), Rebinder(A, i, 1, T), Times(A, sympy.MatMul(A, B)),
                               Plus(A, sympy.Transpose(A)), sympy.ZeroMatrix(h, h), A + B, At(Plus(A, B), it),
                               At(At(f, it), it), Adjoint(Plus(A, B)), Adjoint(Adjoint(At(f, it)))],
                         ids=lambda e: type(e).__name__)
def test_what_is_not_of_the_vocabulary(e) -> None:
    for rule, args in (("reflexivity", (e,)), ("ring", (e, e)), ("assumption", (e, e))):
        w = Writer()
        w(rule, (), *args)
        refused(w)


def test_a_size_called_like_an_index_is_no_index() -> None:
    n = Symbol("i", integer=True)
    square = MatrixSymbol("N", n, n)
    w = Writer()
    w("instance", [w("ring", (), Times(Identity(n), square), square)], (i, Index(3)))
    assert w.theorem().left == Times(Identity(n), square)
    w = Writer()
    w("instance", [w("reflexivity", (), Zero(i, i))], (i, Index(1)))
    assert w.theorem().left == Zero(i, i)


# Attacks on induction. -----------------------------------------------------------------------------------------------

def test_induction_with_a_wrong_base() -> None:
    refused(downward(top=iT), "base")


def test_induction_with_a_step_that_uses_more_than_its_range() -> None:
    for step_range in ((it - 2, iT - it), (it - 1, iT - it - 1), (it - 1, iT - it, ii - it)):
        refused(downward(step_range=step_range))


def test_induction_beyond_its_range() -> None:
    refused(downward(lo=0), "more than the range")


@pytest.mark.parametrize(("lo", "top"), [(it, iT + 1), (it + it - 5, iT + 1), (Index(1), iT + it)], ids=str)
def test_induction_with_bounds_that_mention_t(lo, top) -> None:
    w = Writer()
    base = w("reflexivity", (), A)
    w("induction_down", [base, base], lo, top)
    refused(w)


def test_induction_with_a_wrong_step() -> None:
    """P(t + 2) ⊢ P(t) is no step, nor is P(t) ⊢ P(t)."""
    for ahead in (it + 2, it, it - 1):
        w = Writer()
        zero = Zero(h, Integer(1))
        base = w("assumption", (), At(f, iT + 1), zero)
        known = w("assumption", (), At(f, ahead), zero)
        both = w("congruence", [known], Plus(At(f, ahead), by(-1, At(f, ahead)), At(f, it)), (0,))
        step = both if ahead != it else known
        w("induction_down", [base, step], Index(1), iT + 1)
        refused(w)


def test_induction_with_a_base_or_an_assumption_on_t() -> None:
    w = Writer()
    base = w("assumption", (), At(f, it), v)
    w("induction_down", [base, base], Index(1), it)
    refused(w)
    w = Writer()
    one = w("assumption", (), A, O)
    other = w("entailment", [one], it - 3)
    w("induction_down", [other, one], Index(1), iT)
    refused(w)


def test_what_induction_leaves_open_stays_open() -> None:
    w = Writer()
    base = w("assumption", (), A, B)
    w("induction_down", [base, base], Index(1), iT)
    assert w.theorem().assumptions == {(A, B)}


# Attacks on definitions. ---------------------------------------------------------------------------------------------

def recursion(left, right, lo=1, hi=iT, name=None):
    return Definition(name or str(left), left, right, index(lo), hi)


G = recursion(At(g, it), Plus(At(f, it), At(g, it + 1)))
BAD = {
    "twice": (Definition("x", A, B), Definition("y", A, O)),
    "one name twice": (Definition("x", A, B), Definition("x", C, O)),
    "recursion twice": (G, recursion(At(g, it), At(f, it), name="again")),
    "recursion and abbreviation": (G, Definition("x", At(g, it), At(b, it))),
    "a member that the recursion holds": (G, Definition("x", At(g, 1), At(b, it))),
    "a member inside": (recursion(At(g, it), At(g, it + 1)), Definition("x", At(g, Index(1)), v)),
    "a member past the end": (recursion(At(g, it), At(g, it + 1), hi=Index(3)), Definition("x", At(g, Index(7)), v)),
    "a range that ends before it starts": (recursion(At(g, it), v, hi=Index(-1)), Definition("x", At(g, Index(0)), v)),
    "a range that may be empty": (recursion(At(g, it), v, lo=Index(2)),),
    "a range that starts at 0": (recursion(At(g, it), v, lo=Index(0)), Definition("x", At(g, Index(0)), v)),
    "at itself": (recursion(At(g, it), Plus(At(g, it), v)),),
    "backward": (recursion(At(g, it), At(g, it - 1)),),
    "at a fixed time": (recursion(At(g, it), Plus(At(g, Index(1)), v)),),
    "at any time": (recursion(At(g, it), Sum(At(g, ii), i, it + 1, T)),),
    "at t bound again": (recursion(At(g, it), Plus(v, Sum(At(g, it + 1), t, 0, Index(1))), hi=Index(1)),),
    "in a circle at t": (recursion(At(g, it), At(f, it)), recursion(At(f, it), At(g, it))),
    "abbreviation of itself": (Definition("x", A, Plus(A, B)),),
    "abbreviations in a circle": (Definition("x", A, Plus(B, C)), Definition("y", B, A)),
    "abbreviation of a later time": (Definition("x", At(g, it), Plus(At(g, it + 1), v)),),
    "members in a circle": (Definition("x", At(g, Index(0)), At(g, Index(-1))),
                            Definition("y", At(g, Index(-1)), Plus(At(g, Index(0)), v))),
    "recursion of a later letter": (recursion(At(g, it), Times(A, At(g, it + 1))), Definition("x", A, C)),
    "recursion of a letter that needs it": (recursion(At(g, it), Times(A, v)),
                                            Definition("x", A, Times(At(g, Index(1)), Transpose(v)))),
    "t on the right alone": (Definition("x", A, Power(B, it)),),
    "another shape": (Definition("x", A, Q),),
    "t in the last time": (recursion(At(g, it), v, hi=it + 3),),
    "t in the first time": (recursion(At(g, it), v, lo=it - 3),),
    "half a range": (Definition("x", At(g, it), v, Index(1), None),),
    "a letter by recursion": (Definition("x", A, B, Index(1), iT),),
    "a shifted head": (recursion(At(g, it + 1), v),),
    "a head at another index": (Definition("x", At(g, ii), v),),
    "a compound head": (Definition("x", Plus(A, B), C),),
    "a scaled head": (Definition("x", by(2, A), B),),
    "zero": (Definition("x", O, A),),
    "identity": (Definition("x", I, A),),
    "a family that is none": (Definition("x", At(At(f, it), it), Plus(At(At(f, Index(0)), it), v)),),
    "a hidden head": (Definition("x", s, by(sympy.Trace(s) + 1, Identity(1))),),
    "a foreign class": (Definition("x", A, Foreign(A)),),
}


@pytest.mark.parametrize("definitions", BAD.values(), ids=BAD.keys())
def test_definitions_that_are_refused(definitions) -> None:
    with pytest.raises((Refused, TypeError)):
        admit(definitions)
    w = Writer(*definitions)
    w("reflexivity", (), A)
    refused(w)


GOOD = {
    "recursions": (recursion(At(f, it), At(g, it + 1)), recursion(At(g, it), Plus(At(f, it), At(g, it + 2)))),
    "members before": (G, Definition("x", At(g, Index(0)), At(g, Index(1))),
                       Definition("y", At(g, Index(-1)), At(g, Index(0)))),
    "letters": (G, Definition("x", At(C, it), Times(B, B)), Definition("y", A, Sum(At(C, it), t, 1, T))),
    "derivatives": (recursion(Direct(At(f, it)), v), recursion(Adjoint(At(f, it)), Plus(Direct(At(f, it)),
                                                                                       Adjoint(At(f, it + 1))))),
}


@pytest.mark.parametrize("definitions", GOOD.values(), ids=GOOD.keys())
def test_definitions_that_are_admitted(definitions) -> None:
    assert admit(definitions).definitions.keys() == {d.name for d in definitions}


def test_a_recursion_holds_inside_its_range_only() -> None:
    q = proves("definition", "g[t]", Index(7), definitions=(recursion(At(g, it), At(f, it)),))
    assert q.hypotheses == {iT - 7}
    q = proves("beyond", "g[t]", Index(7), definitions=(recursion(At(g, it), At(f, it)),))
    assert q.hypotheses == {6 - iT}


def test_an_abbreviation_does_not_vanish() -> None:
    w = Writer(Definition("x", At(g, it), At(f, it)))
    w("beyond", (), "x", iT + 1)
    refused(w, "recursion")


def test_no_definition_no_unfolding() -> None:
    with pytest.raises(Refused, match="no definition"):
        proves("definition", "g", it)


def test_the_kernel_says_which_step_failed() -> None:
    w = Writer()
    w("reflexivity", (), A)
    w("symmetry", ())
    refused(w, r"step 1 \(symmetry\)")


# Elementwise products, functions, deltas. -----------------------------------------------------------------------------

@pytest.mark.parametrize(("e", "place", "right"), [
    (Hadamard(f, g), 0, Hadamard(v, g)), (apply("tanh", f), 1, apply("tanh", v)),
    (Diagonal(f), 0, Diagonal(v))], ids=str)
def test_congruence_under_what_is_entrywise(e, place, right) -> None:
    w = Writer()
    w("congruence", [w("assumption", (), f, v)], e, (place,))
    q = w.theorem()
    assert (q.left, q.right, q.assumptions) == (e, right, {(f, v)})


def test_a_delta_is_one_or_zero() -> None:
    q = proves("axiom", "delta_same", it)
    assert (q.left, q.right, q.hypotheses) == (Delta(t, t), Identity(Integer(1)), frozenset())
    q = proves("axiom", "delta_apart", it, iT)
    assert (q.left, q.right, q.hypotheses) == (Delta(t, T), Zero(Integer(1), Integer(1)), {iT - it - 1})


@pytest.mark.parametrize("args", [("delta_same", it, iT), ("delta_same", it, it), ("delta_apart", it), ("delta_apart",),
                                  ("delta_same", "t"), ("delta_same", A), ("delta_apart", it, A)], ids=str)
def test_a_delta_axiom_with_other_arguments_is_refused(args) -> None:
    w = Writer()
    w("axiom", (), *args)
    refused(w)


def test_deltas_of_different_indices_are_not_known_to_be_one() -> None:
    """From δ_{tt} = 1 nothing follows for δ_{tT}; as ring letters they differ."""
    for right in (Identity(Integer(1)), Delta(it + 1, T), Delta(T, t)):
        w = Writer()
        w("ring", (), Delta(t, T), right)
        refused(w)


def changes(*names):
    """Families of numbers and their changes by name, at a time."""
    symbols = {name: MatrixSymbol(name, 1, 1) for name in names}
    return lambda name, time: Tangent(At(symbols[name], time))


def circle_through(start, *more):
    """Definitions dh_t := dk_{t-1}, dg_0 := what is given, dk_t := dg_{t-1}: unfolded, dh_2 would be itself + 1."""
    d = changes("g", "h", "k")
    return (Definition("h", d("h", t), d("k", index(t) - 1), Index(1), index(T) + 1), *more,
            Definition("g0", d("g", 0), start), Definition("k", d("k", t), d("g", index(t) - 1), Index(1), index(T)))


def test_a_value_before_the_first_step_mentions_no_later_change() -> None:
    d, one = changes("g", "h", "k"), Identity(Integer(1))
    letter = MatrixSymbol("A", 1, 1)
    with pytest.raises(Refused, match="need not end"):
        admit(circle_through(Plus(d("h", 2), one)))
    with pytest.raises(Refused, match="need not end"):
        admit(circle_through(letter, Definition("A", letter, Plus(d("h", 2), one))))
    assert admit(circle_through(one)).definitions.keys() == {"h", "g0", "k"}


def test_changes_run_upwards_alone() -> None:
    d = changes("g", "h")
    up = Definition("h", d("h", t), d("h", index(t) - 1), Index(1), index(T))
    assert admit([up]).definitions
    for wrong in (d("h", index(t) + 1), d("h", t), Adjoint(At(MatrixSymbol("h", 1, 1), index(t) - 1)), d("h", 3)):
        downward = Definition("g", Adjoint(At(MatrixSymbol("h", 1, 1), t)), Zero(Integer(1), Integer(1)), Index(1),
                              index(T))
        with pytest.raises(Refused):
            admit([downward, Definition("h", d("h", t), wrong, Index(1), index(T))])


@pytest.mark.parametrize("cells", [
    [Identity(Integer(1)), Zero(Integer(1), Integer(1)), Zero(Integer(-1), Integer(1))],
    [Identity(Integer(1)), MatrixSymbol("w", -Symbol("h"), 1)],
    [Zero(Rational(1, 2), Integer(1)), Zero(Rational(1, 2), Integer(1))],
], ids=["a negative height", "a height that cancels", "halves"])
def test_heights_of_blocks_are_sizes(cells) -> None:
    """A column of heights 1, 1 and -1 would be 1 × 1, hence its own transpose."""
    with pytest.raises(ShapeError, match="not all are sums of sizes"):
        _ = block([[c] for c in cells]).shape


def test_the_size_of_ones_is_no_index() -> None:
    size = IndexVar("i")
    ones = Times(Ones(Integer(1), size), Ones(size, Integer(1)))
    assert free_indices(ones) == frozenset()
    assert substitute(ones, {size: Index(2)}) == ones


# Objects of other classes. -------------------------------------------------------------------------------------------

class Alike:
    """Equal to everything."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = None


class AlikeSymbol(Alike, Symbol):
    __hash__ = Symbol.__hash__


class AlikeText(Alike, str):
    __hash__ = str.__hash__


class LyingNumber(Integer):
    """As a bound or an exponent it says of itself that no condition remains."""

    terms, const = (), 0

    def __new__(cls, value):
        made = sympy.Expr.__new__(cls)
        made.p, made.q = value, 1
        return made

    def __add__(self, other):
        return Integer(int(self.p) + int(other))

    def __sub__(self, other):
        return Index(5)


class Remembering(Plus):
    """A sum that says it has no free indices and is 1 × 1."""

    _free = frozenset()
    _shape = (Integer(1), Integer(1))


def strange_index():
    form = Basic.__new__(Index)
    form.const, form.terms = Rational(-1, 2), ()
    return form


ANY = AlikeSymbol("x")
SCALAR = Plus(Zero(ANY, ANY), A)
OBJECTS = {
    "a number that lies about a condition": (("axiom", (), "power_step", A, LyingNumber(-5)),),
    "a bound that lies about a difference": (("axiom", (), "sum_empty", A, i, LyingNumber(1), Index(1)),),
    "a size that is every size": (("ring", (), Transpose(A), Transpose(SCALAR)),
                                  ("axiom", (), "scalar_transpose", SCALAR), ("ring", (), SCALAR, A),
                                  ("transitivity", (0, 1, 2))),
    "a letter of every shape": (("axiom", (), "scalar_transpose", MatrixSymbol("A", ANY, ANY)),),
    "a constant that is every constant": (("reflexivity", (), by(1, A)), ("reflexivity", (), Scale(ANY, A)),
                                          ("reflexivity", (), by(2, A)), ("transitivity", (0, 1, 2))),
    "a letter with every name": (("reflexivity", (), A), ("reflexivity", (), MatrixSymbol(AlikeText("x"), h, h)),
                                 ("reflexivity", (), B), ("transitivity", (0, 1, 2))),
    "an index with every name": (("reflexivity", (), At(f, i)), ("reflexivity", (), At(f, IndexVar(AlikeText("x")))),
                                 ("reflexivity", (), At(f, j)), ("transitivity", (0, 1, 2))),
    "a time that is no whole number": (("axiom", (), "power_step", A, strange_index()),),
    "a class of ours changed": (("axiom", (), "scalar_transpose", Remembering(A, A)),),
    "an array": (("reflexivity", (), sympy.Array([[s[0, 0] + 1]])),),
    "a size that is no number": (("reflexivity", (), Zero(sympy.nan, h)),),
}


@pytest.mark.parametrize("listed", OBJECTS.values(), ids=OBJECTS.keys())
def test_an_object_of_another_class_proves_nothing(listed) -> None:
    w = Writer()
    for rule, premises, *args in listed:
        w(rule, premises, *args)
    refused(w, "not of the vocabulary|no plain data|is not f")


def test_a_definition_that_changes_when_it_is_read_again() -> None:
    class Changing(Definition):
        times = 0

        @property
        def right(self):
            Changing.times += 1
            return Zero(Integer(1), Integer(1)) if Changing.times < 5 else Plus(s, Identity(Integer(1)))

        @right.setter
        def right(self, value): ...

    with pytest.raises(Refused, match="no Definition"):
        proves("definition", "x", definitions=(Changing("x", s, s),))
