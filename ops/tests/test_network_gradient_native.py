"""The native gradient of a run is that of the scan, in float64 to rounding, and of a batch it is one call."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_networks import LIF

from event_ops import CSR, lif_expsyn_step, lif_step, neuron_step
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.network import Network, Population, Projection, Record, TimedInput, parrot
from event_ops.network.gradient import transposes
from event_ops.surrogate import fast_sigmoid, triangular
from ffi_bridge import debug, numba_kernel

N, M, OUT, STEPS = 40, 9, 3, 24
RNG = np.random.default_rng(0)


def adapting(V_m, b, n, *, jump, tau_m, beta, dt):
    decay = jnp.exp(-dt / tau_m)
    return V_m * decay + jump, b * 0.9, n + 1


alif = neuron_step(
    adapting,
    threshold=lambda V_m, b, n, *, beta: V_m - 1 - beta * b,
    reset=lambda V_m, b, n: (V_m - 1, b + 1, n),
)


def entries(rows, columns, scale, seed):
    rng = np.random.default_rng(seed)
    pre, post = np.nonzero(rng.random((rows, columns)) < 0.4)
    weights = rng.normal(scale / 2, scale, pre.size)
    return CSR.from_coo(pre, post, weights, shape=(rows, columns))


def parts():
    """Return all that has derivatives, by name, in float64."""
    delays = np.random.default_rng(2).integers(1, 6, entries(N, N, 1.0, 1).nse)
    weights = {
        "in": jnp.asarray(RNG.normal(0.3, 1.0, (M, N))),
        "recurrent": entries(N, N, 0.4, 1).data,
        "out": jnp.asarray(RNG.normal(0.0, 30.0, (N, OUT))),
        "back": entries(N, N, 6.0, 3).data,
    }
    parameters = {
        "tau_m": jnp.linspace(5.0, 15.0, N),
        "beta": jnp.asarray(0.3),
        "I_e": jnp.linspace(10, 30, N),
    }
    state = {
        "src": {"arrived": jnp.zeros(M)},
        "z": {"V_m": jnp.linspace(0, 0.9, N), "b": jnp.zeros(N), "n": jnp.zeros(N, jnp.int32)},
        "e": {"V_m": jnp.full(N, -55.0), "refractory": jnp.zeros(N), "I_syn": jnp.zeros(N)},
        "out": {"V_m": jnp.zeros(OUT), "refractory": jnp.zeros(OUT)},
    }
    values = {
        "spikes": jnp.asarray((RNG.random((STEPS, M)) < 0.2).astype(float)),
        "drive": jnp.asarray(RNG.normal(5, 9, (STEPS // 3, N))),
    }
    return delays, (weights, parameters, state, values)


def network(weights, parameters, every):
    lif: Any = LIF | {"dt": 1.0}
    with jax.ensure_compile_time_eval():
        delays = parts()[0]
        A, B = (entries(N, N, 1.0, seed) for seed in (1, 3))
    return Network(
        {
            "src": Population(M, parrot),
            "z": Population(
                N, alif, surrogate=triangular(), tau_m=parameters["tau_m"], beta=parameters["beta"], dt=1.0
            ),
            "e": Population(
                N, lif_expsyn_step, surrogate=fast_sigmoid(1.0), tau_syn=3.0, I_e=parameters["I_e"], **lif
            ),
            "out": Population(OUT, lif_step, **lif | {"E_L": 0.0, "V_th": 1e9, "I_syn": 0.0}),
        },
        [
            Projection(weights["in"], "jump", delay=1, source="src", target="z"),
            Projection(A.with_data(weights["recurrent"]), "jump", delay=delays, source="z", target="z"),
            Projection(weights["out"], "jump", delay=3, source="z", target="out"),
            Projection(B.with_data(weights["back"]), "I_syn", delay=0, source="e", target="e"),
            Projection(weights["out"], "jump", delay=2, source="e", target="out"),
        ],
        [
            TimedInput("spikes", name="spikes", target="src"),
            TimedInput("I_syn", name="drive", every=3, target="e"),
        ],
        Record(
            states={"out": {"V_m": [2, 0]}, "z": {"spikes": np.arange(N), "b": [1]}, "e": {"spikes": [0, 5]}},
            every=every,
        ),
    )


def loss(given, backend, every=4):
    weights, parameters, state, values = given
    run = network(weights, parameters, every)
    begin = run.state(state)
    end, recording = run.run(begin, STEPS, inputs=values, backend=backend)
    z, e = recording.states["z"], recording.states["e"]
    total = jnp.sin(recording.states["out"]["V_m"] / 50).sum() + (z["spikes"].sum(axis=0) ** 2).mean()
    total += z["b"].sum() + (e["spikes"] ** 2).sum() + end.neurons["e"]["I_syn"].sum() / 99
    return total + jnp.cos(end.neurons["z"]["V_m"]).sum()


def gradient(given, backend, every=4):
    flat, tree = jax.tree.flatten(given)
    moved = [k for k, x in enumerate(flat) if jnp.issubdtype(x.dtype, jnp.floating)]

    def of_floats(xs):
        return loss(
            jax.tree.unflatten(tree, [xs[moved.index(k)] if k in moved else x for k, x in enumerate(flat)]),
            backend,
            every,
        )

    return jax.value_and_grad(of_floats)([flat[k] for k in moved])


def assert_close(found, expected, least=0.9):
    pairs = list(zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True))
    assert np.mean([bool(jnp.abs(y).max() > 0) for _, y in pairs]) >= least
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11 * (1 + float(jnp.abs(y).max())))


@pytest.mark.parametrize("every", [1, 4])
def test_the_gradient_is_that_of_the_scan(every):
    with jax.enable_x64(True):
        _, given = parts()
        found, expected = (
            jax.jit(gradient, static_argnums=(1, 2))(given, x, every) for x in (None, "reference")
        )
        assert_close(found, expected, least=0.7)


@njit
def back_through_rows(data, indices, ends, a, of_row, of_four, dots):
    matrix = data, indices, ends
    of_row[:], of_four[:] = 0, 0
    for i in range(dots.size):
        transposes.add_entries_row(matrix, np.uintp(i), a, of_row)
        transposes.add_entries_rows(matrix, np.uintp(i), a, a, a, a, of_four)
        dots[i] = transposes.entries_dot(matrix, np.uintp(i), a)


def test_rows_that_reach_beyond_the_entries_end_with_them():
    data, indices, ends = np.arange(1, 4, dtype=np.float32), np.int32([0, 1, 0]), np.int32([0, 1, 999, -9])
    outs = [jax.ShapeDtypeStruct((3,), np.float32)] * 3
    with debug.guarded():
        given = data, indices, ends, np.float32([1, 10])
        of_row, of_four, dots = numba_kernel(back_through_rows, outs)(*given)
    np.testing.assert_array_equal(of_row, [1, 10, 1])
    np.testing.assert_array_equal(of_four, [4, 40, 4])
    np.testing.assert_array_equal(dots, [1, 23, 0])
