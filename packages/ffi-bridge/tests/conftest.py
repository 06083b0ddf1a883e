"""Fixtures of several files."""

import pytest


@pytest.fixture(scope="session")
def gpu():
    """A GPU made of Python, the same for every test of the process; skips without numba-cuda."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    emulated = pytest.importorskip("ffi_bridge.emulated")
    return emulated.emulate_gpu()
