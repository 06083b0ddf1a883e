"""The same bits again: for a thread count, for most operators for any; generated matrices everywhere."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from event_ops.discover import operators

pytestmark = pytest.mark.promise(10)

PROGRAM = Path(__file__).with_name("operator_digests.py")
NAMES = [operator.name for operator in operators()]
# Threads have sums of their own, which are added up at the end: SECURITY.md names these operators.
SHARED_SUMS: set[str] = set()

# Shape, probability and seed of a generated matrix -> the digest of where it has entries, and of its weights.
GOLDEN = {}


def digests(threads):
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    """By thread count, and once more for two."""
    pytest.importorskip("numba", reason="Numba is not installed")
    return {"1": digests(1), "2": digests(2), "2 again": digests(2)}


@pytest.mark.slow
def test_a_thread_count_gives_the_same_bits_at_every_call_and_in_every_process(found, record_property):
    record_property("tried", 3 * 5 * len(NAMES))
    assert list(found["2"]) == NAMES
    assert [name for name in NAMES for run in found.values() if len(run[name]) > 1] == []
    assert found["2"] == found["2 again"]


@pytest.mark.slow
def test_another_thread_count_changes_sums_that_threads_share_and_nothing_else(found, record_property):
    record_property("tried", len(NAMES))
    assert {name for name in NAMES if found["1"][name] != found["2"][name]} == SHARED_SUMS


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
