"""A second truth: the equations of a model, one sample and one column at a time, and their complex-step derivatives.

It shares no code with what the package generates: it walks the expressions of the model, of one sample at a time.
"""

import numpy as np
from sympy import MatrixSymbol

from symbptt.expr.nodes import At, Identity, Multiple, Plus, Scale, Times, Transpose, Zero

SIZES = (3, 5, 4, 6, 7, 2)


class Network:
    """A random network for a model: parameters, data and the losses, with sizes all different."""

    def __init__(self, model, T=5, B=3, seed=0, dtype=np.float64):
        self.model, self.T, self.B, self.moved = model, T, B, None
        random = np.random.default_rng(seed)
        values = {s.symbol: n for s, n in zip(model.sizes, SIZES, strict=False)}

        def shape(symbol):
            return tuple(int(n.subs(values)) for n in symbol.shape)

        def weights(symbol):
            rows, columns = shape(symbol)
            drawn = random.normal(0.5, 0.3, (rows, columns)) / columns
            return (drawn[:, 0] if columns == 1 else drawn).astype(dtype)

        self.params = {p.name: weights(p) for p in model.parameters}
        self.params |= {c.name: 0.6 + 0.2 * k for k, c in enumerate(model.constants)}
        self.data = {v.name: random.normal(0.4, 0.6, (T, B, shape(v)[0])).astype(dtype)
                     for v in (*model.inputs, *model.targets)}
        self.data |= {self.key(m): random.normal(0.5, 0.4, (B, shape(m.family)[0])).astype(dtype)
                      for m in model.initial}
        self.losses = {name: stack_loss(k, self.carrying(name)) for k, name in enumerate(model.opaque)}

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
        return next(iter(self.losses.values())) if len(self.losses) == 1 else self.losses

    def states(self, params, data):
        """Every family by (name, time, sample) as a column."""
        env = {}
        for v in (*self.model.inputs, *self.model.targets):
            for t in range(self.T):
                for b in range(self.B):
                    env[v.name, t + 1, b] = data[v.name][t, b][:, None]
        for m in self.model.initial:
            for b in range(self.B):
                env[m.family.name, m.time.const, b] = data[self.key(m)][b][:, None]
        for t in range(1, self.T + 1):
            for equation in self.model.order:
                for b in range(self.B):
                    value = evaluate(equation.right, params, env, t, b)
                    if self.moved and self.moved[:3] == (equation.name, t, b):
                        value = value + 1e-30j * (np.arange(len(value)) == self.moved[3])[:, None]
                    env[equation.name, t, b] = value
        return env

    def objective(self, params, data):
        """L, a number."""
        env = self.states(params, data)
        total = 0
        for k, name in enumerate(self.model.opaque):
            for term in self.model.losses:
                if term.loss.name != name:
                    continue
                weight = number(term.weight, params) / (self.T if term.reduce == "mean" else 1)
                for t in range(1, self.T + 1):
                    for b in range(self.B):
                        arguments = [env[a.family.name, t + a.time.const, b] for a in term.loss.args[1:]]
                        total += weight * one_loss(k, [a[:, 0] for a in arguments])
        return total

    def derivative(self, name):
        """DL/d(name) by a complex step."""
        params = name in self.params
        base = np.asarray((self.params if params else self.data)[name], dtype=complex)
        found = np.zeros(base.shape)
        for place in np.ndindex(base.shape):
            moved = base.copy()
            moved[place] += 1e-30j
            value = (self.objective({**self.params, name: moved}, self.data) if params
                     else self.objective(self.params, {**self.data, name: moved}))
            found[place] = value.imag / 1e-30
        return found

    def direct(self, params, data):
        """What the losses send to each family that they read, as stacks; the reduction included."""
        env = self.states(params, data)
        targets = {y.name for y in self.model.targets}
        found = {}
        for term in self.model.losses:
            weight = number(term.weight, params) / (self.T if term.reduce == "mean" else 1)
            members = term.loss.args[1:]
            stacks = [np.array([[env[a.family.name, t + a.time.const, b][:, 0] for b in range(self.B)]
                                for t in range(1, self.T + 1)]) for a in members]
            carrying = self.carrying(term.loss.name)
            gradients = self.losses[term.loss.name](*stacks)[1]
            for k, gradient in zip(carrying, gradients if len(carrying) > 1 else (gradients,), strict=True):
                name = members[k].family.name
                assert name not in targets
                found[name] = found.get(name, 0) + weight * gradient
        return found

    def adjoint(self, family):
        """DL/dv_t by a complex step: v_t is moved where its equation gives it."""
        shape = self.states(self.params, self.data)[family, 1, 0].shape[0]
        found = np.zeros((self.T, self.B, shape))
        for t, b, j in np.ndindex(found.shape):
            self.moved = (family, t + 1, b, j)
            found[t, b, j] = self.objective(self.params, self.data).imag / 1e-30
            self.moved = None
        return found

    @property
    def expected(self):
        """The keys that grads has to have."""
        targets = {y.name for y in self.model.targets}
        initial = [self.key(m) for m in self.model.initial if m.family.name not in targets]
        return {p.name for p in self.model.parameters} | {v.name for v in self.model.inputs} | set(initial)


def number(c, params):
    return float(c.subs({s: params[s.name] for s in c.free_symbols}))


def evaluate(e, params, env, t, b):
    match e:
        case At():
            return env[e.family.name, e.time.const + t, b]
        case MatrixSymbol():
            value = np.asarray(params[e.name])
            return value[:, None] if value.ndim == 1 else value
        case Scale():
            return number(e.args[0], params) * evaluate(e.args[1], params, env, t, b)
        case Identity():
            return np.ones((1, 1))
        case Zero():
            return np.zeros((1, 1))
    operands = [evaluate(a, params, env, t, b) for a in e.args]
    match e:
        case Plus():
            return sum(operands[1:], operands[0])
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
