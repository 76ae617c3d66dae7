"""Functions, slices, reductions, masks, static data and computed starts: what is wrong has one clear error, each reads
back from its own text, and SymPy says the same as a file.
"""

import time
from pathlib import Path

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import BlockMatrix, MatrixSymbol, OneMatrix, Rational, Symbol, hadamard_product, symbols

from symbptt.expr.build import children, rebuild, scale
from symbptt.expr.nodes import Matrix, Scale
from symbptt.model.calls import ABSENT, FUNCTIONS, SPELLINGS
from symbptt.model.from_sympy import Family, family, function, loss, model
from symbptt.model.functions import CALLABLE, LOSSES
from symbptt.model.functions import FUNCTIONS as ENTRYWISE
from symbptt.model.language import read_equation
from symbptt.model.locate import InputError
from symbptt.model.names import constant_symbol, size_symbol
from symbptt.model.read import library, load, loads
from symbptt.model.reading import INSTEAD, Scope, parse
from symbptt.model.spec import LossTerm, Model, ModelError

MODELS = Path(__file__).resolve().parent.parent / "data" / "models"
PLACE = "«"
STEP = "W @ x + U @ h[t-1]"
CELL = """name = "cell"
sizes = {{d = "", h = "", q = ""}}
[parameters]
W = "h, d"
U = "h, h"
V = "q, h"
P = "4*h, d"
b = "h"
[constants]
gamma = ""
[inputs]
x = "d"
[targets]
y = "q"
m = "1"
[states]
h = "h"
[static]
s = "d"
[initial]
{initial}
[equations]
h = "{equation}"
o = "V @ h"
[[loss]]
{term}
"""


def cell(equation: str = STEP, initial: str = "", term: str = 'term = "l(o, y)"') -> str:
    return CELL.format(equation=equation, initial=initial, term=term)


def fault(text: str, words: str) -> None:
    """Read a text whose one « marks the place of its fault; check the place and the words."""
    before, mark, after = text.partition(PLACE)
    assert mark, "the text marks no place"
    with pytest.raises(InputError) as caught:
        loads(before + after, "cell.toml")
    lines = before.split("\n")
    assert str(caught.value).startswith(f"cell.toml:{len(lines)}:{len(lines[-1]) + 1}: "), str(caught.value)
    for word in words.split("|"):
        assert word in caught.value.message, caught.value.message


