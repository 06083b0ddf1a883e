"""Count the work of operators' CUDA kernels by executing their PTX on the emulated GPU; nothing is timed."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

import jax

from event_ops.cases import BENCHMARK, Case
from event_ops.discover import Operator
from event_ops_harness.bench.traffic import bytes_moved
from event_ops_harness.conformance.cell import Trial, index_dtype_of, inputs_of, types_of
from ffi_bridge.emulated import Counted, EmulatedDriver
from ffi_bridge.warp import machine_code
from ptx_on_cpu import Buffer, Launch
from ptx_on_cpu.counters import (
    H100,
    H200,
    Counts,
    Device,
    Resources,
    Traffic,
    estimate,
    occupancy,
    resources_of,
)
from ptx_on_cpu.counters.traces import located
from ptx_on_cpu.records import ATOMIC, GLOBAL, WARP

BACKENDS: Final = ("numba_cuda", "warp")
# What a case may move so that the traces of its launches fit into memory; the first one may move more.
MOST_BYTES: Final = 4 << 20
# Cases that move less, and compute so long that their traces do not fit.
TOO_LONG: Final = {
    "adex_step": ("100k",),
    "procedural_matvec": ("20000-100", "20000-100-transposed"),
    "procedural_matmat": ("4000-80-n16", "4000-80-n16-transposed"),
}
STREAMED_BYTES: Final = 4096  # shorter arrays are not looked at: their last sectors would decide


@dataclass(frozen=True)
class Row:
    """The counters of one call: of an operator, on a backend and a case.

    `ideal`: bytes that a call must move, as the operator's folder counts them. `compulsory`: bytes of the
    distinct sectors that its launches read and write. `moved`: bytes in sectors of all requests.
    `instructions`: those that warps issue.
    `streamed`: the sector efficiency of the worst array that a launch goes through once, `array`; None
    without one. `atomics`: the most updates of one address of global memory. `registers`, `local`: of a
    thread, in the launch with the most; nothing is spilled where no local memory is taken. `occupancy`: of
    the launch with the least. `h100_us`, `h200_us`: ESTIMATES by a roofline, of all launches.
    """

    operator: str
    case: str
    dtype: str
    backend: str
    launches: int
    ideal: int
    compulsory: int
    moved: int
    streamed: float | None
    array: str
    instructions: int
    warp_efficiency: float
    bank_conflicts: int
    atomics: int
    registers: int
    local: int
    occupancy: float
    h100_us: float
    h200_us: float

    @property
    def excess(self) -> float:
        """Return compulsory / ideal."""
        return self.compulsory / self.ideal

    def written(self) -> dict[str, Any]:
        """Return the figures by name, rounded."""
        rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(self).items()}
        return rounded | {"excess": round(self.excess, 4)}


@dataclass(frozen=True)
class CountedLaunch:
    """The counters of one launch, without its traces; `updated`: which of its buffers have atomics."""

    counts: Counts
    buffers: Sequence[Buffer]
    updated: frozenset[int]
    resources: Resources
    shared: int

    @classmethod
    def of(cls, run: Counted, driver: EmulatedDriver) -> Self:
        """Return the counters of a launch that the emulated GPU has made."""
        # Kernels of Warp come as PTX alone, often of a newer version than that of an installed ptxas.
        code = run.cubin.code or machine_code(
            run.cubin, replace(driver, reads_ptx=False), run.launch.block[0]
        )
        return cls.of_launch(run.launch, resources_of(code, run.cubin.entry), run.shared)

    @classmethod
    def of_launch(cls, launch: Launch, resources: Resources, shared: int) -> Self:
        """Return the counters of a counted launch, with the bytes of its dynamic shared memory."""
        accesses, buffers = launch.accesses, launch.buffers.addressable
        atomics = accesses[(accesses["kind"] == ATOMIC) & (accesses["space"] == GLOBAL)]
        updated = frozenset(located(atomics, buffers)[1].tolist())
        return cls(launch.counts, buffers, updated, resources, shared)

    @property
    def streamed(self) -> list[Traffic]:
        """Return the arrays of which about each byte is asked for once, or read once and written once.

        Those with atomics are left out: who updates single elements in any order streams nothing.
        """
        pairs = zip(self.counts.traffic, self.buffers, strict=False)  # traffic may end with "elsewhere"
        return [
            traffic
            for i, (traffic, buffer) in enumerate(pairs)
            if i not in self.updated and buffer.size >= STREAMED_BYTES
            if buffer.size <= 2 * traffic.transfers.asked <= 4 * buffer.size
        ]

    @property
    def occupancy(self) -> float:
        """Return the part of a multiprocessor's warps that fit on it at a time."""
        memory = self.resources.shared + self.shared
        threads = self.counts.threads_per_block
        return occupancy(H100.capability, threads, self.resources.registers, memory).fraction

    def estimated_us(self, device: Device) -> float:
        """Return an ESTIMATE of the duration in microseconds."""
        return 1e6 * estimate(self.counts, self.resources, device, self.shared).seconds


