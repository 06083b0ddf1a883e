"""The resources of kernels as NVIDIA's assembler, ptxas, tells them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ptx_on_cpu.counters.resources import Resources

# Where wheels of CUDA 13 and 12 have their programs, below the package `nvidia`.
_FOLDERS: Final = ("cu13/bin", "cuda_nvcc/bin")
_ENTRY: Final = re.compile(r"^.*Compiling entry function '([^']+)'.*$", re.M)


def resources(ptx: str, capability: tuple[int, int] = (9, 0)) -> dict[str, Resources]:
    """Return the resources of each kernel in `ptx`, by its name, on GPUs of this compute capability.

    ptxas comes from a wheel in the environment, `nvidia-cuda-nvcc` or `nvidia-cuda-nvcc-cu12`, or else from
    PATH. Raise FileNotFoundError without it, ValueError with its words if it refuses the PTX,
    as it does that of compilers newer than itself.
    """
    command = [_ptxas(), "-v", f"-arch=sm_{capability[0]}{capability[1]}", "kernel.ptx", "-o", "kernel.cubin"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.ptx").write_text(ptx)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode:
        architecture = command[2].removeprefix("-arch=")
        hint = "PTX of a newer CUDA needs the ptxas of its wheel"
        raise ValueError(f"{command[0]} does not take this PTX for {architecture}; {hint}:\n{said}")
    _, *parts = _ENTRY.split(said)
    return {entry: _resources(text) for entry, text in zip(parts[::2], parts[1::2], strict=True)}


def _resources(said: str) -> Resources:
    """Read the lines of ptxas on an entry, then on functions that it calls and that are not inlined."""

    def numbers(unit: str) -> list[int]:
        return [int(number) for number in re.findall(rf"(\d+) {unit}", said)]

    return Resources(
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
    found = shutil.which("ptxas", path=os.pathsep.join([*wheels, os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise FileNotFoundError(
            "ptxas is neither in the environment nor on PATH; "
            "`pip install nvidia-cuda-nvcc-cu12` for CUDA 12, `pip install nvidia-cuda-nvcc` for CUDA 13"
        )
    return found
