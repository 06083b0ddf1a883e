"""Compile the functions that a kernel calls with their current globals, as the kernel itself is.

Numba compiles a function once for its argument types, and freezes the globals and closure cells of that
moment for all later callers. The fingerprint of a kernel stands for their current values, in callees too.
"""

import contextlib
from collections.abc import Generator
from typing import Any, Final
from weakref import WeakKeyDictionary

from numba import NumbaError

from ffi_bridge.identity import internals
from ffi_bridge.identity.fingerprint import compiled_parts, fingerprint

# Dispatcher or template -> its fingerprint and its compiled code when a kernel was last compiled.
_current: Final[WeakKeyDictionary[Any, tuple[str, list[object]]]] = WeakKeyDictionary()


@contextlib.contextmanager
def compiled_now(kernel: Any) -> Generator[None]:
    """Forget, for a kernel that the block compiles, the code of callees whose contents have changed.

    The caller holds the compiler's lock.
    """
    parts = {
        part: fingerprint(internals.overload_of(part) or part).digest
        for part in compiled_parts(kernel.py_func)
    }
    with contextlib.ExitStack() as stack:
        for part in parts:
            stack.enter_context(internals.without_files(part))
        for part, digest in parts.items():
            if _is_outdated(part, digest):
                _forget(part)
        try:
            yield
        finally:
            _current.update((part, (digest, internals.results_of(part))) for part, digest in parts.items())


@contextlib.contextmanager
def compiled_apart(kernel: Any) -> Generator[None]:
    """Compile all that a kernel calls anew within the block, and once more when it is needed after it.

    The caller holds the compiler's lock.
    """
    parts = compiled_parts(kernel.py_func)
    with contextlib.ExitStack() as stack:
        for part in parts:
            stack.enter_context(internals.without_files(part))
            _forget(part)
        yield
    for part in parts:
        _forget(part)


def _is_outdated(part: Any, digest: str) -> bool:
    results = internals.results_of(part)
    before, known = _current.get(part, ("", []))
    return bool(results) and (before != digest or any(all(x is not y for y in known) for x in results))


def _forget(part: Any) -> None:
    signatures = list(getattr(part, "overloads", ()))
    internals.forget_results(part)
    if internals.has_declared_signatures(part):
        _compile(part, signatures)


def _compile(dispatcher: Any, signatures: list[Any]) -> None:
    compile_one = getattr(dispatcher, "compile_device", dispatcher.compile)
    with internals.more_signatures(dispatcher):
        for signature in signatures:
            # A signature that no longer compiles fails where a kernel needs it.
            with contextlib.suppress(NumbaError):
                compile_one(signature)
