"""Loops of a known number of turns in functions of scalars: they stay loops, and compute what JAX does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import neuron_step, plasticity
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.operations import Loop
from event_ops.codegen.program import MOST_WRITTEN_OUT
from event_ops.codegen.refusals import Subject
from event_ops.neurons.step import kernel

pytest.importorskip("numba", reason="numba is not installed")
TABLE = np.sin(np.arange(40.0, dtype=np.float32))


def substeps(V, w, *, rate, tau):
    """Take 30 steps; a flag and a number are carried, too, and what no turn changes."""

    def step(_, state):
        V, w, high, same = state
        V = V + rate * (jnp.where(high, -V, w) + jnp.exp(-V * V)) / same
        return V, w * 0.97, high ^ (w < V), same

    V, w, high, _ = jax.lax.fori_loop(0, 30, step, (V, w, w < V, tau))
    return jnp.where(high, V, -V), w


def nested(V, w, *, rate, tau):
    """Loop in a loop, whose turn counts, and read what is made before, between and behind."""
    begin = jnp.tanh(V * V + w * w)

    def inner(j, x):
        return x + rate * jnp.exp(-x * begin) / (j + 1)

    def outer(i, state):
        x, y = state
        moved = jax.lax.fori_loop(0, 7, inner, x)
        return moved * 0.9 + i * 0.01, y + jnp.tanh(moved - x) / tau

    x, y = jax.lax.fori_loop(0, 11, outer, (V, w))
    return x + begin, y - x


def exchanged(V, w, *, rate, tau):
    """Exchange two values in each turn, an odd number of times."""
    V, w, _ = jax.lax.fori_loop(0, 41, lambda i, s: (s[1], s[0], s[2] + rate), (V, w, tau))
    return V, w


def with_table(V, w, *, rate, tau):
    """Read a number of a table in each turn, in both directions."""
    V, _ = jax.lax.scan(lambda x, number: (x * rate + jnp.exp(-x) * number, None), V, TABLE)
    w, _ = jax.lax.scan(lambda x, number: (x * rate - number / tau, None), w, TABLE, reverse=True)
    return V, w


def twice(V, w, *, rate, tau):
    """Take the same loop of two values, one behind the other."""

    def turns(x):
        return jax.lax.fori_loop(0, 35, lambda i, x: x + rate * (jnp.exp(-x) - x), x)

    return turns(turns(V)), turns(w) / tau


def long(V, w, *, rate, tau):
    """Take more turns than could be written out."""
    return jax.lax.fori_loop(0, 9999, lambda i, x: x + rate * (w - x), V), w * tau


LOOPS = {f.__name__: f for f in (substeps, nested, exchanged, with_table, twice, long)}
VARIABLES = {"rate": np.float32(0.05), "tau": np.float32(3)}


def loops_of(function):
    subject = Subject("term", "element", "state", "elements", "operator")
    traced = Traced.of(function, ["float32"] * 4, ("rate", "tau"), ["each", "each", ALL, ALL], subject)
    return [x for x in traced.program.operations if isinstance(x, Loop)]


def states(size):
    rng = np.random.default_rng(size)
    return [rng.uniform(-1, 1, size).astype(np.float32) for _ in range(2)]


@pytest.mark.parametrize("name", LOOPS)
def test_loops_stay_loops_and_equal_ones_are_one(name):
    assert len(loops_of(LOOPS[name])) == {"with_table": 2, "twice": 3}.get(name, 1)
    assert loops_of(lambda V, w, *, rate, tau: (twice(V, V, rate=rate, tau=tau)[0], V + w))[0].turns == 35


@pytest.mark.parametrize("backend", ["numba_cpu", "warp"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_step_with_loops_is_that_of_jax(name, backend):
    step = neuron_step(LOOPS[name], threshold=lambda V, w: V - w)
    if backend not in kernel.available_backends("cpu"):
        pytest.skip(f"{backend} is not installed")
    for size in (1, 7, 512, 1030):
        for tau in (VARIABLES["tau"], 2 + states(size)[0]):
            given = VARIABLES | {"tau": tau}
            expected = step(*states(size), **given, backend="reference")
            found = step(*states(size), **given, backend=backend)
            for x, y in zip(found[:2], expected[:2], strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_a_short_loop_is_written_out():
    short = MOST_WRITTEN_OUT // 2
    assert not loops_of(lambda V, w, *, rate, tau: (jax.lax.fori_loop(0, short, lambda i, x: x * rate, V), w))


def test_noise_is_drawn_for_a_step_with_loops():
    def noisy(V, w, *, xi, rate, tau):
        return substeps(V + xi, w, rate=rate, tau=tau)

    step = neuron_step(noisy, threshold=lambda V, w: V - w, noise={"xi": "normal"})
    options = {**VARIABLES, "seed": 3, "step": 5, "first": 2}
    found, expected = (step(*states(1030), **options, backend=x) for x in ("numba_cpu", "reference"))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)


def test_derivatives_pass_through_a_loop():
    step = neuron_step(substeps, threshold=lambda V, w: V - w)

    def total(V, backend):
        return step(V, states(9)[1], **VARIABLES, backend=backend)[0].sum()

    found, expected = (jax.grad(total)(states(9)[0], x) for x in ("numba_cpu", "reference"))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("has_exp", [True, False])
def test_a_rule_has_loops(has_exp):
    def rule(w, *, x_post):
        return jax.lax.fori_loop(0, 50, lambda i, w: w + (jnp.exp(-w) if has_exp else w * w) * x_post, w)

    W, x = np.full((3, 4), 0.25, np.float32), np.linspace(0, 0.02, 4, dtype=np.float32)
    spikes = np.array([True, False, True])
    found, expected = (
        plasticity.on_pre(rule, W, spikes_pre=spikes, x_post=x, backend=b) for b in ("numba_cpu", "reference")
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)
