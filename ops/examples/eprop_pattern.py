"""Pattern generation by e-prop: a recurrent network of spiking neurons learns to draw a curve of one second.

    v[t] = alpha * v[t-1] + (1 - alpha) * (w_in.T @ x[t] + w_rec.T @ z[t-1]) - V_th * z[t-1],  z = v > V_th
    y[t] = kappa * y[t-1] + (1 - kappa) * w_out @ z[t]
    w   -= eta * sum over t of L[t] * e_bar[t],   L[t] = B * (y[t] - target[t]) + c_reg * (rate - target rate)

100 input neurons repeat the same random spikes in each trial, and the target is a sum of four sines. Synapses
learn from their eligibility and from a learning signal, which is fed back by random weights B: nothing is
propagated backwards in time. The rule is that of the page "Write a plasticity rule", as it is there.

The loss is half the sum of squared errors, the nMSE the mean squared error over the variance of the target.

Source: Bellec et al. (2020), Nat. Commun. 11, 3625; the task with these parameters is that of its authors'
program ``tutorial_pattern_generation.py``, but that the rate is that of the trial before.
"""

import argparse
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from event_ops import dense_event_matvec, plasticity

NEURONS, STEPS, PERIODS = 100, 1000, (1000, 500, 333, 200)
TAU, V_TH, DAMPENING = 30.0, 0.03, 0.3  # ms, of membranes and of the readout
INPUT_HZ, TARGET_HZ, C_REG = 50.0, 10.0, 300.0
ETA = 1e-4
KEPT = jnp.exp(-1 / TAU)  # of a trace in a step of 1 ms


class Weights(NamedTuple):
    """Weights that learn; rows are presynaptic."""

    w_in: jax.Array  # (inputs, neurons)
    w_rec: jax.Array  # (neurons, neurons), 0 from a neuron to itself
    w_out: jax.Array  # (neurons,)


class Task(NamedTuple):
    """Input, target and feedback, which no trial changes."""

    spikes: jax.Array  # bool (steps, inputs)
    target: jax.Array  # (steps,)
    feedback: jax.Array  # (neurons,), B


def decayed(c: Any, last: Any, t: Any, tau_c: Any) -> Any:
    """Return c at time t, of which it was c at the time `last`."""
    return c * jnp.exp((last - t) / tau_c)


def eprop(
    w: Any, e_bar: Any, last: Any, *, psi_post: Any, z_pre: Any, L_post: Any, t: Any, tau_out: Any, eta: Any
) -> Any:
    """Change one synapse: its weight, its filtered eligibility, and when that was last brought up to date."""
    e_bar = decayed(e_bar, last, t, tau_out) + psi_post * z_pre
    return w - eta * L_post * e_bar, e_bar, t


def filtered(trace: jax.Array, spikes: jax.Array) -> jax.Array:
    """Return an exponential average of the input."""
    return KEPT * trace + (1 - KEPT) * spikes.astype(trace.dtype)


