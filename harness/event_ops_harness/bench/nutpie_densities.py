"""The same log-densities as models of PyMC, compiled with their gradients by nutpie."""

import ctypes
from collections.abc import Callable

import numba
import numpy as np
import nutpie
import pymc as pm

from event_ops_harness.bench.log_densities import LOG_DENSITIES, SPREAD


def _eight_schools(effects: np.ndarray, errors: np.ndarray) -> None:
    mu = pm.Normal("mu", 0, SPREAD)
    tau = pm.HalfCauchy("tau", SPREAD)
    eta = pm.Normal("eta", 0, 1, shape=effects.size)
    pm.Normal("effects", mu + tau * eta, errors, observed=effects)


def _logistic(rows: np.ndarray, outcomes: np.ndarray) -> None:
    x = pm.Normal("x", 0, 1, shape=rows.shape[1])
    pm.Bernoulli("outcomes", logit_p=pm.math.dot(rows, x), observed=outcomes)


_MODELS = dict(zip(LOG_DENSITIES, (_eight_schools, _logistic), strict=True))


def climbing(name: str) -> Callable[[int], np.ndarray]:
    """Return a function that climbs along the gradient for `steps` steps, in Numba, and returns its place.

    Raises:
        RuntimeError: the compiled function refuses a point, such as one whose value is not finite.
    """
    density = LOG_DENSITIES[name]
    with pm.Model() as model:
        _MODELS[name](*density.data)
    compiled = nutpie.compile_pymc_model(model)
    # nutpie's function: the size, x, its gradient, the value, data of the model; it returns 0, or an error.
    pointer = ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[pointer] * 4)
    function = signature(compiled.compiled_logp_func.address)
    size, rate, data = compiled.n_dim, density.rate, compiled.user_data

    @numba.njit
    def climb(x, gradient, value, user_data, steps):
        total = 0.0
        for _ in range(steps):
            if function(size, x.ctypes, gradient.ctypes, value.ctypes, user_data.ctypes) != 0:
                return np.nan
            total += value[0]
            x += rate * gradient
        return total

    def run(steps: int) -> np.ndarray:
        x, gradient, value = density.start.copy(), np.empty(size), np.empty(1)
        if np.isnan(climb(x, gradient, value, data.reshape(1).view(np.uint8), steps)):
            raise RuntimeError(f"nutpie's function of {name} refused a point")
        return x

    return run
