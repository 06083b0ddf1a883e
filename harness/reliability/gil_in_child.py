"""The longest pause of a Python thread while a kernel runs on another: `python gil_in_child.py KERNEL WAY`.

Prints it as a part of the time that the kernel took.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge import numba_kernel

LANES, STEPS = 8, 20_000_000


@numba.njit
def spin_serial(x, out):
    for i in range(out.size):
        s = x[0]
        for _ in range(STEPS):
            s = np.float32(s * np.float32(0.999) + np.float32(0.5))
        out[i] = s


@numba.njit(parallel=True)
def spin_parallel(x, out):
    for i in numba.prange(out.size):
        s = x[0]
        for _ in range(STEPS):
            s = np.float32(s * np.float32(0.999) + np.float32(0.5))
        out[i] = s


@numba.njit
def spin_and_raise(x, out):
    spin_serial(x, out)
    if out[0] > 0:
        raise ValueError("after a long time")


WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "scan": lambda f: jax.jit(lambda x: jax.lax.scan(lambda c, _: (c, f(c)), x, None, length=1)[1]),
}


class LongestPause(threading.Thread):
    """Python code that notes how long it was kept from running."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seconds, self._ended = 0.0, False

    def run(self) -> None:
        last = time.perf_counter()
        while not self._ended:
            now = time.perf_counter()
            self.seconds, last = max(self.seconds, now - last), now

    def end(self) -> None:
        self._ended = True
        self.join()


def _finish(call: Callable[[Any], Any], x: Any) -> float:
    """How long it took, whatever came of it."""
    started = time.perf_counter()
    try:
        jax.block_until_ready(call(x))
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if "after a long time" not in str(error):
            raise
    return time.perf_counter() - started


if __name__ == "__main__":
    kernel, way = sys.argv[1:]
    f = numba_kernel(globals()[kernel], jax.ShapeDtypeStruct((LANES,), jnp.float32))
    call = WAYS[way](f)
    _finish(call, jnp.ones(1))  # compiles
    pause = LongestPause()
    pause.start()
    took = _finish(call, jnp.ones(1))
    pause.end()
    assert took > 0.2, f"the kernel ran for {took} s only: too short to tell"
    print(pause.seconds / took)
