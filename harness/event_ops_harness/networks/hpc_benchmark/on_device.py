"""Synapses that a GPU draws where it keeps them: more than a host could draw, sort and send in minutes.

Each target draws its sources by a counter, so that a draw can be made twice: the first time it is counted in
the row of its source, the second time it takes the next place there. No draw is stored, and nothing sorted.
"""

# Indices of numba-cuda's grid are annotated for more arguments than they need.
# pyright: reportCallIssue=false

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numba import cuda

from event_ops import CompactCSR
from event_ops.checks.packed_entries import MOST_NARROW, width_of
from event_ops.kernels.numba_cuda.random_numbers import philox2x32
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.static import MAX_SYNAPSES, weights_of
from ffi_bridge import numba_cuda_kernel

BLOCK, BLOCKS = 256, 4096
WORDS = 2  # of one draw of the generator


@cuda.jit(device=True)
def source_of(word: Any, draw: Any, target: Any, excitatory: Any, neurons: Any, first_inhibitory: Any) -> Any:
    """Return the source that a random word chooses for a draw of a target, never the target itself."""
    low, high = 0, excitatory
    if draw >= first_inhibitory:
        low, high = excitatory, neurons
    inside = low <= target < high
    source = low + np.int64((np.uint64(word) * np.uint64(high - low - inside)) >> np.uint64(32))
    return source + (inside and source >= target)


@cuda.jit
def draw_entries(key: Any, numbers: Any, _: Any, rows: Any, entries: Any) -> None:
    """entries[rows[k]] = target - first of its part, and rows[k] += 1, for k = part * neurons + source.

    Without room for entries it counts: from zeros, those of each row; from where rows begin it places them.
    """
    neurons, excitatory, first_inhibitory = numbers[0], numbers[1], numbers[2]
    inputs, width = numbers[3], numbers[4]
    pairs = (inputs + 1) // 2
    for i in range(cuda.grid(1), neurons * pairs, cuda.gridsize(1)):
        target, pair = i // pairs, i % pairs
        words = philox2x32(pair, target, key[0])
        for k in range(WORDS):
            draw = WORDS * pair + k
            if draw < inputs:
                source = source_of(words[k], draw, target, excitatory, neurons, first_inhibitory)
                place = cuda.atomic.add(rows, target // width * neurons + source, 1)
                if 0 <= place < entries.size:
                    entries[place] = target % width


def inputs_of(model: HpcBenchmark) -> tuple[int, int]:
    """Return how many excitatory and inhibitory synapses a neuron has: NEST's numbers from scale 1 on."""
    most = HpcBenchmark()
    return min(model.excitatory, most.excitatory), min(model.inhibitory, most.inhibitory)


def drawn_on_device(model: HpcBenchmark, seed: int, parts: int | None = None) -> CompactCSR:
    """Draw the synapses by source in words of 16 bits, on the device that JAX computes on.

    Entries of a row are in any order. Raise OverflowError where int32 cannot count them and `jax.enable_x64`
    is off.
    """
    n, (excitatory, inhibitory) = model.neurons, inputs_of(model)
    parts, total = parts or -(-n // MOST_NARROW), n * (excitatory + inhibitory)
    wide = total > MAX_SYNAPSES
    if wide and not jax.config.read("jax_enable_x64"):
        raise OverflowError(f"{total} synapses; expected at most {MAX_SYNAPSES}, or jax.enable_x64(True)")
    index: Any = jnp.int64 if wide else jnp.int32
    width = width_of(n, parts)
    numbers = np.array([n, model.excitatory, excitatory, excitatory + inhibitory, width], np.int64)
    given = jnp.asarray([seed], jnp.uint32), numbers

    def drawn(rows: jax.Array, room: int) -> Any:
        out = jax.ShapeDtypeStruct(rows.shape, rows.dtype), jax.ShapeDtypeStruct((room,), jnp.uint16)
        launch: dict[str, Any] = {"grid": BLOCKS, "block": BLOCK, "input_output_aliases": {2: 0}}
        return numba_cuda_kernel(draw_entries, out, **launch)(*given, rows)

    def draw() -> tuple[jax.Array, jax.Array]:
        counts, _ = drawn(jnp.zeros(parts * n, jnp.int32), 0)
        ends = jnp.concatenate([jnp.zeros(1, index), jnp.cumsum(counts, dtype=index)])
        _, entries = drawn(ends[:-1], total)
        first = ends[:-1].reshape(parts, n)
        return entries, jnp.concatenate([first, ends[n::n][:, None]], axis=1)

    entries, indptr = jax.jit(draw)()
    return CompactCSR(entries, indptr, weights_of(model), shape=(n, n))
