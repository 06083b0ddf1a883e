"""The log-densities of the sampling benchmark are right: kernel, callback and formula have one gradient."""

import jax
import numpy as np
import pytest

from event_ops_harness.bench import log_densities
from event_ops_harness.bench.log_densities import LOG_DENSITIES


@pytest.fixture(autouse=True)
def _in_float64():
    jax.config.update("jax_enable_x64", True)  # callbacks run in threads, which a context does not reach
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("way", [log_densities.through_kernel, log_densities.through_callback])
@pytest.mark.parametrize("name", LOG_DENSITIES)
def test_kernels_are_what_jax_derives(name, way):
    density = LOG_DENSITIES[name]
    derived = jax.jit(log_densities.in_jax(density))
    log_density = log_densities.differentiable(way(density))
    found = jax.jit(lambda x: (log_density(x), jax.grad(log_density)(x)))
    for scale in (0.1, 1.0, 3.0):
        x = scale * np.random.default_rng(0).normal(size=density.start.size)
        for expected, got in zip(derived(x), found(x), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_the_drawn_regression_has_outcomes_of_both_kinds():
    rows, outcomes = log_densities.logistic_data(200, 3)
    assert rows.shape == (200, 3) and set(outcomes) == {0.0, 1.0}
