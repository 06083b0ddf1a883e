"""Reads what machine code of a GPU says about its kernels: the parameters, their offsets and sizes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

# Attributes of a `.nv.info` section that concern us, and the format of those that hold a value of any length.
KPARAM_INFO, SIZED_VALUE = 0x17, 4


def parameters_of(cubin: bytes, kernel: str) -> list[tuple[int, int]]:
    """(offset, size) of every parameter of a kernel, in order."""
    found: dict[int, tuple[int, int]] = {}
    for attribute, value in _attributes(_sections(cubin)[f".nv.info.{kernel}"]):
        if attribute == KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            found[ordinal] = offset, packed >> 18
    return [found[ordinal] for ordinal in sorted(found)]


def _sections(elf: bytes) -> dict[str, bytes]:
    """Contents by name; an ELF file of 64 bits."""
    table, size, count, names = (
        *struct.unpack_from("<Q", elf, 0x28),
        *struct.unpack_from("<HHH", elf, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    texts = headers[names][4]
    contents: dict[str, bytes] = {}
    for name, _, _, _, offset, length in headers:
        start = texts + name
        contents[elf[start : elf.index(b"\0", start)].decode()] = elf[offset : offset + length]
    return contents


def _attributes(section: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(section):
        layout, attribute, length = struct.unpack_from("<BBH", section, at)
        at += 4
        if layout == SIZED_VALUE:
            yield attribute, section[at : at + length]
            at += length
