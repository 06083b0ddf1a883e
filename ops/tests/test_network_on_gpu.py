"""`Network` on a GPU: a run is one persistent kernel, whose spikes and states are those of the CPU.

Weights, potentials and numbers that are drawn are multiples of 1/16: sums are exact in any order.
"""

import ast
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import GRID, assert_same, move, on_grid

from event_ops import CSR, CompactCSR, neuron_step
from event_ops.network import Network, PoissonInput, Population, Projection, Record, SpikeInput, TimedInput
from event_ops.network.cuda import delivery, kernel, learning, neurons, pulled
from event_ops.network.cuda.division import Launch

pytestmark = pytest.mark.usefixtures("checked_gpu")
START = {"V_m": 0.0, "refractory": 0.0, "I_syn": 0.0}


def move_with_noise(V_m, I_syn, *, jump, drive, xi):
    return on_grid(V_m * 0.875 + I_syn * 0.5 + jump + drive) + on_grid(xi), on_grid(I_syn * 0.5)


RESETS: Any = {
    "threshold": lambda V_m, I_syn, *, V_th: V_m - V_th,
    "reset": lambda V_m, I_syn, *, V_th: (V_m * 0, I_syn),
    "held": ("V_m",),
}
model = neuron_step(move, **RESETS)
noisy = neuron_step(move_with_noise, **RESETS, noise={"xi": "normal"})


def population(size, step=model, **parameters):
    drive = jnp.asarray(np.random.default_rng(size).integers(4, 32, size) / GRID, jnp.float32)
    return Population(size, step, drive=drive, V_th=8.0, t_ref=0.3, dt=0.1, **parameters)


def matrix(rows, columns, seed=0, each=8):
    rng = np.random.default_rng(seed)
    nse = each * rows
    weights = (rng.integers(-12, 24, nse) / GRID).astype(np.float32)
    return CSR.from_coo(*(rng.integers(0, n, nse) for n in (rows, columns)), weights, shape=(rows, columns))


def in_words(A):
    """The matrix in words of 32 bits, whose scale keeps its weights."""
    bits = (A.shape[1] - 1).bit_length()
    codes = np.asarray(A.data * GRID).astype(np.int64)
    words = (codes << bits | np.asarray(A.indices)).astype(np.uint32)
    return CompactCSR(jnp.asarray(words), A.indptr, np.float32(1 / GRID), shape=A.shape)


def delays(A, most, least=0):
    return np.random.default_rng(4).integers(least, most + 1, A.nse)


def one_population(size, receptor, delay, *, words=False, **more):
    A = matrix(size, size)
    each = delays(A, *delay) if isinstance(delay, tuple) else delay
    jump = {} if receptor == "jump" else {"jump": 0.0}
    projection = Projection(in_words(A) if words else A, receptor, delay=each)
    return Network(population(size, **jump), [projection], **{"record": Record(spikes=2000)} | more)


def assert_as_on_cpu(network, state, steps):
    found = network.run(state, steps, backend="numba_cuda")
    assert_same(found, network.run(state, steps, backend="numba_cpu"))
    return found


# The GPU has two multiprocessors here: 130 neurons are five words of bits, of one block, and 280 are nine.
@pytest.mark.parametrize(
    ("size", "receptor", "delay", "words"),
    [
        (130, "I_syn", 0, False),  # every block pulls the entries of its neurons
        pytest.param(280, "jump", 1, False, marks=pytest.mark.slow),
        (280, "I_syn", 1, True),  # one barrier a step
        pytest.param(280, "jump", 2, False, marks=pytest.mark.slow),
        (130, "I_syn", 9, False),  # several steps in a turn
        pytest.param(280, "I_syn", (5,), True, marks=pytest.mark.slow),  # delays of 0 and more: two barriers
        (280, "jump", (5, 1), False),
    ],
)
def test_the_spikes_and_states_are_those_of_the_cpu(size, receptor, delay, words):
    network = one_population(size, receptor, delay, words=words)
    state = network.state(START)
    _, recording = assert_as_on_cpu(network, state, 60)
    assert network.explain(state, platform="gpu") == "one persistent kernel"
    assert recording.num_spikes > size


