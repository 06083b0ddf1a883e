"""Time a launch: ours in a loop, with and without a CUDA graph, beside XLA's own addition.

The floor is `cuLaunchKernel` of the same kernel in a loop of machine code.
"""

# Warp's annotations are calls.
# pyright: reportInvalidTypeForm=false

import ctypes
import importlib
import json
import struct
from collections.abc import Callable
from functools import cache, partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from numba import cuda

from event_ops_harness.gpu.kernels import Work, looped, made, us_per_call
from ffi_bridge import graph_options, numba_cuda_kernel
from ffi_bridge.cuda import cuda_driver
from ffi_bridge.numba_cuda import array_type, compile_kernel

Step = Callable[[Any], Any]

# Little work, so that the launch is most of it.
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


# cuLaunchKernel: the kernel, blocks, threads, bytes of shared memory, stream, parameters, more of them.
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[ctypes.c_uint] * 7, *[ctypes.c_size_t] * 3)


def bare() -> Work:
    """Return STEPS launches in a loop without XLA, until the device has done them all."""
    driver = cuda_driver()
    array = array_type("add_one", "x", np.dtype(np.float32), 1, readonly=False)
    kernel = driver.load(compile_kernel(add_one, [array, array], driver.capability), 0)
    x = jnp.zeros(N, jnp.float32).block_until_ready()
    # An array of Numba: two pointers that kernels ignore, size, bytes of an element, address, shape, strides.
    words = [0, 0, N, 4, x.unsafe_buffer_pointer(), N, 4]
    content = ctypes.create_string_buffer(struct.pack("<14q", *words, *words))
    base = ctypes.addressof(content)
    # A parameter is given by its address, and an array of Numba is seven parameters.
    table = (ctypes.c_void_p * 14)(*(base + 8 * i for i in range(14)))
    cuda_library = ctypes.CDLL("libcuda.so.1")
    # To wait for the device this thread needs the context that XLA's threads have.
    context = ctypes.c_void_p()
    cuda_library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda_library.cuCtxPushCurrent_v2(context)

    launch = LAUNCH(driver.functions().launch)

    @numba.njit
    def bare_loop(kernel: int, parameters: int, times: int) -> int:
        status = 0
        for _ in range(times):
            status |= launch(kernel, N // BLOCK, 1, 1, BLOCK, 1, 1, 0, 0, parameters, 0)
        return status

    # The memory that the parameters are in, and point to, lives as long as the work.
    def work(_: Any = (content, x)) -> int:
        status = bare_loop(kernel, ctypes.addressof(table), STEPS)
        status |= cuda_library.cuCtxSynchronize()
        if status:
            raise RuntimeError(f"cuLaunchKernel failed with {status}")
        return status

    return work


def rivals(size: int) -> dict[str, Callable[[], Step]]:
    """Return, by name, makers of `x + 1` for `size` floats by one launch of another bridge.

    BrainEvent's bridge needs a name that NumPy 2.5 dropped, which ffi_bridge puts back.
    """

    def by_brainevent() -> Step:
        be = importlib.import_module("brainevent")
        return be.numba_cuda_kernel(add_one, jax.ShapeDtypeStruct((size,), jnp.float32), launch_dims=size)

    return {"BrainEvent's bridge": by_brainevent, "Warp's jax_kernel": warp_step}


def warp_step() -> Step:
    """Make `x + 1` with Warp's own bridge to JAX."""
    wp = importlib.import_module("warp")

    @wp.kernel(enable_backward=False)
    def add_one(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
        i = wp.tid()
        y[i] = x[i] + 1.0

    run = wp.jax_kernel(add_one)
    return lambda x: run(x)[0]


def jitted(step: Step, x: jax.Array) -> Work:
    """Return one jitted call of a step."""
    call = jax.jit(step)
    return lambda: call(x)


def several(step: Step) -> Step:
    """Return IN_A_STEP of the steps, one after another."""
    return lambda x: reduce(lambda x, _: step(x), range(IN_A_STEP), x)


def programs(x: jax.Array) -> dict[str, tuple[Callable[[], Work], int]]:
    """Return, by name, makers of the works to be timed, and how many launches each has."""
    out, graph = jax.ShapeDtypeStruct((N,), jnp.float32), graph_options()
    ours = numba_cuda_kernel(add_one, out, launch_dims=N)
    in_place = numba_cuda_kernel(add_one, out, launch_dims=N, input_output_aliases={0: 0})
    # XLA would fuse additions of several steps into one kernel: an optimisation barrier keeps them apart.
    xla: Step = lambda x: jax.lax.optimization_barrier(x + 1)  # noqa: E731
    makers: dict[str, tuple[Callable[[], Work], int]] = {"bare cuLaunchKernel, us": (bare, STEPS)}
    for name, step in (("ours", ours), ("ours in place", in_place), ("XLA add", xla)):
        for where, options in (("a loop", {}), ("a graph", graph)):
            makers[f"{name} in {where}, us a step"] = partial(looped, step, x, STEPS, options), STEPS
    for name, step in (("ours", in_place), ("XLA add", xla)):
        make = partial(looped, several(step), x, STEPS, {})
        makers[f"{name}, one of ten in a step, us"] = make, STEPS * IN_A_STEP
    for name, step in (("ours", ours), ("XLA add", lambda x: x + 1)):
        makers[f"{name}, one jitted call, us"] = partial(jitted, step, x), 1
    for name, make in rivals(N).items():
        step = cache(make)  # made within `made`, so that a rival that cannot be says why in its rows
        loop = lambda step=step: looped(step(), x, RIVAL_STEPS, {})  # noqa: E731
        makers[f"{name} in a loop, us a step"] = loop, RIVAL_STEPS
        makers[f"{name}, one jitted call, us"] = (lambda step=step: jitted(step(), x)), 1
    return makers


def main() -> None:
    """Print the figures as one line of JSON."""
    x = jnp.zeros(N, jnp.float32)
    timed = programs(x)
    works, failed = made({name: make for name, (make, _) in timed.items()})
    figures = {name: us / timed[name][1] for name, us in us_per_call(works).items()}
    np.testing.assert_array_equal(works["ours in a graph, us a step"](), np.asarray(x) + STEPS)
    print(json.dumps(figures | failed))


if __name__ == "__main__":
    main()
