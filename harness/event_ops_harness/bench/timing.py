"""Time rivals side by side in one process, in turns, so that a drifting machine hits all alike."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Work = Callable[[], Any]
Run = Callable[[int], Any]  # does its work as often as it is told, and returns the last result
SLOW = 4  # a first step of more budgets counts as a round, and only few more are worth the wait
FEW = 2
WARM_UP = 8  # a turn begins with a step that is not timed for every eight that are
PAUSE = 0.1  # s, after a step that fills a turn: memory that it frees slows whoever follows for half of that


@dataclass(frozen=True)
class Steps:
    """Hold work that is done many times in one call, for example in a loop in machine code.

    Args:
        run: does so many steps to the end, and returns the last result.
        values: makes arrays of such a result, to be compared; None where there is nothing to compare.
    """

    run: Run
    values: Callable[[Any], Any] | None = lambda result: result


def times_per_step(
    runs: Mapping[str, Run], *, rounds: int, budget: float, at_least: int | None = None
) -> dict[str, list[float]]:
    """Return times of one step of each rival, in seconds, over rounds that go forwards and backwards in turn.

    Args:
        runs: name -> a function that does so many steps to the end, and is compiled; called for one step to
            warm up.
        rounds: how often each rival's turn comes. It begins with a few steps that are not timed, in which
            caches get what the rival needs in place of what the one before it has left.
        budget: seconds for one rival over all rounds; a turn takes as many steps as fill its share.
        at_least: how many turns a rival gets whose single step outlasts its share; default: all. With 0,
            what outlasts the budget is timed once. What outlasts `SLOW` budgets gets at most `FEW` more.
    """
    steps: dict[str, int] = {}
    turns: dict[str, int] = {}
    times: dict[str, list[float]] = {}
    least = rounds if at_least is None else at_least
    for name, run in runs.items():
        first = _time(run, 1)
        if first > SLOW * budget:
            steps[name], turns[name], times[name] = 1, min(least, FEW), [first]
            continue
        steps[name], each = _calibrated(run, budget / rounds)
        turns[name] = min(rounds, max(least, int(budget / max(steps[name] * each, 1e-9))))
        # Without a turn the step of the calibration is the only one.
        times[name] = [] if turns[name] else [each]
    for turn in range(rounds):
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            if turn < turns[name]:
                if warming := steps[name] // WARM_UP:
                    runs[name](warming)
                times[name].append(_time(runs[name], steps[name]))
                if steps[name] == 1:
                    time.sleep(PAUSE)
    return times


def repeated(work: Work) -> Run:
    """Return a run that does `work` once per call of Python."""

    def run(times: int) -> object:
        result = None
        for _ in range(times):
            result = work()
        return result

    return run


def _calibrated(run: Run, seconds: float) -> tuple[int, float]:
    """Return how many steps fill `seconds`, and how long one takes; one alone is mostly the call."""
    steps = 1
    while True:
        # Not 0, where the clock has not moved.
        each = max(_time(run, steps), 1e-7)
        fitting = max(1, int(seconds / each))
        # By a factor of two the call no longer decides what a step takes.
        if fitting <= 2 * steps:
            return fitting, each
        steps = fitting


def _time(run: Run, steps: int) -> float:
    started = time.perf_counter()
    run(steps)
    return (time.perf_counter() - started) / steps
