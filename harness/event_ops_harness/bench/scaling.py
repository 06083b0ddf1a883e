"""Time how cost grows: `csr_matvec` with entries, `csr_event_matvec` with spikes, `lif_step` with neurons.

At every size our default backend, the reference and the peers are timed as in `bench catalog`. The exponent
of time = factor * size ** exponent is fitted to the upper half of the sizes, by least squares in logarithms,
and has its standard error beside it: 1 means twice the cost for twice the size, 0 a cost that does not grow.
A fit describes these sizes only. It does not separate the kernel's work from what is paid per call, nor the
step where arrays outgrow a cache or where a second thread sets in: both bend a curve and widen the error.
Not measured: more entries in a row, other distributions of columns, batches, memory, compile time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import linregress

from event_ops.cases import BENCHMARK, Arguments, Case
from event_ops.cases.matrices import fixed_degree_csr, numbers
from event_ops.catalog.lif_step.cases import CUBA
from event_ops.discover import operators
from event_ops_harness.bench import catalog, traffic
from event_ops_harness.bench.steps import make_problem
from event_ops_harness.bench.suite import Parser, amount, count, write
from event_ops_harness.results import Row, as_json, new_table, show

PER_ROW: Final = 100


@dataclass(frozen=True)
class Series:
    """Hold an operator at several sizes, which count `unit`; `make(size, neurons, rng, ...)` as cases do."""

    operator: str
    unit: str
    sizes: tuple[int, ...]
    make: Callable[..., Arguments]

    @property
    def name(self) -> str:
        """Say what grows with what."""
        return f"{self.operator} by {self.unit}"

    def case(self, size: int, neurons: int) -> Case:
        """Return the case of this size; `neurons` are those of a matrix that spikes meet."""
        return Case(f"{size} {self.unit}", partial(self.make, size, neurons), frozenset({BENCHMARK}))


@dataclass(frozen=True)
class Fit:
    """Hold time = factor * size ** exponent, from size `first` to `last`, with the standard error."""

    series: str
    rival: str
    exponent: float
    error: float
    us_at_last: float
    first: int
    last: int


def _entries(size: int, _: int, rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
    rows = max(1, size // PER_ROW)
    arrays = fixed_degree_csr(rng, (rows, rows), size // rows, dtype, index_dtype)
    return (*arrays, numbers(rng, rows, dtype)), {"shape": (rows, rows)}


def _spikes(size: int, neurons: int, rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
    arrays = fixed_degree_csr(rng, (neurons, neurons), PER_ROW, dtype, index_dtype)
    events = rng.permutation(np.arange(neurons) < size)
    return (*arrays, events), {"shape": (neurons, neurons), "transpose": True}


def _neurons(size: int, _: int, rng: np.random.Generator, dtype: str, index_dtype: str) -> Arguments:
    V_m = rng.uniform(CUBA["V_reset"], CUBA["V_th"], size)
    state = V_m, np.zeros(size), rng.normal(0, 20, size)
    return tuple(x.astype(dtype) for x in state), CUBA


_DECADES: Final = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
SERIES: Final = {
    "entries": Series("csr_matvec", "entries", _DECADES, _entries),
    "spikes": Series("csr_event_matvec", "spikes", (10, 30, 100, 300, 1000, 3000, 10_000, 30_000), _spikes),
    "neurons": Series("lif_step", "neurons", _DECADES, _neurons),
}


def measure(series: Series, options: argparse.Namespace, bandwidth: float, say: Any) -> list[Row]:
    """Return the rows of `bench catalog` at every size."""
    operator = next(x for x in operators() if x.name == series.operator)
    rows: list[Row] = []
    for size in sorted(options.sizes or series.sizes):
        say(f"measuring {series.name}: {size:,}")
        problem = make_problem(operator, series.case(size, options.neurons))
        more = {"series": series.name, "size": size}
        measured = catalog.measure(problem, options, bandwidth)
        rows += [replace(row, more={**more, **row.more}) for row in measured]
    return rows


def fits(rows: Sequence[Row]) -> list[Fit]:
    """Fit each rival of each series, over the upper half of its sizes: at least three of them."""
    found: list[Fit] = []
    for series, own in groupby(rows, key=lambda row: row.more["series"]):
        points = list(own)
        for rival in dict.fromkeys(row.rival for row in points):
            curve = sorted((row.more["size"], row.seconds) for row in points if row.rival == rival)
            sizes, seconds = zip(*curve[-max(3, (len(curve) + 1) // 2) :], strict=True)
            fit: Any = linregress(np.log(sizes), np.log(seconds))
            ends = seconds[-1] * 1e6, sizes[0], sizes[-1]
            found.append(Fit(series, rival, float(fit.slope), float(fit.stderr), *ends))
    return found


def _table(found: Sequence[Fit]) -> Table:
    columns = ("what", "who", "exponent", "from", "to", "µs at the last")
    table = new_table("time = factor * size ** exponent", columns, text=("what", "who"))
    for _, group in groupby(found, key=lambda fit: fit.series):
        for fit in group:
            exponent = f"{fit.exponent:.2f} ± {fit.error:.2f}"
            table.add_row(
                fit.series, fit.rival, exponent, f"{fit.first:,}", f"{fit.last:,}", f"{fit.us_at_last:.4g}"
            )
        table.add_section()
    return table


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("scaling", __doc__)
    add = parser.add_argument
    add("--only", nargs="+", default=list(SERIES), choices=list(SERIES), help="what grows; default: all")
    add(
        "--sizes", type=count, nargs="+", default=[], metavar="N", help="at least five; default: each its own"
    )
    add("--neurons", type=count, default=100_000, help="of the matrix that spikes meet; default: 100,000")
    add("--backends", nargs="+", default=["reference"], metavar="BACKEND", help="beside the default")
    add("--rounds", type=count, default=5, help="turns of each; default: 5")
    add("--budget", type=amount, default=0.3, help="seconds per backend or peer and size; default: 0.3")
    options = parser.parse(argv)
    if options.sizes and len(set(options.sizes)) < 5:
        parser.error(f"--sizes: got {len(set(options.sizes))} different ones; expected at least 5")
    if "spikes" in options.only and max(options.sizes or SERIES["spikes"].sizes) > options.neurons:
        parser.error("--sizes: more spikes than --neurons")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    options, console = _parse(argv), Console()
    with console.status("measuring the memory") as status:
        bandwidth = traffic.bytes_per_second(traffic.beyond_cache())
        rows = [
            row for name in options.only for row in measure(SERIES[name], options, bandwidth, status.update)
        ]
    found = fits(rows)
    show(console, "Times at every size", rows)
    console.print(_table(found))
    sections: dict[str, Any] = {"fits": [asdict(fit) for fit in found], "triad_GB/s": bandwidth / 1e9}
    write(options, as_json(rows), **sections)
    return 0


if __name__ == "__main__":
    sys.exit(main())
