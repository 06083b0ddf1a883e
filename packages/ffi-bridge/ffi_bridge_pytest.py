"""Plugin for pytest: `pytest --emulate-gpu` runs CUDA kernels on JAX's CPU, and checks all that they do.

It lies outside of the package, so that pytest loads neither JAX nor Numba where nobody asks for it.
"""

import importlib
import os
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("ffi-bridge", "CUDA kernels on an emulated GPU")
    group.addoption(
        "--emulate-gpu",
        action="store_true",
        help="run CUDA kernels on JAX's CPU as a GPU would, and check all that they do",
    )
    group.addoption(
        "--gpu-seed",
        type=int,
        default=0,
        metavar="N",
        help="the order of blocks and threads, another one at every launch; default: 0",
    )


@pytest.hookimpl(tryfirst=True)  # before a plugin loads operators
def pytest_configure(config: pytest.Config) -> None:
    """Emulate a GPU for the whole process, with a check of everything that can be checked."""
    if not config.getoption("emulate_gpu"):
        return
    os.environ["JAX_PLATFORMS"] = "cpu"  # for JAX that is still to be loaded, and for processes of tests
    try:
        jax, checks = importlib.import_module("jax"), importlib.import_module("ptx_on_cpu").Checks
        gpu = importlib.import_module("ffi_bridge.emulated").emulate_gpu()
    except ModuleNotFoundError as error:
        needed = f"--emulate-gpu needs {error.name}, which is not installed"
        raise pytest.UsageError(f'{needed}; pip install "ffi-bridge[emulated]"') from error
    jax.config.update("jax_platforms", "cpu")
    gpu.checks, gpu.seed = checks(initialised=True, races=True), config.getoption("gpu_seed")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the checks of the emulated GPU, and the seed of the order of its threads."""
    options: Any = config.option
    if not options.emulate_gpu:
        return None
    return f"emulated GPU: bounds, races, reads of what nobody wrote; --gpu-seed {options.gpu_seed}"
