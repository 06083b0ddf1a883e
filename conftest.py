"""For every test: strict modes."""

import os
import tempfile
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


@pytest.fixture(scope="session")
def gpu() -> Any:
    """A GPU made of Python, the same for every test of the process; skips without numba-cuda."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    emulated = pytest.importorskip("ffi_bridge.emulated")
    return emulated.emulate_gpu()
