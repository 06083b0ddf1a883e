"""Derivatives of kernels of many kinds, in a process whose memory is not zero, and on two devices."""

import os
import re
from pathlib import Path

import child_python
import pytest
from derivatives import needs_enzyme

pytestmark = needs_enzyme


def passed(file, mark, **environment):
    """Run the tests of a file in a process with an environment of its own; return how many passed."""
    words = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", mark)
    printed = child_python.output(*words, Path(__file__).with_name(file), timeout=600, **environment)
    return int(re.search(r"(\d+) passed", printed)[1])


@pytest.mark.parametrize(
    ("mark", "least"), [("not slow", 2), pytest.param("slow", 30, marks=pytest.mark.slow)]
)
def test_of_many_kernels(mark, least):
    """Memory from `malloc` is full of one byte, so that nothing is right because it happens to be 0."""
    assert passed("differentiated_kernels.py", mark, MALLOC_PERTURB_="165") >= least


def test_on_two_devices():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    assert passed("derivatives_on_2_devices.py", "not slow", XLA_FLAGS=flags, JAX_PLATFORMS="cpu") == 2
