"""Reverse modes that are written by hand in Numba, beside which those by Enzyme are timed.

Each is a kernel that also keeps the states that its derivative needs, and one that goes back through them:
what is dear is kept, what is cheap is computed anew, sums are in place, and nothing runs twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numba
import numpy as np
from differentiable import struct
from differentiable_graphs import csr_tanh
from differentiable_lorenz_by_hand import back_lorenz, lorenz
from differentiable_motion import ATTEMPTS
from differentiable_populations import SHARPNESS

from ffi_bridge import numba_kernel

njit = numba.njit(fastmath=True, error_model="numpy")


@njit
def back_csr_tanh(data, indices, indptr, x, y, y_bar, d_data, d_x):
    d_x[:] = 0.0
    for i in range(y.size):
        total_bar = y_bar[i] * (1 - y[i] * y[i])
        for k in range(indptr[i], indptr[i + 1]):
            d_data[k] = total_bar * x[indices[k]]
            d_x[indices[k]] += total_bar * data[k]


@njit
def heat_flow(start, conductances, ends, steps, u, path):
    u[:] = start
    flow = np.empty_like(u)
    for t in range(steps.size):
        path[t] = u
        flow[:] = 0.0
        for e in range(conductances.size):
            i, j = ends[e]
            through = conductances[e] * (u[j] - u[i])
            flow[i] += through
            flow[j] -= through
        u += steps[t] * flow


@njit
def back_heat_flow(start, conductances, ends, steps, u, path, u_bar, d_start, d_conductances, d_steps):
    d_start[:], d_conductances[:] = u_bar, 0.0
    after = np.empty_like(u)
    for t in range(steps.size - 1, -1, -1):
        after[:] = d_start
        of_step = 0.0
        for e in range(conductances.size):
            i, j = ends[e]
            through_bar, drop = after[i] - after[j], path[t, j] - path[t, i]
            of_step += conductances[e] * drop * through_bar
            d_conductances[e] += steps[t] * drop * through_bar
            back = steps[t] * conductances[e] * through_bar
            d_start[j] += back
            d_start[i] -= back
        d_steps[t] = of_step


@njit
def felsenstein(children, lengths, frequencies, leaves, log_likelihood, partials):
    tips, sites = leaves.shape
    partials[:tips] = 0.0
    for tip in range(tips):
        for site in range(sites):
            partials[tip, site, leaves[tip, site]] = 1.0
    for k in range(children.shape[0]):
        node = tips + k
        partials[node] = 1.0
        for child in children[k]:
            kept = np.exp(-lengths[child])
            for site in range(sites):
                mean = 0.0
                for base in range(4):
                    mean += frequencies[base] * partials[child, site, base]
                for base in range(4):
                    partials[node, site, base] *= kept * partials[child, site, base] + (1 - kept) * mean
    total = 0.0
    for site in range(sites):
        chance = 0.0
        for base in range(4):
            chance += frequencies[base] * partials[-1, site, base]
        total += np.log(chance)
    log_likelihood[()] = total


@njit
def back_felsenstein(
    children, lengths, frequencies, leaves, log_likelihood, partials, bar, d_lengths, d_frequencies
):
    tips, sites = leaves.shape
    bars = np.empty(partials.shape)
    d_frequencies[:] = 0.0
    for site in range(sites):
        chance = 0.0
        for base in range(4):
            chance += frequencies[base] * partials[-1, site, base]
        for base in range(4):
            bars[-1, site, base] = bar[()] / chance * frequencies[base]
            d_frequencies[base] += bar[()] / chance * partials[-1, site, base]
    for k in range(children.shape[0] - 1, -1, -1):
        for side in range(2):
            child, other = children[k, side], children[k, 1 - side]
            kept, kept_other = np.exp(-lengths[child]), np.exp(-lengths[other])
            of_kept = 0.0
            for site in range(sites):
                mean = mean_other = mean_bar = 0.0
                for base in range(4):
                    mean += frequencies[base] * partials[child, site, base]
                    mean_other += frequencies[base] * partials[other, site, base]
                for base in range(4):
                    factor = kept_other * partials[other, site, base] + (1 - kept_other) * mean_other
                    moved = bars[tips + k, site, base] * factor
                    of_kept += moved * (partials[child, site, base] - mean)
                    mean_bar += (1 - kept) * moved
                    bars[child, site, base] = kept * moved
                for base in range(4):
                    bars[child, site, base] += frequencies[base] * mean_bar
                    d_frequencies[base] += partials[child, site, base] * mean_bar
            d_lengths[child] = -kept * of_kept


@njit
def fitzhugh_nagumo(stimulus, diffusion, parameters, dt, v, w):
    a, b, epsilon = parameters
    steps, rows, columns = stimulus.shape
    v[0], w[0] = stimulus[0], 0.0
    for t in range(1, steps):
        for i in range(rows):
            for j in range(columns):
                here, spread = v[t - 1, i, j], 0.0
                if i > 0:
                    spread += v[t - 1, i - 1, j] - here
                if i < rows - 1:
                    spread += v[t - 1, i + 1, j] - here
                if j > 0:
                    spread += v[t - 1, i, j - 1] - here
                if j < columns - 1:
                    spread += v[t - 1, i, j + 1] - here
                slope = here - here**3 / 3 - w[t - 1, i, j] + stimulus[t, i, j] + diffusion * spread
                w[t, i, j] = w[t - 1, i, j] + dt * epsilon * (here + a - b * w[t - 1, i, j])
                v[t, i, j] = here + dt * slope


@njit
def back_fitzhugh_nagumo(
    stimulus, diffusion, parameters, dt, v, w, v_bar, d_stimulus, d_diffusion, d_parameters, d_dt
):
    """Go back through the sheet; `d_stimulus` is the state's own until the end, and spreads as it does."""
    a, b, epsilon = parameters
    steps, rows, columns = v.shape
    w_bar = np.zeros((rows, columns))
    of_diffusion = of_slope = of_a = of_b = of_rate = 0.0
    d_stimulus[-1] = v_bar[-1]
    for t in range(steps - 1, 0, -1):
        for i in range(rows):
            up, down = max(i - 1, 0), min(i + 1, rows - 1)
            for j in range(columns):
                left, right = max(j - 1, 0), min(j + 1, columns - 1)
                bar, rate_bar = d_stimulus[t, i, j], w_bar[i, j]
                here, before = v[t - 1, i, j], w[t - 1, i, j]
                spread = d_stimulus[t, up, j] + d_stimulus[t, down, j] - 4 * bar
                spread += d_stimulus[t, i, left] + d_stimulus[t, i, right]
                of_diffusion += here * spread
                of_slope += bar * (v[t, i, j] - here)
                of_a += rate_bar
                of_b += rate_bar * before
                of_rate += rate_bar * (here + a - b * before)
                d_stimulus[t - 1, i, j] = (
                    v_bar[t - 1, i, j]
                    + bar * (1 + dt * (1 - here * here))
                    + dt * (epsilon * rate_bar + diffusion * spread)
                )
                w_bar[i, j] = rate_bar * (1 - dt * epsilon * b) - dt * bar
    d_stimulus[1:] *= dt
    d_diffusion[()], d_dt[()] = dt * of_diffusion, of_slope / dt + epsilon * of_rate
    d_parameters[0], d_parameters[1] = dt * epsilon * of_a, -dt * epsilon * of_b
    d_parameters[2] = dt * of_rate