EQUATIONS = {
    "two arguments": ("«tanh(b, b)", "tanh takes 1 argument, not 2"),
    "no argument": ("«tanh()", "tanh takes 1 argument, not 0"),
    "a keyword argument": ("tanh(x«=b)", "arguments have no names"),
    "keyword arguments": ("tanh(**«b)", "arguments have no names"),
    "a starred argument": ("tanh(«*b)", "write the arguments out"),
    "tanh of a number": ("tanh(«2)", "2 is a number; tanh takes a column such as h"),
    "tanh of a constant": ("tanh(«gamma)", "gamma is a number"),
    "tanh without parentheses": ("«tanh b", "nothing stands between tanh and b; write tanh(b) for a function"),
    "tanh as a name": ("«tanh @ b", "tanh is a function; write tanh(…)"),
    "a loss in an equation": ("«squared_error(b, b)", "squared_error is a loss; it stands in a [[loss]] term"),
    "entries of two shapes": ("b «* x", "* between b (h × 1) and x[t] (d × 1)|@ is the matrix product"),
    "rows without a colon": ("W[«h] @ x", "h is not a time|W[a:b] for rows"),
    "a step": ("P[1:2:«3] @ x", "rows are taken one after the other; write W[a:b]"),
    "rows from t": ("P[«t:h] @ x", "t is the time"),
    "rows to another size": ("P[«h:d] @ x", "h:d holds no row for some sizes"),
    "rows to an unknown size": ("P[h:«k] @ x", "the size k is not declared in [sizes]|known: d, h, q"),
    "no rows": ("P[«0:0] @ x", "0:0 holds no row; rows a:b go from a to before b"),
    "rows backwards": ("P[«2*h:h] @ x", "2*h:h holds no row"),
    "rows beyond": ("P[«:5*h] @ x", "rows 0:5*h reach beyond P (4*h × d)|it has rows 0:4*h"),
    "a row for some sizes": ("h[t-1][«0:2] * b", "rows 0:2 reach beyond h[t-1] (h × 1)"),
    "a difference of sizes": ("P[h «- 1:h] @ x", "the operator - is not known here; rows are counted from 0"),
    "a product of sizes": ("P[«h*h:2*h] @ x", "h*h is not a number of rows"),
    "half a row": ("P[«0.5:h] @ x", "0.5 is not a number of rows"),
    "rows of rows": ("«P[0:2*h][0:h] @ x", "P[0:2*h] has no name; rows are taken of a name"),
    "rows of a sum": ("(«W + W)[0:h] @ x", "W + W has no name; rows are taken of a name"),
    "rows of a constant": ("«gamma[0:1] * b", "gamma is a number; rows are taken of a matrix or a column"),
    "columns": ("W[«:, 0:d] @ x", "rows alone are taken, W[a:b]"),
    "concat of matrices": ("concat(b, «W)", "concat of W (h × d): it takes columns"),
    "concat of a number": ("concat(«1, b)", "1 is a number; concat takes a column"),
    "concat of nothing": ("«concat()", "concat takes arguments, not 0"),
    "dot of two sizes": ("«dot(x, b) * b", "cannot take the dot product of x[t] (d × 1) and b (h × 1)"),
    "dot of matrices": ("«dot(W, W) * b", "two columns of one size"),
    "dot of one": ("«dot(b) * b", "dot takes 2 arguments, not 1"),
    "softmax of a matrix": ("«softmax(U) @ b", "softmax of U (h × h): it takes a column"),
    "log_softmax of a row": ("«log_softmax(b.T).T", "log_softmax of b.T (1 × h): it takes a column"),
    "log": ("«log(b)", "the function log is not known; known: tanh, sigmoid, relu"),
    "sqrt": ("«sqrt(b)", "the function sqrt is not known; known: tanh, sigmoid, relu"),
    "sign": ("«sign(b)", "the function sign is not known; known: tanh"),
    "nothing like it": ("«qwerty(b)", "the function qwerty is not known; known: tanh"),
    "the letter σ": ("«σ(b)", "the character 'σ' cannot stand here|sigmoid(z)"),
    "the sign ⊙": ("b «⊙ b", "the elementwise product is written *"),
    "the sign ᵀ": ("U«ᵀ @ b", "the transpose is written .T"),
    "a caret": ("gamma«^2 * b", "raised to a power by **"),
    "a matrix product as a function": ("«matmul(U, b)", "the function matmul is not known; did you mean @?"),
    "tanh of a matrix that changes": ("«tanh(h[t-1] @ b.T) @ b", "h[t-1] @ b.T (h × h), which changes with time"),
    "entries of a matrix that changes": ("(h[t-1] @ b.T «* U) @ b", "changes with time|give each column a name"),
    "static with a time": ("W @ «s[t-1]", "s is constant; only what changes with time has [t-k]"),
    "division by zero": ("b «/ 0", "division by zero"),
    "division by a matrix": ("b «/ U", "cannot divide by U (h × h)"),
    "division by a sum": ("b «/ (1 + gamma)", "cannot divide by gamma + 1: only by a number such as 2, a constant"),
    "a power of a column": ("b «** 2", "square(v) squares every entry"),
    "a power of a matrix": ("U «** 2 @ b", "W @ W is the matrix product"),
    "half a power": ("gamma«**0.5 * b", "an exponent is a whole number from -100 to 100"),
    "a size as a factor": ("«d * b", "d is a size, not a variable"),
    "a bracket too few": ("tanh«(b", "'(' was never closed"),
    "a time in parentheses": ("U @ «h(t-1)", "h is a variable, not a function|h[t-1] reaches back"),
}


