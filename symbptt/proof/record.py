"""Proofs as JSON, and back: docs/proof_format.md describes the form. Nothing is derived and nothing is believed here.

What is read back are `Proof` objects, which count for nothing until the kernel has replayed them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sympy.core.basic import Basic
from sympy.matrices.expressions.matexpr import MatrixExpr

from symbptt.expr.index import Index
from symbptt.proof.account import ProvedStatement
from symbptt.proof.alike import alike, stated
from symbptt.proof.axioms import AXIOMS, Refused
from symbptt.proof.entries import RecordError, Rows, Table, clipped, shown, whole, words_of
from symbptt.proof.kernel import INFERENCE, admit, check
from symbptt.proof.limits import DEFINITIONS, check_cost
from symbptt.proof.plainly import about
from symbptt.proof.statement import Definition, Proof, Step, Theorem

FORMAT, VERSION = "symbptt-proof", 1
FIELDS: dict[str, tuple[str, ...]] = {
    "record": ("format", "version", "model", "nodes", "definitions", "theorems"),
    "definition": ("name", "left", "right", "lo", "hi"),
    "theorem": ("key", "hypotheses", "assumptions", "left", "right", "used", "definitions", "steps"),
    "step": ("rule", "premises", "args"),
}
"""The fields of each object, all of them needed."""
CLAIM = "coq"
"""A field of the record that may stand beside these: what its writer says that Coq has accepted. It is not read, since
nothing in the record could bear it out.
"""
BYTES = 100_000_000
"""The longest text that is read."""
DIGITS = 300
"""The most digits of a number."""
LONGEST = 1_000
"""The most characters of the name of a definition or a rule."""
NESTED = 8
"""The most lists within one another in the arguments of a step."""


class _Strange:
    """Something in a JSON text that is no part of the form; it is refused where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


# Writing.


def recorded(model: str, proved: Iterable[ProvedStatement], claim: Mapping[str, object] | None = None) -> str:
    """The proofs as a JSON text, a node and a step a line, with what Coq is claimed to have accepted, if given; equal
    proofs give equal texts.

    Raises:
        TypeError: a step holds what cannot be recorded.
    """
    table, definitions = Table(), dict[Definition, int]()
    rows: list[str] = []
    theorems = []
    for q in proved:
        for d in q.proof.definitions:
            if d not in definitions:
                definitions[d] = len(definitions)
                ends = {"lo": d.lo, "hi": d.hi}
                rows.append(_text({"name": d.name, "left": table.number(d.left), "right": table.number(d.right),
                                   **{k: None if v is None else table.number(v) for k, v in ends.items()}}))
        theorems.append(_theorem(q, table, [definitions[d] for d in q.proof.definitions]))
    head = {"format": FORMAT, "version": VERSION, "model": model}
    lists = {"nodes": list(map(_text, table.rows)), "definitions": rows, "theorems": theorems}
    parts = [*(f"{_text(k)}: {_text(v)}" for k, v in head.items()), *(f"{_text(k)}: {_list(v)}" for k, v in
                                                                      lists.items()),
             *([] if claim is None else [f"{_text(CLAIM)}: {_text(claim)}"])]
    return "{" + ",\n".join(parts) + "}\n"


def _theorem(q: ProvedStatement, table: Table, definitions: list[int]) -> str:
    claim = q.proof.claim
    fields: dict[str, object] = {
        "key": q.key,
        "hypotheses": [table.number(h) for h in sorted(claim.hypotheses, key=str)],
        "assumptions": [[table.number(a), table.number(b)] for a, b in sorted(claim.assumptions, key=str)],
        "left": table.number(claim.left), "right": table.number(claim.right), "used": sorted(claim.used),
        "definitions": definitions}
    steps = [_text({"rule": s.rule, "premises": list(s.premises), "args": [_value(a, table) for a in s.args]})
             for s in q.proof.steps]
    return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in fields.items()) + f', "steps": {_list(steps)}' + "}"


