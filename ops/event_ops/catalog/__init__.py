"""The operators: one folder each, found by `event_ops.discover`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ffi_bridge import XLACustomKernel

# What backends lack on a GPU whose atomics add to one place in whatever order they arrive.
NONDETERMINISTIC_ON_GPU: Final = {"reference": ("deterministic=True",), "warp": ("deterministic=True",)}
# Operator -> the family whose files hold its kernels, and its oracle and cases unless its folder does.
FAMILIES: Final[dict[str, str]] = {}
_DEFINE: Final[Mapping[str, Callable[..., Any]]] = {
    "reference": XLACustomKernel.def_reference,
    "numba_cpu": XLACustomKernel.def_numba_kernel,
    "numba_cuda": XLACustomKernel.def_numba_cuda_kernel,
    "warp": XLACustomKernel.def_warp_kernel,
}


def define_backends(
    kernel: XLACustomKernel,
    *backends: str,
    family: str | None = None,
    lacks_on_gpu: Mapping[str, Sequence[str]] = {},
) -> None:
    """Define each of `backends` by a function that returns the operator as a function of arrays.

    With a family, whose operators share loops, the function has the operator's name in
    `event_ops/kernels/<backend>/<family>.py`; cases and an oracle that its folder does not have are found by
    that name in `event_ops/cases/<family>.py` and `event_ops/kernels/oracle/<family>.py`. Without a family it
    is `build` in the backend's file of the operator's folder. No file is imported before a call needs it.
    The tables in event_ops/tuning choose between the backends, where they know the device. backends: all four
    unless some are named. lacks_on_gpu: backend -> what it cannot do there.
    """
    if family is not None:
        FAMILIES[kernel.name] = family
    for backend in backends or _DEFINE:
        options: dict[str, Any] = {"lacks_on_gpu": lacks_on_gpu[backend]} if backend in lacks_on_gpu else {}
        own = f"{__name__}.{kernel.name}.{backend}:build"
        place = own if family is None else f"event_ops.kernels.{backend}.{family}:{kernel.name}"
        _DEFINE[backend](kernel, place, **options)
    kernel.def_tuning("event_ops:tuning")
