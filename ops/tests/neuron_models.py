"""Neurons whose equations no formula solves: a step of the catalog, and the slopes that it integrates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import pytest

from event_ops import adex_step, izhikevich_step, lif_cond_exp_step
from event_ops.catalog.adex_step.cases import ADAPTIVE
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
        """What of the state has a slope."""
        return [value for name, value in self.start.items() if name != "refractory"]


def synapses(V, g_ex, g_in, *, E_ex, E_in, tau_syn_ex, tau_syn_in, **_):
    """The current of both conductances, and their slopes."""
    return g_ex * (E_ex - V) + g_in * (E_in - V), -g_ex / tau_syn_ex, -g_in / tau_syn_in


def lif_cond_exp(t, y, *, E_L, g_L, C_m, I_e, **constants):
    V, *g = y
    current, *slopes = synapses(V, *g, **constants)
    return [(g_L * (E_L - V) + current + I_e) / C_m, *slopes]


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
