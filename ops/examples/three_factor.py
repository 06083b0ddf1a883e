"""Three-factor learning: the rewarded one of two groups of neurons learns to answer a pattern of spikes.

Spikes before and after a synapse leave an eligibility e there, by pair-based STDP. It fades, unless a third
factor, which every synapse gets alike, turns it into a change of the weight w before it has:

    e = e * exp(-dt / tau_e) + STDP        at every step
    w = w + eta * (reward - expected) * e  at the end of every trial

Each trial shows the pattern for 100 ms. The reward is large when group 0 answers with more spikes than group
1; noise makes the answers differ from trial to trial, and what was followed by more reward than expected
becomes more likely. With the same rewards in shuffled order the groups learn nothing that tells them apart.

Source: Izhikevich (2007), Cereb. Cortex 17, 2443-2452; Frémaux and Gerstner (2016), Front. Neural
Circuits 9, 85.
"""

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from event_ops import csr_tocsc, expsyn_step, lif_step, stdp_on_post, stdp_on_pre, trace_decay

INPUTS, GROUP, FAN_OUT = 100, 10, 10
OUTPUTS = 2 * GROUP
SHAPE = (INPUTS, OUTPUTS)

STEPS, DT = 100, 1.0  # of one trial, and ms
PATTERN_HZ, BACKGROUND_HZ = 60.0, 5.0
NOISE = 20.0  # mV

NEURON = {"tau_m": 20.0, "E_L": -60.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 5.0, "dt": DT}
TAU_SYN, TAU_STDP, TAU_E = 5.0, 20.0, 500.0  # ms
A_PLUS, A_MINUS = 1.0, 0.7
ETA, W_START, W_MAX = 0.03, 1.2, 4.0
FREE = {"w_min": -jnp.inf, "w_max": jnp.inf}  # an eligibility has no bounds


def connect(key: jax.Array) -> tuple[jax.Array, ...]:
    """Every input goes to FAN_OUT random outputs: the CSR structure, and that of its transpose."""
    shuffled = jax.random.permutation(
        key, jnp.tile(jnp.arange(OUTPUTS), (INPUTS, 1)), axis=1, independent=True
    )
    indices = jnp.sort(shuffled[:, :FAN_OUT], axis=1).reshape(-1)
    indptr = jnp.arange(0, INPUTS * FAN_OUT + 1, FAN_OUT)
    return (indices, indptr, *csr_tocsc(indices, indptr, shape=SHAPE))


def step(structure: Any, w: jax.Array, rates: jax.Array, state: Any, key: jax.Array) -> Any:
    """Step neurons, traces of their spikes, and the eligibility, to which STDP adds."""
    V, held, g, x_pre, x_post, e = state
    indices, indptr, *transpose = structure
    for_spikes, for_noise = jax.random.split(key)
    pre = jax.random.bernoulli(for_spikes, rates * DT / 1000)
    g = expsyn_step(g, w, indices, indptr, pre, shape=SHAPE, tau=TAU_SYN, dt=DT)
    noise = NOISE * jax.random.normal(for_noise, (OUTPUTS,))
    V, held, post = lif_step(V, held, g + noise, **NEURON)
    x_pre = trace_decay(x_pre, pre, tau=TAU_STDP, dt=DT)
    e = trace_decay(e, jnp.zeros(e.shape, bool), tau=TAU_E, dt=DT)
    e = stdp_on_pre(e, indices, indptr, pre, x_post, shape=SHAPE, A_minus=A_MINUS, **FREE)
    e = stdp_on_post(e, *transpose, post, x_pre, shape=SHAPE, A_plus=A_PLUS, **FREE)
    x_post = trace_decay(x_post, post, tau=TAU_STDP, dt=DT)
    return (V, held, g, x_pre, x_post, e), post


def trial(structure: Any, rates: jax.Array, carry: Any, given: Any) -> Any:
    """Show the pattern once, then learn from this trial's reward, or from one that is given instead."""
    w, expected = carry
    key, reward = given
    quiet = jnp.zeros(OUTPUTS)
    rest = (quiet + NEURON["E_L"], quiet, quiet, jnp.zeros(INPUTS), quiet, jnp.zeros_like(w))
    keys = jax.random.split(key, STEPS)
    state, spikes = jax.lax.scan(partial(step, structure, w, rates), rest, keys)
    response = spikes.reshape(STEPS, 2, GROUP).sum((0, 2)) / GROUP  # spikes per neuron of each group
    if reward is None:
        reward = response[0] - response[1]
    w = jnp.clip(w + ETA * (reward - expected) * state[-1], 0, W_MAX)
    return (w, expected + 0.2 * (reward - expected)), (response, reward)


@jax.jit
def train(key: jax.Array, trial_keys: jax.Array, rewards: jax.Array | None = None) -> Any:
    """Return the responses (trials, groups), and the rewards, earned or given."""
    for_pattern, for_network = jax.random.split(key)
    structure = connect(for_network)
    in_pattern = jax.random.permutation(for_pattern, INPUTS) < INPUTS // 2
    rates = jnp.where(in_pattern, PATTERN_HZ, BACKGROUND_HZ)
    start = jnp.full(INPUTS * FAN_OUT, W_START), jnp.zeros(())
    _, results = jax.lax.scan(partial(trial, structure, rates), start, (trial_keys, rewards))
    return results


def experiment(seed: int, trials: int) -> tuple[jax.Array, jax.Array]:
    """Responses (trials, groups) with the rewards that were earned, and with the same ones shuffled."""
    key, for_trials, for_order = jax.random.split(jax.random.key(seed), 3)
    trial_keys = jax.random.split(for_trials, trials)
    learned, rewards = train(key, trial_keys)
    control, _ = train(key, trial_keys, jax.random.permutation(for_order, rewards))
    return learned, control


def main() -> None:
    """Print how the responses of both groups change."""
    parser = argparse.ArgumentParser(description="Reward-modulated STDP on a small spiking network.")
    parser.add_argument("--seed", type=int, default=0, help="of network, pattern and noise (default: 0)")
    parser.add_argument("--trials", type=int, default=400, help="of 100 ms each (default: 400)")
    options = parser.parse_args()
    results = experiment(options.seed, options.trials)
    print("spikes per neuron and trial     first tenth         last tenth")
    print("                              group 0  group 1    group 0  group 1")
    tenth = max(options.trials // 10, 1)
    for name, responses in zip(("rewarded", "shuffled"), results, strict=True):
        first, last = responses[:tenth].mean(0), responses[-tenth:].mean(0)
        print(f"{name:28}{first[0]:9.2f}{first[1]:9.2f}{last[0]:11.2f}{last[1]:9.2f}")


if __name__ == "__main__":
    main()
