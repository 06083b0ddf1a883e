"""The inputs of kernels: made so that an eager call is one call of a compiled program, and little before it.

`jnp.asarray(0.1)` sends one number to the device, in as much time as a whole program takes. So numbers stay
NumPy's, and go to the program of the operator together; shapes are changed for all arrays at once.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import as_array

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1  # of int32


def is_number(x: Any) -> bool:
    """Return whether x is one real number or flag of Python or NumPy, also as an array without dimensions."""
    if isinstance(x, (int, float)):
        return True
    if not isinstance(x, np.generic) and not (type(x) is np.ndarray and x.ndim == 0):
        return False
    return x.dtype.kind in "biuf" and x.dtype.itemsize <= 8


def is_weak_number(x: Any) -> TypeGuard[jax.Array]:
    """Return whether x is 0-d and weakly typed, as a number is that was passed to a traced function."""
    return isinstance(x, jax.Array) and not x.ndim and x.weak_type


def as_input(x: Any, name: str = "an argument") -> jax.Array:
    """Return x as `as_array` does; one number as an array of NumPy."""
    if isinstance(x, jax.Array):
        return x
    if not is_number(x):
        return as_array(x, name)
    is_numpy = isinstance(x, (np.generic, np.ndarray))
    dtype: np.dtype[Any] = x.dtype.newbyteorder("=") if is_numpy else _of_python(x)
    if dtype.kind in "iu" and dtype.itemsize == 8 and not _LOW <= int(x) <= _HIGH:
        return as_array(x, name)  # which knows of large integers
    return in_dtype(x, dtype)


def _of_python(x: Any) -> np.dtype[Any]:
    return next(np.dtype(kind) for kind in (float, bool, int) if isinstance(x, kind))  # a bool is an int


def in_dtype(x: Any, dtype: Any) -> jax.Array:
    """Return `jnp.asarray(x, dtype)`; one number as an array of NumPy.

    Raise ValueError where the dtype is one of integers, and the number has a fraction or is out of range.
    """
    if is_number(x):
        kind = np.dtype(jax.dtypes.canonicalize_dtype(dtype))
        fits = kind.kind not in "iu" or (np.iinfo(kind).min <= x <= np.iinfo(kind).max and x == int(x))
        if not fits:
            raise ValueError(
                f"got {x}, which {kind} cannot hold; expected a whole number in its range, or an array"
            )
        number: Any = np.array(x, kind)  # a copy, which nobody writes to
        return number
    return x if isinstance(x, jax.Array) and x.dtype == dtype else jnp.asarray(x, dtype)


def flattened(arrays: Sequence[jax.Array], parameters: Sequence[jax.Array] = ()) -> Sequence[jax.Array]:
    """Return the arrays with one dimension each, then the parameters, each with one or none."""
    if all(x.ndim == 1 for x in arrays) and all(x.ndim <= 1 for x in parameters):
        return *arrays, *parameters
    return _flattened(tuple(arrays), tuple(parameters))


def reshaped(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return `x.reshape(shape)`."""
    return shaped((x,), shape)[0]


def shaped(arrays: Sequence[jax.Array], shape: tuple[int, ...]) -> tuple[jax.Array, ...]:
    """Return the arrays in one shape."""
    return tuple(arrays) if all(x.shape == shape for x in arrays) else _shaped(tuple(arrays), shape)


def computed(formula: Callable[..., Any], *inputs: Any) -> Any:
    """Return `formula(*inputs)`, a function of a module: of numbers in NumPy, else as one program of JAX."""
    if any(isinstance(x, jax.Array) for x in inputs):
        return _program(formula, *inputs)
    with np.errstate(all="ignore"):  # as silent as JAX
        return formula(*inputs)


# Inlined here and below, so that in a function that is traced only its operations are left.
@functools.partial(jax.jit, static_argnums=0, inline=True)
def _program(formula: Callable[..., Any], *inputs: jax.Array) -> Any:
    return formula(*inputs)


@functools.partial(jax.jit, inline=True)
def _flattened(arrays: tuple[jax.Array, ...], parameters: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    return *(x.reshape(-1) for x in arrays), *(x.reshape(-1) if x.ndim else x for x in parameters)


@functools.partial(jax.jit, static_argnums=1, inline=True)
def _shaped(arrays: tuple[jax.Array, ...], shape: tuple[int, ...]) -> tuple[jax.Array, ...]:
    return tuple(x.reshape(shape) for x in arrays)


@functools.partial(jax.jit, static_argnums=1, inline=True)
def filled(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return `jnp.broadcast_to(x, shape)`."""
    return jnp.broadcast_to(x, shape)
