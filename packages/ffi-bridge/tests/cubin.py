"""Reads what machine code of a GPU says about the parameters of its kernels: their offsets and sizes."""

from __future__ import annotations

import struct

from ptx_on_cpu.counters.cubin import attributes, sections

KPARAM_INFO = 0x17  # an attribute of a kernel's `.nv.info` section


def parameters_of(cubin: bytes, kernel: str) -> list[tuple[int, int]]:
    """(offset, size) of every parameter of a kernel, in order."""
    found: dict[int, tuple[int, int]] = {}
    for attribute, value in attributes(sections(cubin)[f".nv.info.{kernel}"].contents):
        if attribute == KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            found[ordinal] = offset, packed >> 18
    return [found[ordinal] for ordinal in sorted(found)]
