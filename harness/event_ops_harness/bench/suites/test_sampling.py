"""Time a log-density written in Numba, with its gradient, where a sampler calls it.

Two models, in float64: eight schools, 10 parameters, where a call costs more than its arithmetic; logistic
regression, 1000 rows and 10 columns. "gradient": value and gradient, in a loop that climbs, by `fori_loop`;
nutpie's is what it compiles of a model of PyMC, called by address in a loop in Numba.
"NUTS, 100 draws": BlackJAX, a chain from one point, with one step size and no adaptation. "numba_kernel" and
"pure_callback" call the same kernel; "JAX" differentiates a formula. All find the same draws.

Not measured: compilation, warm-up, several chains, nutpie's own sampler, which is another one.

`extra_info`: the gradients in 100 draws.
"""

import functools
import importlib
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops_harness.bench.log_densities import (
    LOG_DENSITIES,
    differentiable,
    in_jax,
    through_callback,
    through_kernel,
)
from event_ops_harness.bench.timing import Steps

blackjax = pytest.importorskip("blackjax", reason="blackjax is not installed")

WAYS = {"numba_kernel": through_kernel, "pure_callback": through_callback, "JAX": in_jax}
OURS = "numba_kernel"
NUTPIE = "nutpie"
DRAWS = 100
HAS_NUTPIE = all(map(find_spec, (NUTPIE, "pymc")))
needs_nutpie = pytest.mark.skipif(not HAS_NUTPIE, reason="nutpie or PyMC is not installed")
WITH_NUTPIE = [*WAYS, pytest.param(NUTPIE, marks=needs_nutpie)]


@pytest.fixture(autouse=True, scope="module")
def _in_float64():
    jax.config.update("jax_enable_x64", True)  # callbacks run in threads, which a context does not reach
    yield
    jax.config.update("jax_enable_x64", False)


@functools.lru_cache(maxsize=1)
def climbing(name):
    """Return member -> Steps along the gradient."""
    density = LOG_DENSITIES[name]
    members = {way: Steps(ascent(density, make(density))) for way, make in WAYS.items()}
    if HAS_NUTPIE:
        rival = importlib.import_module("event_ops_harness.bench.nutpie_densities")
        members[NUTPIE] = Steps(rival.climbing(name))
    return members


def ascent(density, value_and_gradient):
    def step(_, carry):
        x, total = carry
        value, gradient = value_and_gradient(x)
        return x + density.rate * gradient, total + value  # the value is needed, too

    loop = jax.jit(lambda x, steps: jax.lax.fori_loop(0, steps, step, (x, jnp.float64(0))))
    return lambda steps: jax.block_until_ready(loop(density.start, steps))[0]


@functools.lru_cache(maxsize=1)
def chains(name):
    """Return member -> work that draws a chain; its values are the draws."""
    density = LOG_DENSITIES[name]
    return {way: chain(density, make(density)) for way, make in WAYS.items()}


def chain(density, value_and_gradient):
    sampler = blackjax.nuts(
        differentiable(value_and_gradient), density.step_size, np.ones(density.start.size)
    )

    def draw(state, key):
        state, info = sampler.step(key, state)
        return state, (state.position, info.num_integration_steps)

    @jax.jit
    def run():
        keys = jax.random.split(jax.random.key(0), DRAWS)
        return jax.lax.scan(draw, sampler.init(density.start), keys)[1]

    return run


@pytest.mark.parametrize("member", WITH_NUTPIE)
@pytest.mark.parametrize("name", LOG_DENSITIES)
def test_gradient(in_turns, benchmark, name, member):
    benchmark.group = f"gradient, {name}"
    in_turns(climbing(name), member, rivals={*WAYS, NUTPIE} - {OURS})


@pytest.mark.parametrize("member", WAYS)
@pytest.mark.parametrize("name", LOG_DENSITIES)
def test_nuts(in_turns, benchmark, name, member):
    benchmark.group = f"NUTS, {DRAWS} draws, {name}"
    members = chains(name)
    info = {"gradients": int(members[OURS]()[1].sum())}
    in_turns(members, member, rivals=set(WAYS) - {OURS}, info=info)
