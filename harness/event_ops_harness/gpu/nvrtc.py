"""Compile CUDA C++ for a GPU by NVRTC, which needs none; for kernels of other libraries."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")

_INTEGERS: Final = {8: "char", 16: "short", 32: "int", 64: "long long"}
# Stand-ins for headers of the host that files of kernels include, too.
HEADERS: Final = dict.fromkeys(("cuda_runtime.h", "cstdio", "cstdlib", "limits", "string"), "") | {
    "cstdint": "#pragma once\n"
    + "".join(
        f"typedef signed {kind} int{bits}_t; typedef unsigned {kind} uint{bits}_t;\n"
        for bits, kind in _INTEGERS.items()
    )
}


@dataclass(frozen=True)
class Compiled:
    """A kernel of CUDA C++: its PTX, its machine code, its mangled name."""

    ptx: str
    cubin: bytes
    entry: str


def compiled(text: str, kernel: str, headers: Mapping[str, str] = HEADERS) -> Compiled:
    """Compile a file for compute capability 9.0; `kernel` is an expression, "f<int>".

    Raises ValueError, with NVRTC's words, where it does not compile.
    """
    contents, names = ([part.encode() for part in parts] for parts in (headers.values(), headers))
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", len(names), contents, names)
    nvrtc.nvrtcAddNameExpression(program, kernel.encode())
    options = ["--gpu-architecture=sm_90", "-lineinfo", "-default-device", f"-I{_cuda_headers()}"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    if status:
        raise ValueError(_read(program, "ProgramLog").decode())
    _, entry = nvrtc.nvrtcGetLoweredName(program, kernel.encode())
    return Compiled(_read(program, "PTX").decode().rstrip("\0"), _read(program, "CUBIN"), entry.decode())


def _cuda_headers() -> Path:
    """Return the headers of CUDA that numba-cuda brings for this NVRTC: of float16, among others."""
    _, major, _ = nvrtc.nvrtcVersion()
    spec = importlib.util.find_spec("numba_cuda")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders or ()))) / "numba" / "cuda" / "include" / str(major)


def _read(program: Any, what: str) -> bytes:
    content = b" " * getattr(nvrtc, f"nvrtcGet{what}Size")(program)[1]
    getattr(nvrtc, f"nvrtcGet{what}")(program, content)
    return content
