import copy
import pickle
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbptt.model.locate import Document, InputError, read_toml


def place(document: Document, *path: str | int) -> str:
    """The text from the key on."""
    return document.text[document.entries[path].key:]


def test_keys_of_every_spelling_are_found() -> None:
    document = read_toml("""
        a . "b" = 1 # c = 2
        [ x . y ]
        'k' = {p = [1, {q = '''#'''}], r.s = 1}
        [[ n ]]
        [[n]]
        u = [
          "]", # "
          { v = 1 },
        ]
        [n.m]
        w = 1990-01-01 00:00:00
        """, "f")
    assert place(document, "a").startswith("a . ")
    assert place(document, "a", "b").startswith("a . ")
    assert place(document, "x").startswith("x . y ]")
    assert place(document, "x", "y", "k").startswith("'k' =")
    assert place(document, "x", "y", "k", "p", 1, "q").startswith("q = ")
    assert place(document, "x", "y", "k", "r", "s").startswith("r.s")
    assert place(document, "n", 0).startswith("n ]]")
    assert place(document, "n", 1, "u", 1, "v").startswith("v = 1")
    assert place(document, "n", 1, "m", "w").startswith("w = 1990")


@pytest.mark.parametrize("written", [
    '"abc*"', "'abc*'", '"""abc*"""', "'''abc*'''", '"""\nabc*"""', "'''\nabc*'''", '"\\u0061\\tb*"', '"\\U00000061*"',
    '"""a \\\n\n  b*"""', '"""\\\n  *"""', '"\\\\\\"*"', '"""a""*"""', '"é*"',
])
def test_characters_are_found_behind_escapes(written: str) -> None:
    document = read_toml(f"k = {written}", "f")
    error = document.at_value(("k",), "here", document.data["k"].index("*"))
    before = document.text[:document.text.index("*")]
    assert (error.line, error.column) == (before.count("\n") + 1, len(before.split("\n")[-1]) + 1)


VALUES = st.recursive(
    st.sampled_from(["1", "-1.5", "true", '"a\\"b"', "'c#'", '"""d\n"e"""', "inf", "'''f''g'''", '""', '""""q"""']),
    lambda inner: st.lists(inner, max_size=3).map(lambda vs: "[ " + " ,\n".join(vs) + " ]")
    | st.lists(inner, max_size=3).map(lambda vs: "{" + ", ".join(f"k{i}={v}" for i, v in enumerate(vs)) + "}"),
    max_leaves=6)


def paths(data: object, prefix: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path for key, value in steps for path in [(*prefix, key), *paths(value, (*prefix, key))]]


@given(st.lists(st.tuples(st.sampled_from(["", "[t{}]\n", "[[u]]\n", "[u.v{}]\n", "[w.x{}]\n"]), VALUES), max_size=5))
def test_every_entry_of_a_document_has_a_place(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"{head.format(i)}key{i} = {value}  # {i}\n" for i, (head, value) in enumerate(parts))
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    document = read_toml(text, "f")
    assert document.data == data
    assert set(paths(data)) == set(document.entries)


def test_an_entry_that_is_not_there_is_placed_at_the_beginning() -> None:
    document = read_toml("a = 1", "f")
    assert str(document.at_key(("b",), "gone")) == str(document.at_value(("b",), "gone")) == "f:1:1: gone"
    assert str(document.at_value(("a",), "number", 7)) == "f:1:5: number"


@pytest.mark.parametrize(("text", "said"), [
    ("a = \n", "f:1:5: not TOML: Invalid value"),
    ("a = 1\nb =", "f:2:4: not TOML: Invalid value"),
    ('a = "\\q"', "f:1:"),
    ("a = 1\r\n\r\n= 3", "f:3:1: not TOML"),
    ("a.a.a.a.a.a.a.a.a = 1", "f:1:1: a key of more than 8 parts"),
    ("a = 1" + "0" * 100, "f:1:5: an unquoted value of more than 100 characters"),
    ("a = " + "[" * 20, "f:1:22: nested too deeply"),
    ("[a]\nb.c = 1\nb = 2", "f:3:1: b stands here twice"),
    ("a = '\ud800'", "f:1:6: a lone surrogate"),
    ('"\\q" = 1', "f:1:"),
    ("'''a''' = 1", "f:1:"),
])
def test_faults_of_the_text(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_toml(text, "f")
    assert str(caught.value).startswith(said)


def test_an_input_error_travels() -> None:
    error = InputError("wrong", "a.toml", 3, 4)
    assert isinstance(error, ValueError)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(other), other.file, other.line, other.column, other.message) == (
            "a.toml:3:4: wrong", "a.toml", 3, 4, "wrong")
