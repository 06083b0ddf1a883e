"""A Pallas kernel needs no wrapper of ours: it is a callable that a builder returns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

from ffi_bridge import XLACustomKernel

X = jnp.arange(8.0)


def double(x, y):
    y[...] = 2 * x[...]


def build(*, outs, interpret, **_):
    return pallas.pallas_call(double, outs, interpret=interpret)


@pytest.fixture
def operator(request):
    made = XLACustomKernel(f"pallas_{request.node.name}")
    # Registered for the platform of this machine: Pallas's interpreter runs anywhere.
    made.def_kernel("pallas", "cpu", build)
    made.def_reference(lambda **_: lambda x: 2 * x)
    return made


def call(operator, x, backend=None):
    outs = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return operator(x, outs=outs, interpret=True, backend=backend)


def test_it_runs_under_jit_vmap_and_scan(operator):
    np.testing.assert_array_equal(call(operator, X, "pallas"), 2 * X)
    np.testing.assert_array_equal(jax.jit(lambda x: call(operator, x, "pallas"))(X), 2 * X)
    rows = jnp.stack([X, X + 1])
    np.testing.assert_array_equal(jax.vmap(lambda x: call(operator, x, "pallas"))(rows), 2 * rows)
    total = jax.lax.scan(lambda x, _: (call(operator, x, "pallas"), None), X, length=3)[0]
    np.testing.assert_array_equal(total, 8 * X)


def test_its_derivative_is_that_of_the_reference(operator):
    gradient = jax.grad(lambda x: call(operator, x, "pallas").sum())(X)
    np.testing.assert_array_equal(gradient, np.full(8, 2.0))


def test_where_it_is_registered_for_a_gpu_alone_the_cpu_takes_the_reference(request):
    made = XLACustomKernel(f"pallas_{request.node.name}")
    made.def_pallas_kernel("gpu", build)
    made.def_reference(lambda **_: lambda x: 3 * x)
    np.testing.assert_array_equal(call(made, X), 3 * X)
    assert "registered for gpu only" in str(made.explain())
