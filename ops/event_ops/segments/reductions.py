"""Products, means and variances of segments.

What they are made of is differentiated, batched and run on backends as the operators are.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog.scatter_mul.op import scatter_mul
from event_ops.catalog.segment_sum.op import segment_sum
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS, REALS
from event_ops.checks.at_places import checked_segments
from event_ops.checks.keywords import known_flags, known_size
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import along
from event_ops.segments.shared import COMPLEX, one_program, places_of, taken


@contract(segment_ids=contracts.segments)
def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = data[segment_ids == i].prod(axis=0)` for i in [0, num_segments); 1 for a segment without data.

    As `jax.ops.segment_prod`: `scatter_mul` into ones. Differentiable in data, also where data are 0.

    Args:
        data: (n, ...), float32, float64 or any integer dtype that JAX has from 32 bits up.
        segment_ids, num_segments: (n,), integers in any order; how many segments there are, static.
        indices_are_sorted, mode, deterministic, backend: as in `segment_sum`.

    Returns:
        y: (num_segments, ...), dtype of data. The order of the factors, so rounding, is open, unless
            deterministic.

    Raises:
        TypeError, ValueError, IndexError, NotImplementedError: as `segment_sum` does.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_prod
        >>> segment_prod(np.float32([2, 5, 3]), np.int32([0, 2, 0]), 3).tolist()
        [6.0, 1.0, 5.0]
    """
    data, ids, size, mode = checked_segments(data, segment_ids, num_segments, REALS, mode)
    return _prod(data, ids, size, mode=mode, **known_flags(deterministic=deterministic), backend=backend)


@one_program
def _prod(data: jax.Array, segment_ids: jax.Array, num_segments: int, *, mode: str, **options: Any) -> Any:
    ones = jnp.ones((num_segments, *data.shape[1:]), data.dtype)
    if num_segments == 0:
        return ones
    # No id counts from the end, as indices do; those out of range stay so.
    return scatter_mul(ones, places_of(segment_ids, num_segments, mode), data, mode=mode, **options)


@contract(segment_ids=contracts.segments)
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
        segment_ids, num_segments: (n,), integers in any order; how many segments there are, static.
        indices_are_sorted, mode, deterministic, backend: as in `segment_sum`.

    Returns:
        y: (num_segments, ...), dtype of data.

    Raises:
        TypeError, ValueError, IndexError, NotImplementedError: as `segment_sum` does.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_mean
        >>> segment_mean(np.float32([1, 2, 3]), np.int32([0, 2, 0]), 3).tolist()
        [2.0, 0.0, 2.0]

    Source: 0 for a segment without data is what PyTorch Geometric and jraph return.
    """
    data, ids, size, mode = checked_segments(data, segment_ids, num_segments, (*FLOATS, *COMPLEX), mode)
    flags = known_flags(indices_are_sorted=indices_are_sorted, deterministic=deterministic)
    return _mean(data, ids, size, mode=mode, backend=backend, **flags)


@one_program
def _mean(
    data: jax.Array, segment_ids: jax.Array, num_segments: int, *, deterministic: bool, **options: Any
) -> jax.Array:
    sums = segment_sum(data, segment_ids, num_segments, deterministic=deterministic, **options)
    counts = _counts(data, segment_ids, num_segments, **options)
    return sums / along(jnp.maximum(counts, 1).astype(data.dtype), data)


def _counts(data: jax.Array, segment_ids: jax.Array, num_segments: int, **options: Any) -> jax.Array:
    # Whole numbers, which count on where those of float32 end.
    return segment_sum(jnp.ones(data.shape[0], jnp.int32), segment_ids, num_segments, **options)


@contract(segment_ids=contracts.segments)
def segment_var(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    ddof: int = 0,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = data[segment_ids == i].var(axis=0, ddof=ddof)` for i in [0, num_segments).

    The sum of ``|data - mean|**2`` over the number of data less ddof, in two passes: a large mean costs no
    digits; 0 for a segment of no more than ddof data. Differentiable in data.

    Args:
        data: (n, ...), float32, float64, complex64 or complex128.
        segment_ids, num_segments: (n,), integers in any order; how many segments there are, static.
        ddof: what is taken off the number of data, static, >= 0; 1 for the unbiased variance.
        indices_are_sorted, mode, deterministic, backend: as in `segment_sum`.

    Returns:
        y: (num_segments, ...), dtype of data, or of its real part.

    Raises:
        TypeError, ValueError, IndexError, NotImplementedError: as `segment_sum` does, also for ddof.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_var
        >>> segment_var(np.float32([1, 2, 3]), np.int32([0, 2, 0]), 3).tolist()
        [1.0, 0.0, 0.0]

    Source: 0 for a segment without data is what PyTorch Geometric returns.
    """
    ddof = known_size("ddof", ddof)
    data, ids, size, mode = checked_segments(data, segment_ids, num_segments, (*FLOATS, *COMPLEX), mode)
    flags = known_flags(indices_are_sorted=indices_are_sorted, deterministic=deterministic)
    return _var(data, ids, size, mode=mode, ddof=ddof, backend=backend, **flags)


@one_program
def _var(
    data: jax.Array,
    segment_ids: jax.Array,
    num_segments: int,
    *,
    deterministic: bool,
    ddof: int,
    **options: Any,
) -> jax.Array:
    means = _mean(data, segment_ids, num_segments, deterministic=deterministic, **options)
    if num_segments == 0:
        return means.real
    at = places_of(segment_ids, num_segments, options["mode"])
    # Data that are dropped are 0, so that one that is NaN has no part in derivatives.
    off = jnp.where(along(at < num_segments, data), data, 0) - taken(means, at, 0)
    squares = off * off if off.dtype.kind == "f" else off.real * off.real + off.imag * off.imag
    sums = segment_sum(squares, segment_ids, num_segments, deterministic=deterministic, **options)
    left = _counts(data, segment_ids, num_segments, **options) - ddof
    each = sums / along(jnp.maximum(left, 1).astype(sums.dtype), sums)
    return jnp.where(along(left > 0, each), each, 0)
