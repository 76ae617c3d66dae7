"""Plain NumPy, as tutorials write it: a loop forward, a loop backward, a product for every gate, and every gradient
added to at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Array, Arrays, Case, Result, Run


def sigmoid(z: Array) -> Array:
    return 1 / (1 + np.exp(-z))


def zeros(*groups: Arrays) -> Arrays:
    return {name: np.zeros_like(a) for arrays in groups for name, a in arrays.items() if name != "y"}


def half_square(e: Array) -> Any:
    return (e * e).sum() / 2


def linear(p: Arrays, data: Arrays) -> Result:
    x, y = data["x"], data["y"]
    T, L = len(x), 0.0
    hs, errors = [data["h_0"]], []
    for t in range(T):
        hs.append(x[t] @ p["W_hx"].T + hs[t] @ p["W_hh"].T)
        errors.append(hs[t + 1] @ p["W_qh"].T - y[t])
        L += half_square(errors[t]) / T
    grads = zeros(p, data)
    dh = np.zeros_like(hs[0])
    for t in reversed(range(T)):
        do = errors[t] / T
        dh = dh + do @ p["W_qh"]
        grads["W_qh"] += do.T @ hs[t + 1]
        grads["W_hx"] += dh.T @ x[t]
        grads["W_hh"] += dh.T @ hs[t]
        grads["x"][t] = dh @ p["W_hx"]
        dh = dh @ p["W_hh"]
    grads["h_0"] = dh
    return L, grads


def elman(p: Arrays, data: Arrays) -> Result:
    x, y = data["x"], data["y"]
    T, L = len(x), 0.0
    hs, errors = [data["h_0"]], []
    for t in range(T):
        hs.append(np.tanh(x[t] @ p["W_hx"].T + hs[t] @ p["W_hh"].T + p["b_h"]))
        errors.append(hs[t + 1] @ p["W_qh"].T + p["b_q"] - y[t])
        L += half_square(errors[t]) / T
    grads = zeros(p, data)
    dh = np.zeros_like(hs[0])
    for t in reversed(range(T)):
        do = errors[t] / T
        dh = dh + do @ p["W_qh"]
        grads["W_qh"] += do.T @ hs[t + 1]
        grads["b_q"] += do.sum(0)
        dz = dh * (1 - hs[t + 1] ** 2)
        grads["W_hx"] += dz.T @ x[t]
        grads["W_hh"] += dz.T @ hs[t]
        grads["b_h"] += dz.sum(0)
        grads["x"][t] = dz @ p["W_hx"]
        dh = dz @ p["W_hh"]
    grads["h_0"] = dh
    return L, grads


def lstm(p: Arrays, data: Arrays) -> Result:
    x, y = data["x"], data["y"]
    T, L = len(x), 0.0
    hs, cs, gates, errors = [data["h_0"]], [data["c_0"]], [], []
    for t in range(T):
        i = sigmoid(x[t] @ p["W_i"].T + hs[t] @ p["U_i"].T + p["b_i"])
        f = sigmoid(x[t] @ p["W_f"].T + hs[t] @ p["U_f"].T + p["b_f"])
        o = sigmoid(x[t] @ p["W_o"].T + hs[t] @ p["U_o"].T + p["b_o"])
        g = np.tanh(x[t] @ p["W_g"].T + hs[t] @ p["U_g"].T + p["b_g"])
        gates.append((i, f, o, g))
        cs.append(f * cs[t] + i * g)
        hs.append(o * np.tanh(cs[t + 1]))
        errors.append(hs[t + 1] @ p["W_p"].T + p["b_p"] - y[t])
        L += half_square(errors[t]) / T
    grads = zeros(p, data)
    dh, dc = np.zeros_like(hs[0]), np.zeros_like(cs[0])
    for t in reversed(range(T)):
        i, f, o, g = gates[t]
        dp = errors[t] / T
        grads["W_p"] += dp.T @ hs[t + 1]
        grads["b_p"] += dp.sum(0)
        dh = dh + dp @ p["W_p"]
        squashed = np.tanh(cs[t + 1])
        dc = dc + dh * o * (1 - squashed ** 2)
        before = {"i": dc * g * i * (1 - i), "f": dc * cs[t] * f * (1 - f), "o": dh * squashed * o * (1 - o),
                  "g": dc * i * (1 - g ** 2)}
        dc = dc * f
        dh = np.zeros_like(dh)
        for gate, dz in before.items():
            grads[f"W_{gate}"] += dz.T @ x[t]
            grads[f"U_{gate}"] += dz.T @ hs[t]
            grads[f"b_{gate}"] += dz.sum(0)
            grads["x"][t] += dz @ p[f"W_{gate}"]
            dh += dz @ p[f"U_{gate}"]
    grads["h_0"], grads["c_0"] = dh, dc
    return L, grads


def gru(p: Arrays, data: Arrays) -> Result:
    x, y = data["x"], data["y"]
    T, L = len(x), 0.0
    hs, gates, errors = [data["h_0"]], [], []
    for t in range(T):
        r = sigmoid(x[t] @ p["W_r"].T + hs[t] @ p["U_r"].T)
        z = sigmoid(x[t] @ p["W_z"].T + hs[t] @ p["U_z"].T)
        n = np.tanh(x[t] @ p["W"].T + (r * hs[t]) @ p["U"].T)
        gates.append((r, z, n))
        hs.append(z * hs[t] + (1 - z) * n)
        errors.append(hs[t + 1] @ p["W_p"].T + p["b_p"] - y[t])
        L += half_square(errors[t]) / T
    grads = zeros(p, data)
    dh = np.zeros_like(hs[0])
    for t in reversed(range(T)):
        r, z, n = gates[t]
        dp = errors[t] / T
        grads["W_p"] += dp.T @ hs[t + 1]
        grads["b_p"] += dp.sum(0)
        dh = dh + dp @ p["W_p"]
        dn = dh * (1 - z) * (1 - n ** 2)
        dreset = dn @ p["U"]
        dr = dreset * hs[t] * r * (1 - r)
        dz = dh * (hs[t] - n) * z * (1 - z)
        grads["W"] += dn.T @ x[t]
        grads["U"] += dn.T @ (r * hs[t])
        grads["W_r"] += dr.T @ x[t]
        grads["U_r"] += dr.T @ hs[t]
        grads["W_z"] += dz.T @ x[t]
        grads["U_z"] += dz.T @ hs[t]
        grads["x"][t] = dn @ p["W"] + dr @ p["W_r"] + dz @ p["W_z"]
        dh = dh * z + dreset * r + dr @ p["U_r"] + dz @ p["U_z"]
    grads["h_0"] = dh
    return L, grads


def gru_reset_after(p: Arrays, data: Arrays) -> Result:
    x, y = data["x"], data["y"]
    T, L = len(x), 0.0
    hs, gates, errors = [data["h_0"]], [], []
    for t in range(T):
        r = sigmoid(x[t] @ p["W_r"].T + hs[t] @ p["U_r"].T + p["b_r"])
        z = sigmoid(x[t] @ p["W_z"].T + hs[t] @ p["U_z"].T + p["b_z"])
        m = hs[t] @ p["U_n"].T + p["c_n"]
        n = np.tanh(x[t] @ p["W_n"].T + p["b_n"] + r * m)
        gates.append((r, z, m, n))
        hs.append((1 - z) * n + z * hs[t])
        errors.append(hs[t + 1] @ p["W_p"].T + p["b_p"] - y[t])
        L += half_square(errors[t]) / T
    grads = zeros(p, data)
    dh = np.zeros_like(hs[0])
    for t in reversed(range(T)):
        r, z, m, n = gates[t]
        dp = errors[t] / T
        grads["W_p"] += dp.T @ hs[t + 1]
        grads["b_p"] += dp.sum(0)
        dh = dh + dp @ p["W_p"]
        dn = dh * (1 - z) * (1 - n ** 2)
        dm = dn * r
        dr = dn * m * r * (1 - r)
        dz = dh * (hs[t] - n) * z * (1 - z)
        grads["W_n"] += dn.T @ x[t]
        grads["b_n"] += dn.sum(0)
        grads["U_n"] += dm.T @ hs[t]
        grads["c_n"] += dm.sum(0)
        grads["x"][t] = dn @ p["W_n"]
        dh = dh * z + dm @ p["U_n"]
        for gate, delta in (("r", dr), ("z", dz)):
            grads[f"W_{gate}"] += delta.T @ x[t]
            grads[f"U_{gate}"] += delta.T @ hs[t]
            grads[f"b_{gate}"] += delta.sum(0)
            grads["x"][t] += delta @ p[f"W_{gate}"]
            dh += delta @ p[f"U_{gate}"]
    grads["h_0"] = dh
    return L, grads


LOOPS: dict[str, Callable[[Arrays, Arrays], Result]] = {
    "linear": linear, "elman": elman, "lstm": lstm, "gru": gru, "gru-reset-after": gru_reset_after}


def prepare(case: Case) -> Run:
    """The loops with the arrays of a case."""
    loop = LOOPS[case.model]
    return Run(lambda: loop(case.params, case.data), lambda found: found)
