"""An estimate of how long a launch takes on a GPU: the longest of the times that its counters imply."""

from dataclasses import dataclass
from typing import Final

from ptx_on_cpu.counters.counts import Counts, aligned
from ptx_on_cpu.counters.kernel_resources import Resources
from ptx_on_cpu.counters.occupancy import Occupancy, occupancy
from ptx_on_cpu.records import WARP


@dataclass(frozen=True)
class Device:
    """A GPU by its data sheet: multiprocessors, clock in Hz, bandwidth of DRAM in bytes per second."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    clock: float
    dram: float


# 132 * 128 * 2 * 1.98e9 = 67e12, the float32 operations per second that both data sheets give.
H100: Final = Device("H100 SXM", (9, 0), 132, 1.98e9, 3.35e12)
H200: Final = Device("H200", (9, 0), 132, 1.98e9, 4.8e12)

# Results per clock and multiprocessor of compute capability 9.0.
_RESULTS: Final = {"fp32": 128, "fp64": 64, "integer": 64, "special": 16}
_ISSUED = 4  # warp instructions per clock and multiprocessor, one by each scheduler
_L2 = 5120  # bytes per clock of an A100; not published for Hopper
_LAUNCH = 2e-6  # seconds

ASSUMPTIONS: Final = (
    "nothing was measured: data sheets' peak rates, at the boost clock, are reached",
    "a PTX instruction is one machine instruction; ptxas in fact merges, splits and removes some",
    f"those other than {', '.join(_RESULTS)} cost no more than their slot of issue",
    "there are always enough warps to hide latency, and all kinds of work overlap",
    "blocks are equally long, one per multiprocessor before any has two",
    "caches are empty before; DRAM moves each sector once to read it and once to write it",
    "no request hits L1, except that local memory stays there",
    f"L2 moves {_L2} bytes per clock, as an A100's does",
    "atomic updates of one address of global memory follow one another, one per clock",
    f"a launch takes {1e6 * _LAUNCH:g} us in addition",
)


@dataclass(frozen=True)
class Estimate:
    """An ESTIMATE of a launch's duration: `bounds`, in seconds, by the resource that sets each."""

    device: Device
    bounds: dict[str, float]
    launch: float
    occupancy: Occupancy

    @property
    def seconds(self) -> float:
        """Return launch + max(bounds)."""
        return self.launch + max(self.bounds.values())

    @property
    def limited_by(self) -> str:
        """Return the name of the greatest bound, "launch" if the launch takes longer than all."""
        name = max(self.bounds, key=lambda name: self.bounds[name])
        return name if self.bounds[name] > self.launch else "launch"

    def __str__(self) -> str:
        head = f"ESTIMATE, not a measurement: {1e6 * self.seconds:.4g} us on {self.device.name}"
        there = self.occupancy
        fit = f"{there.warps} of {there.most_warps} warps, limited by {' and '.join(there.limited_by)}"
        bounds = [[name, f"{1e6 * bound:.4g}"] for name, bound in self.bounds.items()]
        return "\n".join(
            [
                f"{head}, limited by {self.limited_by}",
                aligned(["bound", "us"], [*bounds, ["launch", f"{1e6 * self.launch:.4g}"]]),
                f"occupancy {there.fraction:.0%}: {fit}",
                "The estimate assumes that",
                *(f"- {assumption}" for assumption in ASSUMPTIONS),
            ]
        )


def estimate(counts: Counts, resources: Resources, device: Device = H100, shared: int = 0) -> Estimate:
    """Return launch + max of bytes / bandwidth, instructions / rate, ...: an ESTIMATE of a launch's duration.

    `shared`: bytes of dynamic shared memory per block. `ASSUMPTIONS` are what it takes for granted. The
    multiprocessors that a small grid leaves empty do not count. Raise ValueError for a launch without
    threads, and for one that does not fit on the device.
    Sources: "NVIDIA H100 Tensor Core GPU Datasheet", SXM: 3.35 TB/s, 67 and 34 TFLOP/s of float32 and
    float64; "NVIDIA H200 Tensor Core GPU Datasheet": 4.8 TB/s; CUDA C++ Programming Guide, "Throughput of
    Native Arithmetic Instructions"; "NVIDIA A100 Tensor Core GPU Architecture": 5120 bytes per clock of L2.
    """
    if not counts.blocks:
        raise ValueError("the launch had no threads; expected the counts of one that executed something")
    memory = resources.shared + shared
    occupied = occupancy(device.capability, counts.threads_per_block, resources.registers, memory)
    if not occupied.blocks:
        raise ValueError(
            f"a block of {counts.threads_per_block} threads with {resources.registers} registers each and "
            f"{memory} bytes of shared memory does not fit on {device.name}: "
            f"{' and '.join(occupied.limited_by)}"
        )
    cycles = device.clock * min(counts.blocks, device.multiprocessors)
    warps = {kind: issued for kind, (_, issued) in counts.kinds.items()}
    bounds = {
        "DRAM": counts.compulsory / device.dram,
        "L2": counts.global_memory.moved / (_L2 * device.clock),
        "issue": counts.warps / (_ISSUED * cycles),
        **{kind: WARP * warps.get(kind, 0) / (rate * cycles) for kind, rate in _RESULTS.items()},
        "shared memory": counts.wavefronts / cycles,
        "atomics": counts.atomics["global"].most / device.clock,
    }
    return Estimate(device, bounds, _LAUNCH, occupied)
