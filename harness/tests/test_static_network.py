"""The network with static synapses: blocks have those of the whole, spikes are those of plain loops."""

import jax
import numpy as np
import pytest

from event_ops import poisson_input
from event_ops.checks.packed_entries import columns_in
from event_ops.network import Record
from event_ops_harness.bench.fresh import ask_together
from event_ops_harness.networks.hpc_benchmark import static
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import first_state
from event_ops_harness.networks.shared.blocks import EqualBlocks, mesh_of
from event_ops_harness.networks.shared.processes import DevicesError
from event_ops_harness.networks.shared.simulation import SpikesLostError

MODEL, SEED = HpcBenchmark(scale=0.02), 3
INTERVALS = 8


def counts_onto(first, size):
    """Return (N, size): how many synapses each neuron has onto each of a block."""
    entries, indptr = static.synapses_onto(MODEL, SEED, first, size)
    sources = np.repeat(np.arange(MODEL.neurons), np.diff(indptr))
    found = np.zeros((MODEL.neurons, size), int)
    np.add.at(found, (sources, columns_in(entries[: indptr[-1]], size)), 1)
    return found


@pytest.mark.parametrize("blocks", [2, 4])
def test_blocks_have_the_synapses_of_the_whole(blocks):
    n, size = MODEL.neurons, -(-MODEL.neurons // blocks)
    whole = counts_onto(0, n)
    parts = np.hstack([counts_onto(k * size, size) for k in range(blocks)])
    np.testing.assert_array_equal(parts[:, :n], whole)
    assert not parts[:, n:].any() and not np.diag(whole).any()
    assert (whole[: MODEL.excitatory].sum(axis=0) == MODEL.excitatory).all()
    assert (whole[MODEL.excitatory :].sum(axis=0) == MODEL.inhibitory).all()


@pytest.fixture(scope="module")
def lists():
    blocks = EqualBlocks(MODEL.neurons, mesh_of(1, 1))
    arguments = static.first_state(MODEL, SEED, blocks), static.connect(MODEL, SEED, blocks)
    return static.compile_intervals(MODEL, SEED, blocks, arguments, INTERVALS)(*arguments)


@pytest.mark.slow
def test_spikes_are_those_of_plain_loops(lists):
    _, found = lists
    n, steps = MODEL.neurons, INTERVALS * MODEL.delay_steps
    weights = np.where(np.arange(n) < MODEL.excitatory, MODEL.weight, MODEL.g * MODEL.weight)
    P, jump, onto = MODEL.propagator(), np.e / MODEL.tau_syn, weights[:, None] * counts_onto(0, n)
    x, held = np.zeros((3, n)), np.zeros(n, int)
    x[0] = static.first_potentials(MODEL, SEED)
    drive = {"mean": MODEL.rate_outside * MODEL.dt * 1e-3, "initial": np.zeros(n, np.float32)}
    outside = jax.jit(lambda t: poisson_input(np.float32(MODEL.weight), SEED, t, **drive))
    spikes = np.zeros((steps, n), bool)
    for t in range(steps):
        moved = P @ x
        x = np.where(held > 0, [x[0], moved[1], moved[2]], moved)
        spikes[t] = (held == 0) & (x[0] >= MODEL.V_th)
        x[0, spikes[t]], held = MODEL.V_reset, np.where(spikes[t], 5, np.maximum(held - 1, 0))
        sent = onto[spikes[t - MODEL.delay_steps]].sum(axis=0) if t >= MODEL.delay_steps else 0
        x[2] += jump * (sent + np.asarray(outside(np.int32(t)), float))
    for row, expected in zip(np.asarray(found.ids).reshape(steps, -1), spikes, strict=True):
        np.testing.assert_array_equal(row[row < n], np.flatnonzero(expected))
    np.testing.assert_array_equal(np.asarray(found.counts).reshape(-1), spikes.sum(axis=1))
    assert spikes.sum() > 100 and not np.asarray(found.lost).any()


def test_a_run_in_one_call_has_the_bits_of_the_blocks(lists):
    end, found = lists
    steps = INTERVALS * MODEL.delay_steps
    declaration = static.declared(MODEL, static.matrix_of(MODEL, SEED), Record(spikes=steps * MODEL.neurons))
    begin = first_state(declaration, MODEL, SEED)
    assert declaration.explain(begin) == "one native call"
    state, recording = declaration.run(begin, steps)
    ids = np.asarray(found.ids).reshape(steps, -1)
    expected = np.argwhere(ids < MODEL.neurons)[:, 0], ids[ids < MODEL.neurons]
    assert expected[0].size > 100
    np.testing.assert_array_equal(recording.spikes, expected)
    for name, x in state.neurons.items():
        np.testing.assert_array_equal(x, getattr(end, name), name)


def digest_of(devices, processes):
    size = {"program": "static_network", "scale": MODEL.scale, "intervals": 10, "stretches": 2}
    found = ask_together("processes", size | {"devices": devices, "processes": processes})
    assert found["spikes"] > 500
    return found["digest"]


@pytest.fixture(scope="module")
def one_device():
    return digest_of(1, 1)


@pytest.mark.slow
@pytest.mark.promise(11)
@pytest.mark.parametrize(("devices", "processes"), [(3, 1), (2, 2), (4, 2)])
def test_the_very_same_spikes_on_several_devices_and_in_several_processes(one_device, devices, processes):
    assert digest_of(devices, processes) == one_device


def test_more_synapses_than_can_be_counted_are_refused():
    model = HpcBenchmark(scale=5)
    with pytest.raises(DevicesError, match=r"a block has 3164062500 synapses; .* use more devices"):
        static.connect(model, SEED, EqualBlocks(model.neurons, mesh_of(1, 1)))


def test_lost_spikes_are_an_error(lists):
    _, found = lists
    static.check_lists(found)
    with pytest.raises(SpikesLostError, match="7 spikes of interval 2, which has"):
        static.check_lists(found._replace(lost=np.array([0, 0, 7, 0, 0, 1, 0, 0])))
