"""Measure where the time of a step of the microcircuit goes, and how far each part is from bandwidth."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from event_ops_harness.networks.shared.rivals import Rival, Worker
from event_ops_harness.results import new_table

PARTS = Rival("parts", ("-m", "event_ops_harness.bench.workers.microcircuit_parts"), ours=True)
NAMES = ("neurons", "delivery", "background")


def measure_parts(request: Mapping[str, Any], threads: int, rounds: int) -> dict[str, Any]:
    """Return the best of `rounds` turns of the step and of its parts, after one that is not measured.

    Delivery, with the lists of spikes that it reads, and background are measured alone; neurons is what is
    left of the step: `lif_expsyn_step`. Raises WorkerError.
    """
    worker = Worker(PARTS, sys.executable, {**request, "threads": threads})
    turns = [worker.run() for _ in range(rounds + 1)][1:]
    worker.close()
    best = {name: min(turn[name] for turn in turns) for name in turns[0]}
    return shares(best, worker.versions["bytes"], worker.versions["triad"])


def shares(seconds: Mapping[str, float], moved: Mapping[str, float], triad: float) -> dict[str, Any]:
    """Return each part's share of the step, and of the bytes that the triad moves in the part's time."""
    step, alone = seconds["step"], {name: seconds[name] for name in ("delivery", "background")}
    parts = {"neurons": step - sum(alone.values()), **alone}
    return {
        "us_per_step": step * 1e6,
        "triad_GB/s": triad / 1e9,
        "parts": {
            name: {
                "us": parts[name] * 1e6,
                "share": parts[name] / step,
                "KB": moved[name] / 1e3,
                "of_triad": moved[name] / parts[name] / triad,
            }
            for name in NAMES
        },
    }


def parts_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Show a line for each scale, number of cores and part."""
    columns = ("scale", "cores", "part", "µs", "share", "KB", "of triad")
    table = new_table("Where the time of a step goes", columns, text=("part",))
    for row in rows:
        where = f"{row['scale']:g}", str(row["cores"])
        for name, part in row["parts"].items():
            times = f"{part['us']:.4g}", f"{part['share']:.0%}"
            table.add_row(*where, name, *times, f"{part['KB']:.4g}", f"{part['of_triad']:.2f}")
        table.add_section()
    return table
