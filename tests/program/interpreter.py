"""A second truth: the equations of a model, one sample and one column at a time, and their complex-step derivatives.

It shares no code with what the package generates: it walks the expressions of the model, of one sample at a time, with
functions and losses of its own, by their textbook formulas.
"""

import numpy as np
from sympy import Integer, MatrixSymbol

from symbptt.expr.nodes import (
    Apply,
    At,
    Block,
    Hadamard,
    Identity,
    Multiple,
    Ones,
    Plus,
    Scale,
    Times,
    Transpose,
    Zero,
)

SIZES = (3, 4, 2, 5, 6, 7)


def above(z):
    return z.real > 0


FORMULAS = {
    "tanh": lambda z: (np.exp(z) - np.exp(-z)) / (np.exp(z) + np.exp(-z)),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "relu": lambda z: above(z) * z,
    "softplus": lambda z: np.log(1 + np.exp(z)),
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "square": lambda z: z**2,
    "abs": lambda z: np.sign(z.real) * z,
    "leaky_relu": lambda z: above(z) * z + ~above(z) * z / 100,
    "elu": lambda z: above(z) * z + ~above(z) * (np.exp(z) - 1),
    "silu": lambda z: z / (1 + np.exp(-z)),
    "softsign": lambda z: z / (1 + (2 * above(z) - 1) * z),
    "hard_tanh": lambda z: (abs(z.real) < 1) * z + (abs(z.real) >= 1) * np.sign(z.real),
    "softmax": lambda z: np.exp(z) / np.sum(np.exp(z)),
    "log_softmax": lambda z: z - np.log(np.sum(np.exp(z))),
}
"""The functions that an equation may call, as textbooks write them; at a kink with the slope that symbptt documents."""

LOSSES = {
    "squared_error": lambda o, y: np.sum((o - y) ** 2) / 2,
    "softmax_cross_entropy": lambda o, y: -np.sum(y * np.log(np.exp(o) / np.sum(np.exp(o)))),
    "squared_norm": lambda w: np.sum(w**2),
}


