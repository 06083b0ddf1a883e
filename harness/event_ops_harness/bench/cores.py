"""Give each thread of a pool a core of its own, while rivals are timed."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

THREADS: Final = Path("/proc/self/task")  # of Linux; elsewhere nothing is done


@contextmanager
def a_core_each() -> Generator[None]:
    """Keep the calling thread on one core, and the threads of each pool on the others, one after another.

    A system that packs threads onto few cores, as virtual machines do, leaves those of some pools in place,
    since they never sleep between calls, and puts those of others onto one core. Afterwards all threads may
    run where they could before.
    """
    own = threading.get_native_id()
    first, *others = sorted(os.sched_getaffinity(0)) if THREADS.exists() else (0,)
    before: dict[int, set[int]] = {}
    seen: Counter[str] = Counter()
    for thread in sorted(int(x.name) for x in THREADS.glob("*")) if others else ():
        with suppress(OSError):  # it has ended
            pool = (THREADS / str(thread) / "comm").read_text()
            core = first if thread == own else others[seen[pool] % len(others)]
            seen[pool] += thread != own
            before[thread] = os.sched_getaffinity(thread)
            os.sched_setaffinity(thread, {core})
    try:
        yield
    finally:
        for thread, allowed in before.items():
            with suppress(OSError):
                os.sched_setaffinity(thread, allowed)
