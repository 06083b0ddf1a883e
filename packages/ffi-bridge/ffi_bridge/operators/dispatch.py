"""Choose the backend of an operator that runs on a platform, and explain the choice.

What decides between backends is kept in contexts that are part of `jax.jit`'s keys.
"""

import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, cast

import jax

from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError
from ffi_bridge.operators.backends import Backend, Backends, in_order, listing, platform_of
from ffi_bridge.operators.tuning import Row

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
    set_now = sorted((key, value) for key, value in changes.items() if value is not None)
    # Sorted, so that equal changes are equal keys: code compiled under them before is found again.
    _CHANGES.set_global(tuple(set_now) or None)


@dataclass(frozen=True)
class Explanation:
    """The backend that an operator runs on a platform, and why; `print` it."""

    operator: str
    platform: str
    backend: str
    why: str
    others: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = [f"{self.operator} on {self.platform}: {self.backend} ({self.why})"]
        return "\n".join(lines + [f"  not {name}: {reason}" for name, reason in self.others])


@dataclass(frozen=True)
class Choice:
    """The choice of a backend for one call on `device`, our name or JAX's.

    `wanted` was asked for by name, `first` is the default, `needs` is what the call asks for: dtypes of
    outputs, static arguments as "name=value"; `tuned` is the row of a tuning table that goes before the
    default.
    """

    operator: str
    device: str
    backends: Backends
    wanted: str | None
    first: str | None
    needs: Sequence[str] = ()
    tuned: Row | None = None

    @property
    def platform(self) -> str:
        """Return our name of the device's platform."""
        return platform_of(self.device)

    def made(self) -> tuple[Backend, str]:
        """Return the backend that runs, and why.

        Raises BackendUnavailableError, with every reason, or UnknownBackendError.
        """
        if self.wanted is not None:
            return self._wanted(self.wanted), "asked for by name"
        here = self.backends.get(self.platform, {})
        skipped: list[str] = []
        for name in in_order(here, self.platform, self.tuned and self.tuned.backend, self.first):
            obstacle = here[name].obstacle(self.device, self.needs)
            if obstacle is None:
                return here[name], self._why(name, bool(skipped))
            skipped.append(f"{name}: {obstacle}")
        raise BackendUnavailableError(
            f"operator {self.operator!r} cannot run on {self.platform}. "
            + ("; ".join(skipped) or f"Registered: {listing(self.backends)}")
            + ". Define another backend, or a reference, with def_kernel or def_reference"
        )

    def explained(self) -> Explanation:
        """Return the backend that runs, and a reason for every one that does not; raise as `made`."""
        chosen, why = self.made()
        here = self.backends[self.platform]
        others = [
            (name, here[name].obstacle(self.device, self.needs) or f"{chosen.name} is {why}")
            for name in in_order(here, self.platform, self.first)
            if name != chosen.name
        ]
        every = dict.fromkeys(name for names in self.backends.values() for name in names)
        elsewhere = [name for name in every if name not in here]
        others += [(name, f"registered for {self._where(name)} only") for name in elsewhere]
        if not visible(self.platform):
            why += f"; JAX sees no {self.platform} on this machine"
        return Explanation(self.operator, self.platform, chosen.name, why, tuple(others))

    def _wanted(self, name: str) -> Backend:
        here = self.backends.get(self.platform, {})
        if name in here:
            obstacle = here[name].obstacle(self.device, self.needs)
            if obstacle is None:
                return here[name]
        elif where := self._where(name):
            obstacle = f"it is registered for {where}, and this call runs on {self.platform}"
            absent = [p for p in where.split(", ") if not visible(p)]
            # What is registered elsewhere may be what this machine lacks.
            obstacle += "".join(f"; JAX sees no {p} on this machine" for p in absent)
        else:
            raise UnknownBackendError(
                f"operator {self.operator!r} has no backend {name!r}; there are: {listing(self.backends)}"
            )
        able = [b.name for b in here.values() if b.name != name and not b.obstacle(self.device, self.needs)]
        raise BackendUnavailableError(
            f"backend {name!r} of operator {self.operator!r} cannot run: {obstacle}. "
            f"These can run on {self.platform}: {', '.join(able) or 'none'}"
        )

    def _why(self, name: str, is_fallback: bool) -> str:
        if self.tuned is not None and name == self.tuned.backend:
            return str(self.tuned)
        if name == self.first:
            return "the default"
        return "the first in the order of preference" + " that can run" * is_fallback

    def _where(self, name: str) -> str:
        return ", ".join(platform for platform, names in self.backends.items() if name in names)


def visible(platform: str) -> bool:
    """Return whether JAX has a device of this platform."""
    try:
        return bool(jax.devices(platform))
    except RuntimeError:
        return False
