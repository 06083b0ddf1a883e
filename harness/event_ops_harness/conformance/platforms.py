"""Tell where cells are checked: on JAX's CPU, on a GPU, or on a GPU that JAX's CPU emulates."""

import importlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

import jax

from ffi_bridge import XLACustomKernel
from ffi_bridge.operators import emulated, platform_of

CPU: Final = "cpu"
GPU: Final = "gpu"
EMULATED: Final = "emulated"  # `pytest --emulate-gpu`


def platform() -> str:
    """Return where this process checks cells: CPU, GPU or EMULATED."""
    if emulated():
        return EMULATED
    return GPU if platform_of(jax.default_backend()) == GPU else CPU


def registered() -> str:
    """Return the platform that operators have registered the checked backends for."""
    return CPU if platform() == CPU else GPU


def backends(operator: XLACustomKernel) -> list[str]:
    """Return the operator's backends that can be checked here, in the order in which they are tried."""
    able = operator.available_backends(registered())
    return [name for name in able if platform() != EMULATED or name in emulated()]


def emulation() -> dict[str, Any] | None:
    """Return how this process emulates a GPU, as JSON can hold it; None where it does not."""
    if not emulated():
        return None
    driver = importlib.import_module("ffi_bridge.cuda.driver").chosen_driver()  # which needs llvmlite
    return {
        "capability": driver.capability,
        "seed": driver.seed,
        "checks": asdict(driver.checks),
        "backends": driver.backends,
    }


def emulate(settings: Mapping[str, Any]) -> None:
    """Emulate a GPU in this process as another one does, whose `emulation()` is given."""
    driver = importlib.import_module("ffi_bridge.emulated").emulate_gpu(tuple(settings["capability"]))
    driver.checks = replace(driver.checks, **settings["checks"])
    driver.seed, driver.backends = settings["seed"], settings["backends"]
