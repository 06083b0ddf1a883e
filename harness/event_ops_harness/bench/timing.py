"""Time rivals side by side in one process, in turns, so that a drifting machine hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Work = Callable[[], object]


def seconds_per_call(
    rivals: Mapping[str, Work], *, rounds: int = 15, budget: float = 2.0
) -> dict[str, float]:
    """Best time of one call of each rival, in seconds, over interleaved rounds.

    Args:
        rivals: name -> a function that does its work to the end (blocks until ready); called once to warm up.
        rounds: how often each rival's turn comes.
        budget: seconds for one rival over all rounds; a turn repeats short work until it fills its share.
    """
    repeats: dict[str, int] = {}
    for name, work in rivals.items():
        work()
        repeats[name] = max(1, int(budget / rounds / max(_time(work, 1), 1e-7)))
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(rounds):
        for name, work in rivals.items():
            best[name] = min(best[name], _time(work, repeats[name]))
    return best


def _time(work: Work, repeats: int) -> float:
    started = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - started) / repeats
