"""Model files: TOML -> Model; whatever is wrong raises `InputError` with file, line and column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, cast, get_args

from sympy import MatrixSymbol, Symbol

from symbptt.expr.index import t
from symbptt.expr.nodes import At
from symbptt.expr.shape import shape_text
from symbptt.model import locate
from symbptt.model.language import Scope, Text, parse, read_equation, read_loss, read_shape, same_time
from symbptt.model.locate import Document, InputError, read_toml
from symbptt.model.names import check_line, check_model_name, check_name, constant_symbol, did_you_mean, size_symbol
from symbptt.model.spec import Equation, LossTerm, Model, ModelError, Reduce, Size, in_order, names_once

LARGEST = 2**18
"""The most bytes of a model file."""

SHAPED = {"parameters": 2, "inputs": 1, "targets": 1, "states": 1}
"""The tables whose values are shapes, and how many sizes such a value may name."""

TEXTS = ("name", "title", "source")
TABLES = ("sizes", *SHAPED, "constants", "equations")
REQUIRED = {"name": "name", "sizes": "[sizes]", "inputs": "[inputs]", "equations": "[equations]", "loss": "[[loss]]"}
TERM = ("term", "reduce")
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


def load(source: str | Path) -> Model:
    """The built-in model of that name, or the model of the file at that path.

    Raises:
        InputError: it is neither, the file cannot be read, or what it says is wrong.
    """
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
    return _model(read_toml(text, filename))


def _file_text(source: str | Path) -> str:
    file = str(source)
    try:
        with Path(source).open("rb") as stream:
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
    shaped = {table: _symbols(document, table, tables[table], sizes) for table in SHAPED}
    families = shaped["inputs"] | shaped["targets"] | shaped["states"]
    scope = Scope(shaped["parameters"], {name: constant_symbol(name) for name in tables["constants"]}, families,
                  reaching=frozenset(families), defined=tables["equations"])
    equations = _equations(document, tables["equations"], scope)
    losses = tuple(_term(document, number, scope) for number in range(_terms(document)))
    declared = {table: tuple(symbols.values()) for table, symbols in shaped.items()}
    with _blaming(document):
        return Model(name=name, title=title, source=source,
                     sizes=tuple(Size(sizes[size], said) for size, said in tables["sizes"].items()),
                     constants=tuple(scope.constants.values()), equations=equations, losses=losses, **declared)


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
        if error.table == "loss" and not path:
            entry = ("loss", int(error.key), "term") if error.key else ("loss",)
        if key or (error.table and error.table not in ("equations", "loss")):
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
            check_name(name)
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


def _equations(document: Document, texts: dict[str, str], scope: Scope) -> tuple[Equation, ...]:
    parsed: dict[str, Text] = {}
    for name, text in texts.items():
        with _blaming(document, "equations", name):
            parsed[name] = parse(text)
    with _blaming(document):
        order = in_order({name: same_time(text, texts) for name, text in parsed.items()})
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
    return Equation(At(scope.families[name], t), right)


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
    return LossTerm(loss, cast(Reduce, reduce), weight)
