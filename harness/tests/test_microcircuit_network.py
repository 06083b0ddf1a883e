"""The microcircuit's step: spikes computed by hand, by NumPy, by NEST; recording; checkpoints."""

import math
import re
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba", reason="the connectivity is drawn by compiled code")

from nest_programs import ask_nest
from unpacked_synapses import Unpacked

from event_ops import CSR, csr_event_deliver
from event_ops.network import Record
from event_ops_harness.networks.microcircuit.checkpoint import (
    CheckpointError,
    arrays_of,
    load_checkpoint,
    resumed,
    save_checkpoint,
)
from event_ops_harness.networks.microcircuit.connectivity import (
    Synapses,
    connect,
    recurrent_connectivity,
    recurrent_drawing,
)
from event_ops_harness.networks.microcircuit.declared import REST, declared, simulation
from event_ops_harness.networks.microcircuit.delivery import MIN_PARALLEL, deliver_generated, nothing_pending
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import (
    OPERATORS,
    catalog_step,
    initial_potentials,
    initial_state,
    recorder_of,
    wiring_of,
)
from event_ops_harness.networks.microcircuit.rows import SLOTS
from event_ops_harness.networks.shared.simulation import Simulation, SpikesLostError, compile_chunk

# No background: nothing happens unless a test makes it happen.
SILENT = Microcircuit(N_scaling=0.001, drive="dc", bg_rate=0.0)
BUSY = Microcircuit(N_scaling=0.001, K_scaling=0.01, drive="dc", bg_rate=12.0)


def synapses(*entries: tuple[int, int, float, int], model: Microcircuit = SILENT) -> Synapses:
    """From (source, target, pA, steps)."""
    in_order = sorted((source * SLOTS + delay, target, pA) for source, target, pA, delay in entries)
    rows, columns, weights = zip(*in_order, strict=True)
    shape = model.neurons * SLOTS, model.neurons
    A = CSR.from_coo(rows, columns, np.array(weights, np.float32), shape=shape).compact(rtol=2e-7)
    return Synapses(*map(np.asarray, (A.entries, A.indptr[None], A.scale)))


def resting(model: Microcircuit, *above: int) -> np.ndarray:
    """All at rest but some above threshold, which spike in step 0."""
    V = np.full(model.neurons, model.E_L, np.float32)
    V[list(above)] = model.V_th + 5
    return V


def gain_of(model: Microcircuit) -> float:
    """What a current moves V by in a step, in mV per pA."""
    decay_m, decay_syn = math.exp(-model.dt / model.tau_m), math.exp(-model.dt / model.tau_syn)
    part = model.tau_syn / (model.tau_syn - model.tau_m) * (decay_syn - decay_m)
    return model.tau_m / model.C_m * part


def spikes_of(model, connectivity, V_m, steps, backend=None):
    """[(step, neuron), ...]"""
    network = declared(model, connectivity, Record(spikes=9999))
    _, recording = network.run(network.state({"V_m": V_m, **REST}), steps, backend=backend)
    return list(zip(*(x.tolist() for x in recording.spikes), strict=True))


def of_steps(model, state, wiring, steps):
    """The last state, and the recording."""
    recorder = recorder_of(model, int(state.t))
    return Simulation(catalog_step(model, None), state, wiring, recorder, steps).run()


@pytest.mark.parametrize("backend", [None, "reference"])
@pytest.mark.parametrize("delay", [1, 2, 40, 63])
def test_one_synapse(backend, delay):
    # A spike of step 0 arrives at the end of step `delay`; 1 pA moves V by 3.6067e-4 mV in the next one:
    # 50,000 pA by 18 mV, above the 15 that are needed; 30,000 by 10.8, and one step later to 19.6.
    state = resting(SILENT, 0)
    found = spikes_of(SILENT, synapses((0, 1, 5e4, delay), (0, 2, 3e4, delay)), state, 80, backend)
    assert found == [(0, 0), (delay + 1, 1), (delay + 2, 2)]


