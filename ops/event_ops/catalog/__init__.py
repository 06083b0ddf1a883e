"""The operators: one folder each, found by `event_ops.discover`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from event_ops.rules.linear_inputs import tangents_in
from ffi_bridge import XLACustomKernel

# Operator -> the family whose files hold its kernels, and its oracle and cases unless its folder does.
FAMILIES: Final[dict[str, str]] = {}
_DEFINE: Final[Mapping[str, Callable[..., Any]]] = {
    "reference": XLACustomKernel.def_reference,
    "numba_cpu": XLACustomKernel.def_numba_kernel,
    "numba_cuda": XLACustomKernel.def_numba_cuda_kernel,
    "warp": XLACustomKernel.def_warp_kernel,
}
# Backends that sum by atomics on a GPU, which add to one place in whatever order they arrive.
_ATOMIC: Final = ("reference", "warp")


def define_operator(
    name: str,
    tags: str,
    *,
    family: str | None = None,
    linear: Sequence[int] = (),
    initial: int | None = None,
    has_atomics: bool = False,
) -> XLACustomKernel:
    """Return the kernel of an operator, each backend of which is a function that returns it on arrays.

    With a family, whose operators share loops, the function has the operator's name in
    `event_ops/kernels/<backend>/<family>.py`; cases and an oracle that its folder does not have are found by
    that name in `event_ops/cases/<family>.py` and `event_ops/kernels/oracle/<family>.py`. Without a family it
    is `build` in the backend's file of the operator's folder. No file is imported before a call needs it.
    The tables in event_ops/tuning choose between the backends, where they know the device.

    Args:
        name: the operator's name, and that of its folder.
        tags: words for what it is about.
        family: the files that have its backends.
        linear: positions of the inputs in each of which it is linear, from which tangents follow.
        initial: position of the input to which it adds, if any.
        has_atomics: sums are in an order that is open on a GPU: two backends lack `deterministic=True` there.
    """
    kernel = XLACustomKernel(name)
    kernel.def_tags(*tags.split())
    if family is not None:
        FAMILIES[name] = family
    for backend, define in _DEFINE.items():
        options: dict[str, Any] = {}
        if has_atomics and backend in _ATOMIC:
            options["lacks_on_gpu"] = ("deterministic=True",)
        own = f"{__name__}.{name}.{backend}:build"
        place = own if family is None else f"event_ops.kernels.{backend}.{family}:{name}"
        define(kernel, place, **options)
    kernel.def_tuning("event_ops:tuning")
    if linear:
        kernel.def_jvp_rule(tangents_in(kernel, *linear, initial=initial))
    return kernel
