"""The operator `segment_min`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import REALS
from event_ops.checks.at_places import reduce_segments
from event_ops.checks.values import contract
from event_ops.rules.at_places import segment_extremum_jvp


@contract(segment_ids=contracts.segments)
def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int,
    *,
    indices_are_sorted: bool = False,
    mode: str = "drop",
    backend: str | None = None,
) -> jax.Array:
    """`y[i] = data[segment_ids == i].min(axis=0)` for i in [0, num_segments).

    As `jax.ops.segment_min`: a segment without data is inf, or the dtype's greatest integer, and one with a
    NaN is NaN. No id counts from the end; one out of range is dropped, or its data go to the first or last
    segment, or it is an error. Differentiable in data: those equal to the minimum share its cotangent
    equally, as in JAX, where the inf of an empty segment counts as one of them; where y is NaN they get
    none.

    Args:
        data: (n, ...), float32, float64 or any integer dtype that JAX has.
        segment_ids: (n,), integers, in any order.
        num_segments: number of minima, static, >= 0.
        indices_are_sorted: a promise that segment_ids ascend, static, which lets threads share large inputs
            without copies; where it is not kept, minima are not defined.
        mode: "drop", "clip" or "error", static. "error" raises IndexError where ids are known when traced,
            so at every call outside of jit; where they are traced, numba_cpu raises when run
            (JaxRuntimeError, or ValueError where JAX meets it on the spot), and the reference is refused.
            With num_segments=0 "clip" has no segment to go to, and drops.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (num_segments, ...), dtype of data; the same on every backend, up to the sign of 0.

    Raises:
        TypeError: a dtype that is not taken, or num_segments is no integer that is known when traced.
        ValueError: data is 0-d, segment_ids is not (n,), num_segments < 0, or mode is not known.
        IndexError: mode is "error" and a known id is out of range.
        NotImplementedError: mode is "error", ids are traced, and the backend cannot raise.

    Example:
        >>> import numpy as np
        >>> from event_ops import segment_min
        >>> segment_min(np.float32([1, 2, 3]), np.int32([0, 2, 0]), 3).tolist()
        [1.0, inf, 2.0]
    """
    options: dict[str, Any] = {"indices_are_sorted": indices_are_sorted, "mode": mode, "backend": backend}
    return reduce_segments(kernel, data, segment_ids, num_segments, dtypes=REALS, **options)


kernel = define_operator("segment_min", "scatter segment", family="at_places")
kernel.def_jvp_rule(segment_extremum_jvp(kernel, "min"))
