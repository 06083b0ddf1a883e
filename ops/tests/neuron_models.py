"""Neurons whose equations no formula solves: a step of the catalog, and the slopes that it integrates."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import pytest

from event_ops import adex_step, hh_cond_exp_step, izhikevich_step, lif_cond_alpha_step, lif_cond_exp_step
from event_ops.catalog.adex_step.cases import ADAPTIVE
from event_ops.catalog.hh_cond_exp_step.cases import COBAHH
from event_ops.catalog.izhikevich_step.cases import REGULAR_SPIKING
from event_ops.catalog.lif_cond_exp_step.cases import COBA
from event_ops.discover import operators

_KERNELS = {operator.name: operator.kernel for operator in operators()}


class Model(NamedTuple):
    """step(*state, **constants), V_m first; slope(t, y, **constants), where y is all of it but refractory.

    threshold: the name of what V passes in a spike. silent: changes of the constants with which none occurs.
    """

    operator: str
    step: Callable[..., Any]
    slope: Callable[..., list[Any]]
    start: dict[str, float]
    constants: dict[str, Any]
    order: int
    threshold: str = "V_th"
    silent: dict[str, Any] = {"V_th": 1e9}  # noqa: RUF012

    def moving(self) -> list[float]:
        """Return the part of the state that has a slope."""
        return [value for name, value in self.start.items() if name != "refractory"]


def synapses(V, g_ex, g_in, *, E_ex, E_in, tau_syn_ex, tau_syn_in, **_):
    """The current of both conductances, and their slopes."""
    return g_ex * (E_ex - V) + g_in * (E_in - V), -g_ex / tau_syn_ex, -g_in / tau_syn_in


def lif_cond_exp(t, y, *, E_L, g_L, C_m, I_e, **constants):
    V, *g = y
    current, *slopes = synapses(V, *g, **constants)
    return [(g_L * (E_L - V) + current + I_e) / C_m, *slopes]


def lif_cond_alpha(t, y, *, E_L, g_L, C_m, I_e, tau_syn_ex, tau_syn_in, **constants):
    V, g_ex, g_in, dg_ex, dg_in = y
    taus = {"tau_syn_ex": tau_syn_ex, "tau_syn_in": tau_syn_in}
    current, fall_ex, fall_in = synapses(V, g_ex, g_in, **taus, **constants)
    slopes = dg_ex + fall_ex, dg_in + fall_in, -dg_ex / tau_syn_ex, -dg_in / tau_syn_in
    return [(g_L * (E_L - V) + current + I_e) / C_m, *slopes]


def hh_cond_exp(t, y, *, E_L, g_L, C_m, E_Na, g_Na, E_K, g_K, V_T, I_e, **constants):
    V, g_ex, g_in, m, h, n = y
    current, *slopes = synapses(V, g_ex, g_in, **constants)
    current += g_Na * m**3 * h * (E_Na - V) + g_K * n**4 * (E_K - V) + g_L * (E_L - V) + I_e
    v = V - V_T
    dm = 0.32 * (13 - v) / math.expm1((13 - v) / 4) * (1 - m) - 0.28 * (v - 40) / math.expm1((v - 40) / 5) * m
    dh = 0.128 * math.exp((17 - v) / 18) * (1 - h) - 4 / (1 + math.exp((40 - v) / 5)) * h
    dn = 0.032 * (15 - v) / math.expm1((15 - v) / 5) * (1 - n) - 0.5 * math.exp((10 - v) / 40) * n
    return [current / C_m, *slopes, dm, dh, dn]


def izhikevich(t, y, *, a, b, I_syn, **_):
    V, U = y
    return [0.04 * V * V + 5 * V + 140 - U + I_syn, a * (b * V - U)]


def izhikevich_model(method):
    def step(V_m, U_m, *, I_syn, **constants):
        return izhikevich_step(V_m, U_m, jnp.asarray(I_syn, V_m.dtype), method=method, **constants)

    start = {"V_m": -60.0, "U_m": -11.0}
    return Model(
        "izhikevich_step", step, izhikevich, start, REGULAR_SPIKING | {"I_syn": 2.0, "V_th": 30.0}, 1
    )


def adex(t, y, *, E_L, g_L, C_m, Delta_T, V_th, V_peak, a, tau_w, I_e, **constants):
    V, *g, w = y
    V = min(V, V_peak)
    current, *slopes = synapses(V, *g, **constants)
    current += g_L * (E_L - V) + g_L * Delta_T * math.exp((V - V_th) / Delta_T)
    return [(current - w + I_e) / C_m, *slopes, (a * (V - E_L) - w) / tau_w]


MODELS = {
    "adex": Model(
        "adex_step",
        adex_step,
        adex,
        {"V_m": -65.0, "refractory": 0.0, "g_ex": 20.0, "g_in": 10.0, "w": 20.0},
        ADAPTIVE | {"I_e": 400.0, "substeps": 1},
        2,
        "V_peak",
        {},
    ),
    "izhikevich-euler": izhikevich_model("euler"),
    "izhikevich-published": izhikevich_model("published"),
    "hh_cond_exp": Model(
        "hh_cond_exp_step",
        hh_cond_exp_step,
        hh_cond_exp,
        {
            "V_m": -52.0,
            "refractory": 0.0,
            "g_ex": 5.0,
            "g_in": 9.0,
            "Act_m": 0.1,
            "Inact_h": 0.8,
            "Act_n": 0.1,
        },
        COBAHH | {"I_e": 50.0, "substeps": 64},
        2,
        "V_T",
        {},
    ),
    "lif_cond_alpha": Model(
        "lif_cond_alpha_step",
        lif_cond_alpha_step,
        lif_cond_alpha,
        {"V_m": -70.0, "refractory": 0.0, "g_ex": 10.0, "g_in": 4.0, "dg_ex": 70.0, "dg_in": 20.0},
        COBA | {"tau_syn_ex": 2.0, "I_e": 160.0},
        2,
    ),
    "lif_cond_exp": Model(
        "lif_cond_exp_step",
        lif_cond_exp_step,
        lif_cond_exp,
        {"V_m": -70.0, "refractory": 0.0, "g_ex": 60.0, "g_in": 40.0},
        COBA | {"I_e": 160.0},
        2,
    ),
}


def each_model(*names: str) -> pytest.MarkDecorator:
    """A test for each backend of each of the models, or of all."""
    cells = [
        (name, backend)
        for name in names or MODELS
        for backend in _KERNELS[MODELS[name].operator].available_backends("cpu")
    ]
    return pytest.mark.parametrize(("name", "backend"), cells)
