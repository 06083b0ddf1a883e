"""Corrupt data never make a kernel write or read beside its arrays, and give what the contract says."""

import importlib.util
import inspect
import json
import signal

import child_processes
import pytest
from corrupt_calls import OPERATORS

from event_ops.discover import operators

pytestmark = pytest.mark.promise(4)

KERNELS = {operator.name: operator.kernel for operator in operators()}
CHECKS = {
    "canaries": {"FFI_BRIDGE_DEBUG": "1"},
    "bounds": {"FFI_BRIDGE_DEBUG": "1", "NUMBA_BOUNDSCHECK": "1"},
}

# What says where memory is read or written.
CORRUPTIBLE = {"entries", "indices", "indptr", "rows", "segment_ids", "events", "spikes_pre", "slot", "words"}


# One of each kind of structure; to compile all of them for their guarded outputs takes minutes.
SOME = ("csr_event_matvec", "csr_tocsc", "ell_matvec", "scatter_add", "segment_sum")


def run(tmp_path, backend, checks, profile, count, *names):
    """Fuzz operators, all if none is named, in a process; return how many calls of each were made."""
    if importlib.util.find_spec({"numba_cpu": "numba"}.get(backend, backend)) is None:
        pytest.skip(f"{backend} cannot run here")
    record = tmp_path / "last_call"
    ended = child_processes.run(
        "fuzz.py", backend, count, profile, record, *names, limit=3600, **CHECKS[checks]
    )
    last = record.read_text() if record.exists() else "none"
    assert ended.code == 0, f"{ended}\nlast call: {last}"
    return json.loads(ended.out.splitlines()[-1])


def test_every_operator_with_such_arguments_is_fuzzed():
    takes = {
        operator.name
        for operator in operators()
        if CORRUPTIBLE & set(inspect.signature(operator.function).parameters)
    }
    assert takes - set(OPERATORS) == set()


def test_corrupt_calls_under_canaries(tmp_path, record_property):
    tried = run(tmp_path, "numba_cpu", "canaries", "quick", 40, *SOME)
    record_property("tried", sum(tried.values()))
    assert set(tried) == set(SOME)
    assert sum(tried.values()) >= 150


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "checks", "profile", "count"),
    [
        ("numba_cpu", "canaries", "full", 600),
        ("numba_cpu", "bounds", "full", 400),
        ("numba_cpu", "canaries", "threads", 100),
        ("warp", "canaries", "full", 100),
    ],
)
def test_thousands_of_corrupt_calls(tmp_path, record_property, backend, checks, profile, count):
    tried = run(tmp_path, backend, checks, profile, count)
    record_property("tried", sum(tried.values()))
    assert set(tried) == {name for name in OPERATORS if backend in KERNELS[name].available_backends("cpu")}
    assert sum(tried.values()) >= 0.8 * count * len(tried)


@pytest.mark.parametrize(("read", "dies"), [("15", False), ("16", True), ("-1", True)])
def test_a_read_beside_an_input_would_be_seen(read, dies):
    pytest.importorskip("numba", reason="Numba is not installed")
    ended = child_processes.run("read_beside.py", read, limit=300)
    assert (ended.code == -signal.SIGSEGV) is dies, str(ended)
    assert dies or float(ended.out) == 15
