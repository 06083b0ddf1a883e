"""numba-cuda as a compiler, and all its inner names that the bridge uses.

These are modules, its options, the parts of its dispatcher, and the order in which a kernel takes an array.
Its types guard neither atomics nor `x.flat[i]`: the arrays that a kernel stores to are found in its PTX.
"""

import contextlib
import math
import re
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any, Final
from weakref import WeakSet

import numba_cuda
import numpy as np
from numba import NumbaError, cuda, from_dtype, types

from ffi_bridge.native.private_api import look_up, private_api, replaced
from ffi_bridge.numba_cuda.toolchain import (
    ArgumentType,
    ArrayType,
    Capability,
    Compiled,
    Compiler,
    numba_type,
)

_PARAMETER: Final = re.compile(r"ld\.param\.[ub]64\s+(%\w+), \[\w+_param_(\d+)\]")
_STORE: Final = re.compile(r"\b(?:st|red|atom)\.(?!param|local|shared)[\w.:]+\s.*?\[(%\w+)(?:\+-?\d+)?\]")
_REGISTERS: Final = re.compile(r"%\w+")
_LABELS: Final = re.compile(r"\$L__BB\w+")
_PLACED_LABELS: Final = re.compile(r"^(\$L__BB\w+):", re.MULTILINE)
_OTHERS: Final = re.compile(r"\s*(@!?%\w+\s+)?(ld|st|red|atom|setp|call|bra|ret)\b")


def stored_arrays(ptx: str, addresses: Mapping[int, int]) -> set[int]:
    """Return the arrays that an entry point certainly stores to; `addresses`: parameter -> array.

    An address is followed through registers, not through memory or functions that are called.
    """
    body = ptx[ptx.index(".entry") :].partition("\n}")[0]
    lines = [line for line in body.splitlines() if "%" in line and not line.lstrip().startswith(".reg")]
    of: dict[str, set[int]] = {}
    for register, parameter in _PARAMETER.findall(body):
        if int(parameter) in addresses:
            of[register] = {addresses[int(parameter)]}
    before = -1
    while before != (before := sum(map(len, of.values()))):
        for line in lines:
            if not _OTHERS.match(line):
                result, *sources = _REGISTERS.findall(line)
                if reached := set[int]().union(*(of.get(x, ()) for x in sources)):
                    of[result] = of.get(result, set()) | reached
    stored = (of.get(register, set()) for register in _STORE.findall("\n".join(lines)))
    # An address that may be of two arrays does not say which one is written.
    return {next(iter(arrays)) for arrays in stored if len(arrays) == 1}


def lacks_labels(ptx: str) -> bool:
    """Return whether PTX of NVVM branches to a label that it does not have."""
    return not set(_LABELS.findall(ptx)) <= set(_PLACED_LABELS.findall(ptx))


TESTED: Final = (0, 30)


@contextlib.contextmanager
def _row_stack() -> Generator[None]:
    """Within the block, let NumPy have a name that it dropped in 2.5 and numba-cuda 0.30 reads once."""
    names = np.__dict__
    lacks = "row_stack" not in names
    names.setdefault("row_stack", np.vstack)
    try:
        yield
    finally:
        if lacks:
            del names["row_stack"]


with private_api("numba-cuda", numba_cuda.__version__, TESTED), _row_stack():
    from numba.cuda import codegen as _codegen
    from numba.cuda import dispatcher as _dispatcher
    from numba.cuda.core import config  # pyright: ignore[reportMissingImports]
    from numba.cuda.core.errors import NumbaDebugInfoWarning  # pyright: ignore[reportMissingImports]
    from numba.cuda.extending import intrinsic
    from numba.cuda.np import arrayobj as arrayobj  # pyright: ignore[reportMissingImports]
    from numba.np.arrayobj import populate_array

    look_up(_dispatcher, "_Kernel", "CUDADispatcher", "get_current_device")
    look_up(_codegen, "CUDACodeLibrary")
    look_up(_codegen.CUDACodeLibrary, "_ensure_cc", "get_asm_str", "get_cubin", "get_lto_ptx")

# Modules without declared types; some of their names are replaced below.
codegen: Any = _codegen
dispatcher: Any = _dispatcher

# Options of a kernel that a device function with its body has, too.
_DEVICE_OPTIONS: Final = ("debug", "lineinfo", "opt", "fastmath", "lto", "link")

# Functions with the bodies of kernels, which generated code calls.
_inner: Final[WeakSet[Any]] = WeakSet()


@intrinsic
def element(context: Any, array: Any, i: Any) -> Any:
    """Return element i of an array as a 0-d array, which `array[i]` would read."""
    single = types.Array(array.dtype, 0, "C", readonly=not array.mutable)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(array)(context, builder, arguments[0])
        result = context.make_array(single)(context, builder)
        place = builder.gep(whole.data, [arguments[1]])
        populate_array(result, place, (), (), whole.itemsize, whole.meminfo)
        return result._getvalue()

    return single(array, i), emit