class Network:
    """A random network for a model: parameters, data and the losses, with sizes all different."""

    def __init__(self, model, T=4, B=2, seed=0, dtype=np.float64):
        self.model, self.T, self.B, self.moved = model, T, B, None
        self.random, self.dtype = np.random.default_rng(seed), dtype
        self.sizes = {s.symbol: n for s, n in zip(model.sizes, SIZES, strict=False)}
        self.params = {p.name: self.weights(p) for p in model.parameters}
        self.params |= {c.name: 0.6 + 0.2 * k for k, c in enumerate(model.constants)}
        self.data = {v.name: self.draw(0.4, 0.6, T, B, self.shape(v)[0]) for v in (*model.inputs, *model.targets)}
        self.data |= {s.name: self.draw(0.3, 0.5, B, self.shape(s)[0]) for s in model.static}
        self.data |= {self.key(m): self.draw(0.5, 0.4, B, self.shape(m.family)[0]) for m in model.given}
        for term in model.losses:
            for y in term.assume:
                counts = self.random.uniform(0.1, 1, (T, B, self.shape(y)[0]))
                self.data[y.name] = (counts / counts.sum(axis=-1, keepdims=True)).astype(dtype)
            if term.mask is not None:
                self.data[term.mask.name] = self.mask()
        self.losses = {name: stack_loss(k, self.carrying(name)) for k, name in enumerate(model.opaque)}

    def draw(self, mean, spread, *shape):
        return self.random.normal(mean, spread, shape).astype(self.dtype)

    def mask(self):
        """Zeros and ones; each sample has both, where T lets it."""
        kept = self.random.integers(0, 2, (self.T, self.B, 1))
        for b in range(self.B):
            first = self.random.integers(self.T)
            kept[first, b], kept[first - 1, b] = 0, 1
        return kept.astype(self.dtype)

    def shape(self, e):
        return tuple(int(Integer(n.subs(self.sizes))) for n in e.shape)

    def weights(self, symbol):
        rows, columns = self.shape(symbol)
        drawn = self.draw(0.5, 0.3, rows, columns) / columns
        return (drawn[:, 0] if columns == 1 else drawn).astype(self.dtype)

    @staticmethod
    def key(member):
        time = member.time.const
        return f"{member.family.name}_{time}" if time >= 0 else f"{member.family.name}_m{-time}"

    def carrying(self, name):
        loss = next(term.loss for term in self.model.losses if term.loss.name == name)
        targets = {y.name for y in self.model.targets}
        return [k for k, a in enumerate(loss.args[1:]) if a.family.name not in targets]

    @property
    def loss(self):
        """What value_and_grad is given."""
        if not self.losses:
            return None
        return next(iter(self.losses.values())) if len(self.losses) == 1 else self.losses

    def states(self, params, data, samples=None):
        """Every family by (name, time, sample) as a column; static columns without a time."""
        env = {}
        samples = range(self.B) if samples is None else samples
        for b in samples:
            for v in (*self.model.inputs, *self.model.targets):
                for t in range(self.T):
                    env[v.name, t + 1, b] = data[v.name][t, b][:, None]
            for s in self.model.static:
                env[s.name, None, b] = data[s.name][b][:, None]
            for m in self.model.given:
                env[m.family.name, m.time.const, b] = data[self.key(m)][b][:, None]
            for e in self.model.computed:
                value = evaluate(e.right, self, params, env, None, b)
                env[e.left.family.name, e.left.time.const, b] = value
            for t in range(1, self.T + 1):
                for equation in self.model.order:
                    value = evaluate(equation.right, self, params, env, t, b)
                    if self.moved and self.moved[:3] == (equation.name, t, b):
                        value = value + 1e-30j * (np.arange(len(value)) == self.moved[3])[:, None]
                    env[equation.name, t, b] = value
        return env

    def objective(self, params, data, samples=None):
        """L, a number: of some samples alone, if they are given."""
        return self.total(params, self.states(params, data, samples), range(self.B) if samples is None else samples)

    def total(self, params, env, samples):
        """The losses, term by term, sample by sample, step by step."""
        total = 0
        for term in self.model.losses:
            weight = number(term.weight, params)
            if term.reduce == "once":
                total += weight * LOSSES[term.loss.name](params[term.loss.args[1].name])
                continue
            for b in samples:
                mask = [1 if term.mask is None else env[term.mask.name, t, b][0, 0] for t in range(1, self.T + 1)]
                parts = [mask[t - 1] * self.one(term, env, t, b) for t in range(1, self.T + 1)]
                total += weight * {"mean": sum(parts) / sum(mask), "sum": sum(parts), "last": parts[-1]}[term.reduce]
        return total

    def one(self, term, env, t, b):
        """A loss of one step and sample."""
        columns = [env[a.family.name, t + a.time.const, b][:, 0] for a in term.loss.args[1:]]
        if term.loss.name in LOSSES:
            return LOSSES[term.loss.name](*columns)
        return one_loss(self.model.opaque.index(term.loss.name), columns)

    def derivative(self, name):
        """DL/d(name) by a complex step."""
        params = name in self.params
        base = np.asarray((self.params if params else self.data)[name], dtype=complex)
        found = np.zeros(base.shape)
        for place in np.ndindex(base.shape):
            moved = base.copy()
            moved[place] += 1e-30j
            sample = [place[1 if len(place) == 3 else 0]]
            value = (self.objective({**self.params, name: moved}, self.data) if params
                     else self.objective(self.params, {**self.data, name: moved}, sample))
            found[place] = value.imag / 1e-30
        return found

    def direct(self, params, data):
        """What the losses send to each family that they read, as stacks; the reduction included."""
        targets = {y.name for y in self.model.targets}
        read = [a.family for term in self.model.losses if term.reduce != "once" for a in term.loss.args[1:]]
        env, found = self.states(params, data), {}
        for v in dict.fromkeys(v for v in read if v.name not in targets):
            stack = np.zeros((self.T, self.B, self.shape(v)[0]))
            for t, b, j in np.ndindex(stack.shape):
                nudge = 1e-30j * (np.arange(stack.shape[-1]) == j)[:, None]
                moved = {**env, (v.name, t + 1, b): env[v.name, t + 1, b] + nudge}
                stack[t, b, j] = np.imag(self.total(params, moved, [b])) / 1e-30
            found[v.name] = stack
        return found

    def adjoint(self, family):
        """DL/dv_t by a complex step: v_t is moved where its equation gives it."""
        found = np.zeros((self.T, self.B, self.shape(self.model.families[family])[0]))
        for t, b, j in np.ndindex(found.shape):
            self.moved = (family, t + 1, b, j)
            found[t, b, j] = self.objective(self.params, self.data, [b]).imag / 1e-30
            self.moved = None
        return found

    @property
    def expected(self):
        """The keys that grads has to have."""
        targets = {y.name for y in self.model.targets}
        initial = [self.key(m) for m in self.model.given if m.family.name not in targets]
        named = (*self.model.parameters, *self.model.inputs, *self.model.static)
        return {v.name for v in named} | set(initial)


