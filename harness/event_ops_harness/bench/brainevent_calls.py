"""Calls of BrainEvent's functions that the catalog serves, each in a compiled loop, for benchmarks."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import brainevent
import jax
import jax.numpy as jnp
import numpy as np
from brainevent._csr.binary import _make_binary_csrmv_workspace

LOOP: Final = 20  # calls in one loop of machine code
ACTIVE: Final = 0.01  # of the neurons
# The inputs of a neuron in the networks of Brette et al. (2007).
PER_ROW: Final = 80
TRIALS: Final = 16
SLOTS: Final = 50
Step = Callable[[Any, Any, Any], Any]  # (carried, flags, number of the turn) -> carried


@functools.cache
def structure(neurons: int) -> tuple[Any, Any]:
    """Return indices and indptr of a square matrix with equally many entries in each row."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, neurons, neurons * PER_ROW, dtype=np.int32)
    indptr = np.arange(0, indices.size + 1, PER_ROW, dtype=np.int32)
    return jnp.asarray(indices), jnp.asarray(indptr)


def weights_of(neurons: int) -> Any:
    """Return a weight for each entry."""
    return jnp.asarray(np.random.default_rng(1).random(neurons * PER_ROW, dtype=np.float32))


def _added(times: Callable[[Any], Any], shape: Any) -> tuple[Step, Any]:
    """Return the step `y = 0.9 * y + times(flags)`, and the first y."""
    # y decays as a synaptic current does, and so each call needs the one before.
    return (lambda y, flags, _: y * 0.9 + times(flags)), jnp.zeros(shape)


def _shape_of(neurons: int, trials: int, pre: bool) -> tuple[int, ...]:
    """Return the shape of the flags of a product."""
    shape = (neurons, trials) if trials else (neurons,)
    # A matrix of events in front of A has a row for each trial, one behind it a column.
    return shape[::-1] if pre else shape


def product(
    neurons: int, *, pre: bool, events: bool, one_weight: bool = False, trials: int = 0
) -> tuple[Step, Any]:
    """Return the step with A @ x, or x @ A if rows are presynaptic."""
    data = jnp.ones(1) if one_weight else weights_of(neurons)
    matrix = brainevent.CSR((data, *structure(neurons)), shape=(neurons, neurons))

    def times(flags: Any) -> Any:
        x = brainevent.BinaryArray(flags) if events else flags.astype(jnp.float32)
        return x @ matrix if pre else matrix @ x

    shape = _shape_of(neurons, trials, pre)
    times(jnp.zeros(shape, bool))  # BrainEvent makes its scratch outside of jit
    return _added(times, shape)


def indexed(neurons: int, *, trials: int = 0) -> tuple[Step, Any]:
    """Return the step with A @ x by columns of A, whose weights stay in the order of its rows."""
    indices, indptr = structure(neurons)
    ends, rows, places = brainevent.csr_to_csc_index(indptr, indices, shape=(neurons, neurons))
    times = brainevent.binary_csrmm_indexed if trials else brainevent.binary_csrmv_indexed
    matrix = weights_of(neurons), rows, ends, places
    static = {"shape": (neurons, neurons), "workspace": _make_binary_csrmv_workspace(ends), "transpose": True}
    return _added(functools.partial(times, *matrix, **static), _shape_of(neurons, trials, False))


def tiled(neurons: int, *, pre: bool, events: bool = True, trials: int = 0) -> tuple[Step, Any]:
    """Return the step for a matrix in tiles, which has integers of 64 bits."""
    with jax.enable_x64(True):
        plain = brainevent.CSR((weights_of(neurons), *structure(neurons)), shape=(neurons, neurons))
        matrix = brainevent.TCSR.fromcsr(plain)

    def step(y: Any, flags: Any, _: Any) -> Any:
        with jax.enable_x64(True):
            x = brainevent.BinaryArray(flags) if events else flags.astype(jnp.float32)
            return y * 0.9 + (x @ matrix if pre else matrix @ x)

    shape = _shape_of(neurons, trials, pre)
    step(jnp.zeros(shape), jnp.zeros(shape, bool), 0)  # BrainEvent makes its mirror outside of jit
    return step, jnp.zeros(shape)


def fixed(neurons: int, *, pre: bool) -> tuple[Step, Any]:
    """Return the step for a fixed number of entries in each row."""
    indices = structure(neurons)[0].reshape(neurons, PER_ROW)
    matrix, shape = (weights_of(neurons).reshape(indices.shape), indices), (neurons, neurons)
    return _added(functools.partial(brainevent.binary_fcnmv, *matrix, shape=shape, transpose=pre), neurons)


def dense(neurons: int, *, pre: bool) -> tuple[Step, Any]:
    """Return the step for a dense matrix."""
    weights = jnp.asarray(np.random.default_rng(1).random((neurons, neurons), dtype=np.float32))
    return _added(functools.partial(brainevent.binary_densemv, weights, transpose=pre), neurons)


