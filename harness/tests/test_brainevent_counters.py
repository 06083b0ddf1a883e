"""Kernels of other libraries are compiled by NVRTC and counted beside ours."""

import importlib.util
import json

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("ptx_on_cpu", reason="ptx-on-cpu is not installed")

from event_ops_harness.gpu.by_brainevent import OUTPUT, THEIRS, beside, compiled, pairs
from event_ops_harness.gpu.counters import CountedLaunch, row_of
from ptx_on_cpu import Module
from ptx_on_cpu.counters import resources_of

SOURCE = """
#include <cstdint>
template <typename T> __global__ void scale(const T* x, T* y, int32_t n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""


def test_a_kernel_of_cuda_c_is_compiled_and_counted():
    built = compiled(SOURCE, "scale<float>")
    x, y = np.arange(2000, dtype=np.float32), np.zeros(2000, np.float32)
    launch = Module(built.ptx).kernel(built.entry, counted=True).launch((8,), (256,), (x, y, np.int32(2000)))
    np.testing.assert_array_equal(y, 2 * x)
    counted = CountedLaunch.of_launch(launch, resources_of(built.cubin, built.entry), 0)
    row = row_of("scale", "2000", "float32", THEIRS, [counted], x.nbytes + y.nbytes)
    assert (row.excess, row.streamed, row.local, row.launches) == (1, 1, 0, 1)
    assert 0 < row.registers < 32 and row.instructions > 2000 / 32


def test_source_that_does_not_compile_is_an_error_with_the_words_of_nvrtc():
    with pytest.raises(ValueError, match='identifier "z" is undefined'):
        compiled(SOURCE.replace("2 * x[i]", "z"), "scale<float>")


def test_the_record_has_every_pair():
    rows = {(r["operator"], r["case"], r["backend"]) for r in json.loads(OUTPUT.read_text())["rows"]}
    cases = [(name, case.name) for name, case, _ in pairs()]
    assert rows >= {(*case, who) for case in cases for who in ("numba_cuda", THEIRS)}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("brainevent") is None, reason="brainevent is not installed")
def test_their_kernels_compute_what_ours_do():
    backends = [row.backend for row in beside()]
    assert backends.count(THEIRS) == len(list(pairs())) == backends.count("numba_cuda")
