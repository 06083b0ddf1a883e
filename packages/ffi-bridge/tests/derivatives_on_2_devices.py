"""Derivatives of kernels inside jax.shard_map, on the 2 devices that test_derivatives.py starts it with."""

import functools

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import differentiable, needs_enzyme, normal
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

pytestmark = needs_enzyme


@numba.njit
def weighted(x, w, y):
    for i in range(x.size):
        y[i] = np.sin(x[i]) * w[i % w.size]


def twin(x, w):
    return jnp.sin(x) * jnp.tile(w, x.size // w.size)


kernel = differentiable(weighted, lambda x, w: x)


def sharded(function, out_specs):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,))
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=(P("i"), P()), out_specs=out_specs))


def loss(function, x, w):
    return jax.lax.psum((function(x, w) ** 2).sum(), "i")


@pytest.mark.parametrize("outside", [True, False], ids=["of shard_map", "in shard_map"])
def test_gradient_of_a_sum_over_devices(outside):
    x, w = normal(8), normal(2, seed=1)

    def gradient(function):
        if outside:
            return jax.grad(sharded(functools.partial(loss, function), P()), (0, 1))(x, w)
        return sharded(jax.grad(functools.partial(loss, function), (0, 1)), (P("i"), P()))(x, w)

    alone = jax.grad(lambda x, w: (twin(x, w) ** 2).sum(), (0, 1))(x, w)
    for got, same, wanted in zip(gradient(kernel), gradient(twin), alone, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10)
        np.testing.assert_allclose(same, wanted, rtol=1e-10)
