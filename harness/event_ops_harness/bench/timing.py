"""Time rivals side by side in one process, in turns, so that a drifting machine hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping

Work = Callable[[], object]
Run = Callable[[int], object]  # does its work as often as it is told
SLOW = 4  # budgets that a first step takes of which no second one is worth the wait


def seconds_per_call(
    rivals: Mapping[str, Work], *, rounds: int = 15, budget: float = 2.0
) -> dict[str, float]:
    """Best time of one call of each rival, in seconds, over interleaved rounds.

    Args:
        rivals: name -> a function that does its work to the end (blocks until ready); called once to warm up.
        rounds: how often each rival's turn comes.
        budget: seconds for one rival over all rounds; a turn repeats short work until it fills its share.
    """
    runs = {name: repeated(work) for name, work in rivals.items()}
    return seconds_per_step(runs, rounds=rounds, budget=budget)


def seconds_per_step(
    runs: Mapping[str, Run],
    *,
    rounds: int = 15,
    budget: float = 2.0,
    at_least: int | None = None,
    compiled: Container[str] = (),
) -> dict[str, float]:
    """Best time of one step of each rival, in seconds: the smallest of `times_per_step`."""
    times = times_per_step(runs, rounds=rounds, budget=budget, at_least=at_least, compiled=compiled)
    return {name: min(each) for name, each in times.items()}


def times_per_step(
    runs: Mapping[str, Run],
    *,
    rounds: int,
    budget: float,
    at_least: int | None = None,
    compiled: Container[str] = (),
) -> dict[str, list[float]]:
    """Times of one step of each rival, in seconds, over interleaved rounds.

    Args:
        runs: name -> a function that does so many steps to the end; called for one step to warm up.
        rounds: how often each rival's turn comes.
        budget: seconds for one rival over all rounds; a turn takes as many steps as fill its share.
        at_least: how many turns a rival gets of which one step outlasts its share; default: all. With 0,
            what outlasts the budget is timed once.
        compiled: rivals that compile nothing in their first step: where it takes `SLOW` budgets, it counts.
    """
    steps: dict[str, int] = {}
    turns: dict[str, int] = {}
    times: dict[str, list[float]] = {}
    least = rounds if at_least is None else at_least
    for name, run in runs.items():
        first = _time(run, 1)
        if name in compiled and first > SLOW * budget:
            steps[name], each = 1, first
        else:
            steps[name], each = _calibrated(run, budget / rounds)
        times[name] = [each]
        turns[name] = min(rounds, max(least, int(budget / max(steps[name] * each, 1e-9))))
    for turn in range(rounds):
        for name, run in runs.items():
            if turn < turns[name]:
                times[name].append(_time(run, steps[name]))
    return times


def repeated(work: Work) -> Run:
    """Work that is done once per call of Python, as a run."""

    def run(times: int) -> None:
        for _ in range(times):
            work()

    return run


def _calibrated(run: Run, seconds: float) -> tuple[int, float]:
    """How many steps fill so many seconds, and how long one takes; a single step is mostly the call."""
    steps = 1
    while True:
        each = max(_time(run, steps), 1e-7)
        fitting = max(1, int(seconds / each))
        if fitting <= 2 * steps:
            return fitting, each
        steps = fitting


def _time(run: Run, steps: int) -> float:
    started = time.perf_counter()
    run(steps)
    return (time.perf_counter() - started) / steps
