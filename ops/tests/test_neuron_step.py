"""`neuron_step`: a model of one neuron is a step of all of them, the same as one written by hand."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from event_ops import izhikevich_step, lif_step, neuron_step
from event_ops.catalog.izhikevich_step.cases import REGULAR_SPIKING
from event_ops.catalog.lif_step.cases import CUBA
from event_ops.surrogate import fast_sigmoid

backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
# Kernels take seconds to compile, and derivatives are those of the reference on all of them.
slow_backends = pytest.mark.parametrize(
    "backend", ["reference", pytest.param("numba_cpu", marks=pytest.mark.slow)]
)
dtypes = pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
RNG = np.random.default_rng(3)
N = 37


def lif(V_m, *, I_syn, E_L, tau_m, dt):
    V_inf = E_L + I_syn
    return V_inf + (V_m - V_inf) * jnp.exp(-dt / tau_m)


LIF = neuron_step(
    lif,
    threshold=lambda V_m, *, V_th: V_m - V_th,
    reset=lambda V_m, *, V_reset: V_reset,
    held=("V_m",),
)


def izhikevich(V_m, U_m, *, I_syn, a, b, dt):
    slope = (0.04 * V_m + 5) * V_m + 140 - U_m + I_syn
    return V_m + dt * slope, U_m + dt * a * (b * V_m - U_m)


IZHIKEVICH = neuron_step(
    izhikevich,
    threshold=lambda V_m, U_m, *, V_th=30.0: V_m - V_th,
    reset=lambda V_m, U_m, *, c, d: (c, U_m + d),
)

V = RNG.uniform(-60, -45, N)
HELD = np.where(RNG.random(N) < 0.3, RNG.integers(1, 50, N) * 0.1, 0.0)
CURRENT = RNG.normal(0, 20, N)


def by_hand_and_by_model(dtype):
    """Return functions of a current and of options, a pair for each neuron of the catalog."""
    V_m, held = V.astype(dtype), HELD.astype(dtype)
    peaks, U_m = np.where(np.arange(N) % 3, V_m, 25).astype(dtype), np.full(N, -13, dtype)
    yield (
        lambda I, **options: lif_step(V_m, held, I, **(CUBA | options), backend="reference"),
        lambda I, **options: LIF(V_m, held, I_syn=I, **(CUBA | options)),
    )
    yield (
        lambda I, **options: izhikevich_step(
            peaks, U_m, I, **(REGULAR_SPIKING | options), backend="reference"
        ),
        lambda I, **options: IZHIKEVICH(peaks, U_m, I_syn=I, **(REGULAR_SPIKING | options)),
    )


@backends
@dtypes
def test_a_model_is_the_neuron_of_the_catalog(backend, dtype):
    tolerance = {"float32": 2e-6, "float64": 1e-14}[dtype]
    with jax.enable_x64(dtype == "float64"):
        for by_hand, by_model in by_hand_and_by_model(dtype):
            expected, found = by_hand(CURRENT.astype(dtype)), by_model(CURRENT.astype(dtype), backend=backend)
            assert expected[-1].any() and not expected[-1].all()
            for x, y in zip(found, expected, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_allclose(x, y, rtol=tolerance)


@backends
@pytest.mark.parametrize("held", [None, ("V",)])
def test_threshold_sees_the_states_before_the_step(backend, held):
    step = neuron_step(
        lambda V, w, *, I: (V + I, w),
        threshold=lambda V, w, *, V_before, w_before: (V_before > V) & (w_before - 1 < V),
        reset=lambda V, w: (V, w + V),
        held=held,
    )
    V, w, I = (np.array(x, "f") for x in ([1, 1, 9, 3], [3, 3, 3, 3], [4, -4, -4, 0]))
    more = {"t_ref": 2.0, "dt": 1.0} if held else {}
    V, w, *_, spikes = step(V, w, *([np.zeros(4, "f")] if held else []), I=I, **more, backend=backend)
    np.testing.assert_array_equal(spikes, [False, False, True, False])
    np.testing.assert_array_equal(V, [5, -3, 5, 3])
    np.testing.assert_array_equal(w, [3, 3, 8, 3])


def test_the_state_before_the_step_is_for_threshold_alone():
    with pytest.raises(ValueError, match="variable 'V_before', which is the name of something else"):
        neuron_step(lambda V, *, V_before: V + V_before, threshold=lambda V: V)


@pytest.mark.slow
@slow_backends
def test_derivatives_are_those_of_the_catalog(backend):
    """Compare those of states and, by the surrogate, of spikes."""
    with jax.enable_x64(True):
        for by_hand, by_model in by_hand_and_by_model("float64"):
            weights = np.arange(1.0, N + 1)

            def loss(step, I, weights=weights):
                after = step(I, surrogate=fast_sigmoid(0.5))
                return sum((x * weights).sum() for x in after)

            found, expected = (
                jax.grad(functools.partial(loss, step))(CURRENT)
                for step in (functools.partial(by_model, backend=backend), by_hand)
            )
            assert np.count_nonzero(expected) > N / 2
            np.testing.assert_allclose(found, expected, rtol=1e-10)


@slow_backends
def test_what_is_held_hides_its_derivatives(backend):
    bad, held = jnp.where(HELD > 0, jnp.inf, CURRENT), HELD.astype("f")

    def f(V_m, I, tau):
        return LIF(V_m, held, I_syn=I, **(CUBA | {"tau_m": tau}), surrogate=fast_sigmoid(), backend=backend)

    V_m = jnp.asarray(V, "f")
    outputs, pull = jax.vjp(f, V_m, bad.astype("f"), jnp.float32(20.0))
    _, good = jax.vjp(f, V_m, jnp.asarray(CURRENT, "f"), jnp.float32(20.0))
    for found, expected in zip(pull(jax.tree.map(jnp.ones_like, outputs)), good(outputs), strict=True):
        assert np.isfinite(found).all() and found.shape == expected.shape
    np.testing.assert_allclose(
        pull((V_m, held, V_m))[2], good((V_m, held, V_m))[2], rtol=1e-5
    )  # of the shared parameter


@pytest.mark.slow
@backends
def test_batches_loops_and_parameters_of_each_neuron(backend):
    own = {"tau_m": RNG.uniform(10, 30, N).astype("f"), "E_L": RNG.uniform(-52, -48, N).astype("f")}
    start = jnp.asarray(V, "f"), jnp.asarray(HELD, "f")

    def run(I):
        def step(state, _):
            *state, spikes = LIF(*state, I_syn=I, **(CUBA | own), backend=backend)
            return tuple(state), spikes

        return jax.lax.scan(step, start, length=50)

    currents = jnp.asarray([CURRENT, 2 * CURRENT], "f")
    (V_m, held), spikes = jax.jit(jax.vmap(run))(currents)
    assert V_m.shape == held.shape == (2, N) and spikes.shape == (2, 50, N)
    for b, I in enumerate(currents):
        V_one, held_one = start
        for t in range(50):
            V_one, held_one, spikes_one = lif_step(V_one, held_one, I, **(CUBA | own), backend="reference")
            np.testing.assert_array_equal(spikes[b, t], spikes_one)
        np.testing.assert_allclose(V_m[b], V_one, rtol=1e-5)


def test_a_current_that_is_a_number_has_the_dtype_of_the_states():
    with jax.enable_x64(True):
        rest = jnp.full(3, -60.0, jnp.float32), jnp.zeros(3, jnp.float32)
        for step in (lif_step, LIF):
            run = functools.partial(step, *rest, **CUBA, backend="reference")
            expected = run(I_syn=np.full(3, 20, "f"))[0]
            np.testing.assert_array_equal(run(I_syn=np.float64(20))[0], expected)
            np.testing.assert_array_equal(jax.jit(lambda I, run=run: run(I_syn=I)[0])(20.0), expected)
        with pytest.raises(TypeError, match="I_syn has dtype float64 and V_m has dtype float32"):
            lif_step(*rest, jnp.full(3, 20.0), **CUBA)


@pytest.mark.slow
def test_a_loop_over_time_steps_copies_no_states():
    def step(_, state):
        return LIF(*state, I_syn=CURRENT.astype("f"), **CUBA, backend="numba_cpu")[:-1]

    loop = jax.jit(lambda *state: jax.lax.fori_loop(0, 9, step, state))
    computations = loop.lower(jnp.zeros(N), jnp.zeros(N)).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if " custom-call(" in text]
    assert " copy(" not in body


def linoid(x):
    near = abs(x) < 1e-3
    safe = jnp.where(near, 1, x)
    return jnp.where(near, 1 - x / 2, safe / jnp.expm1(safe))


def hodgkin_huxley(V, m, h, n, *, I, dt):
    def toward(x, alpha, beta):
        return alpha / (alpha + beta) + (x - alpha / (alpha + beta)) * jnp.exp(-(alpha + beta) * dt)

    m = toward(m, linoid(-(V + 40) / 10), 4 * jnp.exp(-(V + 65) / 18))
    h = toward(h, 0.07 * jnp.exp(-(V + 65) / 20), jax.nn.sigmoid((V + 35) / 10))
    n = toward(n, 0.1 * linoid(-(V + 55) / 10), 0.125 * jnp.exp(-(V + 65) / 80))
    g_Na, g_K = 120 * m**3 * h, 36 * n**4
    total, flow = 0.3 + g_Na + g_K, 0.3 * -54.4 + g_Na * 50 + g_K * -77 + I
    return flow / total + (V - flow / total) * jnp.exp(-total * dt), m, h, n


@dtypes
def test_nothing_is_held_and_a_spike_is_seen_once(dtype):
    """Hodgkin and Huxley's axon spikes at 68 Hz with 10 uA/cm2 (every 14.6 ms)."""
    step = neuron_step(hodgkin_huxley, threshold=lambda V, *_: V > 0, held=())
    with jax.enable_x64(dtype == "float64"):
        start = tuple(jnp.full(3, x, dtype) for x in (-65, 0.05, 0.6, 0.32, 0))

        def trains(backend):
            def body(state, _):
                *state, spikes = step(*state, I=10.0, t_ref=3.0, dt=0.01, backend=backend)
                return tuple(state), spikes[0]

            return jax.jit(lambda: jax.lax.scan(body, start, length=6000))()[1]

        found, expected = (np.flatnonzero(trains(backend)) for backend in ("numba_cpu", "reference"))
    assert len(found) == len(expected) == 4 and abs(found - expected).max() <= 1
    np.testing.assert_allclose(np.diff(found)[1:] * 0.01, 14.6, atol=0.1)


@pytest.mark.slow
def test_derivatives_of_many_operations():
    step = neuron_step(hodgkin_huxley, threshold=lambda V, *_, V_th: V - V_th, held=())
    with jax.enable_x64(True):
        states = tuple(jnp.asarray([x, x * 1.01]) for x in (-55.0, 0.1, 0.5, 0.4, 0.0))

        def f(*states_and_I):
            *states, I = states_and_I
            return step(*states, refractory, **named, I=I, V_th=0.0)[:4]

        *states, refractory = states
        named = {"t_ref": 3.0, "dt": 0.01, "backend": "reference"}
        check_grads(f, (*states, 10.0), order=1, modes=("fwd", "rev"), rtol=1e-4)


def test_a_model_that_changed_is_another_one():
    factor = 0.5

    def decay(V):
        return V * factor

    step = neuron_step(decay, threshold=lambda V: V - 10)
    for factor in (0.5, 0.25):
        np.testing.assert_allclose(step(jnp.ones(2), backend="reference")[0], [factor] * 2)
    assert repr(step) == "neuron_step(decay)"
