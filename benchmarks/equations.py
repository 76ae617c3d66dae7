"""One step of every model, for arrays of any library: samples are rows, so that W x stands as x @ W.T."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Functions:
    """The functions of one library."""

    tanh: Callable[[Any], Any]
    sigmoid: Callable[[Any], Any]


State = tuple[Any, ...]
Step = Callable[[Functions, dict[str, Any], State, Any], tuple[State, Any]]


def linear(f: Functions, p: dict[str, Any], state: State, x: Any) -> tuple[State, Any]:  # noqa: ARG001
    h, = state
    h = x @ p["W_hx"].T + h @ p["W_hh"].T
    return (h,), h @ p["W_qh"].T


def elman(f: Functions, p: dict[str, Any], state: State, x: Any) -> tuple[State, Any]:
    h, = state
    h = f.tanh(x @ p["W_hx"].T + h @ p["W_hh"].T + p["b_h"])
    return (h,), h @ p["W_qh"].T + p["b_q"]


def lstm(f: Functions, p: dict[str, Any], state: State, x: Any) -> tuple[State, Any]:
    h, c = state
    i = f.sigmoid(x @ p["W_i"].T + h @ p["U_i"].T + p["b_i"])
    forget = f.sigmoid(x @ p["W_f"].T + h @ p["U_f"].T + p["b_f"])
    o = f.sigmoid(x @ p["W_o"].T + h @ p["U_o"].T + p["b_o"])
    g = f.tanh(x @ p["W_g"].T + h @ p["U_g"].T + p["b_g"])
    c = forget * c + i * g
    h = o * f.tanh(c)
    return (h, c), h @ p["W_p"].T + p["b_p"]


def gru(f: Functions, p: dict[str, Any], state: State, x: Any) -> tuple[State, Any]:
    h, = state
    r = f.sigmoid(x @ p["W_r"].T + h @ p["U_r"].T)
    z = f.sigmoid(x @ p["W_z"].T + h @ p["U_z"].T)
    n = f.tanh(x @ p["W"].T + (r * h) @ p["U"].T)
    h = z * h + (1 - z) * n
    return (h,), h @ p["W_p"].T + p["b_p"]


def gru_reset_after(f: Functions, p: dict[str, Any], state: State, x: Any) -> tuple[State, Any]:
    h, = state
    r = f.sigmoid(x @ p["W_r"].T + h @ p["U_r"].T + p["b_r"])
    z = f.sigmoid(x @ p["W_z"].T + h @ p["U_z"].T + p["b_z"])
    n = f.tanh(x @ p["W_n"].T + p["b_n"] + r * (h @ p["U_n"].T + p["c_n"]))
    h = (1 - z) * n + z * h
    return (h,), h @ p["W_p"].T + p["b_p"]


STEPS: dict[str, Step] = {"linear": linear, "elman": elman, "lstm": lstm, "gru": gru,
                          "gru-reset-after": gru_reset_after}
