"""The operator `scatter_mul`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import REALS
from event_ops.checks.at_places import scatter
from event_ops.checks.keywords import known_flags
from event_ops.checks.values import contract
from event_ops.rules.at_places import tangent_in_updates


@contract(indices=contracts.target_indices)
def scatter_mul(
    target: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = target; y[indices[k]] *= updates[k]` for every k, also where indices repeat.

    A negative index counts from the end. One that is out of range then is dropped, as in JAX's
    `target.at[indices].multiply(updates)`; or moved to the nearest end of target; or an error. Differentiable
    in target and updates, also where indices repeat and factors are 0: that of an update is the product of
    all other factors at its place, which costs a sort of the indices.

    Args:
        target: (n, ...), what is multiplied; float32, float64 or any integer dtype that JAX has.
        indices: any shape, integers into the first axis of target.
        updates: indices.shape + target.shape[1:], or 0-d or a number: the same for all; dtype of target.
        mode: "drop", "clip" or "error", static. "error" raises IndexError where indices are known when
            traced, so at every call outside of jit; where they are traced, numba_cpu raises when run
            (JaxRuntimeError, or ValueError where JAX meets it on the spot), and the reference is refused.
            With a target of no rows "clip" has no place to go to, and drops.
        deterministic: the same bits at every call, also on a GPU: it costs a sort of the indices there.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: shape and dtype of target. The order of the factors, so rounding, is open, unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or target and updates of different ones.
        ValueError: target is 0-d, updates has another shape, or mode is not known.
        IndexError: mode is "error" and a known index is out of range.
        NotImplementedError: mode is "error", indices are traced, and the backend cannot raise.

    Example:
        >>> import numpy as np
        >>> from event_ops import scatter_mul
        >>> scatter_mul(np.ones(2, np.float32), np.int32([0, 0]), np.float32([2, 3])).tolist()
        [6.0, 1.0]
    """
    options: dict[str, Any] = {"mode": mode, **known_flags(deterministic=deterministic), "backend": backend}
    return scatter(kernel, target, indices, updates, dtypes=REALS, **options)


def _target_tangent(tangent: Any, target: Any, *updates: Any, **params: Any) -> Any:
    return kernel(tangent, *updates, **params)


kernel = define_operator("scatter_mul", "scatter", family="at_places", has_atomics=True)
kernel.def_jvp_rule2(_target_tangent, None, tangent_in_updates)


@kernel.def_transpose_rule
def _transpose(ct: Any, target: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    return [kernel(ct, indices, updates, **params), None, None]
