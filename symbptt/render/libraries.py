"""How torch and jax write the functions of array expressions."""

from __future__ import annotations

from symbptt.render.arrays import NUMPY, Library

OWN = {name: pattern for name, pattern in {**NUMPY.functions, **NUMPY.maps}.items() if pattern.startswith("_")}
"""What a module brings along under the same name, whatever the library."""

COMMON = {
    **{name: OWN[name] for name in ("dot", "apply", "outer", "blocks of samples", "put among", "put among rows",
                                    "at last", "count", "stack")},
    "elementwise power": NUMPY.functions["elementwise power"],
    "only row": NUMPY.functions["only row"],
    "as a column": NUMPY.functions["as a column"],
    "as a row": NUMPY.functions["as a row"],
    "as rows": NUMPY.functions["as rows"],
    "as steps": "{0:atom}.reshape({1}, {2}, {3})",
    "swapped": NUMPY.functions["swapped"],
    "stack back": NUMPY.functions["stack back"],
    "stack ahead": "_ahead({1}, {0})",
    "stack behind": "_behind({1}, {rest2})",
    "step or zeros": "_at({0}, {1})",
    "steps from": NUMPY.functions["steps from"],
    "at index": "{0:atom}[{1}]",
}
"""What both write in one way."""

TORCH = Library("torch", {
    **COMMON,
    "zeros": "torch.zeros({shape}, dtype=dtype, device=device)",
    "ones": "torch.ones({shape}, dtype=dtype, device=device)",
    "zeros like": "torch.zeros_like({0})",
    "identity": "torch.eye({0}, dtype=dtype, device=device)",
    "power": "torch.linalg.matrix_power({0}, {1})",
    "beside": "torch.cat({0}, dim=-1)",
    "blocks": "_block({0})",
    "spread": "{0:atom}.expand({1}, {2})",
    "sum over samples": "{0:atom}.sum(0)",
    "sum over samples, a row": "{0:atom}.sum(0, keepdim=True)",
    "total": "{0:atom}.sum(-1, keepdim=True)",
    "sum of entries": "{0:atom}.sum()",
    "copy": "{0:atom}.clone()",
    "in one dtype": "{0:atom}.to(dtype)",
    "stacked parameters": "torch.cat({0})",
    "tiled": "{0:atom}.repeat(T, 1)",
    "sum over steps": "{0:atom}.reshape(T, {1}, {2}).sum(0)",
    "and": "torch.cat([{0:atom}.reshape(-1), {1:atom}.reshape(-1)])",
}, {
    **{name: OWN[name] for name in ("leaky_relu", "softsign", "hard_tanh", "step")},
    "tanh": "torch.tanh({0})",
    "sigmoid": "torch.sigmoid({0})",
    "relu": "torch.relu({0})",
    "softplus": "_softplus({0})",
    "exp": "torch.exp({0})",
    "sin": "torch.sin({0})",
    "cos": "torch.cos({0})",
    "square": "torch.square({0})",
    "abs": "torch.abs({0})",
    "elu": "torch.nn.functional.elu({0})",
    "silu": "torch.nn.functional.silu({0})",
    "sign": "torch.sign({0})",
    "softmax": "torch.softmax({0}, dim=-1)",
    "log_softmax": "torch.log_softmax({0}, dim=-1)",
})

JAX = Library("jax", {
    **COMMON,
    "zeros": "jnp.zeros({shape}, dtype)",
    "ones": "jnp.ones({shape}, dtype)",
    "zeros like": "jnp.zeros_like({0})",
    "identity": "jnp.eye({0}, dtype=dtype)",
    "power": "jnp.linalg.matrix_power({0}, {1})",
    "beside": "jnp.concatenate({0}, axis=-1)",
    "blocks": "jnp.block({0})",
    "spread": "jnp.broadcast_to({0}, ({1}, {2}))",
    "sum over samples": "{0:atom}.sum(axis=0)",
    "sum over samples, a row": "{0:atom}.sum(axis=0, keepdims=True)",
    "total": "{0:atom}.sum(axis=-1, keepdims=True)",
    "sum of entries": "{0:atom}.sum()",
    "copy": "{0}",
    "in one dtype": "{0:atom}.astype(dtype)",
    "stacked parameters": "jnp.concatenate({0})",
    "tiled": "jnp.tile({0}, (T, 1))",
    "sum over steps": "{0:atom}.reshape(T, {1}, {2}).sum(axis=0)",
    "and": "jnp.append({0}, {1})",
}, {
    **{name: OWN[name] for name in ("leaky_relu", "softsign", "hard_tanh", "step")},
    "tanh": "jnp.tanh({0})",
    "sigmoid": "jax.nn.sigmoid({0})",
    "relu": "jax.nn.relu({0})",
    "softplus": "jax.nn.softplus({0})",
    "exp": "jnp.exp({0})",
    "sin": "jnp.sin({0})",
    "cos": "jnp.cos({0})",
    "square": "jnp.square({0})",
    "abs": "jnp.abs({0})",
    "elu": "jax.nn.elu({0})",
    "silu": "jax.nn.silu({0})",
    "sign": "jnp.sign({0})",
    "softmax": "jax.nn.softmax({0}, axis=-1)",
    "log_softmax": "jax.nn.log_softmax({0}, axis=-1)",
})
