"""`poisson_input` of means that are data: their distribution, transforms, and means that are out of range."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from implemented import backends

import event_ops
from event_ops import poisson_input
from event_ops.kernels.reference.poisson import probabilities, rest_number, word_counts

MEANS = [0.0, 1e-6, 0.1, 1.0, 2.32, 10.0, 49.97, 100.0]
ONE = np.float32(1)


def drawn(mean, step=3, seed=7, n=70, **options):
    return poisson_input(ONE, seed, step, mean=mean, initial=jnp.zeros(n), **options)


@pytest.mark.parametrize("mean", [*MEANS, 3 * 2.0**-13])
def test_the_parts_add_up_to_the_distribution(mean):
    # Exactly, from the number of words that choose each number of each part.
    found, left = np.ones(1), float(np.float32(mean))
    for place in (1, 64, 4096):
        digit = np.floor(left * place) / place
        found, left = np.convolve(found, np.array(word_counts(probabilities(digit))) / 2**32), left - digit
    rest = np.uint32(np.round(left * 2**32))
    borders = np.array([0, (rest >> 5) ** 2 >> 23, rest - ((rest >> 5) ** 2 >> 23), 2**32 - 1], np.uint64)
    middles = ((borders[:-1] + borders[1:]) // 2).astype(np.uint32)
    of_rest = np.zeros(3)
    for number, count in zip(rest_number(rest, middles), np.diff(borders), strict=True):
        of_rest[number] += count / 2**32
    found = np.convolve(found, of_rest)
    wanted = scipy.stats.poisson.pmf(np.arange(found.size), float(np.float32(mean)))
    np.testing.assert_allclose(found, wanted, atol=8 * 2.0**-32)


@pytest.mark.slow_cases("numba_cpu")
@backends("poisson_input")
def test_numbers_have_the_distribution_asked_for(backend):
    draw = jax.jit(lambda mean, step: drawn(mean, step, n=4000, backend=backend))
    for mean in MEANS:
        found = np.stack([np.asarray(draw(jnp.float32(mean), np.int32(step))) for step in range(10)])
        seen = np.bincount(found.astype(int).ravel(), minlength=200)
        wanted = scipy.stats.poisson.pmf(np.arange(seen.size), mean) * found.size
        common = wanted > 10
        assert seen[wanted < 1e-4].sum() == 0
        if common.sum() > 1:
            expected = wanted[common] * seen[common].sum() / wanted[common].sum()
            assert scipy.stats.chisquare(seen[common], expected).pvalue > 1e-3
            # The parts are independent, and so are steps and neurons: variances add up.
            assert found.sum(axis=0).var() == pytest.approx(10 * mean, rel=0.1)
            assert abs(np.corrcoef(found[0], found[1])[0, 1]) < 4 / 4000**0.5


@pytest.mark.slow
def test_every_backend_gives_the_same_bits(on_gpu):
    mean = jnp.asarray(np.r_[np.linspace(0, 100, 90), np.geomspace(1e-7, 1, 10)], np.float32)
    for given in (mean, jnp.float32(1.3)):
        expected = np.asarray(drawn(given, n=100, backend="reference"))
        for backend in ("numba_cpu", "warp", "numba_cuda"):
            np.testing.assert_array_equal(drawn(given, n=100, backend=backend), expected)


@pytest.mark.slow
def test_precision_of_the_mean_and_the_number_of_neurons_change_nothing():
    many = np.asarray(drawn(jnp.full(20_000, 1.3), n=20_000))
    np.testing.assert_array_equal(drawn(jnp.full(70, 1.3)), many[:70])
    with jax.enable_x64(True):
        wide = poisson_input(np.float64(1), 7, 3, mean=jnp.full(70, np.float64(np.float32(1.3))))
    np.testing.assert_array_equal(wide, many[:70])
    half = jnp.full(70, 1.25, jnp.bfloat16)
    np.testing.assert_array_equal(drawn(half), drawn(jnp.full(70, 1.25)))
    np.testing.assert_array_equal(drawn(jnp.full(70, 2)), drawn(jnp.full(70, 2.0)))


@pytest.mark.slow
def test_a_known_mean_may_be_a_number():
    np.testing.assert_array_equal(drawn(1.5), drawn(np.full(70, 1.5)))
    each = poisson_input(np.ones(70, "f"), 7, 3, mean=np.float64(1.5))
    np.testing.assert_array_equal(each, drawn(1.5))
    with pytest.raises(ValueError, match=r"single numbers; .*initial=jnp\.zeros\(n\)"):
        jax.jit(lambda mean: poisson_input(ONE, 7, 3, mean=mean))(1.5)


@pytest.mark.slow
@backends("poisson_input")
def test_a_sweep_of_rates_is_one_vmap(backend):
    means = jnp.array([0.0, 0.3, 5.5])
    sweep = jax.jit(jax.vmap(lambda mean: drawn(mean, backend=backend)))(means)
    for mean, row in zip(means, sweep, strict=True):
        np.testing.assert_array_equal(row, drawn(mean, backend=backend))
    each = means[:, None] * jnp.linspace(0, 1, 70)[None]
    np.testing.assert_array_equal(jax.vmap(drawn)(each)[2], drawn(each[2]))


def test_a_modulated_input_is_a_scan():
    def step(total, t):
        mean = 1.2 + jnp.sin(0.1 * t.astype(float))
        y = poisson_input(ONE, 7, t, mean=mean, initial=total)
        return y, (y - total).mean()

    _, means = jax.jit(lambda: jax.lax.scan(step, jnp.zeros(4000), jnp.arange(126)))()
    np.testing.assert_allclose(means, 1.2 + np.sin(0.1 * np.arange(126)), atol=0.1)


@pytest.mark.slow
def test_the_derivative_with_respect_to_the_mean_is_zero():
    def total(weight, mean):
        return poisson_input(weight, 7, 3, mean=mean, initial=jnp.zeros(70)).sum()

    weight, mean = jax.grad(total, (0, 1))(ONE, jnp.full(70, 1.3))
    assert weight == drawn(jnp.full(70, 1.3)).sum() and not mean.any()


@pytest.mark.slow
@backends("poisson_input")
def test_a_traced_mean_out_of_range_gives_nan(backend):
    mean = np.array([1, -1e-9, np.nan, 100.001, np.inf, 100, -0.0, 1e-40], "f")
    y = jax.jit(lambda mean: drawn(mean, n=8, backend=backend))(mean)
    np.testing.assert_array_equal(np.isnan(y), [0, 1, 1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(y[6:], 0)


def test_a_known_mean_out_of_range_is_refused_and_a_traced_one_in_the_validate_mode():
    with pytest.raises(ValueError, match=r"mean is or contains -1\.0; expected numbers per step in"):
        drawn(jnp.float32(-1))
    with event_ops.validate():
        run = jax.jit(jax.value_and_grad(lambda mean: drawn(mean).sum()))
        assert not run(jnp.full(70, 1.3))[1].any()
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"mean\[3\] is nan, and 1 of 70 are wrong"):
            jax.block_until_ready(run(jnp.ones(70).at[3].set(jnp.nan)))
