"""Cases of `csr_tocsc`."""

import numpy as np

from event_ops.cases import EXACT, Arguments, Case, benchmark, changes_to
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.cases.matrices import STRUCTURE_2_4

# Those of the indices: there is no other input.
DTYPES = ("int32", "int64")
ROUNDING = EXACT


@drawn
def _random(draw: Draw, shape: Shape, nse: int) -> Arguments:
    return draw.csr(shape, nse)[1:], {"shape": shape}


@drawn
def _out_of_range(draw: Draw) -> Arguments:
    """Return columns out of range, and an indptr that spans only some of the entries."""
    _, indices, _ = draw.csr((3, 5), 14)
    indices[[3, 6, 13]] = 5, *[np.iinfo(indices.dtype).max] * 2
    if indices.dtype.kind == "i":
        indices[7] = -1
    return (indices, np.array([2, 4, 4, 9], draw.index_dtype)), {"shape": (3, 5)}


@drawn
def _sized(draw: Draw, size: int, per_row: int) -> Arguments:
    return draw.fixed_degree_csr((size, size), per_row)[1:], {"shape": (size, size)}


CASES = (
    Case("unsorted", _random((7, 11), 60)),
    Case("empty-columns", _random((5, 90), 20)),
    Case("out-of-range", _out_of_range()),
    Case("no-entries", _random((5, 4), 0)),
    Case("no-rows", _random((0, 4), 3)),
    Case("no-columns", _random((4, 0), 3)),
    benchmark("4000-80", _sized(4000, 80)),
    benchmark("20k-100", _sized(20_000, 100)),
    benchmark("100k-100", _sized(100_000, 100)),
)

_wrong = changes_to(STRUCTURE_2_4, shape=(2, 4))

INVALID_CALLS = (
    _wrong("float-indices", TypeError, "indices has dtype float32", indices=np.zeros(3, "f")),
    _wrong("flat", ValueError, "indices has 2 dim", indices=np.zeros((3, 1), int)),
    _wrong("short-indptr", ValueError, "one more than the 2 rows", indptr=np.array([0, 3])),
    _wrong("shape", ValueError, "expected two integers", shape=8),
    _wrong("too-wide", ValueError, "then cast it: indices", shape=(2, 2**31)),
)
