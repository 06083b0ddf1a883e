"""Projections that learn in the kernel of a GPU: all arithmetic is exact, so that it has the CPU's bits."""

import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import GRID, assert_same, matrix, move, on_grid

from event_ops import CSR, neuron_step
from event_ops.network import Network, Plasticity, Population, Projection, Record

pytestmark = pytest.mark.usefixtures("checked_gpu")
HALVED = 0.1 / np.log(2)  # the time constant of a trace that a step of 0.1 ms halves
START = {"V_m": 0.0, "I_syn": 0.0}

model = neuron_step(move, threshold=lambda V_m, I_syn: V_m - 4, reset=lambda V_m, I_syn: (V_m * 0, I_syn))


def weaker(w, *, x_post, A_minus):
    return on_grid(w - A_minus * x_post)


def stronger(w, *, x_pre, A_plus_post):
    return on_grid(w + A_plus_post * x_pre)


def stored(size, seed, delta):
    A = matrix(size, size, seed)
    return CSR(on_grid(A.data + delta), A.indices, A.indptr, shape=A.shape)


def learning(size, receptor, *, delay, both=False, **how):
    gains = jnp.asarray(np.arange(size) % 3, jnp.float32) / 4
    rule = Plasticity(
        weaker,
        stronger,
        traces={"x_pre": HALVED, "x_post": HALVED},
        dt=0.1,
        A_minus=0.25,
        A_plus_post=gains,
        **how,
    )
    drive = jnp.asarray(0.5 + np.arange(size) % 7 / GRID, jnp.float32)
    jump = {} if receptor == "jump" else {"jump": 0.0}
    projections = [Projection(stored(size, 1, 0.5), receptor, delay=delay, plasticity=rule)]
    if both:
        projections += [Projection(stored(size, 2, 0.25), receptor, delay=2)]
        faint = Plasticity(stronger, traces={"x_pre": HALVED}, dt=0.1, A_plus_post=gains)
        projections += [Projection(stored(size, 3, 0.25), receptor, delay=1, plasticity=faint)]
    return Network(Population(size, model, drive=drive, **jump), projections, record=Record(spikes=3000))


@pytest.mark.parametrize(
    ("size", "receptor", "how"),
    [
        (130, "I_syn", {"delay": 0}),
        pytest.param(130, "jump", {"delay": 2, "post_delay": 1}, marks=pytest.mark.slow),
        (280, "jump", {"delay": 1, "post_delay": 3, "post_first": True}),
        pytest.param(280, "I_syn", {"delay": 1, "post_delay": 2, "both": True}, marks=pytest.mark.slow),
    ],
)
def test_the_weights_traces_and_spikes_are_those_of_the_cpu(size, receptor, how):
    network = learning(size, receptor, **how)
    state = network.state(START)
    assert network.explain(state, platform="gpu") == "one persistent kernel"
    whole = network.run(state, 21, backend="numba_cpu")
    half, first = network.run(state, 10, backend="numba_cuda")
    end, second = network.run(half, 11, backend="numba_cuda")
    assert_same(end, whole[0])
    assert first.num_spikes + second.num_spikes == whole[1].num_spikes > size
    assert np.abs(end.synapses[0]["w"] - network.projections[0].A.data).max() > 0
