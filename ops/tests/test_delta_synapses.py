"""Delta synapses against loops in the published order of NEST's iaf_psc_delta and of Brian2's schedule."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends
from jax.test_util import check_grads

from event_ops import alif_step, lif_expsyn_step, lif_step
from event_ops.surrogate import fast_sigmoid

NEURON = {"tau_m": 10.0, "E_L": -70.0, "V_th": -55.0, "V_reset": -68.0, "t_ref": 0.5, "dt": 0.1}
CURRENT, STEPS, N = 9.0, 300, 20
ARRIVALS = np.random.default_rng(0).choice([0.0, 0.0, 2.5, -1.0], (STEPS, N))


def nest(arrivals, refractory_input):
    """One neuron, relative to E_L: move or count down, then look at the threshold."""
    p33, count = math.exp(-0.1 / 10), round(0.5 / 0.1)
    y3, r, kept, spikes = 0.0, 0, 0.0, []
    for arriving in arrivals:
        if r == 0:
            y3 = (1 - p33) * CURRENT + p33 * y3 + arriving + kept
            kept = 0.0
        else:
            kept += arriving * math.exp(-r * 0.1 / 10) if refractory_input else 0.0
            r -= 1
        spikes.append(y3 >= 15.0)
        if spikes[-1]:
            y3, r = 2.0, count
    return spikes


def brian2(arrivals):
    """One neuron: groups, thresholds, synapses, resets; `v_post += w` reaches it while it is refractory."""
    v, held, spikes = -70.0, 0, []
    for arriving in arrivals:
        if held == 0:
            v = -70 + CURRENT + (v + 70 - CURRENT) * math.exp(-0.1 / 10)
        spikes.append(held == 0 and v > -55)
        held = max(held - 1, 0)
        v += arriving
        if spikes[-1]:
            v, held = -68.0, 5
    return spikes


def trains(step):
    state = jnp.full(N, -70.0), jnp.zeros(N), jnp.zeros(N)
    return np.asarray(jax.jit(lambda state: jax.lax.scan(step, state, jnp.asarray(ARRIVALS)))(state)[1])


def each(simulate):
    expected = np.transpose([simulate(column) for column in ARRIVALS.T])
    assert 20 < expected.sum() < N * STEPS / 6
    return expected


@backends("lif_step")
@pytest.mark.parametrize("refractory_input", [False, True])
def test_a_jump_is_that_of_nest(backend, refractory_input):
    def step(state, arrivals):
        V_m, refractory, kept = state
        later = kept + arrivals * jnp.exp(-refractory / NEURON["tau_m"])
        kept_on = jnp.where(refractory > NEURON["dt"] / 2, later, 0.0) if refractory_input else kept
        jump = arrivals + kept
        V_m, refractory, spikes = lif_step(V_m, refractory, CURRENT, jump=jump, **NEURON, backend=backend)
        return (V_m, refractory, kept_on), spikes

    with jax.enable_x64(True):
        np.testing.assert_array_equal(trains(step), each(lambda x: nest(x, refractory_input)))


def test_a_jump_behind_the_step_is_that_of_brian2():
    def step(state, arrivals):
        V_m, refractory, unused = state
        V_m, refractory, spikes = lif_step(V_m, refractory, CURRENT, **NEURON)
        return (jnp.where(spikes, V_m, V_m + arrivals), refractory, unused), spikes

    with jax.enable_x64(True):
        np.testing.assert_array_equal(trains(step), each(brian2))


STEPS_OF = {
    "lif_step": lambda V, held, **given: lif_step(V, held, 3.0, **given),
    "alif_step": lambda V, held, **given: alif_step(V, held, 0 * V, 3.0, tau_a=9.0, beta=1.0, **given),
    "lif_expsyn_step": lambda V, held, **given: lif_expsyn_step(
        V, held, 0 * V, tau_syn=2.0, I_e=3.0, **given
    ),
}


@pytest.mark.slow_cases("alif_step", "lif_expsyn_step")
@pytest.mark.parametrize("name", STEPS_OF)
def test_every_backend_and_neuron_takes_the_jump(on_gpu, name):
    V, held = jnp.array([-60.0, -60.0, -60.0, -56.0]), jnp.array([0.0, 0.0, 0.3, 0.0])
    quiet = STEPS_OF[name](V, held, **NEURON)
    assert not quiet[-1].any()
    for backend in ("reference", "numba_cpu", "warp", "numba_cuda"):
        given = NEURON | {"backend": backend, "jump": jnp.array([1.0, 6.0, 6.0, -2.0])}
        pushed = STEPS_OF[name](V, held, **given)
        np.testing.assert_array_equal(pushed[-1], [0, 1, 0, 0])
        np.testing.assert_allclose(pushed[0] - quiet[0], [1, -68 - quiet[0][1], 0, -2], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS_OF)
def test_a_jump_has_a_derivative(name):
    with jax.enable_x64(True):
        V, held, jump = (
            jnp.array([-60.0, -60.0, -60.0]),
            jnp.array([0.0, 0.3, 0.0]),
            jnp.array([1.0, 1.0, -3.0]),
        )
        step = jax.jit(lambda jump, **given: STEPS_OF[name](V, held, jump=jump, **NEURON, **given))
        np.testing.assert_array_equal(jax.jacobian(lambda x: step(x)[0])(jump), np.diag([1, 0, 1]))
        spikes = jax.grad(
            lambda x: STEPS_OF[name](V, held, jump=x, surrogate=fast_sigmoid(), **NEURON)[-1].sum()
        )
        assert (np.asarray(spikes(jump)) > 0).tolist() == [True, False, True]
        check_grads(lambda x: step(x)[0], (jump,), order=1, modes=("fwd", "rev"))
