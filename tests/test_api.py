"""The public face, as a person uses it."""

from __future__ import annotations

import copy
import pickle
from importlib import metadata, resources
from pathlib import Path

import pytest
import sympy
from sympy import MatrixSymbol, symbols

import symbptt
from symbptt.expr.index import IndexVar, t

d, h, q = symbols("d h q", integer=True, positive=True)
LAG_TWO = """
name = "second"
[sizes]
d = "input"
h = "hidden"
q = "output"
[parameters]
W = "h, d"
A = "h, h"
C = "h, h"
V = "q, h"
[inputs]
x = "d"
[targets]
y = "q"
[states]
h = "h"
[equations]
h = "A @ h[t-1] + C @ h[t-2] + W @ x"
o = "V @ h"
[[loss]]
term = "l(o, y)"
"""


@pytest.fixture(scope="module")
def linear() -> symbptt.Derivation:
    return symbptt.derive("linear", T=3)


def test_the_version_is_the_installed_one() -> None:
    assert symbptt.__version__ == metadata.version("symbptt")
    with pytest.raises(AttributeError, match="no_such"):
        symbptt.no_such  # noqa: B018 - what is looked up is the test


def test_documents_name_the_file_of_a_model_that_is_not_built_in() -> None:
    text = symbptt.source_text("linear")
    for name, word in (("linear", "linear"), ("mine", "mine.toml")):
        document = symbptt.derive(symbptt.loads(text.replace('"linear"', f'"{name}"')), T=20).to_text()
        assert f"symbptt prove {word} --T 20" in " ".join(document.split())


def test_recursion_and_closed_form(linear: symbptt.Derivation) -> None:
    assert str(linear.recursion("h")) == "dL/dh[t] = W_hh.T @ dL/dh[t+1] + W_qh.T @ dL/do[t]"
    assert str(linear.closed_form("h")) == "dL/dh[t] = Sum(i=t..T, (W_hh.T)^(i - t) @ (W_qh.T @ dL/do[i]))"
    from_the_end = linear.closed_form("h", from_the_end=True)
    assert str(from_the_end.right) == "Sum(i=t..T, (W_hh.T)^(T - i) @ (W_qh.T @ dL/do[T+t-i]))"


def test_gradients_by_name(linear: symbptt.Derivation) -> None:
    assert str(linear.gradient("h", 2)) == "W_hh.T @ dL/dh[3] + W_qh.T @ dL/do[2]"
    assert str(linear.gradient("h", 3)) == "W_qh.T @ dL/do[3]"
    assert str(linear.gradient("h_0")) == "W_hh.T @ dL/dh[1]"
    assert str(linear.gradient("x", 1)) == "W_hx.T @ dL/dh[1]"
    assert str(linear.gradient("W_hh")) == "dL/dh[1] @ h[0].T + dL/dh[2] @ h[1].T + dL/dh[3] @ h[2].T"
    assert str(linear.gradient("o", 1)) == "(1/3)*dl(o[1], y[1])/do[1]"


def test_expanded_gradients(linear: symbptt.Derivation) -> None:
    assert str(linear.gradient("h", 1, expanded=True)) == (
        "W_hh.T @ W_hh.T @ W_qh.T @ dL/do[3] + W_hh.T @ W_qh.T @ dL/do[2] + W_qh.T @ dL/do[1]")
    assert linear.word_count("h", 1) == 3
    assert len(linear.gradient("W_hh", expanded=True).args) == 6


def test_a_lag_of_two_is_expanded_in_blocks_and_its_words_are_counted() -> None:
    second = symbptt.derive(symbptt.loads(LAG_TWO), T=30)
    assert second.word_count("h", 1) == 2178308
    assert "K^" in str(second.gradient("h", 1, expanded=True))


def test_sympy_and_toml_give_equal_models() -> None:
    x, y = symbptt.family("x", d), symbptt.family("y", q)
    state, o = symbptt.family("h", h), symbptt.family("o", q)
    W, A, C, V = MatrixSymbol("W", h, d), MatrixSymbol("A", h, h), MatrixSymbol("C", h, h), MatrixSymbol("V", q, h)
    built = symbptt.model(name="second", equations={state: A * state.prev + C * state.lag(2) + W * x, o: V * state},
                          inputs=[x], targets=[y], loss=symbptt.loss("l", o, y))
    assert built == symbptt.loads(LAG_TWO)
    flipped = symbptt.model(name="second", equations={state: A * state.prev - C * state.lag(2) + W * x, o: V * state},
                            inputs=[x], targets=[y], loss=symbptt.loss("l", o, y))
    assert built != flipped