def test_just_below_and_just_above_threshold():
    # 15 mV / 3.6067e-4 mV per pA = 41,589 pA for a spike at once; the peak of a PSP is 1 mV per 585.4 pA,
    # so 8781 pA for one at all.
    gain = gain_of(SILENT)
    at_once, at_all = 15 / gain, 15 * SILENT.PSC_over_PSP
    assert at_once == pytest.approx(41589, rel=1e-3)
    weights = (at_once * 1.0001, at_once * 0.9999, at_all * 1.01, at_all * 0.99)
    entries = [(0, i, w, 1) for i, w in enumerate(weights, start=1)]
    found = {i: t for t, i in spikes_of(SILENT, synapses(*entries), resting(SILENT, 0), 60)}
    assert (found[1], found[2]) == (2, 3)
    assert 10 < found[3] < 22
    assert 4 not in found


def test_held_for_twenty_steps():
    # 1e7 pA arrive at the end of step 1: a spike in step 2, one as soon as V may move, in step 23, when
    # 1e7 exp(-0.2 * 21) = 150,000 pA are left, and none in step 44, where 2250 pA move V by 0.8 mV.
    found = spikes_of(SILENT, synapses((0, 1, 1e7, 1)), resting(SILENT, 0), 60)
    assert found == [(0, 0), (2, 1), (23, 1)]


@pytest.mark.parametrize(("delay", "second"), [(2, False), (21, False), (22, True)])
def test_input_while_refractory_only_leaves_its_current(delay, second):
    # Neuron 1 spikes in step 2 and is held in steps 3 to 22. What arrives at the end of step 22 moves V in
    # step 23 as a whole; of what arrives one step before, 50,000 exp(-0.2) pA = 14.8 mV are left.
    found = spikes_of(SILENT, synapses((0, 1, 5e4, 1), (0, 1, 4.2e4, delay)), resting(SILENT, 0), 24)
    assert ((23, 1) in found) == second


def test_inhibition_and_sums():
    weights = (3e4, 2e4, -1e4)
    entries = [(i, 3, w, 4) for i, w in enumerate(weights)]
    two, three = (synapses(*entries[:n]) for n in (2, 3))
    state = lambda: resting(SILENT, 0, 1, 2)  # noqa: E731
    assert (5, 3) in spikes_of(SILENT, two, state(), 8)
    assert (5, 3) not in spikes_of(SILENT, three, state(), 8)


def simulate_with_numpy(model: Microcircuit, connectivity: Synapses, steps: int) -> list:
    """NEST's order of operations, in float64."""
    n, unpacked = model.neurons, Unpacked(connectivity, model.neurons)
    sources, delays = unpacked.sources, unpacked.delays.astype(int)
    targets, weights = unpacked.indices, unpacked.data
    decay_m, decay_syn = math.exp(-model.dt / model.tau_m), math.exp(-model.dt / model.tau_syn)
    gain = gain_of(model)
    drive = model.per_neuron(model.I_dc) * model.tau_m / model.C_m * (1 - decay_m)
    V = initial_potentials(model, 5).astype(np.float64) - model.E_L
    current, held, arriving, found = np.zeros(n), np.zeros(n, int), np.zeros((steps + 64, n)), []
    for t in range(steps):
        V = np.where(held > 0, V, V * decay_m + gain * current + drive)
        current = current * decay_syn + arriving[t]
        spikes = (held == 0) & (model.V_th - model.E_L <= V)
        held = np.where(spikes, round(model.t_ref / model.dt), np.maximum(held - 1, 0))
        V[spikes] = model.V_reset - model.E_L
        for i in np.flatnonzero(spikes):
            found.append((t, int(i)))
            own = sources == i
            np.add.at(arriving, (t + delays[own], targets[own]), weights[own])
    return found


