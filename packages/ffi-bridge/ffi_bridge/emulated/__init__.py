"""Emulate a GPU: compile CUDA kernels of Numba, Warp and Triton to PTX, check it, run it on the CPU."""

import contextlib
import importlib
from typing import Final

from ffi_bridge.cuda.driver import chosen_driver, use_driver
from ffi_bridge.emulated.driver import Counted, EmulatedDriver

__all__ = ["Counted", "EmulatedDriver", "emulate_gpu"]

BACKENDS: Final = ("numba_cuda", "triton", "warp")


def emulate_gpu(capability: tuple[int, int] = (9, 0)) -> EmulatedDriver:
    """Run CUDA kernels of this process on JAX's CPU from now on, by the PTX that their compiler makes.

    Everything but the launch is as on a GPU: kernels of numba-cuda, numba-cuda-mlir, Warp and Triton are
    compiled for `capability`, those of Numba to machine code, too, with its errors, and the native handler
    packs every parameter. `ptx_on_cpu` compiles the PTX for the CPU and runs it: barriers, shared memory,
    atomics and warps do what they do. An access out of bounds, to an address that is not aligned, or that
    writes to an input, and threads that wait for ever make the call fail; the error names the kernel, the
    thread, the argument and the line of the source. With the driver's `seed`, blocks and threads run in
    another order at every launch; `checks = ptx_on_cpu.Checks(initialised=True, races=True)` finds more.

    Operators that JAX's CPU calls have their backends for a GPU there, too: ask for one by name, or with
    `use_backend`. The driver's `backends` lists them, and may be changed.

    Returns:
        The driver, the same one for further calls; `launches` lists its launches so far, in order.

    Raises:
        RuntimeError: a CUDA kernel was compiled before, for a GPU or for another `capability`.
    """
    driver = chosen_driver()
    if isinstance(driver, EmulatedDriver) and driver.capability == capability:
        return driver
    driver = EmulatedDriver(capability)
    use_driver(driver)
    driver.backends = BACKENDS
    # Calls of jax-triton run here, too, where it is installed with the plugin of JAX that it needs; where
    # they have another form, JAX says that they do not run on its CPU.
    with contextlib.suppress(ImportError, AttributeError):
        importlib.import_module("ffi_bridge.emulated.triton")
    return driver
