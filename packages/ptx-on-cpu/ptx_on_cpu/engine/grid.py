"""Run the blocks of a launch, on one core or on several, in memory made for them."""

import contextlib
import ctypes
import ctypes.util
import functools
import math
import os
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numba import typeof

from ptx_on_cpu.checks.watch import Watch
from ptx_on_cpu.engine.host import Host
from ptx_on_cpu.engine.schedule import run_blocks
from ptx_on_cpu.records import ACCESS, BLOCK, EXECUTED, FINE, SLICE, THREAD, TRACE_ROOM
from ptx_on_cpu.syntax.program import Function, Instruction
from ptx_on_cpu.turns import compiling

Array = np.ndarray[Any, Any]
Extents = tuple[int, int, int]

_FRAMES: Final = 1 << 32  # bytes of their frames
_WINDOW: Final = 1 << 20  # blocks that change places with each other
_LINE: Final = 64  # bytes of a line of the cache: frames begin there


@dataclass(frozen=True)
class Shape:
    """Extents of a launch, and bytes: of a frame and the local memory in it, of shared memory.

    `local_shadow`: the place in a frame that says which bytes of local memory are written; 0: none.
    """

    grid: Extents
    block: Extents
    frame: int
    local: int
    local_shadow: int
    shared: int
    dynamic: int  # of the shared memory

    @property
    def threads(self) -> int:
        """Return the number of threads of a block."""
        return math.prod(self.block)

    @property
    def fields(self) -> dict[str, int]:
        """Return the fields of a block's record that tell these."""
        extents = {"ntid": self.block, "nctaid": self.grid}
        values = {
            f"{name}_{axis}": n for name, each in extents.items() for axis, n in zip("xyz", each, strict=True)
        }
        values |= {"shared_size": self.shared, "dynamic": self.dynamic, "local_size": self.local}
        return values | {"frame_size": self.frame, "local_shadow": self.local_shadow}


@dataclass(frozen=True)
class Settings:
    """Settings of a run; the rest as in `Kernel.launch`.

    `all_at_once`: blocks wait for the whole grid. `most`: blocks that are unfinished at a time.
    """

    initialised: bool
    counted: bool
    all_at_once: bool
    most: int
    parallel: bool
    seed: int | None
    patience: int


@dataclass(frozen=True)
class Failure:
    """A launch that failed: the reason, and the block and its threads as they were."""

    why: int
    block: Any
    threads: Any


