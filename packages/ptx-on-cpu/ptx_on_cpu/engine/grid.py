"""The memory of a launch, and the blocks that run in it, on one core or on several."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ptx_on_cpu.buffers import Buffers
from ptx_on_cpu.engine.host import Host
from ptx_on_cpu.engine.schedule import run_blocks
from ptx_on_cpu.records import ACCESS, BLOCK, EXECUTED, FINE, SLICE, THREAD, TRACE_ROOM

_MOST_AT_ONCE: Final = 1024  # unfinished blocks; memory that none of them touches costs nothing


@dataclass(frozen=True)
class Failure:
    """A launch that failed: why, and the block and its threads as they were."""

    why: int
    block: Any
    threads: Any


@dataclass(frozen=True)
class Grid:
    """Blocks of threads that run the machine code at the address `code`."""

    code: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    frame_size: int
    local_size: int
    counted: bool

    def run(
        self,
        params: int,
        buffers: Buffers,
        host: Host,
        shared: tuple[int, int],
        initialised: bool,
        seed: int | None,
        patience: int,
        *,
        cooperative: bool,
        parallel: bool,
    ) -> Failure | None:
        """Run all blocks; `shared`: bytes for a block, and how many of them are dynamic."""
        blocks, threads = np.arange(math.prod(self.grid), dtype=np.int64), math.prod(self.block)
        ranks = np.arange(threads, dtype=np.uint32)
        if seed is not None:
            random = np.random.default_rng(seed)
            random.shuffle(blocks)
            random.shuffle(ranks)
        table = buffers.table(initialised)
        workers = min(os.cpu_count() or 1, len(blocks)) if parallel and not cooperative else 1
        common = {
            "params": params,
            "buffers": table.ctypes.data,
            "num_buffers": len(table),
            "order": ranks.ctypes.data,
            "call_host": host.address,
            "shared_size": shared[0],
            "dynamic": shared[1],
            "local_size": self.local_size,
        }
        common |= {f"ntid_{axis}": n for axis, n in zip("xyz", self.block, strict=True)}
        common |= {f"nctaid_{axis}": n for axis, n in zip("xyz", self.grid, strict=True)}

        def work(part: np.ndarray[Any, Any]) -> Failure | None:
            room = min(len(part), _MOST_AT_ONCE)
            records, memory = np.zeros(room, BLOCK), np.empty((room, max(shared[0], 1)), np.uint8)
            shadow = np.empty((room, max(shared[0], 1) if initialised else 0), np.uint8)
            frames = np.empty(room * threads * self.frame_size + 64, np.uint8)
            first = frames.ctypes.data + -frames.ctypes.data % 64
            for name, value in common.items():
                records[name] = value
            at = np.arange(room, dtype=np.uint64)
            records["shared"] = memory.ctypes.data + at * np.uint64(memory.strides[0])
            records["frames"] = first + at * np.uint64(threads * self.frame_size)
            if initialised and shared[0]:
                records["shared_shadow"] = shadow.ctypes.data + at * np.uint64(shadow.strides[0])
            traces = [
                np.empty((room, TRACE_ROOM if self.counted else 1), kind) for kind in (ACCESS, EXECUTED)
            ]
            for name, trace in zip(("accesses", "executed"), traces, strict=True):
                records[name] = trace.ctypes.data + at * np.uint64(trace.strides[0])
            running = np.zeros((room, threads), THREAD)
            why, row = run_blocks(
                self.code,
                self.frame_size,
                part,
                records,
                running,
                memory,
                shadow,
                patience // SLICE,
                cooperative,
            )
            for record in records if self.counted else ():
                host.take_traces(record)
            return None if why == FINE else Failure(why, records[row], running[row])

        if workers == 1:
            return work(blocks)
        with ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(work, np.array_split(blocks, workers)))
        return next((failure for failure in found if failure is not None), None)
