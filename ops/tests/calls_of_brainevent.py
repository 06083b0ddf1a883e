"""Calls of BrainEvent, by name, on a matrix small enough to be looked at."""

import functools

import brainevent as be
import jax
import jax.numpy as jnp
import numpy as np
from brainevent._csr.binary import _make_binary_csrmv_workspace

ROWS, COLUMNS, PER_ROW, TRIALS, SLOTS = 30, 20, 4, 3, 6
RNG = np.random.default_rng(0)
INDICES = RNG.integers(0, COLUMNS, (ROWS, PER_ROW)).astype(np.int32)
INDPTR = np.arange(0, ROWS * PER_ROW + 1, PER_ROW, dtype=np.int32)
WEIGHTS = RNG.normal(size=ROWS * PER_ROW).astype(np.float32)
SHAPE = ROWS, COLUMNS
ONE = np.float32([0.5])
BY_COLUMN = be.csr_to_csc_index(INDPTR, INDICES.ravel(), shape=SHAPE)


def flags(*shape):
    return np.random.default_rng(1).random(shape) < 0.3


def numbers(*shape):
    return (flags(*shape) * np.random.default_rng(2).normal(size=shape)).astype(np.float32)


@functools.cache
def matrix(one=False, dtype="float32"):
    """BrainEvent's matrix, which is built outside of jit."""
    weights = jnp.asarray(ONE if one else WEIGHTS, dtype)
    return be.CSR((weights, jnp.asarray(INDICES.ravel()), jnp.asarray(INDPTR)), shape=SHAPE)


def csr_product(x, *, pre, event=be.BinaryArray, one=False):
    def call():
        A, v = matrix(one), event(jnp.asarray(x))
        return v @ A if pre else A @ v

    return call


def on_pre():
    w = jnp.asarray(WEIGHTS)
    trace = jnp.asarray(numbers(COLUMNS))
    return be.update_csr_on_binary_pre(w, INDICES.ravel(), INDPTR, flags(ROWS), trace, -1.0, 1.0, shape=SHAPE)


def on_post():
    ends, rows, places = BY_COLUMN
    trace = jnp.asarray(numbers(ROWS))
    w = jnp.asarray(WEIGHTS)
    return be.update_csr_on_binary_post(w, rows, ends, places, trace, flags(COLUMNS), shape=SHAPE)


def fixed_on_pre():
    w, trace = jnp.asarray(WEIGHTS.reshape(ROWS, PER_ROW)), jnp.asarray(numbers(COLUMNS))
    return be.update_fixed_post_conn_on_binary_pre(w, jnp.asarray(INDICES), flags(ROWS), trace, shape=SHAPE)


def delivered(events, weights=WEIGHTS):
    ring = jnp.asarray(numbers(SLOTS, COLUMNS))
    delays = np.random.default_rng(3).integers(1, SLOTS, WEIGHTS.size).astype(np.int32)
    matrix = jnp.asarray(weights), INDICES.ravel(), INDPTR
    return lambda: be.csr_delay_deliver(ring, events, *matrix, delays, jnp.int32(8), shape=SHAPE)


def fixed(x, weights, *, pre):
    product = be.binary_fcnmm if np.ndim(x) == 2 else be.binary_fcnmv
    return lambda: product(jnp.asarray(weights), jnp.asarray(INDICES), x, shape=SHAPE, transpose=pre)


def indexed(x, *, pre, weights=WEIGHTS, weighted=False):
    """A or A.T, as a product with the matrix sorted by column, whose weights a permutation finds."""
    ends, rows, places = BY_COLUMN
    product = be.binary_csrmm_indexed if np.ndim(x) == 2 else be.binary_csrmv_indexed
    options = {"workspace": _make_binary_csrmv_workspace(ends), "weighted": weighted}
    structure = rows, ends, places
    return lambda: product(
        jnp.asarray(weights), *structure, x, shape=SHAPE[::-1], transpose=not pre, **options
    )


@functools.cache
def tiled(one):
    """BrainEvent's matrix in tiles, which needs integers of 64 bits and is built outside of jit."""
    with jax.enable_x64(True):
        return be.TCSR.fromcsr(matrix(one))


def tiled_product(x, *, pre, event=be.BinaryArray, one=False):
    def call():
        A, v = tiled(one), event(jnp.asarray(x))
        with jax.enable_x64(True):
            return v @ A if pre else A @ v

    return call


