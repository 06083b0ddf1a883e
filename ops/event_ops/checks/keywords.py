"""The keywords that operators share: `mode`, for indices out of range, `initial`, numbers and flags."""

from operator import index
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import check_countable, check_factor_dtype, check_shape, counter, is_known
from event_ops.checks.inputs import as_input, filled, in_dtype

MODES = ("drop", "clip", "error")


def resolved_mode(mode: str, name: str, indices: Any, low: int, size: int) -> str:
    """Return `mode` for the kernel; check indices that are known, and return "drop" for "error" then.

    Raise ValueError for an unknown mode, IndexError for known indices that are not in [low, size).
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; expected one of {', '.join(map(repr, MODES))}")
    if mode != "error" or not is_known(indices):
        return mode
    values = np.asarray(indices)
    outside = values[(values < low) | (values >= size)]
    if outside.size:
        raise IndexError(
            f"{name} contains {outside[0]}, and {outside.size} out of range in all; expected values in "
            f"[{low}, {size}); correct them, or use mode='drop' or 'clip'"
        )
    return "drop"


def known_integer(name: str, x: Any) -> int:
    """Return an integer that is compiled in; raise TypeError unless it is one, and known, and no flag."""
    try:
        number = index(x)
    except TypeError:  # a tracer raises a subclass of it
        number = None
    if number is None or isinstance(x, bool):
        raise TypeError(f"{name} is {x!r}; expected an integer that is known when traced{_way_out(x)}")
    return number


def known_size(name: str, x: Any, *, least: int = 0) -> int:
    """Return an integer that is compiled in; raise unless it is one, and at least `least`."""
    number = known_integer(name, x)
    if number < least:
        raise ValueError(f"{name} is {number}; expected an integer >= {least}")
    return number


def known_flags(**flags: Any) -> dict[str, bool]:
    """Return flags that are compiled in, by name; raise TypeError unless each is one, and known."""
    return {name: x if x is True or x is False else _known_flag(name, x) for name, x in flags.items()}


def _known_flag(name: str, x: Any) -> bool:
    if is_known(x) and np.ndim(x) == 0 and x in (False, True):
        return bool(x)
    raise TypeError(f"{name} is {x!r}; expected True or False, known when traced{_way_out(x)}")


def _way_out(x: Any) -> str:
    return "" if is_known(x) else ": pass it as a static argument, or make it outside of the traced function"


def refuse_error(operator: str, mode: str) -> None:
    """Raise NotImplementedError if mode is "error", for a backend whose kernels cannot raise."""
    if mode == "error":
        raise NotImplementedError(
            f"{operator} with mode='error' on traced indices needs a backend whose kernels can raise, "
            "numba_cpu; pure JAX, Warp and CUDA cannot; install ffi-bridge[numba], or pass indices that are "
            "known when traced, or use mode='drop' or 'clip'"
        )


def places(indices: jax.Array, size: int, mode: str, *, from_end: bool = False) -> jax.Array:
    """Return where indices point on an axis of `size` >= 1: in [0, size), or `size` for dropped ones.

    With from_end=True a negative index counts from the end. JAX's own modes cut 64-bit indices down to 32
    bits, and so would take some that are out of range for others.
    """
    limits = np.iinfo(indices.dtype)
    check_countable(size, "elements along an axis")
    # One beyond either end, so that what is outside stays outside when it is cut down.
    low, high = max(-size - 1, limits.min), min(size, limits.max)
    near = jnp.clip(indices, low, high).astype(counter(size))
    if from_end:
        near = jnp.where(near < 0, near + size, near)
    return jnp.clip(near, 0, size - 1) if mode == "clip" else jnp.where(near < 0, size, near)


def values_at_places(x: jax.Array, indices: jax.Array, mode: str, *, from_end: bool = False) -> jax.Array:
    """Return the elements or rows of x to which indices point, 0 for indices that are dropped."""
    size = x.shape[0]
    if size == 0:  # JAX refuses to look anything up in an empty array
        return jnp.zeros(indices.shape + x.shape[1:], x.dtype)
    return x.at[places(indices, size, mode, from_end=from_end)].get(mode="fill", fill_value=0)


def combined_at_places(
    how: str, x: jax.Array, indices: jax.Array, updates: jax.Array, mode: str, *, from_end: bool = False
) -> jax.Array:
    """Return x where the updates are combined with it by "add", "max", "min" or "mul" as indices point."""
    size = x.shape[0]
    if size == 0:
        return x
    at = x.at[places(indices, size, mode, from_end=from_end)]
    return getattr(at, how)(updates, mode="drop")


def initial_sums(initial: ArrayLike, outs: jax.ShapeDtypeStruct, name: str, weights: jax.Array) -> jax.Array:
    """Return `initial`, one number or one per output, as the array to which the weights `name` are added."""
    sums = in_dtype(initial, outs.dtype) if isinstance(initial, int | float) else as_input(initial)
    check_factor_dtype("initial", sums, name, weights)
    check_shape("initial", sums, (), outs.shape, why="one for all, or one for each element of the output")
    return sums if sums.ndim else filled(sums, outs.shape)
