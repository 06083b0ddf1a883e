"""Cases of `csr_matvec`."""

from functools import partial

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, both_ways, changes_to
from event_ops.cases.bench import Bench
from event_ops.cases.csr_products import (
    invalid_matrices,
    one_weight,
    out_of_range,
    random_product,
    sized_product,
)
from event_ops.cases.draw import Draw, drawn, stored_as
from event_ops.cases.matrices import MATRIX_2_4
from event_ops.checks.arrays import HALVES

DTYPES = ("float32", "float64", "complex64", "int32")
ROUNDING = Rounding(1, sums=True)  # products of complex numbers round twice

DATA, V = 0, 3


@drawn
def _loose_ends(draw: Draw) -> Arguments:
    """Return an indptr that spans only some of the entries."""
    data, indices, _ = draw.csr((3, 5), 12)
    indptr = np.array([2, 4, 4, 9], draw.index_dtype)
    return (data, indices, indptr, draw.numbers(5)), {"shape": (3, 5)}


_few, _none, _many = (
    partial(random_product, shape, nse) for shape, nse in (((17, 23), 120), ((5, 4), 0), ((700, 500), 40_000))
)
# Sums of up to a hundred terms, in any order.
_linear = partial(Case, differentiable=(DATA, V), tolerance=20)

CASES = (
    *both_ways(_linear, "random", _few),
    *both_ways(_linear, "one-entry", partial(random_product, (1, 1), 1)),
    *both_ways(_linear, "empty-rows", partial(random_product, (40, 9), 12)),
    *both_ways(_linear, "no-entries", _none),
    *both_ways(_linear, "no-rows", partial(random_product, (0, 4), 3)),
    *both_ways(_linear, "no-columns", partial(random_product, (4, 0), 3)),
    *both_ways(_linear, "wide", partial(random_product, (2, 300), 90)),
    *both_ways(_linear, "threads", _many),
    *both_ways(_linear, "one-weight-0d", lambda turned: one_weight(_few(turned))),
    *both_ways(_linear, "one-weight-1d", lambda turned: one_weight(_few(turned), (1,))),
    *both_ways(_linear, "one-weight-no-entries", lambda turned: one_weight(_none(turned))),
    *both_ways(_linear, "one-weight-threads", lambda turned: one_weight(_many(turned))),
    _linear("loose-ends", _loose_ends(), tolerance=5),
    *both_ways(
        _linear, "out-of-range", lambda turned: out_of_range(random_product((6, 7), 30, turned)), tolerance=5
    ),
    _linear("out-of-range-long-rows", out_of_range(random_product((6, 7), 250), 99)),
    *(
        Case(f"{half}-{name}", stored_as(half, DATA, make), tolerance=20)
        for half in HALVES
        for name, make in (
            ("random", _few()),
            ("random-transposed", _few(True)),
            ("one-weight", one_weight(_few())),
            ("threads", _many()),
        )
    ),
    *both_ways(benchmark, "1000x2000-5%", partial(sized_product, (1000, 2000), 100), tolerance=20),
    *both_ways(benchmark, "100k-100", partial(sized_product, (100_000, 100_000), 100), tolerance=20),
    *both_ways(benchmark, "1M-10", partial(sized_product, (1_000_000, 1_000_000), 10), tolerance=20),
)

_wrong = changes_to(MATRIX_2_4 | {"v": np.ones(4, np.float32)}, shape=(2, 4))

INVALID_CALLS = (
    *invalid_matrices(_wrong, "bool-data float-indices float-indptr grid-of-weights short-data flat"),
    *invalid_matrices(_wrong, "short-indptr reversed shape negative-shape"),
    _wrong(
        "half",
        TypeError,
        "v has dtype float16; expected float32.*cast",
        data=np.ones(3, np.float16),
        v=np.ones(4, np.float16),
    ),
    _wrong("mixed", TypeError, "v has dtype int32 and data.*cast", v=np.ones(4, np.int32)),
    _wrong("short-v", ValueError, r"v has shape \(3,\); expected \(4,\)", v=np.ones(3, "f")),
    _wrong("orientation", ValueError, "it fits transpose=True", v=np.ones(2, "f")),
)


BENCH = Bench(linear=(0, 3))
