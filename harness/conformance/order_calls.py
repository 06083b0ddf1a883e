"""Calls of the operators that take the keyword `deterministic`, on inputs whose sums depend on the order."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

import event_ops as eo
from event_ops.cases.draw import Draw

ROWS, COLUMNS, PER_ROW = 60, 3, 4
SHAPE = (ROWS, COLUMNS)


def wide_numbers(rng: np.random.Generator, *shape: int) -> Any:
    """Return numbers of many magnitudes: their sum depends on the order."""
    return jnp.asarray(rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape), jnp.float32)


def made() -> dict[str, Callable[..., Any]]:
    """Return name -> the operator as a function of its keywords, on inputs that meet at few places."""
    rng = np.random.default_rng(3)
    nse = ROWS * PER_ROW
    _, indices, indptr = map(jnp.asarray, Draw(rng, "float32", "int32").csr(SHAPE, nse))
    data, v, B = wide_numbers(rng, nse), wide_numbers(rng, ROWS), wide_numbers(rng, ROWS, 2)
    spikes = jnp.asarray(rng.random(ROWS) < 0.8)
    ids = jnp.asarray(rng.integers(0, COLUMNS, (ROWS, PER_ROW)), jnp.int32)
    delays, slot = jnp.asarray(rng.integers(0, 2, nse), jnp.int32), jnp.int32(1)
    buffer, g = jnp.ones((2, COLUMNS), jnp.float32), jnp.ones(COLUMNS, jnp.float32)
    csr, to_columns = (data, indices, indptr), {"shape": SHAPE, "transpose": True}
    ell = data.reshape(ROWS, PER_ROW), ids
    same_places, factors = (jnp.zeros(ROWS, jnp.int32), v), 1 + jnp.tanh(v) / 9
    duplicates = jnp.zeros(nse, jnp.int32), jnp.asarray([0, nse], jnp.int32)
    weights, events = wide_numbers(rng, 3, 3000), wide_numbers(rng, 3000)
    return {
        "csr_matvec": lambda **how: eo.csr_matvec(*csr, v, **to_columns, **how),
        "csr_matmat": lambda **how: eo.csr_matmat(*csr, B, **to_columns, **how),
        "csr_event_matvec": lambda **how: eo.csr_event_matvec(*csr, spikes, **to_columns, **how),
        "csr_event_matmat": lambda **how: eo.csr_event_matmat(*csr, B, **to_columns, **how),
        "ell_matvec": lambda **how: eo.ell_matvec(*ell, v, **to_columns, **how),
        "ell_event_matvec": lambda **how: eo.ell_event_matvec(*ell, spikes, **to_columns, **how),
        "csr_event_arrivals": lambda **how: eo.csr_event_arrivals(
            spikes.reshape(2, ROWS // 2), *csr, slot, shape=(ROWS // 2, COLUMNS), **how
        ),
        "csr_event_deliver": lambda **how: eo.csr_event_deliver(
            buffer, *csr, delays, spikes, slot, shape=SHAPE, **how
        ),
        "expsyn_step": lambda **how: eo.expsyn_step(g, *csr, spikes, shape=SHAPE, tau=5.0, dt=0.1, **how),
        "csr_todense": lambda **how: eo.csr_todense(data, *duplicates, shape=(1, 1), **how),
        "dense_event_matvec": lambda **how: eo.dense_event_matvec(weights, events, **how),
        "dense_event_matmat": lambda **how: eo.dense_event_matmat(weights, events[:, None], **how),
        "scatter_add": lambda **how: eo.scatter_add(jnp.ones(2, jnp.float32), *same_places, **how),
        "scatter_mul": lambda **how: eo.scatter_mul(jnp.ones(2, jnp.float32), same_places[0], factors, **how),
        "segment_sum": lambda **how: eo.segment_sum(v, jnp.zeros(ROWS, jnp.int32), 2, **how),
    }


CALLS = made()
