"""Traces of launches that nobody ran, and kernels that are only described."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptx_on_cpu.counters import Counts, count
from ptx_on_cpu.records import ACCESS, EXECUTED, GLOBAL, LOAD


@dataclass(frozen=True)
class Described:
    """An instruction."""

    opcode: str
    line: str | None = None


def accesses(
    addresses: Sequence[int] | np.ndarray,
    size: int = 4,
    *,
    pc: int = 0,
    space: int = GLOBAL,
    kind: int = LOAD,
    moment: int = 0,
    block: int = 0,
    first: int = 0,
) -> np.ndarray:
    """Return the trace of one access each by threads of consecutive ranks."""
    rows = np.zeros(len(addresses), ACCESS)
    rows["address"], rows["rank"] = addresses, first + np.arange(len(addresses))
    rows["size"], rows["pc"], rows["space"], rows["kind"] = size, pc, space, kind
    rows["moment"], rows["block"] = moment, block
    return rows


def executed(ranks: Sequence[int] | range, start: int = 0, *, moment: int = 0, block: int = 0) -> np.ndarray:
    """Return the trace of one basic block, executed by these threads of a block."""
    rows = np.zeros(len(ranks), EXECUTED)
    rows["rank"], rows["start"], rows["moment"], rows["block"] = ranks, start, moment, block
    return rows


def counted(*traces: np.ndarray, opcodes: Sequence[str] = ("ld.global.f32",), **more: Any) -> Counts:
    """Return the counts of accesses alone."""
    rows = np.concatenate([np.zeros(0, ACCESS), *traces])
    return count(np.zeros(0, EXECUTED), rows, [Described(opcode) for opcode in opcodes], {}, **more)
