"""Loops written by hand in Numba for what `bench scaling` measures, serial and without checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numba
import numpy as np

from event_ops_harness.bench.steps import LIFETIME, Problem
from event_ops_harness.bench.timing import Run, repeated

NAME: Final = "Numba by hand"


@numba.njit
def matvec_by_hand(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
    """y = A @ v."""
    for i in range(y.size):
        total = y.dtype.type(0)
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * v[indices[k]]
        y[i] = total


@numba.njit
def lif_by_hand(V: Any, held: Any, I_syn: Any, spikes: Any, parameters: Any, steps: int) -> None:
    """`steps` steps of `lif_step`; parameters are decay, E_L, V_th, V_reset, t_ref, dt."""
    decay, E_L, V_th, V_reset, t_ref, dt = parameters
    for _ in range(steps):
        for i in range(V.size):
            spikes[i] = False
            if held[i] > dt / 2:
                held[i] = max(held[i] - dt, 0)
                continue
            held[i] = 0
            V_inf = E_L + I_syn[i]
            V[i] = V_inf + (V[i] - V_inf) * decay
            if V[i] > V_th:
                V[i], held[i], spikes[i] = V_reset, t_ref, True


def _matvec(problem: Problem) -> Run:
    data, indices, indptr, v = problem.args
    y = np.empty(indptr.size - 1, data.dtype)
    return repeated(lambda: matvec_by_hand(data, indices, indptr, v, y))


def _lif(problem: Problem) -> Run:
    V_m, refractory, I_syn = problem.args
    values = dict(problem.kwargs)
    decay = np.exp(-values["dt"] / values.pop("tau_m"))
    names = ("E_L", "V_th", "V_reset", "t_ref", "dt")
    parameters = tuple(V_m.dtype.type(x) for x in (decay, *(values[name] for name in names)))
    V, held, spikes = V_m.copy(), refractory.copy(), np.zeros(V_m.shape, bool)
    age = 0

    def run(steps: int) -> None:
        nonlocal age
        while steps:
            if age == LIFETIME:
                V[:], held[:], age = V_m, refractory, 0
            chunk = min(steps, LIFETIME - age)
            lif_by_hand(V, held, I_syn, spikes, parameters, chunk)
            age, steps = age + chunk, steps - chunk

    return run


BY_HAND: Final[Mapping[str, Callable[[Problem], Run]]] = {"csr_matvec": _matvec, "lif_step": _lif}


def by_hand(problem: Problem) -> dict[str, Run]:
    """The loop for this operator; empty where `peers` has it."""
    make = BY_HAND.get(problem.operator.name)
    return {NAME: make(problem)} if make else {}
