import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def pytest_run(*args):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *args, "ci/tests/test_matrix.py"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def names(*args):
    return {line for line in pytest_run(*args).stdout.splitlines() if "::" in line}


def test_parts_share_the_tests_without_overlap():
    first, second = names("--part", "0/2"), names("--part", "1/2")
    assert first
    assert second
    assert not first & second
    assert first | second == names()


@pytest.mark.parametrize("given", ["2/2", "1", "a/b"])
def test_a_part_that_does_not_exist_is_refused(given):
    done = pytest_run("--part", given)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "argument --part" in done.stderr
