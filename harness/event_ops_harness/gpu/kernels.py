"""Time work on a GPU by the benchmarks' clock, and record its kernels by JAX's profiler."""

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.profiler import ProfileData
from numba import cuda

from event_ops_harness.bench.interleaved import result_of
from event_ops_harness.bench.timing import repeated, times_per_step
from ffi_bridge import numba_cuda_kernel

COPY_BYTES = 1 << 30  # far beyond the caches of a GPU
ROUNDS = 5
BUDGET = 0.25  # seconds of each work over all rounds: a hundred works take half a minute
Work = Callable[[], Any]


class Recorded(NamedTuple):
    """A kernel or copy: how often it ran, and its microseconds in all."""

    count: int
    us: float


@cuda.jit
def boundary(x: Any) -> None:
    """Mark the place between two works in a record."""
    if cuda.grid(1) == 0:  # pyright: ignore[reportCallIssue]  # annotated for two arguments
        x[0] = 1


def marker() -> Work:
    """Return a function that launches `boundary`, which is compiled."""
    mark = jax.jit(numba_cuda_kernel(boundary, jax.ShapeDtypeStruct((1,), jnp.int32), grid=1, block=1))
    jax.block_until_ready(mark())
    return mark


def recorded(works: Sequence[Work]) -> list[dict[str, Recorded]]:
    """Do each work twice, and return the GPU's kernels and copies of the second time, the longest first.

    One record serves them all, since it takes half a second to begin one.
    """
    mark = marker()
    for work in works:
        jax.block_until_ready(work())
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for work in works:
                jax.block_until_ready(mark())
                jax.block_until_ready(work())
        (file,) = Path(folder).rglob("*.xplane.pb")
        return _by_work(ProfileData.from_file(str(file)))


def _by_work(profile: Any) -> list[dict[str, Recorded]]:
    lines = (line for plane in profile.planes if "GPU" in plane.name for line in plane.lines)
    events = [event for line in lines if line.name.startswith("Stream") for event in line.events]
    works: list[dict[str, Recorded]] = []
    for event in sorted(events, key=lambda event: event.start_ns):
        if boundary.py_func.__name__ in event.name:
            works.append({})
        elif works:
            count, us = works[-1].get(event.name, Recorded(0, 0.0))
            works[-1][event.name] = Recorded(count + 1, us + event.duration_ns / 1e3)
    return [dict(sorted(of_work.items(), key=lambda item: -item[1].us)) for of_work in works]


def made(makers: Mapping[str, Callable[[], Work]]) -> tuple[dict[str, Work], dict[str, str]]:
    """Make each work and do it once; return the works that succeed, and the errors of the rest."""
    works: dict[str, Work] = {}
    failed: dict[str, str] = {}
    for name, make in makers.items():
        try:
            work = make()
            jax.block_until_ready(work())
            works[name] = work
        except Exception as error:  # whatever a rival raises, the other rows stand
            failed[name] = f"failed: {type(error).__name__}: {str(error)[:200]}"
    return works, failed


def us_per_call(works: Mapping[Any, Work]) -> dict[Any, float]:
    """Return the microseconds until one call of each is done, by the benchmarks' clock: medians, in turns.

    Each has been called before, and is compiled.
    """
    runs = {name: repeated(partial(result_of, work)) for name, work in works.items()}
    times = times_per_step(runs, rounds=ROUNDS, budget=BUDGET)
    return {name: statistics.median(seconds) * 1e6 for name, seconds in times.items()}


def looped(step: Callable[[Any], Any], start: Any, steps: int, options: dict[str, Any]) -> Work:
    """Return `steps` steps in a `lax.fori_loop`, which is one program, compiled with `options`."""
    run = jax.jit(
        lambda state: jax.lax.fori_loop(0, steps, lambda _, s: step(s), state), compiler_options=options
    )
    return lambda: run(start)


def copy_bandwidth() -> float:
    """Return the bytes per second that a copy of 1 GiB reads and writes: no kernel moves more."""
    # An addition, since XLA may leave out a plain copy.
    x, copy = jnp.zeros(COPY_BYTES // 4, jnp.float32), jax.jit(lambda x: x + 1.0)
    works, _ = made({"copy": lambda: lambda: copy(x)})
    return 2 * COPY_BYTES / (us_per_call(works)["copy"] * 1e-6)