def test_a_masked_model_with_softmax_from_sympy() -> None:
    x, y, m = symbptt.family("x", d), symbptt.family("y", q), symbptt.family("m", 1)
    state, o = symbptt.family("h", h), symbptt.family("o", q)
    W, U, V = MatrixSymbol("W", h, d), MatrixSymbol("U", h, h), MatrixSymbol("V", q, h)
    terms = [symbptt.LossTerm(symbptt.loss("squared_error", o, y), "sum", mask=m), symbptt.loss("l", state)]
    built = symbptt.model({state: symbptt.function("silu", W * x + U * state.prev), o: symbptt.softmax(V * state)},
                          [x], terms, targets=[y, m])
    right = [str(e.right) for e in built.equations]
    assert right[0] in ("silu(W @ x[t] + U @ h[t-1])", "silu(U @ h[t-1] + W @ x[t])")
    assert right[1] == "softmax(V @ h[t])"
    assert [(t.reduce, t.mask and t.mask.name) for t in built.losses] == [("sum", "m"), ("mean", None)]
    assert symbptt.prove(built)
    with pytest.raises(symbptt.ModelError, match="did you mean silu"):
        symbptt.function("sulu", W * x)


def test_every_theorem_replays(linear: symbptt.Derivation) -> None:
    assert linear.theorems
    for proved in linear.theorems:
        assert symbptt.check(proved.proof) == proved.theorem


def test_prove_for_every_and_for_a_given_number_of_steps() -> None:
    keys = [q.key for q in symbptt.prove("linear")]
    assert keys[:2] == ["closed", "reversed"]
    written = symbptt.prove("linear", T=4)
    assert len([q for q in written if q.key == "written"]) == 4


@pytest.mark.parametrize("steps", [0, -1, True, 2.5, "3"])
def test_a_wrong_number_of_steps_is_refused(steps: object) -> None:
    with pytest.raises(ValueError, match="integer ≥ 1"):
        symbptt.derive("linear", T=steps)  # type: ignore[arg-type]


def test_a_million_steps_say_what_they_would_cost() -> None:
    with pytest.raises(symbptt.TooLarge, match=r"2,000,000 equations.*GB"):
        symbptt.derive("linear", T=1_000_000)


def test_unknown_names_are_refused(linear: symbptt.Derivation) -> None:
    with pytest.raises(KeyError, match="W_hh"):
        linear.gradient("W_xx")
    with pytest.raises(KeyError, match="target"):
        linear.gradient("y", 1)
    with pytest.raises(ValueError, match="from 1 to 3"):
        linear.gradient("h", 4)
    with pytest.raises(KeyError, match="carried"):
        linear.closed_form("o")


def test_to_sympy_gives_plain_matrices(linear: symbptt.Derivation) -> None:
    plain = symbptt.to_sympy(linear.gradient("h", 3))
    assert str(plain) == "W_qh.T*dL/do[3]"
    assert type(plain).__module__.startswith("sympy.")
    with pytest.raises(ValueError, match="no plain SymPy form"):
        symbptt.to_sympy(linear.closed_form("h").right)


def test_documents_and_code(linear: symbptt.Derivation) -> None:
    assert r"\begin{document}" in linear.to_latex()
    assert "$$" in linear.to_markdown()
    assert "∂L/∂" in linear.to_text()
    compile(linear.to_code("numpy"), "linear.py", "exec")
    assert linear._repr_markdown_() == linear.to_markdown()


def test_save_writes_everything(linear: symbptt.Derivation, tmp_path: Path) -> None:
    written = linear.save(tmp_path / "linear")
    assert {p.suffix for p in written} == {".tex", ".md", ".txt", ".py"}
    assert all(p.is_file() for p in written)
    assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == sorted(written)


