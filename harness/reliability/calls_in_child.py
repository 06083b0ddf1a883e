"""Many Python threads call a serial and a parallel kernel: `python calls_in_child.py THREADS CALLS`.

Every result is compared. Prints Numba's threading layer, and how many calls there were.
"""

import sys

import jax
import jax.numpy as jnp
import numba
import numpy as np
from parallel_kernels import add_parallel, add_serial, in_threads

from ffi_bridge import numba_kernel

if __name__ == "__main__":
    threads, calls = map(int, sys.argv[1:])
    out = jax.ShapeDtypeStruct((256,), jnp.float32)
    x = np.arange(256, dtype="f")
    functions = [jax.jit(numba_kernel(kernel, out)) for kernel in (add_serial, add_parallel)]

    def work(thread: int) -> None:
        for call in range(calls):
            y = np.float32(thread) + x
            result = functions[call % 2](x, y)
            assert (np.asarray(result) == x + y).all(), (thread, call)

    in_threads(threads, work)
    print(numba.threading_layer(), threads * calls)
