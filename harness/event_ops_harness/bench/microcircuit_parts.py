"""Measure where the time of a step of the microcircuit goes, and how far each part is from bandwidth."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from event_ops_harness.bench.turns import Group
from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

PARTS: Final = Rival("parts", ("-m", "event_ops_harness.bench.workers.microcircuit_parts"), ours=True)
MEMBERS: Final = ("step", "delivery", "background", "neurons")


def measure(request: Mapping[str, Any], threads: int, rounds: int) -> Group:
    """Return `rounds` turns of the step and of its parts, after one that is not measured.

    Delivery, with the lists of spikes that it reads, and background are measured alone; neurons is what is
    left of the step, `lif_expsyn_step`.
    """
    try:
        with closing(Worker(PARTS, sys.executable, {**request, "threads": threads})) as worker:
            turns = [worker.run() for _ in range(rounds + 1)][1:]
    except WorkerError as error:
        return Group({}, skipped=dict.fromkeys(MEMBERS, str(error)))
    for turn in turns:
        turn["neurons"] = turn["step"] - turn["delivery"] - turn["background"]
    seconds = {name: [turn[name] for turn in turns] for name in MEMBERS}
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    return Group(seconds, shares(medians, worker.versions["bytes"], worker.versions["triad"]))


def shares(
    seconds: Mapping[str, float], moved: Mapping[str, float], triad: float
) -> dict[str, dict[str, Any]]:
    """Return the info of each member: its `bytes`, `of_step`, its part of the step's time, and `share`.

    The share is that of its bytes in those that the triad moves in the same time.
    """
    traffic = {**moved, "step": sum(moved.values())}
    return {
        name: {
            "bytes": traffic[name],
            "of_step": time / seconds["step"],
            "share": traffic[name] / time / triad,
        }
        for name, time in seconds.items()
    }
