"""numba-cuda-mlir, numba-cuda's successor, as a compiler, and all its inner names that the bridge uses.

Imported once a process has kernels of it: no other module names the package.
"""

# pyright: reportMissingImports=false
# Types are checked also where the package is not installed.

import enum
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numba_cuda_mlir
import numpy as np

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native.private_api import look_up, private_api, replaced
from ffi_bridge.numba_cuda.toolchain import ArgumentType, Capability, Compiled, Compiler, numba_type

TESTED: Final = (0, 6)

with private_api("numba-cuda-mlir", numba_cuda_mlir.__version__, TESTED):
    from numba_cuda_mlir import cuda
    from numba_cuda_mlir import tools as _tools
    from numba_cuda_mlir import types as _types
    from numba_cuda_mlir._mlir import ir as _ir
    from numba_cuda_mlir._mlir.dialects import arith, memref
    from numba_cuda_mlir.descriptor import MLIRDispatcher
    from numba_cuda_mlir.extending import intrinsic, refresh_registries
    from numba_cuda_mlir.mlir_optimization import get_ptx
    from numba_cuda_mlir.numba_cuda.core import config
    from numba_cuda_mlir.numba_cuda.core.errors import NumbaDebugInfoWarning, NumbaError
    from numba_cuda_mlir.numba_cuda.np.numpy_support import from_dtype

    look_up(_tools, "_cached_cc", "format_arch")

# Modules whose names are not declared; one of the names is replaced below.
tools: Any = _tools
types: Any = _types
ir: Any = _ir

# Options of an entry point alone.
_OF_A_KERNEL: Final = ("launch_bounds", "max_registers", "ptxas_options", "shared_memory_carveout")


@intrinsic
def element(context: Any, array: Any, i: Any) -> Any:
    """Return element i of an array as a 0-d array, which `array[i]` would read."""
    single = types.Array(array.dtype, 0, "C", readonly=not array.mutable)

    def emit(builder: Any, target: Any, arguments: Any, _: Any) -> None:
        whole, place = map(builder.load_var, arguments)
        start = memref.extract_strided_metadata(whole)[1]
        result = memref.reinterpret_cast(
            builder.get_mlir_type(single),
            whole,
            offsets=[arith.addi(start, arith.index_cast(ir.IndexType.get(), place))],
            sizes=[],
            strides=[],
            static_offsets=[ir.ShapedType.get_dynamic_stride_or_offset()],
            static_sizes=[],
            static_strides=[],
        )
        builder.store_var(target, result)

    return single(array, i), emit


# A compiler that has run before would not know `element`.
refresh_registries(target=False, include_uninitialized_cuda=False)


class NumbaCudaMlir(Compiler):
    """Numba types, then MLIR, then NVVM."""

    version = f"numba-cuda-mlir {numba_cuda_mlir.__version__}"
    config: Any = config
    cuda: Any = cuda
    dispatcher: type = MLIRDispatcher
    # Its type checker's, those for what it does not support, its assertions, and the one at `x += ...` of a
    # read-only array.
    errors: tuple[type[Exception], ...] = (NumbaError, RuntimeError, AssertionError, AttributeError)
    element: Any = element

    def compile(
        self, kernel: Any, arguments: Sequence[ArgumentType], capability: Capability, with_ptx: bool = False
    ) -> Compiled:
        """Compile by a second dispatcher: the kernel's keeps its code for the current device."""
        chip, kernel_chip = tools.format_arch(capability), kernel.targetoptions.get("chip") or ""
        options = {**kernel.targetoptions, "cc": None, "shared_memory_carveout": None}
        options["chip"] = (
            kernel_chip if kernel_chip.rstrip("af") == chip else chip
        )  # the kernel's own may be `sm_90a`
        if with_ptx and not options.get("debug"):  # which has line numbers
            options["lineinfo"] = True
        dispatcher: Any = MLIRDispatcher(kernel.py_func, options)
        with replaced(tools, _cached_cc=capability), warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaDebugInfoWarning)  # that generated code has no file
            result = dispatcher.compile(tuple(numba_type(x, types, from_dtype) for x in arguments))
            ptx = get_ptx(result).encode() if with_ptx else b""
        metadata = result.metadata
        if dispatcher._module_setup_callbacks:
            raise KernelTypeError(
                f"kernel '{kernel.__name__}' is to be set up by a callback when it is loaded, and native "
                "handlers call none; link code without setup_callback, and leave NUMBA_CUDA_ENABLE_NRT unset"
            )
        return Compiled(
            bytes(metadata["cubin"]), metadata["func_name"], bool(metadata.get("use_cooperative")), ptx
        )

    def device_function(self, kernel: Any) -> Any:
        options = {**kernel.targetoptions, **dict.fromkeys(_OF_A_KERNEL), "device": True}
        # numba-cuda-mlir 0.6 loses the shared memory of functions that it inlines later.
        options["inline"] = "always"
        return MLIRDispatcher(kernel.py_func, options)

    def like(self, kernel: Any, function: Callable[..., None]) -> Any:
        """Give `function` the options of `kernel`, which were checked when its decorator ran."""
        return MLIRDispatcher(function, dict(kernel.targetoptions))

    def takes_constant(self, value: Any) -> bool:
        """Return whether it is no dtype and no member of an enum, at which numba-cuda-mlir 0.6 fails."""
        if isinstance(value, tuple):
            return all(map(self.takes_constant, value))
        kinds = bool | int | float | complex | str | np.number | np.bool_ | None
        return isinstance(value, kinds) and not isinstance(value, enum.Enum)

    def array(self, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> list[int | None]:
        """Return MLIR's memref: addresses of memory and elements, offset, shape, strides in elements."""
        return [None, None, 0, *shape, *(stride // itemsize for stride in strides)]

    def number(self, value: Any) -> list[bytes]:
        """Return the one parameter of a number."""
        return [value.tobytes()]


COMPILER: Final = NumbaCudaMlir()
