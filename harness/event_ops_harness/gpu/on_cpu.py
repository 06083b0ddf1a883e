"""Backends for a GPU on JAX's CPU, where an emulated GPU runs their kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from event_ops.discover import Operator


@contextmanager
def gpu_backend_on_cpu(operator: Operator, backend: str) -> Iterator[None]:
    """Have the operator's kernel for a GPU run on JAX's CPU within the block."""
    kernels = operator.kernel.backends
    own = kernels["cpu"].get(backend)
    kernels["cpu"][backend] = replace(kernels["gpu"][backend], platform="cpu")
    try:
        yield
    finally:
        if own is None:
            del kernels["cpu"][backend]
        else:
            kernels["cpu"][backend] = own
