"""Cases of `csr_todense`."""

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, changes_to
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import MATRIX_2_4

DTYPES = ("float32", "float64", "int32")
ROUNDING = Rounding(0, sums=True)

DATA = 0


@drawn
def _random(draw: Draw, shape: Shape, nse: int) -> Arguments:
    return draw.csr(shape, nse), {"shape": shape}


@drawn
def _one_weight(draw: Draw) -> Arguments:
    _, indices, indptr = draw.csr((6, 9), 30)
    return (draw.numbers(()), indices, indptr), {"shape": (6, 9)}


@drawn
def _out_of_range(draw: Draw) -> Arguments:
    """Return columns out of range, and an indptr that spans only some of the entries."""
    data, indices, _ = draw.csr((3, 5), 12)
    indices[[3, 6]] = 5, np.iinfo(indices.dtype).max
    if indices.dtype.kind == "i":
        indices[7] = -1
    return (data, indices, np.array([2, 4, 4, 9], draw.index_dtype)), {"shape": (3, 5)}


@drawn
def _sized(draw: Draw, size: int, per_row: int) -> Arguments:
    return draw.fixed_degree_csr((size, size), per_row), {"shape": (size, size)}


CASES = (
    Case("random", _random((7, 11), 60), differentiable=(DATA,), tolerance=5),
    Case("one-weight", _one_weight(), differentiable=(DATA,), tolerance=20),
    Case("out-of-range", _out_of_range(), differentiable=(DATA,), tolerance=5),
    Case("no-rows", _random((0, 4), 3), differentiable=(DATA,)),
    Case("no-columns", _random((4, 0), 3), differentiable=(DATA,)),
    Case("threads", _random((400, 300), 12_000), differentiable=(DATA,), tolerance=5),
    benchmark("400-40", _sized(400, 40)),
    benchmark("1500-80", _sized(1500, 80)),
    benchmark("4000-80", _sized(4000, 80)),
)

_wrong = changes_to(MATRIX_2_4, shape=(2, 4))

INVALID_CALLS = (
    _wrong("bool-data", TypeError, "data has dtype bool", data=np.ones(3, bool)),
    _wrong("short-data", ValueError, r"data has shape \(2,\)", data=np.ones(2, "f")),
    _wrong("reversed", ValueError, "one more than the 4 rows", shape=(4, 2)),
    _wrong("shape", ValueError, "expected two integers", shape=8),
)
