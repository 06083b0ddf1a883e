"""The driver of the emulated GPU: what it loads, refuses, keeps and reports."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("ptx_on_cpu", reason="ptx-on-cpu is not installed")

from ffi_bridge.cuda.cubin import Cubin, Passed, PassedBuffer, PassedPointer
from ffi_bridge.cuda.driver import use_driver
from ffi_bridge.cuda.program import ERROR_NAME_CALLBACK, LAUNCH_CALLBACK
from ffi_bridge.emulated.kept_objects import KeptObjects
from ffi_bridge.errors import KernelTypeError
from ptx_on_cpu import LaunchError


def keeps():
    """Stands for the Python kernel that PTX below would be made of."""


KEEPS = """.version 8.0
.target sm_90
.address_size 64
.global .u64 kept;
.visible .entry keeps(.param .u64 x, .param .u64 y)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.global.u64 %rd3, [kept];
    setp.ne.s64 %p1, %rd3, 0;
    @!%p1 mov.u64 %rd3, %rd1;
    st.global.u64 [kept], %rd3;
    ld.global.u32 %r1, [%rd3];
    ret;
}
"""


def test_a_pointer_that_a_kernel_has_kept_is_refused_in_the_next_launch(gpu):
    x, y = np.zeros(4, np.int32), np.zeros(4, np.int32)
    buffers = tuple(PassedBuffer(name, (4,), "int32", 16, False, True) for name in "xy")
    passed = Passed((8, 8), buffers, tuple(PassedPointer(i, 0, 0, i) for i in range(2)))
    cubin = Cubin(b"", "keeps", keeps, (), KEEPS.encode())
    pointers = [array.ctypes.data.to_bytes(8, "little") for array in (x, y)]
    extents = (1, 1, 1), (1, 1, 1), 0
    gpu.run(cubin, passed, extents, 0, pointers)
    with pytest.raises(LaunchError, match="reads 4 bytes by a pointer that an earlier launch has kept"):
        gpu.run(cubin, passed, extents, 0, pointers)


def test_a_failed_launch_has_a_status_and_a_text(gpu):
    handle = gpu.load(Cubin(b"", "keeps", keeps, (), KEEPS.encode()), 0)
    functions, text = gpu.functions(), ctypes.c_char_p()
    table = (ctypes.c_void_p * 1)()
    status = LAUNCH_CALLBACK(functions.launch)(handle, *[1] * 6, 0, None, ctypes.addressof(table), None)
    assert status == 719
    assert ERROR_NAME_CALLBACK(functions.error_name)(status, ctypes.addressof(text)) == 0
    assert b"CUDA_ERROR_LAUNCH_FAILED, LaunchError: kernel 'keeps' takes 2 parameters; 0" in text.value


def test_what_cannot_be_emulated_is_an_error_when_loaded(gpu):
    ptx = KEEPS.replace("ret;", "tcgen05.alloc.b32 [%rd1], 1; ret;").encode()
    with pytest.raises(KernelTypeError, match=r"cannot run 'keeps'.*tcgen05"):
        gpu.load(Cubin(b"", "keeps", keeps, (), ptx), 0)


def test_machine_code_is_kept_in_the_kernel_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))
    kept = KeptObjects()
    assert kept.get("key") is None
    kept["key"] = b"code"
    assert KeptObjects()["key"] == b"code"
    for asked in (lambda: list(kept), lambda: len(kept), lambda: kept.pop("key")):
        with pytest.raises(TypeError):
            asked()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["numba_cuda", "warp"])
def test_it_needs_no_compiler_but_that_of_the_kernels(module):
    use = "from ffi_bridge.emulated import emulate_gpu; emulate_gpu()"
    code = f"import sys; sys.modules['{module}'] = None; {use}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_driver_is_chosen_once(gpu):
    with pytest.raises(RuntimeError, match="choose the driver first"):
        use_driver(gpu)
