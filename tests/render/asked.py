"""A module with options behind the interface of one without: what is handed in and got back is turned by a plain rule.

It shares no code with what the package generates for options.
"""

import numpy as np


class Asked:
    """One module, seen as if no option had been given."""

    def __init__(self, module, options, model, packed=None):
        self.module, self.options, self.model = module, options, model
        self.packed = packed or {}

    def stack(self, array):
        """(T, B, n) to the layout of the module, or back."""
        return np.swapaxes(array, 0, 1) if self.options.layout == "BTD" else array

    def timed(self, name):
        return name in self.model.families

    def weight(self, array):
        """(rows, columns) to the shape that the module takes, or back."""
        return np.transpose(array) if self.options.weights == "right" else array

    def params_in(self, params):
        held = {part for parts in self.packed.values() for part in parts}
        found = {name: np.concatenate([params[part] for part in parts]) for name, parts in self.packed.items()}
        found |= {k: v for k, v in params.items() if k not in held}
        return {k: self.weight(v) for k, v in found.items()}

    def data_in(self, data):
        found = {k: self.stack(v) if self.timed(k) else v for k, v in data.items()}
        return {k: v[..., 0] if k == self.options.mask else v for k, v in found.items()}

    def stacks(self, arrays):
        return {k: self.stack(v) for k, v in arrays.items()}

    def grads_out(self, grads):
        weights = {*self.packed, *(p.name for p in self.model.parameters)}
        found = {}
        for key, value in grads.items():
            gradient = self.stack(value) if self.timed(key) else self.weight(value) if key in weights else value
            parts = self.packed.get(key, [key])
            found |= zip(parts, np.split(gradient, len(parts)) if key in self.packed else [gradient], strict=True)
        return found

    def loss_in(self, loss):
        """A loss over stacks in the layout of the module."""
        if loss is None or isinstance(loss, dict):
            return loss and {name: self.loss_in(f) for name, f in loss.items()}

        def turned(*stacks):
            values, gradients = loss(*map(self.stack, stacks))
            back = tuple(map(self.stack, gradients)) if isinstance(gradients, tuple) else self.stack(gradients)
            return self.stack(values), back
        return turned

    def value_and_grad(self, params, data, loss=None):
        L, grads = self.module.value_and_grad(self.params_in(params), self.data_in(data), self.loss_in(loss))
        return L, self.grads_out(grads)

    def forward(self, params, data):
        return self.stacks(self.module.forward(self.params_in(params), self.data_in(data)))

    def backward(self, params, data, states, direct):
        grads, adjoints = self.module.backward(self.params_in(params), self.data_in(data), self.stacks(states),
                                               self.stacks(direct))
        return self.grads_out(grads), self.stacks(adjoints)

    def hidden_gradients_closed_form(self, params, data, direct, states=None):
        given = None if states is None else self.stacks(states)
        return self.stacks(self.module.hidden_gradients_closed_form(
            self.params_in(params), self.data_in(data), self.stacks(direct), given))
