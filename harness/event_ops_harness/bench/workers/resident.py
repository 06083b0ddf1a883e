"""Read the resident memory of this process, and its time, in any Python: nothing is imported for it."""

import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

_WRITE_TO_RESET: Final = "5"  # the high-water mark of resident memory, see proc_pid_clear_refs(5)


def resident() -> dict[str, int]:
    """Return bytes: "now", and "peak" since the last reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = {name: words for name, _, words in (line.partition(":") for line in lines)}
    return {
        # The system counts in units of 1024 bytes.
        name: int(status[field].split()[0]) << 10
        for name, field in (("now", "VmRSS"), ("peak", "VmHWM"))
    }


def peak_of(work: Callable[[], Any]) -> tuple[int, float, Any]:
    """Return the most that was resident while it ran, its seconds, and its result."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text(_WRITE_TO_RESET)
    started = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - started
    return resident()["peak"], seconds, result


def first_and_median(work: Callable[[], Any], calls: int) -> tuple[dict[str, Any], Any]:
    """Return figures of some calls, and the result: bytes that the first adds, median seconds of the rest."""
    before = resident()["now"]
    # The first run: a later one finds memory that the allocator kept, and takes less anew.
    peak, _, result = peak_of(work)
    seconds = [peak_of(work)[1] for _ in range(calls)]
    return {"seconds": median(seconds) if seconds else 0.0, "bytes": peak - before}, result
