"""Operators under jax.shard_map, and batches that are split: runs files in a process with 8 CPU devices."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import child_python
import pytest

CASES = [Path(__file__).parent / name for name in ("on_8_devices.py", "batches_on_8_devices.py")]


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "mark", ["not slow", pytest.param("slow", marks=pytest.mark.slow)], ids=["quick", "slow"]
)
def test_on_8_devices(mark: str, record_property: Callable[[str, object], None]) -> None:
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", mark, *CASES)
    printed = child_python.output(*words, timeout=600, XLA_FLAGS=flags, JAX_PLATFORMS="cpu")
    passed = re.search(r"(\d+) passed", printed)
    assert passed, printed
    record_property("tried", int(passed[1]))
