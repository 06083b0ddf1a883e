"""Reads what machine code of a GPU says about the parameters of its kernels: their offsets and sizes."""

import io
import struct

from elftools.elf.elffile import ELFFile

from ptx_on_cpu.counters.kernel_resources import attributes

KPARAM_INFO = 0x17  # an attribute of a kernel's `.nv.info` section


def parameters_of(cubin: bytes, kernel: str) -> list[tuple[int, int]]:
    """(offset, size) of every parameter of a kernel, in order."""
    found: dict[int, tuple[int, int]] = {}
    section = ELFFile(io.BytesIO(cubin)).get_section_by_name(f".nv.info.{kernel}")
    for attribute, value in attributes(section.data()):
        if attribute == KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            found[ordinal] = offset, packed >> 18
    return [found[ordinal] for ordinal in sorted(found)]
