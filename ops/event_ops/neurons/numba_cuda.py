"""A step of a neuron model on a GPU: each thread reads and writes the states of a few neurons once."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.codegen.emit import array_names, body_lines, defined, filled, tables_of, tuple_of
from event_ops.codegen.function import Traced
from event_ops.codegen.operations import Loop
from event_ops.codegen.primitives import NUMBA_CUDA
from event_ops.kernels.numba_cuda import wide
from event_ops.kernels.numba_cuda.encodings import spike_compact
from event_ops.kernels.numba_cuda.random_numbers import random_functions
from event_ops.kernels.numba_cuda.wide import elements_of
from event_ops.kernels.reference.noise import streams_of
from event_ops.neurons.emit import DividedStep, divided_step
from event_ops.neurons.reference import Step, with_list
from ffi_bridge import numba_cuda_kernel

_KEPT = 1024  # models


def width_of(neuron: Traced, noise: tuple[str, ...] = ()) -> int:
    """Return how many neurons a thread steps: as a wide load has, or 1 where arithmetic takes longer.

    A model with a loop, or with numbers to draw, is not bound by memory: it is faster with more threads.
    """
    has_loop = any(isinstance(x, Loop) for x in neuron.program.operations)
    return 1 if has_loop or noise else elements_of(neuron.dtypes[0])


# Each state is the same memory as its output.
@lru_cache(_KEPT)
def kernel(neuron: Traced, noise: tuple[str, ...] = ()) -> Any:
    """Return the kernel of a model, whose threads step `width_of` neurons each."""
    outputs = [f"y{k}" for k in range(neuron.count)]
    drawn = [
        f"{name}(np.uint64(first[0]) + np.uint64(i), {stream}, time[0], seed[0], table)"
        for name, stream in streams_of(noise)
    ]
    arrays = array_names(neuron)[: len(neuron.places) - len(noise)]
    words = ["seed", "time", "first", "table"] if noise else []
    divided = divided_step(neuron, NUMBA_CUDA, outputs, drawn)
    body = [*divided.shared_lines(NUMBA_CUDA), *_lines_of_thread(divided, width_of(neuron, noise))]
    names = {"cuda": cuda, "math": math, "np": np, **random_functions.numbers, **tables_of(neuron)}
    step = step_of(neuron, divided)
    return cuda.jit(defined("neuron_step", [*arrays, *words, *outputs], body, wide, step=step, **names))


def step_of(neuron: Traced, divided: DividedStep) -> Any:
    """Return the device function of a step: of its loads, then of the numbers that all neurons share."""
    taken = [*divided.loads, *shared_names(divided)]
    after = f"return {tuple_of([x for _, x in divided.writes])}"
    lines = [*body_lines(NUMBA_CUDA, (), divided.of_neuron, ()), after]
    names = {"cuda": cuda, "math": math, "np": np, **tables_of(neuron)}
    # Inlined, a step is the same arithmetic wherever it is called.
    return cuda.jit(device=True, forceinline=True)(defined("step", taken, lines, **names))


def shared_names(divided: DividedStep) -> list[str]:
    """Return the names of the numbers that all neurons share."""
    results = (x.results if isinstance(x, Loop) else (x.result,) for x in divided.shared)
    return [*divided.once, *(name for each in results for name in each)]


def _lines_of_thread(divided: DividedStep, width: int) -> list[str]:
    """Return the lines that step the neurons of one thread, by wide loads and stores where it has `width`.

    The last thread may have fewer, and arrays may begin anywhere: then it steps one after the other.
    """
    shared = shared_names(divided)
    news = [place for place, _ in divided.writes]
    single = [
        f"after = step({', '.join([*divided.loads.values(), *shared])})",
        *(f"{place} = after[{n}]" for n, place in enumerate(news)),
    ]
    if width == 1:
        return filled("i = cuda.grid(1)\nif i < y0.size:\n    {single}", single=single)
    # Without noise each number is loaded from `array[i]`.
    loads = {x: place.removesuffix("[i]") for x, place in divided.loads.items()}
    stores = [place.removesuffix("[i]") for place in news]
    aligned = [f"is_aligned({array})" for array in dict.fromkeys([*loads.values(), *stores])]
    lanes = range(width)
    wide = [
        *(f"{x} = wide_load({array}, begin, {width})" for x, array in loads.items()),
        *(f"after{k} = step({', '.join([*(f'{x}[{k}]' for x in loads), *shared])})" for k in lanes),
        *(
            f"wide_store({array}, begin, {tuple_of([f'after{k}[{n}]' for k in lanes])})"
            for n, array in enumerate(stores)
        ),
    ]
    return filled(
        f"""\
begin = {width} * cuda.grid(1)
end = min(begin + {width}, y0.size)
if end == begin + {width} and {" and ".join(aligned)}:
    {{wide}}
else:
    for i in range(begin, end):
        {{single}}""",
        wide=wide,
        single=single,
    )


def build(*, neuron: Traced, outs: Any, noise: tuple[str, ...] = (), **_: Any) -> Step:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    aliases, results = {k: k for k in range(neuron.positional)}, outs[: neuron.count]
    threads = -(-results[0].size // width_of(neuron, noise))
    step = numba_cuda_kernel(
        kernel(neuron, noise), results, launch_dims=threads, input_output_aliases=aliases
    )

    def call(*arrays: Any) -> Any:
        return step(*(x if x.ndim else x.reshape(1) for x in arrays))

    return with_list(call, spike_compact, outs[neuron.count :], neuron.positional)
