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
from event_ops.cases.operations import sparse_product
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


_SHAPES: dict[str, tuple[tuple[int, int], int]] = {
    "random": ((17, 23), 120),
    "one-entry": ((1, 1), 1),
    "empty-rows": ((40, 9), 12),
    "no-entries": ((5, 4), 0),
    "no-rows": ((0, 4), 3),
    "no-columns": ((4, 0), 3),
    "wide": ((2, 300), 90),
    "threads": ((700, 500), 40_000),
}

_SIZES: dict[str, tuple[tuple[int, int], int]] = {
    "1000x2000-5%": ((1000, 2000), 100),
    "100k-100": ((100_000, 100_000), 100),
    "1M-10": ((1_000_000, 1_000_000), 10),
}

# Sums of up to a hundred terms, in any order.
_linear = partial(Case, differentiable=(DATA, V), tolerance=20)

CASES = (
    *(
        _linear(f"{name}{'-transposed' * transpose}", random_product(shape, nse, transpose))
        for name, (shape, nse) in _SHAPES.items()
        for transpose in (False, True)
    ),
    *(
        _linear(
            f"one-weight-{name}{'-transposed' * transpose}",
            one_weight(random_product(shape, nse, transpose), of_weight),
        )
        for name, shape, nse, of_weight in (
            ("0d", (17, 23), 120, ()),
            ("1d", (17, 23), 120, (1,)),
            ("no-entries", (5, 4), 0, ()),
            ("threads", (700, 500), 40_000, ()),
        )
        for transpose in (False, True)
    ),
    _linear("loose-ends", _loose_ends(), tolerance=5),
    *both_ways(
        _linear, "out-of-range", lambda turned: out_of_range(random_product((6, 7), 30, turned)), tolerance=5
    ),
    _linear("out-of-range-long-rows", out_of_range(random_product((6, 7), 250), 99)),
    *(
        Case(f"{half}-{name}", stored_as(half, DATA, make), tolerance=20)
        for half in HALVES
        for name, make in (
            ("random", random_product((17, 23), 120)),
            ("random-transposed", random_product((17, 23), 120, True)),
            ("one-weight", one_weight(random_product((17, 23), 120))),
            ("threads", random_product((700, 500), 40_000)),
        )
    ),
    *(
        benchmark(
            f"{name}{'-transposed' * transpose}", sized_product(shape, per_row, transpose), tolerance=20
        )
        for name, (shape, per_row) in _SIZES.items()
        for transpose in (False, True)
    ),
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


BENCH = Bench(linear=(0, 3), operations=sparse_product)
