"""Kernels that nobody made for this bridge go through it as they are, and give what they give in Python."""

import foreign_from_numba
import foreign_from_science
import foreign_ufuncs
import jax
import jax.numpy as jnp
import numpy as np
import pytest

ALL = [*foreign_from_numba.KERNELS, *foreign_from_science.KERNELS, *foreign_ufuncs.KERNELS]
each = pytest.mark.parametrize("foreign", ALL, ids=lambda x: x.function.__name__)
# Numba takes a second or more to compile each of the others; what they use of Numba, these use too.
QUICK = {
    "add_number",
    "edits",
    "kepler",
    "moving_mean",
    "multiply_matrices",
    "records",
    "relative_difference",
}
quick_first = pytest.mark.parametrize(
    "foreign",
    [
        pytest.param(x, id=name, marks=[pytest.mark.slow] * (name not in QUICK))
        for x in ALL
        for name in [x.function.__name__]
    ],
)


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        yield


def same(found, expected):
    for got, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_there_are_many():
    names = {x.function.__name__ for x in ALL}
    assert len(ALL) >= 25 and len(names) == len(ALL) and names >= QUICK


@pytest.mark.slow_cases("records", "edits", "multiply_matrices")
@quick_first
def test_a_batch_gives_what_python_gives(foreign):
    ins = [jnp.asarray(x) for x in foreign.inputs]
    call, expected = foreign.wrapped(), foreign.oracle(*foreign.inputs)
    if not ins:
        return same(jax.jit(call)(), expected)
    halved = [x / 2 if x.dtype == float else x for x in ins]
    batch = jax.jit(jax.vmap(call))(*[jnp.stack(pair) for pair in zip(ins, halved, strict=True)])
    same(jax.tree.map(lambda y: y[0], batch), expected)
    same(jax.tree.map(lambda y: y[1], batch), foreign.oracle(*[np.asarray(x)[()] for x in halved]))


@pytest.mark.slow
@each
def test_a_call_and_a_loop(foreign):
    call, expected = foreign.wrapped(), foreign.oracle(*foreign.inputs)
    same(call(*foreign.inputs), expected)
    loop = jax.lax.scan(lambda none, _: (none, call(*foreign.inputs)), None, length=2)[1]
    same(jax.tree.map(lambda y: y[1], loop), expected)
