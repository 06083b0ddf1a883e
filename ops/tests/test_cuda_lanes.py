"""What the lanes of a warp vote is right where the last lane votes, whose bit is the sign of an int32."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda, types

import event_ops as eo
from event_ops.kernels.numba_cuda import procedural_products as procedural
from event_ops.kernels.numba_cuda.threads import WARP, lanes_where

LAST = WARP - 1
EVENTS = np.array([LAST, 2 * WARP - 1, 2 * WARP + 3])  # of the last lanes of two warps, and of another
SIZE = 100


def events():
    return np.isin(np.arange(SIZE), EVENTS)


def test_votes_are_unsigned():
    _, kind = cuda.compile(lanes_where.py_func, (types.boolean,), cc=(9, 0))
    assert kind == types.uint32


@pytest.mark.slow_cases("few")
@pytest.mark.parametrize("active", [EVENTS, np.arange(SIZE)], ids=["few", "all"])
def test_columns_of_events(on_gpu, active):
    data, indices, indptr = np.ones(2, "f"), np.arange(2, dtype="i"), np.array([0, 2], "i")
    columns = np.isin(np.arange(SIZE), active)[None]
    y = eo.csr_event_matmat(
        data, indices, indptr, columns, shape=(1, 2), transpose=True, backend="numba_cuda"
    )
    np.testing.assert_array_equal(y, np.repeat(columns, 2, 0).astype("f"))


@pytest.mark.slow
def test_rows_that_a_warp_watches(on_gpu, monkeypatch):
    monkeypatch.setattr(procedural, "RESIDENT_WARPS", 1)  # a warp for 32 rows, as of large matrices

    def product(backend):
        static = {"prob": 0.1, "shape": (SIZE, 40), "transpose": True}
        return eo.procedural_event_matvec(np.float32(1), 3, events(), backend=backend, **static)

    np.testing.assert_array_equal(product("numba_cuda"), product("reference"))
