"""What a kernel calls: compiled of what it reads now, as the kernel itself is.

Numba compiles a function once for its argument types: what it froze then, globals and closure cells, stays,
whoever calls it afterwards. The fingerprint of a kernel stands for what is read now, in its callees too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any, Final
from weakref import WeakKeyDictionary

from numba.core.caching import NullCache
from numba.core.errors import NumbaError

from ffi_bridge.contents.fingerprint import compiled_parts, fingerprint

# What was compiled for kernels: the fingerprint that it had, and the results, of which none is older.
_current: Final[WeakKeyDictionary[Any, tuple[str, list[object]]]] = WeakKeyDictionary()


@contextlib.contextmanager
def compiled_now(kernel: Any) -> Generator[None]:
    """Within, a kernel is compiled without what was compiled of its callees when they read something else.

    The caller holds the compiler's lock.
    """
    parts = {part: fingerprint(_contents(part)).digest for part in compiled_parts(kernel.py_func)}
    with contextlib.ExitStack() as stack:
        for part in parts:
            stack.enter_context(_without_files(part))
        for part, digest in parts.items():
            if _is_outdated(part, digest):
                _forget(part)
        try:
            yield
        finally:
            _current.update((part, (digest, _results(part))) for part, digest in parts.items())


def _contents(part: Any) -> object:
    return getattr(part, "_overload_func", part)


def _results(part: Any) -> list[object]:
    """What was compiled of a dispatcher; or, of a template, the dispatchers that it chose."""
    found = part._impl_cache if hasattr(part, "_impl_cache") else part.overloads
    return list(found.values())


def _is_outdated(part: Any, digest: str) -> bool:
    results = _results(part)
    before, known = _current.get(part, ("", []))
    return bool(results) and (before != digest or any(all(x is not y for y in known) for x in results))


def _forget(part: Any) -> None:
    if hasattr(part, "_impl_cache"):
        part._impl_cache.clear()
        return
    signatures = list(part.overloads)
    part._make_finalizer()()
    part._reset_overloads()
    if not getattr(part, "_can_compile", True):  # with signatures of its own: it has these and no others
        _compile(part, signatures)


def _compile(dispatcher: Any, signatures: list[Any]) -> None:
    compile_one = getattr(dispatcher, "compile_device", dispatcher.compile)
    dispatcher._can_compile = True
    try:
        for signature in signatures:
            # A kernel that needs what no longer compiles says so.
            with contextlib.suppress(NumbaError):
                compile_one(signature)
    finally:
        dispatcher._can_compile = False


@contextlib.contextmanager
def _without_files(part: Any) -> Generator[None]:
    """Numba's files of a function (`cache=True`) do not tell what its globals were."""
    kept = getattr(part, "_cache", None)
    if kept is None:
        yield
        return
    part._cache = NullCache()
    try:
        yield
    finally:
        part._cache = kept