def test_a_block_lists_more_spikes_than_it_has_threads():
    A = matrix(280, 280)
    driven = Population(280, model, drive=5.0, V_th=8.0, t_ref=0.3, dt=0.1, jump=0.0)
    network = Network(driven, [Projection(A, "I_syn", delay=1)], record=Record(spikes=2000))
    _, recording = assert_as_on_cpu(network, network.state(START), 8)
    assert np.bincount(recording.spikes[0]).max() > 160


def assigned(text):
    """The names that a template of lines assigns; what it has in braces is of other templates."""
    tree = ast.parse(re.sub(r"\{(\w+)\}", r"\1", text))
    return {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}


@pytest.mark.parametrize(
    ("outer", "inner", "shared"),
    [
        (kernel._RUN, delivery._DELIVER, {"found"}),
        (kernel._RUN, pulled._PULL, {"found"}),
        (kernel._RUN, learning._VISIT, set()),
        (kernel._RUN, neurons._NEURONS, set()),
        (neurons._NEURONS, neurons._STEP, set()),
        (neurons._NEURONS, learning._RAISE, set()),
        (delivery._DELIVER, delivery._ITEMS, set()),
        (learning._VISIT, learning._ARRIVING, set()),
        (learning._VISIT, learning._RETURNING, set()),
        (pulled._PULL, pulled._ENTRIES, set()),
    ],
)
def test_lines_that_others_go_around_assign_none_of_their_names(outer, inner, shared):
    assert assigned(inner) & assigned(outer) == shared


@pytest.mark.parametrize(("dtype", "delay"), [("bfloat16", 0), ("bfloat16", 1), ("float16", 0)])
def test_weights_of_two_bytes_add_up_in_float32(dtype, delay):
    A = matrix(33, 33).astype(dtype)
    projection = Projection(A, "I_syn", delay=delay)
    network = Network(population(33, jump=0.0), [projection], record=Record(spikes=300))
    _, recording = assert_as_on_cpu(network, network.state(START), 12)
    assert recording.num_spikes > 9


def odd_columns():
    """Entries whose columns are out of range, and some of no row."""
    A = matrix(33, 33)
    indices = jnp.pad(A.indices.at[::5].set(1000).at[1::7].set(-3).at[2::11].set(33), (0, 9))
    return CSR(jnp.pad(A.data, (0, 9)), indices, A.indptr, shape=A.shape, validate=False)


def scaled_rows():
    A = in_words(matrix(40, 40))
    return CompactCSR(A.entries, A.indptr, A.scale * jnp.float32(np.arange(40) % 3 + 1), shape=A.shape)


def one_weight():
    A = matrix(65, 65)
    return CSR(jnp.float32(0.5), A.indices, A.indptr, shape=A.shape)


@pytest.mark.parametrize("make", [odd_columns, scaled_rows, one_weight])
def test_entries_that_are_pulled_are_those_of_the_matrix(make):
    A = make()
    projection = Projection(A, "I_syn", delay=0)
    network = Network(population(A.shape[0], jump=0.0), [projection], record=Record(spikes=600))
    _, recording = assert_as_on_cpu(network, network.state(START), 12)
    assert recording.num_spikes > 9


@pytest.fixture(scope="module")
def everything():
    """A network with two populations, states and variables that receive, inputs, noise, and records."""
    z, a = 70, 45
    neurons = {"z": population(z), "a": population(a, noisy)}
    words = in_words(matrix(z, z, 5))
    projections = [
        Projection(words, "I_syn", delay=delays(words, 6), source="z", target="z"),
        Projection(matrix(z, a, 1), "jump", delay=3, source="z", target="a"),
        Projection(matrix(a, z, 2), "I_syn", delay=1, source="a", target="z"),
    ]
    inputs = [
        PoissonInput("I_syn", weight=0.25, mean=np.linspace(0, 1.6, z), target="z"),
        PoissonInput("I_syn", weight=jnp.full(a, 0.5, jnp.float32), mean=0.5, target="a"),
        PoissonInput("jump", weight=0.0625, mean=0.7, start=5, stop=31, target="z"),
    ]
    states: Any = {"z": {"V_m": [3, 1, 3], "I_syn": np.arange(5)}, "a": {"V_m": [44]}}
    network = Network(neurons, projections, inputs, Record(spikes=3000, states=states, every=5))
    return network, network.state({"z": START, "a": START}, seed=3)


