"""Model files: TOML -> Model; whatever is wrong raises `InputError` with file, line and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, cast, get_args

from sympy import MatrixSymbol, Symbol

from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Matrix
from symbptt.expr.shape import shape_text
from symbptt.model import locate
from symbptt.model.checks import names_once
from symbptt.model.depth import too_deep
from symbptt.model.files import readable
from symbptt.model.language import read_assumption, read_equation, read_loss, read_shape, same_time
from symbptt.model.locate import Document, InputError, read_toml
from symbptt.model.names import (
    check_line,
    check_model_name,
    check_name,
    check_variable_name,
    constant_symbol,
    did_you_mean,
    size_symbol,
)
from symbptt.model.operators import redeclared, would_fit
from symbptt.model.parts import in_order
from symbptt.model.reading import Scope, Text, parse
from symbptt.model.spec import Equation, LossTerm, Model, ModelError, Reduce, Size, initial_name

LARGEST = 2**18
"""The most bytes of a model file."""

SHAPED = {"parameters": 2, "inputs": 1, "targets": 1, "states": 1, "static": 1}
"""The tables whose values are shapes, and how many sizes such a value may name."""

STILL = "{} changes with time; a value before the first step is computed from parameters and [static] data alone"

TEXTS = ("name", "title", "source")
TABLES = ("sizes", *SHAPED, "constants", "initial", "equations")
REQUIRED = {"name": "name", "inputs": "[inputs]", "equations": "[equations]", "loss": "[[loss]]"}
TERM = ("term", "reduce", "mask", "assume")
REDUCE: tuple[str, ...] = get_args(Reduce)


def library() -> list[str]:
    """The names of the built-in models."""
    folder = resources.files("symbptt.model") / "library"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def source_text(name: str) -> str:
    """The file of a built-in model, as it stands.

    Raises:
        InputError: no built-in model has that name.
    """
    if name not in library():
        raise InputError(f"no built-in model is called {name}{did_you_mean(name, library())}", str(name))
    return (resources.files("symbptt.model") / "library" / f"{name}.toml").read_text(encoding="utf-8")


def argument(model: Model) -> str:
    """What names a model on the command line: its name where it is built in, else a file of its name."""
    return model.name if model.name in library() and load(model.name) == model else f"{model.name}.toml"


def load(source: str | Path) -> Model:
    """The built-in model of that name, or the model of the file at that path.

    Raises:
        InputError: it is neither, the file cannot be read, or what it says is wrong.
    """
    if source == "":
        raise InputError(f"an empty text names no model; built-in: {', '.join(library())}", '""')
    if isinstance(source, str) and source in library():
        return loads(source_text(source), f"{source}.toml")
    return loads(_file_text(source), str(source))


def loads(text: str, filename: str = "<text>") -> Model:
    """The model that a text in the format of model files describes.

    Raises:
        InputError: the text is wrong; file, line and column say where.
    """
    if len(text) > LARGEST:
        raise InputError(f"the text has {len(text)} characters; at most {LARGEST} are read", filename)
    try:
        return _model(read_toml(text, filename))
    except RecursionError:
        raise InputError(too_deep(), filename) from None


def _file_text(source: str | Path) -> str:
    file = str(source)
    try:
        with readable(Path(source)).open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except FileNotFoundError:
        names = library()
        close = did_you_mean(file, names)
        hint = close if close.endswith("?") else ""
        raise InputError(f"neither a file nor a built-in model; built-in: {', '.join(names)}{hint}", file) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file) from None
    if len(content) > LARGEST:
        raise InputError(f"the file is too large; at most {LARGEST} bytes are read", file)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[:error.start].decode("utf-8")
        raise Document(before, file).at(len(before), "not UTF-8 text") from None


def _model(document: Document) -> Model:
    _check_keys(document, (), (*TEXTS, *TABLES, "loss"))
    for key, written in REQUIRED.items():
        if key not in document.data:
            raise document.at(0, f"{written} is missing")
    name = _checked(document, "name", check_model_name)
    title, source = (_checked(document, key, check_line) for key in ("title", "source"))
    tables = {table: _strings(document, table) for table in TABLES}
    with _blaming(document, key=True):
        names_once({table: tables[table] for table in (*SHAPED, "constants")}, tables["equations"])
    for table in ("sizes", "constants"):
        for key in tables[table]:
            with _blaming(document, table, key):
                check_line(tables[table][key])
    sizes = {name: size_symbol(name) for name in tables["sizes"]}
    _no_shapes(document, tables["constants"], sizes)
    shaped = {table: _symbols(document, table, tables[table], sizes) for table in SHAPED}
    families = shaped["inputs"] | shaped["targets"] | shaped["states"]
    constant = shaped["parameters"] | shaped["static"]
    scope = Scope(constant, {name: constant_symbol(name) for name in tables["constants"]}, families,
                  reaching=frozenset(families), defined=tables["equations"], sizes=sizes)
    equations = _equations(document, tables["equations"], scope)
    still = replace(scope, families={}, defined=(), elsewhere={name: STILL.format(name) for name in scope.families})
    computed = tuple(_initial(document, key, still, shaped["states"], scope.families) for key in tables["initial"])
    losses = tuple(_term(document, number, scope) for number in range(_terms(document)))
    declared = {table: tuple(symbols.values()) for table, symbols in shaped.items()}
    with _blaming(document):
        return Model(name=name, title=title, source=source,
                     sizes=tuple(Size(sizes[size], said) for size, said in tables["sizes"].items()),
                     constants=tuple(scope.constants.values()), equations=equations, losses=losses,
                     computed=computed, **declared)


def _check_keys(document: Document, path: locate.Path, known: tuple[str, ...]) -> None:
    for key in _at(document, path):
        if key not in known:
            raise document.at_key((*path, key), f"{key!r} is not known here{did_you_mean(key, known)}")


def _at(document: Document, path: locate.Path) -> Any:
    value: Any = document.data
    for step in path:
        value = value[step]
    return value


@contextmanager
def _blaming(document: Document, *path: str | int, key: bool = False) -> Iterator[None]:
    """Give a `ModelError` its place: at `path`, or at the entry that the error names; at its key or in its text."""
    try:
        yield
    except ModelError as error:
        entry: locate.Path = path or (error.table, error.key)
        if error.table == "initial" and not path and entry not in document.entries:
            entry = ("initial", error.key.removesuffix("_0"))
        if error.table == "loss" and not path:
            number, _, key_of_term = error.key.partition(".")
            entry = ("loss", int(number), key_of_term or "term") if number else ("loss",)
            entry = entry if entry in document.entries else (*entry[:2], "term")
        if key or (error.table and error.table not in ("equations", "initial", "loss")):
            raise document.at_key(entry, error.message) from None
        raise document.at_value(entry, error.message, error.offset) from None


def _string(document: Document, path: locate.Path) -> str:
    value = _at(document, path)
    if not isinstance(value, str):
        raise document.at_value(path, f"{path[-1]} must be a string in quotes, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "an array",
             dict: "a table"}
    return kinds.get(type(value), "a date or time")


def _checked(document: Document, key: str, check: Callable[[str], str]) -> str:
    if key not in document.data:
        return ""
    with _blaming(document, key):
        return check(_string(document, (key,)))


def _strings(document: Document, table: str) -> dict[str, str]:
    """A table of names with a string each."""
    entries = document.data.get(table, {})
    if not isinstance(entries, dict):
        raise document.at_value((table,), f"[{table}] must be a table, not {_kind(entries)}")
    for name in entries:
        with _blaming(document, table, name, key=True):
            (check_variable_name if table in (*SHAPED, "equations") else check_name)(name)
        if table in ("sizes", "constants") and not isinstance(entries[name], str):
            raise document.at_value((table, name), f"{name} must be a string in quotes, not {_kind(entries[name])}; "
                                                   "it stays a symbol, and the string says what it is")
        _string(document, (table, name))
    if not entries and table in REQUIRED:
        raise document.at_key((table,), f"[{table}] is empty")
    return entries


def _symbols(document: Document, table: str, shapes: dict[str, str],
             sizes: dict[str, Symbol]) -> dict[str, MatrixSymbol]:
    return {name: _symbol(document, table, name, written, sizes) for name, written in shapes.items()}


def _symbol(document: Document, table: str, name: str, written: str, sizes: dict[str, Symbol]) -> MatrixSymbol:
    with _blaming(document, table, name):
        shape = read_shape(written, sizes)
        if len(shape) > SHAPED[table]:
            raise ModelError(f"{name} names {len(shape)} sizes; " + (
                "a column has one" if SHAPED[table] == 1 else "a column has one, a matrix two"))
    return MatrixSymbol(name, *shape, *[1] * (2 - len(shape)))


def _no_shapes(document: Document, constants: dict[str, str], sizes: dict[str, Symbol]) -> None:
    """Refuse a constant whose text is a shape, for somebody takes it for a matrix."""
    for name, said in constants.items():
        try:
            shape = read_shape(said, sizes)
        except ModelError:
            continue
        if any(size.free_symbols for size in shape):
            raise document.at_value(("constants", name), f"{said!r} is a shape, but {name} is a scalar, and its text "
                                    "says what it is; matrices and columns stand in [parameters]")


def _equations(document: Document, texts: dict[str, str], scope: Scope) -> tuple[Equation, ...]:
    parsed: dict[str, Text] = {}
    for name, text in texts.items():
        with _blaming(document, "equations", name):
            parsed[name] = parse(text)
    with _blaming(document):
        order = in_order({name: same_time(text, texts) for name, text in parsed.items()}, scope.sizes)
    done = {name: _equation(document, name, parsed[name], scope) for name in order}
    return tuple(done[name] for name in texts)


def _equation(document: Document, name: str, text: Text, scope: Scope) -> Equation:
    """One equation; a family without a declared shape takes that of its right-hand side."""
    with _blaming(document, "equations", name):
        right = read_equation(text, scope)
        if name not in scope.families:
            rows, columns = right.shape
            if columns != 1:
                raise ModelError(f"{name} is not a column: its shape is {shape_text(right.shape)}; what an equation "
                                 "defines is a column", offset=text.start)
            scope.families[name] = MatrixSymbol(name, rows, 1)
        _fits(scope.families[name], At(scope.families[name], t), right, text)
    return Equation(At(scope.families[name], t), right)


def _initial(document: Document, key: str, scope: Scope, states: dict[str, MatrixSymbol],
             families: dict[str, MatrixSymbol]) -> Equation:
    """The equation of a value before the first step: h_0, or h for short, and h_m1 for time -1."""
    with _blaming(document, "initial", key, key=True):
        name, past = re.fullmatch(r"(.*?)(_0|_m[1-9]\d{0,3})?", key).groups()  # type: ignore[union-attr]
        name, past = (key, None) if key in families else (name, past)
        if name not in states:
            what = f"{name} is not in [states]" if name in families else f"{name} is no state"
            first = next(iter(states), "h")
            hint = did_you_mean(name, list(states)) if name not in families else ""
            raise ModelError(f"{key} names no value before the first step: {what}; write {first}_0 for the value of "
                             f"the state {first} at time 0{hint}")
        time = 0 if past in (None, "_0") else -int(past[2:])
    with _blaming(document, "initial", key):
        text = parse(_string(document, ("initial", key)))
        left = At(states[name], time)
        right = read_equation(text, scope, f"; leave it out, and {initial_name(left)} is data")
        _fits(states[name], left, right, text)
    return Equation(left, right)


def _fits(declared: MatrixSymbol, left: At, right: Matrix, text: Text) -> None:
    """Refuse a right-hand side of another shape than the declared one, and say what would be right."""
    if right.shape == declared.shape:
        return
    own = f'{declared} declared "{right.shape[0]}"' if right.shape[1] == 1 and left.time == index(t) else ""
    raise ModelError(f"the right-hand side of {left} has shape {shape_text(right.shape)}, but {declared} was declared "
                     f"{shape_text(declared.shape)}{would_fit(own, redeclared(right, declared.shape))}",
                     offset=text.start)


def _terms(document: Document) -> int:
    terms = document.data["loss"]
    if not isinstance(terms, list) or not all(isinstance(term, dict) for term in terms):
        raise document.at_key(("loss",), "a loss is written [[loss]], with term = \"l(o, y)\" below it")
    return len(terms)


def _term(document: Document, number: int, scope: Scope) -> LossTerm:
    path = ("loss", number)
    _check_keys(document, path, TERM)
    if "term" not in _at(document, path):
        raise document.at_key(path, "[[loss]] has no term; write term = \"l(o, y)\"")
    with _blaming(document, *path, "term"):
        weight, loss = read_loss(parse(_string(document, (*path, "term"))), scope)
    reduce = _string(document, (*path, "reduce")) if "reduce" in _at(document, path) else "mean"
    if reduce not in REDUCE:
        raise document.at_value((*path, "reduce"), f"{reduce!r} is not known here{did_you_mean(reduce, REDUCE)}")
    mask = _target(document, (*path, "mask"), scope, str) if "mask" in _at(document, path) else None
    assume = (_target(document, (*path, "assume"), scope, read_assumption),) if "assume" in _at(document, path) else ()
    return LossTerm(loss, cast(Reduce, reduce), weight, mask, assume)


def _target(document: Document, path: locate.Path, scope: Scope, read: Callable[[str], str]) -> MatrixSymbol:
    """The target that an entry of a loss names."""
    with _blaming(document, *path):
        name = read(_string(document, path))
        if name not in document.data.get("targets", {}):
            raise ModelError(f"{name} is not declared under [targets]"
                             f"{did_you_mean(name, list(document.data.get('targets', {})))}")
    return scope.families[name]
