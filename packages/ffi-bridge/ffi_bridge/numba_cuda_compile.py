"""Compile a numba-cuda kernel for a GPU, whether or not this machine has one.

The one place that knows the inside of numba-cuda: its compiler, its options, its layout of arguments.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Sequence
from types import SimpleNamespace
from typing import Any, Final

import numba_cuda
import numpy as np
from numba import cuda, types
from numba.core.errors import NumbaError
from numba.cuda import codegen as _codegen
from numba.cuda import dispatcher as _dispatcher
from numba.np.numpy_support import from_dtype

from ffi_bridge.abi import DTYPES
from ffi_bridge.cuda_driver import Cubin
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.fingerprint import fingerprint

VERSION: Final = numba_cuda.__version__

# numba-cuda 0.30 reads a name, when it first compiles, that NumPy 2.5 no longer has.
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # pyright: ignore[reportAttributeAccessIssue]

# Numba's compiler is asked for another device than the current one, which is state of its modules.
_compiling: Final = threading.RLock()

# Modules whose names are replaced below, and whose inside is used.
codegen: Any = _codegen
dispatcher: Any = _dispatcher

_cubins: Final[dict[object, Cubin]] = {}

# Options of a kernel that mean the same for a device function made of its body.
_DEVICE_OPTIONS: Final = ("debug", "lineinfo", "opt", "fastmath", "lto", "link")


def is_dispatcher(kernel: Any) -> bool:
    """Whether `kernel` is a function decorated with `@cuda.jit`, not a device function."""
    return isinstance(kernel, dispatcher.CUDADispatcher) and not kernel.targetoptions.get("device")


def array_type(kernel: str, name: str, dtype: Any, ndim: int, readonly: bool) -> types.Array:
    """Numba's type of a C-contiguous buffer; raises KernelTypeError for a dtype that kernels cannot have."""
    known = [*DTYPES, np.dtype(np.float16)]
    if np.dtype(dtype) not in known:
        raise KernelTypeError(
            f"kernel '{kernel}': argument '{name}' has dtype {dtype}, which numba-cuda kernels cannot have; "
            f"cast it before the call (supported: {', '.join(map(str, known))})"
        )
    return types.Array(from_dtype(np.dtype(dtype)), ndim, "C", readonly=readonly)


def compile_kernel(kernel: Any, arguments: Sequence[types.Type], capability: tuple[int, int]) -> Cubin:
    """Machine code of a kernel for these arguments, with the options of its `@cuda.jit`."""
    key = (fingerprint(kernel), tuple(map(str, arguments)), capability)
    with _compiling:
        if key not in _cubins:
            _cubins[key] = _compile(kernel, arguments, capability)
        return _cubins[key]


def _compile(kernel: Any, arguments: Sequence[types.Type], capability: tuple[int, int]) -> Cubin:
    try:
        compiled = _compiled(kernel, arguments, capability)
    except NumbaError as error:
        raise KernelTypeError(_explain(kernel, arguments, capability, error)) from error
    if compiled.cooperative:
        raise KernelTypeError(
            f"kernel '{kernel.__name__}' synchronises its whole grid, which needs a cooperative launch; "
            "split it into two kernels"
        )
    with _for_device(capability):
        code = bytes(compiled._codelibrary.get_cubin(capability).code)
    return Cubin(code, compiled.entry_name, kernel, tuple(arguments))


def _compiled(kernel: Any, arguments: Sequence[types.Type], capability: tuple[int, int]) -> Any:
    with _for_device(capability):
        return dispatcher._Kernel(kernel.py_func, tuple(arguments), **kernel.targetoptions)


def device_function(kernel: Any) -> Any:
    """The body of a kernel as a function that another kernel can call."""
    options = {name: kernel.targetoptions[name] for name in _DEVICE_OPTIONS if name in kernel.targetoptions}
    return cuda.jit(device=True, **options)(kernel.py_func)


@contextlib.contextmanager
def _for_device(capability: tuple[int, int]) -> Generator[None]:
    """Numba compiles for this compute capability, and asks no driver for the current device."""
    current, ensure = dispatcher.get_current_device, codegen.CUDACodeLibrary._ensure_cc
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    codegen.CUDACodeLibrary._ensure_cc = lambda self, cc: cc or capability
    try:
        yield
    finally:
        dispatcher.get_current_device, codegen.CUDACodeLibrary._ensure_cc = current, ensure


def _explain(
    kernel: Any, arguments: Sequence[types.Type], capability: tuple[int, int], error: NumbaError
) -> str:
    if "readonly" in str(error) and _compiles_writable(kernel, arguments, capability):
        head = (
            f"kernel '{kernel.__name__}' writes into an input; inputs are read-only: write into an output, "
            "or alias the two with input_output_aliases"
        )
    else:
        head = f"kernel '{kernel.__name__}' does not compile for ({', '.join(map(str, arguments))})"
    return f"{head}\n{error}"


def _compiles_writable(kernel: Any, arguments: Sequence[types.Type], capability: tuple[int, int]) -> bool:
    """Whether the kernel compiles where it may write to every array."""
    writable = [kind.copy(readonly=False) if isinstance(kind, types.Array) else kind for kind in arguments]
    try:
        _compiled(kernel, writable, capability)
    except NumbaError:
        return False
    return True