def cases_of(operator: Operator) -> list[Case]:
    """Return the operator's first benchmark case, and further ones whose traces fit into memory."""
    first, *others = operator.tagged(BENCHMARK)
    return [first, *(case for case in others if _fits(operator, case))]


def _fits(operator: Operator, case: Case) -> bool:
    inputs = inputs_of(case, operator.dtypes[0], index_dtype_of(operator.dtypes[0]))
    return case.name not in TOO_LONG.get(operator.name, ()) and bytes_moved(operator, *inputs) <= MOST_BYTES


def counted(
    driver: EmulatedDriver, operators: Iterable[Operator], backends: Sequence[str] = BACKENDS
) -> Iterator[Row]:
    """Yield the counters of each case of each operator that fits, on each backend that it has on a GPU."""
    for operator in operators:
        for case in cases_of(operator):
            for backend in backends:
                if backend in operator.kernel.backends["gpu"]:
                    yield count(driver, operator, case, backend)


def count(driver: EmulatedDriver, operator: Operator, case: Case, backend: str) -> Row:
    """Call an operator on a case, in its first dtype, and return the counters of its launches."""
    dtype = operator.dtypes[0]
    index_dtype = index_dtype_of(dtype)
    with types_of(dtype, index_dtype), _counting(driver, backend):
        trial = Trial(operator, backend, case, dtype, index_dtype)
        jax.block_until_ready(trial.jitted(*trial.args))
        launches = [CountedLaunch.of(run, driver) for run in driver.runs]
        ideal = bytes_moved(operator, *inputs_of(case, dtype, index_dtype))
    return row_of(operator.name, case.name, dtype, backend, launches, ideal)


def row_of(
    operator: str, case: str, dtype: str, backend: str, launches: Sequence[CountedLaunch], ideal: int
) -> Row:
    """Return the counters of the launches of one call."""
    streams = [x for launch in launches for x in launch.streamed]
    worst = min(streams, key=lambda x: x.transfers.efficiency, default=None)
    threads = sum(launch.counts.threads for launch in launches)
    warps = sum(launch.counts.warps for launch in launches)
    return Row(
        operator,
        case,
        dtype,
        backend,
        launches=len(launches),
        ideal=ideal,
        compulsory=sum(launch.counts.compulsory for launch in launches),
        moved=sum(launch.counts.global_memory.moved for launch in launches),
        streamed=worst and worst.transfers.efficiency,
        array=worst.name.removeprefix("argument ") if worst else "",
        instructions=warps,
        warp_efficiency=threads / (WARP * warps),
        bank_conflicts=sum(launch.counts.bank_conflicts for launch in launches),
        atomics=max(launch.counts.atomics["global"].most for launch in launches),
        registers=max(launch.resources.registers for launch in launches),
        local=max(launch.resources.local for launch in launches),
        occupancy=min(launch.occupancy for launch in launches),
        h100_us=sum(launch.estimated_us(H100) for launch in launches),
        h200_us=sum(launch.estimated_us(H200) for launch in launches),
    )


@contextmanager
def _counting(driver: EmulatedDriver, backend: str) -> Iterator[None]:
    """Count launches within the block, in the usual order of threads, and forget their traces after it."""
    before = driver.counted, driver.seed, driver.backends
    driver.counted, driver.seed, driver.backends = True, None, (backend,)
    try:
        yield
    finally:
        driver.counted, driver.seed, driver.backends = before
        driver.runs.clear()