def _value(value: object, table: Table) -> object:
    """An argument of a step: a node by number, a name, null, {"int": 2} or a list of these."""
    if isinstance(value, Basic):
        return table.number(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return [_value(a, table) for a in value]
    if type(value) is int:
        return {"int": value}
    raise TypeError(f"{value!r} is a {type(value).__name__}, which cannot be recorded")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _list(rows: list[str]) -> str:
    return "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"


# Reading.


def read(text: str) -> tuple[str, tuple[tuple[str, Proof], ...]]:
    """The name of the model, and the key and proof of every theorem; nothing has been replayed yet.

    Raises:
        RecordError: the text is not of the form; the message says where: line:column, or the path of a field.
    """
    record = _fields(_unclaimed(parsed(text)), "record", "")
    if record["format"] != FORMAT:
        raise RecordError("format", f'{shown(record["format"])} is not "{FORMAT}"')
    if type(record["version"]) is not int or record["version"] != VERSION:
        raise RecordError("version", f"version {shown(record['version'])} is not read here; {VERSION} is")
    name = words_of(record["model"], "model", LONGEST)
    rows = Rows(_items(record["nodes"], "nodes"))
    listed = _items(record["definitions"], "definitions")
    if len(listed) > DEFINITIONS:
        raise RecordError("definitions", f"there are {len(listed):,}; at most {DEFINITIONS:,} are compared")
    definitions = [_definition(d, rows, f"definitions[{k}]") for k, d in enumerate(listed)]
    found, spent = [], 0
    for k, theorem in enumerate(_items(record["theorems"], "theorems")):
        path = f"theorems[{k}]"
        key, proof = _proof(theorem, rows, definitions, path)
        spent = check_cost(proof, rows, path, spent)
        found.append((key, proof))
    strange = alike(e for _, proof in found for e in stated(proof))
    if strange is not None:
        raise RecordError("nodes", f"{strange}; take another name")
    return name, tuple(found)


def _unclaimed(record: Any) -> Any:
    return {k: v for k, v in record.items() if k != CLAIM} if isinstance(record, dict) else record


def claims(text: str) -> bool:
    """Whether a record says that Coq has accepted something, which replaying does not check.

    Raises:
        RecordError: the text is no JSON.
    """
    record = parsed(text)
    return isinstance(record, dict) and CLAIM in record


def opened(path: Path, most: int = BYTES) -> str:
    """The text of a file of at most so many bytes.

    Raises:
        OSError: it cannot be read.
        RecordError: it is too long, or no UTF-8.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise RecordError("", f"the file is longer than {most:,} bytes")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start)
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise RecordError(f"{line + 1}:{column}", "this is no UTF-8 text", position=True) from None


def replayed(text: str) -> tuple[ProvedStatement, ...]:
    """The theorems of a record, each as the kernel has just proved it.

    Raises:
        RecordError: the text is not of the form.
        Refused: the kernel refuses a proof; the message names the theorem, the step and the rule.
    """
    _, proofs = read(text)
    return tuple(ProvedStatement(key, _checked(k, key, proof), proof) for k, (key, proof) in enumerate(proofs))


def together(proved: Iterable[ProvedStatement]) -> tuple[tuple[ProvedStatement, ...], ...]:
    """The theorems in order, divided where the definitions of one contradict those of the ones before.

    A theorem means nothing without its definitions; those of two theorems in one group may be read as one list.
    """
    rest, groups = list(proved), []
    while rest:
        low, high = 1, 2  # so many are one group; so many are not, or are more than there are
        while high <= len(rest) and _agree(rest[:high]):
            low, high = high, 2 * high
        high = min(high, len(rest) + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _agree(rest[:middle]) else (low, middle)
        groups.append(tuple(rest[:low]))
        rest = rest[low:]
    return tuple(groups)


def _agree(proved: Iterable[ProvedStatement]) -> bool:
    """Whether the definitions of these can be read as one list; if so, those of any fewer of them can."""
    try:
        admit(dict.fromkeys(d for q in proved for d in q.proof.definitions))
    except Refused:
        return False
    return True


UNFIT = "these are not the premises and arguments that the rule takes"


def _checked(number: int, key: str, proof: Proof) -> Theorem:
    try:
        return check(proof)
    except Refused as error:
        raise Refused(f"theorems[{number}] ({key}): {clipped(about(error, UNFIT), 1000)}") from None


def parsed(text: str) -> Any:
    """The JSON value of a text; NaN, fractions, long numbers and doubled fields are kept as what no form allows.

    Raises:
        RecordError: it is no JSON, too long or too deep.
    """
    if not text.strip():
        raise RecordError("", "the file is empty")
    if len(text) > BYTES:
        raise RecordError("", f"the text is longer than {BYTES:,} characters")
    try:
        return json.loads(text, parse_constant=_Strange, parse_float=lambda s: _Strange(f"{s[:DIGITS]}, a fraction,"),
                          parse_int=lambda s: int(s) if len(s) <= DIGITS else _Strange(f"{s[:20]}…, a long number,"),
                          object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise RecordError(f"{error.lineno}:{error.colno}", f"this is no JSON: {error.msg}", position=True) from None
    except RecursionError:
        raise RecordError("", "the text holds too many brackets within one another") from None


def _object(pairs: list[tuple[str, object]]) -> object:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(k for k, count in Counter(k for k, _ in pairs).items() if count > 1)
        return _Strange(f"an object with the field {shown(twice)} twice")
    return made


SUMMARY = "proofs that can be replayed are written by --format json, while --json writes a summary"
"""Said of a list, which is what `symbptt prove --json` writes."""


def _fields(value: object, kind: str, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        why = f"{shown(value)} is no object with the fields {', '.join(FIELDS[kind])}"
        raise RecordError(path, why if path or not isinstance(value, list) else f"{why}; {SUMMARY}")
    for name in value:
        if name not in FIELDS[kind]:
            raise RecordError(path, f"a {kind} has no field {shown(name)}; it has {', '.join(FIELDS[kind])}")
    for name in FIELDS[kind]:
        if name not in value:
            raise RecordError(path, f"the field {name} is missing")
    return value


def _items(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise RecordError(path, f"{shown(value)} is no list")
    return value


def _each(value: object, path: str) -> Iterator[tuple[object, str]]:
    return ((a, f"{path}[{k}]") for k, a in enumerate(_items(value, path)))


def _matrix(value: object, rows: Rows, path: str) -> Any:
    found = rows.get(value, path)
    if not isinstance(found, MatrixExpr):
        raise RecordError(path, f"nodes[{value}] is a {type(found).__name__}, not a matrix")
    return found


def _index(value: object, rows: Rows, path: str) -> Index:
    found = rows.get(value, path)
    if type(found) is not Index:
        raise RecordError(path, f"nodes[{value}] is a {type(found).__name__}, not an Index")
    return found


def _definition(value: object, rows: Rows, path: str) -> Definition:
    d = _fields(value, "definition", path)
    ends = [None if d[k] is None else _index(d[k], rows, f"{path}.{k}") for k in ("lo", "hi")]
    if d["name"] in [*AXIOMS, *INFERENCE]:
        raise RecordError(f"{path}.name", f"a law is called {d['name']}; take another name")
    return Definition(words_of(d["name"], f"{path}.name", LONGEST), _matrix(d["left"], rows, f"{path}.left"),
                      _matrix(d["right"], rows, f"{path}.right"), *ends)


def _proof(value: object, rows: Rows, definitions: list[Definition], path: str) -> tuple[str, Proof]:
    q = _fields(value, "theorem", path)
    used = []
    for number, where in _each(q["definitions"], f"{path}.definitions"):
        if type(number) is not int or not 0 <= number < len(definitions):
            raise RecordError(where, f"{shown(number)} is not the number of a definition; there are "
                                      f"{len(definitions)}")
        used.append(definitions[number])
    claim = Theorem(
        frozenset(_index(h, rows, where) for h, where in _each(q["hypotheses"], f"{path}.hypotheses")),
        frozenset(_equation(e, rows, where) for e, where in _each(q["assumptions"], f"{path}.assumptions")),
        _matrix(q["left"], rows, f"{path}.left"), _matrix(q["right"], rows, f"{path}.right"),
        frozenset(words_of(u, where, LONGEST) for u, where in _each(q["used"], f"{path}.used")))
    steps = tuple(_step(s, rows, where) for s, where in _each(q["steps"], f"{path}.steps"))
    return words_of(q["key"], f"{path}.key", LONGEST), Proof(tuple(used), steps, claim)


def _equation(value: object, rows: Rows, path: str) -> tuple[Any, Any]:
    sides = _items(value, path)
    if len(sides) != 2:
        raise RecordError(path, f"an equation has two sides, not {len(sides)}")
    return _matrix(sides[0], rows, f"{path}[0]"), _matrix(sides[1], rows, f"{path}[1]")


def _step(value: object, rows: Rows, path: str) -> Step:
    s = _fields(value, "step", path)
    return Step(words_of(s["rule"], f"{path}.rule", LONGEST),
                tuple(whole(k, where) for k, where in _each(s["premises"], f"{path}.premises")),
                tuple(_read_value(a, rows, where) for a, where in _each(s["args"], f"{path}.args")))


def _read_value(value: object, rows: Rows, path: str, level: int = 0) -> object:
    if level > NESTED:
        raise RecordError(path, f"more than {NESTED} lists within one another")
    if isinstance(value, list):
        return tuple(_read_value(a, rows, where, level + 1) for a, where in _each(value, path))
    if value is None:
        return None
    if isinstance(value, str):
        return words_of(value, path, LONGEST)
    if isinstance(value, dict):
        if list(value) != ["int"]:
            raise RecordError(path, 'an object here is {"int": number}')
        return whole(value["int"], f"{path}.int")
    return rows.get(value, path)