def on_pre(neurons: int) -> tuple[Step, Any]:
    """Return the step that changes the weights of rows that spike."""
    trace, (indices, indptr) = jnp.full(neurons, -1e-3), structure(neurons)

    def step(w: Any, flags: Any, _: Any) -> Any:
        return brainevent.update_csr_on_binary_pre(w, indices, indptr, flags, trace, shape=(neurons, neurons))

    return step, weights_of(neurons)


def on_post(neurons: int) -> tuple[Step, Any]:
    """Return the step that changes the weights of columns that spike."""
    indices, indptr = structure(neurons)
    ends, rows, places = brainevent.csr_to_csc_index(indptr, indices, shape=(neurons, neurons))
    trace = jnp.full(neurons, 1e-3)

    def step(w: Any, flags: Any, _: Any) -> Any:
        return brainevent.update_csr_on_binary_post(
            w, rows, ends, places, trace, flags, shape=(neurons, neurons)
        )

    return step, weights_of(neurons)


def delays(neurons: int) -> tuple[Step, Any]:
    """Return the step that delivers events into a ring buffer, after as many steps as each synapse has."""
    rng, matrix = np.random.default_rng(2), (weights_of(neurons), *structure(neurons))
    steps = jnp.asarray(rng.integers(1, SLOTS, neurons * PER_ROW, dtype=np.int32))

    def step(ring: Any, flags: Any, turn: Any) -> Any:
        return brainevent.csr_delay_deliver(ring, flags, *matrix, steps, turn, shape=(neurons, neurons))

    return step, jnp.zeros((SLOTS, neurons))


_BOTH: Final = (4000, 100_000)
_CALLS: Final[Mapping[str, tuple[Callable[..., tuple[Step, Any]], dict[str, Any], tuple[int, ...]]]] = {
    "BinaryArray @ CSR": (product, {"pre": True, "events": True}, _BOTH),
    "BinaryArray @ CSR, one weight": (product, {"pre": True, "events": True, "one_weight": True}, _BOTH),
    "CSR @ BinaryArray": (product, {"pre": False, "events": True}, _BOTH),
    "BinaryArray @ CSR, 16 trials": (product, {"pre": True, "events": True, "trials": TRIALS}, _BOTH),
    "CSR @ x": (product, {"pre": False, "events": False}, _BOTH),
    "x @ CSR": (product, {"pre": True, "events": False}, _BOTH),
    "binary_csrmv_indexed": (indexed, {}, _BOTH),
    "binary_csrmm_indexed, 16 trials": (indexed, {"trials": TRIALS}, (4000,)),
    "BinaryArray @ TCSR": (tiled, {"pre": True}, _BOTH),
    "TCSR @ BinaryArray": (tiled, {"pre": False}, _BOTH),
    "BinaryArray @ TCSR, 16 trials": (tiled, {"pre": True, "trials": TRIALS}, (4000,)),
    "TCSR @ BinaryArray, 16 trials": (tiled, {"pre": False, "trials": TRIALS}, (4000,)),
    "X @ TCSR, 16 trials": (tiled, {"pre": True, "events": False, "trials": TRIALS}, (4000,)),
    "binary_fcnmv, pre": (fixed, {"pre": True}, _BOTH),
    "binary_fcnmv, post": (fixed, {"pre": False}, _BOTH),
    "binary_densemv, pre": (dense, {"pre": True}, (4000,)),
    "binary_densemv, post": (dense, {"pre": False}, (4000,)),
    "update_csr_on_binary_pre": (on_pre, {}, _BOTH),
    "update_csr_on_binary_post": (on_post, {}, _BOTH),
    "csr_delay_deliver": (delays, {}, (4000, 40_000)),
}
# Name -> what makes the step, its options, and of how many neurons.
CALLS: Final = {
    f"{name}, {neurons:,} neurons": (make, options, neurons)
    for name, (make, options, sizes) in _CALLS.items()
    for neurons in sizes
}


def loop_of(name: str) -> Callable[[], Any]:
    """Return a function that calls it `LOOP` times, compiled now, with new events in each turn."""
    make, options, neurons = CALLS[name]
    step, begin = make(neurons, **options)
    shape = begin.shape if "trials" in options else (neurons,)
    flags = jnp.asarray(np.random.default_rng(3).random((LOOP, *shape)) < ACTIVE)

    @jax.jit
    def loop(begin: Any, flags: Any) -> Any:
        numbers = jnp.arange(LOOP, dtype=jnp.int32)
        return jax.lax.scan(lambda x, turn: (step(x, *turn), None), begin, (flags, numbers))[0]

    compiled = loop.lower(begin, flags).compile()  # BrainEvent's change of a default clears JAX's caches
    return lambda: jax.block_until_ready(compiled(begin, flags))