PARTS = jnp.asarray(WEIGHTS), jnp.asarray(INDICES.ravel()), jnp.asarray(INDPTR)
PADDED = WEIGHTS.reshape(ROWS, PER_ROW)
CALLS = {
    "flags @ A": csr_product(flags(ROWS), pre=True),
    "A @ flags": csr_product(flags(COLUMNS), pre=False),
    "numbers as events @ A": csr_product(numbers(ROWS), pre=True),
    "values of events @ A": csr_product(numbers(ROWS), pre=True, event=be.WeightedArray),
    "A @ values of events": csr_product(numbers(COLUMNS), pre=False, event=be.WeightedArray),
    "one weight": csr_product(flags(ROWS), pre=True, one=True),
    "A @ flags, one weight": csr_product(flags(COLUMNS), pre=False, one=True),
    "trials @ A": csr_product(flags(TRIALS, ROWS), pre=True),
    "A @ trials": csr_product(flags(COLUMNS, TRIALS), pre=False),
    "x @ A": csr_product(numbers(ROWS), pre=True, event=jnp.asarray),
    "A @ x": csr_product(numbers(COLUMNS), pre=False, event=jnp.asarray),
    "A @ X": csr_product(numbers(COLUMNS, TRIALS), pre=False, event=jnp.asarray),
    "A @ x, one weight": csr_product(numbers(COLUMNS), pre=False, event=jnp.asarray, one=True),
    "indexed, A @ flags": indexed(flags(COLUMNS), pre=False),
    "indexed, flags @ A": indexed(flags(ROWS), pre=True),
    "indexed, A @ values of events": indexed(numbers(COLUMNS), pre=False, weighted=True),
    "indexed, one weight": indexed(flags(COLUMNS), pre=False, weights=ONE),
    "indexed, A @ trials": indexed(flags(COLUMNS, TRIALS), pre=False),
    "indexed, trials @ A": indexed(flags(ROWS, TRIALS), pre=True),
    "tiled, flags @ A": tiled_product(flags(ROWS), pre=True),
    "tiled, A @ flags": tiled_product(flags(COLUMNS), pre=False),
    "tiled, A @ flags, one weight": tiled_product(flags(COLUMNS), pre=False, one=True),
    "tiled, A @ values of events": tiled_product(numbers(COLUMNS), pre=False, event=be.WeightedArray),
    "tiled, trials @ A": tiled_product(flags(TRIALS, ROWS), pre=True),
    "tiled, A @ trials": tiled_product(flags(COLUMNS, TRIALS), pre=False),
    "tiled, A @ x": tiled_product(numbers(COLUMNS), pre=False, event=jnp.asarray),
    "tiled, X @ A": tiled_product(numbers(TRIALS, ROWS), pre=True, event=jnp.asarray),
    "tiled, A @ X": tiled_product(numbers(COLUMNS, TRIALS), pre=False, event=jnp.asarray),
    "fixed, flags @ A": fixed(flags(ROWS), PADDED, pre=True),
    "fixed, A @ flags": fixed(flags(COLUMNS), PADDED, pre=False),
    "fixed, one weight": fixed(flags(ROWS), ONE, pre=True),
    "fixed, trials": fixed(flags(ROWS, TRIALS), PADDED, pre=True),
    "dense, flags @ W": lambda: be.binary_densemv(numbers(ROWS, COLUMNS), flags(ROWS), transpose=True),
    "dense, W @ flags": lambda: be.binary_densemv(numbers(ROWS, COLUMNS), flags(COLUMNS), transpose=False),
    "dense, trials @ W": lambda: be.binary_densemm(
        numbers(ROWS, COLUMNS), flags(ROWS, TRIALS), transpose=True
    ),
    "dense, W @ trials": lambda: be.binary_densemm(
        numbers(ROWS, COLUMNS), flags(COLUMNS, TRIALS), transpose=False
    ),
    "rows times y": lambda: be.csrmv_dt2t(jnp.asarray(numbers(ROWS)), *PARTS, shape=SHAPE),
    "columns times y": lambda: be.csrmv_dt2t(
        jnp.asarray(numbers(COLUMNS)), *PARTS, shape=SHAPE, transpose=True
    ),
    "on pre": on_pre,
    "on post": on_post,
    "fixed, on pre": fixed_on_pre,
}
if hasattr(be, "csr_delay_deliver"):
    CALLS |= {
        "delays": delivered(flags(ROWS)),
        "delays, numbers": delivered(numbers(ROWS)),
        "delays, one weight": delivered(flags(ROWS), ONE),
    }
