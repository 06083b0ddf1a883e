"""Derivatives of kernels of many kinds, in a process whose memory is not zero, and on two devices."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from derivatives import needs_enzyme

pytestmark = needs_enzyme


def passed(file, mark, **environment):
    """Run the tests of a file in a process with an environment of its own; return how many passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", mark]
    done = subprocess.run(
        [*command, str(Path(__file__).with_name(file))],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(r"(\d+) passed", done.stdout)[1])


@pytest.mark.parametrize(
    ("mark", "least"), [("not slow", 2), pytest.param("slow", 30, marks=pytest.mark.slow)]
)
def test_of_many_kernels(mark, least):
    """Memory from `malloc` is full of one byte, so that nothing is right because it happens to be 0."""
    assert passed("differentiated_kernels.py", mark, MALLOC_PERTURB_="165") >= least


def test_on_two_devices():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    assert passed("derivatives_on_2_devices.py", "not slow", XLA_FLAGS=flags, JAX_PLATFORMS="cpu") == 2
