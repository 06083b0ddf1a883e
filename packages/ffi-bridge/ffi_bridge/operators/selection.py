"""Defaults and scoped choices of a backend, in contexts that are part of `jax.jit`'s keys."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING

import jax

from ffi_bridge.errors import UnknownBackendError
from ffi_bridge.operators.registry import get_operator, get_operators

if TYPE_CHECKING:
    from ffi_bridge.operators.kernel import XLACustomKernel

# Two contexts, because a value scoped to a thread hides a global one set later.
_SCOPE = jax.make_user_context(None)
_CHANGES = jax.make_user_context(None)
_LOCK = threading.Lock()


@contextlib.contextmanager
def use_backend(backend: str, *operators: XLACustomKernel | str) -> Generator[None]:
    """Within the block, calls run on `backend` (this thread only; the innermost block wins).

    Args:
        backend: name of a backend that some operator has registered.
        operators: the operators, or their names, that the choice is for; default: every operator
            that has `backend` registered, on whichever platform. `backend=` in a call goes before
            the scope.

    A function under `jax.jit` is traced again for each choice it is called within, once: its caches
    know about the choice, nothing is cleared. A choice that cannot run raises
    BackendUnavailableError when compiled.

    Raises:
        UnknownBackendError: no operator has `backend`, or one that is named has not; lists what
            exists.
        UnknownOperatorError: a name that no operator has; lists what exists.

    Example:
        >>> from ffi_bridge import XLACustomKernel, use_backend
        >>> kernel = XLACustomKernel("halved")
        >>> _ = kernel.def_reference(lambda **_: lambda x: x / 2)
        >>> with use_backend("reference"):
        ...     kernel.explain().why
        'asked for by name'
    """
    names = frozenset(_named(operator, backend) for operator in operators)
    if not names:
        existing = sorted({name for op in get_operators().values() for name in op.backend_names})
        if backend not in existing:
            raise UnknownBackendError(
                f"no operator has a backend {backend!r}; there are: {', '.join(existing) or 'none'}"
            )
    with _SCOPE(((backend, names), *(_SCOPE.value or ()))):
        yield


def scoped_choice(operator: XLACustomKernel) -> str | None:
    """The backend that the innermost `use_backend` block around this call sets for `operator`."""
    for backend, names in _SCOPE.value or ():
        if operator.name in names or (not names and backend in operator.backend_names):
            return backend
    return None


def changed_default(operator: str, platform: str) -> str | None:
    """The default set after the definition, as the compilation in progress knows it."""
    return dict(_CHANGES.value or ()).get((operator, platform))


def change_default(operator: str, platform: str, backend: str | None) -> None:
    """Set a default, or with None go back to that of the definition."""
    with _LOCK:
        _publish(_changes() | {(operator, platform): backend})


def note_definition(operator: str) -> None:
    """Have compiled functions ask again which backends `operator` has."""
    key = (operator, "definitions")
    with _LOCK:
        changes = _changes()
        _publish(changes | {key: int(changes.get(key) or 0) + 1})


def forget(operator: str) -> None:
    """Drop what was changed for an operator that is about to be defined anew."""
    with _LOCK:
        _publish({key: value for key, value in _changes().items() if key[0] != operator})


def _changes() -> dict[tuple[str, str], str | int | None]:
    return dict(_CHANGES.get_global() or ())


def _publish(changes: dict[tuple[str, str], str | int | None]) -> None:
    kept = sorted((key, value) for key, value in changes.items() if value is not None)
    # Equal changes are equal values: what was compiled under them before is found again.
    _CHANGES.set_global(tuple(kept) or None)


def _named(operator: XLACustomKernel | str, backend: str) -> str:
    found = get_operator(operator) if isinstance(operator, str) else operator
    found.check_backend(backend)
    return found.name
