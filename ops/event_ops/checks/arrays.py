"""Check shapes, dtypes and signs of arrays; errors name the given, the expected and the remedy."""

import functools
from collections.abc import Sequence
from types import MethodType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.errors import InconclusiveDimensionOperation

from ffi_bridge.native.wrapped_kernel import obstacle

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REALS = (*FLOATS, *INTEGERS)
NUMBERS = (*FLOATS, "complex64", "complex128", *INTEGERS)
HALVES = ("float16", "bfloat16")
WEIGHTS = (*NUMBERS, *HALVES)
FLOAT_WEIGHTS = (*FLOATS, *HALVES)
_NARROW = ("int8", "int16", "uint8", "uint16")
INDICES = ("int32", "int64", "uint32", "uint64")

ENABLE_X64 = "enable 64-bit types: jax.config.update('jax_enable_x64', True)"


def is_known(*arrays: Any) -> bool:
    """Return whether every array has values that this process can look at now."""
    return not any(isinstance(x, Tracer) or not getattr(x, "is_fully_addressable", True) for x in arrays)


def as_array(x: Any, name: str = "an argument") -> jax.Array:
    """Return x as a JAX array; a JAX array as it is, and bytes of another machine in the order of this one.

    Raise ValueError if a cut to 32 bits would change integers, TypeError for what is no array of numbers.
    """
    if isinstance(x, jax.Array):
        return x
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    try:
        array = jnp.asarray(x)
    except OverflowError:  # integers of Python
        given, widest = np.asarray(x, object), jax.dtypes.canonicalize_dtype(np.int64)
        instead = ENABLE_X64 if widest == np.int32 else "pass smaller ones"
        raise ValueError(
            f"{name} holds {given.min()} to {given.max()}, which {widest} cannot; {instead}"
        ) from None
    except TypeError as error:
        of_array = obstacle(x) if isinstance(x, np.ndarray | np.generic) else None
        # What refuses to become an array, a CSR or Events, says where its arrays are.
        instead = f": {error}" if type(getattr(x, "__array__", None)) is MethodType else ""
        found = of_array or f"a {type(x).__name__}; expected an array or a number{instead}"
        raise TypeError(f"{name} is {found}") from None
    # Lists of arrays, and objects that become one, are cut without a word, too.
    if array.dtype.kind in "iu" and is_known(*jax.tree.leaves(x)):
        check_kept(name, np.asarray(x))
    return array


def check_kept(name: str, x: np.ndarray) -> None:
    """Raise ValueError if JAX would cut integers of NumPy to 32 bits that they need."""
    dtype = jax.dtypes.canonicalize_dtype(x.dtype) if x.dtype.kind in "iu" else x.dtype
    if x.dtype != dtype and x.size:
        low, high, limits = x.min(), x.max(), np.iinfo(dtype)
        if low < limits.min or high > limits.max:
            raise ValueError(f"{name} holds {low} to {high}, which {dtype} cannot; {ENABLE_X64}")


def counter(count: Any) -> Any:
    """Return the dtype of integers that count to `count`: int32, or int64 where that cannot."""
    return np.int64 if reaches(count, 1 << 31) else np.int32


def check_countable(count: Any, kind: str) -> None:
    """Raise ValueError if the widest integers that are enabled cannot count to `count`."""
    # int32 unless JAX has 64-bit types enabled, whatever dtype an array of counts is asked for.
    widest = jax.dtypes.canonicalize_dtype(np.int64)
    if reaches(count, np.iinfo(widest).max + 1):
        raise ValueError(f"there are {count} {kind}, more than {widest} can count; {ENABLE_X64}")


def check_dtype(name: str, x: jax.Array, allowed: Sequence[str], *, otherwise: str = "") -> None:
    """Raise TypeError, which ends with `otherwise`, unless the dtype of `x` is one of `allowed`."""
    dtype = dtype_name(x.dtype)
    if dtype in allowed:
        return
    hint = cast_advice(name, x, allowed)
    if dtype in HALVES:
        hint = f"the kernels compute in 32 or 64 bits; {hint}"
    raise TypeError(f"{name} has dtype {dtype}; expected {' or '.join(allowed)}; {hint}{otherwise}")


