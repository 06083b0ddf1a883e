"""Every operator of the catalog: each of its backends on the CPU, the memory's limit, and the best peer.

Times are per call from Python until the result is ready, or per step of a loop in machine code, as `steps.py`
says; peers that have no such loop are called. The share is that of the bytes that must move (`traffic.py`) in
what the STREAM triad moves in the same time, in this run, on arrays beyond the caches: above 1 where a case
fits a cache. Gradients are called. Not measured: memory, first calls, other types than the first that an
operator takes. What outlasts the budget is timed once.

`--operators MODULE` takes those that MODULE.OPERATORS lists, and their cases that are tagged "benchmark"; it
knows no peers of these, and writes a result only where --output says.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from event_ops.cases import BENCHMARK
from event_ops.discover import Operator, operators
from event_ops_harness.bench import gradients, triad
from event_ops_harness.bench.catalog_table import show
from event_ops_harness.bench.gradients import Gradient
from event_ops_harness.bench.jax_peers import jax_peers_of
from event_ops_harness.bench.optional import brainevent, graphblas
from event_ops_harness.bench.peers import peers_of
from event_ops_harness.bench.rivals import mkl
from event_ops_harness.bench.steps import Problem, make_problem, run_of
from event_ops_harness.bench.timing import Run, seconds_per_step
from event_ops_harness.bench.traffic import bytes_moved
from event_ops_harness.bench.verdicts import verdicts
from event_ops_harness.results import Row, write

OUTPUT: Final = Path(__file__).parents[2] / "results" / "catalog.json"


def chosen(modules: Sequence[str], only: Sequence[str]) -> list[Operator]:
    """The operators of the modules (of the catalog, if empty) that are named in `only` (all, if empty).

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
    """The default on the CPU, then the others that run here and are `wanted` (all, if empty)."""
    default, *others = operator.kernel.available_backends("cpu")
    return [default, *(name for name in others if not wanted or name in wanted)]


def measure(
    problem: Problem, options: argparse.Namespace, bandwidth: float, others: Mapping[str, Run] | None = None
) -> list[Row]:
    """One row per backend of ours, per peer and per run in `others`; `bandwidth` in bytes per second."""
    operator, kwargs = problem.operator, problem.kwargs
    names = backends_of(operator, options.backends)
    compiled: dict[str, Run] = {
        name: run_of(problem, functools.partial(operator.function, backend=name, **kwargs)) for name in names
    }
    compiled |= jax_peers_of(problem)
    runs = compiled | peers_of(problem) | dict(others or {})
    times = seconds_per_step(
        runs, rounds=options.rounds, budget=options.budget, at_least=0, compiled=compiled
    )
    moved = bytes_moved(operator, problem.args, kwargs)
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
        largest = gradients.Largest()
        for case in operator.tagged(BENCHMARK):
            say(f"measuring {operator.name} {case.name}")
            problem = make_problem(operator, case)
            rows += measure(problem, options, bandwidth)
            largest.see(problem)
        say(f"measuring the gradient of {operator.name}")
        slopes += [gradients.measure(x, options.rounds, options.budget) for x in largest.problems.values()]
    return rows, slopes


def _memory() -> list[dict[str, float]]:
    """The triad beyond the caches, which shares refer to, and in a quarter of the largest one."""
    footprints = (triad.beyond_cache(), triad.last_level_cache() // 4)
    return [{"MiB": size / 2**20, "GB/s": triad.bytes_per_second(size) / 1e9} for size in footprints]


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench catalog", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add(
        "--operators",
        action="append",
        default=[],
        metavar="MODULE",
        help="has OPERATORS; default: the catalog",
    )
    add("--only", nargs="+", default=[], metavar="OPERATOR", help="these operators")
    add("--backends", nargs="+", default=[], metavar="BACKEND", help="these beside the default; default: all")
    add("--rounds", type=int, default=4, help="turns of each; default: 4")
    add("--budget", type=float, default=0.1, help="seconds per backend or peer and case; default: 0.1")
    add("--output", type=Path, metavar="FILE", help=f"JSON; default for the catalog: {OUTPUT}")
    options = parser.parse_args(argv)
    if options.rounds < 1 or options.budget <= 0:
        parser.error("--rounds is at least 1, --budget more than 0")
    if not options.operators:
        options.output = options.output or OUTPUT
    try:
        options.chosen = chosen(options.operators, options.only)
    except ValueError as error:
        parser.error(str(error))
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; returns the exit status."""
    options = _parse(argv)
    console = Console(width=max(Console().width, 165))
    for _, reason in (mkl(), graphblas(), brainevent()):
        if reason and not options.operators:
            console.print(reason)
    with console.status("measuring the memory") as status:
        memory = _memory()
        rows, slopes = _measured(options, memory[0]["GB/s"] * 1e9, status.update)
    lines = verdicts(rows, slopes)
    show(console, rows, slopes)
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    found: dict[str, Any] = {
        "triad": memory,
        "gradients": [slope.as_row() for slope in slopes],
        "verdicts": lines,
    }
    if options.output:
        write(options.output, "catalog", sys.argv[1:] if argv is None else argv, rows, **found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
