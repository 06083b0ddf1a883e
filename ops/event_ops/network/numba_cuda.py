"""A run of a network as one persistent CUDA kernel, whose blocks meet at a barrier in every step.

A turn of the loop delivers the spikes of the turn before, and steps the neurons: at once where no spike can
arrive within its turn, with a barrier between else. What arrives is summed in a ring of times, at which it
is read: behind the step for variables, one later for states, so that their step moves the potential by the
current of the step before, as NEST's does.
"""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.kernels.numba_cuda.threads import WARP
from event_ops.network import reference
from event_ops.network.cuda import device
from event_ops.network.cuda.division import Rows, how_of, launch_for, rows_of, timing
from event_ops.network.cuda.kernel import kernel
from event_ops.network.layout import Layout
from event_ops.network.plan import NoNativeRunError, Plan, changed, plan_of
from event_ops.network.states import State
from ffi_bridge import numba_cuda_kernel


def build(*, tree: Any, steps: int, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of the leaves of a network and a state: the native call, or the scan."""

    def call(*leaves: Any) -> Any:
        network, state = jax.tree.unflatten(tree, leaves)
        try:
            plan, arrays = plan_of(network, state)
        except NoNativeRunError as reason:
            warnings.warn(
                f"the network runs as a scan of operators, since {reason}; put it into the step, or say that "
                "the scan is meant: backend='reference'",
                stacklevel=2,
            )
            return reference.run(network, state, steps)
        return _run(network, state, plan, arrays | {"steps": np.int32(steps)}, outs)

    return call


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


def _more(layout: Layout, plan: Plan, arrays: dict[str, Any], parts: tuple[Rows, ...]) -> dict[str, Any]:
    """Return further arrays of the kernel: where neurons' entries end, and who records which neuron."""
    more: dict[str, Any] = {}
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


def _run(network: Any, state: State, plan: Plan, arrays: dict[str, Any], outs: Any) -> Any:
    """Return the results of the native call in the structure of `outs`."""
    layout = network.layout
    populations = list(zip(layout.populations, plan.populations, strict=True))
    neurons, history = layout.named(state.neurons), layout.named(state.history)
    places = np.cumsum([0, *(-(-population.size // WARP) for population in layout.populations.values())])
    (slots, span, _), launch = timing(plan, network.projections), launch_for(int(places[-1]))
    depth, words = max(layout.slots.values()) - 1, -(-int(places[-1]) // device.AT_ONCE) * device.AT_ONCE
    parts, turns = rows_of(plan, arrays), -(-(int(arrays["steps"]) + 1) // span) + 2
    how = how_of(plan, arrays, network.projections, launch, int(places[-1]))
    arrays |= _more(layout, plan, arrays, parts)
    arrays["numbers"] = np.array([words, slots, span, depth, turns], np.int32)
    arrays["places"] = places.astype(np.int32)
    old = [neurons[name][key] for name, part in populations for key in part.states]
    old += [history[name] for name, _ in populations]
    old += [jnp.zeros(1, jnp.int32), _history(layout, history, state.step, max(2 * span, depth), depth)]
    for sums in plan.sums:
        if sums.projections:
            name, _ = populations[sums.population]
            dtype = network.projections[sums.projections[0][0]].dtype
            old.append(jnp.zeros((slots, layout.populations[name].size), dtype))
    *_, (times, ids, count, traces) = outs
    rows = [layout.named(traces)[populations[p][0]][key] for p, key in plan.recorded]
    like = *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in old), times, ids, count, *rows
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
    found = iter(run(*(x if x.ndim else x.reshape(1) for x in given), *old))
    new = {name: {key: next(found) for key in part.states} for name, part in populations}
    histories = {name: next(found) for name, _ in populations}
    for _ in range(len(old) - len(changed(plan))):
        next(found)
    listed = next(found), next(found), next(found)
    seen: dict[str, dict[str, jax.Array]] = {name: {} for name in layout.named(network.record.states)}
    for p, key in plan.recorded:
        seen[populations[p][0]][key] = next(found)
    return layout.nested(new), layout.nested(histories), (*listed, layout.nested(seen))