class NumbaCuda(Compiler):
    """Numba types, then LLVM's IR, then NVVM."""

    version = f"numba-cuda {numba_cuda.__version__}"
    config: Any = config
    cuda: Any = cuda
    dispatcher: type = dispatcher.CUDADispatcher
    # It raises the last two at `x += ...` of a read-only array.
    errors: tuple[type[Exception], ...] = (NumbaError, AttributeError, KeyError)
    element: Any = element

    def compile(
        self, kernel: Any, arguments: Sequence[ArgumentType], capability: Capability, with_ptx: bool = False
    ) -> Compiled:
        """Compile by parts of `kernel.compile`, which as a whole would ask for the current device."""
        kinds = tuple(numba_type(x, types, from_dtype) for x in arguments)

        def compiled(function: Any = kernel.py_func, **more: Any) -> Any:
            return dispatcher._Kernel(function, kinds, **(kernel.targetoptions | more))

        with _for_device(capability), warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaDebugInfoWarning)  # that generated code has no file
            built = compiled()
            code = bytes(built._codelibrary.get_cubin(capability).code)
            stored = stored_arrays(built._codelibrary.get_asm_str(capability), self._addresses(kinds))
            ptx = self._ptx(kernel.py_func, built, compiled, capability) if with_ptx else ""
        inputs = [i for i, x in enumerate(arguments) if isinstance(x, ArrayType) and x.readonly]
        written = tuple(i for i in inputs if i in stored)
        return Compiled(code, built.entry_name, bool(built.cooperative), ptx.encode(), written)

    def _ptx(self, function: Any, built: Any, compiled: Callable[..., Any], capability: Capability) -> str:
        """Return PTX with line numbers where they can be had, or with functions that are linked.

        nvJitLink links no functions, as those of float16 are, with line numbers. NVVM 13 at times loses a
        label where it writes them.
        """
        is_linked = bool(built._codelibrary._linking_files)
        if is_linked:
            again = compiled(lto=True)
        else:
            again = compiled() if built.debug else compiled(_with_lines(function), lineinfo=True)
        library = again._codelibrary
        ptx = library.get_lto_ptx(capability) if is_linked else library.get_asm_str(capability)
        if lacks_labels(ptx):
            return built._codelibrary.get_asm_str(capability)
        return ptx.replace(again.entry_name, built.entry_name)

    def device_function(self, kernel: Any) -> Any:
        options = {
            name: kernel.targetoptions[name] for name in _DEVICE_OPTIONS if name in kernel.targetoptions
        }
        inner = cuda.jit(device=True, **options)(kernel.py_func)
        _inner.add(inner)
        return inner

    def like(self, kernel: Any, function: Callable[..., None]) -> Any:
        options = {name: value for name, value in kernel.targetoptions.items() if name != "device"}
        return cuda.jit(**options)(function)

    def takes_constant(self, value: Any) -> bool:
        """Return True: an unknown constant is named by its type checker."""
        return True

    def _addresses(self, kinds: Sequence[types.Type]) -> dict[int, int]:
        """Return which parameter of the entry point has the address of which array."""
        first, by_parameter = 0, dict[int, int]()
        for i, kind in enumerate(kinds):
            if isinstance(kind, types.Array):
                words = self.array((1,) * kind.ndim, (1,) * kind.ndim, 1)
                by_parameter[first + words.index(None)] = i
                first += len(words)
            else:
                # numba-cuda passes the two parts of a complex number one by one.
                first += 2 if isinstance(kind, types.Complex) else 1
        return by_parameter

    def array(self, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> list[int | None]:
        """Return memory info, parent, size, size of an element, address, shape, strides in bytes."""
        return [0, 0, math.prod(shape), itemsize, None, *shape, *strides]

    def number(self, value: Any) -> list[bytes]:
        """Return two parameters of a complex number."""
        components = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
        return [component.tobytes() for component in components]


def _with_lines(function: FunctionType) -> FunctionType:
    """Return generated code that calls a kernel, with lines in the kernel; a kernel of a user as it is."""
    names = function.__globals__
    inner = {name: x for name, x in names.items() if isinstance(x, NumbaCuda.dispatcher) and x in _inner}
    if not inner:
        return function
    lined = {
        name: cuda.jit(**(x.targetoptions | {"lineinfo": True}))(_with_lines(x.py_func))
        for name, x in inner.items()
    }
    return FunctionType(function.__code__, {**names, **lined}, function.__name__)


@contextlib.contextmanager
def _for_device(capability: Capability) -> Generator[None]:
    """Within the block, in this thread, compile for this compute capability, and ask no driver for it."""
    current, ensure = dispatcher.get_current_device, codegen.CUDACodeLibrary._ensure_cc
    device, thread = SimpleNamespace(compute_capability=capability), threading.get_ident()

    def device_here() -> Any:
        return device if threading.get_ident() == thread else current()

    def ensure_here(self: Any, cc: Any) -> Any:
        return (cc or capability) if threading.get_ident() == thread else ensure(self, cc)

    library = codegen.CUDACodeLibrary
    with replaced(dispatcher, get_current_device=device_here), replaced(library, _ensure_cc=ensure_here):
        yield


COMPILER: Final = NumbaCuda()
