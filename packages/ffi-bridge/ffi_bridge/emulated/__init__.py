"""A GPU made of Python: CUDA kernels run on a CPU machine, slowly, to test what they compute."""

from __future__ import annotations

from ffi_bridge.cuda.driver import use_driver
from ffi_bridge.emulated.driver import EmulatedDriver


def emulate_gpu(capability: tuple[int, int] = (9, 0)) -> EmulatedDriver:
    """From now on, CUDA kernels of this process run on JAX's CPU, in Python, thread by thread.

    All but the launch is what a GPU gets: kernels are compiled to machine code of `capability` (errors show),
    and the native handler packs every parameter. Blocks run one after another; barriers, shared memory,
    atomics and warp operations work; an index out of range makes the call fail. For small cases only. The
    driver's `turns = random.Random(seed)` lets blocks and threads run in another order at every launch: what
    then varies depends on it.

    Returns:
        The driver; its `launches` are those so far, in order.

    Raises:
        RuntimeError: a CUDA kernel was compiled before.
    """
    driver = EmulatedDriver(capability)
    use_driver(driver)
    return driver
