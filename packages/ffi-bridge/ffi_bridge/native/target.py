"""Native handlers by name: each is compiled and registered with XLA once, and kept for the process.

XLA may call a handler as long as any compiled program names it, and nobody tells us when the last one is
gone; so neither Numba nor LLVM can free it safely, and targets live as long as the process.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import jax

from ffi_bridge.abi import check_platform

# JAX's platform -> the name that XLA registers it under.
REGISTERED_AS: Final = {"cuda": "CUDA", "cpu": "cpu"}


@dataclass(frozen=True)
class Target:
    """A registered handler: its name in XLA programs, its address, and what keeps its machine code alive."""

    name: str
    address: int
    owner: object


_targets: Final[dict[tuple[str, str], Target]] = {}  # XLA knows a name on each platform
_registering: Final = threading.RLock()


def target_name(kernel: str, toolchain: str, digest: str) -> str:
    """Return the name of a kernel's target, of letters and digits that LLVM and XLA take in a name."""
    return f"{re.sub(r'[^0-9A-Za-z_.<>-]', '_', kernel)}.{toolchain}.{digest}"


def ensure_target(name: str, build: Callable[[], tuple[int, object]], *, platform: str) -> Target:
    """Return the target `name` of a platform; if it is new, build and register it.

    `build` returns the address of the handler, and its owner, which is kept. Safe from several threads: one
    of them builds, the others wait and share the result.
    """
    key = platform, name
    if (known := _targets.get(key)) is not None:
        return known
    with _registering:
        if (known := _targets.get(key)) is not None:
            return known
        check_platform()
        address, owner = build()
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform=platform)
        _targets[key] = Target(name, address, owner)
        return _targets[key]


def targets() -> Mapping[str, Target]:
    """Return all targets of this process by name."""
    return MappingProxyType({name: target for (_, name), target in _targets.items()})
