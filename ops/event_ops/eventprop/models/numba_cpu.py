"""Kernels for the CPU, made from the functions of a neuron: the samples of a batch on all threads."""

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final

import jax

from event_ops.eventprop.checks import entries_of
from event_ops.eventprop.entries import Entries, sorted_rows
from event_ops.eventprop.models.arrivals import OF_ENTRIES, OF_ROWS
from event_ops.eventprop.models.backward import make_differentiate
from event_ops.eventprop.models.blocks import Places
from event_ops.eventprop.models.emitted import emitted
from event_ops.eventprop.models.forward import make_simulate
from event_ops.eventprop.models.functions import Functions
from event_ops.eventprop.numba_cpu import make_kernels, rows_of, unsorted_rows
from ffi_bridge import numba_kernel

_KEPT: Final = 1024  # models


@lru_cache(_KEPT)
def _kernels(neuron: Functions, is_of_rows: bool) -> tuple[Any, Any]:
    """Return the kernels forwards and backwards, for dense rows with a delay each, or for entries."""
    places = Places.of(neuron.states, len(neuron.level.dtypes) - neuron.states)
    given = emitted(neuron), places, neuron.target, neuron.wait, neuron.states
    begin, arrive, begin_back, again = OF_ROWS if is_of_rows else OF_ENTRIES
    steps = SimpleNamespace(
        simulate=make_simulate(*given, begin, arrive),
        differentiate=make_differentiate(*given, begin_back, again),
    )
    prepared = (unsorted_rows, rows_of) if is_of_rows else (sorted_rows, Entries)
    return make_kernels(steps, *prepared)


def _has_rows(weights: Any, delays: Any) -> bool:
    return weights.ndim == 2 and delays.ndim == 1


def _as_entries(weights: Any, delays: Any, *structure: Any) -> tuple[Any, ...]:
    """Return weights, delays, indices and ends of entries, also of dense rows whose weights have delays."""
    if weights.ndim == 1 or _has_rows(weights, delays):
        return weights, delays, *structure
    return entries_of(weights.shape, weights, delays, None)


def build_forward(*, outs: Any, neuron: Functions, **_: Any) -> Callable[..., Any]:
    """Return the function that runs a batch."""

    def run(weights: Any, delays: Any, parameters: Any, indices: Any, indptr: Any, *samples: Any) -> Any:
        kernel = numba_kernel(_kernels(neuron, _has_rows(weights, delays))[0], outs)
        weights, delays, indices, indptr = _as_entries(weights, delays, indices, indptr)
        return kernel(weights, delays, parameters, indices, indptr, *samples)

    return run


def build_backward(*, outs: Any, neuron: Functions, of_inputs: bool, **_: Any) -> Callable[..., Any]:
    """Return the function that goes back through a batch."""
    like_weights, like_delays, *others = outs
    is_of_rows = len(like_weights.shape) > len(like_delays.shape)
    size = like_weights.size // max(like_weights.shape[0], 1)
    each = jax.ShapeDtypeStruct((like_weights.shape[0], size), like_weights.dtype)
    shared = (like_weights, like_delays) if is_of_rows else (each, each)
    kernel = numba_kernel(_kernels(neuron, is_of_rows)[1], (*shared, *others), static_argnames="of_inputs")

    def run(weights: Any, delays: Any, parameters: Any, indices: Any, indptr: Any, *samples: Any) -> Any:
        weights, delays, indices, indptr = _as_entries(weights, delays, indices, indptr)
        found = kernel(weights, delays, parameters, indices, indptr, *samples, of_inputs=of_inputs)
        of_weights, of_delays = (x.reshape(like.shape) for x, like in zip(found, outs[:2], strict=False))
        return of_weights, of_delays, *found[2:]

    return run
