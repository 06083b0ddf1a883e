"""Kernels of CUDA C++, numba-cuda and Warp as PTX, without a GPU; the parameters that numba-cuda passes."""

import functools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import warp as wp
from cuda.bindings import nvrtc
from numba import cuda, types
from numba.cuda import dispatcher
from numba.np.numpy_support import from_dtype

from ptx_on_cpu import Checks, Kernel, Module

# numba-cuda 0.30 reads a name, when it first compiles, that NumPy 2.5 no longer has.
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack

CAPABILITY = (9, 0)
ALL_CHECKS = Checks(initialised=True, races=True)
_FOLDER = Path(__file__).parent


@functools.cache
def of_cuda(file: str, *options: str) -> Module:
    """Compile a file of CUDA C++ that lies beside the tests."""
    path = _FOLDER / file
    return of_text(path.read_bytes(), str(path), *options)


def of_text(text: bytes, name: str = "text.cu", *options: str) -> Module:
    """Compile CUDA C++."""
    flags = ["--gpu-architecture=compute_90", "-lineinfo", "-default-device", *options]
    _, program = nvrtc.nvrtcCreateProgram(text, name.encode(), 0, [], [])
    (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
    if status:
        raise ValueError(_text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog))
    return Module(_text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX))


def _text(program: Any, size: Any, read: Any) -> str:
    content = b" " * size(program)[1]
    read(program, content)
    return content.decode().rstrip("\0")


def of_numba(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    checks: Checks = ALL_CHECKS,
    *,
    has_lines: bool = False,
) -> Kernel:
    """Compile a Python function as numba-cuda does for arguments like these; `has_lines`: of its source.

    numba-cuda keeps helpers with line numbers, with which nvJitLink links no kernel of float16 later on.
    """
    kinds = tuple(map(_type, arguments))
    with _no_device():
        ptx, _ = cuda.compile_ptx(function, kinds, cc=CAPABILITY, lineinfo=has_lines)
    module = Module(ptx)
    (name,) = module.entries
    return module.kernel(name, checks)


def _no_device() -> Any:
    """Let device functions be compiled, for which numba-cuda asks the GPU that there is not."""
    device = SimpleNamespace(compute_capability=CAPABILITY)
    return mock.patch.object(dispatcher, "get_current_device", return_value=device)


def _type(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return types.Array(from_dtype(argument.dtype), argument.ndim, "C")
    return from_dtype(np.asarray(argument).dtype)


def numba_parameters(arguments: Sequence[Any]) -> Iterator[Any]:
    """Yield the parameters that numba-cuda passes: five words and two for each axis of an array."""
    for argument in arguments:
        if not isinstance(argument, np.ndarray):
            yield argument
            continue
        yield from (np.int64(0), np.int64(0), np.int64(argument.size), np.int64(argument.itemsize), argument)
        yield from map(np.int64, (*argument.shape, *argument.strides))


@functools.cache
def of_warp(module: Any) -> Module:
    """Compile all kernels of a module of Warp, forward and backward."""
    wp.config.quiet = True
    wp.init()
    with tempfile.TemporaryDirectory() as folder:
        wp.compile_aot_module(module, arch=90, module_dir=folder, use_ptx=True)
        (path,) = Path(folder).glob("*.ptx")
        return Module(path.read_text())


def line_of(file: str, definition: str, marker: str) -> str:
    """Return "file:line" of the first line with a marker behind a definition."""
    lines = (_FOLDER / file).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if definition in line)
    return f"{file}:{next(i for i in range(start, len(lines)) if marker in lines[i]) + 1}"
