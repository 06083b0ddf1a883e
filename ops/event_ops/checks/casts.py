"""Advice for arrays of a wrong dtype: the cast that keeps their values, or what stands in its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

ENABLE_X64 = "enable 64-bit types: jax.config.update('jax_enable_x64', True)"


def is_known(*arrays: Any) -> bool:
    """Return whether every array has values that this process can look at now."""
    return not any(isinstance(x, Tracer) or not getattr(x, "is_fully_addressable", True) for x in arrays)


def keeps_values(x: Any, dtype: Any) -> bool:
    """Return whether `x.astype(dtype)` has the values of x; for a traced x, whether its dtype says so.

    A traced integer may become a float, as in JAX.
    """
    target = np.dtype(dtype)
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and target.kind != "c":
        return False
    if not is_known(x):
        whole = jnp.issubdtype(x.dtype, jnp.integer)
        return np.can_cast(x.dtype, target, "safe") or (whole and target.kind in "fc")
    return bool(np.all(_kept(np.asarray(x), target)))


def cast_advice(name: str, x: Any, allowed: Sequence[str]) -> str:
    """Return what to do about an array called `name` whose dtype is not one of `allowed`."""
    if x.dtype == jax.dtypes.float0:
        return "it is what jax.grad gives for integers; use the gradient of the weights: the leaf `data`"
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return f"pass a number that the key gives: jax.random.bits({name}, (), 'uint32')"
    usable = [dtype for dtype in allowed if jax.dtypes.canonicalize_dtype(dtype) == dtype]
    for dtype in usable:
        if keeps_values(x, dtype):
            return f"cast it: {name}.astype('{dtype}')"
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return f"a cast would drop the imaginary part; pass {name}.real, or jnp.abs({name})"
    if usable == ["bool"]:
        return f"say which are True: {name} != 0"
    dtype = "int32" if "int32" in usable else usable[-1]
    if not is_known(x):
        whole = f"jnp.round({name})" if jnp.issubdtype(x.dtype, jnp.floating) else name
        return f"cast it where {dtype} holds its values: {whole}.astype('{dtype}')"
    wider = any(keeps_values(x, other) for other in allowed)
    return _in_the_way(name, np.asarray(x), dtype, ENABLE_X64 if wider else "pass values that it can")


def common_cast(name: str, x: Any, other_name: str, other: Any) -> str:
    """Return which of two arrays of different dtypes to cast: one that keeps its values, if one does."""
    if keeps_values(x, other.dtype):
        return f"cast one: {name}.astype({other_name}.dtype)"
    if keeps_values(other, x.dtype):
        return f"cast one: {other_name}.astype({name}.dtype)"
    with jax.numpy_dtype_promotion("standard"):
        dtype = jnp.promote_types(x.dtype, other.dtype)
    rounds = "" if keeps_values(x, dtype) and keeps_values(other, dtype) else ", which rounds"
    return f"cast both: .astype('{dtype}'){rounds}"


def _kept(values: Any, dtype: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        cast = values.astype(dtype)
        back = cast.astype(values.dtype)
    # Integers that wrap around come back; NaN stays NaN as a float, and not as an integer.
    same_sign = (cast < 0) == (values < 0)
    return (back == values) & same_sign | (back != back) & (values != values)


def _in_the_way(name: str, values: Any, dtype: str, instead: str) -> str:
    value = values[~_kept(values, np.dtype(dtype))].flat[0]
    if jnp.issubdtype(values.dtype, jnp.floating) and np.isfinite(value) and value != np.round(value):
        instead = f"round it: jnp.round({name}).astype('{dtype}')"
    return f"it holds {value}, which {dtype} cannot; {instead}"
