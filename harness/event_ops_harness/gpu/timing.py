"""The GPU of this machine, and microseconds on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

COPY_BYTES = 1 << 30
ROUNDS = 5


def gpu() -> Any:
    """Return JAX's first NVIDIA GPU, or None."""
    try:
        return jax.devices("cuda")[0]
    except RuntimeError:
        return None


def us_per_call(work: Callable[[], Any]) -> float:
    """Time one call until its result is ready, after one that compiled it; the best of some rounds."""
    jax.block_until_ready(work())
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        jax.block_until_ready(work())
        best = min(best, time.perf_counter() - started)
    return best * 1e6


def us_per_step(step: Callable[[Any], Any], start: Any, steps: int, options: dict[str, Any]) -> float:
    """Time one of `steps` steps in a `lax.fori_loop`, which is one program, compiled with `options`."""
    run = jax.jit(
        lambda state: jax.lax.fori_loop(0, steps, lambda _, s: step(s), state), compiler_options=options
    )
    return us_per_call(lambda: run(start)) / steps


def copy_bandwidth() -> float:
    """Bytes per second that a copy of 1 GiB reads and writes: the most that kernels that move data reach."""
    x, copy = jnp.zeros(COPY_BYTES // 4, jnp.float32), jax.jit(lambda x: x + 1.0)
    return 2 * COPY_BYTES / (us_per_call(lambda: copy(x)) * 1e-6)
