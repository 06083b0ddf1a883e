"""A Numba dispatcher as a registered XLA FFI target: of this process, from the kernel cache, or compiled."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, Final

import llvmlite
import numba
from numba import types

from ffi_bridge.contents.fingerprint import fingerprint
from ffi_bridge.native.target import Target, ensure_target
from ffi_bridge.numba_cpu import object_code
from ffi_bridge.numba_cpu.internals import global_compiler_lock
from ffi_bridge.numba_cpu.layout import Layout

_VERSIONS: Final = (numba.__version__, llvmlite.__version__, sys.version_info[:2])
# Loaded where something is compiled: with the parts of Numba that it needs it takes as long as a cached call.
_COMPILER: Final = "ffi_bridge.numba_cpu.compile"


def ensure_kernel_target(
    dispatcher: Any,
    arrays: Sequence[types.Array],
    layout: Layout,
    *,
    noalias: bool,
    num_threads: int | None,
) -> Target:
    """The target that runs the kernel on `arrays`; compiled now, unless equal contents were before."""
    found = fingerprint(dispatcher, tuple(map(str, arrays)), repr(layout), noalias, num_threads, _VERSIONS)
    name = f"{dispatcher.__name__}.numba_cpu.{found.digest}"

    def build() -> tuple[int, object]:
        if found.portable and (kept := object_code.find(name)):
            return kept
        compiler = importlib.import_module(_COMPILER)
        options = {"noalias": noalias, "num_threads": num_threads, "keep": found.portable}
        return compiler.compile_handler(dispatcher, arrays, layout, name, **options)

    with global_compiler_lock:
        return ensure_target(name, build, platform="cpu")