@pytest.mark.parametrize("kind", EQUATIONS)
def test_a_wrong_equation_says_what_would_be_right(kind: str) -> None:
    equation, words = EQUATIONS[kind]
    fault(cell(equation), words)


@pytest.mark.parametrize(("written", "meant"), [
    ("sigm", "sigmoid"), ("logistic", "sigmoid"), ("sigma", "sigmoid"), ("Sigmoid", "sigmoid"), ("sigmoyd", "sigmoid"),
    ("tanh_", "tanh"), ("Tanh", "tanh"), ("tahn", "tanh"), ("ReLU", "relu"), ("Relu", "relu"), ("ELU", "elu"),
    ("SiLU", "silu"), ("swish", "silu"), ("hardtanh", "hard_tanh"), ("LeakyReLU", "leaky_relu"),
    ("cat", "concat"),
    ("Softmax", "softmax"), ("soft_plus", "softplus"), ("logsoftmax", "log_softmax"), ("inner", "dot"),
    ("id", "identity"),
])
def test_other_spellings_of_functions(written: str, meant: str) -> None:
    fault(cell(f"U @ «{written}(b)"), f"the function {written} is not known; did you mean {meant}?")


def test_the_tables_of_spellings_name_what_is_there() -> None:
    assert set(SPELLINGS.values()) <= {*FUNCTIONS, "@", "*", ".T"}
    assert not set(SPELLINGS) & set(FUNCTIONS)
    assert not set(ABSENT) & {*FUNCTIONS, *SPELLINGS}
    assert all(len(character) == 1 for character in INSTEAD)
    assert set(FUNCTIONS) == {*CALLABLE, "identity", "concat", "dot"}


INITIAL = {
    "nothing reads it": ('h_m1 = «"b"', "no equation reads h_m1|that are read: h_0"),
    "an input": ('«x = "s"', "x names no value before the first step: x is not in [states]; write h_0"),
    "an input, with its time": ('«x_0 = "s"', "x_0 names no value before the first step"),
    "what is computed but no state": ('«o = "V @ b"', "o is not in [states]"),
    "an unknown name": ('«hh_0 = "b"', "hh is no state|did you mean h?"),
    "a later time": ('«h_1 = "b"', "h_1 names no value before the first step"),
    "h at an earlier time": ('h = "U @ «h[t-1]"', "h changes with time|parameters and [static] data alone"),
    "h at its own time": ('h = "U @ «h"', "h changes with time"),
    "an input is read": ('h = "W @ «x"', "x changes with time"),
    "an output is read": ('h = "V.T @ «o"', "o changes with time"),
    "another shape": ('h = "«s"', "has shape (d × 1), but h was declared (h × 1)"),
    "a matrix": ('h = "«U"', "has shape (h × h), but h was declared (h × 1)"),
    "a number": ('h = "«1"', "1 is a number; an equation defines a column"),
    "twice": ('h = "b"\nh_0 = "«b"', "h_0 has two equations; h is short for h_0"),
    "twice, the other way round": ('h_0 = "«b"\nh = "b"', "h_0 has two equations; h is short for h_0"),
    "no string": ("h = «3", "h must be a string in quotes, not a number"),
}


@pytest.mark.parametrize("kind", INITIAL)
def test_a_wrong_start_says_what_would_be_right(kind: str) -> None:
    initial, words = INITIAL[kind]
    fault(cell(initial=initial.replace('«"', '"«')), words)


