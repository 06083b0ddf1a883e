"""Cases of `csr_matmat`."""

from functools import partial

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, both_ways, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.csr_products import invalid_matrices, one_weight, random_product, sized_product
from event_ops.cases.draw import Draw, drawn, stored_as
from event_ops.cases.matrices import MATRIX_2_4, lead_astray
from event_ops.cases.operations import sparse_product

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, B = 0, 3


@drawn
def _out_of_range(draw: Draw, transpose: bool) -> Arguments:
    """Return columns out of range and an indptr that spans only some entries; weights there are NaN."""
    (data, indices, indptr, dense), kwargs = random_product((6, 7), 40, transpose, (3,))(*draw)
    indptr = np.clip(indptr, 5, 33)
    lead_astray(indices, 7)
    k = np.arange(40)
    data[(k < 5) | (k >= 33) | (indices < 0) | (indices >= 7)] = np.nan
    return (data, indices, indptr, dense), kwargs


_linear = partial(Case, differentiable=(DATA, B), tolerance=20)
_random = partial(random_product, (17, 23), 120, row=(5,))

CASES = (
    *both_ways(_linear, "random", _random),
    *both_ways(Case, "out-of-range", _out_of_range, tolerance=5),
    _linear("no-columns-of-B", random_product((5, 4), 9, row=(0,)), tolerance=1.0),
    *both_ways(Case, "threads", partial(random_product, (60, 80), 7000, row=(36,)), tolerance=50),
    *(
        _linear(
            f"one-weight-{name}{'-transposed' * transpose}",
            one_weight(random_product(shape, nse, transpose, (5,)), of_weight),
            tolerance=50,
        )
        for name, shape, nse, of_weight in (
            ("0d", (17, 23), 120, ()),
            ("1d", (17, 23), 120, (1,)),
            ("threads", (60, 80), 40_000, ()),
        )
        for transpose in (False, True)
    ),
    Case("float16", stored_as("float16", DATA, _random()), tolerance=20),
    *both_ways(Case, "bfloat16", lambda turned: stored_as("bfloat16", DATA, _random(turned)), tolerance=20),
    *(
        benchmark(
            f"{name}-n{n}{'-transposed' * transpose}",
            sized_product(shape, per_row, transpose, (n,)),
            tolerance=20,
        )
        for name, shape, per_row, n in (
            ("1000x2000-5%", (1000, 2000), 100, 16),
            ("10k-100", (10_000, 10_000), 100, 32),
            ("100k-100", (100_000, 100_000), 100, 32),
        )
        for transpose in (False, True)
    ),
)

_wrong = changes_to(MATRIX_2_4 | {"B": np.ones((4, 5), np.float32)}, shape=(2, 4))

INVALID_CALLS = (
    *invalid_matrices(_wrong, "grid-of-weights short-data"),
    _wrong(
        "half",
        TypeError,
        "B has dtype float16; expected float32.*cast",
        data=np.ones(3, np.float16),
        B=np.ones((4, 5), np.float16),
    ),
    _wrong("mixed", TypeError, "B has dtype int32 and data.*cast", B=np.ones((4, 5), np.int32)),
    _wrong("vector", ValueError, r"B has 1 dimensions.*call the matvec", B=np.ones(4, "f")),
    _wrong("short-B", ValueError, r"expected \(4, 5\): one row per column", B=np.ones((3, 5), "f")),
    _wrong("orientation", ValueError, "it fits transpose=True", B=np.ones((2, 5), "f")),
)


BENCH = Bench(linear=(0, 3), operations=sparse_product)
