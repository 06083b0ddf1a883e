"""The inner names of Warp that the bridge uses: those that its public modules lack, in one place."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import warp as wp

from ffi_bridge.native.redirection import Replacement

try:
    from warp._src import context
    from warp._src.codegen import get_full_arg_spec
    from warp._src.context import (
        _build_kernel_launch_bounds,  # pyright: ignore[reportPrivateUsage]
        pack_arg,
    )
    from warp._src.types import array_t
except ImportError as error:
    raise ImportError(
        f"Warp {wp.__version__} does not have what ffi_bridge needs of it: {error}; install the newest "
        "release of ffi-bridge, or another one of warp-lang >= 1.18"
    ) from error

__all__ = [
    "array_annotation",
    "array_t",
    "get_full_arg_spec",
    "host_functions",
    "launch_bounds",
    "native_functions",
    "pack_arg",
    "tape_is_open",
]


def array_annotation(kind: Any) -> Any:
    """`wp.array(dtype=..., ndim=...)` for that and for `wp.array[...]`; None for any other annotation."""
    is_array = isinstance(kind, wp.array) or getattr(kind, "_concrete_cls", None) is wp.array
    if not is_array or kind.ndim is Any:  # which Warp launches for no array
        return None
    return wp.array(dtype=kind.dtype, ndim=kind.ndim)


def launch_bounds(dims: tuple[int, ...], kernel: Any, block_dim: int) -> bytes:
    """Warp's struct for launch dimensions; raises ValueError for those that `wp.tid()` cannot count."""
    return bytes(_build_kernel_launch_bounds(dims, kernel, block_dim))


def host_functions(ours: Mapping[str, Callable[..., Any]]) -> list[Replacement]:
    """Replacements of functions by which programs launch kernels, copy and fill arrays, and name devices."""
    owners = {"get_device": [context.runtime], "fill_": [wp.array], "zero_": [wp.array]}
    return [(owner, name, f) for name, f in ours.items() for owner in owners.get(name, (wp, context))]


def tape_is_open() -> bool:
    """Return whether a `wp.Tape` records what this process launches."""
    return context.runtime.tape is not None


@contextmanager
def native_functions(lookup: Callable[[Any, str], Any]) -> Generator[None]:
    """Within the block `lookup(library, name)` gives the functions of Warp's native library."""
    runtime: Any = context.runtime
    library = runtime.core
    runtime.core = _Library(lambda name: lookup(library, name))
    try:
        yield
    finally:
        runtime.core = library


class _Library:
    def __init__(self, lookup: Callable[[str], Any]) -> None:
        self._lookup = lookup

    def __getattr__(self, name: str) -> Any:
        return self._lookup(name)
