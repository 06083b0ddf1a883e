"""Cases of `csr_event_matvec`."""

from functools import partial

import numpy as np

from event_ops.cases import Arguments, Case, Rounding, benchmark, both_ways, changes_to
from event_ops.cases.bench import Bench, csr_event_product
from event_ops.cases.csr_products import invalid_matrices, out_of_range, permuted, random_event_product
from event_ops.cases.draw import Draw, drawn, stored_as, with_bits, with_spike_ids
from event_ops.cases.matrices import MATRIX_2_4
from event_ops.checks.arrays import HALVES

DTYPES = ("float32", "float64")
ROUNDING = Rounding(0, sums=True)

DATA, EVENTS = 0, 3


@drawn
def _sized(draw: Draw, size: int, per_row: int, rate: float, transpose: bool) -> Arguments:
    arrays = draw.fixed_degree_csr((size, size), per_row)
    events = draw.events(size, rate)
    return (*arrays, events), {"shape": (size, size), "transpose": transpose}


@drawn
def _poisoned(draw: Draw, transpose: bool, nse: int = 60, events: str = "bool") -> Arguments:
    """Return NaN or inf as the weights that meet an inactive event."""
    args, kwargs = random_event_product((9, 9), nse, transpose, events)(*draw)
    data, indices, indptr, active = args
    rows = np.repeat(np.arange(9), np.diff(indptr))
    silent = active[rows if transpose else indices] == 0
    data[silent] = np.where(draw.rng.random(silent.sum()) < 0.5, np.nan, np.inf)
    return (data, indices, indptr, active), kwargs


@drawn
def _one_element(draw: Draw) -> Arguments:
    """Return one weight for all, of shape (1,)."""
    args, kwargs = random_event_product((8, 5), 20, one=True)(*draw)
    return (args[0].reshape(1), *args[1:]), kwargs


_SPIKE_IDS = {turned: with_spike_ids(random_event_product((11, 8), 60, turned)) for turned in (False, True)}
_BITS = {turned: with_bits(random_event_product((37, 71), 200, turned)) for turned in (False, True)}

_SHAPES: dict[str, tuple[tuple[int, int], int]] = {
    "random": ((17, 23), 120),
    "empty-rows": ((40, 9), 12),
    "no-entries": ((5, 4), 0),
    "no-rows": ((0, 4), 3),
    "no-columns": ((4, 0), 3),
    "threads": ((700, 500), 40_000),
}

_KINDS = (("bool", False), ("bool", True), ("float", False), ("float", True))


def _named(name: str, transpose: bool, events: str, homogeneous: bool) -> str:
    parts = (name, "transposed" * transpose, "float" * (events == "float"), "one" * homogeneous)
    return "-".join(part for part in parts if part)


_counts = partial(random_event_product, (37, 71), 400)

# Sums of up to a hundred terms, in any order.
_summed = partial(Case, tolerance=20)
_in_data = partial(_summed, differentiable=(DATA,))
_LINEAR_IN = {"bool": (DATA,), "float": (DATA, EVENTS)}

