"""CUDA kernels where no GPU can be seen."""

from collections.abc import Callable
from typing import Any

import jax
from bad_cuda_kernels import copy
from misuse import Misuse, called
from misuse_cuda import OUT, ROWS, X
from misuse_cuda_callable import copies

from ffi_bridge import numba_cuda_callable, numba_cuda_kernel
from ffi_bridge.errors import BackendUnavailableError

ENV = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
WRAPPERS: dict[str, Callable[[], Any]] = {
    "a kernel": lambda: numba_cuda_kernel(copy, OUT, launch_dims=8),
    "a function": lambda: numba_cuda_callable(copies, OUT),
}

CASES = tuple(
    Misuse(f"{name}, {way}", act, "needs an NVIDIA GPU", BackendUnavailableError)
    for name, wrap in WRAPPERS.items()
    for way, act in (
        ("called", called(wrap, X)),
        ("traced", lambda wrap=wrap: jax.eval_shape(wrap(), X)),
        ("vmapped", lambda wrap=wrap: jax.vmap(wrap())(ROWS)),
    )
)
