"""CUDA kernels come from the kernel cache, too, where they can be told to be the same."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from ffi_bridge import kernel_cache
from ffi_bridge.identity import internals
from ffi_bridge.numba_cuda import compile as numba_cuda_compile
from ffi_bridge.numba_cuda.by_llvm import COMPILER
from ffi_bridge.numba_cuda.toolchain import ArrayType

pytestmark = pytest.mark.promise(6)

ARGUMENTS = (ArrayType(np.dtype("float32"), 1, True), ArrayType(np.dtype("float32"), 1, False))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba_cuda_compile, "_cubins", {})
    return tmp_path


@pytest.fixture
def compiled(monkeypatch):
    """The names of the kernels that were compiled."""
    names, compile_kernel = [], COMPILER.compile

    def counted(kernel, *rest):
        names.append(kernel.__name__)
        return compile_kernel(kernel, *rest)

    monkeypatch.setattr(COMPILER, "compile", counted)
    return names


def scaled(factor, **options):
    @cuda.jit(**options)
    def kernel(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = factor * x[i]

    return kernel


def cubin_in_a_new_process(kernel, arguments=ARGUMENTS, capability=(9, 0)):
    numba_cuda_compile._cubins.clear()
    return numba_cuda_compile.compile_kernel(kernel, arguments, capability)


def test_compiled_once(compiled):
    first = cubin_in_a_new_process(scaled(2))
    assert cubin_in_a_new_process(scaled(2)) == first
    assert len(compiled) == 1


@pytest.mark.parametrize("numbers", [(1, 1), (1, 2)])
def test_overloads_of_library_functions_by_others_count(compiled, monkeypatch, numbers):
    def template(number):
        return SimpleNamespace(key=len, _overload_func=lambda x: lambda x: number)

    for number in numbers:
        monkeypatch.setattr(internals, "declared_templates", lambda of=number: [template(of)])
        cubin_in_a_new_process(scaled(2))
    assert len(compiled) == len({*numbers})


def test_that_a_kernel_synchronises_its_grid_is_kept(compiled):
    @cuda.jit
    def kernel(x, y):
        y[cuda.blockIdx.x] = x[0]
        cuda.cg.this_grid().sync()

    assert [cubin_in_a_new_process(kernel).synchronises_grid for _ in range(2)] == [True, True]
    assert len(compiled) == 1


GAIN = np.float32(0)


@cuda.jit(device=True)
def amplified(v):
    return v * GAIN


def of_a_callee():
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = amplified(x[i])

    return kernel


def test_a_changed_global_of_a_device_function(compiled, monkeypatch):
    for value in map(np.float32, (3, 50, 3)):
        monkeypatch.setitem(globals(), "GAIN", value)
        code = cubin_in_a_new_process(of_a_callee()).code
        assert value.tobytes() in code  # a multiplication holds its constant
    assert len(compiled) == 2


def test_what_differs_is_compiled(compiled, monkeypatch):
    doubles = tuple(ArrayType(np.dtype("float64"), 1, x.readonly) for x in ARGUMENTS)
    cubin_in_a_new_process(scaled(2))
    cubin_in_a_new_process(scaled(3))
    cubin_in_a_new_process(scaled(2, fastmath=True))
    cubin_in_a_new_process(scaled(2), doubles)
    cubin_in_a_new_process(scaled(2), capability=(8, 0))
    monkeypatch.setattr(numba_cuda_compile, "_toolchain", lambda: [("nvidia-nvvm", "0")])
    cubin_in_a_new_process(scaled(2))
    assert len(compiled) == 6


def test_a_damaged_cubin_is_compiled_anew(compiled, folder):
    cubin_in_a_new_process(scaled(2))
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    cubin_in_a_new_process(scaled(2))
    assert len(compiled) == 2
    assert kernel_cache.load(path.stem) is not None
