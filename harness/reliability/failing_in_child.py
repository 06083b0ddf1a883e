"""Calls that fail, and how many bytes they leave in memory: `python failing_in_child.py KERNEL WAY CALLS`."""

import sys
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numba
import numpy as np
from misuse import RUN_ERRORS
from resident import resident

from ffi_bridge import numba_kernel

LIKE: Final = jax.ShapeDtypeStruct((2**18,), jnp.float32)
TEXT: Final = "long text " * 1000
WARM_UP: Final = 200


@numba.njit
def raises(x, out):
    if x[0] < 0:
        raise ValueError(TEXT)
    out[:] = x[0]


@numba.njit
def checked(value):
    if value < 0:
        raise ValueError(TEXT)
    return value


@numba.njit(parallel=True)
def raises_in_prange(x, out):
    for i in numba.prange(out.size):
        out[i] = checked(x[0])


def fail(call: Callable[[Any], Any], times: int) -> None:
    for _ in range(times):
        try:
            jax.block_until_ready(call(np.full(1, -1, "f")))
        except RUN_ERRORS as error:
            if "raised ValueError: long text " not in str(error):
                raise
        else:
            raise AssertionError("an exception was lost")


if __name__ == "__main__":
    name, way, calls = sys.argv[1:]
    f = numba_kernel(globals()[name], LIKE)
    call = jax.jit(lambda x: f(x) + 1) if way == "jit" else f
    fail(call, WARM_UP)
    before = resident()
    fail(call, int(calls))
    grown = resident() - before
    served = np.asarray(call(np.full(1, 3, "f")))
    assert (served == (4 if way == "jit" else 3)).all()
    print(grown)
