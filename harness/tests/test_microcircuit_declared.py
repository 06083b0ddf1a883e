"""A run of the declared microcircuit has the bits of its steps, and shares the memory of the synapses."""

import jax
import numpy as np
import pytest

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from event_ops.network import Record
from event_ops_harness.networks.microcircuit import network
from event_ops_harness.networks.microcircuit.connectivity import recurrent_connectivity, recurrent_drawing
from event_ops_harness.networks.microcircuit.declared import declared, first_state
from event_ops_harness.networks.microcircuit.model import Microcircuit, ModelError

SEED, STEPS = 3, 600


@pytest.mark.parametrize(
    "parameters",
    [
        {"N_scaling": 0.02, "K_scaling": 0.02},
        {"N_scaling": 0.002, "K_scaling": 0.05, "drive": "dc", "bg_rate": 12.0},
        {"N_scaling": 0.01},  # one current for all
        pytest.param({"N_scaling": 0.1, "K_scaling": 0.1}, marks=pytest.mark.slow),
    ],
    ids=["poisson", "dc", "not scaled", "a tenth"],
)
def test_a_run_in_one_call_has_the_bits_of_the_steps(parameters):
    model = Microcircuit(**parameters)
    # In two parts, as for two threads: the sums have the same bits.
    synapses = recurrent_connectivity(model, SEED, parts=2)
    wiring = network.wiring_of(synapses, SEED)
    begin, step = network.initial_state(model, SEED), network.catalog_step(model, None)
    wanted, steps = network.simulate(model, step, begin, wiring, steps=STEPS)
    assert steps.spikes > 30

    declaration = declared(model, synapses, Record(spikes=steps.spikes))
    begin = first_state(declaration, model, SEED)
    assert declaration.explain(begin) == "one native call"
    state, recording = declaration.run(begin, STEPS)
    np.testing.assert_array_equal(recording.spikes, (steps.times, steps.ids))
    for name, x in state.neurons.items():
        np.testing.assert_array_equal(x, getattr(wanted, name), name)


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
