"""The gradient of a run: through spikes with a surrogate, as JAX has it of the scan that defines the run."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import LIF, START, assert_same

from event_ops import CSR, lif_step
from event_ops.network import (
    Network,
    Plasticity,
    Population,
    Projection,
    Record,
    SpikeInput,
    TimedInput,
)
from event_ops.surrogate import triangular

N, OUT, STEPS = 12, 3, 30
SQUARE = CSR.from_dense(np.eye(3, dtype=np.float32))
MANY = np.ones(1025, np.float32)  # more than a kernel holds


def dense(rows, columns, scale, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(scale / 3, scale, (rows, columns)), jnp.float32)


def small(W, R, *, surrogate=None, tau_m=10.0, **record):
    """Recurrent neurons that are driven by an input, and a readout that never spikes."""
    how = {} if surrogate is None else {"surrogate": surrogate}
    quiet: Any = LIF | {"V_th": 1e9, "tau_m": 5.0, "I_syn": 0.0, "dt": 1.0}
    return Network(
        {
            "z": Population(N, lif_step, **how, **LIF | {"tau_m": tau_m, "dt": 1.0}),
            "out": Population(OUT, lif_step, **how, **quiet),
        },
        [
            Projection(W, "jump", delay=1, source="z", target="z"),
            Projection(R, "jump", delay=2, source="z", target="out"),
        ],
        [TimedInput("I_syn", name="drive", every=2, target="z")],
        Record(
            **{"spikes": 200, "states": {"out": {"V_m": [0, 1, 2]}, "z": {"spikes": np.arange(N)}}} | record
        ),
    )


def drive(seed=3):
    return jnp.asarray(np.random.default_rng(seed).normal(30, 8, (STEPS // 2, N)), jnp.float32)


def start(network):
    return network.state({"z": START, "out": {"V_m": -65.0, "refractory": 0.0}})


def test_values_are_those_of_the_run_without_a_surrogate():
    W, R = (CSR.from_dense(dense(N, n, 2.0)) for n in (N, OUT))
    plain, smooth = small(W, R), small(W, R, surrogate=triangular(width=5.0))
    expected = plain.run(start(plain), STEPS, inputs={"drive": drive()})
    assert expected[1].num_spikes > 20
    for backend in ("reference", "numba_cpu"):
        found = smooth.run(start(smooth), STEPS, inputs={"drive": drive()}, backend=backend)
        assert_same(found, expected)
    counts = np.zeros((STEPS, N), np.float32)
    np.add.at(counts, expected[1].spikes, 1)
    np.testing.assert_array_equal(expected[1].states["z"]["spikes"], counts)


@pytest.mark.parametrize("every", [1, 5])
def test_dense_weights_and_counts_of_spikes_in_the_native_run_are_those_of_the_scan(every):
    network = small(dense(N, N, 2.0), dense(N, OUT, 2.0), every=every)
    found, expected = (
        network.run(start(network), STEPS, inputs={"drive": drive()}, backend=backend)
        for backend in ("numba_cpu", "reference")
    )
    np.testing.assert_array_equal(found[1].ids, expected[1].ids)
    np.testing.assert_array_equal(found[1].states["z"]["spikes"], expected[1].states["z"]["spikes"])
    np.testing.assert_allclose(found[1].states["out"]["V_m"], expected[1].states["out"]["V_m"], rtol=1e-6)


def test_the_gradient_of_the_scan_is_that_of_a_loop_by_hand():
    W, R, values = dense(N, N, 2.0), dense(N, OUT, 2.0), drive()
    neuron = LIF | {"dt": 1.0, "surrogate": triangular(width=5.0)}

    def loss(W, R, values):
        network = small(W, R, surrogate=triangular(width=5.0))
        _, recording = network.run(start(network), STEPS, inputs={"drive": values}, backend="reference")
        out, counts = recording.states["out"]["V_m"], recording.states["z"]["spikes"]
        return jnp.sin(out).sum() + (counts.sum(axis=0) ** 2).sum()

    def by_hand(W, R, values):
        def step(carry, now):
            V, left, O, held, last, before = carry
            V, left, spikes = lif_step(V, left, now, jump=last @ W, **neuron)
            O, held, _ = lif_step(O, held, 0.0, jump=before @ R, **neuron | {"V_th": 1e9, "tau_m": 5.0})
            return (V, left, O, held, spikes, last), (O, spikes)

        V, O = jnp.full(N, -60.0), jnp.full(OUT, -65.0)
        begin = V, 0 * V, O, 0 * O, 0 * V, 0 * V
        _, (out, spikes) = jax.lax.scan(step, begin, jnp.repeat(values, 2, axis=0))
        return jnp.sin(out).sum() + (spikes.sum(axis=0) ** 2).sum()

    found, expected = (jax.grad(f, (0, 1, 2))(W, R, values) for f in (loss, by_hand))
    for x, y in zip(found, expected, strict=True):
        assert jnp.abs(y).max() > 0
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4 * float(jnp.abs(y).max()))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"projections": [Projection(SQUARE.compact(rtol=0.1), "jump", delay=1)]}, "a CompactCSR"),
        ({"inputs": [SpikeInput("jump", [0, 1], [0, 2], weight=0.5)]}, "an input other than a TimedInput"),
        (
            {"projections": [Projection(SQUARE, "jump", delay=1, plasticity=Plasticity(lambda w: w))]},
            "a projection has plasticity",
        ),
        ({"surrogate": lambda x: jnp.asarray(MANY)[0] + 0 * x}, "holds an array of more than 1024 elements"),
    ],
)
def test_what_has_no_native_gradient_says_why_and_has_that_of_the_scan(changed, reason):
    parts = {"projections": [], "inputs": [], "surrogate": triangular(width=9.0)} | changed
    population = Population(3, lif_step, surrogate=parts.pop("surrogate"), I_syn=0.0, **LIF)

    def rates(V_m, backend=None):
        network = Network(population, **parts, record=Record(states={"spikes": [0, 1, 2]}, every=5))
        state = network.state({"V_m": V_m, "refractory": 0.0})
        assert reason in network.explain(state)
        return network.run(state, 5, backend=backend)[1].states["spikes"].sum()

    V_m = jnp.asarray([-49.0, -51.0, -60.0])
    with pytest.warns(UserWarning, match=reason):
        slope = jax.grad(rates)(V_m)
    assert slope[0] > 0
    np.testing.assert_array_equal(slope, jax.grad(rates)(V_m, "reference"))


def test_without_a_surrogate_no_derivative_passes_the_spikes():
    def end(V_m):
        network = small(dense(N, N, 2.0), dense(N, OUT, 2.0))
        state = network.state({"z": START | {"V_m": V_m}, "out": {"V_m": -65.0, "refractory": 0.0}})
        return network.run(state, STEPS, inputs={"drive": drive()})[0].neurons["out"]["V_m"].sum()

    network = small(dense(N, N, 2.0), dense(N, OUT, 2.0))
    assert network.explain(start(network)) == "one native call"
    assert (jax.grad(end)(jnp.full(N, -60.0)) == 0).all()