def run_grid(
    code: int, shape: Shape, settings: Settings, params: int, buffers: Array, host: Host, watch: Watch | None
) -> Failure | None:
    """Run the machine code at the address `code` for all threads; `params`: the pointer to the parameters."""
    count = math.prod(shape.grid)
    blocks = np.arange(min(count, _WINDOW), dtype=np.int64)
    ranks = np.arange(shape.threads, dtype=np.uint32)
    if settings.seed is not None:
        random = np.random.default_rng(settings.seed)
        random.shuffle(blocks)
        random.shuffle(ranks)
    places = {"params": params, "buffers": buffers.ctypes.data, "num_buffers": len(buffers)}
    places |= {"order": ranks.ctypes.data, "call_host": host.address}
    work = functools.partial(_run, code, shape, settings, shape.fields | places, host, watch, blocks)
    # A watch is written by one thread; blocks that wait for the grid have to be in one queue.
    is_parallel = settings.parallel and not settings.all_at_once and watch is None
    cores = len(os.sched_getaffinity(0)) if is_parallel else 1
    shares = min(cores, count)
    if shares == 1:
        return work(range(count))
    with ThreadPoolExecutor(cores) as pool:
        failures = list(
            pool.map(work, (range(count * i // shares, count * (i + 1) // shares) for i in range(shares)))
        )
    return next((failure for failure in failures if failure is not None), None)


def _run(
    code: int,
    shape: Shape,
    settings: Settings,
    fields: Mapping[str, int],
    host: Host,
    watch: Watch | None,
    order: Array,
    places: range,
) -> Failure | None:
    """Run the blocks at some places of the order, one after another, with memory for unfinished blocks."""
    fitting = max(1, _FRAMES // (shape.threads * shape.frame + shape.shared + _LINE))
    rows = min(len(places), fitting, settings.most)
    records = np.zeros(rows, BLOCK)
    for name, value in [*fields.items(), *(watch.fields(rows).items() if watch else ())]:
        records[name] = value
    size = max(1, shape.shared)
    shared = np.empty((rows, size), np.uint8)
    shadow = np.empty((rows, size if settings.initialised else 0), np.uint8)
    frames = np.empty((rows, shape.threads * shape.frame + _LINE), np.uint8)
    accesses, executed = (
        np.empty((rows, TRACE_ROOM if settings.counted else 1), kind) for kind in (ACCESS, EXECUTED)
    )
    memories = {"shared": shared, "frames": frames, "accesses": accesses, "executed": executed}
    if settings.initialised:
        memories["shared_shadow"] = shadow
    for name, memory in memories.items():
        records[name] = memory.ctypes.data + np.arange(rows, dtype=np.uint64) * np.uint64(memory.strides[0])
    # Up to the next line of the cache; the frames have one line more than they need.
    records["frames"] += np.uint64(_LINE) - records["frames"] % np.uint64(_LINE)
    threads = np.zeros((rows, shape.threads), THREAD)
    # Patience is told in turns of loops, and the scheduler counts pauses.
    turns = settings.patience // SLICE
    memory = records, threads, shared, shadow
    given = code, shape.frame, order, places.start, places.stop, *memory, turns, settings.all_at_once
    with kept_subnormals():
        why, row = _scheduler(*given, 0 if watch is None else watch.address)
    # What was collected since the host last took it.
    for record in records if settings.counted else ():
        host.take_traces(record)
    return None if why == FINE else Failure(why, records[row], threads[row])


def _scheduler(*given: Any) -> Any:
    """Run blocks; all launches have one machine code, which the first one compiles."""
    run: Any = run_blocks
    if not run.signatures:
        with compiling():
            run.compile(tuple(map(typeof, given)))
    return run(*given)


_EXACT: Final = frozenset({"s32", "u32", "s64", "u64", "b32", "b64"})
_COMMUTATIVE: Final = frozenset({"add", "min", "max", "and", "or", "xor"})
_STRONG: Final = frozenset({"volatile", "relaxed", "acquire", "mmio"})


def blocks_are_independent(function: Function) -> bool:
    """Return whether blocks neither communicate nor leave results that depend on their order.

    Sums of integers by atomics that return nothing do not; sums of floats do, in their last bits.
    """
    return not any(map(_depends_on_order, function.body))


def _depends_on_order(each: Instruction) -> bool:
    modifiers = set(each.modifiers)
    if each.name in ("atom", "red") and "shared" not in modifiers:
        is_read = each.name == "atom" and each.operands[0] != "_"
        return is_read or each.modifiers[-1] not in _EXACT or not modifiers & _COMMUTATIVE
    if each.name in ("ld", "ldu") and "shared" not in modifiers:
        return bool(modifiers & _STRONG)
    return each.name == "call"  # of a function of the host, such as printf


_C: Final = ctypes.CDLL(ctypes.util.find_library("m"))
_DEFAULT: Final = ctypes.c_void_p(-1)  # FE_DFL_ENV of glibc and musl
_ROOM: Final = 256  # bytes, more than a `fenv_t` of any processor has


@contextlib.contextmanager
def kept_subnormals() -> Generator[None]:
    """Compute with subnormal numbers within the block, in this thread."""
    # Threads of XLA, and after libraries of -ffast-math all others, take subnormals for 0.
    before = ctypes.create_string_buffer(_ROOM)
    _C.fegetenv(before)
    _C.fesetenv(_DEFAULT)
    try:
        yield
    finally:
        _C.fesetenv(before)
