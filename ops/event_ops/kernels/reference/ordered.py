"""Floats as integers: their bits, and keys of the same order, whose maxima and minima are native atomics."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def bits_dtype(dtype: Any) -> np.dtype:
    """Return the dtype of 32 bits or more that holds the bits of floats, or integers as they are."""
    kind = np.dtype(dtype)
    if kind.itemsize < 4:
        return np.dtype(np.int32)
    return np.dtype(f"i{kind.itemsize}") if kind.kind == "f" else kind


def bits_of(x: jax.Array) -> jax.Array:
    """Return the bits of x as integers of `bits_dtype`."""
    kind = bits_dtype(x.dtype)
    return jax.lax.bitcast_convert_type(x, kind) if x.dtype.kind == "f" else x.astype(kind)


def from_bits(bits: jax.Array, dtype: np.dtype) -> jax.Array:
    """Return the numbers of `dtype` that have these bits."""
    return jax.lax.bitcast_convert_type(bits, dtype) if dtype.kind == "f" else bits.astype(dtype)


def ordered_keys(x: jax.Array, how: str) -> jax.Array:
    """Return integers of `bits_dtype` that are ordered as x is; NaN is beyond all numbers at `how`.

    Args:
        x: floats or integers.
        how: "max": NaN is the largest integer; "min": the smallest.

    Source: IEEE 754 floats are ordered as their bits are, read as a sign and a magnitude.
    """
    bits = bits_of(x)
    if x.dtype.kind != "f":
        return bits
    limits = np.iinfo(bits.dtype)
    beyond = bits.dtype.type(limits.max if how == "max" else limits.min)
    return jnp.where(jnp.isnan(x), beyond, _turned(bits))


def from_keys(keys: jax.Array, dtype: np.dtype) -> jax.Array:
    """Return the numbers of `dtype` whose keys these are."""
    return from_bits(_turned(keys) if dtype.kind == "f" else keys, dtype)


def _turned(bits: jax.Array) -> jax.Array:
    """Return `bits` with the magnitude of negative numbers inverted; twice, that changes nothing."""
    kind = bits.dtype
    return bits ^ ((bits >> kind.type(8 * kind.itemsize - 1)) & kind.type(np.iinfo(kind).max))
