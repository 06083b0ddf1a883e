"""`poisson_input`: the distribution of its numbers, and what they depend on."""

import math

import jax
import numpy as np
import pytest
import scipy.stats
from implemented import backends

from event_ops import csr_rewire, poisson_input
from event_ops.kernels.reference.poisson import LIMIT_SHIFT, OPEN, poisson_table, probabilities, word_counts


@pytest.mark.parametrize("mean", [0.0, 1e-9, 0.5, 2.32, 100.0])
def test_words_are_shared_out_by_the_distribution(mean):
    counts = word_counts(probabilities(mean))
    assert sum(counts) == 2**32 and min(counts) >= 0
    wanted = scipy.stats.poisson.pmf(np.arange(256), mean)
    np.testing.assert_allclose(np.array(counts) / 2**32, wanted, atol=1.01 * 2**-32, rtol=1e-12)
    # No word chooses a number that is as good as impossible.
    assert counts[OPEN] == 0


@pytest.mark.parametrize("mean", [0.0, 1e-9, 0.01, 0.5, 1.0, 2.32, 20.0, 99.7, 100.0])
def test_bytes_and_words_are_shared_out_by_the_distribution(mean):
    entries, slots = np.split(poisson_table(mean), [256])
    numbers, limits = entries & 255, entries >> LIMIT_SHIFT
    assert (np.diff(numbers) >= 0).all()
    np.testing.assert_array_equal(limits, np.searchsorted(numbers[numbers < OPEN], np.arange(256), "right"))
    # All that words choose, counted: a slot's own number below the cut, its alias from there on.
    cuts, of_words = slots >> 8, np.zeros(256)
    np.add.at(of_words, np.arange(256), cuts)
    np.add.at(of_words, slots & 255, 2**24 - cuts)
    found = np.bincount(numbers, minlength=256) / 256
    left = found[OPEN]
    assert 1 / 256 <= left <= 0.2 and of_words[OPEN] == 0
    found[OPEN] = 0
    wanted = scipy.stats.poisson.pmf(np.arange(256), mean)
    np.testing.assert_allclose(found + left * of_words / 2**32, wanted, atol=left * 2**-32 + 1e-15)


@pytest.mark.slow_cases("numba_cpu")
@backends("poisson_input")
def test_numbers_have_the_distribution_asked_for(backend):
    means = np.repeat([0.3, 2.32, 20.0], 4000)
    draw = jax.jit(lambda step: poisson_input(np.float32(1), 7, step, mean=means, backend=backend))
    found = np.stack([np.asarray(draw(np.int32(step))) for step in range(20)])
    for mean, numbers in zip((0.3, 2.32, 20.0), np.split(found, 3, axis=1), strict=True):
        seen = np.bincount(numbers.astype(int).ravel(), minlength=60)
        wanted = scipy.stats.poisson.pmf(np.arange(60), mean) * numbers.size
        common = wanted > 10
        assert scipy.stats.chisquare(seen[common], wanted[common] * seen[common].sum() / wanted[common].sum()
                                     ).pvalue > 1e-3  # fmt: skip
        # Independent from step to step and from neuron to neuron: variances of sums are sums of variances.
        assert numbers.sum(axis=0).var() == pytest.approx(20 * mean, rel=0.1)
        assert abs(np.corrcoef(numbers[0], numbers[1])[0, 1]) < 4 / math.sqrt(4000)
        assert abs(np.corrcoef(numbers[:, :2000].ravel(), numbers[:, 2000:].ravel())[0, 1]) < 4 / 200


def test_a_neuron_draws_the_same_in_every_population():
    few, many = (poisson_input(np.float32(1), 7, 3, mean=np.full(n, 1.5)) for n in (70, 500))
    np.testing.assert_array_equal(few, many[:70])
    for other in (poisson_input(np.float32(1), 8, 3, mean=np.full(70, 1.5)),
                  poisson_input(np.float32(1), 7, 4, mean=np.full(70, 1.5))):  # fmt: skip
        assert (np.asarray(few) != np.asarray(other)).any()


def test_a_key_in_place_of_a_seed_is_refused():
    with pytest.raises(TypeError, match=r"seed has dtype key<fry>; .*jax\.random\.bits\(seed, "):
        poisson_input(np.float32(1), jax.random.key(0), 3, mean=np.ones(4))


def test_a_gradient_with_a_number_as_seed_warns_of_nothing():
    def total(current):
        def step(current, i):
            return poisson_input(np.float32(2), 7, i, mean=np.full(3, 0.5), initial=0.5 * current), None

        return jax.lax.scan(step, current, np.arange(4))[0].sum()

    np.testing.assert_allclose(jax.grad(total)(np.zeros(3, np.float32)), 0.5**4)


def test_too_many_different_means_are_refused():
    with pytest.raises(ValueError, match=r"mean has 70000 different values; expected at most 65536, .*JAX"):
        poisson_input(np.float32(1), 7, 3, mean=np.linspace(0, 1, 70_000))


def test_vmap_over_seeds_and_weights():
    seeds, mean = np.arange(3, dtype=np.uint32), np.full(70, 1.5)
    batch = jax.vmap(lambda seed: poisson_input(np.float32(2), seed, 3, mean=mean))(seeds)
    for seed, row in zip(seeds, batch, strict=True):
        np.testing.assert_array_equal(row, poisson_input(np.float32(2), seed, 3, mean=mean))


@backends("poisson_input")
@pytest.mark.parametrize("first", [3, 64, 1021])
def test_a_block_draws_what_the_whole_draws(backend, first):
    mean = np.resize([0.3, 2.32], 2400)
    whole = poisson_input(np.float32(1), 7, 3, mean=mean, backend=backend)
    some = mean[first : first + 1200]
    draw = jax.jit(lambda first: poisson_input(np.float32(1), 7, 3, mean=some, first=first, backend=backend))
    np.testing.assert_array_equal(draw(np.int32(first)), whole[first : first + 1200])


@pytest.mark.parametrize("step", [2**32 + 3, 3 - 2**32, np.int64(2**32 + 3), np.uint64(2**63 + 3)])
def test_a_step_beyond_32_bits_is_taken_modulo_their_number(step):
    mean = np.full(70, 1.5)
    expected = poisson_input(np.float32(1), 7, 3, mean=mean)
    np.testing.assert_array_equal(poisson_input(np.float32(1), 7, step, mean=mean), expected)
    moved = np.ones(40, bool)
    columns = [csr_rewire(np.zeros(40, np.int32), np.int32([0, 40]), moved, 7, t, shape=(1, 999))
               for t in (3, step)]  # fmt: skip
    np.testing.assert_array_equal(*columns)


@pytest.mark.parametrize("first", [-1, 2**31 - 69, 2**32 + 5, np.int32(-3), np.int64(2**40)])
def test_a_first_neuron_that_31_bits_do_not_count_is_refused(first):
    with pytest.raises(ValueError, match=rf"first is {first}, for 70 neurons; expected first >= 0 and"):
        poisson_input(np.float32(1), 7, 3, mean=np.full(70, 1.5), first=first)


def test_a_seed_beyond_32_bits_is_refused_or_taken_modulo_their_number():
    mean = np.full(70, 1.5)
    with pytest.raises(ValueError, match=r"seed is 4294967299; expected an integer in \[0, 2\*\*32\)"):
        poisson_input(np.float32(1), 2**32 + 3, 3, mean=mean)
    wide = poisson_input(np.float32(1), np.int64(2**32 + 3), 3, mean=mean)
    np.testing.assert_array_equal(wide, poisson_input(np.float32(1), 3, 3, mean=mean))
