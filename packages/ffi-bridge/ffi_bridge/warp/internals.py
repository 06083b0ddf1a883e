"""Inner names of Warp that the bridge needs, and the last version that they were tested with.

Warp's users are promised what `warp` and `warp.types` export. Whatever else the bridge knows of it is here:
modules, attributes of kernels and types, the names of functions in machine code.
"""

import ast
import ctypes
import functools
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from types import FunctionType
from typing import Any, Final

import warp as wp

from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.identity.outside import Reading, text_of
from ffi_bridge.native.private_api import Replacement, look_up, private_api, replaced

TESTED: Final = (1, 19)

with private_api("warp-lang", wp.__version__, TESTED):
    from warp._src import context
    from warp._src.codegen import get_full_arg_spec
    from warp._src.context import (
        _build_kernel_launch_bounds,  # pyright: ignore[reportPrivateUsage]
        pack_arg,
    )
    from warp._src.types import array_t, is_array

    look_up(wp.Kernel, "get_mangled_name", "infer_argument_types")
    look_up(wp.Module, "load", "get_module_hash", "_get_live_kernels")
    look_up(context.ModuleBuilder, "build_kernel", "build_function")

__all__ = ["array_t", "context", "get_full_arg_spec", "is_array", "pack_arg"]

# Parts of the names of native functions that follow no address of an array: functions of single values, and
# what the garbage collector calls at any time.
HARMLESS: Final = ("wp_builtin_", "_bits", "free", "unload", "destroy", "unregister", "wp_cuda_context_")


def read_outside(kernel: Any) -> dict[tuple[str, ...], tuple[Reading, ...]]:
    """Return the values read by a kernel that Warp freezes: constants, and the functions that it calls."""
    by_path: dict[tuple[str, ...], list[Reading]] = {}
    for path, adjoint, snippets in _functions(kernel):
        code = Reading(fingerprint(adjoint.source, *snippets).digest, f"the function {path[-1]}")
        by_path.setdefault(path, []).append(code)
        for name, value in adjoint.get_references()[0].items():
            constant = Reading(fingerprint(_plain(value)).digest, text_of(value))
            by_path.setdefault((*path, name), []).append(constant)
    return {path: tuple(values) for path, values in by_path.items()}


def _functions(kernel: Any) -> Iterator[tuple[tuple[str, ...], Any, tuple[object, ...]]]:
    """Yield a kernel and the functions that it calls: names, Warp's record, code in another language."""
    functions: list[tuple[tuple[str, ...], Any, tuple[object, ...]]] = [((kernel.key,), kernel.adj, ())]
    seen: set[int] = set()
    for path, adjoint, snippets in functions:  # which grows
        yield path, adjoint, snippets
        for function in adjoint.get_references()[2]:
            if function.is_builtin() or id(function) in seen:
                continue
            seen.add(id(function))
            for x in (function.user_overloads | function.user_templates).values():
                if x.generic_parent is not None:
                    continue  # made of another one when a module was built: a hash must not depend on that
                inside = (*path, function.key)
                functions.append((inside, x.adj, (x.native_snippet, x.adj_native_snippet, x.replay_snippet)))
                customs = filter(None, (x.custom_grad_func, x.custom_replay_func))
                functions += [((*inside, custom.key), custom.adj, ()) for custom in customs]


def _plain(value: Any) -> object:
    """Return a constant of Warp's as numbers and bytes."""
    if isinstance(value, int | float):
        return value
    number = getattr(value, "value", None)
    return bytes(getattr(value, "_ctype", value)) if number is None else (type(value).__name__, number)


def _is_hashed_whole(value: Any) -> bool:
    """Return whether Warp's hash has all of a constant: it has 32 bits of a number of Python."""
    if isinstance(value, int):
        return ctypes.c_int(value).value == value
    return not isinstance(value, float) or ctypes.c_float(value).value == value


# The option by which Warp's hash of a kernel has all of its constants: it hashes options as texts.
_CONSTANTS: Final = "ffi_bridge_constants"


def array_annotation(kind: Any) -> Any:
    """Return `wp.array(dtype=..., ndim=...)` for an annotation of either form; None for one of no array."""
    is_array = isinstance(kind, wp.array) or getattr(kind, "_concrete_cls", None) is wp.array
    if not is_array or kind.ndim is Any:  # Warp takes no array for such a parameter
        return None
    return wp.array(dtype=kind.dtype, ndim=kind.ndim)


def element_shape(dtype: Any) -> tuple[int, ...]:
    """Return the extents of a vector or matrix type, 0 for one of any size; () for a number."""
    return tuple(getattr(dtype, "_shape_", ()))


def scalar_of(dtype: Any) -> Any:
    """Return the type of the numbers in a vector or matrix type; a number's own."""
    return getattr(dtype, "_wp_scalar_type_", dtype)


def parameters_of(kernel: Any) -> list[tuple[str, Any]]:
    """Return the names and annotations of a kernel's parameters."""
    return [(arg.label, arg.type) for arg in kernel.adj.args]


def body_of(kernel: Any) -> ast.AST:
    """Return the syntax tree of a kernel."""
    return kernel.adj.tree


