"""The operators that combine updates at places, scatters and segments, made of one scatter of a backend.

The scatter is a function `(how, mode, from_end, ascending)` that returns `(target, indices, updates) -> y`,
where how is "add", "max", "min" or "mul", a negative index counts from the end if `from_end`, and indices
are promised to ascend if `ascending`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from event_ops.checks.keywords import combined_at_places, refuse_error
from event_ops.kernels.reference.neutral import accumulated_in, neutral
from event_ops.kernels.reference.ordered import bits_of, from_bits, from_keys, ordered_keys

Scatter = Callable[[str, str, bool, bool], Callable[..., jax.Array]]
Builder = Callable[..., Callable[..., jax.Array]]
# By the order in which `operators_of` returns builders.
_SCATTERS: Final = {"scatter_add": "add", "scatter_mul": "mul", "scatter_min": "min", "scatter_max": "max"}
_SEGMENTS: Final = {"segment_sum": "add", "segment_min": "min", "segment_max": "max"}


def operators_of(scatter: Scatter, in_order: Scatter | None = None) -> tuple[list[Builder], list[Builder]]:
    """Return the builders of scatters, and of segments; `in_order` is the scatter for deterministic calls."""
    chosen = scatter, in_order or scatter
    scatters = [partial(_into_target, name, how, *chosen) for name, how in _SCATTERS.items()]
    return scatters, [partial(_of_segments, name, how, *chosen) for name, how in _SEGMENTS.items()]


def _into_target(
    name: str,
    how: str,
    scatter: Scatter,
    in_order: Scatter,
    *,
    outs: Any,
    mode: str,
    deterministic: bool = False,
    **_: Any,
) -> Callable[..., jax.Array]:
    """Return the function of target, indices and updates; a backend may update target in place."""
    refuse_error(name, mode)  # neither pure JAX nor a kernel of a GPU can raise
    chosen = in_order if deterministic and _depends_on_order(outs) else scatter
    return chosen(how, mode, True, False)


def _of_segments(
    name: str,
    how: str,
    scatter: Scatter,
    in_order: Scatter,
    *,
    outs: Any,
    indices_are_sorted: bool,
    mode: str,
    deterministic: bool = False,
    **_: Any,
) -> Callable[..., jax.Array]:
    """Return the function of data and ids: a scatter into as many values that change nothing."""
    refuse_error(name, mode)
    chosen = in_order if deterministic and _depends_on_order(outs) else scatter
    combine = chosen(how, mode, False, indices_are_sorted)
    nothing = neutral(how, accumulated_in(outs.dtype) if how == "add" else outs.dtype)

    def call(data: jax.Array, segment_ids: jax.Array) -> jax.Array:
        return combine(jnp.full(outs.shape, nothing), segment_ids, data).astype(outs.dtype)

    # Sums of float32 are added up in float64. Extrema need no 64 bits, nor take sizes that need them.
    return jax.enable_x64(True)(call) if how == "add" else call


def _depends_on_order(outs: jax.ShapeDtypeStruct) -> bool:
    """Return whether results depend on the order of updates: integers do not, nor empty results."""
    return outs.dtype.kind in "fc" and outs.size > 0


def in_jax(how: str, mode: str, from_end: bool, _ascending: bool) -> Callable[..., jax.Array]:
    """Return the scatter of JAX itself, which carries NaN through and makes no use of an order."""

    def call(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
        wide = updates.astype(target.dtype)
        return combined_at_places(how, target, indices, wide, mode, from_end=from_end)

    return call


def of_numbers(scatter: Scatter, *, makes_keys: bool = False) -> Scatter:
    """Return the scatter of numbers that one of native atomics makes.

    Its "max" and "min" take integers, here keys of the same order as floats, and updates as they are if it
    `makes_keys` of them; for "mul" its target, and y, are the bits of numbers.
    """

    def chosen(how: str, *options: Any) -> Callable[..., jax.Array]:
        combine = scatter(how, *options)

        def product(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
            return from_bits(combine(bits_of(target), indices, updates), target.dtype)

        def extremum(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
            arriving = updates if makes_keys else ordered_keys(updates, how)
            return from_keys(combine(ordered_keys(target, how), indices, arriving), target.dtype)

        return {"add": combine, "mul": product}.get(how, extremum)

    return chosen


_scatters, _segments = operators_of(in_jax)
scatter_add, scatter_mul, scatter_min, scatter_max = _scatters
segment_sum, segment_min, segment_max = _segments
