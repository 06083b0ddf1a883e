"""The networks on the emulated GPU: the spikes of Numba's and of Warp's CUDA kernels are those of the CPU.

In 64 bits. In 32 bits some spikes come a step earlier or later: compilers for GPUs fuse products and sums.
"""

import functools

import jax
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("warp", reason="warp-lang is not installed")

from event_ops_harness.networks.balanced.connectivity import random_connectivity
from event_ops_harness.networks.coba import COBA
from event_ops_harness.networks.cuba import CUBA
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import catalog_step, initial_state, wiring_of

GPU = ("numba_cuda", "warp")


@pytest.fixture(autouse=True)
def in_64_bits():
    with jax.enable_x64(True):
        yield


def wide(tree):
    return jax.tree.map(lambda x: x.astype("float64") if x.dtype == "float32" else x, tree)


def balanced(network):
    """Return a function: the state, what does not change, and the step on a backend."""

    def case(neurons, seed):
        drawn = random_connectivity(neurons, network.model, seed)
        step_of = functools.partial(network.catalog_step, drawn)
        return network.initial_state(drawn, seed), network.synapses(drawn), step_of

    return case


def microcircuit(scale, seed):
    """Return the state, what does not change, and the step on a backend."""
    model = Microcircuit(N_scaling=scale, K_scaling=scale)
    wiring = wiring_of(recurrent_connectivity(model, seed), seed)
    return initial_state(model, seed), wiring, lambda backend: catalog_step(model, backend)


def spikes(case, backend, steps):
    """Return who spikes in each step: bool (steps, neurons)."""
    state, fixed, step_of = case
    step, fixed = step_of(backend), wide(fixed)
    run = jax.jit(lambda state: jax.lax.scan(lambda s, _: step(s, fixed), state, length=steps)[1])
    ids, counts = map(np.asarray, run(wide(state)))
    assert counts.max() <= ids.shape[1]
    found = np.zeros((steps, jax.tree.leaves(state)[0].size), bool)
    for t, count in enumerate(counts):
        found[t, ids[t, :count]] = True
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "size", "steps"),
    [
        (balanced(CUBA), 1000, 500),
        pytest.param(balanced(COBA), 1000, 300, marks=pytest.mark.slow),
        pytest.param(microcircuit, 0.02, 2000, marks=pytest.mark.slow),
    ],
    ids=["cuba", "coba", "microcircuit"],
)
def test_spikes_are_those_of_the_cpu(gpu, monkeypatch, of, size, steps):
    case = of(size, 0)
    expected = spikes(case, "numba_cpu", steps)
    assert expected.sum() > 20
    assert (spikes(of(size, 1), "numba_cpu", steps) != expected).any()
    for backend in GPU:
        monkeypatch.setattr(gpu, "backends", (backend,))
        before = len(gpu.launches)
        np.testing.assert_array_equal(spikes(case, backend, steps), expected, backend)
        assert len(gpu.launches) - before >= steps
