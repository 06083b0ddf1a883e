"""Measure simulators beside each other: each in a process of its own, in turns."""

import dataclasses
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from event_ops_harness.bench import options
from event_ops_harness.bench.interleaved import Group
from event_ops_harness.networks.shared.rivals import Rival, Worker, WorkerError

Request = dict[str, Any]


def rivals_python() -> str:
    """Return the Python that has the simulators: $CUBA_RIVALS_PYTHON, else this one."""
    return os.environ.get("CUBA_RIVALS_PYTHON", sys.executable)


def measure(jobs: Sequence[tuple[Rival, Request]], python: str, rounds: int) -> Group:
    """Start all, run each once to warm up, then `rounds` times in turns, forwards and backwards.

    A round simulates the `steps` of a request; `seconds` are those of one step. `info` has the threads, the
    versions and settings that a worker says, and what it found in its last round, such as `spikes`.
    """
    skipped: dict[str, str] = {}
    workers: dict[str, Worker] = {}
    found: dict[str, list[dict[str, Any]]] = {rival.name: [] for rival, _ in jobs}
    with ExitStack() as stack:
        for rival, request in jobs:
            with _skipping(rival.name, skipped):
                workers[rival.name] = stack.enter_context(closing(Worker(rival, python, request)))
        for turn in range(rounds + 1):
            for name in list(found)[:: -1 if turn % 2 else 1]:
                if name not in skipped:
                    with _skipping(name, skipped):
                        found[name].append(workers[name].run())
    done = {rival.name: request for rival, request in jobs if rival.name not in skipped}
    return Group(
        {name: [x["seconds"] / asked["steps"] for x in found[name][1:]] for name, asked in done.items()},
        {name: _info(asked, workers[name], found[name][-1]) for name, asked in done.items()},
        skipped=skipped,
    )


def with_rates(group: Group, neuron_seconds: float) -> Group:
    """Return the group with `rate`, spikes per neuron and second, in Hz, of the last round."""
    rates = {name: {**said, "rate": said["spikes"] / neuron_seconds} for name, said in group.info.items()}
    return dataclasses.replace(group, info=rates)


def chosen(rivals: Sequence[Rival], request: Any) -> tuple[Rival, ...]:
    """Return those rivals of which a test is to run."""
    return tuple(rival for rival in rivals if rival.name in options.selected(request))


@contextmanager
def _skipping(name: str, skipped: dict[str, str]) -> Iterator[None]:
    try:
        yield
    except (WorkerError, OSError) as error:
        skipped[name] = str(error)


def _info(request: Request, worker: Worker, result: dict[str, Any]) -> dict[str, Any]:
    versions = {name: said for name, said in worker.versions.items() if isinstance(said, str)}
    settings = {name: said for name, said in worker.versions.items() if name not in versions}
    counted = {name: figure for name, figure in result.items() if name != "seconds"}
    return {"threads": request["threads"], **settings, **counted, "versions": versions}
