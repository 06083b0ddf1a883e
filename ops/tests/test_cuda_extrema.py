"""Maxima, minima and products at places on CUDA backends: every NaN, zeros of either sign, every dtype."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

import event_ops
from event_ops_harness.conformance.cell import types_of

INDICES = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, -1, 20])
FLOATS = [1, 2, -0.0, 0.0, -1, -2, np.inf, 3, -np.inf, -3, np.nan, 1, np.nan, -np.nan, -np.nan, np.nan]
both = pytest.mark.parametrize("how", ["max", "min"])


def values(dtype):
    if np.dtype(dtype).kind == "f":
        return np.array(FLOATS, dtype)
    limits = np.iinfo(dtype)
    return np.resize(np.array([limits.min, limits.max, 0, 1, limits.max - 1], dtype), INDICES.size)


def same(found, expected):
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        is_zero = np.asarray(expected) == 0
        np.testing.assert_array_equal(np.signbit(found)[is_zero], np.signbit(expected)[is_zero])


@pytest.mark.slow_cases("float64", "uint32", "uint64")
@both
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint32", "uint64"])
@pytest.mark.parametrize("ascending", [False, True], ids=["", "sorted"])
def test_extrema_of_segments(on_gpu, how, dtype, ascending):
    with types_of(dtype):
        data, ids = values(dtype), np.sort(INDICES) if ascending else INDICES
        operator = getattr(event_ops, f"segment_{how}")
        found = operator(data, ids, 9, indices_are_sorted=ascending, backend="numba_cuda")
        same(found, getattr(jax.ops, f"segment_{how}")(data, ids, 9))


@pytest.mark.slow_cases("float64", "uint64")
@both
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64"])
def test_extrema_in_a_target(on_gpu, how, dtype):
    with types_of(dtype):
        updates = values(dtype)
        target = jnp.asarray(np.roll(updates, 5)[:9])
        found = getattr(event_ops, f"scatter_{how}")(target, INDICES, updates, backend="numba_cuda")
        same(found, getattr(target.at[INDICES], how)(updates, mode="drop"))


@pytest.mark.slow_cases("float64", "uint64")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64"])
@pytest.mark.parametrize("deterministic", [False, True], ids=["", "in-order"])
def test_products(on_gpu, dtype, deterministic):
    with types_of(dtype):
        updates = values(dtype)
        target = jnp.asarray(np.roll(updates, 5)[:9])
        options = {"deterministic": deterministic, "backend": "numba_cuda"}
        same(
            event_ops.scatter_mul(target, INDICES, updates, **options),
            target.at[INDICES].multiply(updates, mode="drop"),
        )
