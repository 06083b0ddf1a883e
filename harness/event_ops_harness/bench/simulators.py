"""Simulators that are measured beside each other: each in a process of its own, in turns."""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from rich.console import Console

from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

Row = dict[str, Any]
Job = tuple[Rival, Row, dict[str, Any]]  # who, what is written about it, what it is asked for


def add_rivals_python(parser: argparse.ArgumentParser, needed: str) -> None:
    """The option that says which Python has the rivals."""
    parser.add_argument(
        "--rivals-python",
        default=os.environ.get("CUBA_RIVALS_PYTHON", sys.executable),
        metavar="PYTHON",
        help=f"has {needed}; default: $CUBA_RIVALS_PYTHON, else this one",
    )


def measure_in_turns(
    jobs: Sequence[Job], python: str, rounds: int, keep: Callable[[Row, dict[str, Any]], None]
) -> list[Row]:
    """Start all, run each once to warm up, then `rounds` times in turns; `keep` takes what each run found.

    Returns the rows of those that came to the end; the others say why they were skipped.
    """
    with ExitStack() as stack:
        running: list[tuple[Worker, Row]] = []
        for rival, row, request in jobs:
            try:
                worker = Worker(rival, python, request)
            except (WorkerError, OSError) as error:
                row["skipped"] = str(error)
                continue
            stack.callback(worker.close)
            row["versions"] = worker.versions
            running.append((worker, row))
        for turn in range(rounds + 1):
            for worker, row in list(running):
                try:
                    result = worker.run()
                except (WorkerError, OSError) as error:
                    row["skipped"] = str(error)
                    running.remove((worker, row))
                    continue
                if turn:
                    keep(row, result)
        return [row for _, row in running]


def median_ratio(row: Row, base: Row, quantity: str) -> float:
    """The median of the ratios of what both took in the same rounds."""
    return statistics.median(a / b for a, b in zip(row[quantity], base[quantity], strict=True))


def print_skipped(console: Console, rows: Sequence[Row]) -> None:
    """Why some rows are empty."""
    for simulator, reason in sorted({(r["simulator"], r["skipped"]) for r in rows if "skipped" in r}):
        console.print(f"skipped: {simulator}: {reason}", soft_wrap=True)