CASES = (
    *(
        _summed(
            _named(name, transpose, events, homogeneous),
            random_event_product(shape, nse, transpose, events, homogeneous),
            differentiable=_LINEAR_IN[events],
        )
        for name, (shape, nse) in _SHAPES.items()
        for transpose in (False, True)
        for events, homogeneous in _KINDS
        if name in ("random", "threads") or (events, homogeneous) == ("bool", False)
    ),
    _in_data("one-element", _one_element(), tolerance=5),
    # What is inactive adds exactly 0, whatever the weight.
    *both_ways(Case, "poisoned", _poisoned, tolerance=5),
    _summed("poisoned-long-rows", _poisoned(False, 250)),
    _summed("poisoned-long-rows-float", _poisoned(False, 250, "float")),
    *both_ways(
        _in_data,
        "out-of-range",
        lambda turned: out_of_range(random_event_product((6, 7), 30, turned)),
        tolerance=5,
    ),
    _in_data("out-of-range-long-rows", out_of_range(random_event_product((6, 7), 250), 99)),
    _in_data("counts-uint8", _counts(False, "uint8"), tolerance=50),
    _in_data("counts-uint16-transposed", _counts(True, "uint16"), tolerance=50),
    _in_data("counts-uint16-one", _counts(False, "uint16", True), tolerance=50),
    _in_data("counts-uint8-transposed-one", _counts(True, "uint8", True), tolerance=50),
    # Made floats, since they are wide.
    Case("counts-uint32", _counts(True, "uint32"), tolerance=50),
    *both_ways(_in_data, "spike-ids", _SPIKE_IDS.__getitem__, tolerance=50),  # each id 14 times
    *both_ways(_in_data, "packed", _BITS.__getitem__),
    *(
        _summed(
            _named("permuted", transpose, events, False),
            permuted(random_event_product((41, 37), 300, transpose, events)),
            differentiable=_LINEAR_IN[events],
        )
        for transpose in (False, True)
        for events in ("bool", "float")
    ),
    Case("permuted-threads", permuted(random_event_product((41, 37), 40_000)), tolerance=200),
    *both_ways(
        _in_data,
        "permuted-out-of-range",
        lambda turned: permuted(random_event_product((41, 37), 120, turned), True),
    ),
    *both_ways(_in_data, "permuted-spike-ids", lambda turned: permuted(_SPIKE_IDS[turned]), tolerance=50),
    *(
        _summed(f"{half}-{name}", stored_as(half, DATA, make))
        for half in HALVES
        for name, make in (
            ("random", random_event_product((17, 23), 120, False, "float")),
            ("random-transposed", random_event_product((17, 23), 120, True)),
            ("one-transposed", random_event_product((17, 23), 120, True, "float", True)),
        )
    ),
    _summed(
        "bfloat16-threads-transposed",
        stored_as("bfloat16", DATA, random_event_product((700, 500), 40_000, True)),
    ),
    *both_ways(benchmark, "4000-80-0.05%", partial(_sized, 4000, 80, 0.0005), tolerance=20),
    *both_ways(benchmark, "4000-80-1.00%", partial(_sized, 4000, 80, 0.01), tolerance=20),
    *both_ways(benchmark, "100000-100-0.10%", partial(_sized, 100_000, 100, 0.001), tolerance=20),
    *both_ways(benchmark, "100000-100-1.00%", partial(_sized, 100_000, 100, 0.01), tolerance=20),
)

_wrong = changes_to(MATRIX_2_4 | {"events": np.ones(4, bool)}, shape=(2, 4))

INVALID_CALLS = (
    *invalid_matrices(_wrong, "integer short-data short-permutation float-permutation short-indptr"),
    _wrong(
        "half",
        TypeError,
        "events has dtype float16",
        data=np.ones(3, np.float16),
        events=np.ones(4, np.float16),
    ),
    _wrong("integer-events", TypeError, "int32.*encoding='counts'", events=np.ones(4, np.int32)),
    _wrong("bool-counts", TypeError, "events has dtype bool; expected integers", encoding="counts"),
    _wrong("short-counts", ValueError, "it fits transpose", events=np.ones(2, "u1"), encoding="counts"),
    _wrong("bool-ids", TypeError, "events has dtype bool; expected int32", encoding="ids"),
    _wrong("words", ValueError, r"expected \(1,\): bits", events=np.ones(4, np.uint32), encoding="bits"),
    _wrong("encoding", ValueError, "encoding is 'index'; expected 'flags'", encoding="index"),
    _wrong("grid", ValueError, "has 2 dimensions", events=np.ones((4, 1), np.int32), encoding="ids"),
    _wrong("mixed", TypeError, "events has dtype float16", events=np.ones(4, np.float16)),
    _wrong("orientation", ValueError, "it fits transpose=True", events=np.ones(2, bool)),
    _wrong("short-events", ValueError, "one element per column", events=np.ones(3, bool)),
)


BENCH = Bench(linear=(0, 3), moved=csr_event_product)
