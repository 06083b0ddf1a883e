"""List the backends of an operator: how each is built, its gaps, and the order in which they are tried."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ffi_bridge.errors import KernelTypeError, UnknownBackendError

# Our platform -> the names JAX lowers it under.
PLATFORMS: dict[str, tuple[str, ...]] = {"cpu": ("cpu",), "gpu": ("cuda", "rocm"), "tpu": ("tpu",)}
# A platform may be named as here, or in any way that JAX does.
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

        `needs` is what the call asks for: dtypes of outputs, static arguments as "name=value".
        """
        toolchain = _TOOLCHAINS.get(self.name)
        if toolchain is not None:
            # A loaded module may lack the specification that find_spec insists on.
            absent = [x for x in toolchain.modules if not (sys.modules.get(x) or importlib.util.find_spec(x))]
            if absent:
                return _not_installed(absent[0])
            if toolchain.cuda_only and device == "rocm":
                return "it needs CUDA, and this device is ROCm"
        lacks = self.lacks if toolchain is None else (*self.lacks, *toolchain.lacks)
        if missing := [need for need in needs if need in lacks]:
            return f"{self.name} has no {missing[0]}"
        try:
            # Last, since it imports the kernels.
            self.load()
        except ModuleNotFoundError as error:
            top = (error.name or "").partition(".")[0]
            if top not in _INSTALLED_BY:
                raise
            return _not_installed(top)
        return None


Backends = Mapping[str, Mapping[str, Backend]]  # platform -> name -> backend


def platform_of(name: str) -> str:
    """Return our name ("cpu", "gpu", "tpu") of a JAX platform; raise UnknownBackendError if it has none."""
    try:
        return _OURS[name]
    except (KeyError, TypeError):
        raise UnknownBackendError(
            f"platform {name!r} is not known; there are: {', '.join(PLATFORMS)}"
        ) from None


def in_order(names: Iterable[str], platform: str, *first: str | None) -> list[str]:
    """Return `names` as they are tried: `first`, the ones preferred on `platform`, then as registered."""
    names = list(names)
    ranked = [*first, *PREFERENCE[platform], *names]
    return [name for name in dict.fromkeys(ranked) if name in names]


def listing(backends: Backends) -> str:
    """Return the registered backends as text: "cpu: numba_cpu, reference; gpu: reference"."""
    sections = [f"{platform}: {', '.join(names)}" for platform, names in backends.items() if names]
    return "; ".join(sections) or "none"


def _not_installed(module: str) -> str:
    return f'{module} is not installed; pip install "{_INSTALLED_BY[module]}"'
