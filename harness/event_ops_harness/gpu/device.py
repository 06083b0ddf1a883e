"""The GPU of this machine, in words, and the bandwidth of a copy on it."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp

COPY_BYTES = 1 << 30
ROUNDS = 10


def gpu() -> Any:
    """JAX's first NVIDIA GPU, or None."""
    try:
        return jax.devices("cuda")[0]
    except RuntimeError:
        return None


def copy_bandwidth() -> float:
    """Bytes per second that a copy of 1 GiB reads and writes: what kernels that only move data can reach."""
    x = jnp.zeros(COPY_BYTES // 4, jnp.float32)
    copy = jax.jit(lambda x: x + 1.0)
    copy(x).block_until_ready()
    best = min(_seconds(copy, x) for _ in range(ROUNDS))
    return 2 * COPY_BYTES / best


def _seconds(work: Any, x: Any) -> float:
    started = time.perf_counter()
    work(x).block_until_ready()
    return time.perf_counter() - started