def is_of_tiles(name: str) -> bool:
    """Return whether a name is that of a function of Warp's on tiles."""
    return name.startswith("tile_") and name in context.builtin_functions


def call_of(statement: str, function: Any) -> ast.stmt:
    """Return the statement `f(...)` or `x = f(...)` of a kernel, where `f` stands for a Warp function."""
    call: Any = ast.parse(statement).body[0]
    call.value.func.warp_func = function  # Warp's mark of a function that has no name in the kernel's scope
    return call


def annotated(function: FunctionType, annotations: Mapping[str, Any]) -> FunctionType:
    """Return a copy of a Python function with these annotations, from which Warp can make a kernel."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    functools.update_wrapper(copy, function)
    copy.__annotations__ = dict(annotations)
    return copy


def transformed(kernel: Any, annotations: Mapping[str, Any], module: str, step: ast.NodeTransformer) -> Any:
    """Return a kernel in a separate module, whose body `step` makes of the body of `kernel`."""
    separate = wp.Module(module, None)
    separate.options.update(kernel.module.options)
    return wp.Kernel(
        annotated(kernel.func, annotations),
        key=kernel.key,
        module=separate,
        options=dict(kernel.options),
        code_transformers=[*kernel.adj.transformers, step],
        source=kernel.adj.source,
    )


def forget_hash(kernel: Any) -> None:
    """Let the hash of a kernel's module be computed anew, from the constants of Python as they are now."""
    for each in kernel.module._get_live_kernels():
        if (whole := _hashed_in_part(each)) is None:
            each.options.pop(_CONSTANTS, None)
        else:
            each.options[_CONSTANTS] = whole
    kernel.module.hashers.clear()


def _hashed_in_part(kernel: Any) -> str | None:
    """Return a hash of a kernel's constants if Warp's has a part of some only; None otherwise."""
    constants = [(path, adjoint.get_references()[0]) for path, adjoint, _ in _functions(kernel)]
    if all(map(_is_hashed_whole, chain.from_iterable(values.values() for _, values in constants))):
        return None
    return fingerprint([(path, name, _plain(x)) for path, of in constants for name, x in of.items()]).digest


def hash_of_module(kernel: Any, block_dim: int) -> bytes:
    """Return the hash of a kernel's module, compiled for `block_dim` threads per block."""
    return bytes(kernel.module.get_module_hash(block_dim))


@contextmanager
def compiled_for(kernel: Any, block_dim: int, lines: bool) -> Generator[None]:
    """Within the block, compile a kernel's module for `block_dim` threads, and with `lines` of source.

    The options are the user's again behind it: launches by Warp read them, too.
    """
    options: dict[str, Any] = kernel.module.options
    before = {name: options[name] for name in ("block_dim", "lineinfo")}
    options.update(block_dim=block_dim, lineinfo=lines or before["lineinfo"])
    try:
        yield
    finally:
        options.update(before)


def loaded_on_cpu(kernel: Any) -> Any:
    """Compile and load a kernel's module for the CPU; None where that has failed before."""
    return kernel.module.load("cpu", 1)


def entry_on_cpu(module: Any, kernel: Any, adjoint: bool) -> Any:
    """Return the C function of a kernel, or of its adjoint, in a loaded module; None where there is none."""
    hooks = module.get_kernel_hooks(kernel)
    return hooks.backward if adjoint else hooks.forward


def entry_on_cuda(kernel: Any, adjoint: bool) -> str:
    """Return the name of a kernel, or of its adjoint, in machine code for a GPU."""
    return f"{kernel.get_mangled_name()}_cuda_kernel_{'backward' if adjoint else 'forward'}"


def shared_memory(notes: Mapping[str, int], entry: str) -> int | None:
    """Return the bytes of shared memory that the notes of a module give for a function, or None."""
    return notes.get(f"{entry}_smem_bytes")


def launch_bounds(dims: tuple[int, ...], kernel: Any, block_dim: int) -> bytes:
    """Return Warp's struct for launch dimensions; raise ValueError where `wp.tid()` cannot count them."""
    return bytes(_build_kernel_launch_bounds(dims, kernel, block_dim))


def host_functions(ours: Mapping[str, Callable[..., Any]]) -> list[Replacement]:
    """Return replacements of functions that launch kernels, copy and fill arrays, or name devices."""
    owners = {"get_device": [context.runtime], "fill_": [wp.array], "zero_": [wp.array]}
    return [(owner, name, f) for name, f in ours.items() for owner in owners.get(name, (wp, context))]


def tape_is_open() -> bool:
    """Return whether a `wp.Tape` records the launches of this process."""
    return context.runtime.tape is not None


@contextmanager
def native_functions(lookup: Callable[[Any, str], Any]) -> Generator[None]:
    """Within the block, take the functions of Warp's native library from `lookup(library, name)`."""
    runtime: Any = context.runtime
    library = runtime.core
    with replaced(runtime, core=_Library(lambda name: lookup(library, name))):
        yield


class _Library:
    def __init__(self, lookup: Callable[[str], Any]) -> None:
        self._lookup = lookup

    def __getattr__(self, name: str) -> Any:
        return self._lookup(name)
