"""Keep what decides between backends, in contexts that are part of `jax.jit`'s keys."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Final, cast

import jax

# Two contexts, because a value scoped to a thread hides a global one set later.
_SCOPE = jax.make_user_context(None)
_CHANGES = jax.make_user_context(None)
_LOCK = threading.Lock()
_EMULATED: Final = "", "emulated"  # the name of no operator

Change = str | int | tuple[str, ...] | None


def scope(backend: str, operators: frozenset[str]) -> AbstractContextManager[None]:
    """Return a block in which `backend` runs `operators`; none named: all that have it."""
    return _SCOPE(((backend, operators), *scopes()))


def scopes() -> tuple[tuple[str, frozenset[str]], ...]:
    """Return backend and operators of every block around this call, the innermost first."""
    return _SCOPE.value or ()


def changed_default(operator: str, platform: str) -> str | None:
    """Return the default set after the definition, as the compilation in progress knows it."""
    return dict(_CHANGES.value or ()).get((operator, platform))


def emulated() -> tuple[str, ...]:
    """Return the backends of a GPU that JAX's CPU takes, as the compilation in progress knows them."""
    return dict(_CHANGES.value or ()).get(_EMULATED, ())


def emulate(backends: Iterable[str]) -> None:
    """Have JAX's CPU take these backends of a GPU, of every operator."""
    with _LOCK:
        _publish(_changes() | {_EMULATED: tuple(sorted(backends)) or None})


def change_default(operator: str, platform: str, backend: str | None) -> None:
    """Set a default, or with None go back to that of the definition."""
    with _LOCK:
        _publish(_changes() | {(operator, platform): backend})


def note_definition(operator: str) -> None:
    """Have compiled functions ask again which backends `operator` has."""
    key = (operator, "definitions")
    with _LOCK:
        changes = _changes()
        _publish(changes | {key: cast(int, changes.get(key) or 0) + 1})


def forget(operator: str) -> None:
    """Drop the changes of an operator that is about to be defined anew."""
    with _LOCK:
        _publish({key: value for key, value in _changes().items() if key[0] != operator})


def _changes() -> dict[tuple[str, str], Change]:
    return dict(_CHANGES.get_global() or ())


def _publish(changes: dict[tuple[str, str], Change]) -> None:
    kept = sorted((key, value) for key, value in changes.items() if value is not None)
    # Sorted, so that equal changes are equal keys: code compiled under them before is found again.
    _CHANGES.set_global(tuple(kept) or None)
