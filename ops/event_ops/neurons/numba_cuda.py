"""A step of a neuron model on a GPU: one thread per neuron, which reads and writes its state once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.codegen.emit import array_names, defined, function_source, tables_of
from event_ops.codegen.function import Traced
from event_ops.codegen.primitives import NUMBA_CUDA
from event_ops.kernels.numba_cuda.encodings import spike_compact
from event_ops.kernels.numba_cuda.noise import NUMBERS
from event_ops.neurons.emit import step_lines
from event_ops.neurons.lists import Step, with_list
from ffi_bridge import numba_cuda_kernel

_KEPT = 1024  # models


# Each state is the same memory as its output.
@lru_cache(_KEPT)
def kernel(neuron: Traced, noise: tuple[str, ...] = ()) -> Any:
    """Return the kernel of a model."""
    outputs = [f"y{k}" for k in range(neuron.count)]
    drawn = [
        f"{name}(np.uint64(first[0]) + np.uint64(i), {stream}, time[0], seed[0], table)"
        for stream, name in enumerate(noise)
    ]
    shared, own = step_lines(neuron, NUMBA_CUDA, outputs, drawn)
    body = ["i = cuda.grid(1)", "if i < y0.size:", *(f"    {line}" for line in (*shared, *own))]
    arrays = array_names(neuron)[: len(neuron.places) - len(noise)]
    words = ["seed", "time", "first", "table"] if noise else []
    source = function_source("neuron_step", [*arrays, *words, *outputs], body)
    names = NUMBERS | tables_of(neuron)
    return cuda.jit(defined(source, "neuron_step", cuda=cuda, math=math, np=np, **names))


def build(*, neuron: Traced, outs: Any, noise: tuple[str, ...] = (), **_: Any) -> Step:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    aliases, own = {k: k for k in range(neuron.positional)}, outs[: neuron.count]
    step = numba_cuda_kernel(
        kernel(neuron, noise), own, launch_dims=own[0].size, input_output_aliases=aliases
    )

    def call(*arrays: Any) -> Any:
        return step(*(x if x.ndim else x.reshape(1) for x in arrays))

    return with_list(call, spike_compact, outs[neuron.count :], neuron.positional)
