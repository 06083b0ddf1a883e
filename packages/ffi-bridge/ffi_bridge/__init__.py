"""Kernels written in Python as native JAX operations: no Python and no GIL at call time."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from ffi_bridge import debug as debug
from ffi_bridge import export as export
from ffi_bridge import kernel_cache as kernel_cache
from ffi_bridge.graph import graph_options as graph_options
from ffi_bridge.operators.kernel import XLACustomKernel as XLACustomKernel
from ffi_bridge.operators.kernel import get_operator as get_operator
from ffi_bridge.operators.kernel import get_operators as get_operators
from ffi_bridge.operators.kernel import use_backend as use_backend

# Type checkers do not look into `__getattr__`: for them the lazy names stand here.
if TYPE_CHECKING:
    from ffi_bridge import emulated as emulated
    from ffi_bridge.native.handler_kernel import handler_kernel as handler_kernel
    from ffi_bridge.numba_cpu.function import numba_function as numba_function
    from ffi_bridge.numba_cpu.kernel import numba_kernel as numba_kernel
    from ffi_bridge.numba_cuda.kernel import numba_cuda_callable as numba_cuda_callable
    from ffi_bridge.numba_cuda.kernel import numba_cuda_kernel as numba_cuda_kernel
    from ffi_bridge.warp.kernel import warp_callable as warp_callable
    from ffi_bridge.warp.kernel import warp_kernel as warp_kernel
    from ffi_bridge.warp.parameters import jaxinfo_to_warpinfo as jaxinfo_to_warpinfo
    from ffi_bridge.warp.parameters import jaxtype_to_warptype as jaxtype_to_warptype

__version__ = "0.1.0"

__all__ = [
    "XLACustomKernel",
    "debug",
    "emulated",
    "export",
    "get_operator",
    "get_operators",
    "graph_options",
    "handler_kernel",
    "jaxinfo_to_warpinfo",
    "jaxtype_to_warptype",
    "kernel_cache",
    "numba_cuda_callable",
    "numba_cuda_kernel",
    "numba_function",
    "numba_kernel",
    "use_backend",
    "warp_callable",
    "warp_kernel",
]

# Names that are loaded at first use, with the extra that they need: `import ffi_bridge` loads neither
# Numba nor Warp, nor a wrapper. A name is an attribute of its module, or that module itself.
_LAZY = {
    "emulated": ("ffi_bridge.emulated", "emulated"),
    "handler_kernel": ("ffi_bridge.native.handler_kernel", ""),
    "numba_function": ("ffi_bridge.numba_cpu.function", "numba"),
    "numba_kernel": ("ffi_bridge.numba_cpu.kernel", "numba"),
    "numba_cuda_callable": ("ffi_bridge.numba_cuda.kernel", "cuda12"),
    "numba_cuda_kernel": ("ffi_bridge.numba_cuda.kernel", "cuda12"),
    "warp_callable": ("ffi_bridge.warp.kernel", "warp"),
    "warp_kernel": ("ffi_bridge.warp.kernel", "warp"),
    "jaxinfo_to_warpinfo": ("ffi_bridge.warp.parameters", "warp"),
    "jaxtype_to_warptype": ("ffi_bridge.warp.parameters", "warp"),
}


def __getattr__(name: str) -> _Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, extra = _LAZY[name]
    try:
        loaded = _import_module(module)
        return loaded if module == f"{__name__}.{name}" else getattr(loaded, name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"ffi_bridge.{name} needs {error.name}, which is not installed; "
            f'pip install "ffi-bridge[{extra}]"',
            name=error.name,
        ) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
