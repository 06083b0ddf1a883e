"""Exponential synapses on a GPU: one thread per element of g, then the rows of the neurons that spiked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.deliver import deliver
from event_ops.kernels.numba_cuda.fixed_order import event_sums
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from ffi_bridge import numba_cuda_callable


@cuda.jit
def decay_all(decay: Any, run: Any, y: Any) -> None:
    """y *= decay for a flat y; each factor is that of a run of elements: one, a channel, or all of them."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] *= decay[i // run]


# g and y are the same memory.
def expsyn_step(
    g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any, y: Any, stream: Any
) -> None:
    """Launch both steps."""
    trace = y.ravel()
    run = np.int64(trace.size // max(1, decay.size))
    decay_all[blocks_of(trace.size), BLOCK, stream](decay.ravel(), run, trace)
    deliver(data, indices, indptr, indptr.size - 1, spikes, trace, stream)


def in_fixed_order(outs: Any) -> Callable[..., Any]:
    """Return the call that sorts all entries by the element of g that they reach."""
    flat = jax.ShapeDtypeStruct((outs.size,), outs.dtype)

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        return g * decay + event_sums(data, indices, indptr, spikes, flat).reshape(outs.shape)

    return call


def build(*, outs: Any, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; g is updated in place where it is not needed again."""
    if deterministic:
        return in_fixed_order(outs)
    step = numba_cuda_callable(expsyn_step, outs, input_output_aliases={0: 0})

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        return step(g, data.reshape(-1), indices, indptr, spikes, decay)

    return call
