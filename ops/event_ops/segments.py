"""Functions of segments that are made of operators: the mean, and the softmax.

What they are made of is differentiated, batched and run on backends as the operators are.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog.segment_max.op import segment_max
from event_ops.catalog.segment_sum.op import segment_sum
from event_ops.checks.arrays import FLOATS, as_array, check_dtype
from event_ops.checks.keywords import places


def segment_mean(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = data[segment_ids == i].mean(axis=0)` for i in [0, num_segments); 0 for a segment without data.

    The sum by `segment_sum` over the number of data, at least 1. Differentiable in data.

    Args:
        data: (n, ...), float32, float64, complex64 or complex128.
        segment_ids: (n,), integers, in any order.
        num_segments: number of means, static, >= 0.
        indices_are_sorted: a promise that segment_ids ascend, as in `segment_sum`.
        mode: "drop", "clip" or "error", as in `segment_sum`; what is dropped does not count.
        deterministic: the same bits at every call, also on a GPU, as in `segment_sum`.
        backend: run both sums on this one or not at all; default: choose.

    Returns:
        y: (num_segments, ...), dtype of data.

    Raises:
        TypeError: a dtype that is not taken, or num_segments is no integer that is known when traced.
        ValueError: data is 0-d, segment_ids is not (n,), num_segments < 0, or mode is not known.
        IndexError: mode is "error" and a known id is out of range.
        NotImplementedError: mode is "error", ids are traced, and the backend cannot raise.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_mean
        >>> segment_mean(np.float32([1, 2, 3]), np.int32([0, 2, 0]), 3).tolist()
        [2.0, 0.0, 2.0]

    Source: 0 for a segment without data is what PyTorch Geometric and jraph return.
    """
    data = as_array(data)
    check_dtype("data", data, (*FLOATS, "complex64", "complex128"))
    options: dict[str, Any] = {"indices_are_sorted": indices_are_sorted, "mode": mode, "backend": backend}
    sums = segment_sum(data, segment_ids, num_segments, deterministic=deterministic, **options)
    # Whole numbers, which count on where those of float32 end.
    counts = segment_sum(jnp.ones(data.shape[0], jnp.int32), segment_ids, num_segments, **options)
    return sums / _by_row(jnp.maximum(counts, 1).astype(data.dtype), data)


def segment_softmax(
    logits: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[k] = exp(logits[k]) / exp(logits[segment_ids == segment_ids[k]]).sum(axis=0)`, and no exp overflows.

    The softmax of each segment, from which its maximum is subtracted first. Where all logits of a segment are
    -inf, and for an id that is dropped, y is 0; NaN or inf among the logits makes a segment NaN, as in
    `jax.nn.softmax`. Differentiable in logits, with derivatives of 0 at -inf.

    Args:
        logits: (n, ...), float32 or float64; each element of the trailing axes has a softmax of its own.
        segment_ids: (n,), integers, in any order.
        num_segments: number of segments, static, >= 0.
        indices_are_sorted: a promise that segment_ids ascend, as in `segment_sum`.
        mode: "drop", "clip" or "error", as in `segment_sum`.
        deterministic: the same bits at every call, also on a GPU, as in `segment_sum`.
        backend: run maxima and sums on this one or not at all; default: choose.

    Returns:
        y: shape and dtype of logits.

    Raises:
        TypeError: a dtype that is not taken, or num_segments is no integer that is known when traced.
        ValueError: logits is 0-d, segment_ids is not (n,), num_segments < 0, or mode is not known.
        IndexError: mode is "error" and a known id is out of range.
        NotImplementedError: mode is "error", ids are traced, and the backend cannot raise.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_softmax
        >>> segment_softmax(np.float32([5, 1000, 5]), np.int32([0, 1, 0]), 2).tolist()
        [0.5, 1.0, 0.5]
    """
    logits = as_array(logits)
    check_dtype("logits", logits, FLOATS)
    options: dict[str, Any] = {"indices_are_sorted": indices_are_sorted, "mode": mode, "backend": backend}
    # Whatever is subtracted, the softmax is the same, and so are its derivatives.
    largest = segment_max(jax.lax.stop_gradient(logits), segment_ids, num_segments, **options)
    if num_segments == 0:
        return jnp.zeros_like(logits)
    at = places(as_array(segment_ids), num_segments, "clip" if mode == "clip" else "drop")
    inside = _by_row(at < num_segments, logits)
    shifts = jnp.where(largest == -jnp.inf, 0, largest)
    powers = jnp.exp(jnp.where(inside, logits, -jnp.inf) - _taken(shifts, at))
    sums = segment_sum(powers, segment_ids, num_segments, deterministic=deterministic, **options)
    return powers / _taken(jnp.where(sums == 0, 1, sums), at)


def _taken(values: jax.Array, at: jax.Array) -> jax.Array:
    """Return the value of each element's segment; 1 where it has none."""
    return values.at[at].get(mode="fill", fill_value=1)


def _by_row(x: jax.Array, like: jax.Array) -> jax.Array:
    """Return the vector x with as many axes as `like`, so that it goes with the rows of that."""
    return x.reshape(-1, *(1,) * (like.ndim - 1))
