"""Microseconds of one step of a loop that runs on the GPU as one program."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax

ROUNDS = 5


def us_per_step(step: Callable[[Any], Any], start: Any, steps: int, options: dict[str, Any]) -> float:
    """`steps` steps in a `lax.fori_loop`, compiled with `options`; the best of some rounds."""
    run = jax.jit(
        lambda state: jax.lax.fori_loop(0, steps, lambda _, s: step(s), state), compiler_options=options
    )
    return us_per_call(lambda: run(start)) / steps


def us_per_call(work: Callable[[], Any]) -> float:
    """One call until its result is ready, after one that compiled it."""
    jax.block_until_ready(work())
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        jax.block_until_ready(work())
        best = min(best, time.perf_counter() - started)
    return best * 1e6
