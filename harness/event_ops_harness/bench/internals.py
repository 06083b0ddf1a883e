"""What is used of other libraries beyond what they document; test_in_turns.py notices where it goes away."""

from __future__ import annotations

from typing import Any

import jax


def set_name(benchmark: Any, name: str) -> None:
    """Let tables and files of pytest-benchmark call a test by this name; its `fullname` stays."""
    benchmark.name = name


def compiles_slow_programs() -> bool:
    """Say whether JAX was asked to spare time where it compiles, which programs pay for."""
    return bool(jax.config.values.get("jax_disable_most_optimizations"))
