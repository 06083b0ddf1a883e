"""Estimates of launches whose bound is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from traced import Described, accesses, executed

from ptx_on_cpu.counters import H100, H200, Counts, Resources, count, estimate
from ptx_on_cpu.counters.roofline import ASSUMPTIONS
from ptx_on_cpu.records import ACCESS, ATOMIC, SHARED, STORE

THREADS = 128
SMALL = Resources(registers=32, shared=0, local=0)


def launch(opcodes: list[str], blocks: int, *rows: np.ndarray, **more: Any) -> Counts:
    """Return the counts of all instructions by all threads, with these accesses."""
    trace = np.concatenate([executed(range(THREADS), block=block) for block in range(blocks)])
    kernel = [Described(opcode) for opcode in opcodes]
    return count(trace, np.concatenate([np.zeros(0, ACCESS), *rows]), kernel, {0: range(len(kernel))}, **more)


def copied(blocks: int, moments: int = 1) -> Counts:
    """Return the counts of a copy; at each moment, a thread moves 16 bytes."""
    places = 16 * np.arange(blocks * moments * THREADS)
    block, moment, rank = np.unravel_index(places // 16, (blocks, moments, THREADS))
    read = accesses(places, 16)
    write = accesses((1 << 40) + places, 16, pc=1, kind=STORE)
    for rows in (read, write):
        rows["block"], rows["moment"], rows["rank"] = block, moment, rank
    return launch(["ld.global.v4.f32", "st.global.v4.f32"], blocks, read, write)


def test_a_copy_is_limited_by_dram_at_its_bandwidth() -> None:
    counts = copied(200, 20)
    moved = 2 * 16 * THREADS * 200 * 20
    for device, bandwidth in [(H100, 3.35e12), (H200, 4.8e12)]:
        found = estimate(counts, SMALL, device)
        assert found.limited_by == "DRAM"
        assert found.bounds["DRAM"] == pytest.approx(moved / bandwidth)
        assert found.seconds == pytest.approx(2e-6 + moved / bandwidth)


def test_reads_that_repeat_load_l2_and_not_dram() -> None:
    rows = [accesses(4 * np.arange(THREADS), moment=moment) for moment in range(900)]
    found = estimate(launch(["ld.global.f32"], 1, *rows), SMALL)
    assert found.bounds["DRAM"] == pytest.approx(512 / 3.35e12)
    assert found.bounds["L2"] == pytest.approx(900 * 512 / (5120 * 1.98e9))


@pytest.mark.parametrize(
    ("opcode", "bound", "rate"), [("fma.rn.f32", "fp32", 66.9e12), ("fma.rn.f64", "fp64", 33.5e12)]
)
def test_arithmetic_on_all_multiprocessors_reaches_the_data_sheets_rate(
    opcode: str, bound: str, rate: float
) -> None:
    counts = launch([opcode] * 500, 132)
    found = estimate(counts, SMALL)
    assert found.bounds[bound] == pytest.approx(2 * counts.threads / rate, rel=2e-3)
    assert found.bounds[bound] >= found.bounds["issue"] > 0
    assert max(found.bounds, key=lambda name: found.bounds[name]) in (bound, "issue")


def test_a_small_grid_leaves_multiprocessors_empty() -> None:
    one, many = (estimate(launch(["add.s32"] * 50, blocks), SMALL) for blocks in (1, 132))
    assert one.bounds["integer"] == pytest.approx(many.bounds["integer"])
    assert one.limited_by == "launch"


def test_conflicts_and_contention_take_their_time() -> None:
    column = accesses(128 * np.arange(32), space=SHARED)
    hot = accesses(np.zeros(32), pc=1, kind=ATOMIC)
    found = estimate(launch(["ld.shared.f32", "red.global.add.f32"], 1, column, hot), SMALL)
    assert found.bounds["shared memory"] == pytest.approx(32 / 1.98e9)
    assert found.bounds["atomics"] == pytest.approx(32 / 1.98e9)


def test_nobody_can_take_an_estimate_for_a_measurement() -> None:
    text = str(estimate(copied(4), SMALL))
    assert text.startswith("ESTIMATE, not a measurement: ")
    assert "on H100 SXM, limited by launch\n" in text
    assert "occupancy 100%: 64 of 64 warps, limited by warps and registers" in text
    assert all(f"\n- {assumption}" in text for assumption in ASSUMPTIONS)


def test_what_cannot_be_launched_has_no_estimate() -> None:
    counts = copied(1)
    for static, dynamic in [(228 << 10, 0), (0, 228 << 10), (114 << 10, 114 << 10)]:
        with pytest.raises(ValueError, match="does not fit on H100 SXM: shared memory"):
            estimate(counts, replace(SMALL, shared=static), shared=dynamic)
    with pytest.raises(ValueError, match="the launch had no threads"):
        estimate(replace(counts, blocks=0), SMALL)