CE = "softmax_cross_entropy"
TERMS = {
    "swapped": (f'term = "«{CE}(y, o)"', f"first and the target second; write {CE}(o, y)"),
    "one argument": (f'term = "«{CE}(o)"', f"{CE} takes 2 arguments: {CE}(o, y)"),
    "two shapes": ('term = "«squared_error(h, y)"', "compares h[t] (h × 1) and y[t] (q × 1): the shapes differ"),
    "misspelt": ('term = "«squared_eror(o, y)"', "did you mean squared_error?"),
    "a function": ('term = "«tanh(o)"', "tanh has a meaning of its own"),
    "an expression": ('term = "squared_error(«V @ h, y)"', "V @ h is not a family|by an equation"),
    "static data": ('term = "l(o, «s)"', "s is not a family"),
    "regulariser over time": ('term = "l(o, y)"\n[[loss]]\nterm = "«squared_norm(U)"', 'write reduce = "once"'),
    "regulariser as a mean": ('term = "l(o, y)"\n[[loss]]\nterm = "squared_norm(U)"\nreduce = "«mean"',
                              'write reduce = "once"'),
    "regulariser alone": ('term = "squared_norm(U)"\nreduce = "once"', "no loss over time"),
    "regulariser of a product": ('term = "squared_norm(«U @ U)"\nreduce = "once"', "U @ U is not a parameter"),
    "regulariser of a state": ('term = "squared_norm(«h)"\nreduce = "once"', "h is not a parameter"),
    "regulariser of data": ('term = "«squared_norm(s)"\nreduce = "once"', "reads one parameter"),
    "once": ('term = "l(o, y)"\nreduce = "«once"', "for a regulariser squared_norm(W)|l is gathered over time"),
    "reduce": ('term = "l(o, y)"\nreduce = "«lst"', "did you mean last?"),
    "mask of an input": ('term = "l(o, y)"\nmask = "«x"', "x is not declared under [targets]"),
    "mask of another shape": ('term = "l(o, y)"\nmask = "«y"', 'the mask y is declared (q × 1)|with shape "1"'),
    "mask at the last step": ('term = "l(o, y)"\nreduce = "last"\nmask = "«m"', "reduce is 'last', so leave the mask"),
    "mask of a regulariser": ('term = "squared_norm(U)"\nreduce = "once"\nmask = "«m"', "leave the mask out"),
    "mask of an unknown name": ('term = "l(o, y)"\nmask = "«mm"', "did you mean m?"),
    "assumption of another sum": (f'term = "{CE}(o, y)"\nassume = "«sum(y) == 2"', 'is written "sum(y) == 1"'),
    "assumption of what is computed": (f'term = "{CE}(o, y)"\nassume = "«sum(o) == 1"', "o is not declared under"),
    "assumption of another target": (f'term = "{CE}(o, y)"\nassume = "«sum(m) == 1"', "speaks of m|compares with y[t]"),
    "assumption of an opaque loss": ('term = "l(o, y)"\nassume = "«sum(y) == 1"', f"used by {CE} alone, not by l"),
    "several assumptions": (f'term = "{CE}(o, y)"\nassume = «["sum(y) == 1"]', "assume must be a string"),
}


@pytest.mark.parametrize("kind", TERMS)
def test_a_wrong_loss_says_what_would_be_right(kind: str) -> None:
    term, words = TERMS[kind]
    text = cell(term=term)
    fault(text if PLACE in term else text.replace("[[loss]]", "[[«loss]]", 1), words)


@pytest.mark.parametrize(("old", "new", "words"), [
    ('[static]\ns = "d"', '[static]\n«b = "d"', "the name b stands in [parameters] and in [static]"),
    ('[static]\ns = "d"', '[static]\n«x = "d"', "the name x stands in [inputs] and in [static]"),
    ('[static]\ns = "d"', '[static]\ns = "«h, d"', "a column has one"),
    ('V @ h"', 'V @ h"\n«s = "x"', "s stands in [static] and has an equation"),
    ('[static]\ns = "d"', '[static]\n«h_0 = "d"', "h_0 names the value of h at time 0"),
    ('gamma = ""', "gamma = «0.5", "gamma must be a string in quotes, not a number; it stays a symbol"),
    ('gamma = ""', "«gamma", "not TOML"),
])
def test_names_and_constants(old: str, new: str, words: str) -> None:
    text = cell()
    assert text.count(old) == 1
    if words == "not TOML":
        with pytest.raises(InputError, match="not TOML"):
            loads(text.replace(old, "gamma"))
        return
    fault(text.replace(old, new), words)


