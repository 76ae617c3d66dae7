"""Proofs with lies in them: Coq, the guard of the statement, the list of sentences or the kernel refuses each, for the
reason that it is planted for; and each accepts what the lie was made from.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
import sympy

import symbptt
from symbptt.derive import derive
from symbptt.expr.index import Index, IndexVar, index
from symbptt.expr.nodes import Delta
from symbptt.model.read import load, loads
from symbptt.model.spec import Model
from symbptt.proof import checker
from symbptt.proof.axioms import Refused
from symbptt.proof.guard import Astray, guard
from symbptt.proof.kernel import check, replay
from symbptt.proof.statement import Proof, Step
from symbptt.proof.vernacular import NotAllowed, allow, sentences
from symbptt.render.certificate import certificate
from tests.conftest import FILES
from tests.planted import BACKWARD, SOLVED, WINDOWS, Lie, algebra, closed, enclosing, honest, model, part, real, told
from tests.planted_statements import ALGEBRAIC, BARE, CLOSED, REALS, SENTENCES, WINDOWED, planted, with_sentence
from tests.planted_steps import STEPS, closed_form

NOT_THE_MATTER = re.compile(r"Syntax error|not found|Anomaly|not done after|Cannot find|already exists|Stack overflow|"
                            r"writes more than|runs out of memory")
MODELS = ["linear", "elman", "lag_two", "transposed_weight", "gated"]
SLOW = MODELS[2:]
"""Models about which the guard is asked in the slow suite."""

backward = [pytest.param(q, id=q.what, marks=pytest.mark.slow if q.model in SLOW else ()) for q in BACKWARD]
statements = [pytest.param(q, id=q.what) for q in [*ALGEBRAIC, *CLOSED, *WINDOWED, *REALS]]
windows = [pytest.param(q, id=q.what, marks=pytest.mark.slow if q.model in SLOW else ()) for q in WINDOWS]


def judged(of: Model, text: str) -> None:
    """What is done before Coq is asked."""
    allow(text)
    guard(of, text)


# The kernel. ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("what", STEPS)
def test_the_kernel_refuses_a_doctored_proof(what: str) -> None:
    doctor, reason = STEPS[what]
    assert check(closed_form()) == closed_form().claim
    with pytest.raises(Refused, match=reason):
        check(doctor(closed_form()))


def test_what_a_node_remembers_of_itself_is_found_out_anew() -> None:
    i, one, two = IndexVar("i"), Index(1), Index(2)

    def proof(remembers: bool) -> Proof:
        forged = Delta(one, index(i))
        if remembers:
            forged._free = frozenset()  # as if i did not occur
        steps = (Step("axiom", (), ("product_constant", forged, i, one, two)),)
        return Proof((), steps, replay(Proof((), steps, None))[-1])  # type: ignore[arg-type]

    with pytest.raises(Refused, match="bound index i"):
        proof(remembers=False)
    with pytest.raises(Refused, match="bound index i"):
        symbptt.check(proof(remembers=True))


class Several(tuple):
    """Something like a tuple, of which nothing is made anew."""


class Another(Proof):
    """Something like a proof."""


@pytest.mark.parametrize(("held", "kind"), [
    (lambda q: replace(q, steps=list(q.steps)), "list"),
    (lambda q: replace(q, steps=Several(q.steps)), "Several"),
    (lambda q: replace(q, steps=(replace(q.steps[0], args=list(q.steps[0].args)), *q.steps[1:])), "list"),
    (lambda q: replace(q, steps=(replace(q.steps[0], args=sympy.Tuple(Delta(1, 1))), *q.steps[1:])), "Tuple"),
    (lambda q: Another(q.definitions, q.steps, q.claim), "Another")])
def test_what_is_not_made_anew_is_refused(held: Callable[[Proof], Proof], kind: str) -> None:
    with pytest.raises(Refused, match=f"this one holds a {kind}$"):
        symbptt.check(held(closed_form()))


# The guard and the list of sentences, which need no Coq. --------------------------------------------------------------

@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in MODELS])
def test_what_the_lies_are_made_from_is_true(name: str) -> None:
    allow(honest(name))
    guard(model(name), honest(name))


@pytest.mark.parametrize("lie", backward)
def test_the_guard_refuses_a_wrong_backward_pass(lie: Lie) -> None:
    allow(told(honest(lie.model), lie))
    with pytest.raises(Astray, match=lie.guard):
        guard(model(lie.model), told(honest(lie.model), lie))


@pytest.mark.parametrize("lie", windows)
def test_the_guard_refuses_another_truncation(lie: Lie) -> None:
    with pytest.raises(Astray, match=lie.guard) as refusal:
        judged(model(lie.model), told(honest(lie.model), lie))
    assert "cannot be read" not in str(refusal.value)


@pytest.mark.parametrize("lie", statements)
def test_the_guard_refuses_another_statement(lie: Lie) -> None:
    """Or the list of sentences does, where the lie stands in a proof, which the guard does not read."""
    text = told(honest(lie.model), lie)
    with pytest.raises((Astray, NotAllowed), match=lie.guard) as refusal:
        judged(model(lie.model), text)
    assert "cannot be read" not in str(refusal.value)


@pytest.mark.parametrize("what", SENTENCES)
def test_a_sentence_is_not_allowed(what: str) -> None:
    sentence, reason = SENTENCES[what]
    allow(algebra("linear"))
    with pytest.raises(NotAllowed, match=re.escape(reason)):
        allow(with_sentence(sentence))


NEIGHBOURS = {
    "a sign": ("linear", "+ W_hh @ h[t-1]", "- W_hh @ h[t-1]"),
    "a transpose": ("linear", "W_hh @ h[t-1]", "W_hh.T @ h[t-1]"),
    "a mean for a sum": ("linear", 'reduce = "mean"', 'reduce = "sum"'),
    "another function": ("elman", '"tanh(', '"sigmoid('),
    "no bias": ("elman", " + b_q", ""),
    "the lag": ("lag_two", "h[t-2]", "h[t-1]"),
}


def neighbour(what: str) -> tuple[str, str]:
    """The certificate of a model and that of a model which differs from it in one place."""
    name, here, there = NEIGHBOURS[what]
    text = FILES[name].read_text(encoding="utf-8")
    assert here in text
    return honest(name), certificate(derive(loads(text.replace(here, there))))


@pytest.mark.parametrize("what", [pytest.param(w, marks=pytest.mark.slow if n != "linear" else ())
                                  for w, (n, *_) in NEIGHBOURS.items()])
def test_the_certificate_of_a_neighbour_is_none_of_the_model(what: str) -> None:
    """Model and recursion are changed together, so that Coq accepts it."""
    name = NEIGHBOURS[what][0]
    ours, theirs = neighbour(what)
    assert statement(ours) != statement(theirs)
    with pytest.raises(Astray):
        guard(load(FILES[name]), theirs)


def statement(text: str) -> list[str]:
    """The sentences of a certificate up to its proofs, without its header."""
    return [s.text for s in sentences(text)][:text.count("Definition")]


# Coq. -----------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def coq() -> str:
    """The compiler; a test that needs it is left out where there is none."""
    found = shutil.which("coqc")
    if found is None:
        if os.environ.get("SYMBPTT_CI"):
            pytest.fail("coqc is not installed")
        pytest.skip("coqc is not installed")
    checker.library()
    return found


SIMILAR = frozenset({
    "the reals left out",  # without its theorem a level is not even sent to Coq
    "the path through the output cut", "1/T twice", "one step for the sum", "a gradient twice in the closing sum",
    "the recursion from 2", "the slope twice", "the slope of a sigmoid", "a bias of the first step alone",
    "a bias without the slope", "y - o for o - y", "a factor 2", "beyond T the last value",
    "the exponent one too large", "a double sum over h_t", "a premise about every adjoint",
    "one input instead of all", "states without entries",
    "another derivative, defined", "no theorem under its name", "a theorem that no one has read",
    "a recursion of zeros", "inputs as wide as states",
    "a kept part from t + 1", "a kept part to T - 1", "a remainder that overlaps", "a window over h_t",
    "the first uses for the last ones", "a window of T uses", "a truncation that splits nothing",
    "a truncation for no step", "a truncation that is left out", "a parameter's truncation that is left out",
})
"""Lies about which Coq is not asked, because it is asked about one of their kind; the guard is asked about each."""


def wanted(lie: Lie) -> bool:
    """Whether Coq is asked about it."""
    return lie.what not in SIMILAR


def texts() -> dict[str, Callable[[], str]]:
    """Everything that Coq is asked, by a key, in the order of the tests."""
    asked: dict[str, Callable[[], str]] = {}
    for name in MODELS:
        asked[f"honest {name}"] = lambda n=name: algebra(n)
    for name in ("linear", "elman"):
        asked[f"real {name}"] = lambda n=name: real(n)
        asked[f"closed {name}"] = lambda n=name: closed(n)
    for q in filter(wanted, BACKWARD):
        asked[q.what] = lambda q=q: told(algebra(q.model), q)
    for q in filter(wanted, [*SOLVED, *WINDOWS]):
        asked[q.what] = lambda q=q: told(closed(q.model), q)
    for q in filter(wanted, [*REALS, *CLOSED, *WINDOWED, *ALGEBRAIC]):
        asked[q.what] = lambda q=q: planted(q)
    for what in ("a sign", "a transpose"):
        asked[f"neighbour {what}"] = lambda w=what: part(neighbour(w)[1], "Formal", "Closed")
    return asked


@pytest.fixture(scope="module")
def verdict(coq: str) -> Iterator[Callable[[str], checker.Verdict]]:
    """What Coq says of each text; while a test waits for one, the next is being compiled."""
    asked, running = texts(), dict[str, Future[checker.Verdict]]()
    keys = list(asked)
    pool = ThreadPoolExecutor(2)

    def wait(key: str) -> checker.Verdict:
        start = keys.index(key)
        for k in keys[start:start + 2]:
            if k not in running:
                running[k] = pool.submit(checker.check, asked[k]())
        return running[key].result()

    yield wait
    pool.shutdown(cancel_futures=True)


HONEST = [key for key in texts() if key.split()[0] in ("honest", "real", "closed", "neighbour")]
ASKED = [q for q in [*BACKWARD, *SOLVED, *WINDOWS, *REALS, *CLOSED, *WINDOWED, *ALGEBRAIC] if wanted(q)]
REFUSED = [q for q in ASKED if q.coqc]
ACCEPTED = [q for q in ASKED if not q.coqc and "hidden in a proof" not in q.what]


def test_similar_lies_are_lies() -> None:
    assert {q.what for q in [*BACKWARD, *SOLVED, *WINDOWS, *REALS, *CLOSED, *WINDOWED, *ALGEBRAIC]} >= SIMILAR


@pytest.mark.slow
@pytest.mark.parametrize("key", HONEST)
def test_coq_accepts_what_is_true(key: str, verdict: Callable[[str], checker.Verdict]) -> None:
    """Among them models with a flipped sign or a transpose in their file, each with a certificate of its own."""
    found = verdict(key)
    assert found.accepted, found.reason
    for q in found.theorems:
        assert bool(q.axioms) == (q.name == "gradient"), q


@pytest.mark.slow
@pytest.mark.parametrize("lie", REFUSED, ids=lambda q: q.what)
def test_coq_refuses_a_lie_where_it_stands(lie: Lie, verdict: Callable[[str], checker.Verdict]) -> None:
    found, text = verdict(lie.what), texts()[lie.what]()
    assert not found.accepted
    assert found.reason.startswith("Coq refuses it"), found.reason
    assert not NOT_THE_MATTER.search(found.reason), found.reason
    line = re.search(r"line (\d+)", found.reason)
    assert line is not None
    assert enclosing(text, int(line[1])) == lie.coqc, found.reason


@pytest.mark.slow
@pytest.mark.parametrize("lie", ACCEPTED[::2], ids=lambda q: q.what)
def test_another_statement_is_true_to_coq(lie: Lie, verdict: Callable[[str], checker.Verdict]) -> None:
    """Coq cannot tell: its theorem is a theorem, only not the one that was asked for. The guard refuses it, above."""
    found = verdict(lie.what)
    assert found.accepted, found.reason


PLAIN = "Theorem formal_gradient : 1 = 0.\nProof.\n{}.\nQed.\n"
RESTS = {
    "an axiom": "Axiom bad : False.\n" + PLAIN.format("case bad"),
    "an axiom that nobody prints": "Axiom bad : False.\n" + PLAIN.format("case bad") + BARE
                                   + "Print Assumptions fact.\n",
    "a parameter": "Parameter bad : 1 = 0.\n" + PLAIN.format("exact bad"),
    "a hypothesis outside all sections": "Hypothesis bad : 1 = 0.\n" + PLAIN.format("exact bad"),
    "an admitted lemma": "Lemma bad : 1 = 0.\nAdmitted.\n" + PLAIN.format("exact bad"),
    "an axiom in a module type": "Module Type M. Axiom bad : 1 = 0. End M.\nDeclare Module N : M.\n"
                                 + PLAIN.format("exact N.bad"),
    "an axiom with a classical name": "Axiom propositional_extensionality : 1 = 0.\n"
                                      + PLAIN.format("exact propositional_extensionality"),
    "an endless recursion": "Unset Guard Checking.\nFixpoint bad (n : nat) : 1 = 0 := bad n.\n"
                            + PLAIN.format("exact (bad 0)"),
    "a type that is not positive": "Unset Positivity Checking.\nInductive loop := Loop (f : loop -> 1 = 0).\n"
                                   "Definition app (l : loop) := let (f) := l in f l.\n"
                                   + PLAIN.format("exact (app (Loop app))"),
    "a universe within itself": "Unset Universe Checking.\nDefinition T := Type : Type.\n"
                                "Definition bad (t : T) := t.\nLemma lie : (bad T : Type) = T.\nProof.\n"
                                "reflexivity.\nQed.\nTheorem formal_gradient : (T : T) = T.\nProof.\n"
                                "exact lie.\nQed.\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", RESTS)
def test_what_a_theorem_rests_on_is_seen_behind_the_list_of_sentences(what: str, coq: str,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """Were such a sentence allowed, Coq itself would still tell of it, whatever the file prints."""
    assert not checker.check(RESTS[what]).accepted
    monkeypatch.setattr(checker, "allow", lambda text: list(sentences(text)))
    found = checker.check(RESTS[what])
    assert not found.accepted
    assert re.search(r"rests on|rest on", found.reason), found.reason


@pytest.mark.slow
def test_a_theorem_that_rests_on_nothing(coq: str) -> None:
    found = checker.check(BARE.replace("Lemma", "Theorem"))
    assert found.accepted
    assert found.theorems[0].axioms == ()
