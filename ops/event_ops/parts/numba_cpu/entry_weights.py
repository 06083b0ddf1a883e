"""Weights of generated entries: one for all, uniform or normal; Numba picks by the parameters' type."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.philox import philox2x32
from event_ops.parts.reference.bernoulli import NORMAL_STREAM

_NORMAL_STREAM: Final = np.uint32(NORMAL_STREAM)


class Uniform(NamedTuple):
    """Weights low + width * u."""

    low: Any
    width: Any


class Normal(NamedTuple):
    """Weights mean + std * z."""

    mean: Any
    std: Any


def parameters(weight: Any) -> Any:
    """What `weight_of` reads: one value; of a vector a Uniform; of a (2, 1) matrix a Normal."""
    if np.ndim(weight) == 0:
        return weight[()]
    return (
        Uniform(weight[0], weight[1] - weight[0]) if weight.ndim == 1 else Normal(weight[0, 0], weight[1, 0])
    )


@overload(parameters, strict=False)
def _parameters(weight: Any) -> Any:
    if not isinstance(weight, types.Array):  # inside prange Numba has turned a 0-d array into its value
        return lambda weight: weight
    if weight.ndim == 0:
        return lambda weight: weight[()]
    if weight.ndim == 1:
        return lambda weight: Uniform(weight[0], weight[1] - weight[0])
    return lambda weight: Normal(weight[0, 0], weight[1, 0])


@njit
def unit_uniform(word: Any, like: Any) -> Any:
    """A number in [0, 1), a multiple of 2**-24, in the type of `like`."""
    return type(like)(np.uint32(word) >> np.uint32(8)) * type(like)(2.0**-24)


@njit
def unit_normal(seed: Any, row: Any, column: Any, like: Any) -> Any:
    """The standard normal deviate of an entry."""
    first, second = philox2x32(column | _NORMAL_STREAM, row, seed)
    radius = np.sqrt(type(like)(-2) * np.log(type(like)(1) - unit_uniform(first, like)))
    return radius * np.cos(type(like)(2 * np.pi) * unit_uniform(second, like))


def weight_of(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    """The weight of one entry."""
    if isinstance(parameters, Uniform):
        return parameters.low + parameters.width * unit_uniform(word, parameters.low)
    if isinstance(parameters, Normal):
        return parameters.mean + parameters.std * unit_normal(seed, row, column, parameters.mean)
    return parameters


@overload(weight_of, strict=False)
def _weight_of(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
    kind = getattr(parameters, "instance_class", None)
    if kind is Uniform:

        def uniform(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
            return parameters.low + parameters.width * unit_uniform(word, parameters.low)

        return uniform
    if kind is Normal:

        def normal(parameters: Any, seed: Any, row: Any, column: Any, word: Any) -> Any:
            return parameters.mean + parameters.std * unit_normal(seed, row, column, parameters.mean)

        return normal
    return lambda parameters, seed, row, column, word: parameters
