"""Time every operator of the catalog: each of its backends on the CPU, the memory's limit, and the best peer.

Times are per call from Python until the result is ready, or per step of a loop in machine code, as `steps.py`
says; peers that have no such loop are called. The share is that of the bytes that must move, as the folder of
the operator counts them, in what the STREAM triad moves in the same time, in this run, on arrays beyond the
caches: above 1 where a case fits a cache. Gradients are called. What outlasts the budget is timed once. Not
measured: memory, first calls, other types than the first that an operator takes.

`--operators MODULE` takes those that MODULE.OPERATORS lists, and their cases that are tagged "benchmark"; it
writes a result only where --output says.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console

from event_ops.cases import BENCHMARK
from event_ops.discover import Operator, operators
from event_ops_harness.bench import gradients, traffic
from event_ops_harness.bench.catalog_table import show, verdicts
from event_ops_harness.bench.gradients import Gradient
from event_ops_harness.bench.rivals import libraries, rivals_of
from event_ops_harness.bench.steps import Problem, make_problem, run_of
from event_ops_harness.bench.suite import Parser, amount, count, print_skipped, write
from event_ops_harness.bench.timing import Run, seconds_per_step
from event_ops_harness.results import RESULTS, Row, as_json

OUTPUT: Final = RESULTS / "catalog.json"


def chosen(modules: Sequence[str], only: Sequence[str]) -> list[Operator]:
    """Return the operators of the modules (of the catalog, if empty) that `only` names (all, if empty).

    Raises ValueError where a name is none of theirs, or where there is nothing to measure.
    """
    every = (
        [x for name in modules for x in importlib.import_module(name).OPERATORS] if modules else operators()
    )
    unknown = set(only) - {operator.name for operator in every}
    if unknown:
        known = ", ".join(operator.name for operator in every)
        raise ValueError(f"no operator is called {', '.join(sorted(unknown))}; there are: {known}")
    found = [operator for operator in every if not only or operator.name in only]
    for operator in found:
        if not operator.tagged(BENCHMARK):
            tagged = f"Case(..., tags=frozenset({{{BENCHMARK!r}}}))"
            raise ValueError(f"{operator.name} has no case to measure; tag one: {tagged}")
    return found


def backends_of(operator: Operator, wanted: Sequence[str]) -> list[str]:
    """Return the default on the CPU, then the others that run here and are `wanted` (all, if empty)."""
    default, *others = operator.kernel.available_backends("cpu")
    return [default, *(name for name in others if not wanted or name in wanted)]


def measure(problem: Problem, options: argparse.Namespace, bandwidth: float) -> list[Row]:
    """Return one row per backend of ours and per rival; `bandwidth` in bytes per second."""
    operator, kwargs = problem.operator, problem.kwargs
    names = backends_of(operator, options.backends)
    runs: dict[str, Run] = {
        name: run_of(problem, functools.partial(operator.function, backend=name, **kwargs)) for name in names
    }
    runs |= rivals_of(problem)
    times = seconds_per_step(runs, rounds=options.rounds, budget=options.budget, at_least=0)
    moved = traffic.bytes_moved(operator, problem.args, kwargs)
    case = {"operator": operator.name, "per": problem.per, "bytes": moved}
    return [
        Row(
            problem.name,
            name,
            seconds,
            names[0],
            case | {"ours": name in names, "share": moved / seconds / bandwidth},
        )
        for name, seconds in times.items()
    ]


def _measured(
    options: argparse.Namespace, bandwidth: float, say: Callable[[str], None]
) -> tuple[list[Row], list[Gradient]]:
    rows: list[Row] = []
    slopes: list[Gradient] = []
    for operator in options.chosen:
        largest: dict[bool, Problem] = {}
        for case in operator.tagged(BENCHMARK):
            say(f"measuring {operator.name} {case.name}")
            problem = make_problem(operator, case)
            rows += measure(problem, options, bandwidth)
            gradients.keep_largest(largest, problem)
        say(f"measuring the gradient of {operator.name}")
        slopes += [gradients.measure(x, options.rounds, options.budget) for x in largest.values()]
    return rows, slopes


def _memory() -> list[dict[str, float]]:
    """Time the triad beyond the caches, which shares refer to, and in a quarter of the largest one."""
    footprints = (traffic.beyond_cache(), traffic.last_level_cache() // 4)
    return [{"MiB": size / 2**20, "GB/s": traffic.bytes_per_second(size) / 1e9} for size in footprints]


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("catalog", __doc__)
    add = parser.add_argument
    add("--operators", action="append", default=[], metavar="MODULE", help="default: the catalog")
    add("--only", nargs="+", default=[], metavar="OPERATOR", help="these operators")
    add("--backends", nargs="+", default=[], metavar="BACKEND", help="these beside the default; default: all")
    add("--rounds", type=count, default=4, help="turns of each; default: 4")
    add("--budget", type=amount, default=0.1, help="seconds per backend or peer and case; default: 0.1")
    options = parser.parse(argv)
    try:
        options.chosen = chosen(options.operators, options.only)
    except ValueError as error:
        parser.error(str(error))
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    options = _parse(argv)
    console = Console(width=max(Console().width, 165))
    print_skipped(console, libraries()[1])
    with console.status("measuring the memory") as status:
        memory = _memory()
        rows, slopes = _measured(options, memory[0]["GB/s"] * 1e9, status.update)
    lines = verdicts(rows, slopes)
    show(console, rows, slopes)
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    if not options.operators or options.output != OUTPUT:
        found = {"gradients": [slope.as_row() for slope in slopes], "verdicts": lines}
        write(options, as_json(rows), triad=memory, **found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
