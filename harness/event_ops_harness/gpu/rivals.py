"""Other libraries that launch CUDA kernels from JAX, where installed; what fails says so in its row."""

# Warp's annotations are calls.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

Step = Callable[[Any], Any]


def measured(name: str, figure: Callable[[], float]) -> dict[str, Any]:
    """Return one row: the figure, or the error in its place."""
    try:
        return {name: figure()}
    except Exception as error:  # whatever a rival raises, the other rows stand
        return {name: f"failed: {type(error).__name__}: {str(error)[:200]}"}


def launch_rivals(kernel: Any, size: int) -> Mapping[str, Callable[[], Step]]:
    """Return, by name, makers of `x + 1` for `size` floats by one launch; `kernel` is that of numba-cuda.

    BrainEvent's bridge needs a name that NumPy 2.5 dropped, which ffi_bridge puts back.
    """

    def by_brainevent() -> Step:
        be = importlib.import_module("brainevent")
        return be.numba_cuda_kernel(kernel, jax.ShapeDtypeStruct((size,), jnp.float32), launch_dims=size)

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


def event_rival(parts: Any, n: int) -> Step:
    """Make BrainEvent's `spikes @ A`, on the CUDA kernel that it chooses."""
    be = importlib.import_module("brainevent")
    held = be.CSR(parts, shape=(n, n))
    return jax.jit(lambda spikes: be.BinaryArray(spikes) @ held)
