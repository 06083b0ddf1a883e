"""Read objects that kernels refer to by inner names of Numba and of its two branches for CUDA.

That is dispatchers, overloads, intrinsics, callbacks, and C functions.

This module imports none of them, since Warp kernels have fingerprints where Numba is not installed: whoever
has such an object has loaded its package. `numba_cpu.internals`, `numba_cuda.by_llvm` and
`numba_cuda.by_mlir` compare versions.
"""

import ctypes
import functools
import inspect
import sys
import types
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

# Each of the three has its own table of the overloads that are declared.
_TEMPLATES: Final = tuple(
    f"{package}.typing.templates" for package in ("numba.core", "numba.cuda", "numba_cuda_mlir.numba_cuda")
)

# Each of the three loads extensions that are installed, such as rocket-fft, when it first compiles something.
_ENTRY_POINTS: Final = tuple(
    f"{package}.entrypoints"
    for package in ("numba.core", "numba.cuda.core", "numba_cuda_mlir.numba_cuda.core")
)

# What the flags of a function of `ctypes.PyDLL` have that those of other C functions lack.
_PYTHON_API: Final = ctypes.PYFUNCTYPE(None)._flags_ & ~ctypes.CFUNCTYPE(None)._flags_


def is_dispatcher(value: object) -> bool:
    """Return whether `value` is a dispatcher: a decorated function that keeps its compiled code."""
    # By an attribute, since the classes of the three packages share no base.
    return hasattr(value, "_reset_overloads")


def _registries() -> list[Any]:
    # A package that is not loaded has declared nothing.
    return [sys.modules[name].builtin_registry for name in _TEMPLATES if name in sys.modules]


def declared_templates() -> list[Any]:
    """Return the templates of functions and attributes, also of the extensions that are installed."""
    for name in _ENTRY_POINTS:
        if name in sys.modules:
            sys.modules[name].init_all()  # once: the first kernel may be found on disk
    return [x for registry in _registries() for x in (*registry.functions, *registry.attributes)]


def templates_of(function: types.FunctionType) -> list[Any]:
    """Return the templates by which overloads of a Python function were declared."""
    return [
        template
        for registry in _registries()
        for kind in _kinds_by_identity(registry, len(registry.globals)).get(id(function), ())
        for template in kind.templates
    ]


@functools.lru_cache(len(_TEMPLATES))
def _kinds_by_identity(registry: Any, count: int) -> dict[int, list[Any]]:
    """Return the types of the `count` globals of a registry, which keeps them alive, by their identity."""
    kinds: dict[int, list[Any]] = {}
    for value, kind in registry.globals:
        kinds.setdefault(id(value), []).append(kind)
    return kinds


def overload_of(value: Any) -> Any:
    """Return the Python function that chooses the overload of a template; None for anything else."""
    return getattr(value, "_overload_func", None)


def options_of(template: Any) -> object:
    """Return the options with which an overload is compiled."""
    return template._jit_options


def definition_of(intrinsic: Any) -> types.FunctionType | None:
    """Return the Python function that emits an intrinsic; None for anything else."""
    definition = getattr(intrinsic, "_defn", None)
    return definition if isinstance(definition, types.FunctionType) else None


def dispatcher_and_methods(value: Any) -> tuple[object, object]:
    """Return the dispatcher inside a `vectorize`d function and the methods of a `jitclass`, or None."""
    methods = getattr(getattr(value, "class_type", None), "jit_methods", None)
    return getattr(value, "_dispatcher", None), methods


class Pointer(NamedTuple):
    """A C function as Numba takes it: where it is, and the types that were declared."""

    address: int
    signature: str
    needs_gil: bool  # and Numba does not take it


def pointer_of(value: Any) -> Pointer | None:
    """Return the C function behind an object of ctypes or CFFI; None for anything else."""
    numba = sys.modules.get("numba")
    if numba is None or not callable(value):
        return None
    try:
        kind = numba.typeof(value)
    except Exception:  # Numba refuses objects with errors of several kinds
        return None
    if not hasattr(kind, "get_pointer"):
        return None
    needs_gil = getattr(value, "_flags_", 0) & _PYTHON_API and not kind.requires_gil
    return Pointer(kind.get_pointer(value), f"{signature_of(kind)} {kind.cconv}", bool(needs_gil))


class Callback(NamedTuple):
    """A function of `@numba.cfunc`: its source and options, and the addresses that kernels hold of it."""

    contents: object
    addresses: dict[str, int]


def callback_of(value: Any) -> Callback | None:
    """Return source and addresses of a callback that Numba compiled; None for anything else."""
    if not hasattr(value, "native_name"):
        return None
    contents = (value.__wrapped__, str(value._sig), value._compiler.targetoptions)
    return Callback(contents, {"function": value.address, "object": id(value)})


def signature_of(kind: Any) -> object:
    """Return the signature in Numba's type of a C function; None for any type without one."""
    return getattr(kind, "sig", None)


def results_of(callee: Any) -> list[object]:
    """Return the compiled code of a dispatcher, or the dispatchers that a template chose."""
    results = callee.overloads if overload_of(callee) is None else callee._impl_cache
    return list(results.values())


def forget_results(callee: Any) -> None:
    """Let a dispatcher or a template be compiled anew."""
    if overload_of(callee) is None:
        # As when the dispatcher dies: Numba's target forgets the code that it has compiled.
        callee._make_finalizer()()
        callee._reset_overloads()
    else:
        callee._impl_cache.clear()


@contextmanager
def overloads_apart() -> Generator[None]:
    """Have the overloads of all templates compiled anew in the block, also of NumPy's functions.

    Callers within it find nothing that was compiled before, and later ones nothing that was compiled in it.
    """
    caches = {id(x._impl_cache): x._impl_cache for x in declared_templates() if hasattr(x, "_impl_cache")}
    before = [(cache, dict(cache)) for cache in caches.values()]
    for cache, _ in before:
        cache.clear()
    try:
        yield
    finally:
        for cache, results in before:
            cache.clear()
            cache.update(results)


def has_declared_signatures(dispatcher: Any) -> bool:
    """Return whether a dispatcher compiles only the signatures that its decorator names."""
    return not getattr(dispatcher, "_can_compile", True)


def signatures_of(dispatcher: Any) -> list[Any]:
    """Return the signatures for which a dispatcher has compiled code."""
    return [x.signature for x in dispatcher.overloads.values()]


def compile_declared(dispatcher: Any, signature: Any) -> None:
    """Compile a dispatcher for a signature, whose result may be declared as another than the body returns."""
    args, result = tuple(signature.args), signature.return_type
    if hasattr(result, "yield_type"):  # a generator's, which Numba makes itself
        result = None
    if not hasattr(dispatcher, "compile_device"):
        dispatcher.compile(args if result is None else signature)
    elif "return_type" in inspect.signature(dispatcher.compile_device).parameters:
        dispatcher.compile_device(args, result)
    else:  # numba-cuda-mlir, which drops declared results
        dispatcher.compile_device(args)


@contextmanager
def more_signatures(dispatcher: Any) -> Generator[None]:
    """Let a dispatcher with declared signatures compile any signature within the block."""
    dispatcher._can_compile = True
    try:
        yield
    finally:
        dispatcher._can_compile = False


@contextmanager
def without_files(callee: Any) -> Generator[None]:
    """Keep a dispatcher from reading and writing its files (`cache=True`) within the block."""
    cache = getattr(callee, "_cache", None)
    if cache is None:
        yield
        return
    callee._cache = sys.modules["numba.core.caching"].NullCache()
    try:
        yield
    finally:
        callee._cache = cache
