"""Modules of torch and jax behind the face of a NumPy module: arrays in, arrays out, losses over arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from symbptt.render.functional import jax_program, torch_program
from tests.render.test_numpy_program import Network, derivation, imported, model

WRITERS = {"torch": torch_program, "jax": jax_program}


@cache
def text(library: str, name: str) -> str:
    return WRITERS[library](derivation(name))


def module(folder: Path, library: str, name: str, source: str | None = None) -> ModuleType:
    """A generated module, or one of another text, from a file."""
    path = folder / f"{library}_{re.sub(r'[^a-z0-9]', '_', name)}.py"
    path.write_text(text(library, name) if source is None else source, encoding="utf-8")
    return imported(path)


@contextmanager
def double() -> Iterator[None]:
    """Numbers of jax in double precision, also in the threads from which it calls back, which a context misses."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


@contextmanager
def hardly_optimised() -> Iterator[None]:
    """Modules of jax that run once are compiled in half the time."""
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", False)


class TorchFace:
    """A torch module that is given and gives arrays; tensors share their memory, so that a change would be seen."""

    def __init__(self, made: ModuleType) -> None:
        self.made = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)

    def value_and_grad(self, params: Any, data: Any, loss: Any = None) -> Any:
        return host(self.made.value_and_grad(there(params), there(data), self.losses(loss)))

    def forward(self, params: Any, data: Any) -> Any:
        return host(self.made.forward(there(params), there(data)))

    def backward(self, params: Any, data: Any, states: Any, direct: Any) -> Any:
        return host(self.made.backward(there(params), there(data), there(states), there(direct)))

    def _objective(self, params: Any, data: Any, states: Any, loss: Any) -> Any:
        return host(self.made._objective(there(params), there(data), there(states), self.losses(loss)))

    def losses(self, loss: Any) -> Any:
        return each(loss, lambda f: lambda *stacks: there(f(*(host(s) for s in stacks))))


class JaxFace(TorchFace):
    """A jax module; with `jit` it is compiled, and losses over arrays are called back from what was compiled."""

    def __init__(self, made: ModuleType, jit: bool) -> None:
        super().__init__(made)
        self.jit = jax.jit if jit else lambda f: f

    def check(self) -> Any:
        with hardly_optimised():
            return self.made.check()

    def value_and_grad(self, params: Any, data: Any, loss: Any = None) -> Any:
        losses = self.losses(loss)
        with double():
            return host(self.jit(lambda p, d: self.made.value_and_grad(p, d, losses))(params, data))

    def forward(self, params: Any, data: Any) -> Any:
        with double():
            return host(self.jit(self.made.forward)(params, data))

    def backward(self, params: Any, data: Any, states: Any, direct: Any) -> Any:
        with double():
            return host(self.jit(self.made.backward)(params, data, states, direct))

    def _objective(self, params: Any, data: Any, states: Any, loss: Any) -> Any:
        with double():
            return host(self.made._objective(params, data, states, self.losses(loss)))

    def losses(self, loss: Any) -> Any:
        return each(loss, called_back)


def face(folder: Path, library: str, name: str, jit: bool = False) -> TorchFace:
    """The module of a model behind NumPy's face."""
    made = module(folder, library, name)
    return TorchFace(made) if library == "torch" else JaxFace(made, jit)


def each(loss: Any, wrapped: Callable[[Any], Any]) -> Any:
    """The loss, or losses by name, wrapped; what is no function stays as it is."""
    if isinstance(loss, Mapping):
        return {name: each(f, wrapped) for name, f in loss.items()}
    return wrapped(loss) if callable(loss) else loss


def called_back(loss: Any) -> Any:
    """A loss over arrays for jax, also where values are not known yet."""
    def called(*stacks: Any) -> Any:
        shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype),
                              loss(*(np.zeros(s.shape, s.dtype) for s in stacks)))
        return jax.pure_callback(lambda *a: loss(*map(np.asarray, a)), shapes, *stacks)
    return called


def there(given: Any) -> Any:
    """Arrays as tensors; numbers and lists as they are."""
    if isinstance(given, Mapping):
        return {name: there(value) for name, value in given.items()}
    if isinstance(given, tuple):
        return tuple(map(there, given))
    if isinstance(given, np.ndarray):
        return torch.from_numpy(given if min(given.strides, default=0) >= 0 else given.copy())
    return given


def host(given: Any) -> Any:
    """Tensors and jax arrays as arrays of NumPy."""
    if isinstance(given, Mapping):
        return {name: host(value) for name, value in given.items()}
    if isinstance(given, tuple):
        return tuple(map(host, given))
    return given.detach().numpy() if isinstance(given, torch.Tensor) else np.asarray(given)


class Truth:
    """A network with what complex steps of its equations say of it."""

    def __init__(self, name: str, T: int) -> None:
        self.network = Network(model(name), T)
        params, data = self.network.params, self.network.data
        self.L = self.network.objective(params, data)
        self.grads = {key: self.network.derivative(key) for key in sorted(self.network.expected)}
        self.direct = self.network.direct(params, data)

    def adjoints(self) -> dict[str, Any]:
        return {family: self.network.adjoint(family) for family in self.network.model.defined}


@cache
def truth(name: str, T: int = 4) -> Truth:
    """The network of a model, made once."""
    return Truth(name, T)


def arrays(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters or data for jax; numbers stay numbers."""
    return {name: jnp.asarray(v) if isinstance(v, np.ndarray) else v for name, v in given.items()}
