"""Measure the members of a group in turns, once their values were compared."""

import functools
import os
import statistics
import threading
from collections import Counter
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

from event_ops_harness.bench.noise import Change, change_of
from event_ops_harness.bench.timing import Run, Steps, Work, repeated, times_per_step
from event_ops_harness.conformance.compare import largest_of

ALPHA: Final = 0.05  # how often an interval may miss the true ratio
ROUNDS: Final = 10  # fewer say little about noise


@dataclass(frozen=True)
class Group:
    """Hold the measurements of a group, by member.

    Args:
        seconds: of each round.
        info: what `extra_info` holds beside times and ratios.
        wrong: what is wrong with it, such as "differs from NumPy: ...".
        skipped: why it was not measured.
    """

    seconds: Mapping[str, list[float]]
    info: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)

    def ratio_to(self, rival: str, member: str) -> Change:
        """Return how many times as long as a rival a member takes."""
        if rival == member:
            return Change(1.0, 1.0, 1.0)
        return change_of(self.seconds[rival], self.seconds[member], ALPHA)

    def fastest(self, names: Collection[str]) -> str | None:
        """Return the name with the least median; None where none was measured."""
        medians = {name: statistics.median(x) for name, x in self.seconds.items() if name in names}
        return min(medians, key=lambda name: medians[name], default=None)


def measure(
    members: Mapping[str, Work | Steps], rtol: float | None, limits: tuple[int, float] | None
) -> Group:
    """Compare the values of all members, then time the right ones, each of their threads on a core.

    `limits` are the rounds that a member has even if it is slow, and the seconds that others may fill with
    rounds; None: nothing is timed.
    """
    first, *others = members
    expected = _values(members[first])
    differences = {name: difference(expected, _values(members[name]), rtol) for name in others}
    wrong = {name: f"differs from {first}: {x}" for name, x in differences.items() if x is not None}
    runs = {name: _run(x) for name, x in members.items() if name not in wrong}
    if limits is None:
        return Group({name: [] for name in runs}, wrong=wrong)
    fewest, budget = limits
    with a_core_each():
        seconds = times_per_step(runs, rounds=max(fewest, ROUNDS), budget=budget, at_least=fewest)
    return Group(seconds, wrong=wrong)


def result_of(member: Work | Steps) -> Any:
    """Return the result of a member, when it is there."""
    return member.run(1) if isinstance(member, Steps) else jax.block_until_ready(member())


def _run(member: Work | Steps) -> Run:
    return member.run if isinstance(member, Steps) else repeated(functools.partial(result_of, member))


def _values(member: Work | Steps) -> Any:
    """Return the values to be compared; None where there are none."""
    result = result_of(member)
    if not isinstance(member, Steps):
        return result
    return None if member.values is None else member.values(result)


def difference(expected: Any, result: Any, rtol: float | None) -> str | None:
    """Say how values differ by more than `rtol`, in whatever containers they are; None where they do not."""
    if rtol is None or expected is None or result is None:
        return None
    wanted, got = ([np.asarray(x) for x in jax.tree.leaves(values)] for values in (expected, result))
    if len(got) != len(wanted):
        return f"{len(got)} arrays, expected {len(wanted)}"
    try:
        for x, y in zip(got, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * largest_of(y))
    except AssertionError as error:
        return str(error).strip()
    return None


THREADS: Final = Path("/proc/self/task")  # of Linux; elsewhere nothing is done


@contextmanager
def a_core_each() -> Generator[None]:
    """Keep the calling thread on one core, and the threads of each pool on the remaining ones, in order.

    A system that packs threads onto few cores, as virtual machines do, leaves those of some pools in place,
    since they never sleep between calls, and puts those of others onto one core. Afterwards all threads may
    run where they could before.
    """
    caller = threading.get_native_id()
    first, *others = sorted(os.sched_getaffinity(0)) if THREADS.exists() else (0,)
    before: dict[int, set[int]] = {}
    seen: Counter[str] = Counter()
    for thread in sorted(int(x.name) for x in THREADS.glob("*")) if others else ():
        with suppress(OSError):  # it has ended
            # Threads of one pool have one name.
            pool = (THREADS / str(thread) / "comm").read_text()
            core = first if thread == caller else others[seen[pool] % len(others)]
            seen[pool] += thread != caller
            before[thread] = os.sched_getaffinity(thread)
            os.sched_setaffinity(thread, {core})
    try:
        yield
    finally:
        for thread, allowed in before.items():
            with suppress(OSError):
                os.sched_setaffinity(thread, allowed)
