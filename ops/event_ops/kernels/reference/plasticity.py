"""Weights that change at spikes: their checks, their bounds, and pair-based STDP, in pure JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import (
    FLOATS,
    check_dtype,
    check_positive,
    check_same_dtype,
    check_shape,
    is_known,
)
from event_ops.checks.csr import check_events
from event_ops.checks.inputs import in_dtype, is_number


def check_weights(w: jax.Array, indices_name: str, indices: jax.Array) -> None:
    """Raise unless `w` holds one float per entry: one weight for all has nothing to tell entries apart."""
    check_dtype("w", w, FLOATS)
    check_shape("w", w, indices.shape, why=f"one weight per entry, as many as {indices_name}")


def check_spikes(name: str, spikes: jax.Array, w: jax.Array, size: int, axis: str) -> None:
    """Raise unless `spikes` are bools, or floats as the weights are, one per row (or column)."""
    check_events(name, spikes, w)
    check_shape(name, spikes, (size,), why=f"one per neuron, that is per {axis}")


def check_trace(name: str, x: jax.Array, w: jax.Array, size: int, axis: str) -> None:
    """Raise unless `x` is one float per column (or row), of the dtype of the weights."""
    check_same_dtype(name, x, "w", w)
    check_shape(name, x, (size,), why=f"one per neuron, that is per {axis}")


def rate_and_bounds(
    w: jax.Array, name: str, rate: Any, w_min: Any, w_max: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the rate called `name`, w_min and w_max in the dtype of `w`, 0-d or one for each weight.

    Raises ValueError for another shape, or where known values are < 0 or the wrong way round.
    """
    check_positive(name, rate, zero=True)
    named = {name: rate, "w_min": w_min, "w_max": w_max}
    a, low, high = (in_dtype(x, w.dtype) for x in named.values())
    for label, x in zip(named, (a, low, high), strict=True):
        check_shape(label, x, (), w.shape, why="one for all, or one for each weight")
    if is_known(w_min, w_max) and not (is_number(w_min) and is_number(w_max) and w_min <= w_max):
        _check_order(*np.broadcast_arrays(w_min, w_max))
    return a, low, high


def _check_order(w_min: np.ndarray, w_max: np.ndarray) -> None:
    wrong = ~(w_min <= w_max)  # NaN is refused, too
    if wrong.any():
        where, n = (f" at [{np.argmax(wrong)}]", wrong.sum()) if wrong.ndim else ("", 1)
        others = f" and {n - 1} more" if n > 1 else ""
        raise ValueError(
            f"w_min is {w_min[wrong][0]} and w_max is {w_max[wrong][0]}{where}{others}; "
            "expected w_min <= w_max; swap them?"
        )


def bounded(w: jax.Array, w_min: jax.Array, w_max: jax.Array) -> jax.Array:
    """Return the nearest value in [w_min, w_max]; one that is clipped follows its bound alone."""
    above = jnp.where(w < w_min, w_min, w)
    return jnp.where(above > w_max, w_max, above)
