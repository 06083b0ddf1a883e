"""Inputs of `Network` that are given: values over time, and spikes that are replayed."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import LIF, START, assert_same, silent

from event_ops import CSR, lif_expsyn_step
from event_ops.network import (
    Network,
    PoissonInput,
    Population,
    Projection,
    Record,
    SpikeInput,
    TimedInput,
    parrot,
)

SOURCES, TARGETS, STEPS, DELAY = 5, 40, 30, 2
RNG = np.random.default_rng(8)
TIMES, IDS = RNG.integers(0, STEPS + 9, 90), RNG.integers(0, SOURCES, 90)
WEIGHTS = RNG.integers(1, 9, TARGETS).astype(np.float32)
GIVEN: Any = {
    "current": RNG.integers(-5, 9, (STEPS // 3, TARGETS)).astype(np.float32),
    "kick": RNG.integers(0, 2, (STEPS, 1)).astype(np.float32),
}
# Nothing decays, and nobody spikes: states are exact sums.
KEPT: Any = LIF | {"tau_m": 1e9, "tau_syn": 1e9, "R_m": 0.0, "V_th": 1e9}


@pytest.fixture(scope="module")
def network():
    """Parrots that replay spikes, and neurons that count what arrives."""
    return Network(
        {"source": Population(SOURCES, parrot), "target": Population(TARGETS, lif_expsyn_step, **KEPT)},
        [Projection(CSR.from_dense(ONES), "I_syn", delay=DELAY, source="source", target="target")],
        [
            SpikeInput("spikes", TIMES, IDS, target="source"),
            TimedInput("I_syn", name="current", every=3, target="target"),
            TimedInput("jump", name="kick", target="target"),
            SpikeInput("I_syn", TIMES, IDS * 7, weight=jnp.asarray(WEIGHTS), target="target"),
        ],
        Record(spikes=200, states={"target": {"I_syn": np.arange(TARGETS), "V_m": [0, 39]}}),
    )


ONES = np.ones((SOURCES, TARGETS), np.float32)


def first_state(network):
    return network.state({"source": {"arrived": 0.0}, "target": START | {"I_syn": 0.0}})


@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_inputs_are_added_when_they_are_given_for(network, backend):
    _, recording = network.run(first_state(network), STEPS, inputs=GIVEN, backend=backend)
    given = np.zeros((STEPS + 9, SOURCES), np.int64)
    np.add.at(given, (TIMES, IDS), 1)
    assert (given > 2).any()
    sent = given[:STEPS] > 0
    np.testing.assert_array_equal(recording.spikes, np.nonzero(sent))
    added = np.repeat(GIVEN["current"], 3, axis=0)
    added[:, : 7 * SOURCES : 7] += given[:STEPS] * WEIGHTS[: 7 * SOURCES : 7]
    added[DELAY:] += sent[:-DELAY].sum(1, keepdims=True)
    np.testing.assert_array_equal(recording.states["target"]["I_syn"], np.cumsum(added, axis=0))
    moved = -60 + np.cumsum(GIVEN["kick"], axis=0)
    np.testing.assert_array_equal(recording.states["target"]["V_m"], np.repeat(moved, 2, axis=1))


@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_a_network_of_no_spikes_and_no_synapses_is_one(backend):
    none, nothing = CSR.from_dense(np.zeros((3, 3), "f")), np.zeros(0, int)
    projections = [
        Projection(none, "jump", delay=nothing),
        Projection(none, "jump", slots=1),
        Projection(none, "jump", delay=2),
    ]
    network = silent(*projections, inputs=[SpikeInput("jump", [], [])], states={"V_m": []})
    end, recording = network.run(network.state(START), 3, backend=backend)
    assert int(recording.num_spikes) == 0 and recording.states["V_m"].shape == (3, 0)
    alone = silent()
    assert_same(end.neurons, alone.run(alone.state(START), 3, backend=backend)[0].neurons)


def test_a_chunk_is_given_its_part(network):
    whole, _ = network.run(first_state(network), STEPS, inputs=GIVEN)
    state = first_state(network)
    for rows in (slice(0, 4), slice(4, 10)):
        part = {"current": GIVEN["current"][rows], "kick": GIVEN["kick"][3 * rows.start : 3 * rows.stop]}
        state, _ = network.run(state, 3 * (rows.stop - rows.start), inputs=part)
    assert_same(state, whole)


def test_jit_and_vmap_over_values_and_derivatives(network):
    kicks = jnp.stack([GIVEN["kick"], 2 * GIVEN["kick"]])

    def end(network, kick):
        state = first_state(network)
        state, _ = network.run(state, STEPS, inputs=GIVEN | {"kick": kick})
        return state.neurons["target"]["V_m"]

    found = jax.jit(jax.vmap(end, in_axes=(None, 0)))(network, kicks)
    np.testing.assert_array_equal(found[:, 0], -60 + kicks.sum((1, 2)))
    slope = jax.grad(lambda kick: end(network, kick)[:3].sum())(kicks[0])
    np.testing.assert_array_equal(slope, np.full((STEPS, 1), 3))


def test_traced_spikes_are_sorted_and_those_of_nobody_left_out():
    def spikes_of(times, ids):
        network = Network(
            Population(3, parrot), inputs=[SpikeInput("spikes", times, ids)], record=Record(spikes=9)
        )
        return network.run(network.state({"arrived": 0.0}), 6)[1]

    recording = jax.jit(spikes_of)(jnp.int32([4, 2, 1, -1, 2, 3]), jnp.int32([2, 1, 3, 0, 0, -1]))
    np.testing.assert_array_equal(recording.spikes, ([2, 2, 4], [0, 1, 2]))
    empty = spikes_of(np.zeros(0, np.int32), np.zeros(0, np.int32))
    assert empty.num_spikes == 0


def test_several_spikes_at_once_have_the_bits_of_the_scan():
    rng, size = np.random.default_rng(0), 64
    weights = jnp.asarray(rng.normal(0, 20, size), jnp.float32)
    given = SpikeInput("V_m", np.ones(3 * size, int), np.tile(np.arange(size), 3), weight=weights)
    network = silent(inputs=[given], size=size)
    state = network.state({"V_m": jnp.asarray(rng.normal(-60, 1, size), jnp.float32), "refractory": 0.0})
    native, scan = (network.run(state, 2, backend=backend)[0] for backend in ("numba_cpu", "reference"))
    np.testing.assert_array_equal(native.neurons["V_m"], scan.neurons["V_m"])


@pytest.mark.parametrize("dtype", ["uint32", "int64"])
def test_traced_spikes_beyond_int32_are_those_of_no_step_and_nobody(dtype):
    def spikes_of(times, ids):
        network = Network(
            Population(3, parrot), inputs=[SpikeInput("spikes", times, ids)], record=Record(spikes=9)
        )
        return network.run(network.state({"arrived": np.zeros(3, np.float32)}), 6)[1]

    far = 2**32 - 1 if dtype == "uint32" else 2**32 + 1
    with jax.enable_x64(dtype == "int64"):
        times, ids = (jnp.array(x, dtype) for x in ([far, 2, 2, 3], [0, 1, far, 2]))
        recording = jax.jit(spikes_of)(times, ids)
    np.testing.assert_array_equal(recording.spikes[0], [2, 3])


@pytest.mark.parametrize("x64", [False, True])
def test_a_weight_that_is_a_number_has_the_dtype_of_its_receptor_under_jit_too(x64):
    ends = []
    for weight in (1 << 40, np.int64(1 << 40), float(1 << 40)):
        given, record = SpikeInput("I_syn", [2, 4], [1, 2], weight=weight), Record(states={"I_syn": range(3)})
        network = Network(Population(3, lif_expsyn_step, **KEPT), inputs=[given], record=record)
        with jax.enable_x64(x64):
            run = jax.jit(lambda network, state: network.run(state, 5)[1].states["I_syn"])
            ends.append(np.asarray(run(network, network.state(START | {"I_syn": 0.0}))))
        assert ends[-1].max() == 1 << 40
        np.testing.assert_array_equal(ends[-1], ends[0])


@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_a_window_behind_all_steps_adds_nothing(backend):
    windows = [(1 << 31, None), (1 << 40, 1 << 41), (2, 2), (-5, -3)]
    inputs = [PoissonInput("jump", weight=1.0, mean=9.0, start=low, stop=high) for low, high in windows]
    network = silent(inputs=inputs)
    state = network.state(START)
    expected, _ = silent().run(silent().state(START), 4)
    found, _ = network.run(state, 4, backend=backend)
    np.testing.assert_allclose(found.neurons["V_m"], expected.neurons["V_m"], rtol=1e-6)


def on_three(*inputs, steps=4, **given):
    network = silent(inputs=inputs)
    return network.run(network.state(START), steps, inputs=given)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: TimedInput("jump", name="a", every=0),
            ValueError,
            "every is 0 and name is 'a'; expected at",
        ),
        (lambda: TimedInput("jump", name=""), ValueError, "name is ''; expected at least 1 step, .* a name"),
        (lambda: TimedInput("jump", name="a", every=2**31), ValueError, r"at least 1 step, below 2\*\*31"),
        (
            lambda: silent(inputs=[TimedInput("jump", name="a")] * 2),
            ValueError,
            "inputs have the names a, a; expected a name for each TimedInput",
        ),
        (lambda: on_three(a=np.ones((4, 3), "f")), ValueError, "inputs of the run are 'a'; expected none"),
        (
            lambda: on_three(TimedInput("jump", name="a")),
            ValueError,
            "inputs of the run are none; expected 'a': the values of each TimedInput by its name",
        ),
        (
            lambda: on_three(TimedInput("jump", name="a", every=2), a=np.ones((4, 3), "f")),
            ValueError,
            r"inputs\['a'\] has shape \(4, 3\); expected \(2, 3\) or \(2, 1\): a row for each 2 of 4 steps",
        ),
        (
            lambda: on_three(TimedInput("jump", name="a"), a=np.ones((4, 1), int)),
            TypeError,
            r"inputs\['a'\] has dtype int.*; cast it: inputs\['a'\].astype\('float32'\)",
        ),
        (
            lambda: on_three(TimedInput("E_L", name="a"), a=np.ones((4, 1), "f")),
            ValueError,
            r"the receptor of TimedInput\('E_L'\) is a parameter of the population",
        ),
        (
            lambda: SpikeInput("jump", [0.5], [1]),
            TypeError,
            r"times is float.*\[1\]; expected a list of integers",
        ),
        (lambda: SpikeInput("jump", [1, 2], [1]), ValueError, "times has 2 elements and ids 1"),
        (
            lambda: SpikeInput("jump", [3, -1], [1, 3]),
            ValueError,
            r"times is or contains -1; expected them in \[0, .*; recording.spikes has no padding",
        ),
        (
            lambda: on_three(SpikeInput("jump", [1], [3])),
            ValueError,
            r"SpikeInput\('jump'\) has ids up to 3; expected them in \[0, 3\)",
        ),
        (
            lambda: on_three(SpikeInput("jump", [1], [2], weight=jnp.ones(2))),
            ValueError,
            r"the weight of SpikeInput\('jump'\) has shape \(2,\)",
        ),
    ],
)
def test_wrong_inputs_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()
