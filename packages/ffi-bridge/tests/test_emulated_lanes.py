"""The lanes of a warp on the emulated GPU: they shuffle, vote and meet as on a real one."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("ptx_on_cpu", reason="ptx-on-cpu is not installed")

from numba import cuda

FULL = 0xFFFFFFFF


def test_warps_shuffle_and_vote(launch):
    @cuda.jit
    def kernel(found):
        lane, i = cuda.laneid, cuda.grid(1)
        found[i, 0] = cuda.shfl_sync(FULL, lane, 5)
        found[i, 1] = cuda.shfl_up_sync(FULL, lane, 1)
        found[i, 2] = cuda.shfl_down_sync(FULL, lane, 1)
        found[i, 3] = cuda.shfl_xor_sync(FULL, lane, 1)
        found[i, 4] = cuda.ballot_sync(FULL, lane < 3)
        found[i, 5] = cuda.all_sync(FULL, lane < 32)
        found[i, 6] = cuda.any_sync(FULL, lane == 40)
        found[i, 7] = cuda.match_any_sync(FULL, lane % 2)

    found = np.zeros((64, 8), np.int32)
    launch(kernel, found, block=(64, 1, 1))
    odd = 0xAAAAAAAA - 2**32  # an int32
    assert tuple(found[0]) == (5, 0, 1, 1, 7, 1, 0, ~odd)
    assert tuple(found[33]) == (5, 0, 2, 0, 7, 1, 0, odd)
    assert tuple(found[63]) == (5, 30, 31, 30, 7, 1, 0, odd)


def test_votes_are_32_bits_with_a_sign_that_arithmetic_extends_to_64(launch):
    @cuda.jit
    def kernel(found):
        votes = cuda.ballot_sync(FULL, cuda.laneid >= 30)
        wide = votes & votes - 1
        found[cuda.laneid, 0] = cuda.popc(votes)
        found[cuda.laneid, 1] = cuda.popc(wide)

    found = np.zeros((32, 2), np.int32)
    launch(kernel, found, block=(32, 1, 1))
    assert {tuple(row) for row in found} == {(2, 33)}


def test_some_lanes_of_a_warp_meet(launch):
    @cuda.jit
    def kernel(found):
        if cuda.laneid < 2:
            found[cuda.laneid] = cuda.ballot_sync(3, True)

    found = np.zeros(4, np.int32)
    launch(kernel, found)
    assert list(found) == [3, 3, 0, 0]
