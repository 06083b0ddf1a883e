"""Counters that hold on any GPU: instructions and memory of a launch, and resources of a kernel."""

from ptx_on_cpu.counters.counting import count
from ptx_on_cpu.counters.counts import Counts, Traffic
from ptx_on_cpu.counters.kernel_resources import Resources, resources, resources_of
from ptx_on_cpu.counters.memory import Contention, Transfers
from ptx_on_cpu.counters.occupancy import Occupancy, occupancy
from ptx_on_cpu.counters.roofline import H100, H200, Device, Estimate, estimate
from ptx_on_cpu.counters.traces import Instruction, kind_of

__all__ = [
    "H100",
    "H200",
    "Contention",
    "Counts",
    "Device",
    "Estimate",
    "Instruction",
    "Occupancy",
    "Resources",
    "Traffic",
    "Transfers",
    "count",
    "estimate",
    "kind_of",
    "occupancy",
    "resources",
    "resources_of",
]
