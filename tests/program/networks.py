"""Models that stand nowhere in the library, by what is special about them."""

HEAD = """
name = "{name}"
[sizes]
d = "input"
h = "hidden"
q = "output"
{sizes}
[parameters]
W_hx = "h, d"
W_hh = "h, h"
W_qh = "q, h"
{parameters}
[inputs]
x = "d"
{inputs}
[targets]
y = "{target}"
[states]
h = "h"
{states}
{tables}
{constants}
[equations]
h = "{h}"
{equations}
{loss}
"""

LOSS = '[[loss]]\nterm = "l({})"\nreduce = "{}"\n'


def model(name: str, h: str = "W_hx @ x + W_hh @ h[t-1]", o: str = "W_qh @ h", *, sizes: str = "", parameters: str = "",
          inputs: str = "", states: str = "", tables: str = "", constants: str = "", equations: str | None = None,
          target: str = "1", loss: str = LOSS.format("o, y", "mean")) -> str:
    return HEAD.format(name=name, sizes=sizes, parameters=parameters, inputs=inputs, target=target, states=states,
                       tables=tables, constants=constants, h=h, loss=loss,
                       equations=f'o = "{o}"' if equations is None else equations)


NASTY = r'''
name = "nasty"
title = 'A \\"""title""" with \d and quotes'
source = 'Back\slash'
[sizes]
B = "sample-like"
size = "another"
np = "output"
[parameters]
A = "B, B"
B = "B, size"
dL_di = "np, B"
given = "B"
direct_i = "B, B"
[inputs]
data = "size"
[targets]
range = "np"
[states]
i = "B"
params = "B"
[constants]
lambda_ = "a number"
[equations]
i = "A @ i[t-1] + B @ data + given + lambda_*params[t-1]"
params = "direct_i @ i + params[t-1]/2"
k = "params - i"
states = "dL_di @ k"
[[loss]]
term = "np(states, range)"
'''

TWO_STATES = model(
    "two-states", "W_hx @ x + W_hh @ h[t-1] + V @ s[t-1]", "W_qh @ h", sizes='k = "second"',
    parameters='V = "h, k"\nU = "k, h"\nA = "k, k"', states='s = "k"',
    equations='s = "A @ s[t-1] + U @ h[t-1]"\no = "W_qh @ h"')

