import string
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Integer, MatrixSymbol, Rational, Symbol

from symbptt.expr.build import loss
from symbptt.expr.index import index, t
from symbptt.expr.nodes import At, Plus, Scale, Times
from symbptt.model.locate import InputError
from symbptt.model.read import LARGEST, argument, library, load, loads, source_text
from symbptt.model.spec import Model

LINEAR = source_text("linear")
PLACE = "«"


def fault(text: str, words: str, file: str = "cell.toml") -> InputError:
    """Read a text whose one « marks the place of its fault; check the place and the words."""
    before, mark, after = text.partition(PLACE)
    assert mark, "the text marks no place"
    with pytest.raises(InputError) as caught:
        loads(before + after, file)
    error = caught.value
    lines = before.split("\n")
    assert (error.file, error.line, error.column) == (file, len(lines), len(lines[-1]) + 1), str(error)
    assert str(error) == f"{file}:{error.line}:{error.column}: {error.message}"
    for word in words.split("|"):
        assert word in error.message, error.message
    return error


def edited(old: str, new: str) -> str:
    assert LINEAR.count(old) == 1, old
    return LINEAR.replace(old, new)


def with_equation(right: str) -> str:
    return edited('"W_qh @ h"', f'"{right}"')


def test_linear_reads_as_written() -> None:
    model = load("linear")
    d, h, q = (Symbol(n, integer=True, positive=True) for n in "dhq")
    H, O, X, Y = (MatrixSymbol(n, size, 1) for n, size in (("h", h), ("o", q), ("x", d), ("y", 1)))
    W_hx, W_hh, W_qh = MatrixSymbol("W_hx", h, d), MatrixSymbol("W_hh", h, h), MatrixSymbol("W_qh", q, h)
    assert model.parameters == (W_hx, W_hh, W_qh)
    assert [tuple(e) for e in model.equations] == [
        (At(H, t), Plus(Times(W_hx, At(X, t)), Times(W_hh, At(H, index(t) - 1)))),
        (At(O, t), Times(W_qh, At(H, t)))]
    assert [(term.weight, term.loss, term.reduce) for term in model.losses] == [
        (1, loss("l", At(O, t), At(Y, t)), "mean")]
    assert [(s.name, s.description) for s in model.sizes] == [("d", "input"), ("h", "hidden"), ("q", "output")]
    assert model.title == "Linear recurrent network without biases"


def test_every_built_in_model_loads() -> None:
    assert "linear" in library()
    for name in library():
        assert load(name).name == name


