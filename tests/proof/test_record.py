"""Proofs as JSON: what is written is read back and replayed; what was doctored is refused; nothing is derived."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from sympy import MatrixSymbol, Symbol

from symbptt.derive import prove
from symbptt.expr.index import Index, IndexVar, T, index, t
from symbptt.expr.nodes import NODES, At, Block, Power, Scale, Sum, Times, Zero
from symbptt.model.read import load
from symbptt.proof import record
from symbptt.proof.account import ProvedStatement
from symbptt.proof.alike import excluded_zeros
from symbptt.proof.axioms import Refused
from symbptt.proof.entries import DEPTH, FORMS, LEAVES, NAMED, SCALARS, SIZE, SORTS, RecordError, Rows, Table
from symbptt.proof.kernel import replay
from symbptt.proof.limits import DEFINITIONS
from symbptt.proof.oracle import Oracle
from symbptt.proof.statement import Proof, Step, Theorem
from symbptt.render import targets
from tests.conftest import FILES
from tests.test_house import imports

PACKAGE = Path(__file__).parents[2] / "symbptt"
OFTEN = ["linear", "elman", "lstm"]
n = Symbol("n", integer=True, positive=True)
A, B = MatrixSymbol("A", n, n), MatrixSymbol("B", n, n)


def theorems(name: str, steps: int | None = None) -> tuple[ProvedStatement, ...]:
    return prove(load(FILES[name]), steps)


@pytest.fixture(scope="module")
def linear() -> tuple[ProvedStatement, ...]:
    return theorems("linear")


@pytest.fixture
def data(linear: tuple[ProvedStatement, ...]) -> dict[str, Any]:
    """The record of linear.toml, to be doctored."""
    made: dict[str, Any] = json.loads(record.recorded("linear", linear))
    return made


def replayed(data: object) -> tuple[ProvedStatement, ...]:
    return record.replayed(json.dumps(data))


def row(data: dict[str, Any], *entry: object) -> int:
    """The number of a row, which is added unless it stands there."""
    if list(entry) not in data["nodes"]:
        data["nodes"].append(list(entry))
    return int(data["nodes"].index(list(entry)))


# There and back.


@pytest.mark.parametrize("name", [*OFTEN, *(pytest.param(m, marks=pytest.mark.slow) for m in FILES if m not in OFTEN)])
def test_what_is_written_is_read_back_and_replayed(name: str) -> None:
    for steps in (None, 3):
        found = theorems(name, steps)
        text = record.recorded(name, found)
        again = record.replayed(text)
        assert [q.key for q in again] == [q.key for q in found]
        assert [q.proof for q in again] == [q.proof for q in found]
        assert [q.theorem for q in again] == [q.theorem for q in found]
        assert record.recorded(name, again) == text


@pytest.mark.parametrize("steps", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_a_long_case_stays_small(steps: int) -> None:
    """Sharing keeps the text in proportion to the steps of the proof."""
    found = theorems("lstm", steps)
    text = record.recorded("lstm", found)
    assert len(text) < 400 * sum(len(q.proof.steps) for q in found)
    assert [q.theorem for q in record.replayed(text)] == [q.theorem for q in found]


def test_every_class_of_the_vocabulary_can_be_recorded() -> None:
    """The table is driven by NODES; what it makes of rows is an object of that class."""
    assert {kind.__name__ for kind in NODES} <= FORMS.keys()
    assert {kind.__name__ for kind in NODES}.isdisjoint(SCALARS)
    assert NAMED.keys() >= {kind.__name__ for kind in NODES}


@pytest.mark.parametrize("kind", NODES, ids=lambda kind: kind.__name__)
def test_a_class_is_written_and_read_by_its_arguments_alone(kind: type, linear: tuple[ProvedStatement, ...]) -> None:
    """One instance of each class, found by trying arguments until the class takes them."""
    one, vector = MatrixSymbol("s", 1, 1), MatrixSymbol("v", n, 1)
    i = IndexVar("i")
    loss = next(e for q in linear for e in Rows(
        json.loads(record.recorded("m", [q]))["nodes"]).made if type(e).__name__ == "Loss")
    tried = [(A,), (vector,), (At(vector, t),), (A, B), (one, A), (one, one), (n / 2, A), (n, n), (n,), (A, index(T)),
             (vector, index(t)), (index(t), index(T)), (At(A, i), i, index(1), index(T)), tuple(loss.args),
             (loss, FORMS["Integer"].make(0)), (FORMS["Str"].make("tanh"), A), (FORMS["Integer"].make(1), A, B)]
    for args in tried:
        try:
            made = kind(*args)
            _ = made.shape, made.free_symbols
            rows = Rows(json.loads(json.dumps(_table(made))))
        except (RecordError, TypeError, ValueError, LookupError, AttributeError):
            continue
        assert rows.made[-1] == made
        assert type(rows.made[-1]) is kind
        return
    pytest.fail(f"no arguments for {kind}")


def _table(e: Any) -> list[list[object]]:
    table = Table()
    table.number(e)
    return table.rows


@pytest.mark.parametrize("e", [
    Scale(n, A), Scale(-n / 3, A), Scale(n ** 2 * (n + 1), A), Scale(1 / T, A),
    Scale(Symbol("alpha", real=True) - 1, A), Power(A, T - t),
    Sum(A, IndexVar("i'"), 1, T), Zero(n, 2 * n), MatrixSymbol("W", 4 * n + 1, n), Index(-3),
    At(A, index(T) + t - 2)], ids=str)
def test_scalars_and_index_forms(e: Any) -> None:
    assert Rows(json.loads(json.dumps(_table(e)))).made[-1] == e


def test_a_node_that_its_class_refuses_is_refused() -> None:
    with pytest.raises(RecordError, match="it is not a scalar"):
        Rows(json.loads(json.dumps(_table(Scale(1 / (n + 1), A)))))


def test_what_has_no_form_is_not_written(linear: tuple[ProvedStatement, ...]) -> None:
    for strange in (2.5, Symbol("x"), object(), True, A + B):
        proof = Proof((), (Step("reflexivity", (), (strange,)),), linear[0].theorem)
        with pytest.raises(TypeError):
            record.recorded("m", [ProvedStatement("k", linear[0].theorem, proof)])
    assert SORTS.keys() == {"size", "constant"}


# Nothing is derived.


def test_replaying_loads_nothing_that_derives() -> None:
    """The modules that `record` reaches by its imports: no rule table, no sweep, no prover."""
    found, waiting = set[str](), ["proof.record"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        source = (PACKAGE / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8")
        waiting += [other for other, _ in imports(source)]
    assert found == {"proof.record", "proof.entries", "proof.limits", "proof.account", "proof.alike", "proof.statement",
                     "proof.axioms", "proof.kernel", "proof.plainly",
                     "expr.index", "expr.nodes", "expr.shape", "expr.walk",
                     "model.notation"}


# Lies.


def step(data: dict[str, Any], rule: str, theorem: int = 0) -> dict[str, Any]:
    return next(s for s in data["theorems"][theorem]["steps"] if s["rule"] == rule)


def _premise(data: dict[str, Any]) -> None:
    step(data, "transitivity")["premises"][0] += 1


def _later(data: dict[str, Any]) -> None:
    step(data, "symmetry")["premises"][0] = 10 ** 6


def _argument(data: dict[str, Any]) -> None:
    s = step(data, "ring")
    s["args"][1] = s["args"][0]


def _definition(data: dict[str, Any]) -> None:
    d = next(d for d in data["definitions"] if d["name"] == "dL/dh[t]")
    d["right"] = row(data, "Plus", d["right"], d["right"])


def _claim(data: dict[str, Any]) -> None:
    data["theorems"][0]["right"] = row(data, "Plus", *2 * [data["theorems"][0]["right"]])


def _claimed_bounds(data: dict[str, Any]) -> None:
    data["theorems"][0]["hypotheses"].pop()


def _claimed_basis(data: dict[str, Any]) -> None:
    data["theorems"][0]["used"].remove("sum_empty")


def _removed(data: dict[str, Any]) -> None:
    del data["theorems"][0]["steps"][5]


def _swapped(data: dict[str, Any]) -> None:
    first, second = data["theorems"][0], data["theorems"][2]
    first["steps"], second["steps"] = second["steps"], first["steps"]


def _axiom(data: dict[str, Any]) -> None:
    step(data, "axiom")["args"][0] = "sum_of_nothing"


def _rule(data: dict[str, Any]) -> None:
    step(data, "ring")["rule"] = "because"


def _side_condition(data: dict[str, Any]) -> None:
    """Σ_{i=a}^{b} written out with b < a."""
    one, zero = row(data, "Index", 1), row(data, "Index", 0)
    s = next(s for s in data["theorems"][0]["steps"] if s["rule"] == "axiom" and s["args"][0] == "sum_first")
    data["theorems"][0]["steps"][data["theorems"][0]["steps"].index(s)] = {
        "rule": "axiom", "premises": [], "args": ["sum_terms", s["args"][1], s["args"][2], one, zero]}


def _captured(data: dict[str, Any]) -> None:
    """A factor moves into a sum whose index it holds."""
    s = next(s for s in data["theorems"][0]["steps"] if s["rule"] == "axiom" and s["args"][0] == "sum_left")
    s["args"][1] = row(data, "Transpose", s["args"][2])


def _moved_last_step(data: dict[str, Any]) -> None:
    """T is no variable that a rule may replace."""
    data["theorems"][0]["steps"].append({"rule": "instance", "premises": [len(data["theorems"][0]["steps"]) - 1],
                                         "args": [[row(data, "IndexVar", "T"), row(data, "Index", 3)]]})


def _no_steps(data: dict[str, Any]) -> None:
    data["theorems"][0]["steps"] = []


def _unfounded(data: dict[str, Any]) -> None:
    d = next(d for d in data["definitions"] if d["name"] == "dL/dh[t]")
    d["right"] = d["left"]


LIES = [_premise, _later, _argument, _definition, _claim, _claimed_bounds, _claimed_basis, _removed, _swapped, _axiom,
        _rule, _side_condition, _captured, _moved_last_step, _no_steps, _unfounded]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__.strip("_"))
def test_a_doctored_proof_is_refused(lie: Any, data: dict[str, Any]) -> None:
    assert len(replayed(data)) == len(data["theorems"])
    lie(data)
    with pytest.raises(Refused, match=r"^theorems\[0\] \(closed\): |^theorems\[2\]"):
        replayed(data)


def mutants(data: dict[str, Any], theorem: int, chance: random.Random) -> Any:
    """The record with one thing in one step of a theorem changed, for every step and several things each."""
    for k, s in enumerate(data["theorems"][theorem]["steps"]):
        changes: list[dict[str, Any]] = [{**s, "rule": chance.choice(["ring", "symmetry", "cases", "entailment"])}]
        for n in range(len(s["premises"])):
            other = chance.randrange(max(k, 1))
            changes.append({**s, "premises": [*s["premises"][:n], other, *s["premises"][n + 1:]]})
        for n, a in enumerate(s["args"]):
            if isinstance(a, int):
                kind = data["nodes"][a][0]
                alike = [m for m, entry in enumerate(data["nodes"]) if entry[0] == kind and m != a]
                changes += [{**s, "args": [*s["args"][:n], chance.choice(alike), *s["args"][n + 1:]]}
                            for _ in range(3) if alike]
        if len(s["premises"]) > 1:
            changes.append({**s, "premises": s["premises"][::-1]})
            changes.append({**s, "premises": s["premises"][:-1]})
        if len(s["args"]) > 1:
            changes.append({**s, "args": s["args"][::-1]})
        for changed in changes:
            steps = data["theorems"][theorem]["steps"]
            whole = {**data["theorems"][theorem], "steps": [*steps[:k], changed, *steps[k + 1:]]}
            yield {**data, "theorems": [whole]}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_change_of_a_step_proves_what_is_false(part: int, linear: tuple[ProvedStatement, ...],
                                                  data: dict[str, Any]) -> None:
    """What the kernel still accepts is true; and it is the claim, or the record is refused. Of a long proof some
    hundred changes are tried.
    """
    for theorem in range(part, len(linear), 4):
        changed = list(mutants(data, theorem, random.Random(theorem)))
        _only_truth(linear, theorem, changed[::1 + len(changed) // 300])


def test_no_change_of_a_few_steps_proves_what_is_false(linear: tuple[ProvedStatement, ...],
                                                       data: dict[str, Any]) -> None:
    """As the slow test, for every eighth change of one proof."""
    _only_truth(linear, 1, list(mutants(data, 1, random.Random(3)))[::8])


def _only_truth(linear: tuple[ProvedStatement, ...], theorem: int, changed: Iterable[dict[str, Any]]) -> None:
    definitions = dict.fromkeys(d for q in linear for d in q.proof.definitions)
    worlds = [Oracle(load(FILES["linear"]), steps, 1, definitions) for steps in (1, 3)]
    refused = 0
    for mutant in changed:
        try:
            (_, proof), = record.read(json.dumps(mutant))[1]
            q: Theorem = replay(proof)[-1]
        except (RecordError, Refused):
            refused += 1
            continue
        if not q.assumptions:
            assert all(w.refutes(q.left, q.right, q.hypotheses) is None for w in worlds), mutant
        if q == linear[theorem].theorem:
            assert replayed(mutant)[0].theorem == q
        else:
            with pytest.raises(Refused, match="not what the proof claims"):
                replayed(mutant)
    assert refused > 5


# What is not of the form.


def _set(path: list[Any], value: object) -> Any:
    def change(data: dict[str, Any]) -> None:
        place: Any = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    return change


def _rows(*entries: list[object]) -> Any:
    def change(data: dict[str, Any]) -> None:
        data["nodes"] = [*entries]
    return change


STRANGE = {
    "format": (_set(["format"], "coq"), "format: 'coq' is not"),
    "version": (_set(["version"], 2), "version: version 2 is not read here"),
    "version of another type": (_set(["version"], True), "version: version true"),
    "unknown field": (_set(["extra"], 1), "a record has no field 'extra'"),
    "unknown field of a step": (_set(["theorems", 2, "steps", 7, "note"], "x"), "theorems[2].steps[7]: a step has no"),
    "missing field": (lambda d: d.pop("nodes"), "the field nodes is missing"),
    "not an object": (_set(["theorems", 1], 5), "theorems[1]: 5 is no object"),
    "not a list": (_set(["theorems"], {}), "theorems: an object is no list"),
    "unknown class": (_set(["nodes", 4, 0], "Gradient"), "nodes[4][0]: there is no class 'Gradient'"),
    "later row": (_set(["nodes", 5], ["Transpose", 5]), "nodes[5][1]: 5 is not the number of a node before"),
    "negative row": (_set(["nodes", 5], ["Transpose", -1]), "nodes[5][1]: -1 is not the number"),
    "row of another type": (_set(["nodes", 5], ["Transpose", "0"]), "nodes[5][1]: '0' is not the number"),
    "no row": (_set(["nodes", 5], []), "nodes[5]: a list is no row"),
    "argument of a step": (_set(["theorems", 2, "steps", 17, "args"], [10 ** 9]),
                           "theorems[2].steps[17].args[0]: 1000"),
    "premise": (_set(["theorems", 2, "steps", 17, "premises"], [None]), "steps[17].premises[0]: null is no whole"),
    "rule": (_set(["theorems", 0, "steps", 0, "rule"], 4), "theorems[0].steps[0].rule: 4 is no text"),
    "control character": (_set(["theorems", 0, "key"], "a\x1b[31m"), "key: 'a\\x1b[31m' is no text"),
    "direction mark": (_set(["model"], "a\u202eb"), "model: 'a\\u202eb' is no text"),
    "lone surrogate": (_set(["model"], "\ud800"), "model: '\\ud800' is no text"),
    "a claim that is no matrix": (_set(["theorems", 0, "left"], 0), "theorems[0].left: nodes[0] is a"),
    "a bound that is no form": (_set(["definitions", 0, "lo"], 0), "definitions[0].lo: nodes[0] is a"),
    "no such definition": (_set(["theorems", 0, "definitions"], [99]), "theorems[0].definitions[0]: 99 is not"),
    "shapes": (_rows(["Symbol", "n", "size"], ["Symbol", "m", "size"], ["MatrixSymbol", "A", 0, 1], ["Times", 2, 2]),
               "nodes[3]: no Times can be made of this: cannot multiply A"),
    "a size that is an index": (_rows(["IndexVar", "i"], ["MatrixSymbol", "A", 0, 0]), "nodes[1]: no MatrixSymbol"),
    "a matrix as a size": (_rows(["Integer", 2], ["MatrixSymbol", "A", 0, 0], ["MatrixSymbol", "B", 1, 1]),
                           "nodes[2][2]: a MatrixSymbol is no scalar"),
    "two shapes of a letter": (_rows(["Integer", 2], ["Integer", 3], ["MatrixSymbol", "A", 0, 0],
                                     ["MatrixSymbol", "A", 1, 1]), "nodes[3]: nodes[2] is called A too"),
    "repeated row": (_rows(["Integer", 2], ["Integer", 2]), "nodes[1]: it repeats nodes[0]"),
    "a huge power": (_rows(["Integer", 2], ["Integer", 10 ** 18], ["Pow", 0, 1]), "nodes[2]: no Pow"),
    "a huge exponent": (_rows(["Symbol", "n", "size"], ["Integer", 10 ** 18], ["Pow", 0, 1]), "nodes[2]: no Pow"),
    "a power with many monomials": (
        _rows(["IndexVar", "t"], ["Integer", 14], ["Integer", 1], ["Add", 2, 0], ["Pow", 3, 1]),
        "nodes[4]: the expression has more than 10,000 monomials once multiplied out"),
    "many definitions": (_set(["definitions"], [{}] * 2001), "definitions: there are 2,001; at most 2,000 are"),
    "a high degree": (_rows(["Symbol", "a", "constant"], ["Symbol", "b", "constant"], ["Integer", 600], ["Pow", 0, 2],
                            ["Pow", 1, 2], ["Mul", 3, 4]), "nodes[5]: the expression has more than 1,000 as its total"),
    "many digits": (_rows(*(["Integer", 10 ** 280 + k] for k in range(80))), "20,000 digits in its numbers together"),
    "not canonical": (_rows(["Symbol", "n", "size"], ["Add", 0, 0]), "nodes[1]: no Add can be made"),
    "not reduced": (_rows(["Rational", 2, 4]), "nodes[0]: no Rational"),
    "a division by zero": (_rows(["Rational", 1, 0]), "nodes[0]: no Rational"),
    "many blocks": (_rows(["Integer", 10 ** 9], ["Integer", 1], ["MatrixSymbol", "A", 1, 1], ["Block", 0, 2]),
                    "nodes[3]: no Block"),
    "a name that is code": (_rows(["Symbol", "__import__('os')", "size"]), "nodes[0][1]"),
    "an unknown sort": (_rows(["Symbol", "n", "commutative"]), "nodes[0][2]: 'commutative' is no sort"),
    "too few arguments": (_rows(["MatrixSymbol", "A"]), "nodes[0]: a MatrixSymbol does not have 1 arguments"),
    "nested arguments": (_set(["theorems", 0, "steps", 0, "args"], [[[[[[[[[[[[1]]]]]]]]]]]]), "lists within one"),
    "a strange object": (_set(["theorems", 0, "steps", 0, "args"], [{"float": 1}]), "an object here is"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_not_of_the_form_is_refused_with_its_place(kind: str, data: dict[str, Any]) -> None:
    change, words = STRANGE[kind]
    change(data)
    with pytest.raises(RecordError) as refused:
        replayed(data)
    assert words in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 900


@pytest.mark.parametrize(("text", "words"), [
    ("", "the file is empty"),
    ("{\n  \"format\": oops}", "2:13: this is no JSON"),
    ("x" * 3_000_000, "1:1: this is no JSON"),
    ("[" * 200_000, "too many brackets"),
    ('{"a":' * 200_000, "too many brackets"),
    ("[1, 2]", "a list is no object"),
    ('{"format": NaN}', "the field version is missing"),
    ('{"format": "symbptt-proof", "format": "symbptt-proof"}', "the field 'format' twice"),
    ('{"format": "symbptt-proof", "version": NaN, "model": "m", "nodes": [], "definitions": [], "theorems": []}',
     "version: version NaN"),
    ('{"format": "symbptt-proof", "version": 1.0, "model": "m", "nodes": [], "definitions": [], "theorems": []}',
     "version: version 1.0, a fraction,"),
    ('{"format": "symbptt-proof", "version": 1, "model": "m", "nodes": [["Integer", 1' + "0" * 10_000 +
     ']], "definitions": [], "theorems": []}', "nodes[0][1]: 10000000000000000000…, a long number,"),
    ('{"format": "symbptt-proof", "version": 1, "model": "m", "nodes": [["Integer", Infinity]], "definitions": [], '
     '"theorems": []}', "nodes[0][1]: Infinity is no whole number"),
])
def test_broken_texts(text: str, words: str) -> None:
    with pytest.raises(RecordError) as refused:
        record.replayed(text)
    assert words in str(refused.value)


def proof_of(*steps: dict[str, Any], nodes: list[Any]) -> dict[str, Any]:
    return {"format": "symbptt-proof", "version": 1, "model": "m", "nodes": nodes, "definitions": [], "theorems": [
        {"key": "k", "hypotheses": [], "assumptions": [], "left": 1, "right": 1, "used": [], "definitions": [],
         "steps": list(steps)}]}


def test_an_index_whose_digits_double_is_refused() -> None:
    nodes = [["Integer", 1], ["MatrixSymbol", "h", 0, 0], ["IndexVar", "t"], ["Index", 0, 2, 1], ["At", 1, 3],
             ["Index", 0, 2, 10 ** 200]]
    grown = [{"rule": "instance", "premises": [k], "args": [[2, 5]]} for k in range(2)]
    steps = [{"rule": "reflexivity", "premises": [], "args": [4]}, *grown]
    with pytest.raises(Refused, match=r"step 2 \(instance\): an index form has a number of more than 300 digits"):
        replayed(proof_of(*steps, nodes=nodes))


def test_small_records_of_enormous_terms_are_refused() -> None:
    """Each doubles something: a tree, its depth, words, summands, a search, what is supposed."""
    one: list[Any] = [["Integer", 1], ["MatrixSymbol", "a", 0, 0], ["MatrixSymbol", "b", 0, 0]]
    doubled = [*one, ["Plus", 1, 1], *(["Plus", k, k] for k in range(3, 60))]
    deep = [*one, ["Transpose", 1], *(["Transpose", k] for k in range(3, 3 + DEPTH))]
    product = [*one, ["Plus", 1, 2], ["Times", *[3] * 60]]
    scalars = [*one, ["Symbol", "c", "constant"], ["Symbol", "d", "constant"], ["Add", 3, 4], ["Integer", 900],
               ["Pow", 5, 6], ["Mul", 3, 4], ["Scale", 7, 1], ["Scale", 7, 9], ["Scale", 7, 10]]
    size, (c, d) = Table(), (Symbol(name, integer=True, positive=True) for name in "cd")
    size.number(reduce(lambda e, k: (e + d) * (e + k), range(2, 16), c))
    ring = {"rule": "ring", "premises": [], "args": [4, 4]}
    summed = [*one, ["IndexVar", "i"], ["Index", 1], ["Index", 10 ** 9]]
    terms = {"rule": "axiom", "premises": [], "args": ["sum_terms", 1, 3, 4, 5]}
    forms = [*one, ["IndexVar", "i"], *(["Index", k, 3, 1] for k in range(60))]
    search = {"rule": "entailment", "premises": [0], "args": list(range(4, 64))}
    twice = [{"rule": "reflexivity", "premises": [], "args": [1]},
             *({"rule": "transitivity", "premises": [k, k], "args": []} for k in range(9))]
    copies = [{"rule": "symmetry", "premises": [9], "args": []}] * 50_000
    for data, words in (
            (proof_of(nodes=doubled), "nodes as a tree"), (proof_of(nodes=deep), "levels"),
            (proof_of(nodes=size.rows), "more than 10,000 monomials"),
            (proof_of(ring, nodes=product), "grow too large"),
            (proof_of({**ring, "args": [11, 11]}, nodes=scalars), "more than 10,000 monomials"),
            (proof_of({**ring, "args": [11, 11]}, nodes=[*scalars[:6], ["Integer", 13], *scalars[7:]]), "too large"),
            (proof_of(terms, nodes=summed), "grow too large"),
            (proof_of({"rule": "reflexivity", "premises": [], "args": [1]}, search, nodes=forms), "grow too large"),
            (proof_of(*twice, *copies, nodes=one), "grow too large")):
        with pytest.raises(RecordError, match=words):
            replayed(data)


def test_definitions_that_double_are_refused() -> None:
    """Unfolding one inside the other makes terms that stand nowhere in the file."""
    count = 40
    nodes: list[Any] = [["Integer", 1], *(["MatrixSymbol", f"d{k}", 0, 0] for k in range(count))]
    definitions = list[dict[str, Any]]()
    steps = list[dict[str, Any]]()
    for k in range(2, count + 1):
        nodes.append(["Plus", k - 1, k - 1])
        definitions.append({"name": f"d{k}", "left": k, "right": len(nodes) - 1, "lo": None, "hi": None})
        steps.append({"rule": "definition", "premises": [], "args": [f"d{k}"]})
        if k > 2:
            steps.append({"rule": "congruence", "premises": [len(steps) - 2, len(steps) - 2],
                          "args": [len(nodes) - 1, [{"int": 0}, {"int": 1}]]})
    data = proof_of(*steps, nodes=nodes)
    data["definitions"] = definitions
    data["theorems"][0]["definitions"] = list(range(len(definitions)))
    with pytest.raises(RecordError, match="grow too large"):
        replayed(data)


@pytest.mark.parametrize("seed", range(20))
def test_noise_ends_with_an_error_of_ours(seed: int, data: dict[str, Any]) -> None:
    """Any value anywhere replaced by any other: it replays, is refused, or is not of the form."""
    chance = random.Random(seed)
    values = [None, True, -1, 0, 7, 10 ** 30, "", "T", "ring", [], [0], {}, {"int": 3}, ["Times", 1, 2]]
    for _ in range(6):
        data = copy.deepcopy(data)
        place: Any = data
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = chance.choice(keys)
            if not isinstance(place[key], dict | list) or not place[key] or chance.random() < 0.1:
                place[key] = chance.choice(values)
                break
            place = place[key]
        try:
            replayed(data)
        except (RecordError, Refused):
            return


def test_contradicting_definitions_are_not_read_as_one_list(linear: tuple[ProvedStatement, ...]) -> None:
    found = record.replayed(record.recorded("linear", [*linear, *theorems("linear", 3)]))
    groups = record.together(found)
    assert [len(group) for group in groups] == [len(linear), 3]
    assert record.together(()) == ()


def test_the_documented_example_and_limits() -> None:
    text = (PACKAGE.parent / "docs" / "proof_format.md").read_text(encoding="utf-8")
    rows = Rows([json.loads(line.rpartition(" ")[0]) for line in text.splitlines() if line.startswith('    ["')])
    assert str(rows.made[-1]) == "W_hh.T @ dL/dh[t+1]"
    for number, words in ((record.BYTES // 10 ** 6, "million bytes"), (record.DIGITS, "digits"),
                          (DEPTH, "levels"), (SIZE // 10 ** 6, "million nodes"), (DEFINITIONS, "definitions")):
        assert re.search(rf"\b{number}\s+{words}", text), words
    for kind, names in record.FIELDS.items():
        assert all(f"`{name}`" in text or f'"{name}"' in text for name in names), kind
    assert all(f'["{name}"' in text for name in (*SCALARS, *LEAVES))


def test_blocks_are_recorded() -> None:
    e = Block(FORMS["Integer"].make(1), Times(A, B), A)
    assert Rows(json.loads(json.dumps(_table(e)))).made[-1] == e


# What a reader cannot see.

LETTER: list[Any] = [["Integer", 1], ["Symbol", "n", "size"]]


def claimed(nodes: list[Any], left: int, right: int, name: str = "x") -> dict[str, Any]:
    """left := right, and what follows: left = right."""
    data = proof_of({"rule": "definition", "premises": [], "args": [name]}, nodes=nodes)
    data["definitions"] = [{"name": name, "left": left, "right": right, "lo": None, "hi": None}]
    data["theorems"][0] |= {"left": left, "right": right, "used": [name], "definitions": [0]}
    return data


def pair(first: str, second: str) -> list[Any]:
    return [*LETTER, ["MatrixSymbol", first, 1, 0], ["MatrixSymbol", second, 1, 0], ["Plus", 2, 2]]


ALIKE: dict[str, tuple[list[Any], int, int, str]] = {
    "an underscore": (pair("v", "v_"), 3, 4, "the letter v prints like the letter v_|v_ prints like the letter v"),
    "a number": (pair("v1", "v_1"), 3, 4, "prints like the letter v"),
    "the identity": (pair("v", "I"), 3, 4, "the letter I prints like the identity matrix I"),
    "the objective": (pair("L", "v"), 3, 4, "the letter L prints like the objective L"),
    "a member": ([*pair("h", "h_0"), ["Index", 0], ["At", 2, 5], ["Plus", 6, 6]], 3, 7, "prints like the .* h"),
    "a change": ([*pair("h", "dh"), ["Tangent", 2], ["Plus", 5, 5]], 3, 6, r"prints like .* dh"),
    "a change of a member": ([*pair("h", "dh_0"), ["Index", 0], ["At", 2, 5], ["Tangent", 6]], 3, 7,
                             r"prints like .* dh"),
    "a diagonal": ([*pair("v", "w"), ["Str", "diag"], ["Apply", 5, 2]], 3, 6, "the function or loss diag prints like"),
    "a letter and a function": ([*pair("v", "sigma"), ["Str", "sigmoid"], ["Apply", 5, 2], ["Plus", 6, 3]], 2, 7,
                                "the letter sigma prints like the function or loss sigmoid"),
    "a function and a loss": ([*pair("v", "w"), ["Str", "sigmoid"], ["Apply", 5, 2], ["Str", "sigma"], ["Loss", 7, 2],
                               ["Multiple", 8, 6]], 3, 9, "prints like another"),
    "a size and a letter": ([*pair("v", "n"), ["Scale", 1, 2]], 3, 5, "the size n prints like the letter n"),
    "functions": ([*pair("v", "w"), ["Str", "relu"], ["Apply", 5, 2], ["Str", "ReLU"], ["Apply", 7, 2], ["Plus", 6, 8]],
                  3, 9, "prints like another"),
    "an index and the identity": ([*pair("v", "w"), ["IndexVar", "I"], ["Scale", 5, 2]], 3, 6,
                                  "the index I prints like the identity matrix I"),
    "an index and a function": ([*pair("v", "w"), ["IndexVar", "tanh"], ["Scale", 5, 2]], 3, 6,
                                "the index tanh prints like the function or loss tanh"),
    "a letter called like a function": (pair("v", "softmax"), 2, 3,
                                        "the letter softmax prints like the function or loss softmax"),
    "a loss and cross-entropy": ([*pair("v", "w"), ["Str", "CE"], ["Loss", 5, 2], ["Multiple", 6, 2]], 3, 7,
                                 "the function or loss CE prints like another"),
    "a loss and the number of steps": ([*pair("v", "w"), ["Str", "T"], ["Loss", 5, 2], ["Multiple", 6, 2]], 3, 7,
                                       "the function or loss T prints like another, or like a sign"),
    "two sizes": ([*LETTER, ["Symbol", "n1", "size"], ["Symbol", "n_1", "size"], ["MatrixSymbol", "v", 1, 0],
                   ["Scale", 2, 4], ["Scale", 3, 4]], 5, 6, "the size n_?1 prints like the size n_?1"),
    "ones over two sizes": (
        [*LETTER, ["Symbol", "m", "size"], ["Ones", 0, 1], ["Ones", 1, 0], ["Times", 3, 4], ["Ones", 0, 2],
         ["Ones", 2, 0], ["Times", 6, 7]], 5, 8, "a product of ones over so many entries"),
    "two gradients of a loss": ([*pair("v", "w"), ["Str", "l"], ["Loss", 5, 2, 2], ["LossGradient", 6, 0]], 3, 7,
                                "one gradient of the loss l, which reads a variable twice"),
    "one and a matrix of ones": ([*pair("v", "w"), ["Identity", 0], ["Multiple", 5, 2]], 3, 6,
                                 "the factor 1 prints like a matrix of ones"),
}


ODD: dict[str, list[list[Any]]] = {
    "ones in so many rows as a matrix": [["Integer", 0], ["MatrixSymbol", "r", 2, 0], ["Ones", 3, 0]],
    "zeros in rows of a name": [["Str", "a"], ["Zero", 2, 2]],
    "an identity of an index": [["Index", 3], ["Identity", 2]],
    "a power of a sum as a time": [["IndexVar", "i"], ["IndexVar", "j"], ["Add", 2, 3], ["Integer", 10],
                                   ["Pow", 4, 5], ["Delta", 6, 2]],
    "an argument of a loss before its first": [["MatrixSymbol", "v", 1, 0], ["Str", "l"], ["Loss", 3, 2],
                                               ["Integer", -2], ["LossGradient", 4, 5]],
}
"""Rows that are made of what does not belong into their places."""


@pytest.mark.parametrize("kind", ODD)
def test_what_does_not_belong_into_a_place_is_refused(kind: str) -> None:
    nodes = [*LETTER, *ODD[kind]]
    with pytest.raises(RecordError, match=r"nodes\[\d+\]: no \w+ can be made of this"):
        replayed(claimed(nodes, 0, 0))


@pytest.mark.parametrize("kind", ALIKE)
def test_two_things_that_print_alike_are_refused(kind: str) -> None:
    nodes, left, right, words = ALIKE[kind]
    with pytest.raises(RecordError, match=words):
        replayed(claimed(nodes, left, right))


@pytest.mark.parametrize("sort", ["constant", "size"])
def test_a_scalar_called_like_a_bound_index(sort: str) -> None:
    """It is true that Σ_{i=1}^{2} c A = c A + c A. With c called i it would be printed as something false."""
    for name, refused in (("c", False), ("i", True), ("i_", True)):
        nodes = [*LETTER, ["MatrixSymbol", "A", 1, 1], ["Symbol", name, sort], ["IndexVar", "i"], ["Scale", 3, 2],
                 ["Index", 1], ["Index", 2], ["Sum", 5, 4, 6, 7], ["Plus", 5, 5]]
        data = proof_of({"rule": "axiom", "premises": [], "args": ["sum_terms", 5, 4, 6, 7]}, nodes=nodes)
        data["theorems"][0] |= {"left": 8, "right": 9, "used": ["sum_terms"]}
        if refused:
            with pytest.raises(RecordError, match=r"prints like the (index|constant) i"):
                replayed(data)
        else:
            assert len(replayed(data)) == 1


def test_a_definition_called_like_a_law_would_hide_the_law() -> None:
    for name in ("ring", "sum_first"):
        with pytest.raises(RecordError, match="a law is called"):
            replayed(claimed(pair("v", "w"), 3, 4, name))
    assert len(replayed(claimed(pair("v", "w"), 3, 4))) == 1


def test_what_the_steps_divide_by_is_told() -> None:
    """From c A = 0 follows A = 0 where c is not zero; the statement alone does not say so."""
    nodes = [*LETTER, ["MatrixSymbol", "A", 1, 1], ["Symbol", "c", "constant"], ["Integer", -1], ["Pow", 3, 4],
             ["Scale", 3, 2], ["Zero", 1, 1], ["Scale", 5, 6], ["Scale", 5, 7]]
    rows: list[tuple[str, list[int], list[Any]]] = [
        ("ring", [], [2, 8]), ("assumption", [], [6, 7]), ("congruence", [1], [8, [{"int": 1}]]), ("ring", [], [9, 7]),
        ("transitivity", [0, 2, 3], [])]
    data = proof_of(*({"rule": r, "premises": p, "args": a} for r, p, a in rows), nodes=nodes)
    data["theorems"][0] |= {"left": 2, "right": 7, "used": ["ring"], "assumptions": [[6, 7]]}
    found, = replayed(data)
    assert excluded_zeros(found.proof) == [Symbol("c", real=True)]
    assert targets.theorem(found) == "A = 0    if c A = 0, c ≠ 0"
    assert not any(excluded_zeros(q.proof) for q in theorems("linear"))


def test_no_refusal_speaks_of_lists_of_python(data: dict[str, Any]) -> None:
    theorem, step = next((q, s) for q in data["theorems"] for s in q["steps"] if s["rule"] == "congruence")
    step["args"][1][0] = None
    with pytest.raises(Refused, match=r"\(congruence\): these are not the premises and arguments") as refusal:
        replayed(data)
    assert theorem["key"] in str(refusal.value)
