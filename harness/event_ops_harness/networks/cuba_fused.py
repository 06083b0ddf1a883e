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

from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.network import capacity_of
from event_ops_harness.networks.cuba import CubaParameters, State, Synapses, drive_gains
from event_ops_harness.networks.shared.simulation import Spikes, Step
from ffi_bridge import numba_kernel

# Unsigned, as all indices here: for signed ones Numba compiles the wrapping of negative ones.
BLOCK = np.uintp(64)  # neurons that are searched for spikes at once


def fused_state(state: State) -> State:
    """Return the state for this kernel: `refractory` counts steps, in a byte where ms take four."""
    return state._replace(refractory=jnp.zeros(state.refractory.shape, jnp.uint8))


def fused_step(connectivity: Connectivity, model: CubaParameters) -> Step:
    """Return the step of `network.catalog_step`, on a `fused_state`."""
    n = connectivity.neurons
    vector, channels = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((n,), (2, n)))
    refractory = jax.ShapeDtypeStruct((n,), jnp.uint8)
    ids, count = (jax.ShapeDtypeStruct(shape, jnp.int32) for shape in ((capacity_of(n),), ()))
    outs = (vector, refractory, channels, ids, count)
    in_place = {i: i for i in range(len(State._fields))}
    call = numba_kernel(make_kernel(connectivity, model), outs, input_output_aliases=in_place)

    def step(state: State, synapses: Synapses) -> tuple[State, Spikes]:
        *new, ids, count = call(*state, *synapses)
        # The type of what is given: as a program, `cuba` is the module `__main__`, with a State of its own.
        return type(state)(*new), Spikes(ids, count)

    return step


def make_kernel(connectivity: Connectivity, model: CubaParameters) -> Any:
    """Return the Numba kernel, with the parameters as constants of its machine code.

    A neuron that spiked in this step has refractory == fired, one more than the steps that it is held;
    so spikes need no array of their own.
    """
    steps_held = round(model.held_time / model.dt)
    if steps_held >= np.iinfo(np.uint8).max:
        raise ValueError(f"t_ref is {steps_held} steps; the fused kernel counts up to 254")
    f = np.float32
    gain_ex, gain_in = map(f, drive_gains(connectivity, model))
    decay_m, decay_ex, decay_in = (
        f(math.exp(-model.dt / tau)) for tau in (model.tau_m, model.tau_syn_ex, model.tau_syn_in)
    )
    rest, threshold, reset = map(f, (model.E_L, model.V_th, model.V_reset))
    fired = np.uint8(steps_held + 1)

    @numba.njit
    def integrate(V_m, refractory, g_ex, g_in):
        for i in range(np.uintp(V_m.size)):
            V, ex, inh = V_m[i], g_ex[i], g_in[i]
            left = np.uint8(refractory[i] - np.uint8(refractory[i] != 0))
            V_inf = rest + gain_ex * ex + gain_in * inh
            V = V if left else V_inf + (V - V_inf) * decay_m
            spike = threshold < V
            V_m[i] = reset if spike else V
            refractory[i] = fired if spike else left
            g_ex[i] = ex * decay_ex
            g_in[i] = inh * decay_in

    @numba.njit
    def any_fired(refractory, low):
        any_spike = False
        # To the end, also after the first spike: so LLVM vectorises the loop.
        for i in range(low, low + BLOCK):
            any_spike |= refractory[i] == fired
        return any_spike

    @numba.njit
    def deliver(i, data, indices, indptr, g):
        for k in range(np.uintp(indptr[i]), np.uintp(indptr[i + np.uintp(1)])):
            # Known when it is compiled: only one of the two ways has a type.
            if data.ndim == 0:
                weight = data[()]
            else:
                weight = data[k]
            g[np.uintp(indices[k])] += weight

    @numba.njit
    def spread(refractory, low, high, ids, count, data, indices, indptr, g):
        for i in range(low, high):
            if refractory[i] == fired:
                if count < ids.size:
                    ids[count] = i
                count += 1
                deliver(i, data, indices, indptr, g)
        return count

    @numba.njit
    def cuba_step(
        V_in, refractory_in, g_in, data, indices, indptr,
        V_m, refractory, g, ids, count,
    ):  # fmt: skip
        n, synapses, total = np.uintp(V_m.size), (data, indices, indptr, g.reshape(-1)), 0
        integrate(V_m, refractory, g[0], g[1])
        blocks = n // BLOCK
        for block in range(blocks):
            if any_fired(refractory, block * BLOCK):
                total = spread(
                    refractory, block * BLOCK, (block + np.uintp(1)) * BLOCK, ids, total, *synapses
                )
        total = spread(refractory, blocks * BLOCK, n, ids, total, *synapses)
        ids[min(total, ids.size) :] = n
        count[()] = total

    return cuba_step
