"""The operator `scatter_max`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import REALS
from event_ops.checks.at_places import scatter
from event_ops.checks.values import contract
from event_ops.rules.at_places import scatter_extremum_jvp


@contract(indices=contracts.target_indices)
def scatter_max(
    target: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    mode: str = "drop",
    backend: str | None = None,
) -> jax.Array:
    """`y = target; y[indices[k]] = max(y[indices[k]], updates[k])` for every k, also where indices repeat.

    NaN where one of them is. A negative index counts from the end. One that is out of range then is dropped,
    as in JAX's `target.at[indices].max(updates)`; or moved to the nearest end of target; or an error.
    Differentiable in target and updates: those equal to the maximum share its cotangent equally, as in JAX;
    where updates make y NaN they get none.

    Args:
        target: (n, ...), what is compared with; float32, float64 or any integer dtype that JAX has.
        indices: any shape, integers into the first axis of target.
        updates: indices.shape + target.shape[1:], or 0-d or a number: the same for all; dtype of target.
        mode: "drop", "clip" or "error", static. "error" raises IndexError where indices are known when
            traced, so at every call outside of jit; where they are traced, numba_cpu raises when run
            (JaxRuntimeError, or ValueError where JAX meets it on the spot), and the reference is refused.
            With a target of no rows "clip" has no place to go to, and drops.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: shape and dtype of target; the same on every backend, up to the sign of 0.

    Raises:
        TypeError: a dtype that is not taken, or target and updates of different ones.
        ValueError: target is 0-d, updates has another shape, or mode is not known.
        IndexError: mode is "error" and a known index is out of range.
        NotImplementedError: mode is "error", indices are traced, and the backend cannot raise.

    Example:
        >>> import numpy as np
        >>> from event_ops import scatter_max
        >>> scatter_max(np.zeros(2, np.float32), np.int32([0, 0]), np.float32([1, 3])).tolist()
        [3.0, 0.0]
    """
    return scatter(kernel, target, indices, updates, dtypes=REALS, mode=mode, backend=backend)


kernel = define_operator("scatter_max", "scatter", family="at_places")
kernel.def_jvp_rule(scatter_extremum_jvp(kernel))
