"""The one inner name of pytest-benchmark that is used here; test_in_turns.py notices where it goes away."""

from __future__ import annotations

from typing import Any


def set_name(benchmark: Any, name: str) -> None:
    """Let tables and files call a benchmark by this name; its `fullname` stays that of the test."""
    benchmark.name = name
