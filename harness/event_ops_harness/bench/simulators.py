"""Measure simulators beside each other: each in a process of its own, in turns."""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from rich.console import Console

from event_ops_harness.bench.suite import print_skipped
from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

Row = dict[str, Any]
Job = tuple[Rival, Row, dict[str, Any]]  # who, what is written about it, what it is asked for


def add_rivals_python(parser: argparse.ArgumentParser, needed: str) -> None:
    """Add the option that says which Python has the rivals."""
    parser.add_argument(
        "--rivals-python",
        default=os.environ.get("CUBA_RIVALS_PYTHON", sys.executable),
        metavar="PYTHON",
        help=f"has {needed}; default: $CUBA_RIVALS_PYTHON, else this one",
    )


def chosen(rivals: Sequence[Rival], words: Sequence[str]) -> list[Rival]:
    """Return the rivals whose name contains one of the words; all, if there are none."""
    return [rival for rival in rivals if not words or any(word in rival.name for word in words)]


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


def summarize(measured: Sequence[Row], quantity: str, baseline: str, unit: str = "") -> None:
    """Add the minimum and median of each row's figures, and their ratios to the baseline's.

    The ratio of medians is the median of the ratios in the same rounds. Keys begin with `unit`.
    """
    base = next((row[quantity] for row in measured if row["simulator"] == baseline), None)
    for row in measured:
        own = row[quantity]
        row[f"{unit}min"], row[f"{unit}median"] = min(own), statistics.median(own)
        if base is not None:
            row["ratio_min"] = min(own) / min(base)
            row["ratio_median"] = statistics.median(a / b for a, b in zip(own, base, strict=True))


def cells_of(row: Row, *names: str) -> list[str]:
    """Return the row's figures with these names, empty where it has none."""
    return [f"{row[name]:.3g}" if name in row else "" for name in names]


def print_skipped_rows(console: Console, rows: Sequence[Row]) -> None:
    """Print why some rows are empty."""
    for simulator, reason in sorted({(row["simulator"], row["skipped"]) for row in rows if "skipped" in row}):
        print_skipped(console, {simulator: reason})
