"""Kernels for all threads on inputs of any size: operators choose them for large ones only."""

from __future__ import annotations

import importlib
from typing import Final

from event_ops.discover import operators

# Modules of event_ops.parts.numba_cpu, and the size from which on they are parallel. Operators that have
# one of their own, or a copy, call it OWN.
_BOUNDS: Final = {
    "split": "MIN_PARALLEL",
    "deliver": "MIN_ENTRIES_PARALLEL",
    "matmat": "MIN_TERMS_PARALLEL",
    "bernoulli": "MIN_DRAWS_PARALLEL",
}
OWN: Final = "MIN_PARALLEL"


def use_all_threads() -> None:
    """Set the bounds to 0; call it before a Numba backend is loaded, which copies those of modules."""
    for name, bound in _BOUNDS.items():
        module = importlib.import_module(f"event_ops.parts.numba_cpu.{name}")
        if not hasattr(module, bound):
            raise AttributeError(f"{module.__name__} has no {bound} any more; name what it has")
        setattr(module, bound, 0)
    for operator in operators():
        backend = importlib.import_module(f"event_ops.catalog.{operator.name}.numba_cpu")
        if hasattr(backend, OWN):
            setattr(backend, OWN, 0)
