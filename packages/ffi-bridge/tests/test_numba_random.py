"""Numba's own random numbers in kernels: what `docs/explanation/reproducibility.md` says of them."""

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge import numba_kernel

THREE = jax.ShapeDtypeStruct((3,), "float32")
X = jnp.zeros(3)


@numba.njit
def add_noise(x, y):
    for i in range(y.size):
        y[i] = x[i] + np.random.random()


@numba.njit
def seeded(seed, y):
    np.random.seed(seed)
    for i in range(y.size):
        y[i] = np.random.random()


def test_every_call_draws_others():
    call = jax.jit(numba_kernel(add_noise, THREE))
    assert not np.array_equal(call(X), call(X))


def test_equal_calls_in_one_program_are_one_unless_they_have_effects():
    plain, effects = (numba_kernel(add_noise, THREE, has_side_effect=x) for x in (False, True))
    first, second = jax.jit(lambda x: (plain(x), plain(x)))(X)
    np.testing.assert_array_equal(first, second)
    first, second = jax.jit(lambda x: (effects(x), effects(x)))(X)
    assert not np.array_equal(first, second)


def test_a_seed_that_is_an_input_gives_the_numbers_of_numpy():
    call = numba_kernel(seeded, THREE, scalar_argnames="seed")
    found = jax.jit(jax.vmap(call))(jnp.array([3, 4, 3]))
    expected = [np.random.RandomState(seed).random(3).astype("float32") for seed in (3, 4, 3)]
    np.testing.assert_array_equal(found, expected)
