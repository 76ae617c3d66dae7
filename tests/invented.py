"""Models that no one has named: a hypothesis strategy for model files over the whole vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

SIZES = ("d", "h", "q", "k")
SMOOTH = ("tanh", "sigmoid", "softplus", "sin", "cos", "silu", "identity", "softsign")
KINKED = ("relu", "abs", "leaky_relu", "elu", "hard_tanh")
BOUNDED = ("tanh", "sigmoid", "softsign", "hard_tanh", "softmax", "sin")
NUMBERS = ("0.5", "2", "1/3", "0.25", "3")


@dataclass
class Draft:
    """A model under construction: names with their sizes, and the equations written so far."""

    draw: Callable[[st.SearchStrategy], object]
    kinks: bool
    parameters: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    initial: dict[str, str] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)
    equations: dict[str, str] = field(default_factory=dict)
    losses: list[dict[str, str]] = field(default_factory=list)

    def pick(self, *options: object) -> object:
        """One of the options."""
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        """True that often."""
        return self.draw(st.integers(1, 100)) <= percent

    def parameter(self, shape: str) -> str:
        """A parameter of that shape, shared with others now and then."""
        known = [name for name, has in self.parameters.items() if has == shape]
        if known and self.chance(35):
            return str(self.pick(*known))
        name = f"{'W' if ',' in shape else 'b'}_{'abcdefghjklmnopqrsuvwxyz'[len(self.parameters) % 24]}" \
               f"{'x' * (len(self.parameters) // 24)}"
        self.parameters[name] = shape
        return name

    def members(self, size: str) -> list[str]:
        """What may be read: inputs, targets and states of earlier steps, what is defined already, static data."""
        found = [name + past for name, has in self.inputs.items() if has == size for past in ("", "", "[t-1]")]
        found += [f"{name}[t-1]" for name, has in self.targets.items() if has == size and self.chance(20)]
        found += [f"{name}[t-{lag}]" for name, has in self.states.items() if has == size for lag in (1, 1, 1, 2)]
        found += [name for name, has in self.done.items() if has == size]
        return found + [name for name, has in self.static.items() if has == size]

    def column(self, size: str, depth: int) -> str:
        """An expression of that many rows."""
        members = self.members(size)
        if depth <= 0:
            if members and self.chance(70):
                return str(self.pick(*members))
            return self.parameter(size) if self.chance(40) else self.product(size, 0)
        kinds = ["product", "product", "sum", "hadamard", "function", "number", "scalar", "slice", "member", "gated"]
        kind = self.pick(*kinds)
        if kind == "product" or (kind == "member" and not members):
            return self.product(size, depth)
        if kind == "member":
            return str(self.pick(*members))
        if kind == "sum":
            a, b = self.column(size, depth - 1), self.column(size, depth - 1)
            return f"({a} {self.pick('+', '-')} {b})"
        if kind == "hadamard":
            return f"({self.column(size, depth - 1)}) * ({self.column(size, depth - 1)})"
        if kind == "function":
            names = SMOOTH + (KINKED if self.kinks else ()) + ("softmax", "log_softmax")
            return f"{self.pick(*names)}({self.column(size, depth - 1)})"
        if kind == "number":
            return self.numbered(size, depth)
        if kind == "scalar":
            other = str(self.pick(*SIZES))
            return f"dot({self.column(other, depth - 1)}, {self.column(other, 0)}) * ({self.column(size, depth - 1)})"
        if kind == "gated":
            return self.gated(size)
        return self.sliced(size, depth)

    def gated(self, size: str) -> str:
        """Entry by entry: inputs, a row of a state or a gate of inputs alone, times what comes from an earlier step."""
        inputs = [name for name, has in self.inputs.items() if has == size]
        state, other = self.pick(*self.states.items())
        within = self.product_of(size, str(other), f"{state}[t-1]")
        reading, has = self.pick(*self.inputs.items())
        gate = f"sigmoid({self.product_of(size, str(has), str(reading))})"
        row = f"{self.parameter(f'1, {other}')} @ {state}[t-1]"
        forms = [f"{gate} * ({within})", f"(1 - {row}) * tanh({within})", f"sigmoid({row}) * ({within})"]
        return f"({self.pick(*forms, *(f'{name} * ({within})' for name in inputs))})"

    def product_of(self, size: str, other: str, column: str) -> str:
        """A matrix of parameters times a column."""
        return f"{self.parameter(f'{size}, {other}')} @ {column}"

    def numbered(self, size: str, depth: int) -> str:
        """With numbers and constants."""
        inner = self.column(size, depth - 1)
        form = self.pick("(1 - {})", "({} + {n})", "{n}*({})", "({})/2", "-({})", "{c}*({})", "({})/{c}")
        if "{c}" in str(form):
            self.constants["gamma"] = "a number"
        return str(form).format(inner, n=self.pick(*NUMBERS), c="gamma")

    def product(self, size: str, depth: int) -> str:
        """A matrix times a column: plain, transposed, over a concatenation, or of two parameters entry by entry."""
        other = str(self.pick(*SIZES))
        inner = self.column(other, depth - 1)
        form = self.pick("plain", "plain", "plain", "transposed", "concat", "masked")
        if form == "transposed":
            return f"{self.parameter(f'{other}, {size}')}.T @ ({inner})"
        if form == "concat":
            third = str(self.pick(*SIZES))
            return f"{self.parameter(f'{size}, {other} + {third}')} @ concat({inner}, {self.column(third, depth - 1)})"
        w = self.parameter(f"{size}, {other}")
        if form == "masked":
            return f"({w} * tanh({self.parameter(f'{size}, {other}')})) @ ({inner})"
        return f"{w} @ ({inner})"

    def sliced(self, size: str, depth: int) -> str:
        """Rows of a packed matrix or column."""
        other = str(self.pick(*SIZES))
        rows = self.pick(f"[:{size}]", f"[{size}:]", f"[{size}:2*{size}]")
        if self.chance(30):
            return f"{self.parameter(f'2*{size}')}{rows}"
        return f"{self.parameter(f'2*{size}, {other}')}{rows} @ ({self.column(other, depth - 1)})"

    def bounded(self, name: str, size: str) -> str:
        """The right-hand side of a state, kept bounded over a few steps."""
        inner = self.column(size, int(str(self.pick("1", "2", "2"))))
        past = f"{name}[t-{self.pick(1, 1, 1, 2)}]"
        form = self.pick("{f}({e})", "{f}({e} + {w} @ {p})", "0.5*{p} + 0.5*{f}({e})", "{s}*{p} + (1 - {s})*{f}({e})",
                         "0.3*({w} @ {p}) + 0.5*{f}({e})")
        return str(form).format(f=self.pick(*BOUNDED), e=inner, p=past, w=self.parameter(f"{size}, {size}"),
                                s=f"sigmoid({self.column(size, 1)})")

    def text(self, name: str) -> str:
        """The model file."""
        def table(title: str, entries: dict[str, str]) -> str:
            return f"[{title}]\n" + "".join(f'{k} = "{v}"\n' for k, v in entries.items()) + "\n" if entries else ""

        used = " ".join([*self.parameters.values(), *self.inputs.values(), *self.states.values(), *self.done.values(),
                         *self.targets.values(), *self.static.values()])
        sizes = {s: "a size" for s in SIZES if s in used.replace(",", " ").replace("*", " ").split()}
        parts = [f'name = "{name}"\n', table("sizes", sizes), table("parameters", self.parameters),
                 table("inputs", self.inputs), table("targets", self.targets), table("states", self.states),
                 table("static", self.static), table("constants", self.constants), table("initial", self.initial),
                 table("equations", self.equations)]
        parts += ["[[loss]]\n" + "".join(f'{k} = "{v}"\n' for k, v in loss.items()) for loss in self.losses]
        return "\n".join(parts)


@st.composite
def model_texts(draw: Callable[[st.SearchStrategy], object], kinks: bool = False) -> str:
    """The text of a model file: random sizes, states, lags, equations, losses; its states stay bounded."""
    draft = Draft(draw, kinks)
    draft.inputs["x"] = str(draft.pick(*SIZES))
    if draft.chance(25):
        draft.inputs["v"] = str(draft.pick(*SIZES))
    for name in ("h", "c", "r")[:int(str(draft.pick("1", "1", "2", "3")))]:
        draft.states[f"{name}s"] = str(draft.pick(*SIZES))
    if draft.chance(20):
        draft.static["z"] = str(draft.pick(*SIZES))
    targets = [str(draft.pick(*SIZES)) for _ in range(int(str(draft.pick("1", "1", "2"))))]
    draft.targets |= {f"y{'yz'[k:] if k else ''}": size for k, size in enumerate(targets)}
    for k in range(int(str(draft.pick("0", "1", "2")))):
        size = str(draft.pick(*SIZES))
        draft.equations[f"g{'ab'[k]}"] = draft.column(size, 2)
        draft.done[f"g{'ab'[k]}"] = size
    for name, size in draft.states.items():
        draft.equations[name] = draft.bounded(name, size)
        draft.done[name] = size
    for k, (target, size) in enumerate(list(draft.targets.items())):
        output = f"o{'ab'[k]}"
        if draft.chance(70) or size not in draft.states.values():
            draft.equations[output] = draft.product(size, 1)
            draft.done[output] = size
        else:
            output = next(name for name, has in draft.states.items() if has == size)
        _losses(draft, output, target)
    if draft.chance(15):
        weight = str(draft.pick(*draft.parameters))
        draft.losses.append({"term": f"0.1*squared_norm({weight})", "reduce": "once"})
    return _started(draft)


def _losses(draft: Draft, output: str, target: str) -> None:
    name = draft.pick("l", "squared_error", "softmax_cross_entropy")
    loss = {"term": f"{draft.pick('', '', '0.5*', '2*')}{name}({output}, {target})",
            "reduce": str(draft.pick("mean", "sum", "last"))}
    if name == "softmax_cross_entropy" and draft.chance(50):
        loss["assume"] = f"sum({target}) == 1"
    if loss["reduce"] != "last" and draft.chance(20):
        draft.targets.setdefault("mask", "1")
        loss["mask"] = "mask"
    draft.losses.append(loss)


def _started(draft: Draft) -> str:
    """The text; now and then with an initial value that is computed, when something reads it."""
    written = " ".join(draft.equations.values())
    for state, size in draft.states.items():
        if f"{state}[t-" in written and draft.chance(15):
            draft.initial[f"{state}_0"] = f"tanh({draft.parameter(size)})"
    return draft.text("invented")