def test_what_is_right_is_read() -> None:
    for equation in ("tanh(W @ x + U @ h[t-1])", "tanh(P[:h] @ x) * h[t-1] + (1 - h[t-1]) * (P[3*h:] @ x) / gamma**2"):
        assert loads(cell(equation))
    assert loads(cell(initial='h_0 = "tanh(W @ s)"')).given == ()
    read = loads(cell(term=f'term = "{CE}(o, y)"\nmask = "m"\nassume = "sum(y) == 1"\n[[loss]]\n'
                           'term = "gamma/2*squared_norm(U)"\nreduce = "once"'))
    assert [term.reduce for term in read.losses] == ["mean", "once"]
    assert str(read.counts["m"]) == "M"


H, D = size_symbol("h"), size_symbol("d")
COLUMNS = {"b": MatrixSymbol("b", H, 1), "p": MatrixSymbol("p", 2 * H + D, 1), "r": MatrixSymbol("r", 1, 1)}
MATRICES = {"A": MatrixSymbol("A", H, H), "B": MatrixSymbol("B", H, D), "W": MatrixSymbol("W", 4 * H, H)}
FAMILIES = {"h": MatrixSymbol("h", H, 1), "x": MatrixSymbol("x", D, 1), "a": MatrixSymbol("a", 4 * H, 1)}
SCOPE = Scope(MATRICES | COLUMNS, {"gamma": constant_symbol("gamma")}, FAMILIES, reaching=set(FAMILIES),
              sizes={"h": H, "d": D})

LEAVES = st.sampled_from([
    "h", "h[t-1]", "h[t-2]", "b", "a[:h]", "a[t-1][h:2*h]", "a[3*h:]", "p[0:h]", "p[h:2*h]", "B @ x", "A @ b",
    "A.T @ h", "W[h:2*h] @ h[t-1]", "W[:h].T @ b", "W.T @ a", "B[:] @ x"])
