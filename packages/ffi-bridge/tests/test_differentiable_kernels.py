"""Kernels of many kinds that are to be differentiated give what their twins in JAX give."""

import differentiable_alignments
import differentiable_graphs
import differentiable_motion
import differentiable_populations
import differentiable_series
import differentiable_space
import jax
import numpy as np
import pytest

from ffi_bridge import numba_kernel

THEMES = (
    differentiable_alignments,
    differentiable_motion,
    differentiable_populations,
    differentiable_space,
    differentiable_series,
    differentiable_graphs,
)
ALL = [kernel for theme in THEMES for kernel in theme.KERNELS]


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        yield


def test_there_are_many():
    assert len({str(x) for x in ALL}) == len(ALL) >= 25


# Of each theme the first is quick.
@pytest.mark.slow_cases("n_body", "kuramoto")
@pytest.mark.parametrize(
    "differentiable",
    [
        pytest.param(x, id=str(x), marks=[pytest.mark.slow] * (i > 0))
        for theme in THEMES
        for i, x in enumerate(theme.KERNELS)
    ],
)
def test_a_kernel_gives_what_its_twin_gives(differentiable):
    ins = differentiable.inputs(np.random.default_rng(1), differentiable.size)
    call = numba_kernel(differentiable.kernel, differentiable.outs, scalar_argnames=differentiable.scalars)
    found, expected = jax.tree.leaves(call(*ins)), jax.tree.leaves(jax.jit(differentiable.twin)(*ins))
    for got, wanted in zip(found, expected, strict=True):
        assert got.dtype == "float64"
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)
