"""A small recurrent layer of LIF neurons with exact times of spikes, and its run."""

import jax.numpy as jnp
import numpy as np

from event_ops import eventprop

INPUTS, NEURONS, READOUTS, STEPS = 6, 4, 3, 40
TIMES = {"tau_m": 20.0, "tau_syn": 5.0}
BACKENDS = ["numba_cpu", "reference"]


def layer(seed, of_weights=False):
    """Return spikes, weights and delays of a small recurrent network: delays of rows, or of weights."""
    rng = np.random.default_rng(seed)
    when, who = rng.uniform(0, 30, 16), rng.integers(0, INPUTS, 16)
    weights = rng.normal(0.8, 1.2, (INPUTS, NEURONS)), rng.normal(-1, 0.7, (NEURONS, NEURONS))
    sizes = [x.shape if of_weights else x.shape[:1] for x in weights]
    delays = rng.uniform(0, 3, sizes[0]), rng.uniform(1, 4, sizes[1])
    floats = [jnp.asarray(x) for x in (when, *weights, *delays)]
    return floats[0], jnp.asarray(who, jnp.int32), *floats[1:]


def run(when, who, weights, recurrent, delay, recurrent_delay, **options):
    options = {**TIMES, "dt": 1.0, "steps": STEPS, "capacity": 80} | options
    delays = {"delay": delay, "recurrent_delay": recurrent_delay}
    return eventprop.lif(when, who, weights, recurrent, **delays, **options)
