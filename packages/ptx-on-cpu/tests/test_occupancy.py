"""Occupancy, against NVIDIA's own calculator where its header and a C compiler are at hand."""

import importlib.util
import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

from ptx_on_cpu.counters import occupancy

CAPABILITIES = {(8, 0): (164, 2048), (8, 6): (100, 1536), (8, 9): (100, 1536)}
CAPABILITIES |= {(9, 0): (228, 2048), (10, 0): (228, 2048), (12, 0): (100, 1536)}
THREADS = [1, 32, 33, 64, 96, 128, 160, 192, 256, 288, 384, 512, 768, 1000, 1024]
REGISTERS = [1, 16, 24, 32, 33, 40, 48, 64, 65, 72, 80, 96, 128, 168, 255]
SHARED = [0, 1, 1024, 3000, 8192, 16000, 33 << 10, 48 << 10]

PROGRAM = r"""
#include <stdio.h>
#include "cuda_occupancy.h"
int main(void) {
    int major, minor, threads, registers, shared, kilobytes, resident;
    while (scanf("%d %d %d %d %d %d %d", &major, &minor, &kilobytes, &resident,
                 &threads, &registers, &shared) == 7) {
        struct cudaOccDeviceProp device = {0};
        struct cudaOccFuncAttributes kernel = {0};
        struct cudaOccDeviceState state = {0};
        struct cudaOccResult result = {0};
        device.computeMajor = major; device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024; device.maxThreadsPerMultiprocessor = resident;
        device.regsPerBlock = 65536; device.regsPerMultiprocessor = 65536; device.warpSize = 32;
        device.sharedMemPerBlock = 48 << 10; device.sharedMemPerMultiprocessor = kilobytes << 10;
        device.numSms = 1; device.sharedMemPerBlockOptin = (kilobytes - 1) << 10;
        device.reservedSharedMemPerBlock = 1024;
        kernel.maxThreadsPerBlock = 1024; kernel.numRegs = registers; kernel.sharedSizeBytes = shared;
        state.carveoutConfig = 100;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, 0)) return 1;
        printf("%d\n", result.activeBlocksPerMultiprocessor);
    }
    return 0;
}
"""


def _include() -> Path | None:
    """Return the folder of NVIDIA's header in a wheel of CUDA."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec and spec.submodule_search_locations) or ():
        for folder in ("cu13/include", "cuda_runtime/include"):
            if (Path(root) / folder / "cuda_occupancy.h").exists():
                return Path(root) / folder
    return None


def test_blocks_are_as_many_as_in_nvidias_calculator(tmp_path: Path) -> None:
    include, compiler = _include(), shutil.which("cc")
    if include is None or compiler is None:
        pytest.skip("NVIDIA's header cuda_occupancy.h or a C compiler is not installed")
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    build = [compiler, "-w", f"-I{include}", str(tmp_path / "program.c"), "-o", str(program)]
    subprocess.run(build, check=True)
    cases = list(itertools.product(CAPABILITIES, THREADS, REGISTERS, SHARED))
    asked = "\n".join(
        " ".join(map(str, (*capability, *CAPABILITIES[capability], *rest))) for capability, *rest in cases
    )
    done = subprocess.run([str(program)], input=asked, capture_output=True, text=True, check=True)
    expected = list(map(int, done.stdout.split()))
    assert len(expected) == len(cases)
    found = [occupancy(*case).blocks for case in cases]
    assert [case for case, a, b in zip(cases, found, expected, strict=True) if a != b] == []


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "warps", "limited_by"),
    [
        (256, 32, 0, 64, ("warps", "registers")),
        (256, 33, 0, 48, ("registers",)),
        (32, 16, 0, 32, ("blocks",)),
        (1024, 32, 0, 64, ("warps", "registers")),
        (1024, 65, 0, 0, ("registers",)),
        (128, 16, 100 << 10, 8, ("shared memory",)),
        (128, 16, 228 << 10, 0, ("shared memory",)),
    ],
)
def test_an_h100_is_limited_by_what_there_is_least_of(
    threads: int, registers: int, shared: int, warps: int, limited_by: tuple[str, ...]
) -> None:
    found = occupancy((9, 0), threads, registers, shared)
    assert (found.warps, found.limited_by, found.most_warps) == (warps, limited_by, 64)
    assert found.fraction == warps / 64


def test_a_capability_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(7, 5\) is not known; known are 8.0, 8.6"):
        occupancy((7, 5), 128, 32)


@pytest.mark.parametrize(
    ("threads", "registers", "shared"), [(0, 32, 0), (1025, 32, 0), (1, 256, 0), (1, 1, -1)]
)
def test_what_no_launch_can_have_is_an_error(threads: int, registers: int, shared: int) -> None:
    with pytest.raises(ValueError, match="expected 1 to 1024, 0 to 255 and at least 0"):
        occupancy((9, 0), threads, registers, shared)