@pytest.mark.parametrize("backend", [None, "reference"])
def test_a_network_agrees_with_plain_numpy(backend):
    connectivity = recurrent_connectivity(BUSY, 2)
    wanted = simulate_with_numpy(BUSY, connectivity, 1000)
    assert len(wanted) > 100
    assert spikes_of(BUSY, connectivity, initial_potentials(BUSY, 5), 1000, backend) == wanted


def spikes_in_nest(model: Microcircuit, connectivity: Synapses, V_m: np.ndarray, steps: int) -> list:
    fields = ("C_m", "tau_m", "E_L", "V_th", "V_reset", "t_ref")
    unpacked = Unpacked(connectivity, model.neurons)
    tau = {"tau_syn_ex": model.tau_syn, "tau_syn_in": model.tau_syn}
    request = {
        "dt": model.dt,
        "neuron": {name: getattr(model, name) for name in fields} | tau,
        "V_m": V_m.astype(float).tolist(),
        "I_e": model.per_neuron(model.I_dc).tolist(),
        "sources": unpacked.sources.tolist(),
        "targets": unpacked.indices.tolist(),
        "weights": unpacked.data.astype(float).tolist(),
        "delays": unpacked.delays.tolist(),
        "steps": steps,
    }
    return sorted(map(tuple, ask_nest("network", request)["spikes"]))


def test_small_networks_agree_with_nest():
    small = synapses((0, 1, 5e4, 7), (0, 2, 3e4, 1), (1, 1, 1e7, 1), (2, 3, -4e4, 3), (1, 3, 9e4, 5))
    state = resting(SILENT, 0)
    wanted = spikes_in_nest(SILENT, small, state, 100)
    assert len(wanted) > 4
    assert spikes_of(SILENT, small, state, 100) == [s for s in wanted if s[0] < 100]
    connectivity, state = recurrent_connectivity(BUSY, 2), initial_potentials(BUSY, 5)
    wanted = spikes_in_nest(BUSY, connectivity, state, 1000)
    assert len(wanted) > 100
    assert spikes_of(BUSY, connectivity, state, 1000) == [s for s in wanted if s[0] < 1000]


def test_a_crowded_step_is_an_error_that_names_it():
    model = replace(SILENT, N_scaling=0.002)
    connectivity = synapses((0, 1, 1.0, 1), model=model)
    state = initial_state(model, 1)._replace(V_m=jnp.asarray(resting(model, *range(65))))
    with pytest.raises(SpikesLostError, match=r"step 0 had 65 spikes; the buffer takes 64 of one step"):
        of_steps(model, state, wiring_of(connectivity, 1), 20)


POISSON = Microcircuit(N_scaling=0.002, K_scaling=0.05)


def poisson_run(steps: int, arrays=None):
    """The last state, and the recording, of a run in one call, from a checkpoint's arrays on."""
    return simulation(POISSON, recurrent_connectivity(POISSON, 2), 2, steps, arrays).run()


def test_a_step_copies_no_array():
    """XLA copies a history that is read before it is written."""
    model = Microcircuit(N_scaling=0.01, K_scaling=0.01)
    state, wiring = initial_state(model, 1), wiring_of(recurrent_connectivity(model, 1), 1)
    recorder = recorder_of(model)
    arguments = state, recorder.buffer(), wiring
    text = compile_chunk(catalog_step(model, None), 10, recorder, arguments).as_text()
    assert text.count(" custom-call(") == len(OPERATORS)  # spikes are listed once, to be sent and recorded
    copied = set(re.findall(r"(\w+\[[\d,]*\])\S* copy\(", text))
    assert copied <= {"s32[]"}, copied


