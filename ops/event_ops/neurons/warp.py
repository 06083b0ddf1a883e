"""A step of a neuron model in Warp: one thread per neuron."""

from functools import lru_cache
from typing import Any

import warp as wp

from event_ops.codegen.emit import array_names, defined, tables_of
from event_ops.codegen.function import Traced
from event_ops.codegen.primitives import WARP
from event_ops.kernels.reference.noise import streams_of
from event_ops.kernels.warp.access import Array, as_vectors
from event_ops.kernels.warp.encodings import spike_compact
from event_ops.kernels.warp.random_numbers import random_functions
from event_ops.neurons.emit import divided_step
from event_ops.neurons.reference import Step, with_list
from ffi_bridge import warp_kernel

_KEPT = 1024  # models


@lru_cache(_KEPT)
def kernel(neuron: Traced, noise: tuple[str, ...] = ()) -> Any:
    """Return the kernel of a model, which changes the states in place."""
    arrays, states = array_names(neuron)[: len(neuron.places) - len(noise)], neuron.positional
    drawn = [
        f"{name}(wp.int32(first[0]) + i, {stream}, time[0], seed[0], table)"
        for name, stream in streams_of(noise)
    ]
    written = [f"y{k}" for k in range(states, neuron.count)]
    divided = divided_step(neuron, WARP, [*arrays[:states], *written], drawn)
    words = ["seed", "time", "first", "table"] if noise else []
    parameters = [f"{name}: Array" for name in (*arrays, *words, *written)]
    names = {"wp": wp, "Array": Array, **random_functions.numbers, **as_vectors(tables_of(neuron))}
    function = defined(
        "neuron_step",
        parameters,
        ["i = wp.tid()", *divided.shared_lines(WARP), *divided.neuron_lines(WARP)],
        **names,
    )
    # JAX takes derivatives. A module that kernels share, Warp would compile as a whole for each new one.
    return wp.kernel(function, enable_backward=False, module="unique")


def build(*, neuron: Traced, outs: Any, noise: tuple[str, ...] = (), **_: Any) -> Step:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    changed = array_names(neuron)[: neuron.positional]
    step = warp_kernel(kernel(neuron, noise), outs[: neuron.count], in_out_argnames=changed)
    return with_list(step, spike_compact, outs[neuron.count :], neuron.positional)