@pytest.mark.slow
def test_a_network_of_everything_goes_on_where_it_ended(everything):
    network, state = everything
    whole_end, whole = assert_as_on_cpu(network, state, 40)
    half, first = network.run(state, 20, backend="numba_cuda")
    end, second = network.run(half, 20, backend="numba_cuda")
    assert_same(end, whole_end)
    for k in range(2):
        np.testing.assert_array_equal(whole.spikes[k], np.concatenate([first.spikes[k], second.spikes[k]]))
    assert whole.num_spikes > 100


@pytest.mark.slow
def test_warps_may_have_several_words(everything, monkeypatch):
    launch = "event_ops.network.numba_cuda.launch_for"
    monkeypatch.setattr(launch, lambda words: Launch(2, 32))
    jax.clear_caches()
    network, state = everything
    assert_as_on_cpu(network, state, 40)


@pytest.mark.parametrize("launch", [None, pytest.param(Launch(2, 32), marks=pytest.mark.slow)])
def test_given_inputs_are_those_of_the_cpu(launch, monkeypatch):
    if launch is not None:  # warps with several words
        monkeypatch.setattr("event_ops.network.numba_cuda.launch_for", lambda words: launch)
        jax.clear_caches()
    size, steps = 130, 9
    rng = np.random.default_rng(2)
    times, ids = rng.integers(0, 12, 400), rng.integers(0, size, 400)
    inputs = [
        SpikeInput("jump", times, ids, weight=2.0),
        TimedInput("I_syn", name="current", every=2),
        PoissonInput("jump", weight=0.5, mean=0.7, start=2, stop=7),
        TimedInput("jump", name="kick"),
        SpikeInput("I_syn", times, ids[::-1], weight=jnp.arange(size) / GRID),
    ]
    network = Network(population(size), inputs=inputs, record=Record(spikes=2000))
    given = {"current": rng.integers(0, 32, (5, size)) / GRID, "kick": rng.integers(0, 9, (9, 1)) / GRID}
    given = {name: x.astype(np.float32) for name, x in given.items()}
    state = network.state(START, seed=3)
    found = network.run(state, steps, inputs=given, backend="numba_cuda")
    assert_same(found, network.run(state, steps, inputs=given, backend="numba_cpu"))
    assert found[1].num_spikes > size


def test_an_infinite_weight_adds_nothing_without_a_spike():
    spikes = SpikeInput("jump", [2, 9], [3, 4], weight=np.inf)
    pulse = PoissonInput("I_syn", weight=np.inf, mean=0.7, start=7, stop=8)
    network = Network(population(40), inputs=[spikes, pulse])
    state, _ = assert_as_on_cpu(network, network.state(START), 4)
    assert_same(state, network.run(network.state(START), 4, backend="reference")[0])
    assert np.isfinite(state.neurons["V_m"]).sum() == 39  # all but the one with a spike


def test_a_batch_goes_through_the_kernel_one_after_the_other():
    network = one_population(280, "jump", 1)
    states = [network.state(START | {"V_m": x}) for x in (0.0, 2.0)]
    batch = jax.tree.map(lambda *x: jnp.stack(x), *states)
    found = jax.vmap(lambda state: network.run(state, 20, backend="numba_cuda"))(batch)
    for k, state in enumerate(states):
        one = network.run(state, 20, backend="numba_cpu")
        assert_same(jax.tree.map(lambda x, k=k: x[k], found), one)


def test_spikes_without_room_are_counted():
    small, none = (one_population(280, "jump", 1, record=Record(spikes=x)) for x in (9, 0))
    _, some = assert_as_on_cpu(small, small.state(START), 20)
    _, counted = assert_as_on_cpu(none, none.state(START), 20)
    assert some.num_spikes == counted.num_spikes > 9
