"""Operators with backends that give different results: a result tells which one ran."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest
from small_operators import Write, adds, multiplies

from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.operators import tuning
from ffi_bridge.operators.kernel import XLACustomKernel


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return request.node.name


@pytest.fixture
def pair(name: str) -> XLACustomKernel:
    """Two backends whose results tell them apart: "one" is the first in the order of preference."""
    operator = XLACustomKernel(name)
    operator.def_kernel("one", "cpu", adds(1))
    operator.def_kernel("two", "cpu", adds(2))
    return operator


@pytest.fixture
def full(name: str) -> XLACustomKernel:
    """Everything registered against the order of preference."""
    operator = XLACustomKernel(name)
    operator.def_reference(adds(1))
    operator.def_warp_kernel(adds(2))
    operator.def_numba_kernel(adds(3))
    operator.def_kernel("mine", "cpu", adds(4))
    return operator


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile every kernel of the test, and keep none on disk."""
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", "off")


@pytest.fixture
def operator(name: str) -> XLACustomKernel:
    """x -> factor * x, in as many outputs as asked for."""
    operator = XLACustomKernel(name)
    operator.def_reference(multiplies)
    return operator


@pytest.fixture
def write(tmp_path: Path, name: str) -> Write:
    """Writes cpu.json with rows about the operator of this test, and gives its folder."""

    def write(*changes: dict[str, Any], **header: Any) -> Path:
        row = {"operator": name, "platform": "cpu", "dtypes": "float32 -> float32", "flags": []}
        row |= {"above": 0, "up_to": 8, "backend": "two", "over": "one", "ratio": 1.8}
        table = {"format": tuning.FORMAT, "device_kind": "cpu", "rows": [row | x for x in changes]} | header
        (tmp_path / "cpu.json").write_text(json.dumps(table))
        return tmp_path

    return write


@pytest.fixture
def wide() -> Iterator[None]:
    """Have 64 bits, which differences need, and arrays of any rank beside each other."""
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture
def launch(gpu: Any) -> Any:
    """Run a kernel on NumPy's arrays, which it may write where NumPy may."""
    hosts = pytest.importorskip("ffi_bridge.numba_cuda.emulated_host")

    def launch(
        kernel: Any, *arrays: Any, block: Any = (4, 1, 1), grid: Any = (1, 1, 1), shared: int = 0
    ) -> None:
        host = hosts.EmulatedHost(gpu.run_kernel, gpu.capability)
        host.launch(kernel, LaunchExtents(grid, block, shared), arrays)

    return launch