def test_paths_and_names(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(LINEAR, encoding="utf-8")
    assert load(path) == load(str(path)) == load("linear")


@pytest.mark.parametrize(("source", "words"), [
    ("linaer", "neither a file nor a built-in model; built-in: elman, "),
    ("linaer", "; did you mean linear?"),
    ("zzz", "lstm-peephole, mgu, second-order, stacked"),
    ("no/such.toml", "neither a file"),
    ("a\0b", "cannot be read"),
    (".", "cannot be read"),
    ("x" * 5000, "cannot be read"),
])
def test_a_source_that_is_nothing(source: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        load(source)
    assert words in caught.value.message
    assert (caught.value.file, caught.value.line, caught.value.column) == (source, 0, 0)
    assert str(caught.value) == f"{source}: {caught.value.message}"


def test_the_word_for_a_model_on_the_command_line() -> None:
    assert argument(load("lstm")) == "lstm"
    assert argument(loads(source_text("lstm").replace('"lstm"', '"cell"'))) == "cell.toml"
    assert argument(loads(source_text("lstm").replace('"mean"', '"sum"'))) == "lstm.toml"


def test_unknown_built_in_text() -> None:
    with pytest.raises(InputError, match="did you mean linear"):
        source_text("liner")
    with pytest.raises(InputError):
        source_text("../library/linear")


def test_a_path_object_is_never_a_built_in_name() -> None:
    with pytest.raises(InputError, match="neither a file"):
        load(Path("linear"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(InputError, match="too large"):
        load(large)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'name = "a"\ntitle = "\xff"\n')
    with pytest.raises(InputError, match="not UTF-8") as caught:
        load(binary)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(binary), 2, 10)


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + LINEAR.replace("\n", "\r\n").encode())
    assert load(path) == load("linear")
    with pytest.raises(InputError) as caught:
        loads("\ufeff" + LINEAR.replace("\n", "\r\n").replace("@ h[t-1]", "@ z"))
    assert (caught.value.line, caught.value.column) == (25, 24)


def test_order_of_tables_and_equations_is_free() -> None:
    turned = LINEAR.replace('h = "W_hx @ x + W_hh @ h[t-1]"\no = "W_qh @ h"',
                            'o = "W_qh @ h"\nh = "W_hh @ h[t-1] + W_hx @ x"')
    assert turned != LINEAR
    assert loads(turned) == load("linear")


@pytest.mark.parametrize(("old", "new"), [
    ("W_hx @ x + W_hh", "W_hx @ x - W_hh"),
    ("W_hh @ h[t-1]", "W_hh.T @ h[t-1]"),
    ("h[t-1]", "h[t-2]"),
    ('"mean"', '"sum"'),
    ("l(o, y)", "2*l(o, y)"),
    ("l(o, y)", "l(y, o)"),
    ('y = "1"', 'y = "q"'),
    ('reduce = "mean"', 'reduce = "mean"\n[[loss]]\nterm = "l(o, y)"'),
])
def test_another_model_is_unequal(old: str, new: str) -> None:
    assert loads(edited(old, new)) != load("linear")


def test_dotted_inline_and_quoted_spellings_are_the_same_model() -> None:
    other = """
        name = 'linear'
        title = "Linear recurrent network without biases"
        source = "Zhang, Lipton, Li and Smola, Dive into Deep Learning, section on backpropagation through time"
        sizes = {d = "input", "h" = "hidden", q = "output"}
        parameters.W_hx = "h, d"
        parameters.W_hh = "h, h"
        parameters."W_qh" = "q, h"
        inputs.x = "d"
        targets = {y = "1"}
        states = {h = "h"}
        loss = [{term = "l(o, y)"}]
        [equations]
        h = \"\"\"
        W_hx @ x
        + W_hh @ h[t-1]\"\"\"
        o = 'W_qh @ h'
        """
    assert loads(other) == load("linear")


RICH = """
name = "rich"
[sizes]
d = "" # any
h = ""
k = ""
[parameters]
A = "h, d"
U = "h, h + k"
V = "4*h"
b = "h"
[constants]
gamma = "leak"
[inputs]
x = "d"
z = "h + k"
w = "4*h"
[targets]
y = "3"
[states]
h = "h"
c = "h"
[equations]
o = "c + g - V.T @ w * b"
h = "(A @ x + 0.1*h[t-1] - b)/2 + 1/2*U @ z[t]"
g = "gamma*(h - c[t-2])"
c = "-h + 2*3*(A @ x).T.T - (2*gamma - 1/4)*b"
[[loss]]
term = "0.5*l(o, y[t-3])"
[[loss]]
term = "-gamma*m(h)/2"
reduce = "sum"
"""


def test_numbers_are_exact_and_expressions_tidy() -> None:
    fault(RICH.replace("V.T @ w * b", "V «* b"), "* between V (4*h × 1) and b (h × 1)")
    weighted = loads(RICH).defined["o"].right
    model = loads(RICH.replace(" - V.T @ w * b", ""))
    assert str(weighted) == "c[t] + g[t] - (V.T @ w[t])*b"
    gamma = Symbol("gamma", real=True)
    h, k, d = (Symbol(n, integer=True, positive=True) for n in "hkd")
    A, U, b = MatrixSymbol("A", h, d), MatrixSymbol("U", h, h + k), MatrixSymbol("b", h, 1)
    H, G, C = (MatrixSymbol(n, h, 1) for n in "hgc")
    X, Z = MatrixSymbol("x", d, 1), MatrixSymbol("z", h + k, 1)
    now, then = At(H, t), At(H, index(t) - 1)
    right = {name: equation.right for name, equation in model.defined.items()}
    assert right["h"] == Plus(
        Scale(Rational(1, 2), Plus(Times(A, At(X, t)), Scale(Rational(1, 10), then), Scale(Integer(-1), b))),
        Scale(Rational(1, 2), Times(U, At(Z, t))))
    assert right["g"] == Scale(gamma, Plus(now, Scale(Integer(-1), At(C, index(t) - 2))))
    assert right["c"] == Plus(Scale(Integer(-1), now), Scale(Integer(6), Times(A, At(X, t))),
                              Scale(-2 * gamma + Rational(1, 4), b))
    assert right["o"] == Plus(At(C, t), At(G, t))
    assert [(term.weight, term.reduce) for term in model.losses] == [(Rational(1, 2), "mean"), (-gamma / 2, "sum")]
    assert model.constants == (gamma,)
    assert model.lags == {"x": 0, "z": 0, "w": 0, "y": 3, "o": 0, "h": 1, "g": 0, "c": 2}
    assert [e.name for e in model.equations] == ["o", "h", "g", "c"]
    assert [e.name for e in model.order] == ["h", "c", "g", "o"]
    assert model.families["o"].shape == model.families["g"].shape == (h, 1)
    assert model.families["w"].shape == (4 * h, 1)


FAULTS = {
    "toml syntax": (edited('name   = "linear"', "name   = «linear"), "not TOML"),
    "toml end": (LINEAR + 'x = "never closed«', "not TOML"),
    "toml table twice": (LINEAR + "[sizes«]\n", "not TOML"),
    "key twice": (edited('q = "output"', 'q = "output"\n«q = "again"'), "q stands here twice"),
    "dotted key twice": (edited("[sizes]", 'a.b = "1"\n«a.b = "2"\n[sizes]'), "a.b stands here twice"),
    "unknown table": (edited("[states]", "[«state]"), "'state' is not known here|did you mean states?"),
    "unknown key": (edited("title ", "«titel "), "'titel' is not known here|did you mean title?"),
    "unknown nested table": (edited("[states]", "[«foo.bar]\n[states]"), "'foo' is not known here"),
    "table of later": (edited("[states]", "[«zzz]\n[states]"), "known: name, title, source, sizes, parameters"),
    "unknown loss key": (edited("reduce", "«reduse"), "'reduse' is not known here|did you mean reduce?"),
    "unknown loss key, second": (LINEAR + '[[loss]]\nterm = "m(o)"\n«trem = "m(o)"', "did you mean term?"),
    "name is a number": (edited('name   = "linear"', "name   = «3"), "name must be a string in quotes, not a number"),
    "name is a path": (edited('name   = "linear"', 'name   = "«../linear"'), "does not name a model"),
    "title with a line break": (edited("Linear recurrent", "Linear«\\n recurrent"), "one line"),
    "source is a date": (edited('source = "Zhang, Lipton, Li and Smola, Dive into Deep Learning, section on '
                                'backpropagation through time"', "source = «1990-01-01"), "not a date or time"),
    "size is a number": (edited('d = "input"', "d = «3"), "d must be a string in quotes, not a number"),
    "size is a table": (edited('d = "input"', '«d.e = "input"'), "d must be a string in quotes, not a table"),
    "shape is an array": (edited('"h, d"', '«["h", "d"]'), "W_hx must be a string in quotes, not an array"),
    "equation is a boolean": (edited('"W_qh @ h"', "«true"), "o must be a string in quotes, not true or false"),
    "table is a string": ('name = "a"\nsizes = "«d"\ninputs.x = "d"\nequations.h = "x"\nloss = []',
                          "[sizes] must be a table, not a string"),
    "loss is a table": (edited("[[loss]]", "[«loss]"), "a loss is written [[loss]]"),
    "loss is a string": ('name = "a"\n«loss = "l(o, y)"\nsizes.d = ""\ninputs.x = "d"\nequations.o = "x"', "[[loss]]"),
    "loss is empty": ('name = "a"\nloss = «[]\nsizes.d = ""\ninputs.x = "d"\nequations.o = "x"', "no loss"),
    "loss without term": (edited('term   = "l(o, y)"\n', "").replace("[[loss", "[[«loss"), "has no term"),
    "reduce unknown": (edited('"mean"', '"«maen"'), "'maen' is not known here|did you mean mean?"),
    "reduce later": (edited('"mean"', '"«zzz"'), "known: mean, sum, last, once"),
    "column with two sizes": (edited('x = "d"', 'x = "«h, d"'), "x names 2 sizes|a column has one"),
    "matrix with three sizes": (edited('"h, d"', '"«h, d, q"'), "names 3 sizes|a matrix two"),
    "product of sizes": (edited('"h, d"', '"h, «h*d"'), "h*d is not a size"),
    "size zero": (edited('y = "1"', 'y = "«0"'), "0 is not a size"),
    "fraction of a size": (edited('y = "1"', 'y = "h«/2"'), "the operator / is not known here|4*h or h + d"),
    "negative size": (edited('y = "1"', 'y = "«-h"'), "-h is not known here"),
    "decimal size": (edited('y = "1"', 'y = "«1.5"'), "1.5 is not a size"),
    "unknown size": (edited('"q, h"', '"q, «k"'), "the size k is not declared in [sizes]|known: d, h, q"),
    "shape with a gap": (edited('"h, d"', '"«h d"'), "nothing stands between h and d; write h, d"),
    "empty shape": (edited('"h, d"', '"«"'), "nothing is written here"),
    "long shape": (edited('"h, d"', '"«' + "h+" * 200 + 'h"'), "401 characters; at most 200"),
    "name in two tables": (edited('y = "1"', 'y = "1"\n«x = "1"'), "the name x stands in [inputs] and in [targets]"),
    "parameter and state": (edited('h = "h"', 'h = "h"\n«W_hh = "h"'), "stands in [parameters] and in [states]"),
    "equation of an input": (edited('o = "W_qh', '«x = "x"\no = "W_qh'), "x stands in [inputs] and has an equation"),
    "state without equation": (edited('h = "h"', 'h = "h"\n«c = "h"'), "the state c has no equation"),
    "reserved t": (edited('x = "d"', 'x = "d"\n«t = "d"'), "t is reserved for the time"),
    "reserved T": (edited('d = "input"', 'd = "input"\n«T = "steps"'), "T is reserved for the number of steps"),
    "reserved L": (edited('o = "W_qh @ h"', 'o = "W_qh @ h"\n«L = "o"'), "L is reserved for the objective"),
    "keyword": (edited("[inputs]", '[constants]\n«lambda = ""\n[inputs]'), "Python keyword; write lambda_"),
    "name with a dash": (edited('x = "d"', 'x = "d"\n«W-x = "d"'), "'W-x' is not a name"),
    "name with a digit first": (edited('x = "d"', 'x = "d"\n«1x = "d"'), "'1x' is not a name"),
    "name beyond ASCII": (edited('x = "d"', 'x = "d"\n«"β" = "d"'), "'β' is not a name|ASCII"),
    "long name": (edited('x = "d"', 'x = "d"\n«' + "x" * 61 + ' = "d"'), "61 characters; at most 60"),
    "nothing": ("«", "name is missing"),
    "no inputs": ('«name = "a"\n[sizes]\nd = ""', "[inputs] is missing"),
    "no equations": ('«name = "a"\n[sizes]\nd = ""\n[inputs]\nx = "d"', "[equations] is missing"),
    "no loss": ("«" + LINEAR.partition("[[loss]]")[0], "[[loss]] is missing"),
    "empty table": ('name = "a"\n[sizes]\nd = ""\n[inputs]\nx = "d"\n[«equations]\n[[loss]]\nterm="l(x)"', "is empty"),
    "empty equation": (with_equation("«"), "nothing is written here"),
    "blank equation": (with_equation("«  "), "nothing is written here"),
    "unknown name": (with_equation("W_qh @ «hh"), "the name hh is declared in no table|did you mean h?"),
    "unknown name without likeness": (with_equation("W_qh @ «zzz"), "known: W_hx, W_hh, W_qh, x, y, h, o"),
    "sum": (with_equation("W_qh @ h «+ x"), "cannot add W_qh @ h[t] (q × 1) and x[t] (d × 1): the shapes differ"),
    "difference": (with_equation("W_qh @ h «- x"), "cannot subtract x[t] (d × 1) from W_qh @ h[t] (q × 1)"),
    "product": (with_equation("W_qh «@ x"), "cannot multiply W_qh (q × h) by x[t] (d × 1)|inner sizes h and d differ"),
    "product behind parentheses": (with_equation("((W_qh))   «@ (x)"), "cannot multiply W_qh (q × h)"),
    "second product": (with_equation("W_qh @ h «@ x"), "cannot multiply W_qh @ h[t] (q × 1) by x[t] (d × 1)"),
    "elementwise": (with_equation("W_qh @ (h «* x)"),
                    "* between h[t] (h × 1) and x[t] (d × 1)|@ is the matrix product"),
    "lag of the undeclared": (with_equation("W_qh @ h + «o[t-1]"), "o[t-1] reaches back|add o to [states]"),
    "lag of the later": (edited("@ x +", "@ x + W_qh.T @ «o[t-1] +"), "o[t-1] reaches back|add o to [states]"),
    "forward": (edited("h[t-1]", "«h[t+1]"), "h[t+1] looks ahead"),
    "too far back": (edited("h[t-1]", "h[«t-1000000000]"), "a lag of 1000000000 is too large; at most 1000"),
    "power in a lag": (edited("h[t-1]", "h[«t-10**9]"), "t-10**9 is not a time; write v[t-k]"),
    "absolute time": (edited("h[t-1]", "h[«0]"), "0 is not a time"),
    "time of another letter": (edited("h[t-1]", "h[«s-1]"), "s-1 is not a time"),
    "true lag": (edited("h[t-1]", "h[«t-True]"), "t-True is not a time"),
    "slice": (edited("h[t-1]", "h[«t-1, 0:2]"), "rows alone are taken"),
    "time of a parameter": (edited("W_hh @", "«W_hh[t-1] @"), "W_hh is constant"),
    "time of an expression": (edited("h[t-1]", "(«h + h)[t-1]"), "only a name has a time"),
    "own value": (edited("h[t-1]", "«h"), "h depends on its own value at t: h[t] needs h[t]; read one of them at t-1"),
    "own value by [t]": (edited("h[t-1]", "«h[t]"), "h depends on its own value at t"),
    "circle": (edited("W_hh @ h[t-1]", "W_qh.T @ o").replace("W_qh @ h", "W_qh @ «h"),
               "h depends on its own value at t: h[t] needs o[t] needs h[t]"),
    "undeclared circle": (edited('o = "W_qh @ h"', 'o = "u"\nu = "«o"'), "o[t] needs u[t] needs o[t]"),
    "declared shape": (edited('h = "W_hx', 'h = "«x"\ng = "W_hx'),
                       "the right-hand side of h[t] has shape (d × 1), but h was declared (h × 1)"),
    "matrix": (with_equation("«W_qh"), "o is not a column: its shape is (q × h)"),
    "number": (with_equation("«1/2"), "1/2 is a number; an equation defines a column"),
    "@ with a number": (with_equation("2 «@ W_qh"), "@ is the matrix product, but 2 is a number; write *"),
    "division by zero": (with_equation("W_qh @ h «/ 0"), "division by zero"),
    "division by a matrix": (with_equation("W_qh @ h «/ W_qh"), "cannot divide by W_qh (q × h)"),
    "power": (with_equation("W_qh «** 2"), "** of W_qh (q × h): only numbers and constants have powers"),
    "floor division": (with_equation("W_qh «// 2"), "the operator // is not known here"),
    "transposed number": (with_equation("«(2).T"), "2 is a number; .T transposes a matrix"),
    "attribute": (with_equation("W_qh.«inv @ h"), ".inv is not known; known: .T"),
    "dunder": (with_equation("W_qh.«__class__"), ".__class__ is not known"),
    "function": (with_equation("«tahn(h)"), "the function tahn is not known; did you mean tanh?"),
    "variable called": (with_equation("«W_qh(h)"), "W_qh is a variable, not a function"),
    "call of a call": (with_equation("«f(h)(h)"), "f(h) is not a function"),
    "lambda": (with_equation("«lambda: h"), "lambda: h is not known here"),
    "condition": (with_equation("«h if h else h"), "is not known here"),
    "comprehension": (with_equation("«[h for h in h]"), "is not known here"),
    "tuple": (with_equation("«h, h"), "is not known here"),
    "true": (with_equation("«True * h"), "True is not a number in decimal digits"),
    "complex": (with_equation("2«j * h"), "a number and a name without *"),
    "hexadecimal": (with_equation("0«x1F * h"), "a number and a name without *"),
    "underscore": (with_equation("1«_000 * h"), "a number and a name without *"),
    "glued": (with_equation("2«h"), "a number and a name without *"),
    "string": (with_equation("W_qh @ «'h'"), "cannot stand here"),
    "equals sign": (with_equation("o «= W_qh @ h"), "the character '=' cannot stand here"),
    "unicode": (with_equation("W_qh @ «ħ"), "the character 'ħ' cannot stand here"),
    "escape before the fault": (with_equation("\\u0057_qh @ \\t«zz"), "the name zz is declared in no table"),
    "NUL": (with_equation("W_qh «\\u0000 @ h"), "cannot stand here"),
    "comment": (with_equation("W_qh @ h «# output"), "cannot stand here"),
    "plus sign": (with_equation("«+h"), "+h is not known here"),
    "inversion": (with_equation("W_qh «~h"), "cannot stand here"),
    "time alone": (with_equation("W_qh @ h * «t"), "t is the time; it cannot stand here"),
    "steps alone": (with_equation("W_qh @ h / «T"), "T is the number of steps; it cannot stand here"),
    "unclosed": (with_equation("W_qh @ «(h"), "not an expression"),
    "operand missing": (with_equation("W_qh @«"), "not an expression: it breaks off"),
    "sum of losses": (edited('"l(o, y)"', '"«l(o, y) + l(o, y)"'), "written as several [[loss]] terms"),
    "no loss in a term": (edited('"l(o, y)"', '"«o"'), "a loss term is a loss such as l(o, y)"),
    "empty term": (edited('"l(o, y)"', '"«"'), "nothing is written here"),
    "known loss": (edited('"l(o, y)"', '"«2*squared_error(o, y)"'),
                   "squared_error compares o[t] (q × 1) and y[t] (1 × 1)"),
    "variable as loss": (edited('"l(o, y)"', '"«h(o, y)"'), "h is a variable, not a function"),
    "reserved loss": (edited('"l(o, y)"', '"«L(o, y)"'), "L is reserved for the objective"),
    "loss of nothing": (edited('"l(o, y)"', '"«l()"'), "l has no arguments; write l(o, y)"),
    "loss of an expression": (edited('"l(o, y)"', '"l(«2*o, y)"'), "2*o is not a family|by an equation"),
    "loss of a parameter": (edited('"l(o, y)"', '"l(o, «W_hh)"'), "W_hh is not a family"),
    "loss of the past": (edited('"l(o, y)"', '"l(«h[t-1], y)"'), "the loss reads h[t-1]"),
    "loss of the past of no state": (edited('"l(o, y)"', '"l(«o[t-1], y)"'), "the loss reads o[t-1]"),
    "loss of data": (edited('"l(o, y)"', '"«l(x, y)"'), "reads nothing that an equation defines"),
    "named arguments": (edited('"l(o, y)"', '"l(**«o)"'), "arguments have no names"),
    "starred argument": (edited('"l(o, y)"', '"l(«*o)"'), "is not known here"),
    "unknown name in a loss": (edited('"l(o, y)"', '"l(o, «yy)"'), "the name yy is declared in no table"),
    "second loss": (LINEAR + '[[loss]]\nterm = "m(«oo, y)"', "the name oo is declared in no table"),
    "fault in a literal": (edited('"W_qh @ h"', "'W_qh @ «z'"), "the name z"),
    "fault in lines": (edited('"W_qh @ h"', '"""\nW_qh\n  @ «z"""'), "the name z"),
    "fault in folded lines": (edited('"W_qh @ h"', '"""\\\n   W_qh \\\n  @ «z"""'), "the name z"),
    "fault in literal lines": (edited('"W_qh @ h"', "'''W_qh\n  @ «z'''"), "the name z"),
    "fault in an inline table": ('name = "a"\nloss = [{term = "l(o)"}, {term = "l(«oo)"}]\nsizes = {d = ""}\n'
                                 'inputs = {x = "d"}\nequations = {o = "x"}', "the name oo"),
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_has_its_place(text: str) -> None:
    fault(*FAULTS[text])


HOSTILE = {
    "deep parentheses": with_equation("(" * 10_000 + "h" + ")" * 10_000),
    "deep parentheses, shorter": with_equation("(" * 1500 + "h" + ")" * 1500),
    "deep minus": with_equation("-" * 3900 + "h"),
    "some minus": with_equation("-" * 200 + "h"),
    "deep transposes": with_equation("h" + ".T" * 1900),
    "deep brackets": with_equation("h" + "[h" * 1000 + "]" * 1000),
    "deep powers": with_equation("h" + "**h" * 1000),
    "deep calls": with_equation("f(" * 150 + "h" + ")" * 150),
    "huge power": with_equation("10**100000 * h"),
    "huge product": with_equation("*".join(["9" * 40] * 90) + "*h"),
    "huge number": with_equation("9" * 3000 + "*h"),
    "huger number": with_equation("9" * 10_000 + "*h"),
    "huge decimal": with_equation("0." + "9" * 3000 + "*h"),
    "huge exponent": with_equation("1e999999999*h"),
    "tiny exponent": with_equation("1e-999999999*h"),
    "large exponent": with_equation("1e9999*h"),
    "huge lag": edited("t-1", "t-" + "9" * 39),
    "huge size": edited('y = "1"', 'y = "' + "9" * 39 + '"'),
    "long equation": with_equation("h + " * 100_000 + "h"),
    "long file": LINEAR + "#" * 10_000_000,
    "NUL": LINEAR + "\0",
    "lone surrogate": LINEAR + "# \ud800",
    "huge TOML integer": "a = " + "1" * 100_000,
    "deep arrays": "a = " + "[" * 10_000,
    "deep closed arrays": "a = " + "[" * 10_000 + "]" * 10_000,
    "deep tables": "a = " + "{a=" * 10_000,
    "long dotted key": "a" + ".a" * 100_000 + " = 1",
    "long dotted header": "[" + "a" + ".a" * 100_000 + "]",
    "long dotted inline key": "x = {a" + ".a" * 100_000 + " = 1}",
    "long quoted dotted key": '"a"' + '."a"' * 50_000 + " = 1",
    "many headers": "[[a]]\n" * 40_000,
    "many keys": "".join(f"k{i}=1\n" for i in range(25_000)),
    "unclosed string": 'a = "' + "\\\\" * 100_000,
    "unclosed lines": 'a = """' + '\\"' * 100_000,
    "many quotes": "a = " + '"' * 200_000,
    "many losses": LINEAR + '[[loss]]\nterm="l(o,y)"\n' * 3000 + "[[loss]]\n",
    "a long circle": edited('o = "W_qh @ h"', 'o = "f0"\n' + "".join(f'f{i} = "f{i + 1}"\n' for i in range(9000))
                            + 'f9000 = "o"'),
}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_refused_at_once(text: str) -> None:
    begin = time.perf_counter()
    with pytest.raises(InputError):
        loads(HOSTILE[text])
    assert time.perf_counter() - begin < 5


def test_a_long_chain_of_equations_is_read() -> None:
    chain = "".join(f'f{i} = "f{i + 1}"\n' for i in range(3000))
    model = loads(edited('o = "W_qh @ h"', f'o = "W_qh @ f0"\n{chain}f3000 = "h"'))
    assert model.order[1].name == "f3000"
    assert model.order[-1].name == "o"


def test_a_long_sum_is_flat() -> None:
    right = loads(with_equation("W_qh @ h + " * 300 + "W_qh @ h")).defined["o"].right
    assert isinstance(right, Plus)
    assert len(right.args) == 301


def outcome(text: str) -> Model | InputError:
    """The model, or the error once its place is known to lie in the text; nothing else may come out."""
    try:
        return loads(text)
    except InputError as caught:
        error = caught
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    return error


WORDS = ["h", "o", "x", "W_hh", "W_qh", "[t-1]", "[t]", "[", "]", "(", ")", "+", "-", "@", "*", "/", ".T", " ", "2",
         "0.5", "1e5", "l(o, y)", ",", ":", "t", "\\n", "\\u0041", "é", "=", "'", "if", "lambda", "..", "_"]


@given(st.text(max_size=200))
def test_garbage(text: str) -> None:
    assert isinstance(outcome(text), InputError)


@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_garbage_in_an_equation(right: str) -> None:
    outcome(with_equation(right))


@given(st.lists(st.sampled_from(WORDS), max_size=8).map("".join))
def test_garbage_in_a_loss(term: str) -> None:
    outcome(edited('"l(o, y)"', f'"{term}"'))


@given(st.lists(st.sampled_from(["h", "d", "k", ",", "+", "*", "-", "4", "0", " ", "(", ")", "1.5"]), max_size=8))
def test_garbage_in_a_shape(pieces: list[str]) -> None:
    outcome(edited('"h, d"', f'"{"".join(pieces)}"'))


@settings(max_examples=300)
@given(st.integers(0, len(LINEAR)), st.integers(0, 20), st.text(string.printable, max_size=8))
def test_garbage_edits(place: int, removed: int, added: str) -> None:
    outcome(LINEAR[:place] + added + LINEAR[place + removed:])


TOML = st.recursive(st.sampled_from(["1", '"h"', "true", "1.5", '"d"', "1990-01-01", "inf", "''"]), lambda inner:
                    st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
                    | st.lists(inner, max_size=2).map(
                        lambda items: "{" + ", ".join(f"k{i} = {v}" for i, v in enumerate(items)) + "}"), max_leaves=6)


@given(st.sampled_from(["name", "title", "sizes", "sizes.d", "parameters", "inputs", "targets.y", "states", "states.h",
                        "constants", "equations", "equations.h", "loss", "loss.term", "other"]), TOML)
def test_values_of_a_wrong_kind(key: str, value: str) -> None:
    right = {"name": '"a"', "sizes": '{d = "", h = ""}', "inputs": '{x = "d"}', "states": '{h = "h"}',
             "loss": '[{term = "l(o)"}]', "equations": '{h = "h[t-1]", o = "x"}'}
    rest = [f"{k} = {v}" for k, v in right.items() if k != key.partition(".")[0]]
    outcome("\n".join([f"{key} = {value}", *rest]))
