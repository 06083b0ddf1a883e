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
from ffi_bridge.identity.fingerprint import Walk, fingerprint

# Dispatcher or template -> its fingerprint and its compiled code when a kernel was last compiled.
_current: Final[WeakKeyDictionary[Any, tuple[str, list[object]]]] = WeakKeyDictionary()


def compiled_callees(function: object) -> list[Any]:
    """Return the dispatchers and templates of overloads that `function` reaches, callees before callers."""
    walk = Walk()
    walk.add(function)
    return list(walk.compiled)


@contextlib.contextmanager
def compiled_now(kernel: Any) -> Generator[None]:
    """Forget, for a kernel that the block compiles, the code of callees whose contents have changed.

    The caller holds the compiler's lock.
    """
    digests = {
        callee: fingerprint(internals.overload_of(callee) or callee).digest
        for callee in compiled_callees(kernel.py_func)
    }
    with contextlib.ExitStack() as stack:
        # A file of `cache=True` may hold code for globals as they were in another process.
        for callee in digests:
            stack.enter_context(internals.without_files(callee))
        for callee, digest in digests.items():
            # Callees come before callers, whose new code is linked with theirs.
            if _is_outdated(callee, digest):
                _forget(callee)
        try:
            yield
        finally:
            _current.update(
                (callee, (digest, internals.results_of(callee))) for callee, digest in digests.items()
            )


@contextlib.contextmanager
def compiled_apart(kernel: Any) -> Generator[None]:
    """Compile all that a kernel calls anew within the block, and once more when it is needed after it.

    The caller holds the compiler's lock.
    """
    callees = compiled_callees(kernel.py_func)
    with contextlib.ExitStack() as stack:
        for callee in callees:
            stack.enter_context(internals.without_files(callee))
            _forget(callee)
        stack.enter_context(internals.overloads_apart())
        yield
    for callee in callees:
        _forget(callee)


def _is_outdated(callee: Any, digest: str) -> bool:
    results = internals.results_of(callee)
    digest_before, results_before = _current.get(callee, ("", []))
    return bool(results) and (
        digest_before != digest or any(all(x is not y for y in results_before) for x in results)
    )


def _forget(callee: Any) -> None:
    # A dispatcher with declared signatures compiles nothing later by itself.
    signatures = internals.signatures_of(callee) if internals.has_declared_signatures(callee) else []
    internals.forget_results(callee)
    _compile(callee, signatures)


def _compile(dispatcher: Any, signatures: list[Any]) -> None:
    for signature in signatures:
        # A signature that no longer compiles fails where a kernel needs it.
        with internals.more_signatures(dispatcher), contextlib.suppress(NumbaError):
            internals.compile_declared(dispatcher, signature)