dtype_name = functools.lru_cache(str)  # of dtypes, in which it is slow, as is their comparison with a name


def check_same_dtype(name: str, x: jax.Array, other_name: str, other: jax.Array) -> None:
    """Raise TypeError unless both have one dtype."""
    if x.dtype != other.dtype:
        raise TypeError(
            f"{name} has dtype {x.dtype} and {other_name} has dtype {other.dtype}; expected one dtype; "
            f"{common_cast(name, x, other_name, other)}"
        )


def summed_in(weights: jax.Array) -> Any:
    """Return the dtype of sums of products with weights: theirs, or float32 where they have 16 bits."""
    return np.dtype(np.float32) if dtype_name(weights.dtype) in HALVES else weights.dtype


def check_factor_dtype(name: str, x: jax.Array, weights_name: str, weights: jax.Array) -> None:
    """Raise TypeError unless x has the dtype of sums of products with the weights."""
    if dtype_name(weights.dtype) not in HALVES:
        check_same_dtype(name, x, weights_name, weights)
    elif x.dtype != summed_in(weights):
        raise TypeError(
            f"{name} has dtype {x.dtype}; expected float32, in which {weights_name}, of dtype "
            f"{weights.dtype}, is multiplied and summed; cast it: {name}.astype('float32')"
        )


def check_shape(name: str, x: jax.Array, *expected: tuple[int, ...], why: str) -> None:
    """Raise ValueError unless `x` has one of the expected shapes."""
    if x.shape not in expected:
        shapes = " or ".join(map(str, expected))
        raise ValueError(f"{name} has shape {x.shape}; expected {shapes}: {why}")


def check_rank(name: str, x: jax.Array, rank: int, why: str) -> None:
    """Raise ValueError unless `x` has `rank` dimensions."""
    if x.ndim != rank:
        raise ValueError(f"{name} has {x.ndim} dimensions, shape {x.shape}; expected {rank}: {why}")


def check_positive(name: str, x: Any, *, zero: bool = False) -> None:
    """Raise ValueError unless all values that are known now are > 0, or with zero=True >= 0; NaN is not."""
    if not is_known(x) or (type(x) is float and x > 0):
        return
    values = np.asarray(x)
    good = values >= 0 if zero else values > 0
    if not good.all():
        worst = values[~good].flat[0]
        raise ValueError(
            f"{name} is or contains {worst}; expected only values {'>=' if zero else '>'} 0; "
            "check its sign and unit (times are in ms)"
        )


def reaches(size: Any, least: int) -> bool:
    """Return whether a size is known to be at least `least`; a symbolic size of `jax.export` may not be."""
    try:
        return bool(size >= least)
    except InconclusiveDimensionOperation:
        return False


def is_inside(ids: jax.Array, size: int) -> jax.Array:
    """Return which ids are in [0, size), also for a size that their dtype does not have."""
    bounded = not reaches(size, jnp.iinfo(ids.dtype).max + 1)
    return (ids >= 0) & (ids < size) if bounded else ids >= 0


def keeps_values(x: Any, dtype: Any) -> bool:
    """Return whether `x.astype(dtype)` keeps the values of x; for a traced x, judge by its dtype.

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
    """Advise how to cast an array called `name` whose dtype is not one of `allowed`."""
    if x.dtype == jax.dtypes.float0:
        return "it is what jax.grad gives for integers; use the gradient of the weights: the leaf `data`"
    if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        return f"pass a number that the key gives: jax.random.bits({name}, (), 'uint32')"
    usable = [dtype for dtype in allowed if jax.dtypes.canonicalize_dtype(dtype) == dtype]
    if "int32" in usable:  # which other values of the same program may need
        usable = [dtype for dtype in usable if dtype not in _NARROW]
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
