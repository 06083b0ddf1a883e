"""Cases of `csr_matmat`."""

from functools import partial

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, both_ways, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.csr_products import invalid_matrices, one_weight, random_product, sized_product
from event_ops.cases.draw import Draw, drawn, stored_as
from event_ops.cases.matrices import MATRIX_2_4, lead_astray

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
_many = partial(random_product, (60, 80), 40_000, row=(5,))
_timed = partial(benchmark, tolerance=20)

CASES = (
    *both_ways(_linear, "random", _random),
    *both_ways(Case, "out-of-range", _out_of_range, tolerance=5),
    _linear("no-columns-of-B", random_product((5, 4), 9, row=(0,)), tolerance=1.0),
    *both_ways(Case, "threads", partial(random_product, (60, 80), 7000, row=(36,)), tolerance=50),
    *both_ways(_linear, "one-weight-0d", lambda turned: one_weight(_random(turned)), tolerance=50),
    *both_ways(_linear, "one-weight-1d", lambda turned: one_weight(_random(turned), (1,)), tolerance=50),
    *both_ways(_linear, "one-weight-threads", lambda turned: one_weight(_many(turned)), tolerance=50),
    Case("float16", stored_as("float16", DATA, _random()), tolerance=20),
    *both_ways(Case, "bfloat16", lambda turned: stored_as("bfloat16", DATA, _random(turned)), tolerance=20),
    *both_ways(_timed, "1000x2000-5%-n16", partial(sized_product, (1000, 2000), 100, row=(16,))),
    *both_ways(_timed, "10k-100-n32", partial(sized_product, (10_000, 10_000), 100, row=(32,))),
    *both_ways(_timed, "100k-100-n32", partial(sized_product, (100_000, 100_000), 100, row=(32,))),
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


BENCH = Bench(linear=(0, 3))
