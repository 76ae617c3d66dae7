"""Proofs as a person reads them: every row follows from the one above it, and its reasons are those of the steps."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sympy import MatrixSymbol, Symbol

from symbptt.derivation import Derivation
from symbptt.derive import prove
from symbptt.expr.index import Index, IndexVar, index, t
from symbptt.expr.nodes import Matrix, Maximum, Norm, Plus, Scale, Sum, Tangent, Times, Transpose, Zero
from symbptt.model.read import load
from symbptt.model.spec import Model
from symbptt.proof.account import Chain, Cited, Divided, Inductive, ProvedStatement, Reason, Straight, Told
from symbptt.proof.axioms import AXIOMS
from symbptt.proof.kernel import check
from symbptt.proof.narrative import HYPOTHESIS, told
from symbptt.proof.oracle import Oracle
from symbptt.proof.statement import Definition, Proof, Step, Theorem
from symbptt.render import targets
from symbptt.render.outline import Phrase, Ref, Relation
from symbptt.render.proof import RING, bookkeeping, merged
from symbptt.render.solution import flat
from tests.conftest import FILES
from tests.render.test_documents import OVERFULL, compiled, foreign, formulas, katex, unclosed

FEW = ["linear", "elman-softmax", "lag_two", "last_loss"]
MANY = [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(FILES)[::4] if name not in FEW)]
SEVERAL = 6
FORMATS = ["text", "latex", "markdown"]


def proved(name: str, steps: int | None = None) -> tuple[ProvedStatement, ...]:
    return prove(load(FILES[name]), steps)


def chains(q: Told) -> Iterator[tuple[Chain, list[Index]]]:
    """The chains of a proof, each with the bounds under which it is said to hold."""
    bounds, argument = list(q.theorem.hypotheses), q.argument
    if isinstance(argument, Straight):
        yield from ((chain, bounds) for chain in argument.chains)
    elif isinstance(argument, Divided):
        yield argument.inside, [*bounds, argument.form]
        yield argument.outside, [*bounds, -argument.form - 1]
    else:
        yield argument.base, []
        yield argument.step, [*bounds, argument.start - 1 - t if argument.downwards else index(t) - argument.start - 1]


def direction(e: Matrix) -> bool:
    """Whether an assumption about it chooses the direction of a parameter, which the oracle draws itself."""
    return type(e) is Tangent and isinstance(e.of, MatrixSymbol)


@pytest.mark.parametrize("name", MANY)
def test_every_row_follows_from_the_one_above(name: str, oracle: Callable[..., Oracle],
                                              derivation: Callable[..., Derivation],
                                              named: Callable[[str], Model]) -> None:
    """Refuted by nothing; and the chains begin and end with the sides of the statement. In long proofs several rows are
    taken at once.
    """
    model = named(name)
    definitions = dict.fromkeys(d for q in derivation(model).theorems for d in q.proof.definitions)
    supposed = Oracle(model, 3, 1, definitions, assumed=True)
    for q in told(proved(name)):
        if any(direction(a) and supposed.refutes(a, b) for a, b in q.theorem.assumptions):
            continue
        world = supposed if q.theorem.assumptions else oracle(model, 3)
        for chain, bounds in chains(q):
            sides: list[Matrix] = [chain.left, *(link.right for link in chain.links)]
            for left, right in pairwise([*sides[:-1:1 if name in FEW else SEVERAL], sides[-1]]):
                assert world.refutes(left, right, bounds) is None, (left, right)
            if not isinstance(q.argument, Inductive):
                assert (sides[0], sides[-1]) == (q.theorem.left, q.theorem.right)
        if isinstance(q.argument, Inductive):
            step = q.argument.step
            assert (step.left, step.links[-1].right) == (q.theorem.left, q.theorem.right)
            (_, _), (_, inside) = chains(q)
            assert all(world.refutes(a, b, inside) is None for a, b in q.argument.hypotheses)


def test_a_wrong_row_is_refuted(oracle: Callable[..., Oracle], named: Callable[[str], Model]) -> None:
    q = next(q for q in told(proved("linear")) if q.proved is not None and q.proved.key == "total h_0")
    (chain, bounds), = chains(q)
    wrong = replace(chain.links[1], right=Plus(chain.links[1].right, chain.links[1].right))
    assert oracle(named("linear"), 3).refutes(chain.links[0].right, wrong.right, bounds) is not None


@pytest.mark.parametrize("name", [*FEW, pytest.param("lstm", marks=pytest.mark.slow)])
def test_a_reason_is_that_of_a_step(name: str) -> None:
    """Definitions, laws and citations: each is used by the theorem, and what is cited stands before."""
    statements = told(proved(name))
    for number, q in enumerate(statements):
        for chain, _ in chains(q):
            for link in chain.links:
                if isinstance(link.reason, Cited):
                    other = statements[link.reason.number]
                    assert link.reason.number < number
                    assert other.theorem.used <= q.theorem.used
                    assert set(other.definitions) <= set(q.definitions)
                elif link.reason.kind != "hypothesis":
                    assert link.reason.name == "beyond" or link.reason.name in q.theorem.used
                    assert (link.reason.name in AXIOMS or link.reason.name in ("ring", "beyond")) == (
                        link.reason.kind == "law")
                elif link.reason.name == HYPOTHESIS:
                    assert isinstance(q.argument, Inductive)
                    assert any(link.right == b or str(link.right) for _, b in q.argument.hypotheses)
    assert [q.proved.theorem for q in statements if q.proved is not None] == [q.theorem for q in proved(name)]


def test_lemmas_are_told_once_and_before_they_are_cited() -> None:
    statements = told(proved("same_time_states"))
    lemmas = [(q.theorem.hypotheses, q.theorem.left, q.theorem.right) for q in statements if q.proved is None]
    assert len(set(lemmas)) == len(lemmas) > 3
    cited = {link.reason.number for q in statements for chain, _ in chains(q) for link in chain.links
             if isinstance(link.reason, Cited)}
    assert all(k in cited for k, q in enumerate(statements) if q.proved is None)


A, B, C = (MatrixSymbol(name, 2, 2) for name in "ABC")
SUM, LEFT, ONE, TWO = Phrase("reasons", "sum_plus"), Phrase("reasons", "sum_left"), Ref("1"), Ref("2")


@pytest.mark.parametrize(("links", "rows"), [
    ([(B, SUM), (C, LEFT)], [(B, [SUM]), (C, [LEFT])]),
    ([(B, SUM), (C, SUM)], [(C, [SUM])]),
    ([(B, ONE), (C, TWO)], [(C, [ONE, TWO])]),
    ([(B, RING), (C, SUM)], [(C, [RING, SUM])]),
    ([(B, SUM), (C, RING)], [(B, [SUM]), (C, [RING])]),
    ([(B, RING), (C, RING)], [(C, [RING])]),
    ([(Zero(2, 2), SUM), (C, SUM)], [(Zero(2, 2), [SUM]), (C, [SUM])]),
    ([(A, RING)], []),
    ([(A, SUM)], [(A, [SUM])]),
    ([(A, SUM), (B, LEFT)], [(B, [SUM, LEFT])]),
    ([(B, SUM), (Times(B, C), LEFT), (Times(B, C), RING)], [(B, [SUM]), (Times(B, C), [LEFT])]),
])
def test_rows_name_the_reasons_of_all_steps_they_stand_for(links: Any, rows: Any) -> None:
    assert merged(A, links) == [Relation(right, tuple(reasons)) for right, reasons in rows]


NOTHING = Zero(2, 2)
I, K = IndexVar("i"), IndexVar("k")


@pytest.mark.parametrize(("e", "idle"), [
    (Plus(A, NOTHING), True), (Times(A, NOTHING), True), (Times(Transpose(NOTHING), A), True),
    (Plus(A, Sum(B, I, 2, 1)), True), (Plus(A, Sum(B, I, index(K), index(K))), True), (Plus(A, B), False),
    (NOTHING, False), (Sum(B, I, 2, 1), False), (Plus(A, Sum(B, I, 1, index(K))), False)])
def test_rows_that_stand_between_two_rules_alone_are_known(e: Matrix, idle: bool) -> None:
    assert bookkeeping(e) == idle


def test_summands_treated_one_after_the_other_are_one_row() -> None:
    links = [(B, SUM), (C, LEFT), (Times(A, B), SUM), (Times(B, A), LEFT), (Times(C, C), ONE)]
    assert merged(A, links) == [Relation(B, (SUM,)), Relation(Times(B, A), (LEFT, SUM)), Relation(Times(C, C), (ONE,))]
    assert merged(A, [(B, ONE), (C, SUM), (Times(A, B), TWO)])[-1] == Relation(Times(A, B), (TWO,))


@pytest.mark.parametrize("name", ["linear", "second-order", "elman-softmax",
                                  pytest.param("lstm", marks=pytest.mark.slow)])
def test_proofs_show_every_row_in_full_and_no_bookkeeping(name: str) -> None:
    text = targets.proofs(name, {None: prove(load(name))}, "text", load(name))
    assert "more lines" not in text
    rows = [line for line in text.splitlines() if line.lstrip().startswith(("=", "+"))]
    assert rows
    assert not [line for line in rows if " + 0" in line or "Σ_{t=2}^{1}" in line or "^{T+1} 0" in line]
    laws = [line.partition(":")[0] for line in text.splitlines() if line.startswith("  * ") and ": " in line]
    assert len(set(laws)) == len(laws)


def test_letters_are_introduced_and_directions_span() -> None:
    model = load("second-order")
    text = " ".join(targets.proofs("m", {None: prove(model)}, "text", model).split())
    for said in ("Γₜ holds the gradients that the recursion carries", "Vₜ holds the changes at one step that later",
                 "every matrix is a sum of matrices of rank one"):
        assert text.count(said) == 1


@pytest.mark.parametrize("name", ["linear", "gru"])
def test_gradients_are_defined_before_what_they_are_compared_with(name: str) -> None:
    given = targets.proofs("m", {None: proved(name)}, "text").partition("GIVEN")[2].partition("LEMMA")[0]
    kinds = ["∂L" in left for left in re.findall(r"^  \(\d+\) +(.+?) =", given, re.M)]
    assert set(kinds) == {True, False}
    assert kinds == sorted(kinds, reverse=True)


def test_a_time_is_said_to_be_at_most_the_last_step() -> None:
    text = targets.proofs("m", {None: proved("linear")}, "text")
    assert "Where t ≤ T:" in text
    assert "Where t ≥ T+1:" in text
    assert "T ≥ t" not in text


def test_constants_that_are_not_zero_are_named() -> None:
    gamma = Symbol("gamma")
    left = Scale(gamma, Scale(1 / gamma, A))
    proof = Proof((), (Step("ring", (), (left, A)), Step("ring", (), (A, left)), Step("transitivity", (1, 0))),
                  Theorem(frozenset(), frozenset(), A, A, frozenset(["ring"])))
    q = ProvedStatement("a key of its own", check(proof), proof)
    assert "here γ is not zero" in targets.proofs("m", {None: (q,)}, "text")


@pytest.mark.parametrize("name", [*FEW, pytest.param("lstm", marks=pytest.mark.slow)])
def test_no_reason_is_lost_but_of_steps_that_cannot_be_seen(name: str) -> None:
    for q in told(proved(name)):
        for chain, _ in chains(q):
            links = [(link.right, Phrase("reasons", str(link.reason))) for link in chain.links]
            rows = merged(chain.left, links)
            seen = [chain.left, *(right for right, _ in links)]
            visible = {why for k, (right, why) in enumerate(links) if flat(right) != flat(seen[k])}
            assert {why for row in rows for why in row.reasons} >= visible
            assert not rows or flat(rows[-1].right) == flat(seen[-1])


@pytest.mark.parametrize("target", FORMATS)
def test_the_document_holds_every_theorem_and_what_it_rests_on(target: str) -> None:
    found = {None: proved("linear"), 3: proved("linear", 3)}
    text = targets.proofs("linear", found, target)
    again = targets.proofs("linear", {k: proved("linear", k) for k in found}, target)
    assert text == again
    for words in ("Theorem (", "Lemma (", "Proof by induction downwards", "Suppose that the statement holds one step",
                  "The theorem rests on the definitions", "Concrete Mathematics",
                  f"The kernel replayed {len(found[None][0].proof.steps)} steps", "first summand"):
        assert words.lower() in text.lower()
    count, steps = (sum(map(f, found.values())) for f in (len, lambda qs: sum(len(q.proof.steps) for q in qs)))
    assert text.lower().count("theorem (") == count
    assert f"{steps} steps" in text
    brief = targets.proofs("linear", found, "brief")
    assert f"{len(found[None])} theorems proved; the kernel replayed" in brief


def test_blocks_are_told_once_for_each_kind_of_proof() -> None:
    """For T = 15 a theorem holds a row for each t: each is stated, t = T and t = T - 1 are proved at length."""
    text = targets.proofs("linear", {15: proved("linear", 15)}, "text")
    _, _, proof = text.partition("Proof, block by block.")
    assert "replayed 13 more blocks." in proof
    assert proof.count("[read from the other end]") == 1
    assert all(f"∂L/∂h_{{{s}}}" in text or f"∂L/∂h{''.join(chr(0x2080 + int(c)) for c in str(s))} = " in text
               for s in range(1, 16))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FILES)[1::4])
def test_proofs_of_every_fourth_model_can_be_printed(name: str) -> None:
    found = {None: proved(name), 2: proved(name, 2), 13: proved(name, 13)}
    assert all(targets.proofs("m", found, target) for target in FORMATS)
    _, _, text = targets.proofs("m", found, "text").partition("# Generated")
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", ["linear", *(pytest.param(name, marks=pytest.mark.slow) for name in (
    "lstm", "five_states", "scalar_added", "attention"))])
def test_every_formula_is_strict_katex_and_plain_text_fits(name: str) -> None:
    found = {None: proved(name), 2: proved(name, 2)}
    displayed, inline = formulas(targets.proofs(load(FILES[name]).name, found, "markdown"))
    assert len(displayed) > 20
    by_length = sorted(displayed, key=lambda formula: (-len(formula), formula))
    for formula in by_length if name == "linear" else by_length[:10] + by_length[10::10]:
        katex(formula, True)
    for formula in inline:
        katex(formula, False)
    assert set().union(*map(foreign, displayed | inline)) == set()
    _, _, text = targets.proofs(load(FILES[name]).name, found, "text").partition("# Generated")
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert not [one for one in re.split(r"\n\n", text) if unclosed(one)]


@pytest.mark.parametrize("name", ["linear", pytest.param("lstm", marks=pytest.mark.slow)])
def test_the_article_of_proofs_compiles(name: str, tmp_path: Path) -> None:
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("pdflatex is not installed")
    log = compiled(pdflatex, targets.proofs(name, {None: proved(name), 3: proved(name, 3)}, "latex"), tmp_path)
    assert [found.group() for found in OVERFULL.finditer(log) if float(found[1]) > 10] == []


def test_a_theorem_about_norms_is_printed_with_at_most() -> None:
    """max(a, b) = b reads a ≤ b; another equation between maxima does not."""
    a, b = Norm(Times(A, B)), Norm(A)
    for right, sign in ((b, "‖A B‖ ≤ ‖A‖"), (a, "max(‖A B‖, ‖A‖) = ‖A B‖")):
        q = proof_of(Step("assumption", (), (Maximum(a, b), right)))
        assert sign in targets.theorem(q)
        assert sign in targets.proofs("m", {None: (q,)}, "text")
    q = proof_of(Step("assumption", (), (Maximum(a, b), b)))
    assert r"\le" in targets.proofs("m", {None: (q,)}, "latex")
    assert "[assumption]" in targets.proofs("m", {None: (q,)}, "text")


def proof_of(*steps: Step, definitions: tuple[Definition, ...] = ()) -> ProvedStatement:
    """The steps with the claim that they prove."""
    last = steps[-1]
    left: Any = last.args[0]
    right: Any = last.args[-1]
    claim = Theorem(frozenset(), frozenset([(left, right)]) if last.rule == "assumption" else frozenset(), left,
                    right, frozenset(["ring"]) if last.rule == "ring" else frozenset())
    proof = Proof(definitions, steps, claim)
    return ProvedStatement("a key of its own", check(proof), proof)


def test_small_proofs() -> None:
    text = targets.proofs("m", {None: (proof_of(Step("reflexivity", (), (A,))),)}, "text")
    assert "Both sides of A = A are the same." in text
    assert "The theorem rests on nothing." in text
    assert "THEOREM (1), A KEY OF ITS OWN" in text
    assert "The kernel replayed one step." in text
    q = proof_of(Step("ring", (), (Plus(A, B), Plus(B, A))))
    assert "this law: ring laws" in targets.proofs("m", {None: (q,)}, "text")
    assert "there is nothing to prove" in targets.proofs("m", {None: ()}, "text")
    with pytest.raises(ValueError, match="there is no form 'html'"):
        targets.proofs("m", {None: ()}, "html")


def test_what_is_cited_rests_on_definitions_that_the_proof_has() -> None:
    """The same statement under other definitions is told again, not cited."""
    i = IndexVar("i")
    x, y = MatrixSymbol("x", 2, 2), MatrixSymbol("y", 2, 2)

    def theorem(value: Matrix) -> ProvedStatement:
        steps = (Step("definition", (), ("x",)), Step("definition", (), ("y",)), Step("symmetry", (1,)),
                 Step("transitivity", (0, 2)), Step("cases", (3, 3), (index(i),)))
        claim = Theorem(frozenset(), frozenset(), x, y, frozenset(["x", "y"]))
        proof = Proof((Definition("x", x, value), Definition("y", y, value)), steps, claim)
        return ProvedStatement("same", check(proof), proof)

    def twice(first: Matrix, second: Matrix) -> list[object]:
        one, other = theorem(first), theorem(second)
        last = other.proof.steps
        again = Proof(other.proof.definitions, (*last, Step("transitivity", (4,))), other.proof.claim)
        return [link.reason for q in told([one, ProvedStatement("again", check(again), again)])
                for chain, _ in chains(q) for link in chain.links]

    assert Cited(0) in twice(A, A)
    assert Cited(0) not in twice(A, B)
    assert Reason("definition", "x") in twice(A, B)
