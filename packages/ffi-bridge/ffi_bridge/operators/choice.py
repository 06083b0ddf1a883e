"""Choose the backend of an operator that runs on a platform, and explain why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax

from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError
from ffi_bridge.operators.backends import Backend, Backends, in_order, listing, platform_of
from ffi_bridge.operators.tuning import Row


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

    `wanted` was asked for by name, `first` is the default, `needs` is what the call asks for (`Call.needs`),
    and `tuned` is the row of a tuning table that goes before the default.
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
