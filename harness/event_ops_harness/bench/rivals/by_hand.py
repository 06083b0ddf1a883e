"""Numba by hand: the loops that one writes in five minutes, serial and without checks."""

from typing import Any, Final

import numba
import numpy as np

from event_ops_harness.bench.steps import LIFETIME, Problem
from event_ops_harness.bench.timing import Steps, repeated
from event_ops_harness.bench.workers.by_hand import matvec

NAME: Final = "Numba by hand"


@numba.njit
def scatter_rows(weights: Any, indices: Any, indptr: Any, bank: Any, steps: int, y: Any) -> None:
    """Compute y = A.T @ events `steps` times."""
    homogeneous = weights.size == 1
    for step in range(steps):
        events = bank[step % bank.shape[0]]
        y[:] = 0
        for i in range(events.size):
            if events[i]:
                for k in range(indptr[i], indptr[i + 1]):
                    y[indices[k]] += weights[0] if homogeneous else weights[k]


@numba.njit
def gather_rows(weights: Any, indices: Any, indptr: Any, bank: Any, steps: int, y: Any) -> None:
    """Compute y = A @ events `steps` times."""
    homogeneous = weights.size == 1
    for step in range(steps):
        events = bank[step % bank.shape[0]]
        for i in range(y.size):
            total = y.dtype.type(0)
            for k in range(indptr[i], indptr[i + 1]):
                if events[indices[k]]:
                    total += weights[0] if homogeneous else weights[k]
            y[i] = total


@numba.njit
def expsyn(decays: Any, weights: Any, indices: Any, indptr: Any, bank: Any, steps: int, g: Any) -> None:
    """Compute g = g * decay + A.T @ spikes `steps` times."""
    homogeneous = weights.size == 1
    flat = g.reshape(-1)
    for step in range(steps):
        spikes = bank[step % bank.shape[0]]
        for channel in range(g.shape[0]):
            for j in range(g.shape[1]):
                g[channel, j] *= decays[channel]
        for i in range(spikes.size):
            if spikes[i]:
                for k in range(indptr[i], indptr[i + 1]):
                    flat[indices[k]] += weights[0] if homogeneous else weights[k]


@numba.njit
def lif(V: Any, refractory: Any, I_syn: Any, spikes: Any, parameters: Any, steps: int) -> None:
    """Take `steps` steps of `lif_step`; parameters are decay, E_L, V_th, V_reset, t_ref, dt."""
    decay, E_L, V_th, V_reset, t_ref, dt = parameters
    for _ in range(steps):
        for i in range(V.size):
            spikes[i] = False
            if refractory[i] > dt / 2:
                refractory[i] = max(refractory[i] - dt, 0)
                continue
            refractory[i] = 0
            V_inf = E_L + I_syn[i]
            V[i] = V_inf + (V[i] - V_inf) * decay
            if V[i] > V_th:
                V[i], refractory[i], spikes[i] = V_reset, t_ref, True


def _matvec(problem: Problem) -> Steps | None:
    if problem.kwargs.get("transpose") or not np.ndim(problem.args[0]):
        return None
    matvec(*problem.args)
    return Steps(repeated(lambda: matvec(*problem.args)))


def _event_matvec(problem: Problem) -> Steps | None:
    if problem.per == "call":
        return None
    data, indices, indptr, _ = problem.args
    rows, columns = problem.kwargs["shape"]
    transpose = problem.kwargs.get("transpose")
    # One weight for all is an array of one: kernels have one signature.
    weights, y = np.atleast_1d(data), np.empty(columns if transpose else rows, data.dtype)
    kernel = scatter_rows if transpose else gather_rows

    def run(steps: int) -> np.ndarray:
        kernel(weights, indices, indptr, problem.bank, steps, y)
        return y

    run(0)  # compiles
    return Steps(run)


def _expsyn(problem: Problem) -> Steps:
    g, data, indices, indptr, _ = problem.args
    decays = np.exp(-problem.kwargs["dt"] / problem.kwargs["tau"]).reshape(-1).astype(g.dtype)
    matrix = np.atleast_1d(data), indices, indptr

    def run(steps: int) -> np.ndarray:
        state = g.copy()
        expsyn(decays, *matrix, problem.bank, steps, state)
        return state

    run(0)  # compiles
    return Steps(run)


def _lif(problem: Problem) -> Steps:
    V_first, refractory_first, I_syn = problem.args
    values = problem.kwargs
    decay = np.exp(-values["dt"] / values["tau_m"])
    names = ("E_L", "V_th", "V_reset", "t_ref", "dt")
    parameters = tuple(V_first.dtype.type(x) for x in (decay, *(values[name] for name in names)))
    V, refractory, spikes = V_first.copy(), refractory_first.copy(), np.zeros(V_first.shape, bool)
    age = 0

    def run(steps: int) -> tuple[np.ndarray, ...]:
        nonlocal age
        while steps:
            if age == LIFETIME:
                V[:], refractory[:], age = V_first, refractory_first, 0
            chunk = min(steps, LIFETIME - age)
            lif(V, refractory, I_syn, spikes, parameters, chunk)
            age, steps = age + chunk, steps - chunk
        return V, refractory, spikes

    lif(V, refractory, I_syn, spikes, parameters, 0)
    return Steps(run)


OFFERS: Final = {
    "csr_event_matvec": {NAME: _event_matvec},
    "csr_matvec": {NAME: _matvec},
    "expsyn_step": {NAME: _expsyn},
    "lif_step": {NAME: _lif},
}
