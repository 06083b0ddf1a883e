"""Kernels for the CPU, made from the functions of a neuron: the samples of a batch on all threads."""

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final

import jax

from event_ops.eventprop.checks import entries_of
from event_ops.eventprop.entries import Entries, sorted_rows
from event_ops.eventprop.models.backward import make_differentiate
from event_ops.eventprop.models.emitted import emitted
from event_ops.eventprop.models.forward import make_simulate
from event_ops.eventprop.models.functions import Functions
from event_ops.eventprop.numba_cpu import make_kernels
from ffi_bridge import numba_kernel

_KEPT: Final = 1024  # models


@lru_cache(_KEPT)
def _kernels(neuron: Functions) -> tuple[Any, Any]:
    """Return the kernels forwards and backwards."""
    given = emitted(neuron), neuron.target, neuron.wait, neuron.states
    steps = SimpleNamespace(simulate=make_simulate(*given), differentiate=make_differentiate(*given))
    return make_kernels(steps, sorted_rows, Entries)


def _as_entries(weights: Any, delays: Any, *structure: Any) -> tuple[Any, ...]:
    """Return weights, delays, indices and ends of entries, also of dense rows."""
    if weights.ndim == 1:
        return weights, delays, *structure
    return entries_of(weights.shape, weights, delays, None)


def build_forward(*, outs: Any, neuron: Functions, **_: Any) -> Callable[..., Any]:
    """Return the function that runs a batch."""
    kernel = numba_kernel(_kernels(neuron)[0], outs)

    def run(weights: Any, delays: Any, parameters: Any, indices: Any, indptr: Any, *samples: Any) -> Any:
        weights, delays, indices, indptr = _as_entries(weights, delays, indices, indptr)
        return kernel(weights, delays, parameters, indices, indptr, *samples)

    return run


def build_backward(*, outs: Any, neuron: Functions, **_: Any) -> Callable[..., Any]:
    """Return the function that goes back through a batch."""
    like_weights, like_delays, *others = outs
    size = like_weights.size // max(like_weights.shape[0], 1)
    each = jax.ShapeDtypeStruct((like_weights.shape[0], size), like_weights.dtype)
    kernel = numba_kernel(_kernels(neuron)[1], (each, each, *others), static_argnames="of_inputs")

    def run(weights: Any, delays: Any, parameters: Any, indices: Any, indptr: Any, *samples: Any) -> Any:
        weights, delays, indices, indptr = _as_entries(weights, delays, indices, indptr)
        found = kernel(weights, delays, parameters, indices, indptr, *samples, of_inputs=True)
        of_weights, of_delays = (x.reshape(like_weights.shape) for x in found[:2])
        if len(like_weights.shape) > len(like_delays.shape):  # one delay for each row
            of_delays = of_delays.sum(2)
        return of_weights, of_delays, *found[2:]

    return run
