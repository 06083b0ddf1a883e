"""The registers and the memory that a compiled kernel takes of a GPU."""

import importlib.util
import io
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile


@dataclass(frozen=True)
class Resources:
    """Resources of a kernel: registers and local memory per thread, static shared memory per block; in bytes.

    `spill_stores`, `spill_loads`: bytes of the instructions that move registers to local memory and back,
    None where unknown.
    """

    registers: int
    shared: int
    local: int
    spill_stores: int | None = None
    spill_loads: int | None = None


# Where wheels of CUDA 13 and 12 have their programs, below the package `nvidia`.
_FOLDERS: Final = ("cu13/bin", "cuda_nvcc/bin")
_ENTRY: Final = re.compile(r"^.*Compiling entry function '([^']+)'.*$", re.M)


def resources(ptx: str, capability: tuple[int, int] = (9, 0)) -> dict[str, Resources]:
    """Return the resources of each kernel in `ptx`, by its name, on GPUs of this compute capability.

    ptxas comes from a wheel in the environment, `nvidia-cuda-nvcc` or `nvidia-cuda-nvcc-cu12`, or else from
    PATH. Raise FileNotFoundError without it, ValueError with its words if it refuses the PTX,
    as it does that of compilers newer than itself.
    """
    # With -v ptxas prints what each kernel takes.
    command = [_ptxas(), "-v", f"-arch=sm_{capability[0]}{capability[1]}", "kernel.ptx", "-o", "kernel.cubin"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.ptx").write_text(ptx)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode:
        architecture = command[2].removeprefix("-arch=")
        hint = "PTX of a newer CUDA needs the ptxas of its wheel"
        raise ValueError(f"{command[0]} does not take this PTX for {architecture}; {hint}:\n{said}")
    _, *pieces = _ENTRY.split(said)
    return {entry: _resources(text) for entry, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _resources(said: str) -> Resources:
    """Read the lines of ptxas on an entry, then on functions that it calls and that are not inlined."""

    def numbers(unit: str) -> list[int]:
        return [int(number) for number in re.findall(rf"(\d+) {unit}", said)]

    return Resources(
        # A thread has registers for the entry and what it calls alike: the most counts.
        registers=max(numbers("registers")),
        shared=sum(numbers("bytes smem")),
        local=max(numbers("bytes stack frame") + numbers("bytes cumulative stack size")),
        spill_stores=sum(numbers("bytes spill stores")),
        spill_loads=sum(numbers("bytes spill loads")),
    )


def _ptxas() -> str:
    """Return the path of ptxas; raise FileNotFoundError without it."""
    spec = importlib.util.find_spec("nvidia")
    roots: Iterable[str] = (spec and spec.submodule_search_locations) or ()
    wheels = [os.path.join(root, folder) for root in roots for folder in _FOLDERS]
    ptxas = shutil.which("ptxas", path=os.pathsep.join([*wheels, os.environ.get("PATH", os.defpath)]))
    if ptxas is None:
        raise FileNotFoundError(
            "ptxas is neither in the environment nor on PATH; "
            "`pip install nvidia-cuda-nvcc-cu12` for CUDA 12, `pip install nvidia-cuda-nvcc` for CUDA 13"
        )
    return ptxas


# Attributes of the section `.nv.info`, which are pairs of a kernel's symbol and a number.
_REGISTERS, _STACK = 0x2F, 0x12
_SIZED: Final = 4  # the format of attributes with a value of any length
# From compute capability 9.0 on, a kernel's section of shared memory counts the part that CUDA reserves.
_RESERVED, _RESERVED_FROM = 1024, 90


def resources_of(cubin: bytes, entry: str) -> Resources:
    """Return the resources of a kernel in an ELF cubin; only ptxas knows of spills.

    Raise ValueError unless the kernel is in it.
    """
    try:
        elf: Any = ELFFile(io.BytesIO(cubin))
    except ELFError as error:
        raise ValueError(f"a cubin is an ELF file, but the given bytes begin with {cubin[:4]!r}") from error
    if elf.get_section_by_name(f".text.{entry}") is None:
        names = (section.name for section in elf.iter_sections())
        kernels = sorted(name.removeprefix(".text.") for name in names if name.startswith(".text."))
        raise ValueError(f"the cubin has no kernel '{entry}'; it has {', '.join(kernels) or 'none'}")
    numbers = dict(_numbers(elf, entry))
    shared = elf.get_section_by_name(f".nv.shared.{entry}")
    size = 0 if shared is None else int(shared["sh_size"])
    if size and _architecture(elf) >= _RESERVED_FROM:
        size -= _RESERVED
    return Resources(registers=numbers[_REGISTERS], shared=size, local=numbers.get(_STACK, 0))


def _architecture(elf: Any) -> int:
    """Return 90 for sm_90; version 8 of the format has moved it."""
    flags, version = elf["e_flags"], elf["e_ident"]["EI_ABIVERSION"]
    return (flags >> 8 if version >= 8 else flags) & 0xFF


def _numbers(elf: Any, entry: str) -> Iterator[tuple[int, int]]:
    """Yield attribute and number of the entries of `.nv.info` on a kernel."""
    symbols = elf.get_section_by_name(".symtab")
    for attribute, value in attributes(elf.get_section_by_name(".nv.info").data()):
        if attribute in (_REGISTERS, _STACK):
            symbol, number = struct.unpack("<II", value)
            if symbols.get_symbol(symbol).name == entry:
                yield attribute, number


def attributes(section: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and value of the attributes of a `.nv.info` section that have a value of any length."""
    at = 0
    while at < len(section):
        layout, attribute, length = struct.unpack_from("<BBH", section, at)
        at += 4
        # In other formats the two bytes of the length are the value itself.
        if layout == _SIZED:
            yield attribute, section[at : at + length]
            at += length
