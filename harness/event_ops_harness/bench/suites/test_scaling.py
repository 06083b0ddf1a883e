"""Time how cost grows: `csr_matvec` with entries, `csr_event_matvec` with spikes, `lif_step` with neurons.

At every size our default backend, the reference and rivals are timed as in the catalog. The exponent of time
= factor * size ** exponent is fitted to the medians of the upper half of the sizes, at least three, by least
squares in logarithms, and has its standard error beside it: 1 means twice the cost for twice the size, 0 a
cost that does not grow. Both are with the largest size.

A fit describes these sizes only. It does not separate the kernel's work from what is paid per call, nor the
step where arrays outgrow a cache or where a second thread sets in: both bend a curve and widen the error.

Not measured: more entries in a row, other distributions of columns, batches, memory, compile time.

`--sizes` are for all that grow, but no more spikes than the 100,000 neurons of their matrix; `-k entries`,
`-k spikes`, `-k neurons` choose.
"""

import functools
from collections import defaultdict

import numpy as np

from event_ops.cases import BENCHMARK, Case
from event_ops.cases.draw import Draw
from event_ops.cases.matrices import numbers
from event_ops.catalog.lif_step.cases import CUBA
from event_ops.discover import operators
from event_ops_harness.bench import members, noise, options
from event_ops_harness.bench.rivals import rivals_of

PER_ROW = 100
NEURONS = 100_000  # of the matrix that spikes meet
DECADES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
SPIKES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
CURVES = defaultdict(dict)  # (series, member) -> size -> seconds, of this run


def entries(size, rng, dtype, index_dtype):
    rows = max(1, size // PER_ROW)
    arrays = Draw(rng, dtype, index_dtype).fixed_degree_csr((rows, rows), size // rows)
    return (*arrays, numbers(rng, rows, dtype)), {"shape": (rows, rows)}


def spikes(size, rng, dtype, index_dtype):
    shape = NEURONS, NEURONS
    arrays = Draw(rng, dtype, index_dtype).fixed_degree_csr(shape, PER_ROW)
    events = rng.permutation(np.arange(NEURONS) < size)
    return (*arrays, events), {"shape": shape, "transpose": True}


def neurons(size, rng, dtype, index_dtype):
    V_m = rng.uniform(CUBA["V_reset"], CUBA["V_th"], size)
    state = V_m, np.zeros(size), rng.normal(0, 20, size)
    return tuple(x.astype(dtype) for x in state), CUBA


OPERATORS = {operator.name: operator for operator in operators()}
# What grows -> operator, how its arguments of a size are made, and the usual sizes.
SERIES = {
    "csr_matvec by entries": ("csr_matvec", entries, DECADES),
    "csr_event_matvec by spikes": ("csr_event_matvec", spikes, SPIKES),
    "lif_step by neurons": ("lif_step", neurons, DECADES),
}


def sizes_of(series, config):
    most = NEURONS if SERIES[series][1] is spikes else np.inf
    return [size for size in options.counts(config, "sizes", SERIES[series][2]) if size <= most]


def backends_of(operator):
    return (members.backends_of(operator)[0], members.REFERENCE)


def pytest_generate_tests(metafunc):
    cells = []
    for series, (name, *_) in SERIES.items():
        names = [*backends_of(OPERATORS[name]), *rivals_of(name)]
        sizes = sizes_of(series, metafunc.config)
        cells += [(series, size, member) for size in sizes for member in names]
    metafunc.parametrize(("series", "size", "member"), cells)


@functools.lru_cache(maxsize=1)
def case_of(series, size):
    """Return the case of this size, the same one for all members."""
    return Case(f"{size:,}", functools.partial(SERIES[series][1], size), frozenset({BENCHMARK}))


def test_scaling(in_turns, benchmark, pytestconfig, series, size, member):
    benchmark.group = f"{series}, {size:,}"
    operator = OPERATORS[SERIES[series][0]]
    backends = backends_of(operator)
    members.report(in_turns, operator, case_of(series, size), member, backends, series=series, size=size)
    if not benchmark.stats:
        return
    curve = CURVES[series, member]
    curve[size] = benchmark.stats["median"]
    if size == sizes_of(series, pytestconfig)[-1]:
        benchmark.extra_info |= noise.exponent(noise.upper_half(curve))
