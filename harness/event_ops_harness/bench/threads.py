"""Time what more threads give: each operator whose kernel is parallel, at its largest size, beside the triad.

The default backend on the CPU, numba_cpu, in fresh processes that Numba starts with 1 thread and with all, in
turns; medians of processes. Efficiency is t1 / (n * tn): 1 where n threads take the n-th part of the time.
What memory limits cannot do better than the STREAM triad, whose efficiency was measured in the same way.
A case whose kernel starts no threads is left out, and named.
Not measured: counts between, other backends, several kernels at a time, threads bound to cores.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from event_ops.cases import BENCHMARK
from event_ops.discover import Operator, operators
from event_ops_harness.bench import traffic
from event_ops_harness.bench.fresh import Found, ProcessError, ask, row_of, take_turns
from event_ops_harness.bench.suite import Parser, amount, count, print_skipped, write
from event_ops_harness.results import Row, as_json, new_table

TRIAD: Final = "STREAM triad"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def requests(names: Sequence[str], budget: float, footprint: int) -> dict[str, dict[str, Any]]:
    """Return what to ask of processes: the triad, and the last case of each orientation, the largest."""
    asked: dict[str, dict[str, Any]] = {TRIAD: {"footprint": footprint}}
    for operator in operators():
        if (names and operator.name not in names) or "numba_cpu" not in operator.kernel.available_backends(
            "cpu"
        ):
            continue
        for case in _largest(operator):
            request = {"operator": operator.name, "case": case, "budget": budget}
            asked[f"{operator.name} {case}"] = request
    return asked


def _largest(operator: Operator) -> list[str]:
    names = [case.name for case in operator.tagged(BENCHMARK)]
    last = {name.endswith("transposed"): name for name in names}
    return list(last.values())


def measure(what: str, request: Mapping[str, Any], threads: int, rounds: int, say: Any) -> list[Row]:
    """Return rows for 1 thread and for all; none where the kernel has no threads."""
    counts = {_named(n): n for n in (1, threads)}
    jobs = {name: functools.partial(_ask, request, n) for name, n in counts.items()}
    found, failed = take_turns(jobs, rounds, lambda text: say(f"{what}, {text}"))
    if failed:
        raise ProcessError(next(iter(failed.values())))
    if not all(each["parallel"] for results in found.values() for each in results):
        return []
    times = {name: [each["seconds"] for each in results] for name, results in found.items()}
    alone = statistics.median(times[_named(1)])
    return [
        row_of(
            what,
            name,
            seconds,
            _named(1),
            threads=counts[name],
            efficiency=alone / (counts[name] * statistics.median(seconds)),
        )
        for name, seconds in times.items()
    ]


def _ask(request: Mapping[str, Any], threads: int) -> Found:
    answer = ask("threads", request, {"NUMBA_NUM_THREADS": str(threads)})
    if answer["threads"] != threads:
        raise ProcessError(f"Numba started with {answer['threads']} threads; expected {threads}")
    return answer


def _named(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _table(rows: Sequence[Row]) -> Table:
    columns = ("what", "1 thread, µs", "all threads, µs", "speedup", "efficiency")
    table = new_table("Parallel operators", columns, text=("what",), whole=("what",))
    for one, every in zip(rows[::2], rows[1::2], strict=True):
        times = (f"{row.seconds * 1e6:.4g}" for row in (one, every))
        speedup = one.seconds / every.seconds
        table.add_row(one.group, *times, f"{speedup:.2f}", f"{every.more['efficiency']:.0%}")
    return table


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("threads", __doc__)
    add = parser.add_argument
    names = [operator.name for operator in operators()]
    add("--only", nargs="+", default=[], metavar="OPERATOR", choices=names, help="these operators")
    add("--threads", type=count, default=cores(), help="beside one; default: as many as cores")
    add("--rounds", type=count, default=2, help="processes of each count; default: 2")
    add("--budget", type=amount, default=0.3, help="seconds of measuring per process; default: 0.3")
    add(
        "--footprint",
        type=count,
        default=traffic.beyond_cache(),
        metavar="BYTES",
        help="of the triad's arrays",
    )
    options = parser.parse(argv)
    if options.threads < 2:
        parser.error(f"--threads is {options.threads}, on {cores()} cores; expected 2 or more beside the one")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    options, console = _parse(argv), Console()
    rows: list[Row] = []
    serial: list[str] = []
    failed: dict[str, str] = {}
    with console.status("measuring") as status:
        for what, request in requests(options.only, options.budget, options.footprint).items():
            try:
                measured = measure(what, request, options.threads, options.rounds, status.update)
            except ProcessError as error:
                failed[what] = str(error)
                continue
            rows += measured
            serial += [] if measured else [what]
    console.print(_table(rows))
    print_skipped(console, dict.fromkeys(serial, "its kernel runs on one thread"), "left out")
    print_skipped(console, failed)
    write(options, as_json(rows), serial=serial, skipped=failed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
