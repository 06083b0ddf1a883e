"""Neurons and gap junctions of the catalog against NEST: V by the error of the scheme, spikes to the step."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nest_programs import ask_nest

from event_ops import (
    CSR,
    adex_step,
    csr_gap_current,
    hh_cond_exp_step,
    izhikevich_step,
    lif_cond_alpha_step,
    lif_cond_exp_step,
)
from event_ops.cases.neurons import COBA
from event_ops.catalog.adex_step.cases import ADAPTIVE
from event_ops.catalog.hh_cond_exp_step.cases import COBAHH
from event_ops.catalog.izhikevich_step.cases import REGULAR_SPIKING

STEPS = 3000
# Excitation all the time, some inhibition; the weights are in nS, or in mV.
ARRIVALS = [(7 * i + 3, 25.0 if i % 5 else -60.0) for i in range(400)]


def in_nest(model: str, parameters: dict[str, Any], dt: float, arrivals: list[tuple[int, float]]) -> Any:
    """Return the potentials and the spikes of one neuron in NEST."""
    request = {"model": model, "parameters": parameters, "dt": dt, "steps": STEPS, "arrivals": arrivals}
    found = ask_nest("neuron", request)
    return np.array(found["V_m"]), np.array(found["spikes"])


def arriving(arrivals: list[tuple[int, float]]) -> jax.Array:
    """Return the input of each step, excitatory and inhibitory, both positive."""
    weights = np.zeros((STEPS, 2))
    for step, weight in arrivals:
        weights[step, int(weight < 0)] += abs(weight)
    return jnp.asarray(weights)


def with_conductances(
    step: Any, start: dict[str, float], arrivals: list[tuple[int, float]], added: tuple[Any, Any] = (1.0, 1.0)
) -> Any:
    """V after each step of a neuron whose conductances arrivals add to, and the steps with a spike.

    Excitatory and inhibitory ones add their weights times `added`, to the slopes of the conductances where
    there are any.
    """
    ex, into = ("dg_ex", "dg_in") if "dg_ex" in start else ("g_ex", "g_in")

    def one(state: Any, weights: Any) -> Any:
        *moved, spike = step(*state)
        after = dict(zip(start, moved, strict=True))
        after |= {ex: after[ex] + added[0] * weights[0], into: after[into] + added[1] * weights[1]}
        return tuple(after.values()), (after["V_m"], spike)

    state = tuple(map(jnp.asarray, start.values()))
    V, spikes = jax.jit(lambda: jax.lax.scan(one, state, arriving(arrivals)))()[1]
    return np.asarray(V), np.flatnonzero(spikes)


def nest_parameters(constants: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in constants.items() if name not in ("dt", "substeps")}


def test_lif_cond_exp_is_iaf_cond_exp() -> None:
    start = {"V_m": -60.0, "refractory": 0.0, "g_ex": 0.0, "g_in": 0.0}
    parameters = nest_parameters(COBA) | {"I_e": 50.0, "V_m": start["V_m"]}
    wanted, spikes = in_nest("iaf_cond_exp", parameters, COBA["dt"], ARRIVALS)
    with jax.enable_x64(True):
        V, found = with_conductances(lambda *s: lif_cond_exp_step(*s, I_e=50.0, **COBA), start, ARRIVALS)
    assert len(spikes) > 10
    np.testing.assert_array_equal(found, spikes)
    np.testing.assert_allclose(V, wanted, atol=5e-3)


def test_lif_cond_alpha_is_iaf_cond_alpha() -> None:
    constants = COBA | {"tau_syn_ex": 2.0, "tau_syn_in": 3.0, "I_e": 50.0}
    start = {"V_m": -60.0, "refractory": 0.0, "g_ex": 0.0, "g_in": 0.0, "dg_ex": 0.0, "dg_in": 0.0}
    parameters = nest_parameters(constants) | {"V_m": start["V_m"]}
    wanted, spikes = in_nest("iaf_cond_alpha", parameters, COBA["dt"], ARRIVALS)
    with jax.enable_x64(True):
        scales = np.e / constants["tau_syn_ex"], np.e / constants["tau_syn_in"]
        V, found = with_conductances(lambda *s: lif_cond_alpha_step(*s, **constants), start, ARRIVALS, scales)
    assert len(spikes) > 5
    np.testing.assert_array_equal(found, spikes)
    np.testing.assert_allclose(V, wanted, atol=5e-3)


def test_hh_cond_exp_is_hh_cond_exp_traub() -> None:
    constants = COBAHH | {"I_e": 100.0}
    gates = {"Act_m": 0.03, "Inact_h": 0.9, "Act_n": 0.1}
    start = {"V_m": -60.0, "refractory": 0.0, "g_ex": 0.0, "g_in": 0.0, **gates}
    parameters = nest_parameters(constants) | {"V_m": start["V_m"]} | gates
    arrivals = [(step, weight / 5) for step, weight in ARRIVALS]
    wanted, spikes = in_nest("hh_cond_exp_traub", parameters, constants["dt"], arrivals)
    with jax.enable_x64(True):
        V, found = with_conductances(lambda *s: hh_cond_exp_step(*s, **constants), start, arrivals)
    assert len(spikes) > 5
    np.testing.assert_allclose(found, spikes, atol=4)
    before = slice(spikes[0] - 20)  # the upstroke makes every difference grow
    np.testing.assert_allclose(V[before], wanted[before], atol=5e-2)


@pytest.mark.parametrize("t_ref", [0.0, 2.0])
def test_adex_is_aeif_cond_exp(t_ref: float) -> None:
    constants = ADAPTIVE | {"t_ref": t_ref, "I_e": 1300.0}
    start = {"V_m": -70.6, "refractory": 0.0, "g_ex": 0.0, "g_in": 0.0, "w": 0.0}
    parameters = nest_parameters(constants) | {"V_m": start["V_m"]}
    wanted, spikes = in_nest("aeif_cond_exp", parameters, constants["dt"], ARRIVALS)
    with jax.enable_x64(True):
        V, found = with_conductances(lambda *s: adex_step(*s, **constants), start, ARRIVALS)
    assert len(spikes) > 5
    assert found[0] == spikes[0]
    before = slice(spikes[0] - 5)  # the upstroke makes every difference grow
    np.testing.assert_allclose(V[before], wanted[before], atol=1e-2)
    np.testing.assert_allclose(found, spikes, atol=3)


@pytest.mark.parametrize(("method", "consistent"), [("euler", True), ("published", False)])
def test_izhikevich_is_that_of_nest(method: str, consistent: bool) -> None:
    dt, start, I_e = 1.0, {"V_m": -65.0, "U_m": -13.0}, 6.0
    constants = REGULAR_SPIKING | {"dt": dt}
    arrivals = [(step, weight / 10) for step, weight in ARRIVALS]
    parameters = nest_parameters(constants) | start | {"I_e": I_e, "consistent_integration": consistent}
    wanted, spikes = in_nest("izhikevich", parameters, dt, arrivals)

    def step(state: Any, weights: Any) -> Any:
        arrived = weights[0] - weights[1]
        I_syn, jump = (I_e, arrived) if method == "euler" else (I_e + arrived, 0.0)
        V, U, spike = izhikevich_step(*state, jnp.asarray(I_syn), jump=jump, method=method, **constants)
        return (V, U), (V, spike)

    with jax.enable_x64(True):
        state = tuple(map(jnp.asarray, start.values()))
        V, found = jax.jit(lambda: jax.lax.scan(step, state, arriving(arrivals)))()[1]
    # In 3000 steps of the published form, differences of rounding grow until spikes move.
    found, spikes = np.flatnonzero(found[:500]), spikes[spikes < 500]
    assert len(spikes) > 5
    np.testing.assert_array_equal(found, spikes)
    np.testing.assert_allclose(V[:500], wanted[:500], atol=1e-5)


# Pairs of neurons, nS: one fires by itself, and the others follow through their junctions.
JUNCTIONS = [(0, 1, 20.0), (1, 2, 10.0), (0, 3, 30.0)]
CURRENTS = np.array([400.0, 0.0, -50.0, 0.0])


def coupled(constants: dict[str, Any], steps: int, start: dict[str, float]) -> tuple[np.ndarray, Any]:
    """V after each step of neurons with gap junctions, (steps, neurons), and the steps and ids of spikes."""
    n = len(CURRENTS)
    i, j, weight = (np.array(x) for x in zip(*JUNCTIONS, strict=True))
    ends = np.concatenate([i, j]), np.concatenate([j, i])
    A = CSR.from_coo(*ends, np.concatenate([weight, weight]), shape=(n, n))

    def step(state: Any, _: None) -> Any:
        current = CURRENTS + csr_gap_current(A.data, A.indices, A.indptr, state[0], shape=(n, n))
        *state, spikes = hh_cond_exp_step(*state, I_e=current, **constants)
        return tuple(state), (state[0], spikes)

    state = tuple(jnp.full(n, x) for x in start.values())
    V, spikes = jax.jit(lambda: jax.lax.scan(step, state, length=steps))()[1]
    return np.asarray(V), np.argwhere(spikes)


def test_gap_currents_are_those_of_gap_junction() -> None:
    gates = {"Act_m": 0.03, "Inact_h": 0.9, "Act_n": 0.1}
    start = {"V_m": -60.0, "refractory": 0.0, "g_ex": 0.0, "g_in": 0.0, **gates}
    names = ("E_L", "g_L", "C_m", "E_Na", "g_Na", "E_K", "g_K", "V_T", "t_ref")
    parameters = {name: COBAHH[name] for name in names} | {"V_m": -60.0} | gates
    request = {"model": "hh_cond_beta_gap_traub", "parameters": parameters, "I_e": CURRENTS.tolist()}
    request |= {"junctions": JUNCTIONS, "steps": 1000, "dt": COBAHH["dt"]}
    found = ask_nest("gap", request)
    wanted, spikes = np.array(found["V_m"]).T, np.array(found["spikes"])
    with jax.enable_x64(True):
        V, own = coupled(COBAHH, 1000, start)
        fine, _ = coupled(COBAHH | {"dt": 0.05}, 2000, start)
    # NEST iterates over the potentials within a step; with those before it the error is of first order.
    before = slice(15)
    errors = [np.abs(x[before] - wanted[before]).max(axis=0) for x in (V, fine[1::2])]
    np.testing.assert_array_less(errors[0], 0.04)
    np.testing.assert_array_less(errors[1], 0.55 * errors[0])
    assert len(spikes) > 10 and set(spikes[:, 1]) == {0, 1, 3}
    np.testing.assert_array_equal(own[:3], spikes[:3])
    np.testing.assert_array_equal(own[:, 1], spikes[:, 1])
    np.testing.assert_allclose(own[:, 0], spikes[:, 0], atol=20)
