"""Kernels for all threads on inputs of any size: operators choose them for large ones only."""

from __future__ import annotations

import importlib
from typing import Final

# Modules of event_ops.numba_parts, and the size from which on they are parallel. csr_todense and
# poisson_input have their own.
_BOUNDS: Final = {
    "split": "MIN_PARALLEL",
    "deliver": "MIN_ENTRIES_PARALLEL",
    "matmat": "MIN_TERMS_PARALLEL",
    "bernoulli_inputs": "MIN_DRAWS_PARALLEL",
}


def use_all_threads() -> None:
    """From here on; before an operator's Numba backend is loaded, which copies the bounds."""
    for name, bound in _BOUNDS.items():
        module = importlib.import_module(f"event_ops.numba_parts.{name}")
        if not hasattr(module, bound):
            raise AttributeError(f"event_ops.numba_parts.{name} has no {bound} any more; name what it has")
        setattr(module, bound, 0)
