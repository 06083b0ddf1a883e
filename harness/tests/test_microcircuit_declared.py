"""The declared microcircuit has the bits of its steps, and the memory of its synapses; a thalamic pulse."""

import jax
import numpy as np
import pytest

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from event_ops_harness.networks.microcircuit import network
from event_ops_harness.networks.microcircuit.checkpoint import arrays_of
from event_ops_harness.networks.microcircuit.connectivity import (
    Synapses,
    connect,
    recurrent_connectivity,
    recurrent_drawing,
    thalamic_drawing,
)
from event_ops_harness.networks.microcircuit.declared import declared, first_state, simulation
from event_ops_harness.networks.microcircuit.model import Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.network import CORTEX
from event_ops_harness.networks.microcircuit.rows import SLOTS
from event_ops_harness.networks.shared.simulation import Simulation

SEED, STEPS = 3, 600


@pytest.mark.parametrize(
    ("parameters", "pulse"),
    [
        ({"N_scaling": 0.02, "K_scaling": 0.02}, 0.007),
        ({"N_scaling": 0.002, "K_scaling": 0.05, "drive": "dc", "bg_rate": 12.0}, None),
        ({"N_scaling": 0.01}, None),  # one current for all
        pytest.param({"N_scaling": 0.1, "K_scaling": 0.1}, None, marks=pytest.mark.slow),
    ],
    ids=["poisson and a pulse", "dc", "not scaled", "a tenth"],
)
def test_a_run_in_one_call_has_the_bits_of_the_steps(parameters, pulse):
    model = Microcircuit(**parameters)
    # In two parts, as for two threads: the sums have the same bits.
    synapses = recurrent_connectivity(model, SEED, parts=2)
    thalamic = None if pulse is None else connect(thalamic_drawing(model, SEED), model.neurons)
    wiring = network.wiring_of(synapses, SEED, thalamic)
    step, recorder = network.catalog_step(model, None, pulse=pulse), network.recorder_of(model)
    wanted, steps = Simulation(step, network.initial_state(model, SEED), wiring, recorder, STEPS).run()
    assert steps.spikes > 30

    whole = simulation(model, synapses, SEED, STEPS, thalamic=thalamic, pulse=pulse)
    assert whole.wiring.explain(whole.state) == "one native call"
    state, recording = whole.run()
    np.testing.assert_array_equal(recording.times, steps.times)
    np.testing.assert_array_equal(recording.ids, steps.ids)
    np.testing.assert_array_equal(recording.counts, steps.counts)
    assert_same(arrays_of(state, model), arrays_of(wanted, model))


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, x in found.items():
        np.testing.assert_array_equal(x, wanted[name], name)


def test_synapses_are_neither_copied_nor_sorted():
    model = Microcircuit(N_scaling=0.002, K_scaling=0.05)
    synapses = recurrent_connectivity(model, SEED)
    (projection,) = declared(model, synapses).projections
    assert projection.min_delay == 1
    if jax.default_backend() == "cpu":
        assert projection.A.entries.unsafe_buffer_pointer() == synapses.entries.ctypes.data


def test_synapses_that_are_not_stored_are_refused():
    model = Microcircuit(N_scaling=0.002, K_scaling=0.05)
    with pytest.raises(ModelError, match="drawn anew"):
        declared(model, recurrent_drawing(model, SEED))


@pytest.mark.slow
def test_a_thalamic_pulse_excites_its_targets():
    # No other source of current: what a neuron receives has come from the thalamus.
    model = Microcircuit(N_scaling=0.01, K_scaling=0.5, drive="dc", bg_rate=0.0, thalamic_rate=2000.0)
    ends = np.zeros((1, model.neurons * SLOTS + 1), np.int32)
    none = Synapses(np.zeros(0, np.uint32), ends, np.ones((), np.float32))
    thalamic = connect(thalamic_drawing(model, 1), model.neurons)
    network = declared(model, none, thalamic=thalamic, pulse=0.005)
    state, _ = network.run(first_state(network, model, 1), 49)
    before = np.asarray(state.neurons[CORTEX]["I_syn"])
    state, _ = network.run(state, 80)
    reached = np.asarray(state.neurons[CORTEX]["I_syn"]) > 0
    assert not before.any()
    excited = [reached[a:b].mean() for a, b in zip(model.first, model.first[1:], strict=False)]
    assert min(excited[i] for i in (2, 3, 6)) > 0.5
    assert max(excited[i] for i in (0, 1, 4, 5)) == 0
