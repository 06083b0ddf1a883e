"""Measure in fresh processes, in turns: each figure comes from a Python that has done nothing before."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Found = dict[str, Any]


class ProcessError(RuntimeError):
    """A process ended without a result, or with a wrong one; the message is the reason."""


def ask(worker: str, request: Mapping[str, Any], env: Mapping[str, str | None] | None = None) -> Found:
    """What `workers.<worker>` answers to a request, from a process of its own.

    Args:
        worker: name of a module in `workers`.
        request: what JSON can say; the process has it as its only argument.
        env: changes to the environment; None takes a variable away.

    Raises:
        ProcessError: the process failed; the text is the last line of its error.
    """
    changed = os.environ | (env or {})
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.workers.{worker}", json.dumps(request)],
        capture_output=True,
        text=True,
        env={name: value for name, value in changed.items() if value is not None},
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not answers:
        said = done.stderr.strip().splitlines()
        raise ProcessError(said[-1] if said else f"exit status {done.returncode}, and no result")
    return json.loads(answers[-1])


def take_turns(
    jobs: Mapping[str, Callable[[], Found]], rounds: int, say: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, list[Found]], dict[str, str]]:
    """What each job found in each round, A B C C B A ...; and why the others, which are left out, failed."""
    found: dict[str, list[Found]] = {name: [] for name in jobs}
    failed: dict[str, str] = {}
    for turn in range(rounds):
        for name in list(jobs)[:: -1 if turn % 2 else 1]:
            if name in failed:
                continue
            say(f"round {turn + 1} of {rounds}: {name}")
            try:
                found[name].append(jobs[name]())
            except ProcessError as error:
                failed[name] = str(error)
    return {name: results for name, results in found.items() if name not in failed}, failed


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def spread(seconds: Sequence[float]) -> dict[str, Any]:
    """For JSON: the quartiles, in microseconds, and of how many processes."""
    low, high = np.percentile(np.asarray(seconds) * 1e6, [25, 75])
    return {"quartiles_us": [float(low), float(high)], "processes": len(seconds)}
