"""The same step as one kernel of the user's own: `numba_kernel` beside the catalog.

The state is updated in place: with `input_output_aliases` an output is the memory of its input,
and the kernel reads from the output, because a loop that reads one name and writes the other
could not be vectorised.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np

from event_ops_harness.cuba.connectivity import Connectivity
from event_ops_harness.cuba.model import CubaParameters
from event_ops_harness.cuba.network import Spikes, State, Step, Synapses, capacity_of, drive_gains, held_time
from ffi_bridge import numba_kernel


def fused_state(state: State) -> State:
    """The state as this kernel wants it: refractory counts steps, in a byte where ms take four."""
    return state._replace(refractory=jnp.zeros(state.refractory.shape, jnp.uint8))


def fused_step(connectivity: Connectivity, model: CubaParameters) -> Step:
    """The step of `network.catalog_step`, on a `fused_state`."""
    n = connectivity.neurons
    vector, flags = jax.ShapeDtypeStruct((n,), jnp.float32), jax.ShapeDtypeStruct((n,), jnp.bool_)
    refractory = jax.ShapeDtypeStruct((n,), jnp.uint8)
    ids, count = (jax.ShapeDtypeStruct(shape, jnp.int32) for shape in ((capacity_of(n),), ()))
    state, spikes = State._make((vector, refractory, vector, vector)), Spikes._make((ids, count))
    outs = (state, spikes, flags)
    in_place = {i: i for i in range(len(State._fields))}
    call = numba_kernel(make_kernel(connectivity, model), outs, input_output_aliases=in_place)

    def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
        state, spikes, _ = call(*state, *synapses)
        return state, spikes

    return step


def make_kernel(connectivity: Connectivity, model: CubaParameters) -> Any:
    """The Numba kernel, with the parameters as constants of its machine code."""
    steps_held = round(held_time(model) / model.dt)
    if steps_held > np.iinfo(np.uint8).max:
        raise ValueError(f"t_ref is {steps_held} steps; the fused kernel counts up to 255")
    f = np.float32
    gain_ex, gain_in = map(f, drive_gains(connectivity, model))
    decay_m, decay_ex, decay_in = (
        f(math.exp(-model.dt / tau)) for tau in (model.tau_m, model.tau_syn_ex, model.tau_syn_in)
    )
    rest, threshold, reset = map(f, (model.E_L, model.V_th, model.V_reset))
    held = np.uint8(steps_held)

    @numba.njit
    def integrate(V_m, refractory, g_ex, g_in, fired):
        for i in range(V_m.size):
            V, left, ex, inh = V_m[i], refractory[i], g_ex[i], g_in[i]
            V_inf = rest + gain_ex * ex + gain_in * inh
            V = V if left else V_inf + (V - V_inf) * decay_m
            spike = threshold < V
            V_m[i] = reset if spike else V
            refractory[i] = held if spike else np.uint8(left - np.uint8(left != 0))
            g_ex[i] = ex * decay_ex
            g_in[i] = inh * decay_in
            fired[i] = spike

    @numba.njit
    def list_range(fired, ids, count, low, high):
        for i in range(low, high):
            if fired[i]:
                if count < ids.size:
                    ids[count] = i
                count += 1
        return count

    @numba.njit
    def list_spikes(fired, ids):
        # Few neurons spike in a step: look at 64 flags at a time, then at 8.
        count, blocks = 0, fired.size // 64
        eights = fired[: 64 * blocks].view(np.uint64).reshape(blocks, 8)
        for block in range(blocks):
            w = eights[block]
            if w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]:
                for j in range(8):
                    if w[j]:
                        first = 64 * block + 8 * j
                        count = list_range(fired, ids, count, first, first + 8)
        count = list_range(fired, ids, count, 64 * blocks, fired.size)
        ids[min(count, ids.size) :] = fired.size
        return count

    @numba.njit
    def deliver(i, data, indices, indptr, g_ex, g_in):
        n = np.uint32(g_ex.size)
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            target = np.uint32(indices[k])
            if data.ndim == 0:
                weight = data[()]
            else:
                weight = data[k]
            if target < n:
                g_ex[target] += weight
            else:
                g_in[np.uint32(target - n)] += weight

    @numba.njit
    def cuba_step(
        V_in, refractory_in, g_ex_in, g_in_in, data, indices, indptr,
        V_m, refractory, g_ex, g_in, ids, count, fired,
    ):  # fmt: skip
        integrate(V_m, refractory, g_ex, g_in, fired)
        count[()] = list_spikes(fired, ids)
        if count[()] <= ids.size:
            for spike in range(count[()]):
                deliver(ids[spike], data, indices, indptr, g_ex, g_in)
        else:
            for i in range(fired.size):
                if fired[i]:
                    deliver(i, data, indices, indptr, g_ex, g_in)

    return cuba_step
