"""Counting: from the traces of a launch to its counters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptx_on_cpu.buffers import Buffer
from ptx_on_cpu.counters.counts import PER_INSTRUCTION, Counts, Traffic
from ptx_on_cpu.counters.memory import (
    SECTOR,
    Transfers,
    contention_of,
    distinct_sectors,
    interleaved,
    requests_of,
    wavefronts_of,
)
from ptx_on_cpu.counters.traces import Instruction, Trace, begins, issued, located, order_by, rows_of, total
from ptx_on_cpu.records import ATOMIC, GLOBAL, LOCAL, SHARED


def count(
    executed: Trace,
    accesses: Trace,
    instructions: Sequence[Instruction],
    basic_blocks: Mapping[int, Sequence[int]],
    buffers: Sequence[Buffer] = (),
) -> Counts:
    """Return the counters of a launch by its traces, which `records` describes.

    `basic_blocks`: the instructions of each block, by the first; `buffers`: what is known of global memory.
    Lanes of a warp with equal `moment` count as together. An instruction under a predicate that is false
    counts as executed, as the warp issues it, and accesses nothing.
    """
    table = np.zeros(len(instructions), PER_INSTRUCTION)
    _count_executed(table, executed, basic_blocks)
    in_global, buffer = located(rows_of(accesses, GLOBAL), buffers)
    _count_transfers(table, in_global, "global")
    _count_transfers(table, interleaved(rows_of(accesses, LOCAL)), "local")
    shared = wavefronts_of(rows_of(accesses, SHARED), len(table))
    table["shared_requests"], table["wavefronts"] = shared.requests, shared.wavefronts
    table["ideal_wavefronts"] = shared.ideal
    atomics = accesses[accesses["kind"] == ATOMIC]
    # `located` gives addresses outside of all buffers the next number.
    names = [each.name for each in buffers] + ["elsewhere"] * bool((buffer == len(buffers)).any())
    return Counts(
        instructions=instructions,
        per_instruction=table,
        traffic=tuple(_traffic(name, in_global[buffer == i]) for i, name in enumerate(names)),
        atomics={
            name: contention_of(atomics[atomics["space"] == space])
            for name, space in {"global": GLOBAL, "shared": SHARED}.items()
        },
        blocks=len(np.unique(executed["block"])),
        threads_per_block=int((executed["rank"] + 1).max(initial=0)),
    )


def _count_executed(table: NDArray[Any], executed: Trace, basic_blocks: Mapping[int, Sequence[int]]) -> None:
    warp = issued(executed, "start")
    # A warp issues a block once for all lanes that are there at one moment.
    order = order_by(warp, executed["moment"])
    first = begins(warp[order], executed["moment"][order])
    threads = np.bincount(executed["start"], minlength=len(table))
    warps = np.bincount(executed["start"][order][first], minlength=len(table))
    for start, places in basic_blocks.items():
        table["threads"][list(places)] += threads[start]
        table["warps"][list(places)] += warps[start]


def _count_transfers(table: NDArray[Any], accesses: Trace, space: str) -> None:
    requests = requests_of(accesses)
    for name, amount in [
        ("requests", requests.new),
        ("asked", requests.asked),
        ("sectors", requests.sectors),
    ]:
        table[f"{space}_{name}"] = total(requests.rows["pc"], amount, len(table))


def _traffic(name: str, accesses: Trace) -> Traffic:
    requests = requests_of(accesses)
    read, written = distinct_sectors(accesses)
    transfers = Transfers(int(requests.new.sum()), int(requests.asked.sum()), int(requests.sectors.sum()))
    return Traffic(name, transfers, SECTOR * len(read), SECTOR * len(written))
