"""The counters of a launch: instructions executed, memory moved, conflicts between lanes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ptx_on_cpu.counters.memory import Contention, Transfers
from ptx_on_cpu.counters.traces import Instruction, kind_of
from ptx_on_cpu.records import WARP

# One row per instruction. `threads`, `warps`: how often threads executed it and warps issued it.
PER_INSTRUCTION: Final = np.dtype(
    [("threads", "i8"), ("warps", "i8")]
    + [
        (f"{space}_{counter}", "i8")
        for space in ("global", "local")
        for counter in ("requests", "asked", "sectors")
    ]
    + [("shared_requests", "i8"), ("wavefronts", "i8"), ("ideal_wavefronts", "i8")]
)


@dataclass(frozen=True)
class Traffic:
    """A buffer's transfers, and the bytes of the distinct sectors that a launch reads and writes of it."""

    name: str
    transfers: Transfers
    read: int
    written: int

    @property
    def compulsory(self) -> int:
        """Return read + written: the bytes that DRAM moves if caches are empty before and large enough."""
        return self.read + self.written


@dataclass(frozen=True)
class Counts:
    """The counters of a launch; `str` of it is a table.

    `per_instruction`: a row of PER_INSTRUCTION for each of `instructions`; `traffic`: by buffer, with a last
    one for addresses outside of all, if there are any; `atomics`: of "global" and "shared" memory.
    """

    instructions: Sequence[Instruction]
    per_instruction: NDArray[Any]
    traffic: tuple[Traffic, ...]
    atomics: dict[str, Contention]
    blocks: int
    threads_per_block: int

    @property
    def threads(self) -> int:
        """Return how many instructions threads executed."""
        return self._sum("threads")

    @property
    def warps(self) -> int:
        """Return how many instructions warps issued."""
        return self._sum("warps")

    @property
    def warp_efficiency(self) -> float:
        """Return threads / (32 * warps): the part of lanes that were active; 1 if nothing was executed."""
        return self.threads / (WARP * self.warps) if self.warps else 1.0

    @property
    def kinds(self) -> dict[str, tuple[int, int]]:
        """Return how many instructions threads executed and warps issued, by kind as `kind_of` names it."""
        threads, warps = Counter[str](), Counter[str]()
        for instruction, row in zip(self.instructions, self.per_instruction, strict=True):
            kind = kind_of(instruction.opcode)
            threads[kind] += int(row["threads"])
            warps[kind] += int(row["warps"])
        return {kind: (threads[kind], warps[kind]) for kind in sorted(threads) if threads[kind]}

    @property
    def global_memory(self) -> Transfers:
        """Return the transfers of global memory, atomics included."""
        return _transfers(self.per_instruction, "global")

    @property
    def local_memory(self) -> Transfers:
        """Return the transfers of local memory."""
        return _transfers(self.per_instruction, "local")

    @property
    def wavefronts(self) -> int:
        """Return the wavefronts of shared memory."""
        return self._sum("wavefronts")

    @property
    def bank_conflicts(self) -> int:
        """Return how many wavefronts of shared memory bank conflicts have added."""
        return self.wavefronts - self._sum("ideal_wavefronts")

    @property
    def compulsory(self) -> int:
        """Return the bytes of distinct sectors of global memory, read and written."""
        return sum(each.compulsory for each in self.traffic)

    def excess(self, ideal: int) -> float:
        """Return compulsory / ideal, where an ideal algorithm moves `ideal` bytes.

        Raise ValueError unless ideal > 0.
        """
        if ideal <= 0:
            raise ValueError(f"ideal={ideal}; expected the bytes that an ideal algorithm moves, > 0")
        return self.compulsory / ideal

    def _sum(self, name: str) -> int:
        return int(self.per_instruction[name].sum())

    def __str__(self) -> str:
        """Return totals, and tables by kind, by instruction that accesses memory, by buffer, of atomics."""
        by_kind = [[kind, *map(str, numbers)] for kind, numbers in self.kinds.items()]
        tables = [
            self._totals(),
            aligned(["kind", "threads", "warps"], by_kind),
            aligned(_OF_INSTRUCTION, list(self._by_instruction()), left=2),
            aligned(_OF_BUFFER, [_traffic_row(each) for each in self.traffic if each.transfers.requests]),
            aligned(
                _OF_ATOMICS,
                [[name, *_contention_row(each)] for name, each in self.atomics.items() if each.updates],
            ),
        ]
        return "\n\n".join(table for table in tables if table)

    def _totals(self) -> str:
        executed = f"threads executed {self.threads} instructions, warps issued {self.warps}"
        lines = [f"{executed}: warp efficiency {self.warp_efficiency:.1%}"]
        for name, each in {"global": self.global_memory, "local": self.local_memory}.items():
            if each.requests:
                bytes_ = f"{each.moved} bytes moved for {each.asked} asked for"
                lines.append(f"{name} memory: {each.requests} requests, {bytes_}: {each.efficiency:.1%}")
        if self.wavefronts:
            conflicts = f"{self.bank_conflicts} by bank conflicts"
            lines.append(f"shared memory: {self.wavefronts} wavefronts, {conflicts}")
        return "\n".join(lines)

    def _by_instruction(self) -> Iterator[list[str]]:
        for instruction, row in zip(self.instructions, self.per_instruction, strict=True):
            place = [instruction.opcode, instruction.line or ""]
            for space in ("global", "local"):
                if row[f"{space}_requests"]:
                    yield [*place, *_transfer_cells(_transfers(row, space)), "", ""]
            if row["shared_requests"]:
                conflicts = row["wavefronts"] - row["ideal_wavefronts"]
                yield [*place, str(row["shared_requests"]), "", "", str(row["wavefronts"]), str(conflicts)]


_OF_INSTRUCTION = ["instruction", "line", "requests", "sectors each", "efficiency", "wavefronts", "conflicts"]
_OF_BUFFER = ["buffer", "requests", "sectors each", "efficiency", "bytes read", "bytes written"]
_OF_ATOMICS = [
    "atomics",
    "requests",
    "updates",
    "addresses",
    "most of one",
    "mean",
    "most in a request",
    "mean",
]


def _transfers(rows: Any, space: str) -> Transfers:
    """Return the sum of one or more rows of PER_INSTRUCTION."""
    return Transfers(*(int(rows[f"{space}_{name}"].sum()) for name in ("requests", "asked", "sectors")))


def _transfer_cells(each: Transfers) -> list[str]:
    return [str(each.requests), f"{each.sectors_per_request:.2f}", f"{each.efficiency:.1%}"]


def _traffic_row(each: Traffic) -> list[str]:
    return [each.name, *_transfer_cells(each.transfers), str(each.read), str(each.written)]


def _contention_row(each: Contention) -> list[str]:
    launch = [*map(str, (each.requests, each.updates, each.addresses, each.most)), f"{each.mean:.2f}"]
    return [*launch, str(each.most_in_request), f"{each.mean_in_request:.2f}"]


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table, "" without rows; `left`: how many columns are aligned to the left."""
    lines = [head, *rows] if rows else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