@pytest.mark.parametrize("kind", ["one call", "steps"])
def test_a_checkpoint_goes_on_to_the_same_spikes_either_way(tmp_path, kind):
    whole_end, whole = poisson_run(400)
    state, first = poisson_run(130)
    save_checkpoint(tmp_path / "a.npz", state, POISSON, 2)
    arrays = load_checkpoint(tmp_path / "a.npz", POISSON, 2, procedural=False)
    if kind == "steps":
        again = resumed(initial_state(POISSON, 2), arrays)
        end, second = of_steps(POISSON, again, wiring_of(recurrent_connectivity(POISSON, 2), 2), 270)
    else:
        end, second = poisson_run(270, arrays)
    assert whole.ids.size > 10
    np.testing.assert_array_equal(np.concatenate([first.times, second.times]), whole.times)
    np.testing.assert_array_equal(np.concatenate([first.ids, second.ids]), whole.ids)
    ends = arrays_of(end, POISSON), arrays_of(whole_end, POISSON)
    assert all(np.array_equal(ends[0][name], x) for name, x in ends[1].items())


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path, start = tmp_path / "a.npz", initial_state(POISSON, 2)
    save_checkpoint(path, start, POISSON, 2)
    with pytest.raises(CheckpointError, match="with --procedural, or without"):
        load_checkpoint(path, POISSON, 2, procedural=True)
    with pytest.raises(CheckpointError, match="seed 2, not 3"):
        load_checkpoint(path, POISSON, 3, procedural=False)
    with pytest.raises(CheckpointError, match=r"drive poisson, not dc"):
        load_checkpoint(path, replace(POISSON, drive="dc"), 2, procedural=False)
    with np.load(path) as stored:
        old = dict(stored) | {"pending": np.zeros((SLOTS, 64), np.int32)}
    np.savez(path, **old)
    for procedural in (False, True):
        with pytest.raises(CheckpointError, match="of an older version of this program: begin anew"):
            load_checkpoint(path, POISSON, 2, procedural=procedural)
    path.write_bytes(b"no checkpoint")
    for other in (path, tmp_path / "missing.npz"):
        with pytest.raises(CheckpointError, match="not a checkpoint of this program"):
            load_checkpoint(other, POISSON, 2, procedural=False)
    crowded = arrays_of(start, POISSON) | {"pending": np.ones((SLOTS, POISSON.neurons), bool)}
    with pytest.raises(CheckpointError, match="a step has 149 spikes, and room for 64: use one device"):
        resumed(start, crowded)


@pytest.mark.slow
def test_rows_drawn_anew_are_those_that_are_stored():
    _, stored = poisson_run(600)
    wiring = wiring_of(recurrent_drawing(POISSON, 2), 2)
    _, drawn = of_steps(POISSON, initial_state(POISSON, 2, nothing_pending(POISSON.neurons)), wiring, 600)
    assert stored.ids.size > 10
    np.testing.assert_array_equal(drawn.times, stored.times)
    np.testing.assert_array_equal(drawn.ids, stored.ids)


@pytest.mark.slow
def test_many_rows_at_once_are_drawn_by_all_threads_and_added_up_in_order():
    drawing = recurrent_drawing(POISSON, 2)
    stored = Unpacked(connect(drawing, POISSON.neurons, parts=1), POISSON.neurons)
    assert drawing.synapses > MIN_PARALLEL
    spikes, empty = jnp.ones(POISSON.neurons, bool), nothing_pending(POISSON.neurons)
    drawn = deliver_generated(empty, wiring_of(drawing, 2).recurrent, spikes, jnp.int32(3))
    parts = stored.data, stored.indices, stored.indptr[0, ::SLOTS], stored.delays
    delivered = csr_event_deliver(empty, *parts, spikes, 3, shape=stored.shape)
    np.testing.assert_allclose(drawn, delivered, rtol=1e-5, atol=1e-2)
    assert jnp.count_nonzero(drawn) > POISSON.neurons
    for low, high in ((0, 60), (60, POISSON.neurons)):
        part = wiring_of(drawing._replace(first=np.array(low, np.int32)), 2).recurrent
        found = deliver_generated(empty[:, low:high], part, spikes, jnp.int32(3))
        np.testing.assert_array_equal(found, drawn[:, low:high])
