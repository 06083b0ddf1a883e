"""Random numbers that operators add and models draw: their distribution, and what they depend on."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from implemented import backends

from event_ops import neuron_step, normal_input, poisson_input, uniform_input
from event_ops.kernels.oracle.noise import normal
from event_ops.kernels.oracle.noise import normal_input as normal_oracle
from event_ops.kernels.reference.noise import PIECE_BITS, normal_table, normals
from event_ops.neurons.step import kernel

MANY = 1 << 20
DISTRIBUTIONS = {normal_input: scipy.stats.norm, uniform_input: scipy.stats.uniform}
OPERATORS = pytest.mark.parametrize("operator", DISTRIBUTIONS, ids=lambda x: x.__name__)


def draw(operator, n, seed=7, step=0, dtype=np.float32, **options):
    return np.asarray(operator(jnp.zeros(n, dtype), 1, seed, step, **options))


@OPERATORS
def test_a_million_numbers_have_the_distribution(operator):
    numbers, wanted = draw(operator, MANY).astype(float), DISTRIBUTIONS[operator]
    assert scipy.stats.kstest(numbers, wanted.cdf).pvalue > 1e-3
    bins = wanted.ppf(np.linspace(0, 1, 1025))
    assert scipy.stats.chisquare(np.histogram(numbers, bins)[0]).pvalue > 1e-3
    for power in range(1, 5):
        spread = math.sqrt((wanted.moment(2 * power) - wanted.moment(power) ** 2) / MANY)
        assert abs((numbers**power).mean() - wanted.moment(power)) < 4 * spread


def test_the_table_is_the_inverse_of_the_distribution_with_its_moments():
    table = normal_table()
    begins, falls = table[:-1] >> 12, table[:-1] & 4095
    tails = np.arange(1 << PIECE_BITS, 2 << PIECE_BITS) * 2.0 ** (np.arange(31)[:, None] - 32 - PIECE_BITS)
    quantiles = -scipy.stats.norm.ppf(tails.ravel()) * 2**16
    np.testing.assert_array_equal(begins, np.round(quantiles))
    # So far from a tie that no platform's logarithm can round it the other way.
    assert abs(abs(quantiles - np.floor(quantiles)) - 0.5).min() > 1e-5
    places = (begins[:, None] * 4096.0 - falls[:, None] * np.arange(4096.0)) / 2**28
    of_each = np.repeat(2.0 ** (np.arange(31) - 31), 128) / 128
    assert of_each @ (places**2).mean(axis=1) == pytest.approx(1, abs=3e-6)
    assert of_each @ (places**4).mean(axis=1) == pytest.approx(3, abs=1e-5)


def test_every_kind_of_word_has_its_quantile():
    low = np.unique([*(2**k + d for k in range(31) for d in (-1, 0, 1, 2**k // 3)), 2**31 - 1, 2**31 - 64])
    words = np.concatenate([low, low + 2**31]).astype(np.uint32)
    found = np.asarray(normals(jnp.asarray(words), jnp.asarray(normal_table())))
    np.testing.assert_array_equal(found, list(map(normal, words.tolist())))
    tail = scipy.stats.norm.isf((words % 2**31 | 1) / 2**32)
    np.testing.assert_allclose(abs(found), tail, atol=2e-5)
    assert (np.signbit(found) == (words >= 2**31)).all()
    assert abs(found).max() > 6.2


@backends("normal_input")
@OPERATORS
def test_bits_are_the_same_on_every_backend_and_in_both_dtypes(operator, backend):
    expected = draw(operator, 1061, first=3, stream=2, backend="reference")
    found = draw(operator, 1061, first=3, stream=2, backend=backend)
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))
    with jax.enable_x64(True):
        np.testing.assert_array_equal(
            draw(operator, 1061, dtype=float, backend=backend), draw(operator, 1061)
        )


@OPERATORS
def test_neurons_steps_seeds_streams_and_operators_are_independent(operator):
    """The reference draws them: all backends have its bits, and compile a kernel for each stream."""
    n = 1 << 16
    drawn = partial(draw, operator, n, backend="reference")
    whole = drawn()
    others = [drawn(seed=8), drawn(step=1), drawn(step=-1)]
    others += [drawn(stream=stream) for stream in (1, 2, 3)]
    others += [drawn(first=x) for x in (1, 63, 64, 128)]
    others += [draw(next(x for x in DISTRIBUTIONS if x is not operator), n, backend="reference")]
    counts = poisson_input(np.float32(1), 7, 0, mean=np.full(n, 2.0), backend="reference")
    others += [np.asarray(counts)]
    for other in others:
        for power in (1, 2):  # and their squares
            pair = abs(whole - whole.mean()) ** power, abs(other - other.mean()) ** power
            assert abs(np.corrcoef(*pair)[0, 1]) < 4.5 / math.sqrt(n)


@OPERATORS
def test_steps_of_a_neuron_are_not_correlated_and_sums_spread_like_sums(operator):
    steps = jnp.arange(512)
    numbers = jax.jit(jax.vmap(lambda t: operator(jnp.zeros(1024), 1.0, 3, t)))(steps)
    numbers, wanted = np.asarray(numbers), DISTRIBUTIONS[operator]
    centred = (numbers - wanted.mean()) / wanted.std()
    for lag in (1, 2, 3, 4, 128):
        assert abs((centred[lag:] * centred[:-lag]).mean()) < 4.5 / math.sqrt(centred[lag:].size)
    assert centred.sum(axis=0).var() == pytest.approx(512, rel=4.5 * math.sqrt(2 / 1024))
    assert centred.sum(axis=1).var() == pytest.approx(1024, rel=4.5 * math.sqrt(2 / 512))


@backends("normal_input")
@OPERATORS
def test_a_block_draws_what_the_whole_draws(operator, backend):
    whole = draw(operator, 2400)
    some = jax.jit(lambda first: operator(jnp.zeros(1200), 1.0, 7, 0, first=first, backend=backend))
    for first in (0, 3, 63, 64, 128, 1021):
        np.testing.assert_array_equal(some(np.int32(first)), whole[first : first + 1200])
    last = draw(operator, 5, first=2**31 - 5, backend=backend)
    np.testing.assert_array_equal(last, draw(operator, 133, first=2**31 - 133, backend="reference")[-5:])


@OPERATORS
def test_scan_and_vmap_are_single_calls(operator):
    steps = jnp.arange(4)
    one_by_one = np.array([draw(operator, 70, step=t) for t in range(4)])
    scanned = jax.lax.scan(lambda x, t: (x, operator(x, 1.0, 7, t)), jnp.zeros(70), steps)[1]
    np.testing.assert_array_equal(scanned, one_by_one)
    np.testing.assert_array_equal(jax.vmap(lambda t: operator(jnp.zeros(70), 1.0, 7, t))(steps), one_by_one)
    of_pairs = jax.vmap(lambda x, seed: operator(x, 1.0, seed, 2))(jnp.zeros((3, 70)), jnp.arange(3))
    np.testing.assert_array_equal(of_pairs, [draw(operator, 70, seed=s, step=2) for s in range(3)])
    # A batch with one seed has one noise, as a batch of keys that are one has in JAX.
    shared = jax.vmap(lambda x: operator(x, 1.0, 7, 2))(jnp.zeros((3, 70)))
    np.testing.assert_array_equal(shared, [draw(operator, 70, step=2)] * 3)


def test_derivatives_are_the_numbers():
    z, u = draw(normal_input, 70), draw(uniform_input, 70)
    ones, zeros = np.ones(70, "f"), np.zeros(70, "f")

    @jax.jit
    def derivatives(*pair):
        normal, uniform = (partial(operator, seed=7, step=0) for operator in (normal_input, uniform_input))
        of_one = jax.grad(lambda std: normal(pair[0], std).sum())(2.0)
        pulled = [jax.vjp(f, *pair)[1](ones) for f in (normal, uniform)]
        return pulled, jax.jvp(normal, pair, (zeros, ones))[1], of_one

    (of_normal, of_uniform), tangent, of_one = derivatives(ones, 2 * ones)
    np.testing.assert_array_equal(of_normal, [ones, z])
    np.testing.assert_allclose(of_uniform, [1 - u, u], rtol=1e-6)
    np.testing.assert_array_equal(tangent, z)
    np.testing.assert_allclose(of_one, z.sum(), rtol=1e-5)


@pytest.mark.parametrize("std", [-1.0, np.float32([1, -2, 1]), jnp.full(3, -1.0)])
def test_a_negative_std_is_refused_and_nan_shows(std):
    with pytest.raises(ValueError, match=r"std is or contains -\d\.0; expected standard deviations, >= 0"):
        normal_input(jnp.zeros(3), std, 7, 0)
    found = normal_input(jnp.zeros(3), np.float32([0, np.nan, 0]), 7, 0)
    assert np.isnan(found).tolist() == [False, True, False]


def test_a_step_beyond_32_bits_is_taken_modulo_their_number():
    np.testing.assert_array_equal(draw(normal_input, 70, step=2**32 + 3), draw(normal_input, 70, step=3))
    np.testing.assert_array_equal(draw(normal_input, 70, step=-1), draw(normal_input, 70, step=2**32 - 1))
    np.testing.assert_allclose(
        draw(normal_input, 70, step=2**32 + 3), normal_oracle(np.zeros(70), np.ones(70), 7, 3), rtol=1e-7
    )


# Models that draw


def escape(V_m, x, *, xi, eta, I_syn, dt):
    return V_m + dt * (I_syn - V_m) + 0.3 * xi, x + eta


NOISY = neuron_step(
    escape,
    threshold=lambda V_m, x, *, kappa: V_m - 1 + 0 * kappa,
    reset=lambda V_m, x, *, kappa: (0 * V_m, x - kappa),
    noise={"xi": "normal", "eta": "uniform", "kappa": "normal"},
)
GIVEN = neuron_step(
    escape,
    threshold=lambda V_m, x, *, kappa: V_m - 1 + 0 * kappa,
    reset=lambda V_m, x, *, kappa: (0 * V_m, x - kappa),
)


def given_numbers(n, seed, step, first=0, dtype=np.float32):
    options = {"seed": seed, "step": step, "first": first, "dtype": dtype}
    return {
        "xi": draw(normal_input, n, **options),
        "eta": draw(uniform_input, n, **options, stream=1),
        "kappa": draw(normal_input, n, **options, stream=2),
    }


@pytest.mark.parametrize("backend", kernel.available_backends("cpu"))
@pytest.mark.parametrize(("n", "first"), [(1, 0), (133, 0), (1500, 5)])
def test_a_model_draws_what_operators_draw(backend, n, first):
    states = jnp.linspace(0, 1.2, n), jnp.zeros(n)
    found = NOISY(*states, I_syn=1.0, dt=0.1, seed=7, step=3, first=first, backend=backend)
    expected = GIVEN(*states, I_syn=1.0, dt=0.1, **given_numbers(n, 7, 3, first), backend=backend)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


WALK = neuron_step(lambda V_m, *, xi: V_m + xi, threshold=lambda V_m: V_m - 1, noise={"xi": "normal"})


def test_a_model_draws_in_float64_with_a_list_and_in_parallel():
    with jax.enable_x64(True):
        n = 70_000
        V_m, spikes, ids, number = WALK(jnp.zeros(n), seed=7, step=3, capacity=n)
        z = draw(normal_input, n, step=3)
        np.testing.assert_array_equal(V_m, z)
        np.testing.assert_array_equal(spikes, z > 1)
        np.testing.assert_array_equal(ids[: int(number)], np.flatnonzero(z > 1))


def test_a_grid_draws_in_its_flat_order():
    V_m, _ = WALK(jnp.zeros((19, 7)), seed=7, step=3)
    np.testing.assert_array_equal(V_m.ravel(), draw(normal_input, 133, step=3))


def test_scan_vmap_and_derivatives_of_a_model_that_draws():
    start = jnp.zeros(70), jnp.zeros(70)

    def last(current, step, **of_step):
        def body(states, t):
            numbers = of_step["numbers"](t) if of_step else {"seed": 7, "step": t}
            return step(*states, I_syn=current, dt=0.1, **numbers)[:2], None

        return jax.lax.scan(body, start, jnp.arange(20))[0][0].sum()

    all_numbers = [given_numbers(70, 7, t) for t in range(20)]
    stacked = {name: jnp.stack([x[name] for x in all_numbers]) for name in all_numbers[0]}
    by_given = jax.value_and_grad(
        lambda x: last(x, GIVEN, numbers=lambda t: {k: v[t] for k, v in stacked.items()})
    )
    np.testing.assert_allclose(jax.value_and_grad(lambda x: last(x, NOISY))(0.5), by_given(0.5), rtol=1e-5)
    seeds = jnp.arange(3)
    batch = jax.vmap(lambda seed: NOISY(*start, I_syn=1.0, dt=0.1, seed=seed, step=2)[0])(seeds)
    each = [NOISY(*start, I_syn=1.0, dt=0.1, seed=s, step=2)[0] for s in range(3)]
    np.testing.assert_array_equal(batch, each)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ({"zeta": "normal"}, "noise has 'zeta', which no function takes; expected one of xi"),
        ({"xi": "gauss"}, r"noise is {'xi': 'gauss'}; expected a dict of at most 4 .*'normal' or 'uniform'"),
        ("xi", "noise is 'xi'; expected a dict"),
        ({"V_m": "normal"}, "noise has 'V_m', which no function takes"),
    ],
)
def test_noise_that_no_function_takes_or_nobody_draws_is_refused(noise, message):
    with pytest.raises(ValueError, match=message):
        neuron_step(lambda V_m, *, xi: V_m + xi, threshold=lambda V_m: V_m, noise=noise)


def test_what_noise_needs_is_named():
    step = neuron_step(lambda V_m, *, xi: V_m + xi, threshold=lambda V_m: V_m, noise={"xi": "normal"})
    with pytest.raises(TypeError, match="is given no seed, step; expected by name: seed, step, first"):
        step(jnp.zeros(3))
    with pytest.raises(TypeError, match="is given the unknown xi; expected by name: seed, step, first"):
        step(jnp.zeros(3), xi=1.0, seed=1, step=1)
    with pytest.raises(ValueError, match="first is -1, for 3 neurons"):
        step(jnp.zeros(3), seed=1, step=1, first=-1)
    with pytest.raises(ValueError, match="has a variable 'step', which is the name of something else"):
        neuron_step(lambda V_m, *, xi, step: V_m, threshold=lambda V_m: V_m, noise={"xi": "normal"})
    with pytest.raises(ValueError, match="noise has 'dt', which says how long states are held"):
        neuron_step(lambda V_m, *, dt: V_m + dt, threshold=lambda V_m: V_m, held=(), noise={"dt": "normal"})
    # Without noise they are names like any other.
    plain = neuron_step(lambda V_m, *, step: V_m + step, threshold=lambda V_m: V_m)
    assert plain(jnp.zeros(3), step=1.0)[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("backend", ["numba_cuda", pytest.param("warp", marks=pytest.mark.slow)])
def test_bits_are_the_same_on_a_gpu(request, backend):
    pytest.importorskip({"warp": "warp"}.get(backend, backend), reason="not installed")
    request.getfixturevalue("on_gpu" if backend == "numba_cuda" else "warp_on_gpu")
    z = normal_input(jnp.zeros(300), 1.0, 7, 3, first=5, stream=1, backend=backend)
    np.testing.assert_array_equal(z, normal_oracle(np.zeros(300), np.ones(300), 7, 3, first=5, stream=1))
    states, how = (jnp.linspace(0, 1.2, 300), jnp.zeros(300)), {"seed": 7, "step": 3, "first": 5}
    found, expected = (NOISY(*states, I_syn=1.0, dt=0.1, **how, backend=x) for x in (backend, "reference"))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
