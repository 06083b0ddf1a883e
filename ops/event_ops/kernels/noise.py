"""Checks and the term of the operators that add random numbers."""

from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import FLOATS, check_dtype, check_same_dtype, check_shape
from event_ops.checks.inputs import as_input, in_dtype
from event_ops.checks.procedural import words_of_step
from event_ops.kernels.reference.noise import STREAMS, tables_of


def check_stream(stream: Any) -> None:
    """Raise unless `stream` is the number of one."""
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"stream is {stream!r}; expected a Python int, known when the call is traced")
    if not 0 <= stream < STREAMS:
        raise ValueError(f"stream is {stream}; expected 0 to {STREAMS - 1}; for more, take another seed")


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool | np.generic)


def checked_pair(**pair: Any) -> tuple[jax.Array, jax.Array]:
    """Return two numbers or arrays as arrays of one dtype; raise unless one is (n,) and both fit."""
    arrays = {name: as_input(x, name) for name, x in pair.items() if not _is_number(x)}
    names = " and ".join(pair)
    if not any(x.ndim for x in arrays.values()):
        raise ValueError(
            f"{names} are single numbers; expected one of them as (n,), which says how many neurons there "
            "are: jnp.zeros(n)"
        )
    for name, x in arrays.items():
        check_dtype(name, x, FLOATS)
    (like_name, like), *more = sorted(arrays.items(), key=lambda item: -item[1].ndim)
    if like.ndim != 1:
        raise ValueError(
            f"{like_name} has shape {like.shape}; expected () or (n,): one for all, or per neuron"
        )
    for name, x in more:
        check_same_dtype(name, x, like_name, like)
        check_shape(name, x, (), like.shape, why=f"one for all, or one per neuron, as {like_name}")
    base, scale = (arrays[name] if name in arrays else in_dtype(x, like.dtype) for name, x in pair.items())
    return base, scale


def drawn(
    distribution: str, base: jax.Array, scale: jax.Array, words: tuple[Any, Any, Any], stream: int
) -> dict[str, Any]:
    """Return the arguments of `call_term` for base + scale * number, with a number for each neuron.

    words: seed, step and first. A base that is an array is a state, which is updated in place.
    """
    check_stream(stream)
    size = (base if base.ndim else scale).size
    variables = {"base": base, "scale": scale}
    return {
        "states": [variables.pop("base")] if base.ndim else [],
        "variables": variables,
        "more": () if base.ndim else (base.dtype,),
        "noise": {"number": f"{distribution}@{stream}"},
        "words": (*words_of_step(*words, size), tables_of(distribution)),
    }


def of_neuron(base: jax.Array, scale: jax.Array, number: jax.Array) -> jax.Array:
    """Return base + scale * number."""
    return base + scale * number
