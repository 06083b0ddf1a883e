"""Time one call: a kernel that adds 8 floats, behind every way into JAX, beside XLA's own add.

A step of `lax.fori_loop`, a jitted call, and an eager call, from Python until the result is ready. What the
parallel kernel takes beyond the serial one is the cost of sharing a loop among the threads. Then every
operator of the catalog on a small case, outside of jit beside the same call under it, numbers given as
Python's in both.
"""

# Warp's annotations are calls.
# pyright: reportInvalidTypeForm=false

import ctypes
import functools

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
import warp as wp

from event_ops.cases import CONFORMANCE
from event_ops.discover import operators
from event_ops_harness.bench.steps import fed_back
from event_ops_harness.conformance.cell import index_dtype_of, inputs_of
from ffi_bridge import numba_kernel, warp_kernel
from ffi_bridge.targets import ensure_target, python_handler

OUT = jax.ShapeDtypeStruct((8,), jnp.float32)
HOW = ("eager", "jitted")
WAYS = ("step in fori_loop", "jitted call", "eager call")


@numba.njit
def add(x, y, out):
    for i in range(out.size):
        out[i] = x[i] + y[i]


@numba.njit(parallel=True)
def add_in_parallel(x, y, out):
    for i in numba.prange(out.size):
        out[i] = x[i] + y[i]


@wp.kernel(enable_backward=False)
def add_in_warp(
    x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)
):
    i = wp.tid()
    out[i] = x[i] + y[i]


def add_in_python(frame):
    """Add as bridges do whose handlers are Python behind a callback of ctypes."""
    arrays = (ctypes.cast(x, ctypes.POINTER(ctypes.c_float)) for x in frame.addresses())
    add(*(np.ctypeslib.as_array(x, OUT.shape) for x in arrays))


ensure_target("harness_ctypes_add", lambda: python_handler(add_in_python, None), platform="cpu")
through_warp = wp.jax_kernel(add_in_warp)
OURS = {
    "numba_kernel": numba_kernel(add, OUT),
    "parallel numba_kernel": numba_kernel(add_in_parallel, OUT),
    "warp_kernel": warp_kernel(add_in_warp, OUT),
}
RIVALS = {
    "XLA a + b": lambda x, y: x + y,
    "warp.jax_kernel": lambda x, y: through_warp(x, y)[0],
    "ctypes callback": jax.ffi.ffi_call("harness_ctypes_add", OUT),
    "pure_callback": lambda x, y: jax.pure_callback(np.add, OUT, x, y),
}
MEMBERS = OURS | RIVALS


@functools.lru_cache(maxsize=1)
def members_of(way):
    x = jnp.arange(8, dtype=jnp.float32)
    make = {WAYS[0]: fed_back, WAYS[1]: lambda f, x: called(jax.jit(f), x), WAYS[2]: called}[way]
    return {name: make(operation, x) for name, operation in MEMBERS.items()}


def called(operation, x):
    return lambda: operation(x, x)


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("way", WAYS)
def test_call(in_turns, benchmark, way, member):
    benchmark.group = way
    in_turns(members_of(way), member, rivals=RIVALS)


@functools.lru_cache(maxsize=1)
def calls_of(operator):
    dtype = operator.dtypes[0]
    args, kwargs = inputs_of(operator.tagged(CONFORMANCE)[0], dtype, index_dtype_of(dtype))
    places = [str(i) for i in range(len(args))]  # JAX sorts the keys
    inputs = dict(zip(places, args, strict=True)) | kwargs
    arrays = {
        name: jax.device_put(x) for name, x in inputs.items() if np.ndim(x) and isinstance(x, np.ndarray)
    }

    def call(arrays):
        values = inputs | arrays
        return operator.function(*(values[i] for i in places), **{name: values[name] for name in kwargs})

    jitted = jax.jit(call)
    return {"eager": lambda: call(arrays), "jitted": lambda: jitted(arrays)}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_outside_of_jit(in_turns, benchmark, operator, how):
    benchmark.group = f"{operator.name}, a call from Python"
    in_turns(calls_of(operator), how, rivals={"jitted"})
