"""The softmax of segments, its logarithm, and the logarithm of sums of exponentials.

What they are made of is differentiated, batched and run on backends as the operators are.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog.segment_max.op import segment_max
from event_ops.catalog.segment_sum.op import segment_sum
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS
from event_ops.checks.at_places import checked_segments
from event_ops.checks.keywords import known_flags
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import along
from event_ops.segments.shared import one_program, places_of, taken


@contract(segment_ids=contracts.segments)
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
        segment_ids, num_segments: (n,), integers in any order; how many segments there are, static.
        indices_are_sorted, mode, deterministic, backend: as in `segment_sum`.

    Returns:
        y: shape and dtype of logits.

    Raises:
        TypeError, ValueError, IndexError, NotImplementedError: as `segment_sum` does.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_softmax
        >>> segment_softmax(np.float32([5, 1000, 5]), np.int32([0, 1, 0]), 2).tolist()
        [0.5, 1.0, 0.5]
    """
    logits, ids, size, mode = checked_segments(logits, segment_ids, num_segments, FLOATS, mode)
    flags = known_flags(indices_are_sorted=indices_are_sorted, deterministic=deterministic)
    return _softmax(logits, ids, size, mode=mode, backend=backend, **flags)


@contract(segment_ids=contracts.segments)
def segment_log_softmax(
    logits: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[k] = logits[k] - log(exp(logits[segment_ids == segment_ids[k]]).sum(axis=0))`, and no exp overflows.

    The logarithm of `segment_softmax`, without the loss of digits where that is near 0. Where all logits of a
    segment are -inf, and for an id that is dropped, y is -inf; NaN or inf among the logits makes a segment
    NaN, as in `jax.nn.log_softmax`. Differentiable in logits.

    Args:
        logits: (n, ...), float32 or float64; each element of the trailing axes has a softmax of its own.
        segment_ids, num_segments: (n,), integers in any order; how many segments there are, static.
        indices_are_sorted, mode, deterministic, backend: as in `segment_sum`.

    Returns:
        y: shape and dtype of logits.

    Raises:
        TypeError, ValueError, IndexError, NotImplementedError: as `segment_sum` does.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_log_softmax
        >>> segment_log_softmax(np.float32([0, 1000, 200]), np.int32([0, 1, 0]), 2).tolist()
        [-200.0, 0.0, 0.0]
    """
    logits, ids, size, mode = checked_segments(logits, segment_ids, num_segments, FLOATS, mode)
    flags = known_flags(indices_are_sorted=indices_are_sorted, deterministic=deterministic)
    return _log_softmax(logits, ids, size, mode=mode, backend=backend, **flags)


@contract(segment_ids=contracts.segments)
def segment_logsumexp(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = log(exp(data[segment_ids == i]).sum(axis=0))` for i in [0, num_segments), and no exp overflows.

    -inf for a segment without data, or of -inf alone; inf for one with inf, NaN for one with NaN, as in
    `jax.nn.logsumexp`. Differentiable in data, with derivatives of 0 at -inf.

    Args:
        data: (n, ...), float32 or float64.
        segment_ids, num_segments: (n,), integers in any order; how many segments there are, static.
        indices_are_sorted, mode, deterministic, backend: as in `segment_sum`.

    Returns:
        y: (num_segments, ...), dtype of data.

    Raises:
        TypeError, ValueError, IndexError, NotImplementedError: as `segment_sum` does.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_logsumexp
        >>> segment_logsumexp(np.float32([0, 1000]), np.int32([0, 1]), 3).tolist()
        [0.0, 1000.0, -inf]
    """
    data, ids, size, mode = checked_segments(data, segment_ids, num_segments, FLOATS, mode)
    flags = known_flags(indices_are_sorted=indices_are_sorted, deterministic=deterministic)
    return _logsumexp(data, ids, size, mode=mode, backend=backend, **flags)


def _exponents(
    logits: jax.Array, segment_ids: jax.Array, num_segments: int, *, deterministic: bool, **options: Any
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return shifted logits, the shifts, sums of exponentials, and the segment of each logit.

    Shifted by the maximum of their segment, logits are -inf where they are dropped.
    """
    # Whatever is subtracted, the results are the same, and so are their derivatives.
    largest = segment_max(jax.lax.stop_gradient(logits), segment_ids, num_segments, **options)
    at = places_of(segment_ids, num_segments, options["mode"])
    inside = along(at < num_segments, logits)
    shifts = jnp.where(largest == -jnp.inf, 0, largest)  # -inf - -inf is NaN
    shifted = jnp.where(inside, logits, -jnp.inf) - taken(shifts, at)
    powers = jnp.exp(shifted)
    sums = segment_sum(powers, segment_ids, num_segments, deterministic=deterministic, **options)
    return shifted, shifts, sums, at


def _one_for_none(sums: jax.Array) -> jax.Array:
    # Results of such segments are replaced; derivatives at 0 would be NaN all the same, times 0.
    return jnp.where(sums == 0, 1, sums)


@one_program
def _softmax(logits: jax.Array, segment_ids: jax.Array, num_segments: int, **options: Any) -> jax.Array:
    if num_segments == 0:
        return jnp.zeros_like(logits)
    shifted, _, sums, at = _exponents(logits, segment_ids, num_segments, **options)
    return jnp.exp(shifted) / taken(_one_for_none(sums), at)


@one_program
def _log_softmax(logits: jax.Array, segment_ids: jax.Array, num_segments: int, **options: Any) -> jax.Array:
    if num_segments == 0:
        return jnp.full_like(logits, -jnp.inf)
    shifted, _, sums, at = _exponents(logits, segment_ids, num_segments, **options)
    return shifted - taken(jnp.log(_one_for_none(sums)), at, 0)


@one_program
def _logsumexp(data: jax.Array, segment_ids: jax.Array, num_segments: int, **options: Any) -> jax.Array:
    if num_segments == 0:
        return jnp.zeros((0, *data.shape[1:]), data.dtype)
    _, shifts, sums, _ = _exponents(data, segment_ids, num_segments, **options)
    y = jnp.log(_one_for_none(sums)) + shifts
    return jnp.where(sums == 0, -jnp.inf, jnp.where(shifts == jnp.inf, jnp.inf, y))
