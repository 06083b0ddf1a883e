"""Libraries that a benchmark compares with where they are installed."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def graphblas() -> tuple[Any, str]:
    """python-graphblas, or None and the reason why it is not here."""
    return _module("graphblas", "GraphBLAS")


@functools.cache
def brainevent() -> tuple[Any, str]:
    """BrainEvent, or None and the reason why it is not here."""
    return _module("brainevent", "BrainEvent")


def _module(name: str, title: str) -> tuple[Any, str]:
    try:
        return importlib.import_module(name), ""
    except ImportError as error:
        return None, f"{title} is skipped: {error}"