def curve(key: jax.Array) -> jax.Array:
    """Return the target: sines that begin at 0 together and reach 1 or -1."""
    for_size, for_phase = jax.random.split(key)
    size = jax.random.uniform(for_size, (4,), minval=0.5, maxval=2.0)
    phase = jax.random.uniform(for_phase, (4, 1), maxval=2 * jnp.pi)
    turns = jnp.array([float(STEPS // period) for period in PERIODS])
    sines = size @ jnp.sin(phase + 2 * jnp.pi * jnp.outer(turns, jnp.linspace(0, 1, STEPS)))
    return (sines - sines[0]) / jnp.abs(sines - sines[0]).max()


def drawn(seed: int) -> tuple[Weights, Task]:
    """Draw weights, inputs and the curve."""
    keys = jax.random.split(jax.random.key(seed), 6)
    normal = [jax.random.normal(key, (NEURONS, NEURONS)) / NEURONS**0.5 for key in keys[:2]]
    out, feedback = (jax.random.normal(key, (NEURONS,)) / NEURONS**0.5 for key in keys[2:4])
    spikes = jax.random.bernoulli(keys[4], INPUT_HZ / 1000, (STEPS, NEURONS))
    weights = Weights(normal[0], normal[1] * (1 - jnp.eye(NEURONS)), out)
    return weights, Task(spikes, curve(keys[5]), feedback)


def step(weights: Weights, task: Task, too_often: jax.Array, state: Any, now: Any) -> Any:
    """Step neurons, readout and changes of synapses by one ms; return the error and the spikes, too."""
    v, z, x_in, x_rec, x_out, y, learned_in, learned_rec, learned_out = state
    spikes, target, t = now
    x_in, x_rec = filtered(x_in, spikes), filtered(x_rec, z)
    sent = (dense_event_matvec(w, s, transpose=True) for w, s in zip(weights[:2], (spikes, z), strict=True))
    v = KEPT * v + (1 - KEPT) * sum(sent) - jnp.where(z, V_TH, 0)
    z = v > V_TH
    x_out, y = filtered(x_out, z), filtered(y, jnp.where(z, weights.w_out, 0).sum())
    psi = DAMPENING / V_TH * jnp.maximum(1 - jnp.abs(v - V_TH) / V_TH, 0)
    error = y - target
    L = task.feedback * error + C_REG * too_often / STEPS
    post = {"psi_post": psi, "L_post": L, "t": t, "tau_out": TAU, "eta": ETA * (1 - KEPT)}
    visited = (psi > 0) | (L != 0)
    learned_in = plasticity.on_post(eprop, learned_in, spikes_post=visited, z_pre=x_in, **post)
    learned_rec = plasticity.on_post(eprop, learned_rec, spikes_post=visited, z_pre=x_rec, **post)
    learned_out = learned_out - ETA * error * x_out
    return (v, z, x_in, x_rec, x_out, y, learned_in, learned_rec, learned_out), (error, y, z)


def trial(task: Task, carry: Any, _: None) -> Any:
    """One second, after which the weights change; the errors and the readout."""
    weights, rate = carry
    zeros, none, nothing = jnp.zeros(NEURONS), jnp.zeros((NEURONS, NEURONS)), jnp.zeros(NEURONS, bool)
    state = zeros, nothing, zeros, zeros, zeros, jnp.zeros(()), (none,) * 3, (none,) * 3, zeros
    now = task.spikes, task.target, jnp.arange(STEPS, dtype=jnp.float32)
    state, (error, y, z) = jax.lax.scan(partial(step, weights, task, rate - TARGET_HZ / 1000), state, now)
    (to_in, *_), (to_rec, *_), to_out = state[-3:]
    changed = Weights(*map(jnp.add, weights, (to_in, to_rec * (1 - jnp.eye(NEURONS)), to_out)))
    return (changed, z.mean(0)), ((error**2).sum() / 2, y)


@partial(jax.jit, static_argnums=2)
def train(weights: Weights, task: Task, trials: int) -> Any:
    """The losses (trials,), and the curve that was drawn in the last one."""
    start = weights, jnp.full(NEURONS, TARGET_HZ / 1000)
    _, (losses, curves) = jax.lax.scan(partial(trial, task), start, length=trials)
    return losses, curves[-1]


def main() -> None:
    """Print how the loss falls."""
    parser = argparse.ArgumentParser(description="A network learns to draw a curve, by e-prop.")
    parser.add_argument("--seed", type=int, default=0, help="of network, inputs and curve (default: 0)")
    parser.add_argument("--trials", type=int, default=200, help="of one second each (default: 200)")
    options = parser.parse_args()
    weights, task = drawn(options.seed)
    losses, _ = train(weights, task, options.trials)
    variance = task.target.var()
    print("trial     loss    nMSE")
    for i in sorted({0, *range(options.trials // 10 - 1, options.trials, max(1, options.trials // 10))}):
        print(f"{i + 1:5} {losses[i]:8.2f} {2 * losses[i] / STEPS / variance:7.3f}")


if __name__ == "__main__":
    main()