def test_wrong_arguments_say_what_would_be_right(linear: symbptt.Derivation) -> None:
    with pytest.raises(TypeError, match="a model is a Model"):
        symbptt.derive(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a proof is checked"):
        symbptt.check(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no time of its own"):
        linear.gradient("W_hh", 2)
    with pytest.raises(TypeError, match=r"\.left or \.right"):
        symbptt.to_sympy(linear.closed_form("h"))  # type: ignore[arg-type]
    assert symbptt.check(linear.theorems[0]) == linear.theorems[0].theorem


def test_expressions_travel_through_sympy(linear: symbptt.Derivation) -> None:
    g, closed = linear.gradient("h", 2), linear.closed_form("h").right
    assert str(2 * g) == f"2*({g})"
    assert g.doit() == g
    i = IndexVar("i")
    assert str(closed.subs(t, i)) == "Sum(i'=i..T, (W_hh.T)^(i' - i) @ (W_qh.T @ dL/do[i']))"
    assert str(closed.xreplace({t: sympy.Integer(2)})).startswith("Sum(i=2..T")
    assert sympy.pretty(closed) == str(closed)
    assert r"\boldsymbol{W}_{hh}^\top" in sympy.latex(g)
    assert "dL/dh[3]" in sympy.mathml(g)
    assert pickle.loads(pickle.dumps(closed)) == copy.deepcopy(closed) == closed


@pytest.mark.parametrize(("changed", "words"), [
    ({"loss": None}, "None is no loss; make one by loss"), ({"loss": [None]}, "None is no loss"),
    ({"loss": "l"}, "'l' is no loss"), ({"name": None}, "a text in quotes belongs here, not None"),
    ({"title": None}, "a text in quotes belongs here, not None")])
def test_a_model_of_nothing_is_refused(changed: dict[str, object], words: str) -> None:
    u, v, z = symbptt.family("u", d), symbptt.family("v", d), symbptt.family("z", d)
    given: dict[str, object] = {"equations": {v: MatrixSymbol("A", d, d) * v.prev + u}, "inputs": [u], "targets": [z],
                                "loss": symbptt.loss("l", v, z)}
    assert symbptt.model(**given).name == "model"  # type: ignore[arg-type]
    with pytest.raises(symbptt.ModelError, match=words):
        symbptt.model(**given | changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-3, 0, True, 2.5, None, sympy.Rational(1, 2)])
def test_a_family_has_a_size(size: object) -> None:
    with pytest.raises(symbptt.ModelError, match=f"x1: {size} is not a size; a size is a symbol"):
        symbptt.family("x1", size)  # type: ignore[arg-type]
    assert symbptt.family("x1", 3).shape == (3, 1)
    with pytest.raises(symbptt.ModelError, match="prints like k at time t"):
        symbptt.family("k_t", 3)


def test_what_there_is_none_of_is_named_beside_what_there_is(linear: symbptt.Derivation) -> None:
    for ask, words in ((linear.recursion, "no recursion in linear; there is one for o, h, x"),
                       (linear.tangent, "no total change in linear; there is one for h, o, h_0"),
                       (linear.immediate, "no direct change in linear; there is one for h, o")):
        with pytest.raises(KeyError, match=f"'zz' has {words}"):
            ask("zz")
    for time in (1.5, "1", t):
        for asked in (linear.gradient, linear.word_count):
            with pytest.raises(ValueError, match="a time is a whole number from 1 to T, not"):
                asked("h", time)  # type: ignore[operator]
    assert linear.gradient("h", sympy.Integer(2)) == linear.gradient("h", 2)  # type: ignore[arg-type]
    with pytest.raises(symbptt.InputError, match="an empty text names no model"):
        symbptt.derive("")


@pytest.mark.parametrize(("terms", "form", "ends"), [
    ('[[loss]]\nterm = "l(o, y)"\nreduce = "last"\n', "dL/do[t] = 0", False),
    ('[[loss]]\nterm = "l(o, y)"\nreduce = "last"\n[[loss]]\nterm = "m(o, y)"\n',
     "dL/do[t] = (1/T)*dm(o[t], y[t])/do[t]", False),
    ('[[loss]]\nterm = "l(o, y)"\n', "dL/do[t] = (1/T)*dl(o[t], y[t])/do[t]", True)])
def test_a_recursion_is_stated_for_the_steps_at_which_it_holds(terms: str, form: str, ends: bool) -> None:
    text = (resources.files("symbptt.model") / "library" / "linear.toml").read_text(encoding="utf-8")
    d = symbptt.derive(symbptt.loads(text.partition("[[loss]]")[0] + terms))
    found = d.recursion("o")
    assert str(found) == form
    assert str(found.hi) == ("T" if ends else "T - 1")
    assert str(d.recursion("h").hi) == "T"


def test_an_option_of_no_target_is_named() -> None:
    with pytest.raises(ValueError, match="there is no option layouts; there are layout, weights, dtype"):
        symbptt.derive("linear").to_code("numpy", layouts="BTD")
