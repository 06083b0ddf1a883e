"""The benchmark of derivatives has kernel and twin side by side, and what a gradient costs."""

import pytest
from other_pytest import run_benchmark

from ffi_bridge.errors import MissingRuleError
from ffi_bridge.numba_cpu.derivatives import enzyme


@pytest.mark.slow
def test_a_kernel_is_beside_its_twin(tmp_path):
    try:
        enzyme.python()
    except MissingRuleError as error:
        pytest.skip(str(error))
    done, found = run_benchmark(tmp_path / "derivatives.json", "derivatives", "-k", "biquad_cascade")
    assert done.returncode == 0, done.stdout + done.stderr  # values agree
    entries = {(entry["group"], entry["name"]): entry["extra_info"] for entry in found["benchmarks"]}
    beside = [
        (f"biquad_cascade, {what}", who)
        for what in ("value", "jvp", "gradient")
        for who in ("numba_kernel", "JAX")
    ]
    cost = [("gradient of biquad_cascade", what) for what in ("gradient", "value")]
    assert list(entries) == [*beside, *cost]
    assert entries[cost[0]]["rival"] == "value" and entries[cost[0]]["ratio"] > 1
    assert all(entry["size"] == 20_000 for entry in entries.values())
