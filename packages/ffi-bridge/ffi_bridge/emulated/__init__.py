"""A GPU made of Python: CUDA kernels run on a CPU machine, slowly, to test what they compute."""

from __future__ import annotations

from ffi_bridge.cuda.driver import use_driver
from ffi_bridge.emulated.driver import EmulatedDriver


def emulate_gpu(capability: tuple[int, int] = (9, 0)) -> EmulatedDriver:
    """Run CUDA kernels of this process on JAX's CPU from now on, in Python, thread by thread.

    Everything but the launch is as on a GPU: kernels are compiled to machine code of `capability`, with its
    errors, and the native handler packs every parameter. Blocks run one after another; barriers, shared
    memory, atomics and warp operations work; an index out of range makes the call fail. It is slow: use small
    cases. With the driver's `turns = random.Random(seed)`, blocks and threads run in another order at every
    launch, so that a race shows as results that vary.

    Returns:
        The driver; `launches` lists its launches so far, in order.

    Raises:
        RuntimeError: a CUDA kernel was compiled before.
    """
    driver = EmulatedDriver(capability)
    use_driver(driver)
    return driver
