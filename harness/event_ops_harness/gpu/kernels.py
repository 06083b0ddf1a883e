"""What a GPU does during some work: its kernels and copies by name, as JAX's profiler records them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.profiler import ProfileData
from numba import cuda

from ffi_bridge import numba_cuda_kernel

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
    """Return what launches `boundary`, which is compiled."""
    mark = jax.jit(numba_cuda_kernel(boundary, jax.ShapeDtypeStruct((1,), jnp.int32), grid=1, block=1))
    jax.block_until_ready(mark())
    return mark


def recorded(works: Sequence[Work]) -> list[dict[str, Recorded]]:
    """Do each work twice, and return what the GPU did the second time, what took longest first.

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
    found: list[dict[str, Recorded]] = []
    for event in sorted(events, key=lambda event: event.start_ns):
        if boundary.py_func.__name__ in event.name:
            found.append({})
        elif found:
            count, us = found[-1].get(event.name, Recorded(0, 0.0))
            found[-1][event.name] = Recorded(count + 1, us + event.duration_ns / 1e3)
    return [dict(sorted(of_work.items(), key=lambda item: -item[1].us)) for of_work in found]
