"""Let go of compiled programs after each file; leave Warp's kernels to the slow tests."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

FOLDER = Path(__file__).parent
NO_PARAMETERS = SimpleNamespace(params={})


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(items):
    """Mark tests of the backend warp as slow: the conformance kit checks its values in the quick run."""
    for item in items:
        parameters = getattr(item, "callspec", NO_PARAMETERS).params
        if item.path.parent == FOLDER and any(x == "warp" for x in parameters.values() if isinstance(x, str)):
            item.add_marker("slow")


@pytest.fixture(scope="module", autouse=True)
def _forget_compiled_programs():
    yield
    jax.clear_caches()


@pytest.fixture
def checked_gpu(gpu, on_gpu, monkeypatch):
    """The emulated GPU, which looks for races and for memory that nobody has written."""
    checks = importlib.import_module("ptx_on_cpu").Checks(initialised=True, races=True)
    monkeypatch.setattr(gpu, "checks", checks)