@njit
def integrate_and_fire(x, weights, leak, threshold, spikes, V):
    steps, n = x.shape
    V[0] = x[0]
    for t in range(steps):
        for i in range(n):
            if t > 0:
                arriving = x[t, i]
                for j in range(n):
                    arriving += weights[i, j] * spikes[t - 1, j]
                V[t, i] = leak * (V[t - 1, i] - threshold * spikes[t - 1, i]) + arriving
        for i in range(n):
            distance = V[t, i] - threshold
            spikes[t, i] = 0.5 * (1.0 + SHARPNESS * distance / (1.0 + SHARPNESS * abs(distance)))


@njit
def back_integrate_and_fire(x, weights, leak, threshold, spikes, V, bar, d_x, d_weights, d_leak, d_threshold):
    steps, n = x.shape
    V_bar, spikes_bar = np.zeros(n), np.zeros(n)
    of_leak = of_threshold = 0.0
    d_weights[:] = 0.0
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            sharp = 1.0 + SHARPNESS * abs(V[t, i] - threshold)
            distance_bar = (bar[t, i] + spikes_bar[i]) * 0.5 * SHARPNESS / (sharp * sharp)
            of_threshold -= distance_bar
            V_bar[i] += distance_bar
            d_x[t, i] = V_bar[i]
        if t == 0:
            break
        for i in range(n):
            of_leak += V_bar[i] * (V[t - 1, i] - threshold * spikes[t - 1, i])
            V_bar[i] *= leak
            of_threshold -= V_bar[i] * spikes[t - 1, i]
            spikes_bar[i] = -threshold * V_bar[i]
        for i in range(n):
            for j in range(n):
                d_weights[i, j] += d_x[t, i] * spikes[t - 1, j]
                spikes_bar[j] += d_x[t, i] * weights[i, j]
    d_leak[()], d_threshold[()] = of_leak, of_threshold