NUMBERS = st.sampled_from(["2", "0.5", "gamma", "(1 - gamma)", "gamma**2", "1/3", "gamma/2", "1/gamma", "gamma**-2"])
SCALARS = st.sampled_from(["r", "dot(b, h)", "h[t-1].T @ A @ b", "sigmoid(dot(b, h[t-1]))", "(dot(x, x) + 1)"])
SQUARES = st.sampled_from(["A", "A.T", "W[h:2*h]", "W[2*h:3*h].T", "(A * tanh(A))", "(A + 1)", "2*A", "(A @ A)",
                           "(h @ b.T)", "(1 - A).T"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Every operation of the language, around columns of h rows."""
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: f"{p[0]} + {p[1]}"), two.map(lambda p: f"({p[0]}) - ({p[1]})"),
        two.map(lambda p: f"({p[0]}) * ({p[1]})"), inner.map(lambda e: f"-({e})"),
        st.tuples(SQUARES, inner).map(lambda p: f"{p[0]} @ ({p[1]})"),
        st.tuples(NUMBERS, inner).map(lambda p: f"{p[0]}*({p[1]})"), inner.map(lambda e: f"({e})/gamma/2"),
        st.tuples(NUMBERS, inner).map(lambda p: f"{p[0]} - ({p[1]})"),
        st.tuples(inner, NUMBERS).map(lambda p: f"{p[0]} + {p[1]}"),
        st.tuples(SCALARS, inner).map(lambda p: f"({p[0]}) * ({p[1]})"),
        st.tuples(inner, SCALARS).map(lambda p: f"({p[0]}) * ({p[1]})"),
        st.tuples(inner, two).map(lambda p: f"dot({p[0]}, {p[1][0]}) * ({p[1][1]})"),
        st.tuples(st.sampled_from([*CALLABLE, "identity"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        two.map(lambda p: f"W.T @ concat({p[0]}, {p[1]}, concat(b, {p[0]}))"),
        inner.map(lambda e: f"(({e}).T @ A).T"), two.map(lambda p: f"({p[0]}) @ ({p[1]}).T @ ({p[0]})"))


def plain(e: Matrix) -> Matrix:
    """The expression with each scalar factor multiplied out."""
    operands = tuple(map(plain, children(e)))
    return Scale(e.args[0].expand(), *operands) if isinstance(e, Scale) else rebuild(e, operands)


def again(written: str) -> tuple[Matrix, Matrix]:
    first = read_equation(parse(written), SCOPE)
    return plain(first), plain(read_equation(parse(str(first), longest=10**6), SCOPE))


@settings(max_examples=400)
@given(st.recursive(LEAVES, larger, max_leaves=7))
def test_what_is_printed_reads_back(written: str) -> None:
    first, second = again(written)
    assert first == second


@pytest.mark.parametrize("written", [
    "W[h:2*h] @ W[:h] @ h", "W[h:2*h].T @ b", "A @ (dot(b, h) * h)", "b * (dot(b, h) * h)",
    "dot(b, h) * (dot(h, h) * b)",
    "-(r * b)", "(1 - h).T @ b * b", "1 - (2 - h)", "3 + (2 + h)", "gamma - h - gamma**2", "a[t-1][h:2*h] * p[0:h]",
    "tanh(A).T @ h", "(h * b).T @ b * h", "concat(b) + h"])
def test_these_read_back(written: str) -> None:
    first, second = again(written)
    assert first == second


def test_another_sign_does_not_read_back() -> None:
    first, _ = again("A @ h - b")
    assert plain(read_equation(parse("A @ h + b"), SCOPE)) != first


def test_every_model_file_reads_back() -> None:
    for path in sorted(MODELS.glob("*.toml")):
        read = load(path)
        text = path.read_text(encoding="utf-8")
        for equation in read.equations:
            written = next(line for line in text.splitlines() if line.split("=")[0].strip() == equation.name
                           and line not in text.partition("[equations]")[0])
            text = text.replace(written, f'{equation.name} = "{equation.right}"')
        assert loads(text) == read, path.stem


d, h_, q, k = symbols("d h q k", integer=True, positive=True)
x, h, o, y, c = family("x", d), family("h", h_), family("o", q), family("y", q), family("c", h_)


def M(name: str, *shape: sympy.Expr) -> MatrixSymbol:
    return MatrixSymbol(name, *shape, *[1] * (2 - len(shape)))


def sigmoid(z: sympy.Expr) -> sympy.Expr:
    u = Symbol("u")
    return z.applyfunc(sympy.Lambda(u, 1 / (1 + sympy.exp(-u))))


def tanh(z: sympy.Expr) -> sympy.Expr:
    return z.applyfunc(sympy.tanh)


def twin(name: str, equations: dict[MatrixSymbol, object], term: object, folder: Path | None = None,
         **more: object) -> tuple[Model, Model]:
    """The model from SymPy, and the file of that name."""
    read = load(name) if folder is None else load(folder / f"{name}.toml")
    made = model(equations=equations, loss=term, name=read.name, title=read.title, source=read.source,
                 **{"inputs": [x], "targets": [y], **more})
    return made, read


def elman(activation: object = tanh) -> dict[MatrixSymbol, object]:
    return {h: activation(M("W_hx", h_, d) * x + M("W_hh", h_, h_) * h.prev + M("b_h", h_)),
            o: M("W_qh", q, h_) * h + M("b_q", q)}


def no_output_bias(start: object = 0) -> dict[MatrixSymbol, object]:
    inner = M("W_hx", h_, d) * x + M("W_hh", h_, h_) * h.prev + M("b_h", h_)
    return {h: tanh(inner + start if start else inner), o: M("W_qh", q, h_) * h}


def lstm() -> tuple[Model, Model]:
    gate = {g: M(f"W_{g}", h_, d) * x + M(f"U_{g}", h_, h_) * h.prev + M(f"b_{g}", h_) for g in "ifog"}
    i, f, out, g = (family(n, h_) for n in ("i", "f", "o", "g"))
    p = family("p", q)
    return twin("lstm", {i: sigmoid(gate["i"]), f: sigmoid(gate["f"]), out: sigmoid(gate["o"]), g: tanh(gate["g"]),
                         c: hadamard_product(f, c.prev) + hadamard_product(i, g), h: hadamard_product(out, tanh(c)),
                         p: M("W_p", q, h_) * h + M("b_p", q)}, loss("l", p, y))


def gru(turned: bool = False) -> tuple[Model, Model]:
    r, z, n, p = family("r", h_), family("z", h_), family("n", h_), family("p", q)
    rest = OneMatrix(h_, 1) - z
    kept, fresh = (rest, z) if turned else (z, rest)
    return twin("gru", {
        r: sigmoid(M("W_r", h_, d) * x + M("U_r", h_, h_) * h.prev),
        z: sigmoid(M("W_z", h_, d) * x + M("U_z", h_, h_) * h.prev),
        n: tanh(M("W", h_, d) * x + M("U", h_, h_) * hadamard_product(r, h.prev)),
        h: hadamard_product(kept, h.prev) + hadamard_product(fresh, n),
        p: M("W_p", q, h_) * h + M("b_p", q)}, loss("l", p, y))


def mgu() -> tuple[Model, Model]:
    f, n, p = family("f", h_), family("n", h_), family("p", q)
    W_f, W_h = M("W_f", h_, h_ + d), M("W_h", h_, h_ + d)
    return twin("mgu", {
        f: sigmoid(W_f * BlockMatrix([[h.prev], [x]]) + M("b_f", h_)),
        n: tanh(W_h * BlockMatrix([[hadamard_product(f, h.prev)], [x]]) + M("b_h", h_)),
        h: hadamard_product(OneMatrix(h_, 1) - f, h.prev) + hadamard_product(f, n),
        p: M("W_p", q, h_) * h + M("b_p", q)}, loss("l", p, y))


def character_model() -> tuple[Model, Model]:
    hidden = M("W_xh", h_, d) * x + M("W_hh", h_, h_) * h.prev + M("b_h", h_)
    return twin("elman-softmax", {h: tanh(hidden), o: M("W_hy", q, h_) * h + M("b_y", q)},
                LossTerm(loss("softmax_cross_entropy", o, y), "sum", assume=(y,)))


def masked(which: int = 0) -> tuple[Model, Model]:
    m = family("m", 1)
    term = [LossTerm(loss("softmax_cross_entropy", o, y), "mean", mask=m), loss("softmax_cross_entropy", o, y)][which]
    return twin("masked_mean", no_output_bias(), term, MODELS, targets=[y, m])


def regularised() -> tuple[Model, Model]:
    lam = Symbol("lambda_")
    terms = [loss("l", o, y), LossTerm(lam / 2 * loss("squared_norm", M("W_hh", h_, h_)), "once"),
             LossTerm(loss("squared_norm", M("b_h", h_)), "once", weight=Rational(1, 10))]
    return twin("regularised", no_output_bias(), terms, MODELS, constants=[lam])


def static() -> tuple[Model, Model]:
    s = M("s", k)
    return twin("static_context", no_output_bias(M("C", h_, k) * s), loss("l", o, y), MODELS, static=[s])


def computed(back: int = 1) -> tuple[Model, Model]:
    s = M("s", k)
    return twin("computed_start", no_output_bias(), loss("l", o, y), MODELS, static=[s],
                initial={h.lag(back): tanh(M("W_0", h_, k) * s + M("b_0", h_))})


def packed() -> tuple[Model, Model]:
    a, W, b = family("a", 4 * h_), M("W", 4 * h_, h_ + d), M("b", 4 * h_)
    target = family("y", h_)
    part = [a[n * h_:(n + 1) * h_, :] for n in range(4)]
    return twin("packed_lstm", {
        a: W * BlockMatrix([[h.prev], [x]]) + b,
        c: hadamard_product(sigmoid(part[1]), c.prev) + hadamard_product(sigmoid(part[0]), tanh(part[2])),
        h: hadamard_product(sigmoid(part[3]), tanh(c))}, loss("squared_error", h, target), MODELS, targets=[target],
        reduce="sum")


TWINS = {"elman": lambda: twin("elman", elman(), loss("l", o, y)), "lstm": lstm, "gru": gru, "mgu": mgu,
         "elman-softmax": character_model, "masked": masked, "regularised": regularised, "static": static,
         "computed": computed, "packed": packed,
         "irnn": lambda: twin("irnn", elman(lambda z: z.applyfunc(lambda u: sympy.Max(0, u))), loss("l", o, y))}


@pytest.mark.parametrize("name", TWINS)
def test_sympy_and_the_file_give_equal_models(name: str) -> None:
    made, read = TWINS[name]()
    assert made == read
    assert hash(made) == hash(read)


def test_a_lie_is_another_model() -> None:
    for made, read in (gru(turned=True), masked(1), twin("elman", elman(sigmoid), loss("l", o, y))):
        assert made != read
    with pytest.raises(ModelError, match="no equation reads h_m1"):
        computed(back=2)


def test_functions_by_their_name() -> None:
    for name in ENTRYWISE:
        other = elman(lambda z, name=name: function(name, z))
        made, read = twin("elman", other, loss("l", o, y))
        assert (made == read) == (name == "tanh")


def test_every_scalar_form_is_recognised() -> None:
    u = Symbol("u", real=True)
    for name, row in ENTRYWISE.items():
        written, _ = twin("elman", elman(lambda z, row=row: z.applyfunc(sympy.Lambda(u, row.scalar(u)))),
                          loss("l", o, y))
        named, _ = twin("elman", elman(lambda z, name=name: function(name, z)), loss("l", o, y))
        assert written == named, name


def test_no_loss_of_the_table_is_opaque() -> None:
    assert not any(LossTerm(loss(name, *[h] * len(row.arguments))).opaque for name, row in LOSSES.items())


LIBRARY = [*library(), *(str(path) for path in sorted(MODELS.glob("*.toml")) if path.stem != "loose_ends")]


@pytest.mark.parametrize("name", LIBRARY)
def test_the_nodes_of_a_model_make_the_model_again(name: str) -> None:
    read = load(name)

    def build(sign: int) -> Model:
        equations = {e.left.family: e.right for e in read.equations}
        last = read.equations[-1]
        return model({**equations, last.left.family: scale(sign, last.right)}, read.inputs, read.losses,
                     targets=read.targets, name=read.name, title=read.title, source=read.source,
                     constants=read.constants, static=read.static,
                     initial={Family(e.name, *e.left.shape).lag(1 - e.left.time.const): e.right for e in read.computed})

    assert build(1) == read
    assert build(-1) != read


@pytest.mark.parametrize("equation", [
    "b" + " * b" * 900, "(U" + " * U" * 900 + ") @ b", "b" + " - 1 + b" * 400, "tanh(" * 12 + "b" + ")" * 12,
    "P[:h] @ x" + " + P[:h] @ x" * 300, "b" + " @ b.T @ b" * 300])
def test_long_equations_are_read_at_once(equation: str) -> None:
    begin = time.perf_counter()
    assert loads(cell(equation))
    assert time.perf_counter() - begin < 5
