"""`Network`: a native run has the bits of the scan of operators, and their spikes are those of NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import DELAYS, LIF, START, E, I, assert_same, delta, in_two_parts, matrix, silent

from event_ops import CSR, lif_expsyn_step, lif_step, neuron_step, poisson_input
from event_ops.network import Network, Plasticity, PoissonInput, Population, Projection, Record, parrot


def two_populations(**record):
    """A network with everything: states and variables that receive, two delays, inputs, noise, records."""
    currents, words = jnp.linspace(300, 420, E), matrix(E, E, 5.0, 5).compact(rtol=0.1)
    neurons = {
        "z": Population(E, lif_expsyn_step, tau_syn=0.5, R_m=0.04, I_e=currents, **LIF),
        "a": Population(I, delta, **LIF),
    }
    projections = [
        Projection(matrix(E, E, 60.0), "I_syn", delay=0, source="z", target="z"),
        Projection(matrix(E, I, 1.5, 1), "jump", delay=7, source="z", target="a"),
        Projection(matrix(I, E, -80.0, 2), "I_syn", delay=12, source="a", target="z"),
        Projection(words, "I_syn", delay=DELAYS[: words.nse], source="z", target="z"),
        Projection(in_two_parts(matrix(E, E, 1.0, 6)), "I_syn", delay=3, source="z", target="z"),
        Projection(matrix(E, E, 20.0, 3), "I_syn", delay=DELAYS, source="z", target="z"),
        Projection(in_two_parts(matrix(3 * I, E, 1.0, 7), 3), "I_syn", slots=3, source="a", target="z"),
        Projection(matrix(E, I, 0.5, 8), "jump", delay=DELAYS + 1, source="z", target="a"),
    ]
    inputs = [
        PoissonInput("I_syn", weight=90.0, mean=np.linspace(0, 1.6, E), target="z"),
        PoissonInput("jump", weight=0.4, mean=0.5, target="a"),
        PoissonInput("I_syn", weight=jnp.full(E, 30.0), mean=0.3, start=20, stop=60, target="z"),
    ]
    return Network(neurons, projections, inputs, Record(**{"spikes": 5000} | record))


STATES = {"z": {"V_m": [3, 1], "I_syn": np.arange(5)}, "a": {"V_m": [44]}}


def one_population(**record):
    """A network with one of each, whose kernel takes a fifth of the time to compile."""
    currents = jnp.linspace(300, 420, E)
    population = Population(E, lif_expsyn_step, tau_syn=0.5, R_m=0.04, I_e=currents, **LIF)
    projections = [
        Projection(matrix(E, E, 60.0), "I_syn", delay=7),
        Projection(matrix(E, E, 20.0, 3), "I_syn", delay=DELAYS),
    ]
    inputs = [PoissonInput("I_syn", weight=90.0, mean=np.linspace(0, 1.6, E))]
    recorded: Any = {"spikes": 5000, "states": {"V_m": [3, 1], "I_syn": np.arange(5)}, "every": 5}
    return Network(population, projections, inputs, Record(**recorded | record))


def first_state(network, seed=3):
    return network.state(START | {"I_syn": 0.0}, seed=seed)


def assert_halves_are_the_whole(network, state, steps, backend):
    end, whole = network.run(state, steps, backend=backend)
    half, first = network.run(state, steps // 2, backend=backend)
    same_end, second = network.run(half, steps // 2, backend=backend)
    assert_same(end, same_end)
    assert int(end.step) == steps
    for k in range(2):
        np.testing.assert_array_equal(whole.spikes[k], np.concatenate([first.spikes[k], second.spikes[k]]))
    joined = jax.tree.map(lambda *x: np.concatenate(x), first.states, second.states)
    assert_same(jax.tree.map(np.asarray, whole.states), joined)


def test_a_state_shares_no_memory_with_what_it_was_made_of_nor_with_itself():
    one, seed = jnp.full(E, 1.0), jnp.uint32(3)
    state = one_population().state({"V_m": one, "refractory": one, "I_syn": 0.0}, seed=seed)
    taken = jax.jit(lambda state: jax.tree.map(lambda x: x + 1, state), donate_argnums=0)(state)
    assert int(taken.seed) == int(seed) + 1 and float(taken.neurons["V_m"][0] - one[0]) == 1
    assert state.seed.is_deleted()


def test_a_native_run_has_the_bits_of_the_scan():
    network = two_populations(states=STATES, every=5)
    begin = {"z": START | {"I_syn": 0.0}, "a": START | {"V_m": jnp.linspace(-65, -51, I)}}
    state = network.state(begin, seed=3)
    assert network.explain(state) == network.explain(state, platform="cpu") == "one native call"
    assert "no native run on tpu" in network.explain(state, platform="tpu")
    native = network.run(state, 200, backend="numba_cpu")
    assert_same(native, network.run(state, 200, backend="reference"))
    _, recording = native
    times, ids = recording.spikes
    assert len(times) == recording.num_spikes > 200
    assert (np.diff(times) >= 0).all() and times.min() >= 0 and times.max() < 200
    assert (np.diff(ids)[np.diff(times) == 0] > 0).all()
    assert (ids < E).any() and (ids >= E).any()
    assert {k: {x: y.shape for x, y in v.items()} for k, v in recording.states.items()} == {
        "z": {"V_m": (40, 2), "I_syn": (40, 5)},
        "a": {"V_m": (40, 1)},
    }
    assert all(np.ptp(x) > 0 for x in jax.tree.leaves(recording.states))
    assert_halves_are_the_whole(network, state, 200, "numba_cpu")


def test_a_traced_step_below_0_counts_as_0():
    network = silent(Projection(matrix(3, 3, 1.0), "jump", delay=2), spikes=9)  # of three slots
    state = network.state({"V_m": -40.0, "refractory": 0.0})

    @jax.jit
    def run(step):
        return network.run(state._replace(step=step), 4, backend="numba_cpu")

    end, recording = run(jnp.int32(-5))
    expected_end, expected = run(jnp.int32(0))
    assert_same((end, recording.spikes), (expected_end, expected.spikes))


@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_two_runs_are_one(backend):
    network = one_population()
    assert_halves_are_the_whole(network, first_state(network), 100, backend)


def test_spikes_that_are_numbers_count_as_one_before_and_behind_the_end_of_a_run():
    def model(x):
        return x, x / 2

    A = CSR.from_dense(np.eye(2, k=1, dtype=np.float32))
    network = Network(Population(2, model), [Projection(A, "x", delay=1)], record=Record(spikes=9))
    assert_halves_are_the_whole(network, network.state({"x": np.float32([1, 0])}), 4, "reference")
    after = lambda x: network.run(network.state({"x": x}), 2, backend="reference")[0].neurons["x"]  # noqa: E731
    x = jnp.float32([1, 0])
    assert after(x).tolist() == [1, 1]
    assert jax.jacobian(after)(x).tolist() == [[1, 0], [0.5, 1]]


def test_vmap_over_seeds_and_jit_of_the_network_itself():
    network = one_population()
    seeds = jnp.arange(3, dtype=jnp.uint32)
    run = jax.jit(lambda network, state: network.run(state, 50))
    states = jax.vmap(lambda seed: first_state(network, seed))(seeds)
    ends, recordings = jax.vmap(lambda state: network.run(state, 50))(states)
    for k in range(3):
        end, recording = run(network, first_state(network, k))
        assert_same((end, recording), jax.tree.map(lambda x, k=k: x[k], (ends, recordings)))
    assert len(set(recordings.num_spikes.tolist())) > 1
    with pytest.raises(ValueError, match="a batch of recordings"):
        recordings.spikes  # noqa: B018


@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_spikes_without_room_are_counted_and_reported(backend):
    network, small, none = (one_population(spikes=x) for x in (5000, 10, 0))
    _, all_of_them = network.run(first_state(network), 50, backend=backend)
    _, some = small.run(first_state(small), 50, backend=backend)
    _, counted = none.run(first_state(none), 50, backend=backend)
    assert all_of_them.num_spikes == some.num_spikes == counted.num_spikes > 10
    np.testing.assert_array_equal(some.ids, all_of_them.ids[:10])
    np.testing.assert_array_equal(some.times, all_of_them.times[:10])
    with pytest.raises(ValueError, match=r"Record\(spikes=10\) has room for the first 10"):
        some.spikes  # noqa: B018
    behind = int(all_of_them.num_spikes)
    assert (all_of_them.ids[behind:] == E).all()
    assert (all_of_them.times[behind:] == -1).all()


def test_a_spike_arrives_after_its_delay_in_order_of_nest():
    # Neuron 0 is above threshold in step 0; a variable of the step is moved in step 3, a state behind step 3.
    A = CSR.from_dense(np.float32([[0, 100.0], [0, 0]]))
    on_variable = Network(
        Population(2, lif_step, I_syn=0.0, **LIF),
        [Projection(A, "jump", delay=3)],
        record=Record(spikes=9, states={"V_m": [1]}),
    )
    state = on_variable.state({"V_m": np.float32([-40, -65]), "refractory": 0.0})
    _, recording = on_variable.run(state, 6, backend="reference")
    assert [x.tolist() for x in recording.spikes] == [[0, 3], [0, 1]]
    on_state = Network(
        Population(2, lif_expsyn_step, tau_syn=0.5, **LIF),
        [Projection(A, "I_syn", delay=3)],
        record=Record(spikes=9, states={"I_syn": [1]}),
    )
    state = on_state.state({"V_m": np.float32([-40, -65]), "refractory": 0.0, "I_syn": 0.0})
    _, recording = on_state.run(state, 5, backend="reference")
    np.testing.assert_allclose(recording.states["I_syn"][:, 0], [0, 0, 0, 100, 100 * np.exp(-0.2)], rtol=1e-6)


def projection(A, delays, kind):
    if kind == "one":
        return Projection(A, "I_syn", delay=delays[0])
    with_delays = Projection(A, "I_syn", delay=delays)
    return with_delays if kind == "each" else Projection(with_delays.A, "I_syn", slots=max(delays) + 1)


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("one", 0, 0), ("one", 5, 5), ("each", 0, 5), ("rows", 2, 5)]
)
def test_a_loop_in_numpy_has_the_same_spikes(kind, low, high):
    n, steps = 40, 400
    delays = np.random.default_rng(1).integers(low, high + 1, 8 * n)
    A, currents = matrix(n, n, 300.0), np.linspace(400, 600, n)
    population = Population(n, lif_expsyn_step, tau_syn=0.5, R_m=0.04, I_e=jnp.float32(currents), **LIF)
    synapses = projection(A, delays, kind)
    assert synapses.min_delay == low
    network = Network(population, [synapses], record=Record(spikes=9999))
    _, recording = network.run(network.state(START | {"I_syn": 0.0}), steps, backend="reference")

    V, left, current, D = np.full(n, -60.0), np.zeros(n), np.zeros(n), np.zeros((6, n, n))
    np.add.at(D, (delays, np.repeat(np.arange(n), np.diff(A.indptr)), A.indices), A.data)
    decay, decay_syn = np.exp(-0.01), np.exp(-0.2)
    gain = 0.04 * 0.5 / (0.5 - 10) * (decay_syn - decay)
    sent, expected = [np.zeros(n)] * 5, []
    for t in range(steps):
        V_inf = -65 + 0.04 * currents
        V = np.where(left > 0, V, V_inf + (V - V_inf) * decay + gain * current)
        fired = (left == 0) & (V > -50)
        V, left = np.where(fired, -65, V), np.where(fired, 10, np.maximum(left - 1, 0))
        sent.append(fired.astype(float))
        current = current * decay_syn + sum(sent[t + 5 - d] @ D[d] for d in range(6))
        expected += [(t, i) for i in np.flatnonzero(fired)]
    assert len(expected) > 100
    assert list(zip(*recording.spikes, strict=True)) == expected


def test_parrots_pass_a_pulse_on():
    begin, end = 4, 9
    A = CSR.from_dense(np.ones((E, 1), np.float32))
    pulse = PoissonInput("spikes", weight=1.0, mean=0.3, start=begin, stop=end, target="source")
    counter = Population(1, lif_expsyn_step, tau_syn=1e9, R_m=0.0, **LIF)
    network = Network(
        {"source": Population(E, parrot), "target": counter},
        [Projection(A, "I_syn", delay=2, source="source", target="target")],
        [pulse],
        Record(spikes=999, states={"target": {"I_syn": [0]}}),
    )
    state = network.state({"source": {"arrived": 0.0}, "target": START | {"I_syn": 0.0}}, seed=3)
    _, recording = network.run(state, 12, backend="reference")
    ones, seed, mean = np.float32(1), np.uint32(3), np.full(E, 0.3)
    numbers = [poisson_input(ones, seed, t, mean=mean) for t in range(begin, end)]
    times, ids = np.nonzero(numbers)
    np.testing.assert_array_equal(recording.spikes, (times + begin, ids))
    arrived = np.cumsum(np.bincount(times + begin + 2, minlength=12))
    np.testing.assert_array_equal(np.round(recording.states["target"]["I_syn"][:, 0]), arrived)


def test_a_network_without_spikes_says_so():
    network = silent(spikes=4)
    _, recording = network.run(network.state(START), 10)
    assert recording.num_spikes == 0
    assert [x.size for x in recording.spikes] == [0, 0]


def test_parameters_may_be_traced_and_derivatives_are_those_of_the_scan():
    def end(E_L):
        network = Network(Population(3, lif_step, I_syn=0.0, **LIF | {"E_L": E_L}))
        return network.run(network.state(START), 20)[0].neurons["V_m"].sum()

    values = jax.vmap(end)(jnp.float32([-65, -55]))
    assert values[1] > values[0]
    np.testing.assert_allclose(jax.grad(end)(jnp.float32(-65)), 3 * (1 - np.exp(-0.2)), rtol=1e-5)


def test_a_number_of_numpy_keeps_its_dtype():
    with jax.enable_x64(True):
        state = silent().state({"V_m": np.float64(-60), "refractory": 0.0})
    assert state.neurons["V_m"].dtype == "float64" and state.neurons["refractory"].dtype == "float32"


def test_numbers_that_are_equal_are_compiled_apart():
    trees = [jax.tree.structure(Population(1, lif_step, x=x)) for x in (0.0, -0.0, 0, False)]
    assert all(a != b for k, a in enumerate(trees) for b in trees[:k])


@pytest.mark.parametrize("kind", ["closure", "dictionary", "rule"])
def test_a_function_that_changed_is_run_as_it_is_now(kind):
    factor, settings = 0.5, {"factor": 0.5}

    def change():
        nonlocal factor
        factor = settings["factor"] = 0.25

    by_closure, by_dictionary = lambda x: x * factor, lambda x: x * settings["factor"]
    model = by_dictionary if kind == "dictionary" else by_closure
    if kind == "rule":
        neuron = neuron_step(lambda x, *, jump: x + jump, threshold=lambda x: x - 0.5)
        learning = Plasticity(on_pre=lambda w: by_closure(w))
        projections = [Projection(CSR.from_dense(np.ones((1, 1), "f")), "jump", delay=1, plasticity=learning)]
    else:
        neuron, projections = neuron_step(lambda x: model(x), threshold=lambda x: x - 9), []
    network = Network(Population(1, neuron), projections)
    run = lambda: network.run(network.state({"x": 1.0}), 2, backend="reference")[0].neurons["x"]  # noqa: E731
    expected = (1.5, 1.25) if kind == "rule" else (0.25, 0.0625)
    assert run() == expected[0]
    change()
    assert run() == expected[1]
