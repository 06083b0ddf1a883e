"""The operator `segment_sum`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import NUMBERS
from event_ops.checks.at_places import reduce_segments
from event_ops.checks.keywords import known_flags, values_at_places
from event_ops.checks.values import contract


@contract(segment_ids=contracts.segments)
def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = data[segment_ids == i].sum(axis=0)` for i in [0, num_segments); 0 for a segment without data.

    As `jax.ops.segment_sum`: no id counts from the end. An id out of range is dropped, or its data go to the
    first or last segment, or it is an error. Differentiable in data.

    Args:
        data: (n, ...), any real, complex or integer dtype that JAX has from 32 bits up.
        segment_ids: (n,), integers, in any order.
        num_segments: number of sums, static, >= 0.
        indices_are_sorted: a promise that segment_ids ascend, static, which lets threads share large sums
            without copies; where it is not kept, sums are not defined.
        mode: "drop", "clip" or "error", static. "error" raises IndexError where ids are known when traced,
            so at every call outside of jit; where they are traced, numba_cpu raises when run
            (JaxRuntimeError, or ValueError where JAX meets it on the spot), and the reference is refused.
            With num_segments=0 "clip" has no segment to go to, and drops.
        deterministic: the same bits at every call, also on a GPU: it costs a sort of segment_ids there.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (num_segments, ...), dtype of data. float32 and complex64 are added up in 64 bits: y is off by half
            a unit in its last place, 2**-24 of y, and n * 2**-53 times the sum of the magnitudes of n terms,
            which is less up to n = 2**29; on a GPU with ascending ids by 2**-21. Sums in 64 bits are off by
            n * 2**-53 times that sum. Their order, so the last bits, is open, unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or num_segments is no integer that is known when traced.
        ValueError: data is 0-d, segment_ids is not (n,), num_segments < 0, or mode is not known.
        IndexError: mode is "error" and a known id is out of range.
        NotImplementedError: mode is "error", ids are traced, and the backend cannot raise.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_sum
        >>> segment_sum(np.float32([1, 2, 3]), np.int32([0, 2, 0]), 3)
        Array([4., 0., 2.], dtype=float32)
    """
    options: dict[str, Any] = {"indices_are_sorted": indices_are_sorted, "mode": mode, "backend": backend}
    options |= known_flags(deterministic=deterministic)
    return reduce_segments(kernel, data, segment_ids, num_segments, dtypes=NUMBERS, **options)


kernel = define_operator("segment_sum", "scatter segment", family="at_places", linear=(0,), has_atomics=True)


@kernel.def_transpose_rule
def _transpose(ct: Any, data: Any, segment_ids: Any, *, mode: str, **params: Any) -> list[Any]:
    if mode == "error":
        # If only the gradient is asked for, XLA drops the sum; this one is there to raise in its place.
        ct += kernel(jnp.zeros(data.aval.shape, data.aval.dtype), segment_ids, mode=mode, **params)
    return [values_at_places(jnp.asarray(ct), segment_ids, mode), None]
