"""The rivals of each operator: libraries, and loops written by hand."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import jax.numpy as jnp
import numba
import numpy as np

from event_ops_harness.bench.timing import Work

# How many different event vectors a loop over steps goes through.
EVENT_BANK: Final = 16

Rivals = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Work]]


@numba.njit
def scatter_rows_by_hand(weights: Any, indices: Any, indptr: Any, bank: Any, steps: int, y: Any) -> None:
    """`steps` times y = A.T @ events: what one writes in five minutes, serial, without checks."""
    homogeneous = weights.size == 1
    for step in range(steps):
        events = bank[step % bank.shape[0]]
        y[:] = 0
        for i in range(events.size):
            if events[i]:
                for k in range(indptr[i], indptr[i + 1]):
                    y[indices[k]] += weights[0] if homogeneous else weights[k]


@numba.njit
def gather_rows_by_hand(weights: Any, indices: Any, indptr: Any, bank: Any, steps: int, y: Any) -> None:
    """`steps` times y = A @ events, serial, without checks."""
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
def expsyn_by_hand(
    decays: Any, weights: Any, indices: Any, indptr: Any, bank: Any, steps: int, g: Any
) -> None:
    """`steps` times g = g * decay + A.T @ spikes, serial, without checks."""
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


def _expsyn_rivals(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Work]:
    g, data, indices, indptr, bank, steps = args
    decays = np.exp(-kwargs["dt"] / kwargs["tau"]).reshape(-1).astype(g.dtype)
    weights, state = np.atleast_1d(np.asarray(data)), g.copy()
    return {"Numba by hand": lambda: expsyn_by_hand(decays, weights, indices, indptr, bank, steps, state)}


def _event_rivals(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Work]:
    data, indices, indptr, bank, steps = args
    rows, columns = kwargs["shape"]
    weights = np.atleast_1d(np.asarray(data))
    by_hand = scatter_rows_by_hand if kwargs.get("transpose") else gather_rows_by_hand
    y = np.empty(columns if kwargs.get("transpose") else rows, weights.dtype)
    return {"Numba by hand": lambda: by_hand(weights, indices, indptr, bank, steps, y)}


@functools.cache
def mkl() -> tuple[Callable[..., Any] | None, str]:
    """MKL's sparse product, or None and the reason why it is not here."""
    try:
        return importlib.import_module("sparse_dot_mkl").dot_product_mkl, ""
    except ImportError as error:
        return None, f"MKL is skipped: {error}"


def _scatter_rivals(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Work]:
    target, indices, updates = args
    device = tuple(map(jnp.asarray, args))
    at_add = jax.jit(lambda t, i, u: t.at[i].add(u))
    positive = np.where(indices < 0, indices + target.size, indices)

    def ufunc_at() -> Any:
        y = target.copy()
        np.add.at(y, positive, updates)
        return y

    return {
        "jnp .at[].add": lambda: jax.block_until_ready(at_add(*device)),
        "np.add.at": ufunc_at,
        "np.bincount": lambda: target + np.bincount(positive, updates, minlength=target.size),
    }


RIVALS: Final[Mapping[str, Rivals]] = {
    "csr_event_matvec": _event_rivals,
    "expsyn_step": _expsyn_rivals,
    "scatter_add": _scatter_rivals,
}
