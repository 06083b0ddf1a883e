"""Time a launch: ours in a loop, with and without a CUDA graph, beside XLA's own addition.

The floor is `cuLaunchKernel` of the same kernel in a loop of machine code.
"""

from __future__ import annotations

import ctypes
import json
import struct
from functools import cache, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from numba import cuda, types
from numba.extending import intrinsic

from event_ops_harness.gpu.rivals import launch_rivals, measured
from event_ops_harness.gpu.timing import us_per_call, us_per_step
from ffi_bridge import graph_options, numba_cuda_kernel
from ffi_bridge.cuda import LAUNCH_TYPE, cuda_driver
from ffi_bridge.numba_cuda import array_type, compile_kernel

N = 4096
STEPS = 10_000
IN_A_STEP = 10  # launches, where the loop's own work is not to count
RIVAL_STEPS = 1_000  # of those that come back to Python at each
BLOCK = 256


@cuda.jit
def add_one(x: Any, y: Any) -> None:
    i = cuda.grid(1)  # pyright: ignore[reportCallIssue]  # annotated for two arguments
    if i < y.size:
        y[i] = x[i] + 1


@intrinsic
def launch(typing: Any, function: Any, kernel: Any, parameters: Any) -> Any:
    """Call cuLaunchKernel on the default stream; return its status."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, kernel, parameters = arguments
        pointer = LAUNCH_TYPE.args[0]
        call = builder.inttoptr(address, LAUNCH_TYPE.as_pointer())
        extents = [LAUNCH_TYPE.args[1](n) for n in (N // BLOCK, 1, 1, BLOCK, 1, 1, 0)]
        null = pointer(None)
        given = [
            builder.inttoptr(kernel, pointer),
            *extents,
            null,
            builder.inttoptr(parameters, pointer),
            null,
        ]
        return builder.call(call, given)

    return types.int32(types.int64, types.int64, types.int64), emit


@numba.njit
def bare_loop(function: int, kernel: int, parameters: int, times: int) -> int:
    status = 0
    for _ in range(times):
        status |= launch(function, kernel, parameters)  # pyright: ignore[reportCallIssue]  # as above
    return status


def bare_us() -> float:
    """Time one launch of a loop without XLA, in microseconds, until the device has done them all."""
    driver = cuda_driver()
    array = array_type("add_one", "x", np.dtype(np.float32), 1, readonly=False)
    kernel = driver.load(compile_kernel(add_one, [array, array], driver.capability), 0)
    x = jnp.zeros(N, jnp.float32).block_until_ready()
    words = [0, 0, N, 4, x.unsafe_buffer_pointer(), N, 4]
    content = ctypes.create_string_buffer(struct.pack("<14q", *words, *words))
    base = ctypes.addressof(content)
    table = (ctypes.c_void_p * 14)(*(base + 8 * i for i in range(14)))
    cuda_library = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    cuda_library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda_library.cuCtxPushCurrent_v2(context)

    def work() -> int:
        status = bare_loop(driver.functions().launch, kernel, ctypes.addressof(table), STEPS)
        status |= cuda_library.cuCtxSynchronize()
        if status:
            raise RuntimeError(f"cuLaunchKernel failed with {status}")
        return status

    return us_per_call(work) / STEPS


def rivals(x: jax.Array) -> dict[str, Any]:
    """Time the same kernel by other bridges: a step of a loop, and a jitted call."""
    found: dict[str, Any] = {}
    for name, make in launch_rivals(add_one, N).items():
        step = cache(make)  # within `measured`, so that a rival that cannot be made says why in its rows
        found |= measured(f"{name} in a loop, us a step", lambda: us_per_step(step(), x, RIVAL_STEPS, {}))  # noqa: B023
        found |= measured(f"{name}, one jitted call, us", lambda: _jitted_us(step(), x))  # noqa: B023
    return found


def _jitted_us(step: Any, x: jax.Array) -> float:
    call = jax.jit(step)
    return us_per_call(lambda: call(x))


def several(step: Any) -> Any:
    """Return IN_A_STEP of the steps, one after another."""
    return lambda x: reduce(lambda x, _: step(x), range(IN_A_STEP), x)


def main() -> None:
    """Print the figures as one line of JSON."""
    out = jax.ShapeDtypeStruct((N,), jnp.float32)
    ours = numba_cuda_kernel(add_one, out, launch_dims=N)
    in_place = numba_cuda_kernel(add_one, out, launch_dims=N, input_output_aliases={0: 0})
    x = jnp.zeros(N, jnp.float32)
    graph = graph_options()
    # XLA would fuse additions of several steps into one kernel: an optimisation barrier keeps them apart.
    xla = lambda x: jax.lax.optimization_barrier(x + 1)  # noqa: E731
    found = {
        "bare cuLaunchKernel, us": bare_us(),
        "ours in a loop, us a step": us_per_step(ours, x, STEPS, {}),
        "ours in a graph, us a step": us_per_step(ours, x, STEPS, graph),
        "ours in place in a loop, us a step": us_per_step(in_place, x, STEPS, {}),
        "ours in place in a graph, us a step": us_per_step(in_place, x, STEPS, graph),
        "ours, one of ten in a step, us": us_per_step(several(in_place), x, STEPS, {}) / IN_A_STEP,
        "XLA add, one of ten in a step, us": us_per_step(several(xla), x, STEPS, {}) / IN_A_STEP,
        "XLA add in a loop, us a step": us_per_step(xla, x, STEPS, {}),
        "XLA add in a graph, us a step": us_per_step(xla, x, STEPS, graph),
        "ours, one jitted call, us": _jitted_us(ours, x),
        "XLA add, one jitted call, us": _jitted_us(lambda x: x + 1, x),
    } | rivals(x)
    expected = np.asarray(x) + STEPS
    run = jax.jit(lambda x: jax.lax.fori_loop(0, STEPS, lambda _, s: ours(s), x), compiler_options=graph)
    np.testing.assert_array_equal(run(x), expected)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
