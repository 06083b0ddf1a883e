"""Choose the backend of an operator that runs on a platform, and explain why the others do not."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ffi_bridge.errors import BackendUnavailableError, KernelTypeError, UnknownBackendError
from ffi_bridge.operators.tuning import Row

# Our platform -> the names JAX lowers it under.
PLATFORMS: dict[str, tuple[str, ...]] = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}
_OURS = {"gpu": "gpu"} | {name: ours for ours, names in PLATFORMS.items() for name in names}

PREFERENCE: dict[str, tuple[str, ...]] = {
    "cpu": ("numba_cpu", "warp", "reference"),
    "gpu": ("numba_cuda", "warp", "triton", "pallas", "reference"),
    "tpu": ("pallas", "reference"),
}


@dataclass(frozen=True)
class _Toolchain:
    modules: tuple[str, ...]
    cuda_only: bool = False
    lacks: tuple[str, ...] = ()  # dtypes of outputs


_COMPLEX = ("complex64", "complex128")
_TOOLCHAINS = {
    "numba_cpu": _Toolchain(("numba",)),
    "warp": _Toolchain(("warp", "llvmlite"), cuda_only=True, lacks=_COMPLEX),
    "numba_cuda": _Toolchain(("numba", "numba_cuda"), cuda_only=True),
    "triton": _Toolchain(("jax_triton",)),
    "pallas": _Toolchain(("jax.experimental.pallas",)),
}
# Modules without which a backend is unavailable -> the package that installs them; any other failed import
# is a defect and is raised.
_INSTALLED_BY = {
    "numba": "ffi-bridge[numba]",
    "llvmlite": "ffi-bridge[warp]",
    "warp": "ffi-bridge[warp]",
    "numba_cuda": "ffi-bridge[cuda12]",
    "jax_triton": "jax-triton",
    "triton": "jax-triton",
    "jax.experimental.pallas": "jax",
}

Builder = Callable[..., Callable[..., Any]]


@dataclass(frozen=True)
class Backend:
    """One backend of one operator on one platform.

    `builder` is a function or its name, "package.module:function"; `lacks` names what the backend cannot
    do: dtypes of outputs, and values of static arguments, "name=value".
    """

    name: str
    platform: str
    builder: Builder | str
    lacks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.builder, str):
            module, _, attribute = self.builder.partition(":")
            if module and attribute:
                return
        elif callable(self.builder):
            return
        raise KernelTypeError(
            f"builder of backend {self.name!r} is {self.builder!r}; expected a function "
            '(**kwargs) -> callable, or its name as "package.module:function"'
        )

    def load(self) -> Builder:
        """Return the builder; one that is given by name is imported here, at first use."""
        if not isinstance(self.builder, str):
            return self.builder
        module, _, attribute = self.builder.partition(":")
        return getattr(importlib.import_module(module), attribute)

    def obstacle(self, device: str, needs: Iterable[str] = ()) -> str | None:
        """Return why this backend cannot run on `device` (our name or JAX's), or None where it can.

        `needs` is what the call asks for, see `Call.needs`.
        """
        toolchain = _TOOLCHAINS.get(self.name)
        if toolchain is not None:
            absent = [module for module in toolchain.modules if not _installed(module)]
            if absent:
                return _not_installed(absent[0])
            if toolchain.cuda_only and device == "rocm":
                return "it needs CUDA, and this device is ROCm"
        lacks = self.lacks if toolchain is None else (*self.lacks, *toolchain.lacks)
        if missing := [need for need in needs if need in lacks]:
            return f"{self.name} has no {missing[0]}"
        try:
            self.load()
        except ModuleNotFoundError as error:
            top = (error.name or "").partition(".")[0]
            if top not in _INSTALLED_BY:
                raise
            return _not_installed(top)
        return None


Backends = Mapping[str, Mapping[str, Backend]]  # platform -> name -> backend


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


def platform_of(name: str) -> str:
    """Return our name ("cpu", "gpu", "tpu") of a JAX platform; raise UnknownBackendError for any other."""
    try:
        return _OURS[name]
    except (KeyError, TypeError):
        raise UnknownBackendError(
            f"platform {name!r} is not known; there are: {', '.join(PLATFORMS)}"
        ) from None


def in_order(names: Iterable[str], platform: str, *first: str | None) -> list[str]:
    """Return `names` as they are tried: `first`, those preferred on `platform`, then as registered."""
    names = list(names)
    ranked = [*first, *PREFERENCE[platform], *names]
    return [name for name in dict.fromkeys(ranked) if name in names]


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


def listing(backends: Backends) -> str:
    """Return the registered backends as text: "cpu: numba_cpu, reference; gpu: reference"."""
    parts = [f"{platform}: {', '.join(names)}" for platform, names in backends.items() if names]
    return "; ".join(parts) or "none"


def visible(platform: str) -> bool:
    """Return whether JAX has a device of this platform."""
    try:
        return bool(jax.devices(platform))
    except RuntimeError:
        return False


def _installed(module: str) -> bool:
    # A loaded module may lack the specification that find_spec insists on.
    return bool(sys.modules.get(module)) or importlib.util.find_spec(module) is not None


def _not_installed(module: str) -> str:
    return f'{module} is not installed; pip install "{_INSTALLED_BY[module]}"'