def number(c, params):
    return float(c.subs({s: params[s.name] for s in c.free_symbols}))


def evaluate(e, net, params, env, t, b):
    match e:
        case At():
            return env[e.family.name, e.time.const + t, b]
        case MatrixSymbol():
            if (e.name, None, b) in env:
                return env[e.name, None, b]
            value = np.asarray(params[e.name])
            return value[:, None] if value.ndim == 1 else value
        case Scale():
            return number(e.args[0], params) * evaluate(e.args[1], net, params, env, t, b)
        case Identity():
            return np.eye(*net.shape(e))
        case Zero():
            return np.zeros(net.shape(e))
        case Ones():
            return np.ones(net.shape(e))
        case Apply():
            return FORMULAS[str(e.args[0])](evaluate(e.args[1], net, params, env, t, b))
        case Block():
            return np.block([[evaluate(a, net, params, env, t, b) for a in row] for row in e.rows])
    operands = [evaluate(a, net, params, env, t, b) for a in e.args]
    match e:
        case Plus():
            return sum(operands[1:], operands[0])
        case Hadamard():
            product = operands[0]
            for a in operands[1:]:
                product = product * a
            return product
        case Times():
            product = operands[-1]
            for a in reversed(operands[:-1]):
                product = a @ product
            return product
        case Transpose():
            return operands[0].T
        case Multiple():
            return operands[0][0, 0] * operands[1]
    raise AssertionError(type(e))


def one_loss(k, columns):
    """A smooth loss of one step and sample."""
    s = sum(np.sum(np.sin(1 + k + 2 * j + np.arange(len(c))) * c) for j, c in enumerate(columns))
    return np.sin(s) + sum(np.sum(c * c * c) * (j + 1) for j, c in enumerate(columns)) / 6


def stack_loss(k, carrying):
    """The same loss over stacks, as value_and_grad takes it."""
    def loss(*stacks):
        weights = [np.sin(1 + k + 2 * j + np.arange(a.shape[-1])).astype(a.dtype) for j, a in enumerate(stacks)]
        s = sum(np.sum(w * a, axis=-1) for w, a in zip(weights, stacks, strict=True))
        values = np.sin(s) + sum(np.sum(a * a * a, axis=-1) * (j + 1) for j, a in enumerate(stacks)) / 6
        gradients = tuple(np.cos(s)[..., None] * weights[j] + stacks[j] * stacks[j] * (j + 1) / 2 for j in carrying)
        return values, gradients if len(gradients) > 1 else gradients[0]
    return loss
