"""A Warp kernel for a whole batch, on the CPU: a launch computes the element it is told to begin with."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp

from ffi_bridge.warp.batch import batch_parameters, batched_kernel

COUNTED = 3


@wp.func
def square_of(x: wp.array(dtype=float), i: int):
    return x[i] * x[i]


@wp.func_native("y[i] += 3.0f * x[i];", adj_snippet="adj_x[i] += 3.0f * adj_y[i];")
def add_thrice(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int): ...


@wp.kernel
def rich(
    ids: wp.array(dtype=int),
    u: wp.array(dtype=float),
    m: wp.array2d(dtype=float),
    a: float,
    y: wp.array(dtype=float),
):
    """y[i] += 3 u[i]; y[ids[i]] += a u[i]² + m[i, 0] + ... + m[i, 2], where ids[i] >= 0."""
    i = wp.tid()
    add_thrice(u, y, i)
    if ids[i] < 0:
        return
    row = m[i]
    total = a * square_of(u, i)
    for j in range(COUNTED):
        total += row[j]
    wp.atomic_add(y, ids[i], total)


SIZES = (2, 3)
RNG = np.random.default_rng(0)
IDS = np.array([[0, 2, -1, 2], [3, 1, 1, 0], [-1, 0, 3, 3]], np.int32)  # has the inner level alone
U = RNG.random((2, 4), np.float32)  # the outer level alone
M = RNG.random((4, 3), np.float32)  # none
ELEMENTS = [(0, 0), (0, 2), (1, 1)]


def strides(array, axes):
    """Bytes from element to element of each level; 0 where there is no axis."""
    own = iter(array.strides)
    return tuple(next(own) if has else 0 for has in axes)


def first_of(array, axes):
    """The first element of a batch, with the memory of all."""
    return array[(0,) * sum(axes)]


def launch(element, ids, u, m, y, adjoints=None):
    """Run the kernel for one element of the batch, or its adjoint; `y` and `adjoints` are written."""
    given = [(ids, (0, 1)), (u, (1, 0)), (m, (0, 0)), (y, (1, 1))]
    grads = [(array, (1, 1)) for array in adjoints or [None] * 4]
    ids, u, m, y = (
        wp.array(
            first_of(*of_one),
            copy=False,
            device="cpu",
            grad=None if grad[0] is None else wp.array(first_of(*grad), copy=False, device="cpu"),
        )
        for of_one, grad in zip(given, grads, strict=True)
    )
    places = [
        (strides(*of_one), (0, 0) if grad[0] is None else strides(*grad))
        for of_one, grad in zip(given, grads, strict=True)
    ]
    first, *rest = batch_parameters(int(np.ravel_multi_index(element, SIZES)), SIZES, places)
    inputs = [ids, u, m, 0.5, y, first.value, *rest]
    wp.launch(
        batched_kernel(rich, 2),
        dim=4,
        inputs=inputs,
        device="cpu",
        adjoint=adjoints is not None,
        adj_inputs=[None] * len(inputs),
    )


def expected(ids, u, m, y):
    contributions = jnp.where(ids >= 0, 0.5 * u * u + m.sum(1), 0)
    return jnp.asarray(y).at[jnp.maximum(ids, 0)].add(contributions) + 3 * u


@pytest.mark.parametrize("element", ELEMENTS)
def test_a_launch_computes_its_element_and_touches_no_other(element):
    outer, inner = element
    y = np.ones((*SIZES, 4), np.float32)
    launch(element, IDS, U, M, y)
    np.testing.assert_allclose(y[element], expected(IDS[inner], U[outer], M, jnp.ones(4)), rtol=1e-6)
    y[element] = 1
    assert (y == 1).all()


@pytest.mark.parametrize("element", ELEMENTS)
def test_adjoints_are_of_the_element(element):
    outer, inner = element
    y, cotangent = (RNG.random((*SIZES, 4), np.float32) for _ in range(2))
    # Every element has an adjoint, even of what all elements share.
    of_u, of_m = np.zeros((*SIZES, 4), np.float32), np.zeros((*SIZES, 4, 3), np.float32)
    launch(element, IDS, U, M, y, [None, of_u, of_m, cotangent.copy()])
    _, pull = jax.vjp(lambda u, m: expected(IDS[inner], u, m, y[element]), U[outer], M)
    for found, of_one in zip((of_u, of_m), pull(cotangent[element]), strict=True):
        np.testing.assert_allclose(found[element], of_one, rtol=1e-6)
        found[element] = 0
        assert (found == 0).all()
