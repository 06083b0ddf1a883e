"""The operator `scatter_add`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import NUMBERS
from event_ops.checks.at_places import scatter
from event_ops.checks.keywords import known_flags, values_at_places
from event_ops.checks.values import contract


@contract(indices=contracts.target_indices)
def scatter_add(
    target: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    *,
    mode: str = "drop",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = target; y[indices[k]] += updates[k]` for every k, also where indices repeat.

    A negative index counts from the end. One that is out of range then is dropped, as in JAX's
    `target.at[indices].add(updates)`; or moved to the nearest end of target; or an error. Differentiable in
    target and updates.

    Args:
        target: (n, ...), what is added to; any real, complex or integer dtype that JAX has from 32 bits up.
        indices: any shape, integers into the first axis of target.
        updates: indices.shape + target.shape[1:], or 0-d or a number: the same for all; dtype of target.
        mode: "drop", "clip" or "error", static. "error" raises IndexError where indices are known when
            traced, so at every call outside of jit; where they are traced, numba_cpu raises when run
            (JaxRuntimeError, or ValueError where JAX meets it on the spot), and the reference is refused.
            With a target of no rows "clip" has no place to go to, and drops.
        deterministic: the same bits at every call, also on a GPU: it costs a sort of the indices there.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: shape and dtype of target. The order of the sum, so its rounding, is open, unless deterministic. It
            is rounded at each of n updates of one place: by n * 2**-24 in float32, of the sum of magnitudes;
            for many updates add `segment_sum`, which rounds once, to target.

    Raises:
        TypeError: a dtype that is not taken, or target and updates of different ones.
        ValueError: target is 0-d, updates has another shape, or mode is not known.
        IndexError: mode is "error" and a known index is out of range.
        NotImplementedError: mode is "error", indices are traced, and the backend cannot raise.
    """
    options: dict[str, Any] = {"mode": mode, **known_flags(deterministic=deterministic), "backend": backend}
    return scatter(kernel, target, indices, updates, dtypes=NUMBERS, **options)


kernel = define_operator(
    "scatter_add", "scatter", family="at_places", linear=(2,), initial=0, has_atomics=True
)


@kernel.def_transpose_rule
def _transpose(ct: Any, target: Any, indices: Any, updates: Any, *, mode: str, **params: Any) -> list[Any]:
    ct_target = ct if ad.is_undefined_primal(target) else None
    ct_updates = None
    if ad.is_undefined_primal(updates):
        if mode == "error":
            # If only the gradient is asked for, XLA drops the sum; this one is there to raise in its place.
            nothing = jnp.zeros(updates.aval.shape, updates.aval.dtype)
            ct += kernel(jnp.zeros(jnp.shape(ct), nothing.dtype), indices, nothing, mode=mode, **params)
        gathered = values_at_places(jnp.asarray(ct), indices, mode, from_end=True)
        ct_updates = gathered if updates.aval.ndim else gathered.sum()
    return [ct_target, None, ct_updates]
