"""Rules are applied to blocks of synapses: longer rows, what lies out of range, and no copies of a matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import csr_tocsc, plasticity

SHAPE = 7, 150  # more columns than a block has synapses, and no multiple of them
RNG = np.random.default_rng(0)
W, PRE, POST = RNG.random(SHAPE, "f"), RNG.random(7) < 0.6, RNG.random(150) < 0.6
NEURONS = {"x_pre": RNG.random(7, "f"), "x_post": RNG.random(150, "f"), "is_open_post": POST[::-1]}


def long_rule(w, trace, *, own, x_pre, x_post, is_open_post, mu):
    change = x_pre * jnp.exp(-own) * w**mu
    return w + jnp.where(is_open_post, change, x_post), trace + change


def short_rule(w, trace, *, own, x_pre, x_post, is_open_post, mu):
    return w + jnp.where(is_open_post, own * x_pre, mu), trace + x_post


@pytest.mark.slow_cases("pre")
@pytest.mark.parametrize("rule", [pytest.param(long_rule, marks=pytest.mark.slow), short_rule])
@pytest.mark.parametrize("side", ["pre", "post"])
def test_every_storage_is_the_reference(rule, side):
    indices = np.tile(np.arange(150, dtype=np.int32), 7)
    indices[::11] = 1000  # not a column
    indptr = np.arange(0, W.size + 1, 150, dtype=np.int32)
    spikes = {"pre": PRE, "post": POST}[side]
    rows = (indices, indptr) if side == "pre" else csr_tocsc(indices, indptr, shape=SHAPE)
    apply = {"pre": plasticity.on_pre, "post": plasticity.on_post}[side]
    own, mu = RNG.random(SHAPE, "f"), 0.4
    for structure, form, shape in (((), lambda x: x, None), (rows, np.ravel, SHAPE)):
        synapses, named = (form(W), form(W)), {"own": form(own), "mu": mu, **NEURONS, "shape": shape}
        given = (synapses, *structure) if structure else (synapses,)
        named |= {f"spikes_{side}": spikes}
        found, expected = (apply(rule, *given, **named, backend=name) for name in ("numba_cpu", "reference"))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
            assert (np.asarray(one) != form(W)).any()


@pytest.mark.slow
def test_a_loop_over_time_steps_copies_no_dense_matrix():
    def step(_, synapses):
        synapses = plasticity.on_pre(long_rule, synapses, spikes_pre=PRE, own=W, mu=0.4, **NEURONS)
        return plasticity.on_post(long_rule, synapses, spikes_post=POST, own=W, mu=0.4, **NEURONS)

    loop = jax.jit(lambda *synapses: jax.lax.fori_loop(0, 9, step, synapses))
    computations = loop.lower(W, W).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 2]
    assert " copy(" not in body and "f32[1050]" not in body