@dataclass(frozen=True)
class ByHand:
    """A kernel `forward(*ins, *outs, *kept)`, of the same `ins` and `outs` as one to differentiate.

    `back(*ins, *outs, *kept, *cotangents, *gradients)` has a gradient for each input of floats.
    """

    forward: Any
    back: Any
    kept: Callable[..., tuple[Any, ...]] = lambda *ins: ()

    def function(self, differentiable):
        """Return the function of JAX whose gradient this is."""
        names = {"scalar_argnames": differentiable.scalars}

        def outs(*ins):
            return (*jax.tree.leaves(differentiable.outs(*ins)), *self.kept(*ins))

        def forward(*ins):
            found = numba_kernel(self.forward, outs, **names)(*ins)
            return found[0], (ins, found)

        def back(residuals, *cotangents):
            ins, found = residuals
            floats = [i for i, x in enumerate(ins) if x.dtype == "float64"]
            gradients = [struct(*ins[i].shape) for i in floats]
            slopes = numba_kernel(self.back, gradients, **names)(*ins, *found, *cotangents)
            return tuple(dict(zip(floats, slopes, strict=True)).get(i) for i in range(len(ins)))

        function = jax.custom_vjp(lambda *ins: forward(*ins)[0])
        function.defvjp(forward, back)
        return function


BY_HAND = {
    "csr_tanh": ByHand(csr_tanh, back_csr_tanh),
    "felsenstein": ByHand(
        felsenstein,
        back_felsenstein,
        lambda children, lengths, frequencies, leaves: (
            struct(leaves.shape[0] + children.shape[0], leaves.shape[1], 4),
        ),
    ),
    "fitzhugh_nagumo": ByHand(fitzhugh_nagumo, back_fitzhugh_nagumo, lambda stimulus, *_: (stimulus,)),
    "heat_flow": ByHand(
        heat_flow,
        back_heat_flow,
        lambda start, conductances, ends, steps: (struct(steps.size, start.size),),
    ),
    "integrate_and_fire": ByHand(integrate_and_fire, back_integrate_and_fire, lambda x, *_: (x,)),
    "lorenz": ByHand(
        lorenz,
        back_lorenz,
        lambda start, parameters, times: (
            struct(times.size, ATTEMPTS, 5),
            jax.ShapeDtypeStruct(times.shape, "int64"),
        ),
    ),
}
