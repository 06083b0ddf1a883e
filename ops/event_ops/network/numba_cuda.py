"""A run of a network as one persistent CUDA kernel, whose blocks meet at a barrier in every step.

A turn of the loop delivers the spikes of the turn before, and steps the neurons: at once where no spike can
arrive within its turn, with a barrier between else. What arrives is summed in a ring of times, at which it
is read: behind the step for variables, one later for states, so that their step moves the potential by the
current of the step before, as NEST's does.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.kernels.numba_cuda.access import stored_weights
from event_ops.kernels.numba_cuda.threads import WARP
from event_ops.network.cuda import device
from event_ops.network.cuda.division import Rows, how_of, launch_for, rows_of, timing
from event_ops.network.cuda.kernel import kernel
from event_ops.network.cuda.learning import kept, two_rows
from event_ops.network.cuda.pulled import by_warp
from event_ops.network.layout import Layout
from event_ops.network.native import make_build, old_arrays, record_like, structured
from event_ops.network.plan import Arrays, Plan
from event_ops.network.plan import changed as names_of_changed
from event_ops.network.states import State
from event_ops.sparse.csr import CSR
from ffi_bridge import numba_cuda_kernel


def _history(
    layout: Layout, history: dict[str, jax.Array], step: jax.Array, rows: int, depth: int
) -> jax.Array:
    """Return the bits of `rows` steps, flat, the first of which are the `depth` steps before this one.

    The words of the populations follow each other, up to a whole number of loads.
    """
    times = step + np.arange(-depth, 0, dtype=np.int32)
    parts = []
    for name, slots in layout.slots.items():
        known = np.arange(-depth, 0) >= 1 - slots
        parts.append(jnp.where(known[:, None], history[name][times % slots], np.uint32(0)))
    words = jnp.concatenate(parts, axis=1)
    padding = -words.shape[1] % device.AT_ONCE
    return jnp.pad(words, ((0, rows - depth), (0, padding))).reshape(-1)


def _kept(history: jax.Array, step: jax.Array) -> jax.Array:
    """Return the history with one row more, so that no step takes the row of one that is still read."""
    slots, words = history.shape
    times = step + np.arange(-slots, 0, dtype=np.int32)
    return jnp.zeros((slots + 1, words), jnp.uint32).at[times % (slots + 1)].set(history[times % slots])


def _more(layout: Layout, plan: Plan, arrays: Arrays, parts: tuple[Rows, ...]) -> Arrays:
    """Return further arrays of the kernel: where neurons' entries end, and who records which neuron."""
    more: Arrays = {}
    for part in parts:
        if part.delays:
            q, place = part.projection, 2 if part.part < 0 else 1
            more[f"near{q}"] = arrays[f"matrix{q}_{place}"][..., :: arrays[f"ages{q}"].size]
    sizes = [population.size for population in layout.populations.values()]
    for r, (p, _) in enumerate(plan.recorded):
        ids = arrays.pop(f"chosen{r}")
        more[f"order{r}"] = np.argsort(ids, kind="stable").astype(np.int32)
        more[f"begins{r}"] = np.searchsorted(np.sort(ids), np.arange(sizes[p] + 1)).astype(np.int32)
    return more


def _run(network: Any, state: State, plan: Plan, arrays: Arrays, outs: Any) -> Any:
    """Return the results of the native call in the structure of `outs`."""
    layout = network.layout
    sizes = [population.size for population in layout.populations.values()]
    places = np.cumsum([0, *(-(-size // WARP) for size in sizes)])
    (slots, span, _), launch = timing(plan, network.projections), launch_for(int(places[-1]))
    depth, words = max(layout.slots.values()) - 1, -(-int(places[-1]) // device.AT_ONCE) * device.AT_ONCE
    turns = -(-(int(arrays["steps"]) + 1) // span) + 2
    for q, part in enumerate(network.projections):
        if isinstance(part.A, CSR) and part.plasticity is None:
            arrays[f"matrix{q}_0"] = stored_weights(arrays[f"matrix{q}_0"], part.dtype)
    how = how_of(plan, arrays, network.projections, launch, int(places[-1]))
    parts = () if how.pulled else rows_of(plan, arrays)
    arrays = by_warp(network.projections, arrays) if how.pulled else arrays
    arrays |= _more(layout, plan, arrays, parts)
    arrays["numbers"] = np.array([words, slots, span, depth, turns], np.int32)
    arrays["places"] = places.astype(np.int32)
    history = layout.named(state.history)
    changed = [
        # The second row is that of the step that comes.
        jnp.stack([x, x]) if name in two_rows(plan) else x
        for name, x in zip(names_of_changed(plan), old_arrays(network, state, plan), strict=True)
    ]
    fired = _history(layout, history, state.step, max(2 * span, depth), depth)
    old = [*changed, jnp.zeros(1, jnp.int32), fired]
    for sums in plan.sums:
        if sums.projections:
            dtype = network.projections[sums.projections[0][0]].dtype
            old.append(jnp.zeros((slots, sizes[sums.population]), dtype))
    old += [_kept(history[name], state.step) for p, name in enumerate(layout.populations) if p in kept(plan)]
    like = *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in old), *record_like(network, plan, outs)
    run = numba_cuda_kernel(
        kernel(plan, tuple(arrays), parts, how),
        like,
        grid=launch.blocks,
        block=launch.threads,
        cooperative=True,
        vmap_method="sequential",
        input_output_aliases={len(arrays) + k: k for k in range(len(old))},
    )
    given = [jnp.asarray(x) for x in arrays.values()]
    results = run(*(x if x.ndim else x.reshape(1) for x in given), *old)
    last = int(arrays["steps"]) % 2
    ended = [
        x[last] if name in two_rows(plan) else x
        for name, x in zip(names_of_changed(plan), results, strict=False)
    ]
    return structured(network, plan, [*ended, *results[len(old) :]])


build = make_build(_run, on_gpu=True)