NETWORKS = {
    "linear": model("linear"),
    "sign": model("sign", "W_hx @ x - W_hh @ h[t-1]", "-W_qh @ h"),
    "lag-two": model("lag-two", "W_hh @ h[t-1] + C @ h[t-2] + W_hx @ x", parameters='C = "h, h"'),
    "lag-three-only": model("lag-three-only", "W_hh @ h[t-3] + W_hx @ x"),
    "two-states": TWO_STATES,
    "two-states-same-time": model(
        "two-states-same-time", "W_hx @ x + W_hh @ h[t-1] + V @ s[t-1]", sizes='k = "second"',
        parameters='V = "h, k"\nU = "k, h"\nA = "k, k"', states='s = "k"',
        equations='s = "A @ s[t-1] + U @ h"\no = "W_qh @ h"'),
    "two-states-varying": model(
        "two-states-varying", "W_hx @ x @ (x.T @ V @ s[t-1]) + W_hh @ h[t-1] + h[t-2] @ (x.T @ x)/7",
        sizes='k = "second"',
        parameters='V = "d, k"\nU = "k, h"\nA = "k, k"\nc = "h"', states='s = "k"',
        equations='s = "A @ s[t-1] + U @ h @ (c.T @ h[t-1])"\no = "W_qh @ h + W_qh @ c @ (h.T @ c)"'),
    "later-only": model("later-only", "W_hx @ x + W_hh @ h[t-1]", sizes='k = "second"',
                        parameters='V = "h, k"\nU = "k, h"', states='s = "k"\nr = "h"',
                        equations='s = "U @ h[t-1]"\nr = "V @ s[t-1]"\no = "W_qh @ r"'),
    "output-sees-all": model("output-sees-all", o="W_qh @ h + V @ x + U @ h[t-1]", parameters='V = "q, d"\nU = "q, h"'),
    "transposed-twin": model("transposed-twin",
                             "W_hx @ x + W_hh @ h[t-1]/2 + W_hh.T @ h[t-1]/5 + W_hh @ W_hh.T @ h[t-1]/4"),
    "same-weight-twice": model("same-weight-twice", "W_hx @ x + W_hh @ W_hh @ h[t-1] + (W_hh + W_hh.T) @ h[t-2]/3"),
    "shared-weight": model("shared-weight", equations='r = "W_hh @ h + h"\no = "W_qh @ r + W_qh @ h"'),
    "state-in-loss": model("state-in-loss", equations="", loss=LOSS.format("h, y", "mean"), target="h"),
    "sum-of-states": model("sum-of-states", equations="", loss=LOSS.format("h", "sum")),
    "bilinear": model("bilinear", "W_hx @ x + W_hh @ h[t-1] @ (x.T @ x)/3 + h[t-1] @ (h[t-1].T @ W_hh @ h[t-1])/5"),
    "rank-one": model("rank-one",
                      "W_hx @ x @ x.T @ W_hx.T @ h[t-1]/3 + (W_hh + h[t-1] @ x.T @ W_hx.T/5) @ h[t-1] + W_hx @ x"),
    "two-losses": model("two-losses", loss=LOSS.format("o, y", "mean") + LOSS.format("h, o", "sum").replace('"l',
                        '"2*m')),
    "one-loss-twice": model("one-loss-twice", loss=LOSS.format("o, y", "mean") + LOSS.format("r, y", "sum"),
                            equations='o = "W_qh @ h"\nr = "W_qh @ h[t-1]"'),
    "constants": model("constants", "gamma*(W_hh @ h[t-1]) - 2*h[t-1]/3 + gamma*gamma*(W_hx @ x)/4",
                       "(1 - gamma)*(W_qh @ h)",
                       constants='[constants]\ngamma = "decay"', loss=LOSS.format("o, y", "mean").replace('"l',
                       '"gamma/2*l')),
    "no-recurrence": model("no-recurrence", "W_hx @ x", parameters='unused = "h, q"'),
    "input-lag-two": model("input-lag-two", "W_hx @ x + W_hh @ h[t-1] + V @ x[t-2]", parameters='V = "h, d"'),
    "target-lag": model("target-lag", "W_hx @ x + W_hh @ h[t-1] + V @ y[t-1]", parameters='V = "h, q"', target="q",
                        loss=LOSS.format("o, y[t-2]", "mean")),
    "input-in-loss": model("input-in-loss", "W_hx @ x + W_hh @ h[t-1]", "W_hx.T @ h",
                           loss=LOSS.format("o, x", "mean")),
    "bias": model("bias", "W_hx @ x + W_hh @ h[t-1] + b_h", "W_qh @ h + b_q", parameters='b_h = "h"\nb_q = "q"'),
    "bias-only-equation": model("bias-only-equation",
                                equations='r = "b_h"\ns = "W_hh @ b_h"\no = "W_qh @ r + W_qh @ h + W_qh @ s"',
                                parameters='b_h = "h"'),
    "between": model("between", equations='r = "W_hh.T @ h"\ns = "r - h"\np = "s + r"\no = "W_qh @ p"'),
    "unused": model("unused", parameters='V = "q, d"\nc = "d"', inputs='u = "q"'),
    "dead-family": model("dead-family", equations='r = "W_hh @ h"\no = "W_qh @ h"'),
    "scalar-state": model("scalar-state", "W_hx @ x + W_hh @ h[t-1]",
                          parameters='a = "1"\nr = "1, h"\nc = "h"\nw = "1, 1"',
                          states='s = "1"',
                          equations='s = "a @ s[t-1] + r @ h + c.T @ h[t-1] + w @ w/3"\no = "W_qh @ h + W_qh @ c @ s"'),
    "row-parameters": model("row-parameters", "W_hx @ x + W_hh @ h[t-1] + r.T + W_hh @ r.T",
                            "W_qh @ h + W_qh @ r.T @ (r @ h)",
                            parameters='r = "1, h"'),
    "sizes-one": """
name = "sizes-one"
[sizes]
q = "output"
[parameters]
W_hx = "1, 1"
W_hh = "1"
W_qh = "q, 1"
[inputs]
x = "1"
[targets]
y = "1"
[states]
h = "1"
[equations]
h = "W_hx @ x + W_hh @ h[t-1]"
o = "W_qh @ h"
[[loss]]
term = "l(o, y)"
""",
    "size-one-varying": """
name = "size-one-varying"
[sizes]
d = "input"
[parameters]
W = "1, d"
a = "1"
[inputs]
x = "d"
[states]
h = "1"
[equations]
h = "W @ x @ h[t-1] + a @ h[t-1]"
[[loss]]
term = "l(h)"
""",
    "residual": model("residual", "h[t-1]/2 + W_hx @ x"),
    "scalar-gain": model("scalar-gain", "h[t-1] @ a + W_hx @ x + b_h @ b_h.T @ h[t-1]/5",
                         parameters='a = "1"\nb_h = "h"'),
    "output-of-the-past": model("output-of-the-past", o="V @ h[t-1] @ (x.T @ x)/5", parameters='V = "q, h"'),
    "compound-sizes": """
name = "compound-sizes"
[sizes]
d = "input"
h = "hidden"
[parameters]
W = "h + d, 2*h"
V = "2*h, h + d"
[inputs]
x = "2*h"
u = "h + d"
[targets]
y = "h + d"
[states]
s = "2*h"
[equations]
s = "V @ u + V @ W @ s[t-1]/2 + x"
o = "W @ s"
[[loss]]
term = "l(o, y)"
""".replace('u = "h + d"', 'u = "h + d"\nz = "d"'),
    "nasty": NASTY,
    "elementwise-row": model("elementwise-row", "tanh(W_hx @ x * r.T + W_hh @ (r.T * h[t-1]))",
                             parameters='r = "1, h"'),
    "one-row-slices": model(
        "one-row-slices", "tanh(W_hx @ x + (U[1:2] @ h[t-1]) * (W_hh @ h[t-1]) * sigmoid(U[0:1] @ h[t-1])"
        " + h[t-1] * s[t-1][1:2])", parameters='U = "h + 2, h"', states='s = "h + 2"',
        equations='s = "tanh(U @ h + s[t-1][:1] * s[t-1])"\no = "W_qh @ h * tanh(s[h + 1:]) + W_qh @ U[2:] @ h"'),
    "slices-of-everything": model(
        "slices-of-everything", "tanh(A[h:2*h] @ concat(x, h[t-1]) + b[2:h + 2] * h[t-1] + A[:h] @ concat(x, b[:h]))",
        "W_qh @ concat(r[1:h], b[0:1])", parameters='A = "3*h, d + h"\nb = "h + 2"',
        equations='r = "concat(h, b[1:2])"\no = "W_qh @ r[1:] + W_qh @ (A[2*h:] @ concat(x, b[2:]))"'),
    "diagonal-only": model("diagonal-only", "u * h[t-1] / 2 + W_hx @ x", parameters='u = "h"'),
    "diagonal-sum": model("diagonal-sum", "u * h[t-1] / 2 + sigmoid(h[t-1] * u) * h[t-1] + W_hx @ x",
                          parameters='u = "h"'),
    "static-diagonal": model("static-diagonal", "s * h[t-1] / 2 + W_hx @ x", tables='[static]\ns = "h"'),
    "static-everywhere": model(
        "static-everywhere",
        "W_hh @ (s * h[t-1]) / 2 + s @ s.T @ h[t-1] / 5 + (W_hh * (s @ b.T)) @ h[t-1] / 3 + W_hx @ x",
        parameters='b = "h"', tables='[static]\ns = "h"'),
    "softmax-twice": model("softmax-twice", "tanh(W_hx @ x + W_hh @ softmax(W_hh @ softmax(h[t-1])))",
                           "log_softmax(W_qh @ softmax(h))"),
    "functions-of-weights": model(
        "functions-of-weights", "tanh((tanh(W_hh @ A) * exp(W_hh) / 2) @ h[t-1] + (sigmoid(A).T * A) @ A @ W_hx @ x)",
        parameters='A = "h, h"'),
    "rank-one-of-weights": model("rank-one-of-weights", "tanh((W_hh * (b @ b.T)) @ h[t-1] + tanh(b @ c.T) @ x)",
                                 parameters='b = "h"\nc = "d"'),
    "numbers": model("numbers", "1 - 2*sigmoid(W_hx @ x - 3 + W_hh @ (h[t-1] - 1/2)) * (2 - h[t-1])",
                     "W_qh @ (1 - h) + dot(h, 1 - h)*c", parameters='c = "q"'),
    "scalars-inside": model(
        "scalars-inside", "tanh(dot(u, h[t-1]) * (W_hx @ x) + softplus(dot(u, b)) * h[t-1]) * sigmoid(a * dot(u, b))"
        " + silu(a) * b", parameters='u = "h"\nb = "h"\na = "1"'),
    "a-share-kept": model(
        "a-share-kept", "W_hx @ x + W_hh @ h[t-1] + (1 - e) * h[t-1]", states='e = "1"', parameters='b = "1"',
        equations='e = "sigmoid(e[t-1] + b)"\no = "W_qh @ h"'),
    "two-gates-lag-two": model(
        "two-gates-lag-two", "z * h[t-1] + (1 - z) * s[t-2]", states='s = "h"',
        equations='z = "sigmoid(W_hx @ x + W_hh @ s[t-1])"\ns = "tanh(W_hh @ h + h[t-2] * s[t-1])"\no = "W_qh @ s"'),
    "started-by-the-same-weights": model(
        "started-by-the-same-weights", "tanh(W_hx @ x + W_hh @ h[t-1] + U @ h[t-3])", parameters='U = "h, h"\nb = "h"',
        tables='[static]\ns = "d"\n[initial]\nh_0 = "tanh(W_hx @ s + W_hh @ b)"\nh_m2 = "2 * b - 1"',
        loss=LOSS.format("o, y", "mean") + '[[loss]]\nterm = "0.3*squared_norm(W_hh)"\nreduce = "once"\n'
        '[[loss]]\nterm = "squared_norm(b)/2"\nreduce = "once"\n'),
    "started-and-not-read": model(
        "started-and-not-read", tables='[initial]\ns = "tanh(b)"', states='s = "h"', parameters='b = "h"',
        equations='s = "W_hh @ s[t-1]"\no = "W_qh @ h"'),
    "losses-of-all-kinds": model(
        "losses-of-all-kinds", "tanh(W_hx @ x + W_hh @ h[t-1])", target="q", inputs="", constants='[constants]\nc = ""',
        loss='[[loss]]\nterm = "c/3*softmax_cross_entropy(o, y)"\nmask = "m"\nassume = "sum(y) == 1"\n'
             '[[loss]]\nterm = "l(o)"\nreduce = "last"\n'
             '[[loss]]\nterm = "0.3*squared_error(o, y[t-1])"\nreduce = "sum"\nmask = "m"\n'
             '[[loss]]\nterm = "2*k(h, o)"\nreduce = "mean"\nmask = "n"\n'
             '[[loss]]\nterm = "squared_error(h, z)"\nreduce = "last"\n').replace(
        'y = "q"\n', 'y = "q"\nm = "1"\nn = "1"\nz = "h"\n'),
    "read-again": model(
        "read-again", "sigmoid(W_hx @ x + W_hh @ h[t-1] + V @ o[t-1])", "tanh(W_qh @ h)", parameters='V = "h, q"',
        states='o = "q"', target="q", loss='[[loss]]\nterm = "softmax_cross_entropy(o, y)"\nassume = "sum(y) == 1"\n'
                                           'reduce = "last"\n'),
    "error-against-input": model("error-against-input", "tanh(W_hx @ x + W_hh @ h[t-1])", "W_hx.T @ h",
                                 loss='[[loss]]\nterm = "squared_error(o, x)"\n'),
    "gated-by-input-alone": model("gated-by-input-alone", "g * (W_hh @ h[t-1])", inputs='g = "h"'),
    "output-gate-of-inputs": model(
        "output-gate-of-inputs", "a * c", parameters='U = "h, h"', states='c = "h"',
        equations='a = "sigmoid(W_hx @ x)"\nc = "tanh(W_hh @ h[t-1] + U @ c[t-1])"\no = "W_qh @ h"'),
    "clockwork": model(
        "clockwork", "k * tanh(W_hx @ x + W_hh @ h[t-1] + R @ g[t-1])", parameters='R = "h, h"\nU = "h, d"',
        inputs='k = "1"', states='g = "h"', equations='g = "tanh(g[t-1] + U @ x)"\no = "W_qh @ h"'),
    "mut-one": model(
        "mut-one", "tanh(U @ (r * h[t-1]) + tanh(W_hx @ x)) * z + h[t-1] * (1 - z)",
        parameters='U = "h, h"\nV = "h, d"',
        equations='r = "sigmoid(W_hh @ h[t-1])"\nz = "sigmoid(V @ x)"\no = "W_qh @ h"'),
    "as-many-as-rows": model(
        "as-many-as-rows", "tanh(N @ x + W_hh @ h[t-1])", parameters='N = "h, d"\nrows = "h"',
        equations='o = "W_qh @ (h + rows)"'),
    "gated-by-inputs-before": model("gated-by-inputs-before", "sigmoid(h[t-1] * (W_hx @ x[t-1]) + V @ y[t-1])",
                                    parameters='V = "h, 1"'),
    "share-times-a-function": model(
        "share-times-a-function", "(1 - u @ h[t-1]) * tanh(W_hh @ h[t-1]) + W_hx @ x", parameters='u = "1, h"'),
}
