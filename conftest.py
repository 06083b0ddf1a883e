"""For every test: strict modes; for those of CUDA kernels: a GPU made of Python."""

import os
import tempfile
from dataclasses import replace
from random import Random
from typing import Any

import hypothesis
import jax
import pytest

# What JAX would promote or broadcast silently is an error in tests.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Thousands of small programs are compiled, and each runs once.
jax.config.update("jax_disable_most_optimizations", True)

# The first call of an example compiles, so a deadline would measure the compiler.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if "CI" in os.environ else "default")


def pytest_configure(config: pytest.Config) -> None:
    """What one process of this run compiles, the others read; nothing is left of earlier runs."""
    if "FFI_BRIDGE_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="kernels-")
        os.environ["FFI_BRIDGE_CACHE_DIR"] = folder.name
        config.add_cleanup(folder.cleanup)


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes the emulated GPU, itself or by another fixture, has the mark `cudasim`."""
    for item in items:
        if "gpu" in getattr(item, "fixturenames", ()):
            item.add_marker("cudasim")


@pytest.fixture(scope="session")
def gpu() -> Any:
    """A GPU made of Python, the same for every test of the process; skips without numba-cuda."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    emulated = pytest.importorskip("ffi_bridge.emulated")
    return emulated.emulate_gpu()


@pytest.fixture
def on_gpu(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operators' CUDA backends on the emulated GPU; its threads run in another order at each launch."""
    catalog = pytest.importorskip("event_ops.discover")
    for kernels in (operator.kernel.backends for operator in catalog.operators()):
        if "numba_cuda" in kernels["gpu"]:
            backend = replace(kernels["gpu"]["numba_cuda"], platform="cpu")
            monkeypatch.setitem(kernels["cpu"], "numba_cuda", backend)
    monkeypatch.setattr(gpu, "turns", Random(0))
