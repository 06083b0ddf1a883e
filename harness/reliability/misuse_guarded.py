"""Kernels that leave their arrays, compiled to look at every index, or between canaries in the debug mode."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from misuse import RUN_ERRORS, Misuse

from ffi_bridge import numba_kernel

ENV = {"FFI_BRIDGE_DEBUG": "1"}


@numba.njit(boundscheck=True)
def reads_behind(x, out):
    out[0] = x[x.size]


@numba.njit(boundscheck=True)
def reads_before(x, out):
    out[0] = x[-x.size - 1]


@numba.njit(boundscheck=True)
def writes_behind(x, out):
    for i in range(x.size):
        out[i] = x[i]


@numba.njit(boundscheck=True)
def writes_before(x, out):
    out[-out.size - 1] = 1


@numba.njit(boundscheck=True)
def trusts_its_indices(x, out):
    for i in range(out.size):
        out[i] = x[int(x[i])]


@numba.njit
def unchecked(x, out):
    out[out.size] = 1


BEYOND = "IndexError: index is out of bounds"
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "vmap": lambda f: lambda x: jax.vmap(f)(np.stack([x, x])),
}
WRONG = {
    reads_behind: (BEYOND, 5),
    reads_before: (BEYOND, 5),
    writes_behind: (BEYOND, 5),
    writes_before: (BEYOND, 5),
    trusts_its_indices: (BEYOND, 3),
    unchecked: ("kernel 'unchecked' wrote behind its output 'out'", 5),
}


def _call(kernel: Any, way: str, size: int) -> Callable[[], object]:
    out = jax.ShapeDtypeStruct((3,), jnp.float32)
    return lambda: WAYS[way](numba_kernel(kernel, out))(np.full(size, 7, "f"))


CASES = tuple(
    Misuse(f"{kernel.__name__}, {way}", _call(kernel, way, size), match, RUN_ERRORS, slow=way == "jit")
    for kernel, (match, size) in WRONG.items()
    for way in WAYS
)
