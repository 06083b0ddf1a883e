"""For every test: strict modes, and `--part` to share the suite between runs."""

import os
import zlib
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


def part(text: str) -> tuple[int, int]:
    """`K/N` as two numbers; raises ValueError unless 0 <= K < N."""
    k, n = (int(number) for number in text.split("/"))
    if not 0 <= k < n:
        raise ValueError(f"--part {text}: expected K/N with 0 <= K < N")
    return k, n


def share_of(item: pytest.Item) -> str:
    """The file, the test and the first of its parameters, an operator for most.

    Such tests compile much the same, once where they run together; `nox -s matrix` has each meet each Python.
    """
    return f"{item.path.name}::{item.name.partition('-')[0]}"


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run only the tests whose shares hash to K modulo N (the others count as deselected)"
    parser.addoption("--part", type=part, default=(0, 1), metavar="K/N", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    k, n = config.getoption("--part")
    chosen = {item for item in items if zlib.crc32(share_of(item).encode()) % n == k}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


@pytest.fixture(scope="session")
def gpu() -> Any:
    """A GPU made of Python, the same for every test of the process; skips without numba-cuda."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    emulated = pytest.importorskip("ffi_bridge.emulated")
    return emulated.emulate_gpu()
