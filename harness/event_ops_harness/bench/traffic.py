"""Count the bytes of a call, and time the bandwidth of the STREAM triad."""

import functools
import inspect
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import jax
import numba
import numpy as np

from event_ops.discover import Operator
from event_ops_harness.bench.timing import repeated, times_per_step

_UNKNOWN_CACHE: Final = 64 << 20
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_moved(operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """Return the bytes that one call of `operator` must move, as its folder counts them."""
    bound = inspect.signature(operator.function).bind(*args, **kwargs)
    bound.apply_defaults()
    outs = jax.tree.leaves(jax.eval_shape(functools.partial(operator.function, **kwargs), *args))
    return operator.bench.moved(SimpleNamespace(**bound.arguments), outs)


@numba.njit(parallel=True)
def _triad(a: Any, b: Any, c: Any, s: float) -> None:
    """a = b + s * c, on all threads."""
    for i in numba.prange(a.size):
        a[i] = b[i] + s * c[i]


def bytes_per_second(footprint: int) -> float:
    """Return the best bandwidth over three arrays of float64 that take `footprint` bytes together.

    Counted as STREAM counts: two reads and a write, not the read that a write into a cache begins with.
    """
    # Three arrays of eight bytes an element.
    size = max(1, footprint // 24)
    a, b, c = (np.ones(size) for _ in range(3))
    _triad(a[:1], b[:1], c[:1], 3.0)  # compiles
    times = times_per_step({"": repeated(lambda: _triad(a, b, c, 3.0))}, rounds=5, budget=0.2)
    return 24 * size / min(times[""])


def beyond_cache() -> int:
    """Return a footprint beyond caches: three times four of the largest one, or a sixteenth of the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 3 * min(4 * last_level_cache(), memory // 16)


def last_level_cache() -> int:
    """Return the bytes of the largest cache that the system reports; 64 MiB where it reports none."""
    caches = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    sizes = (re.fullmatch(r"(\d+)([KMG]?)", path.read_text().strip()) for path in caches)
    return max((int(size[1]) * _UNITS[size[2]] for size in sizes if size), default=_UNKNOWN_CACHE)
