"""The resources of kernels as their machine code, a cubin, tells them: no tool is needed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ptx_on_cpu.counters.resources import Resources

_MAGIC: Final = b"\x7fELF"
# Attributes of the section `.nv.info`, which are pairs of a kernel's symbol and a number.
_REGISTERS, _STACK = 0x2F, 0x12
_SIZED: Final = 4  # the format of attributes with a value of any length
_SYMBOL: Final = 24  # bytes
# From compute capability 9.0 on, a kernel's section of shared memory counts what CUDA reserves in each block.
_RESERVED, _RESERVED_FROM = 1024, 90


@dataclass(frozen=True)
class Section:
    """A section of an ELF file; one that is to be zeros has a size and no contents."""

    size: int
    contents: bytes


def resources_of(cubin: bytes, entry: str) -> Resources:
    """Return the resources of a kernel in an ELF cubin; only ptxas knows of spills.

    Raise ValueError unless the kernel is in it.
    """
    if cubin[:4] != _MAGIC:
        raise ValueError(f"a cubin begins with {_MAGIC!r}, what was given begins with {cubin[:4]!r}")
    found = sections(cubin)
    if f".text.{entry}" not in found:
        kernels = sorted(name.removeprefix(".text.") for name in found if name.startswith(".text."))
        raise ValueError(f"the cubin has no kernel '{entry}'; it has {', '.join(kernels) or 'none'}")
    told = dict(_told(found, entry))
    shared = found.get(f".nv.shared.{entry}", Section(0, b"")).size
    if shared and _architecture(cubin) >= _RESERVED_FROM:
        shared -= _RESERVED
    return Resources(registers=told[_REGISTERS], shared=shared, local=told.get(_STACK, 0))


def _architecture(cubin: bytes) -> int:
    """Return 90 for sm_90; version 8 of the format has moved it."""
    (flags,) = struct.unpack_from("<I", cubin, 0x30)
    version = cubin[8]
    return (flags >> 8 if version >= 8 else flags) & 0xFF


def sections(elf: bytes) -> dict[str, Section]:
    """Return the sections of an ELF file of 64 bits, by name."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    texts = headers[names][4]
    return {
        _text(elf, texts + name): Section(length, elf[offset : offset + length])
        for name, _, _, _, offset, length in headers
    }


def _text(contents: bytes, start: int) -> str:
    return contents[start : contents.index(b"\0", start)].decode()


def _told(found: dict[str, Section], entry: str) -> Iterator[tuple[int, int]]:
    """Yield attribute and number of the entries of `.nv.info` on a kernel."""
    symbols, texts = found[".symtab"].contents, found[".strtab"].contents
    for attribute, value in attributes(found[".nv.info"].contents):
        if attribute in (_REGISTERS, _STACK):
            symbol, number = struct.unpack("<II", value)
            (name,) = struct.unpack_from("<I", symbols, symbol * _SYMBOL)
            if _text(texts, name) == entry:
                yield attribute, number


def attributes(section: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and value of the attributes of a `.nv.info` section that have a value of any length."""
    at = 0
    while at < len(section):
        layout, attribute, length = struct.unpack_from("<BBH", section, at)
        at += 4
        if layout == _SIZED:
            yield attribute, section[at : at + length]
            at += length
